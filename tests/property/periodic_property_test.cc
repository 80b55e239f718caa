// PERIODIC on random graphs and clusters: costing, verifier and an oracle that unrolls patterns agree; no algorithm
// claims what brute force over all linear orders and allocations refutes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/base/random.h"
#include "core/cost/chain/chain_costs.h"
#include "core/cost/plan_costing.h"
#include "core/model/colocation.h"
#include "core/planner/algorithms/algorithms.h"
#include "core/planner/pattern_completion.h"
#include "core/verify/verify.h"
#include "tests/property/planning.h"
#include "tests/support/mode_instance.h"
#include "tests/support/pattern_oracle.h"

namespace planwright {
namespace {

constexpr int kOperators = 8;

// What the tests need of an instance, resolved once.
class Setting {
 public:
  explicit Setting(const Instance& instance)
      : instance_(instance),
        problem_(ResolveProblem(instance.graph, instance.problem)),
        costs_(instance.graph, instance.cluster, problem_.workload) {
    const std::vector<int32_t> labels = ColocationUnions(instance.graph, problem_);
    for (std::size_t op = 0; op < labels.size(); ++op) {
      if (labels[op] == kDropped) continue;
      const auto label = static_cast<std::size_t>(labels[op]);
      if (unions_.size() <= label) unions_.resize(label + 1);
      unions_[label].emplace_back(op);
    }
    FillPrecedence(labels);
    for (std::size_t i = 0; i < instance.cluster.devices.size(); ++i) {
      if (instance.cluster.class_of(DeviceId(i)).kind == DeviceKind::kAccelerator) devices_.emplace_back(i);
    }
  }

  const ResolvedProblem& problem() const { return problem_; }
  const CostTable& costs() const { return costs_; }
  // Operators that must stay together.
  const std::vector<std::vector<OperatorId>>& unions() const { return unions_; }
  const std::vector<DeviceId>& devices() const { return devices_; }
  // a stands before b in every linear order, or both are in one stage.
  bool MustPrecede(std::size_t a, std::size_t b) const { return must_precede_[a][b]; }

  Verdict Judge(const Placement& placement) const {
    return VerifyPlacement({instance_.graph, instance_.cluster, problem_}, placement);
  }
  Placement Complete(Placement placement) const {
    return WithPattern({instance_.graph, instance_.cluster, problem_, costs_}, std::move(placement), SolveLimits());
  }

 private:
  void FillPrecedence(const std::vector<int32_t>& labels) {
    must_precede_.assign(unions_.size(), std::vector<bool>(unions_.size(), false));
    const auto pass_of = [&](OperatorId op) { return instance_.graph.operators[op.index()].pass; };
    const bool gradients_listed_forward = ListsGradientsForward(instance_.graph, labels);
    for (const Tensor& tensor : instance_.graph.tensors) {
      for (const OperatorId consumer : tensor.consumers) {
        if (pass_of(tensor.producer) != pass_of(consumer)) continue;
        int32_t before = labels[tensor.producer.index()];
        int32_t after = labels[consumer.index()];
        if (pass_of(consumer) == Pass::kBackward && !gradients_listed_forward) std::swap(before, after);
        if (before == kDropped || before == after) continue;
        must_precede_[static_cast<std::size_t>(before)][static_cast<std::size_t>(after)] = true;
      }
    }
  }

  const Instance& instance_;
  const ResolvedProblem problem_;
  const CostTable costs_;
  std::vector<std::vector<OperatorId>> unions_;
  std::vector<DeviceId> devices_;
  std::vector<std::vector<bool>> must_precede_;
};

// Calls check(instance, setting, seed) until the first failure, which the trace then describes in full.
template <typename Check>
void ForEachPeriodic(uint64_t count, int max_operators, const Check& check) {
  for (uint64_t seed = 0; seed < NumCases(count) && !::testing::Test::HasFailure(); ++seed) {
    const Instance instance = MakeModeInstance(InstanceMode::kPeriodic, seed, max_operators);
    if (!IsSupported(instance, SolverOptions())) continue;
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << Describe(instance));
    check(instance, Setting(instance), seed);
  }
}

// Unions in a random order that precedence allows, cut at random; each stage on a random device. Unions that only one
// stage can hold together may be torn.
Placement RandomStages(const Setting& setting, RandomStream& random) {
  std::vector<std::size_t> left(setting.unions().size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  Placement placement;
  while (!left.empty()) {
    std::vector<std::size_t> ready;
    for (const std::size_t b : left) {
      if (std::none_of(left.begin(), left.end(), [&](std::size_t a) { return setting.MustPrecede(a, b); })) {
        ready.push_back(b);
      }
    }
    const std::vector<std::size_t>& choices = ready.empty() ? left : ready;
    const std::size_t next = choices[random.Below(choices.size())];
    std::erase(left, next);
    if (placement.stages.empty() || random.Below(2) == 0) {
      placement.stages.push_back({{}, {setting.devices()[random.Below(setting.devices().size())]}});
    }
    std::vector<OperatorId>& operators = placement.stages.back().operators;
    operators.insert(operators.end(), setting.unions()[next].begin(), setting.unions()[next].end());
  }
  return placement;
}

TEST(PeriodicPropertyTest, CostingAndVerifierAgreeOnEveryNumber) {
  int feasible = 0;
  ForEachPeriodic(1500, kOperators, [&](const Instance& instance, const Setting& setting, uint64_t seed) {
    RandomStream random(seed, 21);
    for (int i = 0; i < 3; ++i) {
      const Placement placement = setting.Complete(RandomStages(setting, random));
      const Verdict verdict = setting.Judge(placement);
      if (!verdict.costed.has_value()) continue;
      const Plan plan = CostPlan({instance.graph, instance.cluster, setting.problem(), setting.costs()}, placement);
      Violations violations;
      VerifyPlan(instance.graph, instance.cluster, plan, violations);
      EXPECT_EQ(violations.listed(), verdict.violations.listed()) << violations.ToStatus();
      if (verdict.violations.empty()) ++feasible;
    }
  });
  EXPECT_GT(feasible, 300);
}

// The stages of a plan as a chain of one layer each, on all devices of the cluster.
struct StageChain {
  Chain chain;
  ChainDevices devices;
  ChainAllocation allocation;
};

StageChain ChainOf(const Instance& instance, const Setting& setting, const Plan& plan) {
  StageChain stages;
  std::vector<std::vector<OperatorId>> layers;
  for (const Stage& stage : plan.stages) {
    const auto layer = static_cast<int32_t>(layers.size());
    layers.push_back(stage.operators);
    stages.allocation.push_back({layer, layer, static_cast<int32_t>(stage.replicas.front().device.index())});
  }
  const DeviceId device = plan.stages.front().replicas.front().device;
  stages.chain = MakeChain(instance.graph, instance.cluster.interconnect, setting.problem(), setting.costs(),
                           instance.cluster.devices[device.index()].device_class, layers);
  stages.devices = {static_cast<int32_t>(instance.cluster.devices.size()), std::nullopt,
                    setting.problem().overlap == Overlap::kFullDuplex};
  return stages;
}

bool EveryStageTakesTime(const Chain& chain) {
  return std::all_of(chain.layers.begin(), chain.layers.end(),
                     [](const ChainLayer& layer) { return (layer.forward + layer.backward).count() > 0; });
}

// Moves one task a little, sometimes by whole periods, or changes the period. The first forward pass, which is the
// first task, keeps its shift: that is a convention.
void Disturb(PeriodicPattern& pattern, RandomStream& random) {
  const std::size_t position = random.Below(pattern.tasks.size());
  PatternTask& task = pattern.tasks[position];
  switch (position == 0 ? 3 : random.Below(4)) {
    case 0:
      task.shift += static_cast<int32_t>(random.Between(-1, 1));
      break;
    case 1:
      pattern.period = std::max(Picoseconds(1), pattern.period + Picoseconds(random.Between(-3, 3)));
      break;
    default:
      task.start += Picoseconds(random.Between(-2, 2));
      break;
  }
}

TEST(PeriodicPropertyTest, TheVerifierAcceptsWhatAnUnrollingOracleAccepts) {
  int accepted = 0;
  int refused = 0;
  ForEachPeriodic(1000, kOperators, [&](const Instance& instance, const Setting& setting, uint64_t seed) {
    RandomStream random(seed, 22);
    const Placement whole = setting.Complete(RandomStages(setting, random));
    const Verdict verdict = setting.Judge(whole);
    if (!verdict.costed.has_value()) return;
    const StageChain stages = ChainOf(instance, setting, *verdict.costed);
    for (int i = 0; i < 5; ++i) {
      Placement placement = whole;
      if (i > 0) Disturb(*placement.pattern, random);
      const Verdict judged = setting.Judge(placement);
      const auto& listed = judged.violations.listed();
      const bool is_sound = std::all_of(listed.begin(), listed.end(), [](const Violation& violation) {
        return !violation.path.starts_with("plan.schedule");
      });
      const std::string fault = FaultOf(stages.chain, stages.devices, stages.allocation, *placement.pattern);
      EXPECT_EQ(is_sound, fault.empty()) << fault << "\n" << judged.violations.ToStatus();
      ++(is_sound ? accepted : refused);
      if (!is_sound || !EveryStageTakesTime(stages.chain)) continue;
      const std::vector<int64_t> peaks =
          SweptPeaks(stages.chain, stages.devices, stages.allocation, *placement.pattern);
      for (const DeviceUsage& usage : judged.costed->devices) {
        if (usage.stages.empty()) continue;
        EXPECT_EQ(usage.memory_bytes - setting.problem().memory_model.reserved_bytes, peaks[usage.device.index()]);
      }
    }
  });
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 300);
}

// Every way to order the unions, to cut the order into stages and to place those, devices of equal memory being alike.
class BruteForce {
 public:
  explicit BruteForce(const Setting& setting)
      : setting_(setting),
        max_stages_(static_cast<std::size_t>(*setting.problem().max_stages_per_device)),
        is_placed_(setting.unions().size(), false) {}

  // The best objective of all that evaluation accepts; nullopt: it accepts nothing.
  std::optional<Picoseconds> Optimum() {
    ExtendOrder();
    return best_;
  }

 private:
  void ExtendOrder() {
    if (order_.size() == setting_.unions().size()) return ExtendStages(0);
    for (std::size_t next = 0; next < is_placed_.size(); ++next) {
      if (is_placed_[next]) continue;
      is_placed_[next] = true;
      order_.push_back(next);
      ExtendOrder();
      order_.pop_back();
      is_placed_[next] = false;
    }
  }

  // `begin`: how many of the order are in stages.
  void ExtendStages(std::size_t begin) {
    if (begin == order_.size()) return Judge();
    for (std::size_t end = begin + 1; end <= order_.size(); ++end) {
      Placement::Stage stage;
      for (std::size_t i = begin; i < end; ++i) {
        const std::vector<OperatorId>& operators = setting_.unions()[order_[i]];
        stage.operators.insert(stage.operators.end(), operators.begin(), operators.end());
      }
      std::sort(stage.operators.begin(), stage.operators.end());
      if (!GoesForward(begin, end)) continue;
      for (const DeviceId device : setting_.devices()) {
        const auto is_here = [&](const Placement::Stage& other) { return other.devices.front() == device; };
        const auto count = std::count_if(placement_.stages.begin(), placement_.stages.end(), is_here);
        if (std::cmp_greater_equal(count, max_stages_)) continue;
        stage.devices = {device};
        placement_.stages.push_back(stage);
        ExtendStages(end);
        placement_.stages.pop_back();
      }
    }
  }

  // Nothing behind order_[end - 1] must precede the stage begin .. end - 1.
  bool GoesForward(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = end; j < order_.size(); ++j) {
        if (setting_.MustPrecede(order_[j], order_[i])) return false;
      }
    }
    return true;
  }

  void Judge() {
    // Orders within a stage do not matter.
    std::vector<std::pair<std::vector<OperatorId>, DeviceId>> key;
    for (const Placement::Stage& stage : placement_.stages) key.emplace_back(stage.operators, stage.devices.front());
    if (!judged_.insert(key).second) return;
    const Verdict verdict = setting_.Judge(setting_.Complete(placement_));
    if (!verdict.violations.empty()) return;
    best_ = std::min(best_.value_or(verdict.costed->objective), verdict.costed->objective);
  }

  const Setting& setting_;
  const std::size_t max_stages_;
  std::vector<bool> is_placed_;
  std::vector<std::size_t> order_;
  Placement placement_;
  std::set<std::vector<std::pair<std::vector<OperatorId>, DeviceId>>> judged_;
  std::optional<Picoseconds> best_;
};

SolverOptions OptionsOf(Algorithm algorithm) {
  SolverOptions options;
  options.algorithm = algorithm;
  options.work_limit = 20'000;
  return options;
}

std::vector<Algorithm> AlgorithmsFor(const Instance& instance) {
  std::vector<Algorithm> algorithms;
  for (const AlgorithmRow& info : Algorithms()) {
    if (IsSupported(instance, OptionsOf(info.algorithm))) algorithms.push_back(info.algorithm);
  }
  return algorithms;
}

// A plan is what MakePlan has verified: a rejected one is an INTERNAL error.
void ExpectPlanOrReason(const absl::StatusOr<Plan>& plan) {
  if (plan.ok()) {
    EXPECT_LE(plan->lower_bound, plan->objective);
  } else if (plan.status().code() == absl::StatusCode::kFailedPrecondition) {
    EXPECT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
  } else {
    EXPECT_TRUE(IsNoPlanFound(plan.status())) << plan.status();
  }
}

TEST(PeriodicPropertyTest, EveryPlanIsAcceptedWithItsObjective) {
  int planned = 0;
  ForEachPeriodic(500, kOperators, [&](const Instance& instance, const Setting& setting, uint64_t) {
    for (const Algorithm algorithm : AlgorithmsFor(instance)) {
      SCOPED_TRACE(::testing::Message() << "algorithm " << static_cast<int>(algorithm));
      const absl::StatusOr<Plan> plan = MakePlanOf(instance, OptionsOf(algorithm));
      ExpectPlanOrReason(plan);
      if (!plan.ok()) continue;
      ++planned;
      EXPECT_EQ(setting.Judge(PlacementOf(*plan)).costed->objective, plan->objective);
    }
  });
  EXPECT_GT(planned, 200);
}

bool HaveEqualMemory(const Instance& instance, const Setting& setting) {
  return std::ranges::all_of(setting.devices(), [&](DeviceId device) {
    return UsableMemoryBytes(instance.cluster, device) ==
           UsableMemoryBytes(instance.cluster, setting.devices().front());
  });
}

TEST(PeriodicPropertyTest, NoClaimIsRefutedByBruteForce) {
  constexpr std::size_t kMaxUnions = 4;
  constexpr std::size_t kMaxDevices = 3;
  int feasible = 0;
  int proven = 0;
  ForEachPeriodic(1500, 6, [&](const Instance& instance, const Setting& setting, uint64_t) {
    if (setting.unions().size() > kMaxUnions || setting.devices().size() > kMaxDevices) return;
    const std::optional<Picoseconds> optimum = BruteForce(setting).Optimum();
    if (optimum.has_value()) ++feasible;
    for (const Algorithm algorithm : AlgorithmsFor(instance)) {
      SCOPED_TRACE(::testing::Message() << "algorithm " << static_cast<int>(algorithm));
      const absl::StatusOr<Plan> plan = MakePlanOf(instance, OptionsOf(algorithm));
      ExpectPlanOrReason(plan);
      if (plan.ok()) {
        ASSERT_TRUE(optimum.has_value()) << "brute force finds no plan";
        // The pattern that evaluation finds counts on the least memory of all devices, enumeration on that of each.
        if (HaveEqualMemory(instance, setting)) {
          EXPECT_GE(plan->objective, *optimum);
        }
        EXPECT_LE(plan->lower_bound, *optimum);
        if (plan->provenance.proven_optimal) ++proven;
      } else if (InfeasibilityOf(plan.status()).has_value()) {
        EXPECT_FALSE(optimum.has_value()) << plan.status() << "\nbrute force finds " << optimum->count();
      }
    }
  });
  EXPECT_GT(feasible, 30);
  EXPECT_GT(proven, 30);
}

// Beyond brute force.
constexpr int kManyOperators = 20;

// nullopt: refused, or no plan.
std::optional<Plan> PlanIfAny(const Instance& instance, Algorithm algorithm = Algorithm::kAuto) {
  if (!IsSupported(instance, OptionsOf(algorithm))) return std::nullopt;
  const absl::StatusOr<Plan> plan = MakePlanOf(instance, OptionsOf(algorithm));
  return plan.ok() ? std::optional<Plan>(*plan) : std::nullopt;
}

// All other algorithms work along the same order.
TEST(PeriodicPropertyTest, BoundsHoldForThePlansOfAllAlgorithms) {
  int compared = 0;
  ForEachPeriodic(300, kManyOperators, [&](const Instance& instance, const Setting&, uint64_t) {
    std::vector<Plan> plans;
    for (const Algorithm algorithm : AlgorithmsFor(instance)) {
      std::optional<Plan> plan = PlanIfAny(instance, algorithm);
      if (plan.has_value()) plans.push_back(*std::move(plan));
    }
    for (const Plan& bounded : plans) {
      for (const Bound& bound : bounded.bounds) {
        if (bound.scope == BoundScope::kGivenAllocation) continue;
        for (const Plan& plan : plans) {
          // Enumeration knows every order.
          const bool has_other_order = plan.provenance.algorithm == "enumeration";
          if (bound.scope == BoundScope::kGivenOrder && has_other_order) continue;
          ++compared;
          EXPECT_LE(bound.value, plan.objective) << bound.method << " against " << plan.provenance.algorithm;
        }
      }
    }
  });
  EXPECT_GT(compared, 1000);
}

// Checks that what `relax` does to an instance never makes its plan worse; returns in how many cases it makes it
// better.
template <typename Relax>
int CountGains(const Relax& relax) {
  int gains = 0;
  ForEachPeriodic(1500, kManyOperators, [&](const Instance& instance, const Setting&, uint64_t) {
    Instance strict = instance;
    strict.problem.split = Split::kContiguous;
    strict.problem.max_stages_per_device.reset();
    strict.problem.overlap = Overlap::kOverlapped;
    Instance relaxed = strict;
    relax(relaxed);
    const std::optional<Plan> before = PlanIfAny(strict);
    if (!before.has_value()) return;
    const std::optional<Plan> after = PlanIfAny(relaxed);
    ASSERT_TRUE(after.has_value());
    EXPECT_LE(after->objective, before->objective);
    if (after->objective < before->objective) ++gains;
  });
  return gains;
}

TEST(PeriodicPropertyTest, MoreMemoryNeverHurts) {
  EXPECT_GT(CountGains([](Instance& instance) {
              for (DeviceClass& device_class : instance.cluster.device_classes) {
                if (device_class.memory_bytes.has_value()) *device_class.memory_bytes += *device_class.memory_bytes / 5;
              }
            }),
            5);
}

TEST(PeriodicPropertyTest, LinksForEachDirectionNeverHurt) {
  EXPECT_GT(CountGains([](Instance& instance) { instance.problem.overlap = Overlap::kFullDuplex; }), 5);
}

TEST(PeriodicPropertyTest, SeveralStagesPerDeviceNeverHurt) {
  EXPECT_GT(CountGains([](Instance& instance) { instance.problem.split = Split::kNonContiguous; }), 20);
}

TEST(PeriodicPropertyTest, ThreadsDoNotChangeThePlan) {
  ForEachPeriodic(25, kOperators, [&](const Instance& instance, const Setting&, uint64_t) {
    for (const Algorithm algorithm : AlgorithmsFor(instance)) {
      const absl::StatusOr<Plan> alone = MakePlanOf(instance, OptionsOf(algorithm));
      for (const int threads : {2, 8}) {
        const absl::StatusOr<Plan> plan = MakePlanOf(instance, OptionsOf(algorithm), SolveLimits(), threads);
        ASSERT_EQ(plan.status(), alone.status());
        if (!plan.ok()) continue;
        EXPECT_EQ(PlacementOf(*plan).pattern, PlacementOf(*alone).pattern);
        for (std::size_t i = 0; i < plan->stages.size(); ++i) {
          EXPECT_EQ(plan->stages[i].operators, alone->stages[i].operators);
        }
        EXPECT_EQ(plan->provenance.counters, alone->provenance.counters);
      }
    }
  });
}

}  // namespace
}  // namespace planwright
