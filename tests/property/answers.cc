#include "tests/property/answers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/limits.h"
#include "core/base/strings.h"
#include "core/partition/mip/mip_solver.h"
#include "core/planner/algorithms/algorithms.h"
#include "tests/property/brute_force.h"
#include "tests/property/latency_brute_force.h"
#include "tests/property/metamorphosis.h"
#include "tests/property/planning.h"
#include "tests/property/simulation_claims.h"

namespace planwright {
namespace {

// Integer programs are slow where others are fast.
constexpr int64_t kMipNodes = 20;

constexpr std::array<std::string_view, kNumOutcomes> kOutcomeNames = {"skipped", "held",    "unproven",
                                                                      "worse",   "no plan", "untrue"};

using MaybePlan = absl::StatusOr<Plan>;

MaybePlan PlanFor(const Instance& instance, const JudgeSettings& settings, Algorithm algorithm = Algorithm::kAuto) {
  SolverOptions options;
  options.algorithm = algorithm;
  options.work_limit = algorithm == Algorithm::kMip ? kMipNodes : settings.work;
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now() + settings.time_limit;
  return MakePlanOf(instance, options, limits);
}

bool IsPlanned(const Instance& instance) { return IsSupported(instance, SolverOptions()); }

double ExcessOf(Picoseconds value, Picoseconds least) {
  const auto base = static_cast<double>(std::max<int64_t>(least.count(), 1));
  return static_cast<double>((value - least).count()) / base;
}

std::string TextOf(const MaybePlan& plan) {
  if (!plan.ok()) return plan.status().ToString();
  return absl::StrCat(plan->objective.count(), " by ", plan->provenance.algorithm, ", bound ",
                      plan->lower_bound.count(), plan->provenance.proven_optimal ? ", proven" : "");
}

bool IsInfeasible(const MaybePlan& plan) { return plan.status().code() == absl::StatusCode::kFailedPrecondition; }

// What a request may end in: a plan, a proof, or nothing because a limit was spent.
std::optional<Finding> EndWithoutReason(const MaybePlan& plan) {
  const bool is_explained =
      plan.ok() || InfeasibilityOf(plan.status()).has_value() || SpentLimitOf(plan.status()) != SpentLimit::kNone;
  if (is_explained) return std::nullopt;
  return Finding{Outcome::kUntrue, 0, TextOf(plan)};
}

// `plan` shall be as good as `reference`, which is known.
Finding CompareWith(Picoseconds reference, const MaybePlan& plan, std::string_view of_reference) {
  const std::string text = absl::StrCat(TextOf(plan), "; ", ToAbsl(of_reference), " ", reference.count());
  if (!plan.ok()) return {IsInfeasible(plan) ? Outcome::kUntrue : Outcome::kNoPlan, 0, text};
  if (plan->lower_bound > reference) return {Outcome::kUntrue, 0, text};
  if (plan->objective > reference) return {Outcome::kWorse, ExcessOf(plan->objective, reference), text};
  return {Outcome::kHeld};
}

// nullopt: that would take too long.
std::optional<std::optional<Picoseconds>> OptimumFor(const Instance& instance, const JudgeSettings& settings) {
  if (instance.problem.objective == Objective::kMinLatency) {
    const NaiveLatencyJudge judge(instance);
    if (judge.NumPlacements() > settings.most_placements) return std::nullopt;
    return judge.Optimum();
  }
  const NaiveJudge judge(instance);
  if (judge.NumPlacements() > settings.most_placements) return std::nullopt;
  return judge.Optimum();
}

Finding FindsTheOptimum(const Instance& instance, RandomStream&, const JudgeSettings& settings) {
  if (!IsPlanned(instance)) return {};
  const auto known = OptimumFor(instance, settings);
  if (!known.has_value()) return {};
  const MaybePlan plan = PlanFor(instance, settings);
  const std::optional<Picoseconds>& optimum = *known;
  if (!optimum.has_value()) {
    if (IsInfeasible(plan)) return {Outcome::kHeld};
    const bool is_open = !plan.ok() && IsNoPlanFound(plan.status());
    return {is_open ? Outcome::kUnproven : Outcome::kUntrue, 0,
            absl::StrCat(TextOf(plan), "; brute force finds no plan")};
  }
  Finding finding = CompareWith(*optimum, plan, "brute force");
  if (finding.outcome != Outcome::kHeld) return finding;
  if (plan->objective < *optimum) return {Outcome::kUntrue, 0, absl::StrCat(TextOf(plan), "; below the optimum")};
  if (!plan->provenance.proven_optimal) return {Outcome::kUnproven, 0, TextOf(plan)};
  return finding;
}

Finding NeverGetsWorseWithDevices(const Instance& instance, RandomStream&, const JudgeSettings& settings) {
  if (!IsPlanned(instance)) return {};
  Finding worst;
  std::optional<Instance> larger = instance;
  MaybePlan plan = PlanFor(*larger, settings);
  while (const std::optional<Instance> smaller = WithFewerDevices(*larger)) {
    if (!IsPlanned(*smaller)) break;
    MaybePlan before = PlanFor(*smaller, settings);
    Finding finding{Outcome::kHeld};
    if (before.ok()) {
      finding = CompareWith(
          before->objective, plan,
          absl::StrCat("on ", smaller->cluster.devices.size(), " of ", larger->cluster.devices.size(), " devices"));
    }
    if (finding.outcome > worst.outcome) worst = std::move(finding);
    larger = smaller;
    plan = std::move(before);
  }
  return worst;
}

Finding IsNotBeatenByName(const Instance& instance, RandomStream&, const JudgeSettings& settings) {
  if (!IsPlanned(instance)) return {};
  const MaybePlan plan = PlanFor(instance, settings);
  Finding worst{Outcome::kHeld};
  for (const AlgorithmRow& info : Algorithms()) {
    SolverOptions options;
    options.algorithm = info.algorithm;
    if (!IsSupported(instance, options)) continue;
    if (info.algorithm == Algorithm::kMip && !HasMipSolver()) continue;
    const MaybePlan named = PlanFor(instance, settings, info.algorithm);
    if (!named.ok()) continue;
    Finding finding = CompareWith(named->objective, plan, info.name);
    if (finding.outcome > worst.outcome) worst = std::move(finding);
  }
  return worst;
}

Finding DoesNotDependOnOrder(const Instance& instance, RandomStream& random, const JudgeSettings& settings) {
  if (!IsPlanned(instance)) return {};
  const MaybePlan plan = PlanFor(instance, settings);
  std::vector<std::pair<std::string_view, Instance>> variants = {
      {"operators in another order", WithGraphShuffled(instance, random, /*renames=*/false)},
      {"operators renamed", WithGraphShuffled(instance, random, /*renames=*/true)}};
  if (std::optional<Instance> shuffled = WithDevicesShuffled(instance, random)) {
    variants.emplace_back("devices in another order", *std::move(shuffled));
  }
  for (const auto& [name, variant] : variants) {
    const MaybePlan other = PlanFor(variant, settings);
    const std::string text = absl::StrCat(TextOf(plan), "; ", ToAbsl(name), ": ", TextOf(other));
    if (plan.ok() != other.ok()) return {Outcome::kNoPlan, 0, text};
    if (!plan.ok()) {
      if (IsInfeasible(plan) != IsInfeasible(other)) return {Outcome::kUnproven, 0, text};
      continue;
    }
    const auto [least, greatest] = std::minmax(plan->objective, other->objective);
    if (least != greatest) return {Outcome::kWorse, ExcessOf(greatest, least), text};
    if (plan->lower_bound != other->lower_bound) return {Outcome::kUnproven, 0, text};
  }
  return {Outcome::kHeld};
}

Finding OperatorsAreNeverWorseThanLayers(const Instance& instance, RandomStream&, const JudgeSettings& settings) {
  Instance coarse = instance;
  coarse.problem.granularity = Granularity::kLayer;
  Instance fine = instance;
  fine.problem.granularity = Granularity::kOperator;
  const auto has_layer = [](const Operator& op) { return !op.layer.empty(); };
  const std::vector<Operator>& operators = instance.graph.operators;
  if (std::none_of(operators.begin(), operators.end(), has_layer) || !IsPlanned(coarse) || !IsPlanned(fine)) return {};
  const MaybePlan layers = PlanFor(coarse, settings);
  if (!layers.ok()) return {};
  return CompareWith(layers->objective, PlanFor(fine, settings), "by layers");
}

Finding EndsForAReason(const Instance& instance, RandomStream&, const JudgeSettings& settings) {
  if (!IsPlanned(instance)) return {};
  return EndWithoutReason(PlanFor(instance, settings)).value_or(Finding{Outcome::kHeld});
}

template <ScheduleKind kSchedule>
Finding BoundsSimulation(const Instance& instance, RandomStream& random, const JudgeSettings&) {
  return ClosedFormBoundsSimulation(kSchedule, instance, random);
}

template <ScheduleKind kSchedule>
Finding RanksAsSimulation(const Instance& instance, RandomStream& random, const JudgeSettings&) {
  return ObjectiveRanksAsSimulation(kSchedule, instance, random);
}

constexpr std::array kClaims = {
    Claim{"optimum",
          "the default search finds the optimum of brute force and proves it; INFEASIBLE exactly without one", true,
          FindsTheOptimum},
    Claim{"growing_cluster", "a cluster that contains another one never gets a worse answer", false,
          NeverGetsWorseWithDevices},
    Claim{"named_algorithm", "no algorithm beats the default when named", false, IsNotBeatenByName},
    Claim{"input_order", "the order and names of the input change neither objective nor bound", false,
          DoesNotDependOnOrder},
    Claim{"granularity", "by operators an answer is never worse than by layers", false,
          OperatorsAreNeverWorseThanLayers},
    Claim{"explained_end", "no plan and no proof only where time or work ran out", false, EndsForAReason},
    Claim{"bound_gpipe", "no simulated step takes longer than the closed form", false,
          BoundsSimulation<ScheduleKind::kGpipe>},
    Claim{"bound_1f1b", "no simulated step takes longer than the closed form", false,
          BoundsSimulation<ScheduleKind::kOneFOneB>},
    Claim{"bound_async", "no simulated period is longer than the objective", false,
          BoundsSimulation<ScheduleKind::kPipedreamAsync>},
    Claim{"ranking_gpipe", "the objective ranks plans as the simulator does", false,
          RanksAsSimulation<ScheduleKind::kGpipe>},
    Claim{"ranking_1f1b", "the objective ranks plans as the simulator does", false,
          RanksAsSimulation<ScheduleKind::kOneFOneB>},
    Claim{"ranking_async", "the objective ranks plans as the simulator does", false,
          RanksAsSimulation<ScheduleKind::kPipedreamAsync>},
};

// What brute force looks at in about a hundredth of a second.
int SmallOperators(InstanceMode mode) {
  switch (mode) {
    case InstanceMode::kContiguous:
    case InstanceMode::kLatency:
      return 8;
    case InstanceMode::kNonContiguous:
      return 7;
    case InstanceMode::kReplicated:
    case InstanceMode::kTightMemory:
      return 6;
    default:
      return 5;
  }
}

constexpr int kLargeOperators = 12;

}  // namespace

std::string_view NameOf(Outcome outcome) { return kOutcomeNames.at(static_cast<std::size_t>(outcome)); }

std::span<const Claim> AnswerClaims() { return kClaims; }

Instance InstanceFor(const Claim& claim, InstanceMode mode, uint64_t seed, int operators) {
  if (operators == 0) operators = claim.is_small ? SmallOperators(mode) : kLargeOperators;
  return MakeModeInstance(mode, seed, operators);
}

Finding CheckClaim(const Claim& claim, const Instance& instance, uint64_t seed, const JudgeSettings& settings) {
  RandomStream random(seed, 14);
  return claim.check(instance, random, settings);
}

}  // namespace planwright
