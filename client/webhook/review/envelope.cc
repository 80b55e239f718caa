#include "client/webhook/review/envelope.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/importer/reading/json_fields.h"
#include "client/importer/reading/json_text.h"
#include "client/library/error_details.h"

namespace planwright::webhook {
namespace {

constexpr char kApiVersion[] = "admission.k8s.io/v1";
constexpr char kKind[] = "AdmissionReview";
constexpr char kSource[] = "review";
constexpr std::size_t kMaxUidBytes = 256;
// Objects of a cluster have at most 1.5 MiB, and values of some bytes each are rare.
constexpr std::size_t kMaxJsonValues = 150'000;
// Of a value, with its key and its part of a container.
constexpr int64_t kBytesPerValue = 160;

void Require(const Json& root, Keys keys, const char* path, std::string_view wanted,
             client::ViolationList& violations) {
  if (TextAt(root, keys) == wanted) return;
  const Json* found = Find(root, keys);
  violations.Add(path, absl::StrCat("must be \"", std::string(wanted), "\", is ",
                                    found == nullptr ? "missing" : client::Shown(*found)));
}

std::string RequireText(const Json& root, Keys keys, const char* path, client::ViolationList& violations) {
  std::string text = TextAt(root, keys);
  if (text.empty()) violations.Add(path, "must be a text that is not empty");
  return text;
}

Operation OperationNamed(std::string_view name) {
  if (name == "CREATE") return Operation::kCreate;
  return name == "UPDATE" ? Operation::kUpdate : Operation::kOther;
}

// Takes what stands at `name` of the request.
Json Taken(Json& request, const char* name) {
  const auto found = request.find(name);
  return found == request.end() ? Json() : std::move(*found);
}

void CheckObject(const Review& review, client::ViolationList& violations) {
  if (review.operation != Operation::kOther && !review.object.is_object()) {
    violations.Add("request.object", "must be an object");
  }
  if (review.operation == Operation::kUpdate && !review.old_object.is_object()) {
    violations.Add("request.oldObject", "must be an object");
  }
}

Review Read(Json& root, client::ViolationList& violations) {
  Review review;
  Require(root, {"apiVersion"}, "apiVersion", kApiVersion, violations);
  Require(root, {"kind"}, "kind", kKind, violations);
  const Json* request = Find(root, {"request"});
  if (request == nullptr || !request->is_object()) {
    violations.Add("request", "must be an object");
    return review;
  }
  review.uid = RequireText(*request, {"uid"}, "request.uid", violations);
  if (review.uid.size() > kMaxUidBytes) violations.Add("request.uid", "must have at most 256 bytes");
  review.group = TextAt(*request, {"kind", "group"});
  review.version = TextAt(*request, {"kind", "version"});
  review.kind = RequireText(*request, {"kind", "kind"}, "request.kind.kind", violations);
  review.name_space = TextAt(*request, {"namespace"});
  review.operation = OperationNamed(RequireText(*request, {"operation"}, "request.operation", violations));
  review.subresource = TextAt(*request, {"subResource"});
  const Json* dry_run = Find(*request, {"dryRun"});
  review.dry_run = dry_run != nullptr && dry_run->is_boolean() && dry_run->get<bool>();
  review.object = Taken(root["request"], "object");
  review.old_object = Taken(root["request"], "oldObject");
  CheckObject(review, violations);
  return review;
}

}  // namespace

absl::StatusOr<Review> ParseReview(std::string_view body) {
  // Finds what the parser below would throw for.
  const auto outline = client::OutlineOf(body, kSource, kMaxJsonValues);
  if (!outline.ok()) return outline.status();
  if (!outline->is_object) return absl::InvalidArgumentError("review: must be a JSON object");
  Json root = Json::parse(body);
  client::ViolationList violations;
  Review review = Read(root, violations);
  if (!violations.empty()) return violations.ToStatus(kSource);
  review.unpacked_bytes =
      static_cast<int64_t>(outline->num_values) * kBytesPerValue + static_cast<int64_t>(body.size());
  return review;
}

std::string FormatAnswer(const std::string& uid, const Answer& answer) {
  constexpr int kForbidden = 403;
  Json response = {{"uid", uid}, {"allowed", answer.allowed}};
  if (!answer.allowed) {
    response["status"] = {{"code", kForbidden}, {"reason", "Forbidden"}, {"message", answer.message}};
  }
  for (const std::string& warning : answer.warnings) {
    response["warnings"].push_back(Clipped(warning, kMaxWarningBytes));
  }
  if (answer.patch.is_array() && !answer.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = absl::Base64Escape(answer.patch.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  const Json root = {{"apiVersion", kApiVersion}, {"kind", kKind}, {"response", std::move(response)}};
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace planwright::webhook
