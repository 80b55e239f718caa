#include "core/simulate/task_graph.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"

namespace planwright {
namespace {

constexpr int32_t kNone = -1;

// Returns for each task that no topological sequence reaches another such task that it waits for, else kNone.
std::vector<int32_t> Blockers(const TaskGraph& graph, const std::vector<Precedence>& precedences) {
  const std::vector<int32_t> sequence = TopologicalSequence(graph);
  std::vector<bool> runs(graph.num_predecessors().size());
  for (const int32_t task : sequence) runs[Index(task)] = true;
  std::vector<int32_t> blockers(runs.size(), kNone);
  for (const Precedence& precedence : precedences) {
    if (!runs[Index(precedence.before)]) blockers[Index(precedence.after)] = precedence.before;
  }
  return blockers;
}

}  // namespace

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

std::vector<int32_t> FindCycle(const TaskList& list) {
  const std::vector<Precedence> precedences = PrecedencesWithOrder(list);
  const std::vector<int32_t> blockers = Blockers(TaskGraph(list.tasks.size(), precedences), precedences);
  const auto stuck = std::find_if(blockers.begin(), blockers.end(), [](int32_t blocker) { return blocker != kNone; });
  if (stuck == blockers.end()) return {};
  // Every task that waits for ever has a blocker, so walking along them comes back to where it has been.
  int32_t entry = *stuck;
  for (std::size_t steps = 0; steps < blockers.size(); ++steps) entry = blockers[Index(entry)];
  std::vector<int32_t> cycle = {entry};
  for (int32_t task = blockers[Index(entry)]; task != entry; task = blockers[Index(task)]) cycle.push_back(task);
  return cycle;
}

std::string CycleText(const TaskList& list, const std::vector<int32_t>& cycle) {
  // At each end of a long cycle.
  constexpr std::size_t kShown = 8;
  std::string text = TaskName(list.tasks[Index(cycle.front())]);
  for (std::size_t i = 1; i <= cycle.size(); ++i) {
    if (i == kShown && cycle.size() > 2 * kShown) {
      absl::StrAppend(&text, ", ... ", cycle.size() - 2 * kShown + 1, " more");
      i = cycle.size() - kShown + 1;
    }
    absl::StrAppend(&text, i == 1 ? " waits for " : ", which waits for ",
                    TaskName(list.tasks[Index(cycle[i % cycle.size()])]));
  }
  return text;
}

}  // namespace planwright
