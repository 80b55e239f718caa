#include "tests/reference/mapping/interval_search.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "tests/reference/mapping/checking_scheme.h"
#include "tests/reference/mapping/feasibility_search.h"

namespace planwright {
namespace {

struct Answer {
  double target_ms = 0;
  Feasibility feasibility = Feasibility::kTimeout;
  Mapping mapping;
  int64_t nodes = 0;
};

// Ascending targets that cut the interval evenly.
std::vector<Answer> CutEvenly(double lower_ms, double upper_ms, int32_t targets) {
  std::vector<Answer> answers(Index(targets));
  for (int32_t i = 0; i < targets; ++i) {
    answers[Index(i)].target_ms = lower_ms + (upper_ms - lower_ms) * (i + 1) / (targets + 1);
  }
  return answers;
}

// Shrinks the interval by the answers of a batch.
void Take(std::vector<Answer>& answers, const MappingInstance& instance, const LinkTimes& links,
          IntervalSearchOutcome& outcome) {
  ++outcome.batches;
  for (Answer& answer : answers) {
    outcome.nodes += answer.nodes;
    if (answer.feasibility == Feasibility::kTimeout) ++outcome.timeouts;
    if (answer.feasibility == Feasibility::kNone) outcome.proven_ms = std::max(outcome.proven_ms, answer.target_ms);
    if (answer.feasibility != Feasibility::kFound) continue;
    const MappingValue value = Evaluate(instance, links, answer.mapping);
    if (value.value_ms >= outcome.value.value_ms) continue;
    outcome.value = value;
    outcome.mapping = std::move(answer.mapping);
  }
  for (const Answer& answer : answers) {
    if (answer.feasibility == Feasibility::kFound || answer.target_ms >= outcome.value.value_ms) continue;
    outcome.lower_end_ms = std::max(outcome.lower_end_ms, answer.target_ms);
  }
}

}  // namespace

IntervalSearchOutcome SearchInterval(const MappingInstance& instance, const LinkTimes& links,
                                     const IntervalSearchOptions& options, const SolveLimits& limits,
                                     TaskArena& arena) {
  const CheckingScheme scheme = MakeCheckingScheme(instance);
  IntervalSearchOutcome outcome{.mapping = options.start,
                                .value = Evaluate(instance, links, options.start),
                                .lower_end_ms = options.lower_bound_ms,
                                .proven_ms = options.lower_bound_ms};
  while (outcome.value.value_ms - outcome.lower_end_ms > options.precision * outcome.value.value_ms &&
         !CheckInterruption(limits).has_value()) {
    std::vector<Answer> answers = CutEvenly(outcome.lower_end_ms, outcome.value.value_ms, options.targets);
    arena.ParallelFor(answers.size(), 1, [&](std::size_t i) {
      FeasibilitySearch search(instance, links, scheme);
      answers[i].feasibility = search.Search(answers[i].target_ms, options.nodes_per_target, limits);
      answers[i].nodes = search.nodes();
      if (answers[i].feasibility == Feasibility::kFound) answers[i].mapping = search.mapping();
    });
    Take(answers, instance, links, outcome);
  }
  return outcome;
}

}  // namespace planwright
