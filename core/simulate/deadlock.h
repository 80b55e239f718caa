// Tasks that wait for each other.
#ifndef PLANWRIGHT_CORE_SIMULATE_DEADLOCK_H_
#define PLANWRIGHT_CORE_SIMULATE_DEADLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/task_list.h"

namespace planwright {

// Tasks of which each waits for the next one, and the last for the first: for its result, or because its resource runs
// that one first. Empty: the list can run to its end. O(tasks + precedences).
std::vector<int32_t> FindCycle(const TaskList& list);

// "1F0 waits for 0SEND_F0, which waits for ..., which waits for 1F0"; the middle of a long one is left out.
// REQUIRES: not empty.
std::string CycleText(const TaskList& list, const std::vector<int32_t>& cycle);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_DEADLOCK_H_
