// What a task list makes tasks wait for, as flat arrays.
#ifndef PLANWRIGHT_CORE_SIMULATE_TASK_GRAPH_H_
#define PLANWRIGHT_CORE_SIMULATE_TASK_GRAPH_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/task_list.h"

namespace planwright {

// Successors of every task in one array. Immutable.
class TaskGraph {
 public:
  // REQUIRES: ids are in range; fewer than 2^31 precedences. O(tasks + precedences).
  TaskGraph(std::size_t num_tasks, const std::vector<Precedence>& precedences);

  std::span<const int32_t> SuccessorsOf(int32_t task) const {
    const auto first = offsets_[static_cast<std::size_t>(task)];
    return {successors_.data() + first, offsets_[static_cast<std::size_t>(task) + 1] - first};
  }
  // How many tasks each one waits for.
  const std::vector<int32_t>& num_predecessors() const { return num_predecessors_; }

 private:
  std::vector<uint32_t> offsets_;
  std::vector<int32_t> successors_;
  std::vector<int32_t> num_predecessors_;
};

// The precedences of the list, then each task of an ordered resource after the one that the resource runs before it.
std::vector<Precedence> PrecedencesWithOrder(const TaskList& list);

// Every task after all that it waits for; shorter than the list where tasks wait for each other.
std::vector<int32_t> TopologicalSequence(const TaskGraph& graph);

// Tasks of which each waits for the next one, and the last for the first: for its result, or because its resource runs
// that one first. Empty: the list can run to its end. O(tasks + precedences).
std::vector<int32_t> FindCycle(const TaskList& list);

// "1F0 waits for 0SEND_F0, which waits for ..., which waits for 1F0"; the middle of a long one is left out.
// REQUIRES: not empty.
std::string CycleText(const TaskList& list, const std::vector<int32_t>& cycle);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_TASK_GRAPH_H_
