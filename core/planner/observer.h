// How progress leaves the planner.
#ifndef PLANWRIGHT_CORE_PLANNER_OBSERVER_H_
#define PLANWRIGHT_CORE_PLANNER_OBSERVER_H_

#include <string_view>

#include "core/model/plan.h"

namespace planwright {

// Told of events while a plan is made. Calls come one at a time, from any thread; they must be quick and not throw.
class PlannerObserver {
 public:
  virtual ~PlannerObserver() = default;

  // A new phase begins: "validate", "baselines", "preprocess", "linearized_dp", "ideal_dp", "verify", "explain".
  virtual void OnPhase(std::string_view /*phase*/) {}
  // A better plan was found. Its verification is still to come.
  virtual void OnIncumbent(const Incumbent& /*incumbent*/) {}
  // Whether OnIncumbentPlan is to be told. Costs a costing and a verification for each incumbent. Asked once.
  virtual bool wants_incumbent_plans() const { return false; }
  // The plan of the incumbent that OnIncumbent has just named: verified, and what the answer would be if the search
  // were stopped now.
  virtual void OnIncumbentPlan(const Plan& /*plan*/) {}
  // A better bound for the problem as posed was proven.
  virtual void OnBound(const Bound& /*bound*/) {}
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_OBSERVER_H_
