#include "server/pages/page_desk.h"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/engine/library/resource_name.h"
#include "server/engine/task/without_exceptions.h"
#include "server/serving/callers/caller.h"

namespace planwright::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNiceness = 19;
constexpr int kThreads = 2;
constexpr int kMostWaiting = 32;
// A browser waits no longer, and its connection is not kept for longer.
constexpr std::chrono::seconds kPatience{30};
// What a line of the log shows of a path.
constexpr std::size_t kMostPathBytes = 200;
constexpr std::string_view kFolder = "/plans/";

}  // namespace

bool IsOwnHost(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    host = host.substr(0, colon);
  }
  if (absl::EqualsIgnoreCase(ToAbsl(host), "localhost") || host == "[::1]") return true;
  const bool is_number =
      std::all_of(host.begin(), host.end(), [](unsigned char c) { return absl::ascii_isdigit(c) || c == '.'; });
  return is_number && host.starts_with("127.");
}

PageDesk::PageDesk(const PageServices& services)
    : services_(services), executor_({.nice = kNiceness, .max_running = kThreads, .max_waiting = kMostWaiting}) {}

void PageDesk::Handle(BrowserRequest request, PageServer::Reply reply) {
  const auto began = Clock::now();
  auto order = Read(request);
  const std::string subject = order.ok() ? order->subject : "";
  const auto answer = [this, began, subject, path = request.path.substr(0, kMostPathBytes), peer = request.peer,
                       reply = std::move(reply)](PageAnswer page) {
    const std::chrono::nanoseconds elapsed = Clock::now() - began;
    services_.metrics.Answered(page.code, elapsed);
    services_.log.Info("page", {{"path", path},
                                {"code", int64_t{page.code}},
                                {"elapsed_ms", std::chrono::duration<double, std::milli>(elapsed).count()},
                                {"caller", subject},
                                {"peer", peer}});
    reply(std::move(page));
  };
  if (!order.ok()) {
    NoteRefusal(request, order.status());
    return answer(Refusal(order.status()));
  }
  const std::stop_source stop;
  const auto make = [this, answer, stop, order = *order](const absl::Status& admission) {
    if (!admission.ok()) return answer(Refusal(admission));
    auto page = WithoutExceptions([&] { return services_.pages.Make(order.tenant, order.id, stop.get_token()); });
    answer(page.ok() ? *std::move(page) : Refusal(page.status()));
  };
  const absl::Status admitted =
      executor_.Submit({.deadline = began + kPatience, .stop = stop, .run = make, .tenant = order->tenant});
  if (!admitted.ok()) answer(Refusal(admitted));
}

absl::StatusOr<PageDesk::Order> PageDesk::Read(const BrowserRequest& request) const {
  if (!request.is_encrypted && !IsOwnHost(request.host)) {
    return absl::PermissionDeniedError("without TLS, pages are for browsers of this machine, as localhost");
  }
  RETURN_IF_ERROR(request.client.status());
  if (request.stated_tenant.has_value() && !IsPlainName(*request.stated_tenant)) {
    return absl::InvalidArgumentError("tenant must be 1 to 64 letters, digits, hyphens and underscores");
  }
  ASSIGN_OR_RETURN(const Caller caller, services_.authenticator.Identify({.authorization = std::nullopt,
                                                                          .certificate_names = request.client->names,
                                                                          .certificates = request.client->certificates,
                                                                          .stated_tenant = request.stated_tenant}));
  if (!request.path.starts_with(kFolder)) return absl::NotFoundError("there are pages at /plans/{id} only");
  Order order{.tenant = caller.tenant, .subject = caller.subject, .id = request.path.substr(kFolder.size())};
  if (IsResourceId(order.id)) return order;
  return absl::InvalidArgumentError(
      "the id of a plan is 4 to 63 lower-case letters, digits and hyphens, first a letter, last no hyphen");
}

void PageDesk::NoteRefusal(const BrowserRequest& request, const absl::Status& why) const {
  if (!absl::IsUnauthenticated(why) && !absl::IsPermissionDenied(why)) return;
  AuditEntry entry;
  entry.action = "GetPage";
  entry.resource = request.path.substr(0, kMostPathBytes);
  entry.outcome = absl::IsUnauthenticated(why) ? "Unauthenticated" : "PermissionDenied";
  entry.peer = request.peer;
  services_.audit.Refused(entry);
}

void PageDesk::Stop() {
  executor_.StopAdmission();
  executor_.StopAll();
}

}  // namespace planwright::server
