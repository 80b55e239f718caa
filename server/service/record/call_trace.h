// What one call tells a collector of traces.
#ifndef PLANWRIGHT_SERVER_SERVICE_RECORD_CALL_TRACE_H_
#define PLANWRIGHT_SERVER_SERVICE_RECORD_CALL_TRACE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/observability/span_exporter.h"
#include "server/service/record/trace_context.h"

namespace planwright::server {

// The span of a call, with a child for each of its parts that took place: "read", "wait" (from there to the search) and
// "search". Thread-safe; a search that others share may go on when the call has ended.
class CallTrace {
 public:
  enum class Moment { kReadBegin, kReadEnd, kSearchBegin, kSearchEnd };

  // Without a context the call begins a trace of its own. `exporter` outlives the object.
  CallTrace(const std::optional<TraceContext>& context, SpanExporter& exporter);

  // The first time counts.
  void Mark(Moment moment);

  // The call has ended: hands its spans to the exporter. Once. `error`: empty, it was answered.
  void End(std::string name, std::string error, std::vector<std::pair<std::string, std::string>> attributes);

 private:
  using Clock = std::chrono::system_clock;

  // nullopt: it has not come.
  std::optional<Clock::time_point> At(Moment moment) const;

  SpanExporter& exporter_;
  const std::string trace_id_;
  const std::string parent_id_;
  const Clock::time_point start_ = Clock::now();
  // Since the clock's epoch; 0: not yet. No order between them is needed.
  std::array<std::atomic<Clock::rep>, 4> moments_{};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_RECORD_CALL_TRACE_H_
