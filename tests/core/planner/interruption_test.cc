// That everything looks at its limits often enough: this program has a clock of its own, which counts how often it is
// read and can jump beyond every deadline, so that nothing here depends on how fast the machine is.
#include "core/base/interruption.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/polling.h"
#include "core/cost/plan_costing.h"
#include "core/cost/terms/cost_table.h"
#include "core/graph/chain.h"
#include "core/joint/roundrobin/ideal_list.h"
#include "core/joint/roundrobin/stage_loads.h"
#include "core/joint/stages/stage_table.h"
#include "core/partition/search/block_instance.h"
#include "core/planner/algorithms/algorithms.h"
#include "core/planner/canonical_request.h"
#include "core/planner/planner.h"
#include "core/verify/verify.h"
#include "core/zoo/zoo.h"
#include "tests/support/lattices.h"

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::atomic<int64_t> looks{0};
// The look at which the clock jumps by a day.
std::atomic<int64_t> jump{kNever};

}  // namespace

// Instead of that of the C library, also for std::chrono.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_MONOTONIC && ++looks >= jump) time->tv_sec += 24L * 3600;
  return result;
}

namespace planwright {
namespace {

// After the clock has jumped each loop on the way out may look once or twice, on each thread.
constexpr int64_t kMostLooksAfterJump = 300;

// Looks of `work`, at the first `before` of which the deadline has not passed.
int64_t LooksOf(const std::function<void(const SolveLimits&)>& work, int64_t before = kNever) {
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now() + std::chrono::hours(1);
  looks = 0;
  jump = before == kNever ? kNever : before + 1;
  work(limits);
  jump = kNever;
  return looks;
}

// The same for what throws where it is interrupted.
int64_t LooksInScope(const std::function<void()>& work, int64_t before = kNever) {
  return LooksOf(
      [&](const SolveLimits& limits) {
        const InterruptionScope scope(&limits);
        work();
      },
      before);
}

struct Case {
  std::string_view name;
  OperatorGraph graph;
  Cluster cluster;
  PlanningProblem problem;
};

Case MakeCase(std::string_view name, const char* model, const char* cluster, const PlanningProblem& problem) {
  return {name, *MakeZooModel(model), *MakeZooCluster(cluster), problem};
}

// Each algorithm plans at least one of them.
std::vector<Case> Cases() {
  PlanningProblem free;
  free.split = Split::kNonContiguous;
  PlanningProblem copies;
  copies.schedule = ScheduleKind::kOneFOneB;
  copies.replication = Replication::kUniform;
  copies.micro_batches = 64;
  PlanningProblem periodic;
  periodic.schedule = ScheduleKind::kPeriodic;
  periodic.overlap = Overlap::kOverlapped;
  PlanningProblem periodic_free = periodic;
  periodic_free.split = Split::kNonContiguous;
  PlanningProblem latency;
  latency.objective = Objective::kMinLatency;
  std::vector<Case> cases = {MakeCase("throughput", "inception-v3", "pcie:8", PlanningProblem()),
                             MakeCase("free", "bert-base", "pcie:8", free),
                             MakeCase("hierarchy", "bert-base", "dgx-a100:4", PlanningProblem()),
                             MakeCase("copies", "bert-large", "torus2d:4", copies),
                             MakeCase("periodic", "vgg16", "dgx1-v100:1", periodic),
                             MakeCase("periodic, free", "resnet50", "dgx1-v100:1", periodic_free)};
  const Lattice lattice = *MakeLattice("inc_3x4_lo");
  cases.push_back({"latency", lattice.graph, lattice.cluster, latency});
  cases.push_back({"lattice", lattice.graph, lattice.cluster, PlanningProblem()});
  cases.push_back({"lattice, free", lattice.graph, lattice.cluster, free});
  return cases;
}

// Calls check(request, name) for every algorithm on every case that it plans.
void ForEachSearch(const std::function<void(const PlanRequest&, const std::string&)>& check) {
  const std::vector<Case> cases = Cases();
  for (const AlgorithmRow& algorithm : Algorithms()) {
    bool is_planned = false;
    for (const Case& planned : cases) {
      SolverOptions options;
      options.algorithm = algorithm.algorithm;
      const PlanRequest request{planned.graph, planned.cluster, planned.problem, options};
      if (!CheckRequest(request, ModelLimits()).ok()) continue;
      is_planned = true;
      check(request, std::string(algorithm.name) + ", " + std::string(planned.name));
    }
    const bool is_built = algorithm.algorithm != Algorithm::kMip && algorithm.algorithm != Algorithm::kScotch;
    EXPECT_TRUE(is_planned || !is_built) << algorithm.name << " plans no case";
  }
}

TEST(InterruptionTest, EverySearchEndsAFewLooksAfterItsDeadline) {
  for (const int threads : {1, 2}) {
    TaskArena arena(threads);
    PlannerObserver observer;
    ForEachSearch([&](const PlanRequest& request, const std::string& name) {
      for (const int64_t before : {1, 100}) {
        absl::StatusOr<Plan> plan;
        const int64_t all = LooksOf(
            [&](const SolveLimits& limits) { plan = MakePlan(request, ModelLimits(), limits, arena, observer); },
            before);
        EXPECT_LE(all - before, kMostLooksAfterJump) << name << ", stopped after look " << before;
        const bool is_answer = plan.ok() || IsNoPlanFound(plan.status()) || InfeasibilityOf(plan.status()).has_value();
        EXPECT_TRUE(is_answer) << name << ", stopped after look " << before << ": " << plan.status();
        if (all < before) break;
      }
    });
  }
}

// Of the joint search: by the shape of a transformer and by operators, on nodes and networks, and replicas in turn.
std::vector<Case> JointCases() {
  PlanningProblem joint;
  joint.joint.emplace().global_batch = 64;
  PlanningProblem per_stage = joint;
  per_stage.joint->per_stage = true;
  PlanningProblem orders = joint;
  orders.joint->orders = {PipelineOrder::kInterleaved, PipelineOrder::kZeroBubble};
  PlanningProblem alike = joint;
  alike.joint->orders = {PipelineOrder::kOneFOneB};
  alike.joint->first_layers_alike = true;
  PlanningProblem fewest = joint;
  fewest.objective = Objective::kMinDevices;
  PlanningProblem turns = joint;
  turns.replication = Replication::kPerStage;
  std::vector<Case> cases;
  for (const char* cluster : {"dgx-a100:4", "torus2d:4"}) {
    cases.push_back(MakeCase("joint", "transformer?layers=100", cluster, joint));
    cases.push_back(MakeCase("joint, by stage", "transformer?layers=100", cluster, per_stage));
    cases.push_back(MakeCase("joint, orders", "transformer?layers=100", cluster, orders));
    cases.push_back(MakeCase("joint, alike", "transformer?layers=100", cluster, alike));
  }
  cases.push_back(MakeCase("joint, fewest", "transformer?layers=100", "dgx-a100:4", fewest));
  for (Case& shaped : cases) shaped.graph.transformer = TransformerShapeOf("transformer?layers=100");
  cases.push_back(MakeCase("joint, operators", "inception-v3", "dgx-a100:4", joint));
  cases.push_back(MakeCase("joint, operators", "inception-v3", "torus2d:4", joint));
  cases.push_back(MakeCase("joint, turns", "inception-v3", "nodes:1?devices=16&inside_us=0", turns));
  return cases;
}

TEST(InterruptionTest, JointSearchesEndAFewLooksAfterTheirDeadline) {
  TaskArena arena(1);
  PlannerObserver observer;
  for (const Case& planned : JointCases()) {
    const PlanRequest request{planned.graph, planned.cluster, planned.problem, SolverOptions()};
    ASSERT_TRUE(CheckRequest(request, ModelLimits()).ok()) << planned.name;
    for (const int64_t before : {1, 100, 1'000, 10'000}) {
      absl::StatusOr<Plan> plan;
      const int64_t all = LooksOf(
          [&](const SolveLimits& limits) { plan = MakePlan(request, ModelLimits(), limits, arena, observer); }, before);
      EXPECT_LE(all - before, kMostLooksAfterJump) << planned.name << ", stopped after look " << before;
      const bool is_answer = plan.ok() || IsNoPlanFound(plan.status()) || InfeasibilityOf(plan.status()).has_value();
      EXPECT_TRUE(is_answer) << planned.name << ", stopped after look " << before << ": " << plan.status();
      if (all < before) break;
    }
  }
}

TEST(InterruptionTest, PreparationsOfJointSearchesLookInProportionToTheirSize) {
  const OperatorGraph graph = *MakeZooModel("transformer?layers=500");
  const ResolvedProblem problem = ResolveProblem(graph, PlanningProblem());
  const std::vector<int64_t> weights(graph.operators.size(), 1);
  EXPECT_GE(LooksInScope([&] { LinearizeGraph(graph, problem, weights, 96); }), 7'000 / 150);
  const std::vector<int32_t> kinds(1'000, 0);
  EXPECT_GE(LooksInScope([&] { SegmentNumbers segments(kinds); }), 500'000 / 100);
  RoundRobinInstance instance;
  instance.tensor_degrees = {1};
  instance.operators.resize(1);
  instance.edge_bytes.resize(1);
  for (std::size_t op = 0; op < 1'000; ++op) {
    instance.ids.emplace_back(op);
    instance.operators.front().emplace_back();
    if (op > 0) instance.edges.push_back({static_cast<int32_t>(op) - 1, static_cast<int32_t>(op)});
  }
  instance.edge_bytes.front().resize(instance.edges.size());
  IdealList ideals;
  EXPECT_GE(LooksInScope([&] { ideals = IdealsOf(instance, 1'024); }), 1'000'000 / 5'000);
  EXPECT_GE(LooksInScope([&] { StageLoads loads(instance, ideals); }), 1'000'000 / 5'000);
}

TEST(InterruptionTest, PhasesLookInProportionToTheSizeOfTheRequest) {
  // Of 14 operators each.
  constexpr int64_t kOperatorsPerLook = 150;
  const OperatorGraph graph = *MakeZooModel("transformer?layers=500");
  const Cluster cluster = *MakeZooCluster("dgx-a100:2");
  const auto least = static_cast<int64_t>(graph.operators.size()) / kOperatorsPerLook;
  const ResolvedProblem problem = ResolveProblem(graph, PlanningProblem());
  const CostTable costs(graph, cluster, problem.workload);
  Placement placement;
  placement.stages.push_back({{}, {DeviceId(0)}});
  for (std::size_t i = 0; i < graph.operators.size(); ++i) placement.stages[0].operators.emplace_back(i);
  Violations violations;
  const std::vector<std::pair<const char*, std::function<void()>>> phases = {
      {"ValidateGraph", [&] { ValidateGraph(graph, ModelLimits(), violations); }},
      {"ValidateProblem", [&] { ValidateProblem(graph, cluster, PlanningProblem(), SolverOptions(), violations); }},
      {"CanonicalRequest", [&] { CanonicalRequest(graph, cluster, problem); }},
      {"CostTable", [&] { CostTable(graph, cluster, problem.workload); }},
      {"BuildBlockInstance",
       [&] {
         BuildBlockInstance({graph, cluster, problem, costs}, MergeRule::kNever);
       }},
      {"CostPlan",
       [&] {
         CostPlan({graph, cluster, problem, costs}, placement);
       }},
      {"VerifyPlacement", [&] {
         VerifyPlacement({graph, cluster, problem}, placement);
       }}};
  for (const auto& [name, phase] : phases) EXPECT_GE(LooksInScope(phase), least) << name;
}

TEST(InterruptionTest, PairsOfDevicesAreLookedAtBetween) {
  const Cluster cluster = *MakeZooCluster("random-uniform:256");
  constexpr int64_t kPairsPerLook = 1'000;
  Violations violations;
  EXPECT_GE(LooksInScope([&] { Network network(cluster.interconnect); }), 256 * 256 / kPairsPerLook);
  EXPECT_GE(LooksInScope([&] { ValidateCluster(cluster, ModelLimits(), violations); }), 256 * 256 / kPairsPerLook);
}

bool IsInterrupted() {
  try {
    for (int i = 0; i < 100'000; ++i) InterruptionPoint();
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.why(), Interruption::kCancelled);
    return true;
  }
  return false;
}

TEST(InterruptionTest, ScopesNestAndCarryToTheThreadsOfAnArena) {
  const std::stop_source stop;
  stop.request_stop();
  SolveLimits limits;
  limits.stop = stop.get_token();
  EXPECT_FALSE(IsInterrupted());
  {
    const InterruptionScope scope(&limits);
    EXPECT_TRUE(IsInterrupted());
    {
      const InterruptionScope unheeded(nullptr);
      EXPECT_FALSE(IsInterrupted());
    }
    EXPECT_TRUE(IsInterrupted());
    TaskArena arena(2);
    std::atomic<int> interrupted = 0;
    arena.ParallelFor(64, 1, [&](std::size_t) { interrupted += IsInterrupted() ? 1 : 0; });
    EXPECT_EQ(interrupted, 64);
  }
  EXPECT_FALSE(IsInterrupted());
}

TEST(PollerTest, CountsUnitsNotSteps) {
  constexpr int64_t kUnits = 1'000'000;
  for (const int64_t units : {1, 100, 10'000}) {
    const int64_t all = LooksOf([units](const SolveLimits& limits) {
      Poller poller(limits);
      for (int64_t done = 0; done < kUnits; done += units) EXPECT_FALSE(poller.ShouldStop(units));
    });
    EXPECT_GE(all, 100) << units;
  }
}

}  // namespace
}  // namespace planwright
