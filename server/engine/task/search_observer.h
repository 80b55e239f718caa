// What a search tells the program around it.
#ifndef PLANWRIGHT_SERVER_ENGINE_TASK_SEARCH_OBSERVER_H_
#define PLANWRIGHT_SERVER_ENGINE_TASK_SEARCH_OBSERVER_H_

#include <chrono>
#include <cstddef>

#include "absl/status/statusor.h"
#include "core/model/plan.h"
#include "core/planner/observer.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::server {

struct SearchStart {
  std::size_t operators = 0;
  std::size_t tensors = 0;
  std::size_t devices = 0;
  // Until the search must end.
  std::chrono::nanoseconds time_limit{0};
};

// The planner's events (one at a time, from any thread) and the two ends of the search (from the calling thread).
class SearchObserver : public PlannerObserver {
 public:
  // OnIncumbentPlan, complete for the wire (digests included). The last of its provenance.incumbents is its own.
  virtual void OnIncumbentAnswer(const v1::Plan& /*plan*/) {}
  virtual void OnSearchStart(const SearchStart& /*start*/) {}
  // The search is asked to stop before its time, from any thread; maybe more than once.
  virtual void OnStopRequested() {}
  virtual void OnSearchEnd(const absl::StatusOr<Plan>& /*result*/, std::chrono::nanoseconds /*elapsed*/) {}
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_TASK_SEARCH_OBSERVER_H_
