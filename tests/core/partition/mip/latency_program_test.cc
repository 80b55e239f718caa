#include "core/partition/mip/latency_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/cost/terms/cost_table.h"
#include "core/partition/mip/mip_solver.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

constexpr int32_t kCpu = -1;

std::size_t At(int32_t value) { return static_cast<std::size_t>(value); }

// The latency of an assignment of vertices to slots by the plainest reading of the rules: units start when everything
// before them has finished, found by trying again and again. nullopt: they wait for each other, or memory is exceeded.
std::optional<int64_t> NaiveLatency(const LatencyInstance& instance, int32_t slots_per_pass,
                                    const std::vector<int32_t>& slot_of) {
  const int32_t num_slots = instance.num_accelerators() * instance.num_passes * slots_per_pass;
  std::vector<int64_t> finish(slot_of.size(), -1);
  std::vector<int64_t> slot_finish(At(num_slots), -1);
  const auto duration = [&](int32_t slot) {
    int64_t sum = 0;
    const DevicePool& type = instance.pool_of(slot / (instance.num_passes * slots_per_pass));
    for (std::size_t vertex = 0; vertex < slot_of.size(); ++vertex)
      sum += slot_of[vertex] == slot ? type.time[vertex] : 0;
    for (const LatencyTensor& tensor : instance.tensors) {
      const auto inside =
          std::count_if(tensor.pins.begin(), tensor.pins.end(), [&](int32_t pin) { return slot_of[At(pin)] == slot; });
      if (inside > 0 && inside < static_cast<std::ptrdiff_t>(tensor.pins.size())) sum += tensor.transfer;
    }
    return sum;
  };
  const auto is_empty = [&](int32_t slot) { return std::count(slot_of.begin(), slot_of.end(), slot) == 0; };
  for (std::size_t round = 0; round <= slot_of.size(); ++round) {
    for (int32_t slot = 0; slot < num_slots; ++slot) {
      if (slot_finish[At(slot)] >= 0) continue;
      int64_t ready = slot % slots_per_pass == 0 ? 0 : slot_finish[At(slot - 1)];
      for (const auto& [from, to] : instance.precedence.edges()) {
        if (ready < 0 || slot_of[At(to)] != slot || slot_of[At(from)] == slot) continue;
        ready = finish[At(from)] < 0 ? -1 : std::max(ready, finish[At(from)]);
      }
      if (ready < 0) continue;
      slot_finish[At(slot)] = is_empty(slot) ? ready : ready + duration(slot);
      for (std::size_t vertex = 0; vertex < slot_of.size(); ++vertex) {
        if (slot_of[vertex] == slot) finish[vertex] = slot_finish[At(slot)];
      }
    }
    for (int32_t vertex = 0; vertex < instance.num_vertices(); ++vertex) {
      if (slot_of[At(vertex)] != kCpu || finish[At(vertex)] >= 0) continue;
      int64_t ready = 0;
      for (const int32_t before : instance.precedence.predecessors(vertex)) {
        if (ready >= 0) ready = finish[At(before)] < 0 ? -1 : std::max(ready, finish[At(before)]);
      }
      if (ready >= 0) finish[At(vertex)] = ready + instance.cpu_time[At(vertex)];
    }
  }
  if (std::count(finish.begin(), finish.end(), -1) > 0) return std::nullopt;
  for (int32_t accelerator = 0; accelerator < instance.num_accelerators(); ++accelerator) {
    int64_t bytes = 0;
    for (std::size_t vertex = 0; vertex < slot_of.size(); ++vertex) {
      if (slot_of[vertex] == kCpu || slot_of[vertex] / (instance.num_passes * slots_per_pass) != accelerator) continue;
      bytes += instance.memory.linear[vertex];
    }
    const std::optional<int64_t>& limit = instance.pool_of(accelerator).memory_bytes;
    if (limit.has_value() && bytes > *limit) return std::nullopt;
  }
  return *std::max_element(finish.begin(), finish.end());
}

std::optional<int64_t> NaiveOptimum(const LatencyInstance& instance, int32_t slots_per_pass) {
  const int32_t num_slots = instance.num_accelerators() * slots_per_pass;
  std::vector<int32_t> slot_of(At(instance.num_vertices()), kCpu);
  std::optional<int64_t> best;
  const std::function<void(int32_t)> place = [&](int32_t vertex) {
    if (vertex == instance.num_vertices()) {
      const std::optional<int64_t> latency = NaiveLatency(instance, slots_per_pass, slot_of);
      if (latency.has_value() && (!best.has_value() || *latency < *best)) best = latency;
      return;
    }
    for (int32_t slot = kCpu; slot < num_slots; ++slot) {
      const std::size_t group = At(instance.group_of[At(vertex)]);
      if (slot == kCpu ? !instance.allowed_on_cpu[group] : !instance.allowed[group][At(slot / slots_per_pass)])
        continue;
      slot_of[At(vertex)] = slot;
      place(vertex + 1);
    }
  };
  place(0);
  return best;
}

// An inference graph of five operators on two accelerators and a CPU, memory tight in every second one.
LatencyInstance MakeInstance(uint64_t seed, int32_t slots_per_pass) {
  RandomStream random(seed, 0);
  OperatorGraph graph;
  std::vector<OperatorId> operators;
  for (int op = 0; op < 5; ++op) {
    const std::string name(1, static_cast<char>('a' + op));
    operators.push_back(AddOperator(graph, name, random.Between(1, 20), random.Between(10, 60)));
    graph.operators.back().memory_bytes = 1;
    if (random.Below(6) == 0) graph.operators.back().unsupported_device_classes = {kAcceleratorClass};
  }
  for (std::size_t from = 0; from < 4; ++from) {
    std::vector<OperatorId> consumers;
    for (std::size_t to = from + 1; to < 5; ++to) {
      if (random.Below(5) < 2) consumers.push_back(operators[to]);
    }
    if (!consumers.empty()) AddTensor(graph, operators[from], consumers, random.Between(0, 5));
  }
  const Cluster cluster = MakeCluster(2, 1, seed % 2 == 0 ? 2 : 5);
  PlanningProblem problem;
  problem.objective = Objective::kMinLatency;
  problem.max_subgraphs_per_device = slots_per_pass;
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  return BuildLatencyInstance({graph, cluster, resolved, CostTable(graph, cluster, resolved.workload)});
}

TEST(LatencyProgramTest, HasTheOptimumWithOneAndWithTwoSubgraphs) {
  if (!HasMipSolver()) GTEST_SKIP() << "this build has no solver";
  int with_two_is_better = 0;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    int64_t with_one = 0;
    for (const int32_t slots : {1, 2}) {
      const LatencyInstance instance = MakeInstance(seed, slots);
      const std::optional<int64_t> optimum = NaiveOptimum(instance, slots);
      ASSERT_TRUE(optimum.has_value());
      const LatencyProgram model = BuildLatencyProgram(instance, slots, Picoseconds(500));
      const MipOutcome outcome = SolveIntegerProgram({.program = model.program});
      ASSERT_EQ(outcome.end, MipEnd::kFinished);
      ASSERT_FALSE(outcome.solution.empty()) << "seed " << seed;
      EXPECT_NEAR(outcome.bound * 500, static_cast<double>(*optimum), 1e-2) << "seed " << seed << ", q = " << slots;
      EXPECT_EQ(NaiveLatency(instance, slots, model.SlotOf(instance, outcome.solution)), optimum) << "seed " << seed;
      if (slots == 1) with_one = *optimum;
      if (slots == 2 && *optimum < with_one) ++with_two_is_better;
    }
  }
  EXPECT_GT(with_two_is_better, 0);
}

// A forward and a backward operator that belong together share a device, in subgraphs of their own.
TEST(LatencyProgramTest, PlacesForwardAndBackwardOnOneDevice) {
  if (!HasMipSolver()) GTEST_SKIP() << "this build has no solver";
  OperatorGraph graph;
  const OperatorId a = AddOperator(graph, "a", 10, 1000);
  const OperatorId b = AddOperator(graph, "b", 10, 1000);
  const OperatorId b_backward = AddBackward(graph, "b'", b, 20, 1000);
  const OperatorId a_backward = AddBackward(graph, "a'", a, 20, 1000);
  for (Operator& op : graph.operators) op.memory_bytes = 1;
  AddTensor(graph, a, {b}, 1);
  AddTensor(graph, b, {b_backward}, 1);
  AddTensor(graph, b_backward, {a_backward}, 1);
  const Cluster cluster = MakeCluster(2, 1, 2);
  PlanningProblem problem;
  problem.objective = Objective::kMinLatency;
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  const LatencyInstance instance =
      BuildLatencyInstance({graph, cluster, resolved, CostTable(graph, cluster, resolved.workload)});
  const LatencyProgram model = BuildLatencyProgram(instance, 1, Picoseconds(1000));
  const MipOutcome outcome = SolveIntegerProgram({.program = model.program});
  // a, b, b', a' in turn, each tensor sent and received: also between the two subgraphs of one device.
  EXPECT_NEAR(outcome.bound * 1000, 10 + 10 + 20 + 20 + 2 * 3, 1e-2);
  const std::vector<int32_t> slot_of = model.SlotOf(instance, outcome.solution);
  EXPECT_EQ(slot_of[0] / 2, slot_of[3] / 2);
  EXPECT_NE(slot_of[0] / 2, slot_of[1] / 2);
}

}  // namespace
}  // namespace planwright
