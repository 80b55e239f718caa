// The algorithms of this program, by their rows.
#ifndef PLANWRIGHT_CORE_PLANNER_ALGORITHMS_ALGORITHMS_H_
#define PLANWRIGHT_CORE_PLANNER_ALGORITHMS_ALGORITHMS_H_

#include <span>
#include <string_view>

#include "core/model/problem.h"
#include "core/partition/search/algorithm_row.h"

namespace planwright {

// In the order in which AUTO runs those that it takes: exact programs, which may be done soon, go before what takes all
// the time there is.
std::span<const AlgorithmRow> Algorithms();

// REQUIRES: not kAuto.
const AlgorithmRow& RowOf(Algorithm algorithm);

// "ideal_dp"; empty for kAuto.
std::string_view StableNameOf(Algorithm algorithm);

bool IsBaseline(Algorithm algorithm);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PLANNER_ALGORITHMS_ALGORITHMS_H_
