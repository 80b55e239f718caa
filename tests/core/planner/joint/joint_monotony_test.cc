// Answers of the joint search held against each other: more devices, memory or choices never make a plan worse, and the
// fewest devices are the least number of which a plan is fast enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/random.h"
#include "core/planner/joint/joint_request.h"
#include "tests/core/planner/joint/joint_test_request.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

Operator RandomOperator(RandomStream& random, int64_t number, const std::vector<DeviceClass>& classes) {
  Operator op;
  op.name = absl::StrCat("op", number);
  const int64_t forward = random.Between(5, 60) * 1'000;
  for (std::size_t of_class = 0; of_class < classes.size(); ++of_class) {
    const auto slower = static_cast<int64_t>(of_class + 1);
    op.costs.push_back({.device_class = classes[of_class].name,
                        .forward = Picoseconds(slower * forward),
                        .backward = Picoseconds(slower * forward * random.Between(1, 3))});
  }
  op.parameter_bytes = random.Between(5, 60);
  op.activation_bytes = random.Between(5, 40);
  for (const int32_t degree : {1, 2}) {
    OperatorVariant& variant = op.variants.emplace_back();
    variant.tensor_degree = degree;
    variant.forward = Picoseconds(forward / degree + random.Between(0, 2'000));
    variant.backward = Picoseconds(2 * forward / degree + random.Between(0, 2'000));
    variant.parameter_bytes = op.parameter_bytes / degree;
    variant.activation_bytes = op.activation_bytes;
  }
  return op;
}

// A chain of two to five operators on one to three nodes of two or three devices, some of which are in racks, of one
// class or two.
JointTestRequest RandomMonotonyRequest(uint64_t seed) {
  RandomStream random(seed, 17);
  JointTestRequest request;
  Cluster& cluster = request.cluster;
  const int64_t nodes = random.Between(1, 3);
  const int64_t per_node = random.Between(2, 3);
  const std::size_t num_classes = nodes > 1 && seed % 5 == 0 ? 2 : 1;
  for (std::size_t number = 0; number < num_classes; ++number) {
    DeviceClass& part = cluster.device_classes.emplace_back();
    part.name = absl::StrCat("class", number);
    part.memory_bytes = random.Between(150, 600);
  }
  for (int64_t device = 0; device < nodes * per_node; ++device) {
    Device& added = cluster.devices.emplace_back();
    added.name = absl::StrCat("d", device);
    added.device_class = DeviceClassId(device / per_node == 0 ? 0 : num_classes - 1);
  }
  HierarchyInterconnect tree;
  tree.levels.push_back(
      {.fan_out = static_cast<int32_t>(per_node), .bandwidth_bytes_per_second = 5e9, .latency = Picoseconds(100)});
  if (nodes > 1) {
    tree.levels.push_back(
        {.fan_out = static_cast<int32_t>(nodes), .bandwidth_bytes_per_second = 2e9, .latency = Picoseconds(900)});
  }
  cluster.interconnect = tree;
  OperatorGraph& graph = request.graph;
  const int64_t count = random.Between(2, 5);
  for (int64_t number = 0; number < count; ++number) {
    graph.operators.push_back(RandomOperator(random, number, cluster.device_classes));
    if (number == 0) continue;
    graph.tensors.push_back({.name = absl::StrCat("t", number),
                             .producer = OperatorId(static_cast<std::size_t>(number - 1)),
                             .consumers = {OperatorId(static_cast<std::size_t>(number))},
                             .size_bytes = random.Between(0, 60),
                             .transfer = std::nullopt});
  }
  JointSettings& joint = request.problem.joint.emplace();
  joint.global_batch = int64_t{1} << random.Between(1, 5);
  joint.tokens_per_sample = 1;
  joint.micro_batch_samples = {1, 2};
  joint.per_stage = seed % 3 == 1;
  return request;
}

int64_t DevicesOf(const JointTestRequest& request) { return static_cast<int64_t>(request.cluster.devices.size()); }

// nullopt: provably nothing fits.
std::optional<Plan> PlanOf(const JointTestRequest& request) {
  absl::StatusOr<Plan> plan = Make(request);
  if (plan.ok()) return *std::move(plan);
  EXPECT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
  return std::nullopt;
}

JointTestRequest With(JointTestRequest request, void (*change)(JointTestRequest&)) {
  change(request);
  return request;
}

// What one request may do, the other may as well.
void ExpectNoWorse(const JointTestRequest& more, const JointTestRequest& less) {
  const std::optional<Plan> narrow = PlanOf(less);
  if (!narrow.has_value()) return;
  const std::optional<Plan> wide = PlanOf(more);
  ASSERT_TRUE(wide.has_value());
  EXPECT_LE(wide->lower_bound, narrow->objective);
  EXPECT_LE(ToMilliseconds(wide->objective), ToMilliseconds(narrow->objective) * (1 + 1.01 * kJointGap));
}

TEST(JointMonotonyTest, MoreChoicesAndMemoryAreNeverWorse) {
  for (uint64_t seed = 1; seed <= NumCases(60); ++seed) {
    SCOPED_TRACE(seed);
    const JointTestRequest all = RandomMonotonyRequest(seed);
    const auto expect_no_worse_than = [&](const char* what, void (*change)(JointTestRequest&)) {
      SCOPED_TRACE(what);
      ExpectNoWorse(all, With(all, change));
    };
    expect_no_worse_than("one tensor degree", [](JointTestRequest& less) { less.problem.joint->tensor_degrees = {1}; });
    expect_no_worse_than("one number of samples",
                         [](JointTestRequest& less) { less.problem.joint->micro_batch_samples = {2}; });
    expect_no_worse_than("no recomputation", [](JointTestRequest& less) {
      less.problem.joint->recomputation = {LayerRecomputation::kNone};
    });
    expect_no_worse_than("no sharding of parameters",
                         [](JointTestRequest& less) { less.problem.joint->shardings = {Sharding::kOptimizer}; });
    expect_no_worse_than("two data ranks", [](JointTestRequest& less) { less.problem.joint->data_degrees = {2}; });
    expect_no_worse_than("one choice for all stages",
                         [](JointTestRequest& less) { less.problem.joint->per_stage = false; });
    expect_no_worse_than("two stages", [](JointTestRequest& less) { less.problem.joint->num_stages = 2; });
    expect_no_worse_than("less memory", [](JointTestRequest& less) {
      for (DeviceClass& part : less.cluster.device_classes) *part.memory_bytes -= *part.memory_bytes / 5;
    });
    expect_no_worse_than("slower links", [](JointTestRequest& less) {
      for (auto& level : std::get<HierarchyInterconnect>(less.cluster.interconnect).levels) {
        level.bandwidth_bytes_per_second /= 2;
      }
    });
  }
}

// Devices with less memory are worth no less than nothing, and no less than if all had as little.
TEST(JointMonotonyTest, SomeMemoryIsNeverWorseThanNone) {
  int with_less = 0;
  for (uint64_t seed = 1; seed <= NumCases(60); ++seed) {
    SCOPED_TRACE(seed);
    JointTestRequest all = RandomMonotonyRequest(seed);
    const auto per_node =
        static_cast<std::size_t>(std::get<HierarchyInterconnect>(all.cluster.interconnect).levels[0].fan_out);
    if (all.cluster.devices.size() == per_node || all.cluster.device_classes.size() > 1) continue;
    ++with_less;
    JointTestRequest less = all;
    JointTestRequest none = all;
    const int64_t reserved = *all.cluster.device_classes[0].memory_bytes * static_cast<int64_t>(1 + seed % 8) / 9;
    *less.cluster.device_classes[0].memory_bytes -= reserved;
    // One device of the first or last node.
    const std::size_t chosen = seed % 2 == 0 ? 0 : all.cluster.devices.size() - 1;
    all.cluster.devices[chosen].reserved_memory_bytes = reserved;
    for (std::size_t device = 0; device < per_node; ++device) {
      none.problem.devices_to_use.excluded_devices.emplace_back(chosen / per_node * per_node + device);
    }
    ExpectNoWorse(all, none);
    ExpectNoWorse(all, less);
  }
  EXPECT_GE(with_less, static_cast<int>(NumCases(60) / 4));
}

// However little time there is, a plan to start from is no better than the answer, though other devices are chosen
// first.
TEST(JointMonotonyTest, AStartOnSomeDevicesOfTwoClassesIsNoBetterThanTheAnswer) {
  int started = 0;
  for (uint64_t seed = 5; seed <= 5 * NumCases(12); seed += 5) {
    SCOPED_TRACE(seed);
    const JointTestRequest request = RandomMonotonyRequest(seed);
    if (request.cluster.device_classes.size() == 1) continue;
    JointTestRequest narrow = request;
    for (std::size_t device = 0; device < request.cluster.devices.size(); ++device) {
      const bool is_first = request.cluster.devices[device].device_class == DeviceClassId(0);
      if (is_first) narrow.problem.devices_to_use.excluded_devices.emplace_back(device);
    }
    const std::optional<Plan> start = PlanOf(narrow);
    if (!start.has_value()) continue;
    ++started;
    JointTestRequest some = request;
    some.problem.start_from = PlacementOf(*start);
    some.problem.devices_to_use.max_devices =
        static_cast<int32_t>(request.cluster.devices.size() - narrow.problem.devices_to_use.excluded_devices.size());
    const std::optional<Plan> whole = PlanOf(some);
    ASSERT_TRUE(whole.has_value());
    EXPECT_LE(whole->objective, start->objective);
    TaskArena arena(1);
    PlannerObserver observer;
    SolveLimits limits;
    limits.deadline = std::chrono::steady_clock::now();
    const absl::StatusOr<Plan> hasty =
        MakePlan({some.graph, some.cluster, some.problem, some.options}, ModelLimits(), limits, arena, observer);
    ASSERT_TRUE(hasty.ok()) << hasty.status();
    EXPECT_LE(hasty->objective, start->objective);
    EXPECT_LE(hasty->lower_bound, whole->objective);
  }
  EXPECT_GT(started, 0);
}

// Numbers of devices of each node that add up to `most`.
std::vector<std::vector<int64_t>> DevicesByNode(int64_t nodes, int64_t per_node, int64_t most) {
  if (nodes == 0) return most == 0 ? std::vector<std::vector<int64_t>>{{}} : std::vector<std::vector<int64_t>>();
  std::vector<std::vector<int64_t>> all;
  for (int64_t own = 0; own <= std::min(per_node, most); ++own) {
    for (std::vector<int64_t>& others : DevicesByNode(nodes - 1, per_node, most - own)) {
      others.push_back(own);
      all.push_back(std::move(others));
    }
  }
  return all;
}

// Two classes, any number of devices of each node: the best of these.
TEST(JointMonotonyTest, SomeDevicesOfTwoClassesAreTheBestOnes) {
  double shares_of_bounds = 0;
  int planned = 0;
  for (uint64_t seed = 5; seed <= 5 * NumCases(12); seed += 5) {
    SCOPED_TRACE(seed);
    const JointTestRequest request = RandomMonotonyRequest(seed);
    if (request.cluster.device_classes.size() == 1) continue;
    const std::vector<Device>& devices = request.cluster.devices;
    const int64_t per_node = std::get<HierarchyInterconnect>(request.cluster.interconnect).levels.front().fan_out;
    for (int64_t most = 1; most < std::ssize(devices); ++most) {
      SCOPED_TRACE(most);
      std::optional<Picoseconds> best;
      std::optional<Picoseconds> best_simulated;
      for (const std::vector<int64_t>& chosen : DevicesByNode(std::ssize(devices) / per_node, per_node, most)) {
        JointTestRequest mix = request;
        for (int64_t device = 0; device < std::ssize(devices); ++device) {
          const bool is_in = device % per_node < chosen[static_cast<std::size_t>(device / per_node)];
          if (!is_in) mix.problem.devices_to_use.excluded_devices.emplace_back(static_cast<std::size_t>(device));
        }
        const std::optional<Plan> plan = PlanOf(mix);
        if (!plan.has_value()) continue;
        best = std::min(best.value_or(plan->objective), plan->objective);
        const Picoseconds simulated = plan->joint->simulated_step;
        best_simulated = std::min(best_simulated.value_or(simulated), simulated);
      }
      JointTestRequest some = request;
      some.problem.devices_to_use.max_devices = static_cast<int32_t>(most);
      const std::optional<Plan> plan = PlanOf(some);
      ASSERT_EQ(plan.has_value(), best.has_value());
      if (!plan.has_value()) continue;
      EXPECT_LE(plan->lower_bound, *best);
      EXPECT_LE(ToMilliseconds(plan->objective), ToMilliseconds(*best) * (1 + 1.01 * kJointGap));
      EXPECT_GE(ToMilliseconds(plan->objective) * (1 + 1.01 * kJointGap), ToMilliseconds(*best));
      EXPECT_LE(plan->joint->simulated_bound, *best_simulated);
      shares_of_bounds += ToMilliseconds(plan->joint->simulated_bound) / ToMilliseconds(plan->joint->simulated_step);
      ++planned;
    }
  }
  EXPECT_GT(shares_of_bounds, 0.95 * planned);
}

// Steps by the number of devices that plans may take, from 1; nullopt: nothing fits. `most_worse`: by what share a
// device more may make a plan worse.
std::vector<std::optional<Picoseconds>> StepsByDevices(JointTestRequest request, double most_worse) {
  std::vector<std::optional<Picoseconds>> steps;
  for (int64_t devices = 1; devices <= DevicesOf(request); ++devices) {
    request.problem.devices_to_use.max_devices = static_cast<int32_t>(devices);
    const std::optional<Plan> plan = PlanOf(request);
    steps.push_back(plan.has_value() ? std::optional(plan->objective) : std::nullopt);
    if (devices == 1 || !steps[steps.size() - 2].has_value()) continue;
    EXPECT_TRUE(steps.back().has_value());
    EXPECT_LE(ToMilliseconds(*steps.back()), ToMilliseconds(*steps[steps.size() - 2]) * (1 + most_worse));
  }
  return steps;
}

int64_t Counter(const Plan& plan, const char* name) { return plan.provenance.counters.at(name); }

// `longest`: nullopt: whatever fits.
void ExpectFewest(JointTestRequest request, const std::vector<std::optional<Picoseconds>>& steps,
                  std::optional<Picoseconds> longest) {
  const auto is_reached = [&](const std::optional<Picoseconds>& step) {
    return step.has_value() && (!longest.has_value() || *step <= *longest);
  };
  // Steps are known up to the gap.
  const bool is_close =
      longest.has_value() && std::any_of(steps.begin(), steps.end(), [&](const auto& step) {
        return step.has_value() && std::abs(ToMilliseconds(*step) / ToMilliseconds(*longest) - 1) < 2 * kJointGap;
      });
  if (is_close) return;
  request.problem.objective = Objective::kMinDevices;
  if (longest.has_value()) {
    request.problem.joint->target_tokens_per_second =
        1e3 * static_cast<double>(request.problem.joint->global_batch) / ToMilliseconds(*longest);
  }
  const auto least = std::find_if(steps.begin(), steps.end(), is_reached);
  const std::optional<Plan> plan = PlanOf(request);
  ASSERT_EQ(plan.has_value(), least != steps.end());
  if (!plan.has_value()) return;
  EXPECT_EQ(Counter(*plan, "devices_allowed"), least - steps.begin() + 1);
  // Where stages differ, what is proven is so of devices that are all in one node.
  if (request.problem.joint->per_stage) {
    EXPECT_LE(Counter(*plan, "devices_needed"), Counter(*plan, "devices_allowed"));
  } else {
    EXPECT_EQ(Counter(*plan, "devices_needed"), Counter(*plan, "devices_allowed"));
  }
  EXPECT_LE(plan->objective, longest.value_or(plan->objective));
}

TEST(JointMonotonyTest, FewestDevicesAreTheLeastNumberThatIsFastEnough) {
  for (uint64_t seed = 1; seed <= NumCases(40); ++seed) {
    SCOPED_TRACE(seed);
    const JointTestRequest request = RandomMonotonyRequest(seed);
    const std::vector<std::optional<Picoseconds>> steps = StepsByDevices(request, 1.01 * kJointGap);
    ExpectFewest(request, steps, std::nullopt);
    RandomStream random(seed, 18);
    for (const std::optional<Picoseconds>& step : steps) {
      if (!step.has_value() || random.Below(2) == 0) continue;
      ExpectFewest(request, steps, Picoseconds(step->count() + step->count() / 1'000));
      ExpectFewest(request, steps, Picoseconds(step->count() - step->count() / 1'000));
    }
  }
}

// The same of a model of the zoo, under several schedules: of interleaved pipelines the bound may leave room.
TEST(JointMonotonyTest, FewestDevicesOfAModelAreNoMoreThanOnesThatAreFastEnough) {
  JointTestRequest request = RequestOf("gpt-1.3b", "dgx-h100:3", 64);
  for (DeviceClass& part : request.cluster.device_classes) {
    if (part.memory_bytes.has_value()) part.memory_bytes = int64_t{6} << 30;
  }
  const std::vector<std::optional<Picoseconds>> steps = StepsByDevices(request, 0.02);
  ASSERT_TRUE(steps.back().has_value());
  request.problem.objective = Objective::kMinDevices;
  for (const std::size_t devices : {7, 11, 18, 24}) {
    SCOPED_TRACE(devices);
    if (!steps[devices - 1].has_value()) continue;
    const auto speed_of = [&](Picoseconds step) {
      return 64e3 * static_cast<double>(request.graph.transformer->sequence) / ToMilliseconds(step);
    };
    const double target = speed_of(*steps[devices - 1]) * 0.999;
    request.problem.joint->target_tokens_per_second = target;
    const absl::StatusOr<Plan> fewest = Make(request);
    ASSERT_TRUE(fewest.ok()) << fewest.status();
    EXPECT_GE(fewest->joint->tokens_per_second, target);
    EXPECT_LE(Counter(*fewest, "devices_allowed"), static_cast<int64_t>(devices));
    // None on fewer devices than are needed is fast enough.
    const auto needed = static_cast<std::size_t>(Counter(*fewest, "devices_needed"));
    for (std::size_t fewer = 0; fewer + 1 < needed; ++fewer) {
      EXPECT_TRUE(!steps[fewer].has_value() || speed_of(*steps[fewer]) < target);
    }
  }
}

// Nodes of 8 with little memory come before nodes of 4 with more: what is proven holds of these too, task by task.
TEST(JointMonotonyTest, LimitsProveNothingAgainstSmallerNodesWithMoreMemory) {
  JointTestRequest limited =
      RequestOf("llama3-8b", "nodes:4?peak_tflops=989&memory_bandwidth_gb=3350&inside_gb=300&between_gb=48", 64);
  for (std::size_t device = 0; device < 16; ++device) {
    limited.cluster.devices[device].reserved_memory_bytes = int64_t{50} << 30;
    if (device % 8 >= 4) limited.problem.devices_to_use.excluded_devices.emplace_back(16 + device);
  }
  limited.problem.joint->orders = {PipelineOrder::kOneFOneB, PipelineOrder::kZeroBubble};
  JointTestRequest by_hand = limited;
  limited.problem.devices_to_use.max_devices = 4;
  const std::optional<Plan> plan = PlanOf(limited);
  by_hand.problem.joint->orders = {PipelineOrder::kZeroBubble};
  by_hand.problem.joint->num_stages = 4;
  for (std::size_t device = 0; device < 32; ++device) {
    const bool is_in = device / 4 == 4;
    const bool is_out_already = device / 4 == 5 || device / 4 == 7;
    if (!is_in && !is_out_already) by_hand.problem.devices_to_use.excluded_devices.emplace_back(device);
  }
  const std::optional<Plan> chosen = PlanOf(by_hand);
  ASSERT_TRUE(plan.has_value() && chosen.has_value());
  EXPECT_LE(plan->joint->simulated_bound, chosen->joint->simulated_step);
  EXPECT_LE(plan->lower_bound, chosen->objective);
}

// Which devices of its nodes a limit leaves out is the search's to choose: no choice by hand does better, nor beats
// what is proven.
TEST(JointMonotonyTest, NoDevicesChosenByHandBeatALimit) {
  struct Case {
    std::string model;
    std::string cluster;
    int64_t global_batch;
    std::vector<int64_t> devices_by_node;
    std::function<void(JointSettings&)> choose;
  };
  const auto any = [](JointSettings&) {};
  const std::vector<Case> cases = {
      {"gpt-1.3b?tied=no", "nodes:2?devices=4&between_gb=1&memory_gib=16", 48, {3, 3}, any},
      {"gpt-1.3b?tied=no", "nodes:2?devices=3&between_gb=4&memory_gib=20", 48, {2, 2}, any},
      {"gpt-1.3b?layers=22",
       "nodes:2?between_gb=2&memory_gib=20",
       96,
       {6, 6},
       [](JointSettings& joint) {
         joint.data_degrees = {6};
         joint.tensor_degrees = {1};
         joint.num_stages = 2;
       }},
      {"gpt-1.3b", "nodes:3?devices=8&between_gb=2&memory_gib=16", 60, {5, 5, 5}, any},
      // One stage on as many devices of two nodes.
      {"gpt-1.3b",
       "nodes:3?devices=4",
       6,
       {3, 3, 0},
       [](JointSettings& joint) {
         joint.data_degrees = {6};
         joint.tensor_degrees = {1};
         joint.num_stages = 1;
       }},
      {"gpt-1.3b?tied=no",
       "nodes:2?devices=4&between_gb=1&memory_gib=16",
       48,
       {3, 3},
       [](JointSettings& joint) {
         joint.per_stage = true;
         joint.orders = {PipelineOrder::kOneFOneB};
       }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(absl::StrCat(each.model, " ", each.cluster));
    JointTestRequest limited = RequestOf(each.model, each.cluster, each.global_batch);
    each.choose(*limited.problem.joint);
    JointTestRequest by_hand = limited;
    const auto per_node = static_cast<int64_t>(limited.cluster.devices.size() / each.devices_by_node.size());
    for (std::size_t node = 0; node < each.devices_by_node.size(); ++node) {
      for (int64_t device = each.devices_by_node[node]; device < per_node; ++device) {
        by_hand.problem.devices_to_use.excluded_devices.emplace_back(node * static_cast<std::size_t>(per_node) +
                                                                     static_cast<std::size_t>(device));
      }
    }
    const int64_t most = std::accumulate(each.devices_by_node.begin(), each.devices_by_node.end(), int64_t{0});
    limited.problem.devices_to_use.max_devices = static_cast<int32_t>(most);
    const absl::StatusOr<Plan> chosen = Make(by_hand);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    const absl::StatusOr<Plan> plan = Make(limited);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(plan->lower_bound, chosen->objective);
    EXPECT_LE(plan->joint->simulated_bound, chosen->joint->simulated_step);
    const absl::StatusOr<Verdict> verdict = Judge(limited, PlacementOf(*plan));
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_TRUE(verdict->violations.empty()) << verdict->violations.ToStatus();
    if (!limited.problem.joint->per_stage) {
      EXPECT_LE(ToMilliseconds(plan->objective), ToMilliseconds(chosen->objective) * 1.0002);
    }
    limited.problem.objective = Objective::kMinDevices;
    const absl::StatusOr<Plan> fewest = Make(limited);
    ASSERT_TRUE(fewest.ok()) << fewest.status();
    EXPECT_LE(Counter(*fewest, "devices_needed"), most);
    EXPECT_LE(Counter(*fewest, "devices_allowed"), most);
  }
}

}  // namespace
}  // namespace planwright
