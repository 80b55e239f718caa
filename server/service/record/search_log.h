// What operators see of searches: log lines and metrics.
#ifndef PLANWRIGHT_SERVER_SERVICE_RECORD_SEARCH_LOG_H_
#define PLANWRIGHT_SERVER_SERVICE_RECORD_SEARCH_LOG_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "server/engine/task/search_observer.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"
#include "server/service/record/call_trace.h"
#include "server/serving/callers/call_registry.h"

namespace planwright::server {

// Whom a search is for.
struct SearchOrigin {
  // The id of the call's request, or of the operation.
  std::string request_id;
  std::string tenant;
  // nullptr: it is no call that waits.
  std::shared_ptr<LiveCall> call = nullptr;
};

// One search: "search started", "search ended" and, where somebody asked it to stop, "search cancelled" with the time
// that it took to obey (stopped_after_ms). `metrics` and `log` outlive it.
class SearchLog : public SearchObserver {
 public:
  // A search that takes `slow` or longer gets a warning with its size.
  SearchLog(SearchOrigin origin, Metrics& metrics, const Logger& log,
            std::chrono::nanoseconds slow = std::chrono::nanoseconds::max(), std::shared_ptr<CallTrace> trace = nullptr)
      : origin_(std::move(origin)), metrics_(metrics), log_(log), slow_(slow), trace_(std::move(trace)) {}

  // The search was asked to stop, just now. Any thread; the first call counts.
  void OnStopRequested() override;

  void OnSearchStart(const SearchStart& start) override;
  void OnSearchEnd(const absl::StatusOr<Plan>& result, std::chrono::nanoseconds elapsed) override;

 private:
  using Clock = std::chrono::steady_clock;

  void LogCancellation(Clock::time_point now) const;
  void LogSlowness(std::chrono::nanoseconds elapsed) const;
  void LogResult(const absl::StatusOr<Plan>& result, std::chrono::nanoseconds elapsed) const;

  const SearchOrigin origin_;
  Metrics& metrics_;
  const Logger& log_;
  const std::chrono::nanoseconds slow_;
  // nullptr: the call is part of no trace that is kept.
  const std::shared_ptr<CallTrace> trace_;
  SearchStart start_;
  // Since the clock's epoch; 0: not asked. Only the value is passed between threads, so relaxed order would do.
  std::atomic<Clock::rep> stop_requested_at_{0};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_RECORD_SEARCH_LOG_H_
