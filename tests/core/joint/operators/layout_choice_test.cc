#include "core/joint/operators/layout_choice.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

LayoutProblem RandomProblem(uint64_t seed) {
  RandomStream random(seed, 5);
  LayoutProblem problem;
  const auto count = static_cast<std::size_t>(random.Between(1, 6));
  for (std::size_t op = 0; op < count; ++op) {
    std::vector<int64_t>& times = problem.operators.emplace_back();
    for (int64_t choice = random.Between(1, 3); choice > 0; --choice) times.push_back(random.Between(0, 6));
  }
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = from + 1; to < count; ++to) {
      if (random.Below(2) == 0) continue;
      LayoutProblem::Edge& edge = problem.edges.emplace_back();
      edge.from = from;
      edge.to = to;
      for (std::size_t made = 0; made < problem.operators[from].size(); ++made) {
        std::vector<int64_t>& times = edge.change_ps.emplace_back();
        for (std::size_t read = 0; read < problem.operators[to].size(); ++read) times.push_back(random.Between(0, 5));
      }
    }
  }
  return problem;
}

int64_t TimeOf(const LayoutProblem& problem, const std::vector<std::size_t>& choices) {
  int64_t time = 0;
  for (std::size_t op = 0; op < choices.size(); ++op) time += problem.operators[op][choices[op]];
  for (const LayoutProblem::Edge& edge : problem.edges) time += edge.change_ps[choices[edge.from]][choices[edge.to]];
  return time;
}

// The first of all choices that take the least.
std::vector<std::size_t> FirstOfTheLeast(const LayoutProblem& problem) {
  std::vector<std::size_t> choices(problem.operators.size(), 0);
  std::vector<std::size_t> best;
  int64_t least = std::numeric_limits<int64_t>::max();
  while (true) {
    if (TimeOf(problem, choices) < least) {
      least = TimeOf(problem, choices);
      best = choices;
    }
    std::size_t op = choices.size();
    while (op > 0 && choices[op - 1] + 1 == problem.operators[op - 1].size()) choices[--op] = 0;
    if (op == 0) return best;
    ++choices[op - 1];
  }
}

TEST(LayoutChoiceTest, IsTheFirstThatTakesTheLeastOfAll) {
  for (uint64_t seed = 1; seed <= NumCases(3'000); ++seed) {
    const LayoutProblem problem = RandomProblem(seed);
    EXPECT_EQ(ChooseLayouts(problem), FirstOfTheLeast(problem)) << seed;
  }
}

TEST(LayoutChoiceTest, TakesTheFirstOfEachWhereTooManyAreAlive) {
  LayoutProblem problem;
  problem.operators.assign(14, {1, 0});
  for (std::size_t op = 0; op + 1 < problem.operators.size(); ++op) {
    problem.edges.push_back({op, problem.operators.size() - 1, {{0, 0}, {0, 0}}});
  }
  EXPECT_EQ(ChooseLayouts(problem), std::vector<std::size_t>(14, 0));
  problem.edges.resize(11);
  EXPECT_EQ(ChooseLayouts(problem), std::vector<std::size_t>(14, 1));
}

}  // namespace
}  // namespace planwright
