#include "core/schedule/pattern_unroll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/violations.h"
#include "core/cost/chain/periodic_costing.h"
#include "core/schedule/one_f_one_b_star.h"
#include "core/schedule/pattern_search.h"
#include "core/schedule/pattern_steps.h"
#include "core/simulate/dynamic_simulator.h"
#include "core/simulate/simulation_report.h"
#include "tests/support/random_chain.h"
#include "tests/support/wire.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kMicroBatches = 60;

std::vector<std::string> NamesOf(const ChainDevices& devices) {
  std::vector<std::string> names;
  for (int32_t device = 0; device < devices.count; ++device) names.push_back(absl::StrCat("gpu", device));
  return names;
}

// A random contiguous allocation under its shortest 1F1B* pattern.
struct Case {
  Chain chain;
  ChainDevices devices;
  ChainAllocation allocation;
  PeriodicPattern pattern;
  TaskList list;
};

Case MakeCase(uint64_t seed) {
  RandomStream random(seed);
  Case made;
  const RandomChainOptions options{.layers = static_cast<int32_t>(random.Between(1, 9))};
  made.chain = MakeRandomChain(options, random);
  made.devices.count = static_cast<int32_t>(random.Between(1, 5));
  made.devices.full_duplex = random.Below(2) == 0;
  made.allocation = MakeRandomContiguousAllocation(options.layers, made.devices.count, random);
  const Picoseconds period = *SmallestPeriod(made.chain, made.allocation, made.devices);
  made.pattern = ScheduleOneFOneBStar(made.chain, made.allocation, made.devices, period)->pattern;
  made.list =
      *UnrollPattern(made.chain, made.devices, made.allocation, made.pattern, NamesOf(made.devices), kMicroBatches);
  return made;
}

// The device that the chain calls `name`.
int64_t PeakOf(const Case& made, const SimulationReport& report, int32_t device) {
  for (std::size_t i = 0; i < made.list.resources.size(); ++i) {
    if (made.list.resources[i].name == absl::StrCat("gpu", device)) return report.resources[i].peak_memory_bytes;
  }
  return 0;
}

bool HasStages(const Case& made, int32_t device) {
  return std::any_of(made.allocation.begin(), made.allocation.end(),
                     [device](const ChainStage& stage) { return stage.device == device; });
}

// The times that the pattern says, as a timeline.
Timeline TimelineOfPattern(const Case& made) {
  const std::vector<PatternStep> steps = PatternSteps(made.chain, ChainSums(made.chain), made.devices, made.allocation);
  Timeline timeline;
  for (std::size_t task = 0; task < made.list.tasks.size(); ++task) {
    const PatternStep& step = steps[task % steps.size()];
    const auto found = std::find_if(made.pattern.tasks.begin(), made.pattern.tasks.end(), [&](const PatternTask& any) {
      return any.operation == step.operation && any.stage.index() == Index(step.stage);
    });
    const int64_t periods = found->shift + made.list.tasks[task].micro_batch;
    timeline.starts.push_back(found->start + periods * made.pattern.period);
    timeline.ends.push_back(timeline.starts.back() + made.list.tasks[task].duration);
  }
  timeline.sequence.resize(made.list.tasks.size());
  std::iota(timeline.sequence.begin(), timeline.sequence.end(), 0);
  std::sort(timeline.sequence.begin(), timeline.sequence.end(), [&](int32_t a, int32_t b) {
    return std::tuple(timeline.starts[Index(a)], timeline.ends[Index(a)], a) <
           std::tuple(timeline.starts[Index(b)], timeline.ends[Index(b)], b);
  });
  return timeline;
}

TEST(PatternUnrollTest, RunsNoLaterThanThePatternSaysAndAtItsPeriod) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Case made = MakeCase(seed);
    const Timeline eager = SimulateTasks(made.list, Contention::kExclusive);
    const Timeline planned = TimelineOfPattern(made);
    for (std::size_t task = 0; task < made.list.tasks.size(); ++task) {
      ASSERT_LE(eager.starts[task], planned.starts[task]) << seed;
    }
    EXPECT_LE(SteadyPeriod(made.list, eager, kMicroBatches), made.pattern.period) << seed;
    EXPECT_EQ(SteadyPeriod(made.list, planned, kMicroBatches), made.pattern.period) << seed;
  }
}

// The first stage takes no time, but shares its device with the last one, which is busy all the time.
TEST(PatternUnrollTest, TasksThatTakeNoTimeWaitForNobody) {
  Chain chain;
  chain.layers = {{}, {.forward = Picoseconds(3)}, {.forward = Picoseconds(6)}};
  chain.cuts.resize(2);
  chain.has_backward = false;
  const ChainDevices devices{.count = 2, .memory_bytes = std::nullopt};
  const ChainAllocation allocation = {{0, 0, 0}, {1, 1, 1}, {2, 2, 0}};
  const PatternOutcome found = PatternSearch(chain, devices, allocation, SolveLimits());
  ASSERT_EQ(found.pattern.value().period, Picoseconds(6));
  const TaskList list = *UnrollPattern(chain, devices, allocation, *found.pattern, {"a", "b"}, kMicroBatches);
  const Timeline eager = SimulateTasks(list, Contention::kExclusive);
  EXPECT_EQ(SteadyPeriod(list, eager, kMicroBatches), Picoseconds(6));
  EXPECT_EQ(ReportOn(list, eager).step_time, Picoseconds(3 + 6 * kMicroBatches));
}

TEST(PatternUnrollTest, PeaksAreThoseOfThePattern) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Case made = MakeCase(seed);
    const PatternMemory memory =
        MemoryOf(made.chain, ChainSums(made.chain), made.devices, made.allocation, made.pattern);
    const SimulationReport planned = ReportOn(made.list, TimelineOfPattern(made));
    const SimulationReport eager = ReportOn(made.list, SimulateTasks(made.list, Contention::kExclusive));
    for (int32_t device = 0; device < made.devices.count; ++device) {
      if (!HasStages(made, device)) continue;
      EXPECT_EQ(PeakOf(made, planned, device), memory.peak_bytes[Index(device)]) << seed;
      EXPECT_LE(PeakOf(made, eager, device), memory.peak_bytes[Index(device)]) << seed;
    }
  }
}

TEST(PatternUnrollTest, DevicesWithoutStagesAreLeftOut) {
  Chain chain;
  chain.layers = {{.forward = Picoseconds(1)}, {.forward = Picoseconds(2)}};
  chain.cuts = {{.send_forward = Picoseconds(3)}};
  chain.has_backward = false;
  const ChainDevices devices{.count = 3, .memory_bytes = std::nullopt, .full_duplex = true};
  const ChainAllocation allocation = {{0, 0, 2}, {1, 1, 0}};
  const PeriodicPattern pattern = ScheduleOneFOneBStar(chain, allocation, devices, Picoseconds(3))->pattern;
  const TaskList list = *UnrollPattern(chain, devices, allocation, pattern, {"a", "b", "c"}, 2);
  std::vector<std::string> names;
  for (const TaskResource& resource : list.resources) names.push_back(resource.name);
  EXPECT_THAT(names, ElementsAre("a", "c", "c -> a"));
  EXPECT_THAT(
      Lines(ViolationsOf(UnrollPattern(chain, devices, allocation, pattern, {"a", "b", "c"}, 1'000'000).status())),
      ElementsAre(HasSubstr("micro_batches: must be at most 333333")));
}

}  // namespace
}  // namespace planwright
