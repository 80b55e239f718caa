// Replicas that take micro-batches in turn: against Piper's definition written down once more, over all plans of small
// random graphs, and on its published input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/random.h"
#include "core/planner/plan_simulation.h"
#include "tests/core/planner/joint/joint_test_request.h"
#include "tests/property/cases.h"
#include "tests/support/shared_dir.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;

// Piper's words: nodes with a time, a parameter size and memory A y + B for each degree and variant; edges with a cost.
struct Node {
  struct Variant {
    double time = 0;
    double parameters = 0;
    double a = 0;
    double b = 0;
  };
  // Of degrees 1 and 2; vanilla, and where it is computed again. Empty: it is not in a stage of the degree.
  std::vector<Variant> degree[2];
};
struct Edge {
  std::size_t from = 0;
  std::size_t to = 0;
  double cost = 0;
  // syncTimeFw and syncTimeBw of its ends, by degree.
  double entering[2] = {0, 0};
  double leaving[2] = {0, 0};
};
struct PiperInput {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  double bandwidth = 1;
  int64_t devices = 1;
  // Of each device; `memories`, by device, where these differ.
  double memory = 0;
  std::vector<double> memories;
  int64_t batch = 1;
};

PiperInput RandomInput(uint64_t seed) {
  RandomStream random(seed, 11);
  PiperInput input;
  const auto number = [&](int64_t low, int64_t high) { return static_cast<double>(random.Between(low, high)); };
  const auto count = static_cast<std::size_t>(random.Between(1, 5));
  for (std::size_t i = 0; i < count; ++i) {
    Node& node = input.nodes.emplace_back();
    for (int t = 0; t < 2; ++t) {
      // One of the two degrees is there.
      if (random.Below(5) == 0 && (t == 0 || !node.degree[0].empty())) continue;
      Node::Variant vanilla{number(2, 9'000), number(0, 60), number(0, 40), 0};
      vanilla.b = 2 * vanilla.parameters + number(0, 30);
      node.degree[t].push_back(vanilla);
      if (random.Below(2) == 0) continue;
      Node::Variant again = vanilla;
      again.time += std::floor(vanilla.time * number(0, 60) / 100);
      again.a = std::floor(vanilla.a * number(0, 80) / 100);
      again.b += number(0, 15);
      node.degree[t].push_back(again);
    }
  }
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = from + 1; to < count; ++to) {
      if (random.Below(2) == 0) continue;
      Edge& edge = input.edges.emplace_back(Edge{from, to, number(0, 40)});
      if (random.Below(2) == 0) continue;
      for (double* sync : {edge.entering, edge.leaving}) {
        for (int t = 0; t < 2; ++t) sync[t] = number(0, 30);
      }
    }
  }
  input.bandwidth = 1e10;
  input.devices = random.Between(1, 5);
  input.memory = number(100, 900);
  input.batch = random.Between(1, 3) * random.Between(1, 4);
  return input;
}

// By Piper's definition, seconds as picoseconds.
class PiperPlans {
 public:
  explicit PiperPlans(const PiperInput& input) : input_(input) {}

  // Infinite: none fits.
  double Least() {
    AddStage(0, 0, 0);
    return least_;
  }

 private:
  // A bit set of devices, and the least memory of them.
  struct Block {
    std::size_t devices = 0;
    double memory = 0;
  };

  // So many devices beside those of `used`: the first ones where all are alike, else all that may be taken.
  std::vector<Block> BlocksOf(std::size_t used, int64_t count) const {
    const std::size_t end = std::size_t{1} << input_.devices;
    std::vector<Block> blocks;
    for (std::size_t block = 1; block < end; ++block) {
      if ((block & used) != 0 || std::popcount(block) != count) continue;
      blocks.push_back({block, input_.memory});
      if (input_.memories.empty()) return blocks;
      for (std::size_t d = 0; d < input_.memories.size(); ++d) {
        if ((block >> d & 1) != 0) blocks.back().memory = std::min(blocks.back().memory, input_.memories[d]);
      }
    }
    return blocks;
  }

  // The stages from the last one on; `done` is a bit set of their nodes, `used` one of their devices.
  void AddStage(std::size_t done, std::size_t used, int64_t ranks) {
    const std::size_t all = (std::size_t{1} << input_.nodes.size()) - 1;
    if (done == all) {
      least_ = std::min(least_, longest_);
      return;
    }
    for (std::size_t nodes = 1; nodes <= all; ++nodes) {
      if ((nodes & done) != 0 || !GoesForward(nodes, done)) continue;
      for (int t = 0; t < 2; ++t) {
        for (int64_t d = 1; d <= input_.batch; ++d) {
          if (input_.batch % d != 0 || ranks + d > input_.batch) continue;
          for (const Block& block : BlocksOf(used, d * (t + 1))) {
            const int64_t in_flight = (ranks + d + d - 1) / d;
            const double load =
                LoadOf(nodes, t, {static_cast<double>(d), static_cast<double>(in_flight)}, block.memory);
            const double before = longest_;
            longest_ = std::max(longest_, load);
            if (longest_ < least_) AddStage(done | nodes, used | block.devices, ranks + d);
            longest_ = before;
          }
        }
      }
    }
  }

  // What the nodes feed is among them or behind them.
  bool GoesForward(std::size_t nodes, std::size_t done) const {
    return std::all_of(input_.edges.begin(), input_.edges.end(), [&](const Edge& edge) {
      return (nodes >> edge.from & 1) == 0 || ((nodes | done) >> edge.to & 1) != 0;
    });
  }

  struct Ranks {
    double d = 1;
    double y = 1;
  };

  double LoadOf(std::size_t nodes, int t, const Ranks& ranks, double available) const {
    std::vector<const Node*> held;
    for (std::size_t i = 0; i < input_.nodes.size(); ++i) {
      if ((nodes >> i & 1) == 0) continue;
      held.push_back(&input_.nodes[i]);
      if (held.back()->degree[t].empty()) return std::numeric_limits<double>::infinity();
    }
    double comm = 0;
    for (const Edge& edge : input_.edges) {
      const bool makes = (nodes >> edge.from & 1) != 0;
      const bool reads = (nodes >> edge.to & 1) != 0;
      if (makes && !reads) comm += 2 * (edge.cost + edge.leaving[t]);
      if (reads && !makes) comm += 2 * (edge.cost + edge.entering[t]);
    }
    const double d = ranks.d;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t choice = 0; choice < std::size_t{1} << held.size(); ++choice) {
      double time = 0;
      double memory = 0;
      double resync = 0;
      bool exists = true;
      for (std::size_t i = 0; i < held.size() && exists; ++i) {
        const std::vector<Node::Variant>& variants = held[i]->degree[t];
        exists = (choice >> i & 1) < variants.size();
        if (!exists) continue;
        const Node::Variant& variant = variants[choice >> i & 1];
        time += variant.time;
        memory += variant.a * ranks.y + variant.b;
        resync += 4 * (d - 1) * variant.parameters / d / static_cast<double>(input_.batch);
      }
      if (!exists || memory > available) continue;
      least = std::min(least, time / d + (comm / d + resync) / input_.bandwidth * 1e12);
    }
    return least;
  }

  const PiperInput& input_;
  double longest_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
};

Device DeviceNamed(const std::string& name) {
  Device device;
  device.name = name;
  return device;
}

JointTestRequest RequestOf(const PiperInput& input) {
  JointTestRequest request;
  const auto whole = [](double value) { return static_cast<int64_t>(value); };
  for (std::size_t i = 0; i < input.nodes.size(); ++i) {
    Operator& op = request.graph.operators.emplace_back();
    // Not in topological order by name.
    op.name = absl::StrCat("op", (i * 2) % 5, ".", i);
    for (int t = 0; t < 2; ++t) {
      const std::vector<Node::Variant>& variants = input.nodes[i].degree[t];
      if (variants.empty()) continue;
      OperatorVariant& variant = op.variants.emplace_back();
      variant.tensor_degree = t + 1;
      variant.forward = Picoseconds(whole(variants[0].time) / 3);
      variant.backward = Picoseconds(whole(variants[0].time)) - variant.forward;
      variant.parameter_bytes = whole(variants[0].parameters);
      variant.activation_bytes = whole(variants[0].a);
      variant.workspace_bytes = whole(variants[0].b - 2 * variants[0].parameters);
      for (std::size_t e = 0; e < input.edges.size(); ++e) {
        const Edge& edge = input.edges[e];
        if (edge.from != i && edge.to != i) continue;
        variant.boundary_exchanges.push_back(
            {absl::StrCat("t", e), whole(edge.from == i ? edge.leaving[t] : edge.entering[t])});
      }
      if (variants.size() == 1) continue;
      variant.recomputation = {.extra = Picoseconds(whole(variants[1].time - variants[0].time)),
                               .activation_bytes = whole(variants[1].a),
                               .workspace_bytes = whole(variants[1].b - 2 * variants[1].parameters)};
    }
  }
  for (std::size_t e = 0; e < input.edges.size(); ++e) {
    request.graph.tensors.push_back({.name = absl::StrCat("t", e),
                                     .producer = OperatorId(input.edges[e].from),
                                     .consumers = {OperatorId(input.edges[e].to)},
                                     .size_bytes = whole(input.edges[e].cost),
                                     .transfer = std::nullopt});
  }
  DeviceClass& gpu = request.cluster.device_classes.emplace_back();
  gpu.name = "gpu";
  gpu.memory_bytes = whole(input.memory);
  for (int64_t d = 0; d < input.devices; ++d) request.cluster.devices.push_back(DeviceNamed(absl::StrCat("g", d)));
  for (std::size_t d = 0; d < input.memories.size(); ++d) {
    request.cluster.devices[d].reserved_memory_bytes = whole(input.memory) - whole(input.memories[d]);
  }
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = input.bandwidth};
  request.problem.replication = Replication::kPerStage;
  request.problem.memory_model.preset = "sgd";
  request.problem.joint.emplace().global_batch = input.batch;
  return request;
}

void ExpectProvenLeast(const Plan& plan, double least) {
  // Three divisions are rounded up to whole picoseconds.
  EXPECT_GE(static_cast<double>(plan.objective.count()), least - 1e-6);
  EXPECT_LE(static_cast<double>(plan.objective.count()), least + 3);
  EXPECT_EQ(plan.lower_bound, plan.objective);
}

TEST(RoundRobinTest, FindsTheLeastOfAllPlansByPipersDefinition) {
  int found = 0;
  int impossible = 0;
  for (uint64_t seed = 1; seed <= NumCases(3'000); ++seed) {
    SCOPED_TRACE(seed);
    const PiperInput input = RandomInput(seed);
    const JointTestRequest request = RequestOf(input);
    const double least = PiperPlans(input).Least();
    const absl::StatusOr<Plan> plan = Make(request);
    if (std::isinf(least)) {
      ++impossible;
      EXPECT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
      continue;
    }
    ++found;
    ASSERT_TRUE(plan.ok()) << plan.status();
    ExpectProvenLeast(*plan, least);
    EXPECT_TRUE(plan->provenance.proven_optimal);
    const absl::StatusOr<Verdict> verdict = Judge(request, PlacementOf(*plan));
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_TRUE(verdict->violations.empty());
    EXPECT_EQ(verdict->costed->objective, plan->objective);
  }
  EXPECT_GT(found, impossible);
  EXPECT_GT(impossible, 20);
}

// Of at most so many sizes.
PiperInput RandomUnlikeInput(uint64_t seed, int64_t sizes) {
  PiperInput input = RandomInput(seed);
  RandomStream random(seed, 29);
  input.nodes.resize(std::min<std::size_t>(input.nodes.size(), 4));
  std::erase_if(input.edges, [&](const Edge& edge) { return edge.to >= input.nodes.size(); });
  input.devices = random.Between(2, sizes > 4 ? 6 : 4);
  std::vector<double> some;
  some.reserve(static_cast<std::size_t>(sizes));
  for (int64_t i = 0; i < sizes; ++i)
    some.push_back(std::floor(input.memory * 0.01 * static_cast<double>(random.Between(10, 100))));
  for (int64_t d = 0; d < input.devices; ++d) {
    input.memories.push_back(some[static_cast<std::size_t>(random.Below(static_cast<uint64_t>(sizes)))]);
  }
  return input;
}

// Up to four sizes of memory are told apart: the search is exact.
TEST(RoundRobinTest, FindsTheLeastOfAllPlansWhereMemoryIsUnlike) {
  int found = 0;
  int impossible = 0;
  for (uint64_t seed = 1; seed <= NumCases(1'000); ++seed) {
    SCOPED_TRACE(seed);
    const PiperInput input = RandomUnlikeInput(seed, 1 + static_cast<int64_t>(seed % 4));
    const JointTestRequest request = RequestOf(input);
    const double least = PiperPlans(input).Least();
    const absl::StatusOr<Plan> plan = Make(request);
    if (std::isinf(least)) {
      ++impossible;
      EXPECT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
      continue;
    }
    ++found;
    ASSERT_TRUE(plan.ok()) << plan.status();
    ExpectProvenLeast(*plan, least);
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(impossible, 100);
}

// Of more sizes some are taken together: what is proven holds all the same.
TEST(RoundRobinTest, ProvesNothingFalseOfManySizesOfMemory) {
  int optimal = 0;
  int worse = 0;
  int impossible = 0;
  for (uint64_t seed = 1; seed <= NumCases(600); ++seed) {
    SCOPED_TRACE(seed);
    const PiperInput input = RandomUnlikeInput(seed, 20);
    const double least = PiperPlans(input).Least();
    const absl::StatusOr<Plan> plan = Make(RequestOf(input));
    if (!plan.ok()) {
      const bool is_proven = InfeasibilityOf(plan.status()).has_value();
      EXPECT_TRUE(is_proven || IsNoPlanFound(plan.status())) << plan.status();
      EXPECT_TRUE(!is_proven || std::isinf(least)) << plan.status();
      impossible += is_proven ? 1 : 0;
      continue;
    }
    EXPECT_GE(static_cast<double>(plan->objective.count()), least - 1e-6);
    EXPECT_LE(static_cast<double>(plan->lower_bound.count()), least + 3);
    EXPECT_EQ(plan->provenance.proven_optimal, plan->lower_bound == plan->objective);
    ++(plan->provenance.proven_optimal ? optimal : worse);
  }
  EXPECT_GT(optimal, 100);
  EXPECT_GT(worse, 0);
  EXPECT_GT(impossible, 50);
}

TEST(RoundRobinTest, SaysWhatMayHelpWhereManySizesOfMemoryLeaveNoProof) {
  PiperInput input = RandomInput(1);
  input.nodes.resize(1);
  input.edges.clear();
  input.nodes[0].degree[0] = {{.time = 1'000, .parameters = 0, .a = 94, .b = 0}};
  input.nodes[0].degree[1].clear();
  input.memory = 100;
  input.devices = 6;
  input.batch = 1;
  // The two that differ least are taken together: which of them are there, and which one fits, is not told.
  input.memories = {95, 93, 70, 50, 30, 10};
  const absl::Status status = Make(RequestOf(input)).status();
  EXPECT_TRUE(IsNoPlanFound(status)) << status;
  EXPECT_EQ(SpentLimitOf(status), SpentLimit::kNone);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("fewer sizes may help (problem.devices_to_use)"));
  // With one less all are told apart.
  JointTestRequest fewer = RequestOf(input);
  fewer.problem.devices_to_use.max_devices = 4;
  const absl::StatusOr<Plan> plan = Make(fewer);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->stages.front().replicas.front().device, DeviceId(0));
}

// Of the devices that may be taken, the last ones have the memory.
TEST(RoundRobinTest, FewDevicesAreThoseWithTheMostMemory) {
  PiperInput input = RandomInput(1);
  input.nodes.resize(1);
  input.edges.clear();
  input.nodes[0].degree[0] = {{.time = 1'000, .parameters = 0, .a = 90, .b = 0}};
  input.nodes[0].degree[1].clear();
  input.memory = 100;
  input.devices = 3;
  input.memories = {10, 20, 95};
  JointTestRequest request = RequestOf(input);
  request.problem.devices_to_use.max_devices = 1;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->stages.front().replicas.front().device, DeviceId(2));
  EXPECT_TRUE(plan->provenance.proven_optimal);
}

// The first devices are of a class on which nothing fits, which says nothing of the other one.
TEST(RoundRobinTest, FewDevicesOfSeveralClassesAreNoProof) {
  PiperInput input = RandomInput(1);
  input.nodes.resize(1);
  input.edges.clear();
  input.nodes[0].degree[0] = {{.time = 1'000, .parameters = 0, .a = 90, .b = 0}};
  input.nodes[0].degree[1].clear();
  input.memory = 10;
  input.devices = 2;
  JointTestRequest request = RequestOf(input);
  request.cluster.device_classes.push_back(request.cluster.device_classes.front());
  request.cluster.device_classes.back().name = "large";
  request.cluster.device_classes.back().memory_bytes = 100;
  request.cluster.devices.back().device_class = DeviceClassId(1);
  request.problem.devices_to_use.max_devices = 1;
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("cluster.device_classes"));
}

TEST(RoundRobinTest, SaysThatTheGapIsReached) {
  int reached = 0;
  for (uint64_t seed = 1; seed <= NumCases(200); ++seed) {
    SCOPED_TRACE(seed);
    JointTestRequest request = RequestOf(RandomInput(seed));
    request.options.relative_gap = 0.3;
    const absl::StatusOr<Plan> plan = Make(request);
    if (!plan.ok()) continue;
    const double gap = RelativeGap(plan->objective, plan->lower_bound);
    EXPECT_LE(gap, 0.3 + 1e-9);
    EXPECT_EQ(plan->provenance.stop_reason, gap == 0 ? StopReason::kOptimal : StopReason::kGapReached);
    reached += gap == 0 ? 0 : 1;
  }
  EXPECT_GT(reached, 10);
}

// Parameters of a rank, rounded up, times a factor, rounded up; a thousandth too much for a whole number counts as it.
int64_t CopiesOf(int64_t parameters, double factor) {
  const double copies = static_cast<double>(parameters) * factor;
  return static_cast<int64_t>(copies - std::floor(copies) <= 1e-3 ? std::floor(copies) : std::ceil(copies));
}

TEST(RoundRobinTest, CopiesOfParametersAreRoundedUpOnceForEachOperator) {
  int found = 0;
  for (uint64_t seed = 1; seed <= NumCases(400); ++seed) {
    SCOPED_TRACE(seed);
    PiperInput input = RandomInput(seed);
    input.memory *= 10;
    JointTestRequest request = RequestOf(input);
    RandomStream random(seed, 23);
    // Some of them a little more than a whole number; no product is just a thousandth above one.
    const double factor = static_cast<double>(random.Between(0, 40'000)) / (seed % 3 == 0 ? 1e6 : 1e4) +
                          static_cast<double>(random.Between(0, 3)) + 1.41421e-7;
    MemoryModel& memory = request.problem.memory_model;
    memory.weight_versions = static_cast<int32_t>(random.Between(1, 3));
    memory.gradient_copies = static_cast<int32_t>(random.Between(0, 2));
    memory.optimizer_bytes_per_parameter_byte = factor;
    const absl::StatusOr<Plan> plan = Make(request);
    if (InfeasibilityOf(plan.status()).has_value()) continue;
    ++found;
    ASSERT_TRUE(plan.ok()) << plan.status();
    for (std::size_t s = 0; s < plan->stages.size(); ++s) {
      const JointStage& stage = plan->joint->stages[s];
      int64_t parameters = 0;
      int64_t optimizer = 0;
      for (const OperatorId op : plan->stages[s].operators) {
        const auto& variants = input.nodes[op.index()].degree[stage.degrees.tensor - 1];
        parameters += static_cast<int64_t>(variants[0].parameters);
        optimizer += CopiesOf(static_cast<int64_t>(variants[0].parameters), factor);
      }
      EXPECT_EQ(stage.memory.parameters, parameters * *memory.weight_versions);
      EXPECT_EQ(stage.memory.gradients, parameters * *memory.gradient_copies);
      EXPECT_EQ(stage.memory.optimizer, optimizer);
    }
  }
  EXPECT_GT(found, 100);
}

// One operator's optimizer is 5.0005 bytes, which counted as 6 in one place and as 5 in another.
TEST(RoundRobinTest, FactorsALittleAboveAWholeNumber) {
  JointTestRequest request = RequestOf(RandomInput(1));
  request.graph.operators.resize(1);
  request.graph.tensors.clear();
  Operator& op = request.graph.operators.front();
  op.variants.resize(1);
  op.variants.front().parameter_bytes = 5;
  op.variants.front().boundary_exchanges.clear();
  request.problem.memory_model.optimizer_bytes_per_parameter_byte = 1.0001;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->joint->stages.front().memory.optimizer, 5);
}

constexpr char kPublished[] = "workloads/piper/resnet.json";

// Degree 1 of Piper's file, with another machine.
std::optional<PiperInput> ReadPublished(int64_t devices, double memory) {
  const auto path = SharedFile(kPublished);
  if (!path.has_value()) return std::nullopt;
  std::ifstream file(*path);
  const nlohmann::json json = nlohmann::json::parse(file);
  PiperInput input;
  std::map<int, std::size_t> index_of;
  for (const auto& each : json.at("nodes")) {
    index_of[each.at("id")] = input.nodes.size();
    Node& node = input.nodes.emplace_back();
    for (const auto& variant : each.at("TMPCs").at("1")) {
      // Whole picoseconds and bytes.
      node.degree[0].push_back({std::round(variant.at("timePerSample").get<double>() * 1e12),
                                variant.at("parameterSize"), std::ceil(variant.at("memoryUsageA").get<double>()),
                                std::round(variant.at("memoryUsageB").get<double>())});
    }
  }
  for (const auto& edge : json.at("edges")) {
    input.edges.push_back(
        {index_of.at(edge.at("sourceId")), index_of.at(edge.at("destId")), edge.at("communicationCost")});
  }
  input.bandwidth = 25 * std::exp2(30);
  input.devices = devices;
  input.memory = memory * std::exp2(30);
  input.batch = json.at("mbsInBatch");
  return input;
}

// The longest load of the stages of `plan` by Piper's definition, in picoseconds; infinite: one does not fit.
double CostByPiper(const PiperInput& input, const Plan& plan) {
  std::vector<std::size_t> stage_of(input.nodes.size());
  std::vector<bool> is_again(input.nodes.size());
  const OperatorGraph graph = RequestOf(input).graph;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const OperatorId op : plan.stages[s].operators) {
      stage_of[op.index()] = s;
      const std::vector<std::string>& labels = plan.joint->layer_labels;
      const auto label = std::find(labels.begin(), labels.end(), graph.operators[op.index()].name) - labels.begin();
      const JointChunk& chunk = plan.joint->stages[s].chunks.front();
      is_again[op.index()] =
          chunk.recomputation[static_cast<std::size_t>(label - chunk.first_layer)] == LayerRecomputation::kFull;
    }
  }
  double longest = 0;
  double ranks = 0;
  for (std::size_t s = plan.stages.size(); s-- > 0;) {
    const double d = plan.joint->stages[s].degrees.data;
    ranks += d;
    double time = 0;
    double memory = 0;
    double bytes = 0;
    for (std::size_t i = 0; i < input.nodes.size(); ++i) {
      if (stage_of[i] != s) continue;
      const Node::Variant& variant = input.nodes[i].degree[0][is_again[i] ? 1 : 0];
      time += variant.time / d;
      memory += variant.a * std::ceil(ranks / d) + variant.b;
      bytes += 4 * (d - 1) * variant.parameters / d / static_cast<double>(input.batch);
    }
    for (const Edge& edge : input.edges) {
      if ((stage_of[edge.from] == s) != (stage_of[edge.to] == s)) bytes += 2 * edge.cost / d;
    }
    if (memory > input.memory) return std::numeric_limits<double>::infinity();
    longest = std::max(longest, time + bytes / input.bandwidth * 1e12);
  }
  return longest;
}

// Of the machines for which Piper's plans are known: devices, GiB, and their loads in seconds.
TEST(RoundRobinTest, IsNeverWorseThanPiperOnItsPublishedInput) {
  struct Case {
    int64_t devices;
    double memory;
    double piper;
    double optimum;
  };
  for (const Case& each : {Case{32, 2, 24.6258985, 24.0313985}, Case{64, 1.5, 16.9921406, 16.9838828}}) {
    SCOPED_TRACE(each.devices);
    const std::optional<PiperInput> input = ReadPublished(each.devices, each.memory);
    if (!input.has_value()) GTEST_SKIP() << kPublished << " is not there";
    const absl::StatusOr<Plan> plan = Make(RequestOf(*input));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(plan->provenance.proven_optimal);
    const double seconds = ToMilliseconds(plan->objective) / 1e3;
    EXPECT_LE(seconds, each.piper);
    EXPECT_NEAR(seconds, each.optimum, 1e-6);
    EXPECT_NEAR(CostByPiper(*input, *plan), static_cast<double>(plan->objective.count()), 100);
  }
}

// Every replica works through its micro-batches; what else the step takes is the way through the pipeline.
TEST(RoundRobinTest, StepsAreSimulated) {
  int64_t replicated = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const JointTestRequest request = RequestOf(RandomInput(seed));
    const absl::StatusOr<Plan> plan = Make(request);
    if (!plan.ok()) continue;
    const absl::StatusOr<PlanSimulation> simulation =
        SimulatePlacement({request.graph, request.cluster, request.problem, request.options}, ModelLimits(),
                          PlacementOf(*plan), SimulationSettings());
    ASSERT_TRUE(simulation.ok()) << simulation.status();
    const int64_t step = simulation->report.step_time.count();
    const int64_t busiest = plan->objective.count() * plan->joint->micro_batches;
    int64_t through = 0;
    std::size_t resource = 0;
    for (std::size_t s = 0; s < plan->stages.size(); ++s) {
      const JointStage& stage = plan->joint->stages[s];
      through += plan->stages[s].load.count() + stage.step_end.count() * plan->joint->micro_batches;
      replicated += stage.degrees.data > 1 ? 1 : 0;
      for (int32_t rank = 0; rank < stage.degrees.data; ++rank) {
        EXPECT_EQ(simulation->report.resources[resource].peak_memory_bytes, plan->stages[s].memory_bytes);
        EXPECT_EQ(simulation->memory_limits[resource], request.cluster.device_classes[0].memory_bytes);
        ++resource;
      }
    }
    EXPECT_EQ(simulation->report.resources.size(), resource);
    // Divisions are rounded up for each micro-batch.
    EXPECT_GE(step, busiest - 3 * plan->joint->micro_batches);
    EXPECT_LE(step, 2 * busiest + 2 * through);
  }
  EXPECT_GT(replicated, 20);
}

TEST(RoundRobinTest, TellsOfBetterPlansWhileItSearches) {
  const JointTestRequest request = RequestOf(RandomInput(2));
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_FALSE(plan->provenance.incumbents.empty());
  EXPECT_EQ(plan->provenance.incumbents.back().objective, plan->objective);
}

TEST(RoundRobinTest, CountsTokensWhereTheRequestSaysHowMany) {
  JointTestRequest request = RequestOf(RandomInput(2));
  request.problem.joint->tokens_per_sample = 7;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_DOUBLE_EQ(plan->joint->tokens_per_second, 7 * plan->estimate.samples_per_second);
}

TEST(RoundRobinTest, TheVerifierRefusesOtherChoices) {
  PiperInput input = RandomInput(1);
  input.nodes.resize(1);
  input.edges.clear();
  input.devices = 2;
  input.batch = 2;
  input.memory = 1e6;
  const JointTestRequest request = RequestOf(input);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto is_refused = [&](const std::function<void(Placement&)>& change) {
    Placement placement = PlacementOf(*plan);
    change(placement);
    const absl::StatusOr<Verdict> verdict = Judge(request, placement);
    return verdict.ok() && !verdict->violations.empty();
  };
  EXPECT_FALSE(is_refused([](Placement&) {}));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.joint->layer_labels[0] = "other"; }));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.stages[0].devices.pop_back(); }));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.stages[0].devices.clear(); }));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.stages[0].operators.clear(); }));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.joint->micro_batches = 1; }));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.joint->stages[0].degrees.tensor = 3; }));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.joint->stages[0].degrees.data = 0; }));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.joint->stages.clear(); }));
}

TEST(RoundRobinTest, SaysEverythingThatIsWrong) {
  JointTestRequest request = RequestOf(RandomInput(1));
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1e9, .latency = Picoseconds(1)};
  request.problem.num_replicas = 2;
  request.problem.objective = Objective::kMinDevices;
  JointSettings& joint = *request.problem.joint;
  joint.global_batch = 12;
  joint.micro_batch_samples = {2};
  joint.orders = {PipelineOrder::kGpipe};
  joint.shardings = {Sharding::kParameters};
  EXPECT_THAT(PathsOf(Make(request).status()),
              IsSupersetOf({"cluster.interconnect", "problem.num_replicas", "problem.objective",
                            "problem.joint.micro_batch_samples", "problem.joint.schedules",
                            "problem.joint.optimizer_sharding"}));
}

}  // namespace
}  // namespace planwright
