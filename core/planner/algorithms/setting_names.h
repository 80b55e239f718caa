// The names that the settings of a problem have in the API, without the prefix of their type: "MAX_THROUGHPUT".
#ifndef PLANWRIGHT_CORE_PLANNER_ALGORITHMS_SETTING_NAMES_H_
#define PLANWRIGHT_CORE_PLANNER_ALGORITHMS_SETTING_NAMES_H_

#include <string_view>

#include "core/model/problem.h"

namespace planwright {

std::string_view NameOf(Objective value);
// "unspecified" for kSteadyState.
std::string_view NameOf(ScheduleKind value);
std::string_view NameOf(Replication value);
std::string_view NameOf(Split value);
std::string_view NameOf(Overlap value);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_ALGORITHMS_SETTING_NAMES_H_
