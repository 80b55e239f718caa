// AdmissionReview v1 of admission.k8s.io: the question of an API server, and the answer to it.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_ENVELOPE_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_ENVELOPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/webhook/review/json_tree.h"

namespace planwright::webhook {

// Larger ones no API server sends; kubectl and clients may cut them anyway.
inline constexpr std::size_t kMaxWarningBytes = 256;

enum class Operation { kCreate, kUpdate, kOther };

// What is asked.
struct Review {
  // Comes back in the answer.
  std::string uid;
  // What the object is: "batch", "v1", "Job".
  std::string group;
  std::string version;
  std::string kind;
  std::string name_space;
  Operation operation = Operation::kOther;
  // "status", "scale"; empty: the object itself.
  std::string subresource;
  // Nothing may be stored.
  bool dry_run = false;
  Json object;
  // What was there before an update.
  Json old_object;
  // What the whole review takes as values, about.
  int64_t unpacked_bytes = 0;
};

// What is answered.
struct Answer {
  bool allowed = true;
  // Why it is not allowed.
  std::string message = {};
  // Each is cut to kMaxWarningBytes.
  std::vector<std::string> warnings = {};
  // A JSON patch (RFC 6902): an array of operations; null or empty: none.
  Json patch = {};
};

// INVALID_ARGUMENT, with everything that is wrong: `body` is no JSON (json_text.h), nested deeper than 100 levels, or
// no AdmissionReview v1 with a request that has a uid of at most 256 bytes, an operation, a kind and, unless it
// deletes, an object.
absl::StatusOr<Review> ParseReview(std::string_view body);

// The AdmissionReview that answers the request `uid`.
std::string FormatAnswer(const std::string& uid, const Answer& answer);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_ENVELOPE_H_
