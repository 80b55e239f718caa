#include "server/service/record/search_log.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "core/base/infeasibility.h"
#include "planwright/v1/plan.pb.h"
#include "server/codec/enums.h"
#include "server/service/record/status_conversion.h"

namespace planwright::server {
namespace {

double ToMillisecondCount(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// "optimal", "time_limit".
std::string NameOf(StopReason reason) {
  constexpr std::size_t kPrefix = sizeof("STOP_REASON_") - 1;
  return absl::AsciiStrToLower(v1::StopReason_Name(ToWire(reason)).substr(kPrefix));
}

}  // namespace

void SearchLog::OnStopRequested() {
  Clock::rep not_asked = 0;
  stop_requested_at_.compare_exchange_strong(not_asked, Clock::now().time_since_epoch().count());
}

void SearchLog::OnSearchStart(const SearchStart& start) {
  start_ = start;
  if (trace_ != nullptr) trace_->Mark(CallTrace::Moment::kSearchBegin);
  if (origin_.call != nullptr) origin_.call->SetRunning();
  log_.Info("search started", {{"request_id", origin_.request_id},
                               {"operators", static_cast<int64_t>(start.operators)},
                               {"tensors", static_cast<int64_t>(start.tensors)},
                               {"devices", static_cast<int64_t>(start.devices)},
                               {"time_limit_ms", ToMillisecondCount(start.time_limit)}});
}

void SearchLog::OnSearchEnd(const absl::StatusOr<Plan>& result, std::chrono::nanoseconds elapsed) {
  if (trace_ != nullptr) trace_->Mark(CallTrace::Moment::kSearchEnd);
  LogCancellation(Clock::now());
  LogResult(result, elapsed);
  LogSlowness(elapsed);
  metrics_.tenants().Searched(origin_.tenant, elapsed);
  if (result.ok()) {
    metrics_.SearchEnded(result->provenance.algorithm, NameOf(result->provenance.stop_reason), elapsed);
  } else {
    metrics_.SearchFailed(CodeLabel(result.status().code()), elapsed);
  }
  if (IsRejectedPlan(result.status())) metrics_.PlanRejected();
}

void SearchLog::LogCancellation(Clock::time_point now) const {
  const Clock::rep asked = stop_requested_at_.load();
  if (asked == 0) return;
  const Clock::time_point asked_at{Clock::duration(asked)};
  log_.Info("search cancelled",
            {{"request_id", origin_.request_id}, {"stopped_after_ms", ToMillisecondCount(now - asked_at)}});
}

void SearchLog::LogSlowness(std::chrono::nanoseconds elapsed) const {
  if (elapsed < slow_) return;
  log_.Warning("slow search", {{"request_id", origin_.request_id},
                               {"wall_ms", ToMillisecondCount(elapsed)},
                               {"operators", static_cast<int64_t>(start_.operators)},
                               {"tensors", static_cast<int64_t>(start_.tensors)},
                               {"devices", static_cast<int64_t>(start_.devices)}});
}

void SearchLog::LogResult(const absl::StatusOr<Plan>& result, std::chrono::nanoseconds elapsed) const {
  if (!result.ok()) {
    log_.Info("search ended", {{"request_id", origin_.request_id},
                               {"code", CodeLabel(result.status().code())},
                               {"wall_ms", ToMillisecondCount(elapsed)}});
    return;
  }
  log_.Info("search ended", {{"request_id", origin_.request_id},
                             {"stop_reason", NameOf(result->provenance.stop_reason)},
                             {"algorithm", result->provenance.algorithm},
                             {"objective_ms", ToMilliseconds(result->objective)},
                             {"lower_bound_ms", ToMilliseconds(result->lower_bound)},
                             {"wall_ms", ToMillisecondCount(elapsed)},
                             {"cpu_ms", result->provenance.cpu_time_ms}});
}

}  // namespace planwright::server
