#include "core/joint/operators/layout_choice.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/units.h"

namespace planwright {
namespace {

// The choices of all operators up to the last one that was looked at, and what they take.
struct Prefix {
  int64_t time_ps = 0;
  std::vector<std::size_t> choices;

  bool operator<(const Prefix& other) const {
    return std::tie(time_ps, choices) < std::tie(other.time_ps, other.choices);
  }
};

// By operator, the last one that reads of it; itself: none.
std::vector<std::size_t> LastReaders(const LayoutProblem& problem) {
  std::vector<std::size_t> last(problem.operators.size());
  for (std::size_t op = 0; op < last.size(); ++op) last[op] = op;
  for (const LayoutProblem::Edge& edge : problem.edges) last[edge.from] = std::max(last[edge.from], edge.to);
  return last;
}

// By position, the operators with several choices that are read behind it.
std::vector<std::vector<std::size_t>> AliveBehind(const LayoutProblem& problem) {
  const std::vector<std::size_t> last = LastReaders(problem);
  std::vector<std::vector<std::size_t>> alive(problem.operators.size());
  for (std::size_t position = 0; position < alive.size(); ++position) {
    for (std::size_t op = 0; op <= position; ++op) {
      if (last[op] > position && problem.operators[op].size() > 1) alive[position].push_back(op);
    }
  }
  return alive;
}

bool AreTooMany(const LayoutProblem& problem, const std::vector<std::size_t>& alive) {
  std::size_t states = 1;
  for (const std::size_t op : alive) {
    states *= problem.operators[op].size();
    if (states > kMostLayoutStates) return true;
  }
  return false;
}

}  // namespace

std::vector<std::size_t> ChooseLayouts(const LayoutProblem& problem) {
  const std::size_t count = problem.operators.size();
  const std::vector<std::vector<std::size_t>> alive = AliveBehind(problem);
  const bool is_too_much = std::any_of(alive.begin(), alive.end(),
                                       [&](const std::vector<std::size_t>& ops) { return AreTooMany(problem, ops); });
  if (is_too_much) return std::vector<std::size_t>(count, 0);
  std::vector<std::vector<const LayoutProblem::Edge*>> read_by(count);
  for (const LayoutProblem::Edge& edge : problem.edges) read_by[edge.to].push_back(&edge);
  // By the choices of the operators alive.
  std::map<std::vector<std::size_t>, Prefix> states = {{{}, {}}};
  for (std::size_t op = 0; op < count; ++op) {
    std::map<std::vector<std::size_t>, Prefix> next;
    for (const auto& [unused, prefix] : states) {
      for (std::size_t choice = 0; choice < problem.operators[op].size(); ++choice) {
        Prefix longer = prefix;
        longer.time_ps = SaturatingAdd(longer.time_ps, problem.operators[op][choice]);
        for (const LayoutProblem::Edge* edge : read_by[op]) {
          longer.time_ps = SaturatingAdd(longer.time_ps, edge->change_ps[prefix.choices[edge->from]][choice]);
        }
        longer.choices.push_back(choice);
        std::vector<std::size_t> state;
        for (const std::size_t other : alive[op]) state.push_back(longer.choices[other]);
        const auto [entry, is_new] = next.try_emplace(std::move(state), longer);
        if (!is_new && longer < entry->second) entry->second = std::move(longer);
      }
    }
    states = std::move(next);
  }
  return states.begin()->second.choices;
}

}  // namespace planwright
