// Tensors that many operators of a chain read, on interconnects where the producer pays for every device that reads
// them: the bounds must hold in every mode, and the plans stay good.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "tests/property/brute_force.h"
#include "tests/property/planning.h"

namespace planwright {
namespace {

constexpr double kBandwidth = 1e12;  // a byte takes a picosecond

// A chain whose first operator, a mask, is read by most of the others. REQUIRES: operators >= 2.
OperatorGraph MakeMaskedChain(int64_t operators, bool has_backward_times, RandomStream& random) {
  OperatorGraph graph;
  Tensor mask;
  mask.name = "mask";
  mask.producer = OperatorId(0);
  mask.size_bytes = random.Between(1, 8);
  for (int64_t i = 0; i < operators; ++i) {
    Operator& op = graph.operators.emplace_back();
    op.name = absl::StrCat("op", i);
    op.memory_bytes = 0;
    op.parameter_bytes = random.Between(0, 20);
    OperatorCost& cost = op.costs.emplace_back();
    cost.device_class = "gpu";
    cost.forward = Picoseconds(random.Between(i == 0 ? 0 : 3, 20));
    if (has_backward_times) cost.backward = Picoseconds(random.Between(0, 20));
    if (i == 0) continue;
    if (i == 1 || random.Below(5) > 0) mask.consumers.emplace_back(static_cast<std::size_t>(i));
    if (i + 1 == operators) continue;
    Tensor& tensor = graph.tensors.emplace_back();
    tensor.name = absl::StrCat("tensor", i);
    tensor.producer = OperatorId(static_cast<std::size_t>(i));
    tensor.consumers = {OperatorId(static_cast<std::size_t>(i) + 1)};
    tensor.size_bytes = random.Between(0, 4);
  }
  graph.tensors.push_back(std::move(mask));
  return graph;
}

Cluster MakeGpus(int64_t devices, RandomStream& random) {
  Cluster cluster;
  cluster.device_classes.emplace_back().name = "gpu";
  for (int64_t i = 0; i < devices; ++i) {
    Device& device = cluster.devices.emplace_back();
    device.name = absl::StrCat("gpu", i);
    device.device_class = DeviceClassId(0);
  }
  cluster.interconnect = UniformInterconnect{kBandwidth, Picoseconds(0)};
  if (devices == 4 && random.Below(2) == 0) {
    cluster.interconnect =
        HierarchyInterconnect{{{2, kBandwidth, Picoseconds(0)}, {2, kBandwidth / 2, Picoseconds(0)}}};
  }
  return cluster;
}

Instance MakeFanOutInstance(uint64_t seed) {
  RandomStream random(seed, 11);
  Instance instance;
  instance.graph = MakeMaskedChain(random.Between(4, 7), random.Below(2) == 0, random);
  instance.cluster = MakeGpus(random.Between(3, 5), random);
  PlanningProblem& problem = instance.problem;
  problem.overlap = std::array{Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex}[random.Below(3)];
  if (random.Below(3) == 0) problem.schedule = ScheduleKind::kGpipe;
  if (random.Below(2) == 0) problem.replication = Replication::kPerStage;
  return instance;
}

bool CountsReadersExactly(const Instance& instance) {
  const PlanningProblem& problem = instance.problem;
  return std::holds_alternative<UniformInterconnect>(instance.cluster.interconnect) &&
         problem.overlap == Overlap::kSerial && problem.schedule != ScheduleKind::kGpipe &&
         problem.replication != Replication::kPerStage;
}

TEST(FanOutPropertyTest, BoundsHoldAndPlansAreGood) {
  const uint64_t count = NumCases(600);
  uint64_t found = 0;
  for (uint64_t seed = 0; seed < count && !HasFailure(); ++seed) {
    const Instance instance = MakeFanOutInstance(seed);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    const std::optional<Picoseconds> optimum = NaiveJudge(instance).Optimum();
    const absl::StatusOr<Plan> plan = MakePlanOf(instance);
    ASSERT_TRUE(optimum.has_value());
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(plan->lower_bound, *optimum);
    EXPECT_GE(plan->objective, *optimum);
    if (plan->objective == *optimum) ++found;
    if (CountsReadersExactly(instance)) {
      EXPECT_EQ(plan->objective, *optimum);
      EXPECT_TRUE(plan->provenance.proven_optimal);
    }
  }
  EXPECT_GE(static_cast<double>(found), 0.8 * static_cast<double>(count));
}

}  // namespace
}  // namespace planwright
