#include "core/simulate/flow_simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/simulate/dynamic_simulator.h"
#include "core/simulate/simulation_report.h"
#include "core/simulate/task_graph.h"
#include "tests/core/simulate/small_lists.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> FlowEnds(const TaskList& list) { return Counts(SimulateFlows(list).ends); }

// Task i has uses[i].
TaskList WithUses(TaskList list, const std::vector<std::vector<LinkUse>>& uses) {
  list.link_uses = uses;
  for (std::size_t task = 0; task < uses.size(); ++task) {
    if (!uses[task].empty()) list.tasks[task].link_uses = static_cast<int32_t>(task);
  }
  return list;
}

TEST(FlowSimulatorTest, FlowsThatFitOnALinkAreNotSlowed) {
  const TaskList list = MakeList({kLink}, {{0, 10}, {0, 7}, {0, 5}}, {});
  EXPECT_THAT(FlowEnds(WithUses(list, {{{0, 0.5}}, {{0, 0.3}}, {{0, 0.2}}})), ElementsAre(10, 7, 5));
}

TEST(FlowSimulatorTest, FlowsThatOverfillALinkAreSlowedAlike) {
  // Three halves of the link at two thirds of their speed.
  const TaskList list = MakeList({kLink}, {{0, 10}, {0, 10}, {0, 10}}, {});
  EXPECT_THAT(FlowEnds(WithUses(list, {{{0, 0.5}}, {{0, 0.5}}, {{0, 0.5}}})), ElementsAre(15, 15, 15));
  // The first has done 6 alone, then both go at half speed until 14.
  const TaskList later = MakeList({kLink, kDevice}, {{0, 10}, {1, 6}, {0, 10}}, {{1, 2}});
  EXPECT_THAT(FlowEnds(WithUses(later, {{{0, 1}}, {}, {{0, 1}}})), ElementsAre(14, 6, 20));
}

TEST(FlowSimulatorTest, ARingThatOverfillsItsOwnLinksIsSlowed) {
  EXPECT_THAT(FlowEnds(WithUses(MakeList({kLink}, {{0, 10}}, {}), {{{0, 2.5}}})), ElementsAre(25));
}

TEST(FlowSimulatorTest, WhatALinkCannotGiveToOneFlowOthersGet) {
  // Link 0 is full with flows 0 and 1 at a half; flow 2 gets what flow 1 leaves of link 1, which is all that it needs.
  const TaskList list = MakeList({kLink, kLink}, {{0, 10}, {0, 10}, {1, 10}}, {});
  EXPECT_THAT(FlowEnds(WithUses(list, {{{0, 1}}, {{0, 1}, {1, 0.4}}, {{1, 0.8}}})), ElementsAre(20, 20, 10));
  // All of link 1 where flow 1 has but a half of it: 0.75 until 13.33, when the others have 3.33 left.
  EXPECT_THAT(FlowEnds(WithUses(list, {{{0, 1}}, {{0, 1}, {1, 0.5}}, {{1, 1}}})), ElementsAre(20, 20, 14));
}

TEST(FlowSimulatorTest, TasksOfOneResourceWithAnOrderDoNotMeet) {
  TaskList list = MakeList({kDevice, kLink}, {{0, 10}, {0, 10}, {1, 10}}, {});
  list.order[0] = {0, 1};
  // Beside the second flow the third has ended.
  EXPECT_THAT(FlowEnds(WithUses(list, {{{1, 1}}, {{1, 1}}, {{1, 1}}})), ElementsAre(20, 30, 20));
}

TEST(FlowSimulatorTest, AgreesWithTheDynamicSimulatorWithoutUses) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const TaskList list = RandomOrderedList(seed, 40);
    const Timeline flows = SimulateFlows(list);
    EXPECT_EQ(flows.ends, SimulateTasks(list, Contention::kExclusive).ends) << seed;
    EXPECT_EQ(flows.sequence.size(), list.tasks.size());
  }
}

TEST(FlowSimulatorTest, AgreesWithSharedLinksOfWhichEachFlowUsesOne) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    TaskList list = RandomOrderedList(seed, 40);
    for (const std::size_t link : {3, 4}) list.order[link].clear();
    for (Task& task : list.tasks) task.duration *= 1'000'000;
    const Timeline shared = SimulateTasks(list, Contention::kFairShare);
    list.link_uses = {{}, {}, {}, {{3, 1}}, {{4, 1}}};
    for (Task& task : list.tasks) {
      if (task.resource >= 3) task.link_uses = task.resource;
    }
    const Timeline flows = SimulateFlows(list);
    for (std::size_t task = 0; task < list.tasks.size(); ++task) {
      // Either rounds whenever something comes or goes.
      EXPECT_NEAR(static_cast<double>(flows.ends[task].count()), static_cast<double>(shared.ends[task].count()), 400);
    }
  }
}

// Any list with flows over three links, durations long against rounding.
TaskList RandomFlows(uint64_t seed) {
  RandomStream random(seed);
  TaskList list = RandomOrderedList(seed, 30);
  for (const std::size_t link : {3, 4}) list.order[link].clear();
  for (Task& task : list.tasks) task.duration *= 1'000'000;
  for (int32_t uses = 0; uses < 8; ++uses) {
    std::vector<LinkUse>& of_task = list.link_uses.emplace_back();
    for (const int32_t link : {2, 3, 4}) {
      if (random.Below(2) == 0) of_task.push_back({link, 0.1 * static_cast<double>(1 + random.Below(12))});
    }
  }
  for (Task& task : list.tasks) {
    if (random.Below(3) > 0) task.link_uses = static_cast<int32_t>(random.Below(8));
  }
  return list;
}

const std::vector<LinkUse>& UsesOf(const TaskList& list, std::size_t task) {
  static const std::vector<LinkUse> none;
  const int32_t uses = list.tasks[task].link_uses;
  return uses == Task::kNoLinks ? none : list.link_uses[Index(uses)];
}

// Of each link, what flows at these rates use.
std::vector<double> LoadsOf(const TaskList& list, const std::vector<double>& rates) {
  std::vector<double> loads(list.resources.size(), 0);
  for (std::size_t task = 0; task < rates.size(); ++task) {
    for (const LinkUse& use : UsesOf(list, task)) loads[Index(use.link)] += rates[task] * use.share;
  }
  return loads;
}

// Max-min fair rates of what runs: the common rate of those that still grow is found by bisection.
std::vector<double> FairRates(const TaskList& list, const std::vector<bool>& runs) {
  std::vector<double> rates(runs.size(), 0);
  std::vector<bool> grows = runs;
  const auto at = [&](double level) {
    std::vector<double> grown = rates;
    for (std::size_t task = 0; task < runs.size(); ++task) grown[task] = grows[task] ? level : rates[task];
    return grown;
  };
  while (std::find(grows.begin(), grows.end(), true) != grows.end()) {
    double low = 0;
    double high = 1;
    for (int round = 0; round < 60; ++round) {
      const double level = round == 0 ? 1 : (low + high) / 2;
      const std::vector<double> loads = LoadsOf(list, at(level));
      (*std::max_element(loads.begin(), loads.end()) <= 1 + 1e-9 ? low : high) = level;
      if (low == 1) break;
    }
    rates = at(low);
    const std::vector<double> loads = LoadsOf(list, rates);
    for (std::size_t task = 0; task < runs.size(); ++task) {
      const auto is_full = [&](const LinkUse& use) { return loads[Index(use.link)] > 1 - 1e-6; };
      const std::vector<LinkUse>& uses = UsesOf(list, task);
      if (low == 1 || std::any_of(uses.begin(), uses.end(), is_full)) grows[task] = false;
    }
  }
  return rates;
}

// FlowEnds where the rates of everything are found again whenever anything ends.
std::vector<double> NaiveEnds(const TaskList& list) {
  const std::vector<Precedence> precedences = PrecedencesWithOrder(list);
  const std::size_t count = list.tasks.size();
  std::vector<double> left(count);
  for (std::size_t task = 0; task < count; ++task) left[task] = static_cast<double>(list.tasks[task].duration.count());
  std::vector<double> ends(count, -1);
  double now = 0;
  while (std::any_of(ends.begin(), ends.end(), [](double end) { return end < 0; })) {
    std::vector<bool> runs(count);
    for (std::size_t task = 0; task < count; ++task) runs[task] = ends[task] < 0;
    for (const auto& [before, after] : precedences) {
      if (ends[Index(before)] < 0) runs[Index(after)] = false;
    }
    const std::vector<double> rates = FairRates(list, runs);
    double next = 1e300;
    for (std::size_t task = 0; task < count; ++task) {
      if (runs[task]) next = std::min(next, left[task] / rates[task]);
    }
    now += next;
    for (std::size_t task = 0; task < count; ++task) {
      if (!runs[task]) continue;
      left[task] -= rates[task] * next;
      if (left[task] < 1e-3) ends[task] = now;
    }
  }
  return ends;
}

TEST(FlowSimulatorTest, AgreesWithRatesThatAreAllFoundAgain) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const TaskList list = RandomFlows(seed);
    const std::vector<int64_t> ends = FlowEnds(list);
    const std::vector<double> expected = NaiveEnds(list);
    for (std::size_t task = 0; task < ends.size(); ++task) {
      EXPECT_NEAR(static_cast<double>(ends[task]), expected[task], 500) << seed << " " << task;
    }
  }
}

TEST(FlowSimulatorTest, NoTaskIsFasterThanAloneAndNoneEndsEarlierThanWithoutContention) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const TaskList list = RandomFlows(seed);
    TaskList alone = list;
    for (Task& task : alone.tasks) task.link_uses = Task::kNoLinks;
    const Timeline with = SimulateFlows(list);
    const Timeline without = SimulateFlows(alone);
    for (std::size_t task = 0; task < list.tasks.size(); ++task) {
      EXPECT_GE(with.ends[task], without.ends[task]);
      EXPECT_GE(with.ends[task] - with.starts[task], list.tasks[task].duration);
    }
  }
}

TEST(FlowSimulatorTest, NoLinkCarriesMoreThanItCan) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const TaskList list = RandomFlows(seed);
    const Timeline timeline = SimulateFlows(list);
    // What has passed a link by any time is at most what it carries by then, from the first start on.
    std::vector<double> passed(list.resources.size(), 0);
    Picoseconds end{0};
    for (std::size_t task = 0; task < list.tasks.size(); ++task) {
      end = std::max(end, timeline.ends[task]);
      if (list.tasks[task].link_uses == Task::kNoLinks) continue;
      for (const LinkUse& use : list.link_uses[Index(list.tasks[task].link_uses)]) {
        passed[Index(use.link)] += use.share * static_cast<double>(list.tasks[task].duration.count());
      }
    }
    for (const double sum : passed) EXPECT_LE(sum, static_cast<double>(end.count()) * (1 + 1e-9));
  }
}

TEST(FlowSimulatorTest, ReportsCountFlowsOnAllTheirLinks) {
  TaskList list = MakeList({kDevice, kLink, kLink}, {{0, 10}, {1, 10}}, {});
  list.order[0] = {0};
  list.tasks[1].kind = TaskKind::kDataExchange;
  list.tasks[0].kind = TaskKind::kTensorExchange;
  list = WithUses(list, {{{1, 1}, {2, 0.1}}, {{1, 1}}});
  const SimulationReport report = ReportOn(list, SimulateFlows(list));
  EXPECT_EQ(report.step_time, Picoseconds(20));
  ASSERT_EQ(report.resources[0].kinds.size(), 1U);
  EXPECT_EQ(report.resources[0].kinds[0].busy, Picoseconds(20));
  EXPECT_EQ(report.resources[0].kinds[0].added, Picoseconds(10));
  EXPECT_EQ(report.resources[1].tasks, 2);
  EXPECT_EQ(report.resources[1].busy, Picoseconds(20));
  EXPECT_EQ(report.resources[1].kinds.size(), 2U);
  EXPECT_EQ(report.resources[2].tasks, 1);
}

}  // namespace
}  // namespace planwright
