// Every way to make one number or one name of a correct plan wrong.
#ifndef PLANWRIGHT_TESTS_CORE_VERIFY_PLAN_MUTATIONS_H_
#define PLANWRIGHT_TESTS_CORE_VERIFY_PLAN_MUTATIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "core/model/plan.h"

namespace planwright {

struct PlanMutation {
  // What was done, for messages.
  std::string name;
  std::function<void(Plan&)> apply;
  // Path of the violation that must be found. Empty: the mistake shows in several places; any violation will do.
  std::string expected_path;
};

// The mutations of every judged field of `plan`; a field that is added to the plan's structs does not compile until it
// is mutated or listed as not judged. REQUIRES: `plan` is correct, has a stage and a PROBLEM bound.
std::vector<PlanMutation> MutationsOf(const Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_VERIFY_PLAN_MUTATIONS_H_
