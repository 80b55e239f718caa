// The joint search on graphs that are no transformers: against all plans of small random graphs, by the verifier's
// word, which shares no code with the search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/random.h"
#include "core/cost/terms/cost_table.h"
#include "core/joint/operators/operator_layers.h"
#include "core/model/support.h"
#include "core/planner/joint/joint_request.h"
#include "tests/core/planner/joint/joint_test_request.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

Device DeviceOf(const std::string& name) {
  Device device;
  device.name = name;
  return device;
}

OperatorVariant VariantOf(int32_t degree) {
  OperatorVariant variant;
  variant.tensor_degree = degree;
  variant.forward = Picoseconds(500);
  variant.backward = Picoseconds(1'000);
  return variant;
}

OperatorVariant RandomVariant(RandomStream& random, int32_t degree) {
  OperatorVariant variant;
  variant.tensor_degree = degree;
  variant.forward = Picoseconds(random.Between(1, 50) * 1'000 / degree);
  variant.backward = Picoseconds(random.Between(1, 90) * 1'000 / degree);
  variant.parameter_bytes = random.Between(0, 40) / degree;
  variant.activation_bytes = random.Between(0, 30);
  variant.workspace_bytes = random.Between(0, 9);
  return variant;
}

// Two sizes, a mode of recomputation and bytes of the output: each with or without.
void AddVariants(RandomStream& random, Operator& op) {
  for (const int32_t degree : {1, 2}) {
    OperatorVariant variant = RandomVariant(random, degree);
    if (random.Below(2) == 0) variant.output_bytes = random.Between(0, 50);
    if (random.Below(2) == 0) {
      variant.recomputation = {.extra = Picoseconds(random.Between(0, 40'000)),
                               .activation_bytes = variant.activation_bytes / 3,
                               .workspace_bytes = random.Between(0, 20)};
    }
    op.variants.push_back(variant);
    if (random.Below(2) == 0) continue;
    variant.samples = 4;
    variant.forward *= 3;
    variant.activation_bytes *= 3;
    op.variants.push_back(variant);
  }
}

// At most four operators with any tensors between them, on at most four devices in one node or two.
JointTestRequest RandomOperatorRequest(uint64_t seed) {
  RandomStream random(seed, 7);
  JointTestRequest request;
  OperatorGraph& graph = request.graph;
  graph.samples_per_micro_batch = random.Between(1, 2);
  const int64_t count = random.Between(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    Operator& op = graph.operators.emplace_back();
    // Not in topological order by name.
    op.name = absl::StrCat("op", (i * 3 + static_cast<int64_t>(seed)) % 5, i);
    op.costs = {{.device_class = "gpu",
                 .forward = Picoseconds(random.Between(1, 60) * 1'000),
                 .backward = Picoseconds(random.Between(1, 99) * 1'000)}};
    op.parameter_bytes = random.Between(0, 60);
    op.activation_bytes = random.Between(0, 40);
    op.workspace_bytes = random.Between(0, 9);
    if (random.Below(2) == 0) AddVariants(random, op);
  }
  for (int64_t from = 0; from < count; ++from) {
    for (int64_t to = from + 1; to < count; ++to) {
      if (random.Below(3) == 0) continue;
      graph.tensors.push_back({.name = absl::StrCat("t", from, ".", to),
                               .producer = OperatorId(static_cast<std::size_t>(from)),
                               .consumers = {OperatorId(static_cast<std::size_t>(to))},
                               .size_bytes = random.Between(0, 60),
                               .transfer = std::nullopt});
    }
  }
  Cluster& cluster = request.cluster;
  DeviceClass& gpu = cluster.device_classes.emplace_back();
  gpu.name = "gpu";
  gpu.memory_bytes = random.Between(150, 700);
  gpu.memory_bandwidth_bytes_per_second = random.Below(2) == 0 ? 0 : 1e10;
  const int64_t devices = random.Between(1, 4);
  for (int64_t i = 0; i < devices; ++i) cluster.devices.push_back(DeviceOf(absl::StrCat("g", i)));
  cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 5e9, .latency = Picoseconds(500)};
  JointSettings& joint = request.problem.joint.emplace();
  joint.global_batch = int64_t{1} << random.Between(0, 4);
  joint.tensor_degrees = {1, 2};
  joint.micro_batch_samples = joint.global_batch > 1 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1};
  joint.shardings = {Sharding::kNone, Sharding::kOptimizer, Sharding::kParameters};
  return request;
}

// Every plan of one spread, or one for each stage, sharding and division of the batch, by cuts and modes.
class AllPlans {
 public:
  explicit AllPlans(const JointTestRequest& request)
      : request_(request),
        settings_(*WithJointDefaults({request.graph, request.cluster, ResolveProblem(request.graph, request.problem)})
                       .joint) {}

  // `layers`: labels in their order, and the operators of each.
  int64_t LeastStep(const std::vector<std::string>& labels, const std::vector<std::vector<OperatorId>>& operators) {
    labels_ = labels;
    operators_ = operators;
    spreads_.clear();
    for (const int32_t tensor : settings_.tensor_degrees) {
      for (const int32_t context : settings_.context_degrees) {
        for (const int32_t expert : settings_.expert_degrees) {
          for (int32_t data = 1; data <= 4; ++data) {
            if (context * data % expert == 0) spreads_.push_back({tensor, context, expert, data});
          }
        }
      }
    }
    if (settings_.per_stage) {
      AddByStage();
    } else {
      for (const Degrees& degrees : spreads_) AddSpread(degrees);
    }
    return least_;
  }

 private:
  void AddByStage() {
    choices_ = spreads_;
    for (int64_t samples = 1; samples <= settings_.global_batch; samples *= 2) {
      for (const Sharding sharding : settings_.shardings) {
        plan_ = {};
        plan_.per_stage = true;
        plan_.sharding = sharding;
        plan_.micro_batch_samples = samples;
        plan_.micro_batches = settings_.global_batch / samples;
        plan_.layer_labels = labels_;
        AddStages(0);
      }
    }
  }

  void AddSpread(const Degrees& degrees) {
    for (const int64_t samples : settings_.micro_batch_samples) {
      if (settings_.global_batch % (degrees.data * samples) != 0) continue;
      for (const Sharding sharding : settings_.shardings) {
        plan_ = {};
        plan_.sharding = sharding;
        plan_.micro_batch_samples = samples;
        plan_.micro_batches = settings_.global_batch / degrees.data / samples;
        plan_.layer_labels = labels_;
        choices_ = {degrees};
        AddStages(0);
      }
    }
  }

  void AddStages(std::size_t first) {
    if (first == labels_.size()) return JudgePlan();
    for (const Degrees& degrees : choices_) AddStagesSpread(first, degrees);
  }

  void AddStagesSpread(std::size_t first, const Degrees& degrees) {
    for (std::size_t end = first + 1; end <= labels_.size(); ++end) {
      const std::size_t width = end - first;
      for (std::size_t modes = 0; modes < (std::size_t{1} << width); ++modes) {
        JointStage& stage = plan_.stages.emplace_back();
        stage.degrees = degrees;
        JointChunk& chunk = stage.chunks.emplace_back();
        chunk.first_layer = static_cast<int32_t>(first);
        for (std::size_t layer = 0; layer < width; ++layer) {
          const bool is_full = (modes >> layer & 1) != 0;
          chunk.recomputation.push_back(is_full ? LayerRecomputation::kFull : LayerRecomputation::kNone);
        }
        AddStages(end);
        plan_.stages.pop_back();
      }
    }
  }

  void JudgePlan() {
    Placement placement;
    std::size_t slot = 0;
    for (const JointStage& stage : plan_.stages) {
      Placement::Stage& placed = placement.stages.emplace_back();
      const JointChunk& chunk = stage.chunks.front();
      for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
        const std::vector<OperatorId>& held = operators_[static_cast<std::size_t>(layer)];
        placed.operators.insert(placed.operators.end(), held.begin(), held.end());
      }
      std::sort(placed.operators.begin(), placed.operators.end());
      for (int64_t rank = 0; rank < stage.degrees.devices(); ++rank) placed.devices.emplace_back(slot++);
    }
    if (slot > request_.cluster.devices.size()) return;
    placement.joint = plan_;
    const absl::StatusOr<Verdict> verdict = Judge(request_, placement);
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    if (!verdict->violations.empty()) return;
    least_ = std::min(least_, verdict->costed->objective.count());
  }

  const JointTestRequest& request_;
  const JointSettings settings_;
  std::vector<std::string> labels_;
  std::vector<std::vector<OperatorId>> operators_;
  std::vector<Degrees> spreads_;
  // Of a stage.
  std::vector<Degrees> choices_;
  JointPlan plan_;
  int64_t least_ = kNone;
};

struct Counts {
  int found = 0;
  int impossible = 0;
};

// Of all plans of all divisions into layers.
int64_t LeastOfAll(const JointTestRequest& request) {
  const CostTable costs(request.graph, request.cluster, Workload::kTraining);
  const ResolvedProblem problem = ResolveProblem(request.graph, request.problem);
  int64_t least = kNone;
  for (const OperatorLayers& layers : DivideInEveryOrder(request.graph, problem, costs)) {
    least = std::min(least, AllPlans(request).LeastStep(layers.labels, layers.operators));
  }
  return least;
}

void HoldAgainstAllPlans(const JointTestRequest& request, Counts& counts) {
  const absl::StatusOr<Plan> plan = Make(request);
  const int64_t least = LeastOfAll(request);
  if (!plan.ok()) {
    ASSERT_TRUE(InfeasibilityOf(plan.status()).has_value()) << plan.status();
    EXPECT_EQ(least, kNone);
    ++counts.impossible;
    return;
  }
  ++counts.found;
  EXPECT_LE(plan->lower_bound.count(), least);
  EXPECT_GE(plan->objective.count(), least);
  EXPECT_LE(static_cast<double>(plan->objective.count()), static_cast<double>(least) * (1 + 1.01 * kJointGap));
}

TEST(OperatorGraphTest, FindsTheLeastStepOfAllPlans) {
  Counts counts;
  for (uint64_t seed = 1; seed <= NumCases(150); ++seed) {
    SCOPED_TRACE(seed);
    HoldAgainstAllPlans(RandomOperatorRequest(seed), counts);
  }
  EXPECT_GT(counts.found, counts.impossible);
  EXPECT_GT(counts.impossible, 0);
}

// Backward passes as operators of their own, with tensors of any size between them.
JointTestRequest WithBackwardOperators(JointTestRequest request, uint64_t seed) {
  RandomStream random(seed, 8);
  OperatorGraph& graph = request.graph;
  const std::size_t count = graph.operators.size();
  for (std::size_t op = 0; op < count; ++op) {
    Operator backward;
    backward.name = graph.operators[op].name + ".backward";
    backward.pass = Pass::kBackward;
    backward.forward_operator = OperatorId(op);
    backward.costs = {{.device_class = "gpu", .forward = graph.operators[op].costs[0].backward}};
    backward.parameter_bytes = random.Between(0, 9);
    backward.workspace_bytes = random.Between(0, 20);
    graph.operators[op].costs[0].backward = Picoseconds(0);
    graph.operators.push_back(backward);
  }
  const std::vector<Tensor> forward = graph.tensors;
  for (const Tensor& tensor : forward) {
    Tensor& gradient = graph.tensors.emplace_back(tensor);
    gradient.name += ".gradient";
    gradient.producer = OperatorId(count + tensor.consumers[0].index());
    gradient.consumers = {OperatorId(count + tensor.producer.index())};
    gradient.size_bytes = random.Between(0, 60);
    if (random.Below(2) == 0) continue;
    Tensor& kept = graph.tensors.emplace_back(tensor);
    kept.name += ".kept";
    kept.consumers[0] = OperatorId(count + tensor.consumers[0].index());
  }
  return request;
}

TEST(OperatorGraphTest, FindsTheLeastStepWithBackwardOperators) {
  Counts counts;
  for (uint64_t seed = 1; seed <= NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    const JointTestRequest request = WithBackwardOperators(RandomOperatorRequest(seed), seed);
    HoldAgainstAllPlans(request, counts);
  }
  EXPECT_GT(counts.found, counts.impossible);
  EXPECT_GT(counts.impossible, 0);
}

// One that says the same by numbers of the forward operators has the same step.
TEST(OperatorGraphTest, BackwardOperatorsSayTheSameAsBackwardTimes) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    JointTestRequest request = RandomOperatorRequest(seed);
    for (Operator& op : request.graph.operators) op.variants.clear();
    request.problem.joint->tensor_degrees = {};
    JointTestRequest other = WithBackwardOperators(request, seed);
    for (Operator& op : other.graph.operators) {
      if (op.pass == Pass::kBackward) op.parameter_bytes = op.workspace_bytes = 0;
    }
    std::erase_if(other.graph.tensors, [](const Tensor& tensor) { return tensor.name.ends_with(".kept"); });
    for (std::size_t tensor = 0; tensor < request.graph.tensors.size(); ++tensor) {
      other.graph.tensors[request.graph.tensors.size() + tensor].size_bytes = request.graph.tensors[tensor].size_bytes;
    }
    const absl::StatusOr<Plan> plan = Make(request);
    const absl::StatusOr<Plan> same = Make(other);
    ASSERT_EQ(plan.ok(), same.ok()) << plan.status() << same.status();
    if (!plan.ok()) continue;
    EXPECT_EQ(plan->objective, same->objective);
    EXPECT_EQ(plan->joint->layer_labels, same->joint->layer_labels);
  }
}

TEST(OperatorGraphTest, FindsTheLeastStepWithFirstLayersAlike) {
  Counts counts;
  for (uint64_t seed = 1; seed <= NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    JointTestRequest request = RandomOperatorRequest(seed);
    request.problem.joint->first_layers_alike = true;
    HoldAgainstAllPlans(request, counts);
  }
  EXPECT_GT(counts.found, counts.impossible);
  EXPECT_GT(counts.impossible, 0);
}

// Operators of experts, divided sequences and layouts, in one colocation group of two.
JointTestRequest WithMoreVariants(JointTestRequest request, uint64_t seed) {
  RandomStream random(seed, 9);
  OperatorGraph& graph = request.graph;
  for (Operator& op : graph.operators) {
    if (random.Below(3) == 0) op.colocation_group = "together";
    op.variants.clear();
    if (random.Below(4) == 0) continue;
    const bool has_experts = random.Below(2) == 0;
    const bool has_layouts = random.Below(2) == 0;
    for (const int32_t tensor : {1, 2}) {
      for (const int32_t context : {1, 2}) {
        for (const int32_t expert : has_experts ? std::vector<int32_t>{1, 2} : std::vector<int32_t>{1}) {
          for (int layouts = 0; layouts < (has_layouts ? 3 : 1); ++layouts) {
            OperatorVariant& variant = op.variants.emplace_back(RandomVariant(random, tensor * context));
            variant.tensor_degree = tensor;
            variant.context_degree = context;
            if (has_experts) variant.expert_degree = expert;
            variant.input_layout = layouts == 1 ? "rows" : "";
            variant.output_layout = layouts == 2 ? "rows" : "";
          }
        }
      }
    }
  }
  request.problem.joint->tensor_degrees.clear();
  request.problem.joint->shardings = {Sharding::kNone, Sharding::kOptimizer};
  const LayoutChange into{"", "rows", 0.25 * static_cast<double>(random.Between(0, 4))};
  const LayoutChange back{"rows", "", 0.25 * static_cast<double>(random.Between(0, 4))};
  // Changes that no tensor needs are refused.
  for (const std::vector<LayoutChange>& changes :
       {std::vector<LayoutChange>{into, back}, {into}, {back}, std::vector<LayoutChange>{}}) {
    graph.layout_changes = changes;
    Violations violations;
    ValidateGraph(graph, ModelLimits(), violations);
    if (violations.empty()) break;
  }
  return request;
}

TEST(OperatorGraphTest, FindsTheLeastStepOverContextExpertsAndLayouts) {
  Counts counts;
  int with_layouts = 0;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    const JointTestRequest request = WithMoreVariants(RandomOperatorRequest(seed), seed);
    with_layouts += request.graph.layout_changes.empty() ? 0 : 1;
    HoldAgainstAllPlans(request, counts);
  }
  EXPECT_GT(with_layouts, 30);
  EXPECT_GT(counts.found, counts.impossible);
}

TEST(OperatorGraphTest, CountsTokensWhereTheRequestSaysHowMany) {
  JointTestRequest request = RequestOf("resnet50", "dgx-h100:1", 64);
  request.problem.joint->tokens_per_sample = 100;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_NEAR(plan->joint->tokens_per_second, 100 * plan->estimate.samples_per_second, 1e-3);
  request.problem.objective = Objective::kMinDevices;
  request.problem.joint->target_tokens_per_second = plan->joint->tokens_per_second / 3;
  const absl::StatusOr<Plan> fewest = Make(request);
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  EXPECT_GE(fewest->joint->tokens_per_second, *request.problem.joint->target_tokens_per_second);
  request.problem.joint->tokens_per_sample = 0;
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("problem.joint.tokens_per_sample"));
}

TEST(OperatorGraphTest, PlansModelsOfTheZoo) {
  for (const char* model : {"resnet50", "bert-base", "inception-v3", "gnmt"}) {
    SCOPED_TRACE(model);
    JointTestRequest request = RequestOf(model, "dgx-h100:2", 64);
    request.graph.transformer.reset();
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(RelativeGap(plan->objective, plan->lower_bound), 1.01 * kJointGap);
    std::size_t operators = 0;
    for (const Stage& stage : plan->stages) operators += stage.operators.size();
    EXPECT_EQ(operators, request.graph.operators.size());
  }
}

TEST(OperatorGraphTest, TheOrderOfTheListsDecidesNothing) {
  JointTestRequest request = RequestOf("resnet50", "dgx-h100:1", 64);
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  OperatorGraph& graph = request.graph;
  const std::size_t count = graph.operators.size();
  std::reverse(graph.operators.begin(), graph.operators.end());
  std::reverse(graph.tensors.begin(), graph.tensors.end());
  for (Tensor& tensor : graph.tensors) {
    tensor.producer = OperatorId(count - 1 - tensor.producer.index());
    for (OperatorId& consumer : tensor.consumers) consumer = OperatorId(count - 1 - consumer.index());
  }
  const absl::StatusOr<Plan> again = Make(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->objective, plan->objective);
  EXPECT_EQ(again->joint->layer_labels, plan->joint->layer_labels);
}

TEST(OperatorGraphTest, SaysEverythingThatIsWrong) {
  JointTestRequest request = RequestOf("resnet50", "dgx-h100:1", 64);
  JointSettings& joint = *request.problem.joint;
  joint.context_degrees = {1, 2};
  joint.expert_degrees = {4};
  joint.tensor_degrees = {2};
  joint.target_tokens_per_second = 5;
  request.problem.memory_model.kind = MemoryModel::Kind::kDeclared;
  request.graph.operators[0].variants = {VariantOf(1)};
  EXPECT_THAT(PathsOf(Make(request).status()),
              IsSupersetOf({"problem.joint.context_degrees[1]", "problem.joint.expert_degrees[0]",
                            "problem.joint.tensor_degrees[0]", "problem.joint.tokens_per_sample",
                            "problem.joint.target_tokens_per_second", "problem.memory_model.kind"}));
}

// Not that nothing fits.
TEST(OperatorGraphTest, SaysWhereStepsAreTooLongToBePlanned) {
  JointTestRequest request = RandomOperatorRequest(3);
  request.cluster.device_classes[0].memory_bytes = int64_t{1} << 40;
  for (Operator& op : request.graph.operators) {
    op.variants.clear();
    op.costs[0].forward = Picoseconds(1'000'000'000'000'000);
  }
  request.problem.joint->tensor_degrees.clear();
  request.problem.joint->global_batch = 1 << 20;
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("problem.joint.global_batch"));
}

TEST(OperatorGraphTest, WarnsOfMemoryThatIsNotCountedForTransformers) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 64);
  const auto is_warned = [&] {
    return !SaidInVain(request.graph, request.cluster, request.problem, request.options).empty();
  };
  EXPECT_FALSE(is_warned());
  request.problem.memory_model.preset = "adam_mixed";
  EXPECT_FALSE(is_warned());
  request.problem.memory_model.preset = "sgd";
  EXPECT_TRUE(is_warned());
  request.problem.memory_model = {};
  request.problem.memory_model.kind = MemoryModel::Kind::kDeclared;
  EXPECT_TRUE(is_warned());
  request.graph.transformer.reset();
  EXPECT_FALSE(is_warned());
}

TEST(OperatorGraphTest, WarnsOfWhatMakesNoDifference) {
  JointTestRequest request = RequestOf("llama3-8b?fp8=yes", "dgx-h100:1", 64);
  const auto said = [&] { return SaidInVain(request.graph, request.cluster, request.problem, request.options); };
  EXPECT_THAT(said(), IsEmpty());
  request.options.explain = true;
  EXPECT_THAT(said(), ElementsAre(HasSubstr("options.explain (--explain)")));
  request.options = {};
  request.options.ideal_limit = request.options.clusters = request.options.refinement_steps = 4;
  request.options.clustering_alpha = 0.5;
  EXPECT_THAT(said(), ElementsAre(HasSubstr("--ideal_limit"), HasSubstr("--clusters"), HasSubstr("--clustering_alpha"),
                                  HasSubstr("--refinement_steps")));
  request.options = {};
  AllReduce& allreduce = request.problem.allreduce;
  allreduce = {AllReduce::Factor::kHalf, AllReduce::Charge::kPerMicroBatch, true, AllReduce::Ring::kIndex};
  request.problem.require_contiguous_backward = true;
  request.problem.max_subgraphs_per_device = 3;
  EXPECT_THAT(said(),
              ElementsAre(HasSubstr("factor (--allreduce)"), HasSubstr("charge (--allreduce_charge)"),
                          HasSubstr("(--amortize_allreduce)"), HasSubstr("ring (--ring)"),
                          HasSubstr("(--require_contiguous_backward)"), HasSubstr("(--max_subgraphs_per_device)")));
  allreduce = {};
  request.problem.require_contiguous_backward = false;
  request.problem.max_subgraphs_per_device.reset();
  request.cluster = RequestOf("llama3-8b", "dgx-a100:1", 64).cluster;
  EXPECT_THAT(said(), ElementsAre(HasSubstr("8 bits")));
  const auto step_of = [](const char* graph) { return Make(RequestOf(graph, "dgx-a100:1", 64))->objective; };
  EXPECT_EQ(step_of("llama3-8b?fp8=yes"), step_of("llama3-8b"));
}

TEST(OperatorGraphTest, KnownPlansOfAnyOrderAreJudgedAndGoneOnFrom) {
  int others = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    JointTestRequest request = RandomOperatorRequest(seed);
    const absl::StatusOr<Plan> plan = Make(request);
    if (!plan.ok()) continue;
    const CostTable costs(request.graph, request.cluster, Workload::kTraining);
    const ResolvedProblem problem = ResolveProblem(request.graph, request.problem);
    others += DivideInEveryOrder(request.graph, problem, costs).front().labels == plan->joint->layer_labels ? 0 : 1;
    const absl::StatusOr<Verdict> verdict = Judge(request, PlacementOf(*plan));
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_TRUE(verdict->violations.empty());
    request.problem.start_from = PlacementOf(*plan);
    const absl::StatusOr<Plan> again = Make(request);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_LE(again->objective, plan->objective);
  }
  EXPECT_GT(others, 0);
}

TEST(OperatorGraphTest, OneLayerStartsFromThePlanOfAnotherBatch) {
  JointTestRequest request;
  Operator only;
  only.name = "only";
  only.costs = {{.device_class = "gpu", .forward = Picoseconds(1'000'000), .backward = Picoseconds(2'000'000)}};
  request.graph.operators = {only};
  DeviceClass device_class;
  device_class.name = "gpu";
  request.cluster.device_classes = {device_class};
  request.cluster.devices = {DeviceOf("a"), DeviceOf("b")};
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = 1e9};
  request.problem.joint.emplace().global_batch = 2;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  request.problem.joint->global_batch = 3;
  request.problem.start_from = PlacementOf(*plan);
  const absl::StatusOr<Plan> again = Make(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->objective, Picoseconds(9'000'000));
  request.problem.joint->tensor_degrees = {1, (1 << 24) + 1};
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("problem.joint.tensor_degrees[1]"));
}

TEST(OperatorGraphTest, AVariantThatIsMissingForbidsTheDegree) {
  JointTestRequest request = RandomOperatorRequest(3);
  request.cluster.device_classes[0].memory_bytes = int64_t{1} << 40;
  request.problem.joint->tensor_degrees = {};
  for (Operator& op : request.graph.operators) {
    op.variants = {VariantOf(2)};
  }
  request.graph.operators[0].variants.push_back(VariantOf(1));
  request.cluster.devices = {DeviceOf("a"), DeviceOf("b")};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const JointStage& stage : plan->joint->stages) EXPECT_EQ(stage.degrees.tensor, 2);
}

// Each operator with variants lacks one degree or none, so that some pairs share none.
JointTestRequest WithoutCommonDegrees(uint64_t seed) {
  RandomStream random(seed, 9);
  JointTestRequest request = RandomOperatorRequest(seed);
  JointSettings& joint = *request.problem.joint;
  joint.per_stage = true;
  joint.tensor_degrees = {};
  joint.global_batch = std::min<int64_t>(joint.global_batch, 4);
  joint.shardings = {random.Below(2) == 0 ? Sharding::kNone : Sharding::kParameters};
  request.graph.operators.resize(std::min<std::size_t>(request.graph.operators.size(), 3));
  const std::size_t count = request.graph.operators.size();
  std::erase_if(request.graph.tensors, [&](const Tensor& tensor) { return tensor.consumers.front().index() >= count; });
  for (Operator& op : request.graph.operators) {
    const auto lacking = random.Between(0, 2);
    std::erase_if(op.variants, [&](const OperatorVariant& variant) { return variant.tensor_degree == lacking; });
  }
  return request;
}

TEST(OperatorGraphTest, FindsTheLeastStepWhereOperatorsShareNoDegree) {
  Counts counts;
  uint64_t without_common = 0;
  for (uint64_t seed = 1; seed <= NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    const JointTestRequest request = WithoutCommonDegrees(seed);
    without_common += TensorDegreesOf(request.graph).empty() ? 1U : 0U;
    HoldAgainstAllPlans(request, counts);
  }
  EXPECT_GT(counts.found, counts.impossible);
  EXPECT_GT(25 * without_common, NumCases(100));
}

// Operators that share no degree go to stages of their own, and only there.
TEST(OperatorGraphTest, StagesNeedTheDegreesOfTheirOwnOperatorsOnly) {
  JointTestRequest request = RandomOperatorRequest(3);
  request.cluster.device_classes[0].memory_bytes = int64_t{1} << 40;
  request.cluster.devices = {DeviceOf("a"), DeviceOf("b"), DeviceOf("c"), DeviceOf("d")};
  JointSettings& joint = *request.problem.joint;
  joint.tensor_degrees = {};
  std::vector<Operator>& operators = request.graph.operators;
  ASSERT_GE(operators.size(), 2U);
  for (Operator& op : operators) op.variants.clear();
  operators[0].variants = {VariantOf(1)};
  operators[1].variants = {VariantOf(2)};
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("graph.operators"));
  joint.per_stage = true;
  joint.num_stages = 2;
  joint.data_degrees = {1};
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto holds = [&](std::size_t stage, std::size_t op) {
    const std::vector<OperatorId>& held = plan->stages[stage].operators;
    return std::find(held.begin(), held.end(), OperatorId(op)) != held.end();
  };
  const std::size_t first = holds(0, 0) ? 0 : 1;
  EXPECT_TRUE(holds(1 - first, 1));
  EXPECT_EQ(plan->joint->stages[first].degrees.tensor, 1);
  EXPECT_EQ(plan->joint->stages[1 - first].degrees.tensor, 2);
  // A plan by hand that divides the operator that cannot be is refused.
  Placement placement = PlacementOf(*plan);
  std::vector<DeviceId>& devices = placement.stages[first].devices;
  const std::vector<DeviceId>& others = placement.stages[1 - first].devices;
  for (std::size_t device = 0; devices.size() < 2; ++device) {
    const bool is_free = devices.front() != DeviceId(device) &&
                         std::find(others.begin(), others.end(), DeviceId(device)) == others.end();
    if (is_free) devices.emplace_back(device);
  }
  placement.joint->stages[first].degrees.tensor = 2;
  const absl::StatusOr<Verdict> verdict = Judge(request, placement);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_THAT(std::string(verdict->violations.ToStatus().message()),
              testing::HasSubstr("that all operators of its layers have"));
  joint.tensor_degrees = {4};
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("problem.joint.tensor_degrees[0]"));
  // Nothing fits where one of the two may not be chosen, and the answer says why.
  joint.tensor_degrees = {2};
  EXPECT_THAT(std::string(Make(request).status().message()), testing::HasSubstr("divide the model"));
}

// What a plan states and its graph does not say.
TEST(OperatorGraphTest, TheVerifierComputesLayersAnew) {
  JointTestRequest request = RequestOf("resnet50", "dgx-h100:1", 64);
  request.problem.joint->num_stages = 4;
  request.problem.joint->micro_batches = 16;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto is_refused = [&](const std::function<void(Placement&)>& change) {
    Placement placement = PlacementOf(*plan);
    change(placement);
    const absl::StatusOr<Verdict> verdict = Judge(request, placement);
    return verdict.ok() && !verdict->violations.empty();
  };
  EXPECT_FALSE(is_refused([](Placement&) {}));
  EXPECT_TRUE(is_refused(
      [](Placement& placement) { std::swap(placement.joint->layer_labels[0], placement.joint->layer_labels[1]); }));
  EXPECT_TRUE(is_refused([](Placement& placement) {
    placement.stages[1].operators.push_back(placement.stages[0].operators.back());
    placement.stages[0].operators.pop_back();
  }));
  EXPECT_TRUE(is_refused([](Placement& placement) { placement.stages[0].operators.pop_back(); }));
}

}  // namespace
}  // namespace planwright
