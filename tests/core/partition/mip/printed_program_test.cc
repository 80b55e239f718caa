#include "core/partition/mip/printed_program.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/partition/mip/mip_solver.h"
#include "core/partition/mip/throughput_program.h"
#include "tests/property/brute_force.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

constexpr uint64_t kInstances = 60;
constexpr int kOperators = 7;
// Instances that the figure covers; nullopt: none has this seed.
std::optional<Instance> PrintableInstance(InstanceMode mode, uint64_t seed) {
  Instance instance = MakeModeInstance(mode, seed, kOperators);
  if (!std::holds_alternative<HostStagedInterconnect>(instance.cluster.interconnect)) return std::nullopt;
  instance.problem.overlap = Overlap::kSerial;
  instance.problem.granularity = Granularity::kOperator;
  instance.problem.replication = Replication::kNone;
  instance.problem.schedule = ScheduleKind::kSteadyState;
  const ResolvedProblem resolved = ResolveProblem(instance.graph, instance.problem);
  if (resolved.memory_model.kind != MemoryModel::Kind::kDeclared) return std::nullopt;
  return instance;
}

// Both forms of one problem, and their optima in picoseconds; nullopt: there is no solution.
class Case {
 public:
  explicit Case(const Instance& instance)
      : instance_(instance),
        problem_(ResolveProblem(instance.graph, instance.problem)),
        costs_(instance.graph, instance.cluster, problem_.workload) {
    for (std::size_t op = 0; op < instance.graph.operators.size(); ++op) {
      unit_ += costs_.time(OperatorId(op), instance.cluster.devices.front().device_class).total();
    }
  }

  std::optional<double> Printed() const {
    return Solve(BuildPrintedProgram({instance_.graph, instance_.cluster, problem_, costs_}, unit_).program);
  }
  std::optional<double> Compact() const {
    const NetInstance net = BuildNetInstance({instance_.graph, instance_.cluster, problem_, costs_});
    return Solve(BuildThroughputProgram(net, /*is_contiguous=*/false, 1000 * unit_, unit_).program);
  }

 private:
  std::optional<double> Solve(const IntegerProgram& program) const {
    const MipOutcome outcome = SolveIntegerProgram({.program = program});
    EXPECT_EQ(outcome.end, MipEnd::kFinished);
    if (outcome.solution.empty()) return std::nullopt;
    return outcome.bound * static_cast<double>(unit_.count());
  }

  const Instance& instance_;
  const ResolvedProblem problem_;
  const CostTable costs_;
  Picoseconds unit_{1};
};

class PrintedProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasMipSolver()) GTEST_SKIP() << "this build has no solver";
  }
};

TEST_F(PrintedProgramTest, AgreesWithTheCompactFormAndWithBruteForce) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < kInstances && !HasFailure(); ++seed) {
    const std::optional<Instance> instance = PrintableInstance(InstanceMode::kNonContiguous, seed);
    if (!instance.has_value()) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(*instance));
    const std::optional<Picoseconds> optimum = NaiveJudge(*instance).Optimum();
    const Case problem(*instance);
    const std::optional<double> printed = problem.Printed();
    const std::optional<double> compact = problem.Compact();
    ASSERT_EQ(printed.has_value(), optimum.has_value());
    ASSERT_EQ(compact.has_value(), optimum.has_value());
    if (!optimum.has_value()) continue;
    ++feasible;
    const auto expected = static_cast<double>(optimum->count());
    EXPECT_NEAR(*printed, expected, 1e-5 * expected);
    EXPECT_NEAR(*compact, expected, 1e-5 * expected);
  }
  EXPECT_GT(feasible, 10);
}

// Definition 3.1 allows what no pipeline can run, and forbids nothing that one can: of forward operators.
TEST_F(PrintedProgramTest, BoundsContiguousPlansOfInferenceFromBelow) {
  int feasible = 0;
  int equal = 0;
  for (uint64_t seed = 0; seed < kInstances && !HasFailure(); ++seed) {
    std::optional<Instance> instance = PrintableInstance(InstanceMode::kContiguous, seed);
    if (!instance.has_value()) continue;
    instance->problem.workload = Workload::kInference;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(*instance));
    const std::optional<Picoseconds> optimum = NaiveJudge(*instance).Optimum();
    if (!optimum.has_value()) continue;
    ++feasible;
    const std::optional<double> printed = Case(*instance).Printed();
    const auto expected = static_cast<double>(optimum->count());
    ASSERT_TRUE(printed.has_value());
    EXPECT_LE(*printed, expected * (1 + 1e-5));
    if (*printed > expected * (1 - 1e-5)) ++equal;
  }
  EXPECT_GT(feasible, 10);
  EXPECT_GT(equal, feasible / 2);
}

// {0, 1} and {2, 3} need each other.
TEST_F(PrintedProgramTest, LetsContiguousSubgraphsNeedEachOtherAsThePaperDoes) {
  Instance instance;
  OperatorGraph& graph = instance.graph;
  for (const int64_t time : {1, 7, 5, 3}) AddOperator(graph, "op" + std::to_string(graph.operators.size()), time, time);
  AddTensor(graph, OperatorId(0), {OperatorId(2)}, 0);
  AddTensor(graph, OperatorId(3), {OperatorId(1)}, 0);
  instance.cluster = MakeCluster(2, 0);
  EXPECT_EQ(NaiveJudge(instance).Optimum(), Picoseconds(9));
  EXPECT_NEAR(Case(instance).Printed().value(), 8, 1e-3);
}

// A chain of three on two accelerators: the middle one alone is contiguous, the two ends are not.
TEST_F(PrintedProgramTest, KeepsSubgraphsContiguousWhereTheProblemDoes) {
  Instance instance;
  OperatorGraph& graph = instance.graph;
  for (const int64_t time : {4, 9, 5}) AddOperator(graph, "op" + std::to_string(graph.operators.size()), time, time);
  AddTensor(graph, OperatorId(0), {OperatorId(1)}, 0);
  AddTensor(graph, OperatorId(1), {OperatorId(2)}, 0);
  instance.cluster = MakeCluster(2, 0);
  EXPECT_NEAR(Case(instance).Printed().value(), 13, 1e-3);
  instance.problem.split = Split::kNonContiguous;
  EXPECT_NEAR(Case(instance).Printed().value(), 9, 1e-3);
}

}  // namespace
}  // namespace planwright
