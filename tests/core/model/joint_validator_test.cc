// The rules on the shape of a transformer, and on problem.joint beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/validator.h"
#include "tests/core/model/violation_matchers.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMost = 16'777'216;

// Two layers of four heads, two of them to a head of keys and values; one of four experts for each token.
OperatorGraph Transformer() {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("e", 1), MeasuredOperator("0", 1), MeasuredOperator("1", 1),
                     MeasuredOperator("h", 1)};
  const std::vector<std::string> layers = {"embedding", "layer.0", "layer.1", "head"};
  for (std::size_t i = 0; i < layers.size(); ++i) graph.operators[i].layer = layers[i];
  graph.transformer = TransformerShape{.layers = 2,
                                       .hidden = 12,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .head_width = 1,
                                       .feed_forward = 36,
                                       .vocabulary = kMost,
                                       .sequence = 8,
                                       .bytes_per_element = 1,
                                       .experts = 4,
                                       .experts_per_token = 1,
                                       .expert_feed_forward = 8,
                                       .dense_layers = 1};
  return graph;
}

// A shape after one mutation, and the only violation that the mutation must bring; no rule: it brings none.
struct ShapeCase {
  std::string name;
  std::function<void(TransformerShape&)> mutate;
  std::string field;
  std::string rule;
};

class ShapeRuleTest : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(ShapeRuleTest, IsTheOnlyViolation) {
  OperatorGraph graph = Transformer();
  GetParam().mutate(*graph.transformer);
  Violations violations;
  ValidateGraph(graph, {}, violations);
  if (GetParam().rule.empty()) {
    EXPECT_THAT(violations.listed(), IsEmpty());
  } else {
    EXPECT_THAT(violations.listed(), ElementsAre(Breaks("graph.transformer." + GetParam().field, GetParam().rule)));
  }
}

std::string ShapeCaseName(const ::testing::TestParamInfo<ShapeCase>& info) { return info.param.name; }

const char* const kInRange = "must be in 1 .. 16777216, is ";

INSTANTIATE_TEST_SUITE_P(
    Shapes, ShapeRuleTest,
    ::testing::Values(
        ShapeCase{"Valid", [](TransformerShape&) {}, "", ""},
        ShapeCase{"Layers", [](TransformerShape& s) { s.layers = s.dense_layers = 0; }, "layers",
                  absl::StrCat(kInRange, 0)},
        ShapeCase{"Hidden", [](TransformerShape& s) { s.hidden = kMost + 1; }, "hidden",
                  absl::StrCat(kInRange, kMost + 1)},
        ShapeCase{"Heads", [](TransformerShape& s) { s.heads = 0; }, "heads", absl::StrCat(kInRange, 0)},
        ShapeCase{"KvHeads", [](TransformerShape& s) { s.kv_heads = 0; }, "kv_heads", absl::StrCat(kInRange, 0)},
        ShapeCase{"UnevenKvHeads", [](TransformerShape& s) { s.kv_heads = 3; }, "kv_heads", "must divide heads"},
        ShapeCase{"HeadWidth", [](TransformerShape& s) { s.head_width = -1; }, "head_width",
                  absl::StrCat(kInRange, -1)},
        ShapeCase{"FeedForward", [](TransformerShape& s) { s.feed_forward = 0; }, "feed_forward",
                  absl::StrCat(kInRange, 0)},
        ShapeCase{"Vocabulary", [](TransformerShape& s) { s.vocabulary = 0; }, "vocabulary",
                  absl::StrCat(kInRange, 0)},
        ShapeCase{"Sequence", [](TransformerShape& s) { s.sequence = 0; }, "sequence", absl::StrCat(kInRange, 0)},
        ShapeCase{"BytesPerElement", [](TransformerShape& s) { s.bytes_per_element = 0; }, "bytes_per_element",
                  absl::StrCat(kInRange, 0)},
        ShapeCase{"ExpertsPerToken", [](TransformerShape& s) { s.experts_per_token = 0; }, "experts_per_token",
                  absl::StrCat(kInRange, 0)},
        ShapeCase{"EveryExpert", [](TransformerShape& s) { s.experts_per_token = 4; }, "", ""},
        ShapeCase{"MoreExpertsThanThereAre", [](TransformerShape& s) { s.experts_per_token = 5; }, "experts_per_token",
                  "must be at most experts"},
        ShapeCase{"ExpertFeedForward", [](TransformerShape& s) { s.expert_feed_forward = 0; }, "expert_feed_forward",
                  absl::StrCat(kInRange, 0)},
        ShapeCase{"LittleLoad", [](TransformerShape& s) { s.expert_load = 0.5; }, "expert_load",
                  "must be in 1 .. 1000"},
        ShapeCase{"MuchLoad", [](TransformerShape& s) { s.expert_load = 1'000.5; }, "expert_load",
                  "must be in 1 .. 1000"},
        ShapeCase{"MostLoad", [](TransformerShape& s) { s.expert_load = 1'000; }, "", ""},
        ShapeCase{"NoDenseLayer", [](TransformerShape& s) { s.dense_layers = 0; }, "", ""},
        ShapeCase{"OnlyDenseLayers", [](TransformerShape& s) { s.dense_layers = 2; }, "", ""},
        ShapeCase{"NegativeDenseLayers", [](TransformerShape& s) { s.dense_layers = -1; }, "dense_layers",
                  "must be in 0 .. layers"},
        ShapeCase{"TooManyDenseLayers", [](TransformerShape& s) { s.dense_layers = 3; }, "dense_layers",
                  "must be in 0 .. layers"},
        ShapeCase{"WithoutExpertsNothingIsSaidOfThem",
                  [](TransformerShape& s) {
                    s.experts = s.experts_per_token = 0;
                    s.dense_layers = 3;
                  },
                  "", ""}),
    ShapeCaseName);

ShapeCase RowCase(const char* name, std::function<void(MeasuredLayer&)> mutate, const char* field, const char* rule) {
  const auto add_row = [mutate = std::move(mutate)](TransformerShape& shape) {
    MeasuredLayer& row = shape.measured_layers.emplace_back();
    row.layer = "layer.1";
    mutate(row);
  };
  return {name, add_row, absl::StrCat("measured_layers[0].", field), rule};
}

const char* const kLayerRule = "must be \"embedding\", \"layer\", \"layer.0\" and so on, or \"head\"";

INSTANTIATE_TEST_SUITE_P(
    Rows, ShapeRuleTest,
    ::testing::Values(
        RowCase(
            "Valid", [](MeasuredLayer&) {}, "", ""),
        RowCase(
            "Embedding", [](MeasuredLayer& row) { row.layer = "embedding"; }, "", ""),
        RowCase(
            "EveryLayer", [](MeasuredLayer& row) { row.layer = "layer"; }, "", ""),
        RowCase(
            "FirstLayer", [](MeasuredLayer& row) { row.layer = "layer.0"; }, "", ""),
        RowCase(
            "Head", [](MeasuredLayer& row) { row.layer = "head"; }, "", ""),
        RowCase(
            "LayerBehindTheLast", [](MeasuredLayer& row) { row.layer = "layer.2"; }, "layer", kLayerRule),
        RowCase(
            "LayerBeforeTheFirst", [](MeasuredLayer& row) { row.layer = "layer.-1"; }, "layer", kLayerRule),
        RowCase(
            "LayerWithoutNumber", [](MeasuredLayer& row) { row.layer = "layer.x"; }, "layer", kLayerRule),
        RowCase(
            "NoLayer", [](MeasuredLayer& row) { row.layer = "lawyer.0"; }, "layer", kLayerRule),
        RowCase(
            "Tensor", [](MeasuredLayer& row) { row.tensor_degree = 0; }, "tensor_degree", "must be >= 1"),
        RowCase(
            "Context", [](MeasuredLayer& row) { row.context_degree = 0; }, "context_degree", "must be >= 1"),
        RowCase(
            "Expert", [](MeasuredLayer& row) { row.expert_degree = 0; }, "expert_degree", "must be >= 1"),
        RowCase(
            "Samples", [](MeasuredLayer& row) { row.samples = 0; }, "samples", "must be >= 1"),
        RowCase(
            "Forward", [](MeasuredLayer& row) { row.forward_ms = -1; }, "forward_ms", "must be in 0 .. 1e6"),
        RowCase(
            "LongForward", [](MeasuredLayer& row) { row.forward_ms = 1'000'001; }, "forward_ms", "must be in 0 .. 1e6"),
        RowCase(
            "Backward", [](MeasuredLayer& row) { row.backward_ms = std::numeric_limits<double>::quiet_NaN(); },
            "backward_ms", "must be in 0 .. 1e6"),
        RowCase(
            "LongestTimes", [](MeasuredLayer& row) { row.forward_ms = row.backward_ms = 1'000'000; }, "", ""),
        RowCase(
            "NoBytes", [](MeasuredLayer& row) { row.activation_bytes = 0; }, "", ""),
        RowCase(
            "MostBytes", [](MeasuredLayer& row) { row.activation_bytes = int64_t{1} << 50; }, "", ""),
        RowCase(
            "NegativeBytes", [](MeasuredLayer& row) { row.activation_bytes = -1; }, "activation_bytes",
            "must be in 0 .. 2^50"),
        RowCase(
            "TooManyBytes", [](MeasuredLayer& row) { row.activation_bytes = (int64_t{1} << 50) + 1; },
            "activation_bytes", "must be in 0 .. 2^50")),
    ShapeCaseName);

TEST(ShapeRulesTest, EachCaseIsMeasuredOnce) {
  OperatorGraph graph = Transformer();
  MeasuredLayer row;
  row.layer = "layer";
  graph.transformer->measured_layers.assign(7, row);
  graph.transformer->measured_layers[1].layer = "head";
  graph.transformer->measured_layers[2].device_class = kAcceleratorClass;
  graph.transformer->measured_layers[3].tensor_degree = 2;
  graph.transformer->measured_layers[4].context_degree = 2;
  graph.transformer->measured_layers[5].expert_degree = 2;
  graph.transformer->measured_layers[6].samples = 2;
  Violations violations;
  ValidateGraph(graph, {}, violations);
  EXPECT_THAT(violations.listed(), IsEmpty());
  graph.transformer->measured_layers.push_back(graph.transformer->measured_layers[3]);
  ValidateGraph(graph, {}, violations);
  EXPECT_THAT(violations.listed(), ElementsAre(Breaks("graph.transformer.measured_layers[7]",
                                                      "must not say again what a row before says of the same case")));
}

struct JointRequest {
  OperatorGraph graph = Transformer();
  Cluster cluster = SmallCluster(4, 0, UniformInterconnect{.bandwidth_bytes_per_second = 1e9});
  PlanningProblem problem;
};

JointRequest ValidJoint() {
  JointRequest request;
  request.cluster.device_classes[0].peak_flops = 1e12;
  request.cluster.device_classes[0].memory_bandwidth_bytes_per_second = 1e12;
  request.problem.joint.emplace().global_batch = 12;
  return request;
}

// A valid request after one mutation, and the only violation that the mutation must bring; no rule: it brings none.
struct JointCase {
  std::string name;
  std::function<void(JointRequest&)> mutate;
  std::string path;
  std::string rule;
};

class JointRuleTest : public ::testing::TestWithParam<JointCase> {};

TEST_P(JointRuleTest, IsTheOnlyViolation) {
  JointRequest request = ValidJoint();
  GetParam().mutate(request);
  Violations violations;
  ValidateProblem(request.graph, request.cluster, request.problem, {}, violations);
  if (GetParam().rule.empty()) {
    EXPECT_THAT(violations.listed(), IsEmpty());
  } else {
    EXPECT_THAT(violations.listed(), ElementsAre(Breaks(GetParam().path, GetParam().rule)));
  }
}

TEST(JointRulesTest, AGlobalBatchThatCannotBeHidesNothingElse) {
  JointRequest request = ValidJoint();
  request.problem.joint->global_batch = -1;
  request.problem.joint->data_degrees = {0};
  request.problem.joint->micro_batch_samples = {7, -1};
  Violations violations;
  ValidateProblem(request.graph, request.cluster, request.problem, {}, violations);
  EXPECT_THAT(violations.listed(), ElementsAre(Breaks("problem.joint.global_batch", "must be in 1 .. 16777216, is -1"),
                                               Breaks("problem.joint.data_degrees[0]", "must be >= 1, is 0"),
                                               Breaks("problem.joint.micro_batch_samples[1]", "must be >= 1, is -1")));
}

std::string JointCaseName(const ::testing::TestParamInfo<JointCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    OtherFields, JointRuleTest,
    ::testing::Values(
        JointCase{"Valid", [](JointRequest&) {}, "", ""},
        JointCase{"Latency", [](JointRequest& r) { r.problem.objective = Objective::kMinLatency; }, "problem.objective",
                  "must be MAX_THROUGHPUT or MIN_DEVICES beside problem.joint"},
        JointCase{"Inference", [](JointRequest& r) { r.problem.workload = Workload::kInference; }, "problem.workload",
                  "must be TRAINING beside problem.joint"},
        JointCase{"Split", [](JointRequest& r) { r.problem.split = Split::kNonContiguous; }, "problem.split",
                  "must be CONTIGUOUS beside problem.joint"},
        JointCase{"Overlap", [](JointRequest& r) { r.problem.overlap = Overlap::kOverlapped; }, "problem.overlap",
                  "must be SERIAL beside problem.joint"},
        JointCase{"OneStagePerDevice", [](JointRequest& r) { r.problem.max_stages_per_device = 1; }, "", ""},
        JointCase{"StagesPerDevice", [](JointRequest& r) { r.problem.max_stages_per_device = 2; },
                  "problem.max_stages_per_device",
                  "must be 1 beside problem.joint, whose schedules say how many chunks a device holds"},
        JointCase{"Turns", [](JointRequest& r) { r.problem.replication = Replication::kPerStage; },
                  "problem.replication", "must be UNIFORM or unset unless problem.joint.degrees is PER_STAGE"},
        JointCase{"PerStage",
                  [](JointRequest& r) {
                    r.problem.replication = Replication::kPerStage;
                    r.problem.joint->per_stage = true;
                  },
                  "", ""},
        JointCase{"UniformPerStage",
                  [](JointRequest& r) {
                    r.problem.replication = Replication::kUniform;
                    r.problem.joint->per_stage = true;
                  },
                  "problem.replication", "must be PER_STAGE or unset where problem.joint.degrees is PER_STAGE"},
        JointCase{"StagesThatMayNotDiffer",
                  [](JointRequest& r) {
                    r.problem.joint->per_stage = true;
                    r.problem.joint->orders = {PipelineOrder::kGpipe, PipelineOrder::kZeroBubble};
                  },
                  "problem.joint.degrees",
                  "must be UNIFORM or unset unless problem.joint.schedules has ONE_F_ONE_B, under which alone stages "
                  "differ"},
        JointCase{"StagesThatMayDifferUnderOneSchedule",
                  [](JointRequest& r) {
                    r.problem.joint->per_stage = true;
                    r.problem.joint->orders = {PipelineOrder::kGpipe, PipelineOrder::kOneFOneB};
                  },
                  "", ""},
        JointCase{"Schedule", [](JointRequest& r) { r.problem.schedule = ScheduleKind::kPipedreamAsync; },
                  "problem.schedule",
                  "must be ONE_F_ONE_B, INTERLEAVED, GPIPE, ZERO_BUBBLE_H1 or unset beside problem.joint"},
        JointCase{"OtherSchedule",
                  [](JointRequest& r) {
                    r.problem.schedule = ScheduleKind::kGpipe;
                    r.problem.joint->orders = {PipelineOrder::kOneFOneB};
                  },
                  "problem.schedule", "must be one of problem.joint.schedules"},
        JointCase{"Pinned",
                  [](JointRequest& r) {
                    r.problem.pinned = {{OperatorId(0), DeviceId(0)}};
                  },
                  "problem.pinned", "must be empty beside problem.joint"},
        JointCase{"Forbidden",
                  [](JointRequest& r) {
                    r.problem.forbidden = {{OperatorId(0), DeviceId(0)}};
                  },
                  "problem.forbidden", "must be empty beside problem.joint"},
        JointCase{"Tolerance", [](JointRequest& r) { r.problem.replan_tolerance = 0.1; }, "problem.replan_tolerance",
                  "must be unset beside problem.joint"},
        JointCase{"Target",
                  [](JointRequest& r) {
                    r.problem.objective = Objective::kMinDevices;
                    r.problem.joint->target_tokens_per_second = 0;
                  },
                  "problem.joint.target_tokens_per_second", "must be finite and > 0"},
        JointCase{"TargetOfNoLimit", [](JointRequest& r) { r.problem.joint->target_tokens_per_second = 1; },
                  "problem.joint.target_tokens_per_second", "must not be set unless problem.objective is MIN_DEVICES"},
        JointCase{"Tokens", [](JointRequest& r) { r.problem.joint->tokens_per_sample = 8; }, "", ""},
        JointCase{"OtherTokens", [](JointRequest& r) { r.problem.joint->tokens_per_sample = 4; },
                  "problem.joint.tokens_per_sample", "must be unset or the sequence of graph.transformer"}),
    JointCaseName);

JointCase AlikeCase(const char* name, std::function<void(JointSettings&)> mutate, const char* rule) {
  const auto set = [mutate = std::move(mutate)](JointRequest& request) {
    request.problem.joint->first_layers_alike = true;
    mutate(*request.problem.joint);
  };
  return {name, set, "problem.joint.first_layers_alike", rule};
}

using enum LayerRecomputation;

INSTANTIATE_TEST_SUITE_P(
    FirstLayersAlike, JointRuleTest,
    ::testing::Values(AlikeCase(
                          "Valid", [](JointSettings&) {}, ""),
                      AlikeCase(
                          "PerStage", [](JointSettings& joint) { joint.per_stage = true; }, "needs UNIFORM degrees"),
                      AlikeCase(
                          "ItsSchedule", [](JointSettings& joint) { joint.orders = {PipelineOrder::kOneFOneB}; }, ""),
                      AlikeCase(
                          "Schedules",
                          [](JointSettings& joint) {
                            joint.orders = {PipelineOrder::kOneFOneB, PipelineOrder::kGpipe};
                          },
                          "needs ONE_F_ONE_B as the only schedule"),
                      AlikeCase(
                          "EitherOrder",
                          [](JointSettings& joint) {
                            joint.recomputation = {kFull, kNone};
                          },
                          ""),
                      AlikeCase(
                          "OnlyFull", [](JointSettings& joint) { joint.recomputation = {kFull}; },
                          "needs NONE and FULL as the recomputation, and no other"),
                      AlikeCase(
                          "Selective",
                          [](JointSettings& joint) {
                            joint.recomputation = {kFull, kSelective, kNone};
                          },
                          "needs NONE and FULL as the recomputation, and no other")),
    JointCaseName);

INSTANTIATE_TEST_SUITE_P(
    Choices, JointRuleTest,
    ::testing::Values(
        JointCase{"NoBatch", [](JointRequest& r) { r.problem.joint->global_batch = 0; }, "problem.joint.global_batch",
                  "must be set for the joint search, to 1 .. 16777216"},
        JointCase{"LargestBatch", [](JointRequest& r) { r.problem.joint->global_batch = kMost; }, "", ""},
        JointCase{"LargeBatch", [](JointRequest& r) { r.problem.joint->global_batch = kMost + 1; },
                  "problem.joint.global_batch", absl::StrCat("must be in 1 .. 16777216, is ", kMost + 1)},
        JointCase{"DataDegrees",
                  [](JointRequest& r) {
                    r.problem.joint->data_degrees = {1, 12, 5};
                  },
                  "problem.joint.data_degrees[2]", "must divide the global batch of 12, is 5"},
        JointCase{"DataDegreeTwice",
                  [](JointRequest& r) {
                    r.problem.joint->data_degrees = {2, 3, 2};
                  },
                  "problem.joint.data_degrees[2]", "must not be listed twice, is 2"},
        JointCase{"NoDataDegree", [](JointRequest& r) { r.problem.joint->data_degrees = {0}; },
                  "problem.joint.data_degrees[0]", "must be >= 1, is 0"},
        JointCase{"Samples", [](JointRequest& r) { r.problem.joint->micro_batch_samples = {8}; },
                  "problem.joint.micro_batch_samples[0]", "must divide the global batch of 12, is 8"},
        JointCase{"OneMicroBatch", [](JointRequest& r) { r.problem.joint->micro_batches = 1; }, "", ""},
        JointCase{"NoMicroBatch", [](JointRequest& r) { r.problem.joint->micro_batches = 0; }, "problem.micro_batches",
                  "must be >= 1, is 0"},
        JointCase{"MicroBatches", [](JointRequest& r) { r.problem.joint->micro_batches = 8; }, "problem.micro_batches",
                  "must divide the global batch of 12, is 8"},
        JointCase{"TensorDegrees",
                  [](JointRequest& r) {
                    r.problem.joint->tensor_degrees = {1, 2};
                  },
                  "", ""},
        JointCase{"TensorOfHeads", [](JointRequest& r) { r.problem.joint->tensor_degrees = {3}; },
                  "problem.joint.tensor_degrees[0]",
                  "must divide heads (4), kv_heads (2), expert_feed_forward (8) of graph.transformer, is 3"},
        JointCase{"TensorOfKeys", [](JointRequest& r) { r.problem.joint->tensor_degrees = {4}; },
                  "problem.joint.tensor_degrees[0]", "must divide kv_heads (2) of graph.transformer, is 4"},
        JointCase{"TensorBesideLatentKeys",
                  [](JointRequest& r) {
                    r.graph.transformer->kv_heads = 2;
                    r.graph.transformer->kv_rank = 8;
                    r.problem.joint->tensor_degrees = {4};
                  },
                  "", ""},
        JointCase{"TensorOfHidden",
                  [](JointRequest& r) {
                    r.graph.transformer->hidden = 6;
                    r.problem.joint->tensor_degrees = {4};
                  },
                  "problem.joint.tensor_degrees[0]", "must divide kv_heads (2), hidden (6) of graph.transformer, is 4"},
        JointCase{"TensorOfFeedForward",
                  [](JointRequest& r) {
                    r.graph.transformer->feed_forward = 6;
                    r.problem.joint->tensor_degrees = {4};
                  },
                  "problem.joint.tensor_degrees[0]",
                  "must divide kv_heads (2), feed_forward (6) of graph.transformer, is 4"},
        JointCase{"ContextDegrees",
                  [](JointRequest& r) {
                    r.problem.joint->context_degrees = {1, 2, 4};
                  },
                  "", ""},
        JointCase{"ContextOfHalfASequence", [](JointRequest& r) { r.problem.joint->context_degrees = {8}; },
                  "problem.joint.context_degrees[0]", "twice of it must divide the sequence, is 8"},
        JointCase{"OneContextOfAnySequence",
                  [](JointRequest& r) {
                    r.graph.transformer->sequence = 7;
                    r.problem.joint->context_degrees = {1};
                  },
                  "", ""},
        JointCase{"ExpertDegrees",
                  [](JointRequest& r) {
                    r.problem.joint->expert_degrees = {1, 2, 4};
                  },
                  "", ""},
        JointCase{"ExpertsDivided", [](JointRequest& r) { r.problem.joint->expert_degrees = {3}; },
                  "problem.joint.expert_degrees[0]", "must divide the experts, is 3"},
        JointCase{"NoExperts",
                  [](JointRequest& r) {
                    r.graph.transformer->experts = 0;
                    r.problem.joint->expert_degrees = {1, 2};
                  },
                  "problem.joint.expert_degrees[1]", "must divide the experts, is 2"},
        JointCase{"Replicas",
                  [](JointRequest& r) {
                    r.problem.replication = Replication::kUniform;
                    r.problem.num_replicas = 3;
                    r.problem.joint->data_degrees = {2, 3};
                  },
                  "", ""},
        JointCase{"ReplicasOfNoBatch",
                  [](JointRequest& r) {
                    r.problem.replication = Replication::kUniform;
                    r.problem.num_replicas = 5;
                    r.problem.joint->data_degrees = {5};
                  },
                  "problem.num_replicas", "must divide the global batch of 12, is 5"},
        JointCase{"OtherReplicas",
                  [](JointRequest& r) {
                    r.problem.replication = Replication::kUniform;
                    r.problem.num_replicas = 4;
                    r.problem.joint->data_degrees = {2, 3};
                  },
                  "problem.num_replicas", "must be one of problem.joint.data_degrees"},
        JointCase{"ClassOfARow",
                  [](JointRequest& r) {
                    r.graph.transformer->measured_layers.resize(3);
                    r.graph.transformer->measured_layers[1].device_class = kAcceleratorClass;
                    r.graph.transformer->measured_layers[2].device_class = "another";
                  },
                  "graph.transformer.measured_layers[2].device_class",
                  "must be empty or a class of the cluster, is \"another\""},
        JointCase{"LayerOfAnOperator", [](JointRequest& r) { r.graph.operators[2].layer = "layer.2"; },
                  "graph.operators[2].layer",
                  "must be \"embedding\", \"layer.0\" and so on, \"head\" or \"loss\" of graph.transformer, is "
                  "\"layer.2\""}),
    JointCaseName);

Interconnect Line() {
  LinksInterconnect line;
  for (std::size_t i = 1; i < 4; ++i) line.links.push_back({DeviceId(i - 1), DeviceId(i), 1e9, Picoseconds(0)});
  return line;
}

const char* const kPairsRule = "must have a bandwidth for every pair of devices beside problem.joint, is ";

INSTANTIATE_TEST_SUITE_P(
    Clusters, JointRuleTest,
    ::testing::Values(
        JointCase{
            "HostStaged",
            [](JointRequest& r) { r.cluster.interconnect = HostStagedInterconnect{.bandwidth_bytes_per_second = 1e9}; },
            "cluster.interconnect", absl::StrCat(kPairsRule, "host_staged")},
        JointCase{"UniformWithoutBandwidth", [](JointRequest& r) { r.cluster.interconnect = UniformInterconnect(); },
                  "cluster.interconnect", absl::StrCat(kPairsRule, "uniform")},
        JointCase{"Links", [](JointRequest& r) { r.cluster.interconnect = Line(); }, "", ""},
        JointCase{"LinksBesideMeasuredLayers",
                  [](JointRequest& r) {
                    r.cluster.interconnect = Line();
                    r.graph.transformer->measured_layers.resize(1);
                  },
                  "", ""},
        JointCase{"NoPeak", [](JointRequest& r) { r.cluster.device_classes[0].peak_flops = 0; },
                  "cluster.device_classes[0]",
                  "must have peak_flops and memory_bandwidth_bytes_per_second beside problem.joint"},
        JointCase{"PeakInTeraflops", [](JointRequest& r) { r.cluster.device_classes[0].peak_flops = 989; },
                  "cluster.device_classes[0].peak_flops",
                  "must be at least 1e+09 FLOP per second beside problem.joint, is 989: give it without a prefix like "
                  "giga or tera"},
        JointCase{
            "MemoryBandwidthInGigabytes",
            [](JointRequest& r) { r.cluster.device_classes[0].memory_bandwidth_bytes_per_second = 3'350; },
            "cluster.device_classes[0].memory_bandwidth_bytes_per_second",
            "must be at least 1e+08 bytes per second beside problem.joint, is 3350: give it without a prefix like "
            "giga or tera"},
        JointCase{"NoMemoryBandwidth",
                  [](JointRequest& r) { r.cluster.device_classes[0].memory_bandwidth_bytes_per_second = 0; },
                  "cluster.device_classes[0]",
                  "must have peak_flops and memory_bandwidth_bytes_per_second beside problem.joint"}),
    JointCaseName);

// Two stages of two layers each, the first of which is the embedding and the last the head.
Placement Start() {
  JointPlan plan;
  plan.stages.resize(2);
  for (std::size_t s = 0; s < 2; ++s) {
    plan.stages[s].chunks = {{.first_layer = static_cast<int32_t>(2 * s), .recomputation = {kNone, kNone}}};
  }
  Placement start;
  start.stages = {{{OperatorId(0), OperatorId(1)}, {DeviceId(0)}}, {{OperatorId(2), OperatorId(3)}, {DeviceId(1)}}};
  start.joint = plan;
  return start;
}

JointCase StartCase(const char* name, std::function<void(Placement&)> mutate, const char* field, const char* rule) {
  const auto set = [mutate = std::move(mutate)](JointRequest& request) {
    request.problem.start_from = Start();
    mutate(*request.problem.start_from);
  };
  return {name, set, absl::StrCat("problem.start_from.joint", field), rule};
}

const char* const kDegreesRule = "must have degrees in 1 .. 16777216";
const char* const kAlikeRule = "must have the degrees of all stages unless degrees is PER_STAGE";
const char* const kRunsRule = "must have runs of layers that go on where others end";

INSTANTIATE_TEST_SUITE_P(
    Starts, JointRuleTest,
    ::testing::Values(
        StartCase(
            "Valid", [](Placement&) {}, "", ""),
        StartCase(
            "NoJointPlan", [](Placement& start) { start.joint.reset(); }, "", "must be set beside problem.joint"),
        StartCase(
            "Stages", [](Placement& start) { start.stages.pop_back(); }, ".stages",
            "must be as many as the placement has"),
        StartCase(
            "Samples", [](Placement& start) { start.joint->micro_batch_samples = 0; }, ".micro_batch_samples",
            "must be >= 1"),
        StartCase(
            "Context",
            [](Placement& start) {
              for (JointStage& stage : start.joint->stages) stage.degrees.context = 2;
            },
            "", ""),
        StartCase(
            "OtherDegrees", [](Placement& start) { start.joint->stages[1].degrees.data = 2; }, ".stages[1]",
            kAlikeRule),
        StartCase(
            "OtherDegreesPerStage",
            [](Placement& start) {
              start.joint->per_stage = true;
              start.joint->stages[1].degrees.data = 2;
            },
            "", ""),
        StartCase(
            "NoDegree",
            [](Placement& start) {
              start.joint->per_stage = true;
              start.joint->stages[1].degrees.tensor = 0;
            },
            ".stages[1]", kDegreesRule),
        StartCase(
            "MostDegree",
            [](Placement& start) {
              start.joint->per_stage = true;
              start.joint->stages[1].degrees.data = static_cast<int32_t>(kMost);
            },
            "", ""),
        StartCase(
            "LargeDegree",
            [](Placement& start) {
              start.joint->per_stage = true;
              start.joint->stages[1].degrees.data = static_cast<int32_t>(kMost) + 1;
            },
            ".stages[1]", kDegreesRule),
        StartCase(
            "TwoRuns",
            [](Placement& start) {
              start.joint->chunks = 2;
              for (JointStage& stage : start.joint->stages) {
                stage.chunks = {{.first_layer = stage.chunks[0].first_layer / 2, .recomputation = {kNone}},
                                {.first_layer = stage.chunks[0].first_layer / 2 + 2, .recomputation = {kNone}}};
              }
            },
            ".stages", "must have one run of layers each unless the schedule is INTERLEAVED"),
        StartCase(
            "TwoRunsInterleaved",
            [](Placement& start) {
              start.joint->order = PipelineOrder::kInterleaved;
              start.joint->chunks = 2;
              for (JointStage& stage : start.joint->stages) {
                stage.chunks = {{.first_layer = stage.chunks[0].first_layer / 2, .recomputation = {kNone}},
                                {.first_layer = stage.chunks[0].first_layer / 2 + 2, .recomputation = {kNone}}};
              }
            },
            "", ""),
        StartCase(
            "RunsOfAStage", [](Placement& start) { start.joint->stages[1].chunks.clear(); }, ".stages[1].chunks",
            "must be as many as the first stage has"),
        StartCase(
            "AGap", [](Placement& start) { start.joint->stages[1].chunks[0].first_layer = 3; }, ".stages", kRunsRule),
        StartCase(
            "AnEmptyRun", [](Placement& start) { start.joint->stages[0].chunks[0].recomputation.clear(); }, ".stages",
            kRunsRule),
        StartCase(
            "TooFewLayers", [](Placement& start) { start.joint->stages[1].chunks[0].recomputation.pop_back(); },
            ".stages", "must hold every layer"),
        StartCase(
            "TooManyLayers", [](Placement& start) { start.joint->stages[1].chunks[0].recomputation.push_back(kFull); },
            ".stages", "must hold every layer")),
    JointCaseName);

TEST(JointRulesTest, TheFewestDevicesStartFromNothing) {
  JointRequest request = ValidJoint();
  request.problem.objective = Objective::kMinDevices;
  request.problem.start_from = Start();
  Violations violations;
  ValidateProblem(request.graph, request.cluster, request.problem, {}, violations);
  EXPECT_THAT(violations.listed(),
              ElementsAre(Breaks("problem.start_from",
                                 "must be unset where problem.objective is MIN_DEVICES beside problem.joint")));
}

}  // namespace
}  // namespace planwright
