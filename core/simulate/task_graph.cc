#include "core/simulate/task_graph.h"

#include <numeric>

#include "core/base/index.h"

namespace planwright {

TaskGraph::TaskGraph(std::size_t num_tasks, const std::vector<Precedence>& precedences)
    : offsets_(num_tasks + 1), successors_(precedences.size()), num_predecessors_(num_tasks) {
  for (const Precedence& precedence : precedences) {
    ++offsets_[Index(precedence.before) + 1];
    ++num_predecessors_[Index(precedence.after)];
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  std::vector<uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const Precedence& precedence : precedences) successors_[next[Index(precedence.before)]++] = precedence.after;
}

std::vector<Precedence> PrecedencesWithOrder(const TaskList& list) {
  std::vector<Precedence> precedences = list.precedences;
  for (const std::vector<int32_t>& order : list.order) {
    for (std::size_t i = 1; i < order.size(); ++i) precedences.push_back({order[i - 1], order[i]});
  }
  return precedences;
}

std::vector<int32_t> TopologicalSequence(const TaskGraph& graph) {
  std::vector<int32_t> waits_for = graph.num_predecessors();
  std::vector<int32_t> sequence;
  sequence.reserve(waits_for.size());
  for (std::size_t task = 0; task < waits_for.size(); ++task) {
    if (waits_for[task] == 0) sequence.push_back(static_cast<int32_t>(task));
  }
  for (std::size_t done = 0; done < sequence.size(); ++done) {
    for (const int32_t successor : graph.SuccessorsOf(sequence[done])) {
      if (--waits_for[Index(successor)] == 0) sequence.push_back(successor);
    }
  }
  return sequence;
}

}  // namespace planwright
