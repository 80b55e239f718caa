#include "server/codec/joint.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/codec/enums.h"
#include "server/codec/scalars.h"

namespace planwright::server {
namespace {

template <typename Wire, typename Core>
std::vector<Core> DecodeList(const google::protobuf::RepeatedField<int>& wire, const char* field,
                             std::optional<Core> (*to_core)(Wire), const FieldPath& path, Violations& violations) {
  std::vector<Core> list;
  for (int i = 0; i < wire.size(); ++i) {
    const std::optional<Core> value = to_core(static_cast<Wire>(wire.Get(i)));
    if (value.has_value()) {
      list.push_back(*value);
    } else {
      violations.Add(path.Element(field, i).ToString(),
                     absl::StrCat("must be a value that the joint search knows, is ", wire.Get(i)));
    }
  }
  return list;
}

// "embedding", "layer.0", ..., "head".
std::string LabelOf(int32_t layer, int32_t num_layers) {
  if (layer == 0) return "embedding";
  return layer + 1 == num_layers ? "head" : absl::StrCat("layer.", layer - 1);
}

// Returns the names of the layers of `plan`, in their order.
std::vector<std::string> LabelsOf(const JointPlan& plan, const OperatorGraph& graph) {
  if (!graph.transformer.has_value()) return plan.layer_labels;
  // Embedding and head beside the transformer's layers.
  const int32_t num_layers = graph.transformer->layers + 2;
  std::vector<std::string> labels;
  labels.reserve(static_cast<std::size_t>(num_layers));
  for (int32_t layer = 0; layer < num_layers; ++layer) labels.push_back(LabelOf(layer, num_layers));
  return labels;
}

void EncodeMemory(const JointMemory& memory, v1::JointStage::Memory& wire) {
  wire.set_parameters(memory.parameters);
  wire.set_gradients(memory.gradients);
  wire.set_optimizer(memory.optimizer);
  wire.set_activations(memory.activations);
  wire.set_workspace(memory.workspace);
  wire.set_reserved(memory.reserved);
}

// Writes the choices of a JointStage, or of what a placement says of one.
template <typename Wire>
void EncodeChoices(const JointStage& stage, const std::vector<std::string>& labels, Wire& wire) {
  wire.set_tensor_degree(stage.degrees.tensor);
  wire.set_context_degree(stage.degrees.context);
  wire.set_expert_degree(stage.degrees.expert);
  wire.set_data_degree(stage.degrees.data);
  for (const JointChunk& chunk : stage.chunks) {
    auto& encoded = *wire.add_chunks();
    for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
      encoded.add_layers(labels[static_cast<std::size_t>(layer)]);
    }
    for (const LayerRecomputation mode : chunk.recomputation) encoded.add_recomputation(ToWire(mode));
  }
}

void EncodeStage(const JointStage& stage, const std::vector<std::string>& labels, v1::JointStage& wire) {
  EncodeChoices(stage, labels, wire);
  wire.set_forward_ms(ToMilliseconds(stage.forward));
  wire.set_backward_ms(ToMilliseconds(stage.backward));
  wire.set_transfers_ms(ToMilliseconds(stage.transfers));
  wire.set_step_end_ms(ToMilliseconds(stage.step_end));
  wire.set_measured_layers(stage.measured_layers);
  EncodeMemory(stage.memory, *wire.mutable_memory());
}

void EncodeConfiguration(const JointConfiguration& configuration, v1::JointPlan::JointConfiguration& wire) {
  wire.set_stages(configuration.num_stages);
  wire.set_tensor_degree(configuration.degrees.tensor);
  wire.set_context_degree(configuration.degrees.context);
  wire.set_expert_degree(configuration.degrees.expert);
  wire.set_data_degree(configuration.degrees.data);
  wire.set_optimizer_sharding(ToWire(configuration.sharding));
  wire.set_recomputation(ToWire(configuration.recomputation));
  wire.set_micro_batch_samples(configuration.micro_batch_samples);
  wire.set_micro_batches(configuration.micro_batches);
  wire.set_step_ms(ToMilliseconds(configuration.step));
}

MeasuredLayer DecodeMeasured(const v1::MeasuredLayer& wire) {
  MeasuredLayer row{.layer = wire.layer(),
                    .device_class = wire.device_class(),
                    .tensor_degree = wire.tensor_degree() == 0 ? 1 : wire.tensor_degree(),
                    .context_degree = wire.context_degree() == 0 ? 1 : wire.context_degree(),
                    .expert_degree = wire.expert_degree() == 0 ? 1 : wire.expert_degree(),
                    .samples = wire.samples(),
                    .forward_ms = wire.forward_ms(),
                    .backward_ms = wire.backward_ms(),
                    .activation_bytes = std::nullopt};
  if (wire.has_activation_bytes()) row.activation_bytes = wire.activation_bytes();
  return row;
}

void EncodeMeasured(const MeasuredLayer& row, v1::MeasuredLayer& wire) {
  wire.set_layer(row.layer);
  wire.set_device_class(row.device_class);
  wire.set_tensor_degree(row.tensor_degree);
  wire.set_context_degree(row.context_degree);
  wire.set_expert_degree(row.expert_degree);
  wire.set_samples(row.samples);
  wire.set_forward_ms(row.forward_ms);
  wire.set_backward_ms(row.backward_ms);
  if (row.activation_bytes.has_value()) wire.set_activation_bytes(*row.activation_bytes);
}

// Numbers without lists.
TransformerShape DecodeShape(const v1::Transformer& wire) {
  return {.layers = wire.layers(),
          .hidden = wire.hidden(),
          .heads = wire.heads(),
          .kv_heads = wire.kv_heads(),
          .head_width = wire.head_width(),
          .feed_forward = wire.feed_forward(),
          .gated = wire.gated(),
          .stores_scores = wire.stores_scores(),
          .dropout = wire.dropout(),
          .learned_positions = wire.learned_positions(),
          .vocabulary = wire.vocabulary(),
          .sequence = wire.sequence(),
          .tied = wire.tied(),
          .bytes_per_element = wire.bytes_per_element(),
          .eight_bit_products = wire.eight_bit_products(),
          .experts = wire.experts(),
          .experts_per_token = wire.experts_per_token(),
          .expert_feed_forward = wire.expert_feed_forward(),
          .shared_experts = wire.shared_experts(),
          .dense_layers = wire.dense_layers(),
          .expert_load = wire.has_expert_load() ? wire.expert_load() : 1,
          .query_rank = wire.query_rank(),
          .kv_rank = wire.kv_rank(),
          .rope_width = wire.rope_width(),
          .value_width = wire.value_width()};
}

// Reads the choices of a plan.
class ChoiceDecoder {
 public:
  ChoiceDecoder(const OperatorGraph& graph, Violations& violations) : graph_(graph), violations_(violations) {}

  JointPlan Decode(const v1::Plan& wire) {
    const v1::JointPlan& joint = wire.joint();
    const FieldPath plan_path("plan");
    const FieldPath path = plan_path.Field("joint");
    JointPlan plan;
    plan.order = Known(ToPipelineOrder(joint.schedule()), path.Field("schedule"), PipelineOrder::kOneFOneB);
    plan.sharding = Known(ToCore(joint.optimizer_sharding()), path.Field("optimizer_sharding"), Sharding::kNone);
    plan.chunks = joint.chunks_per_stage();
    plan.per_stage = joint.degrees() == v1::JOINT_DEGREES_PER_STAGE;
    if (!v1::JointDegrees_IsValid(joint.degrees())) {
      violations_.Add(path.Field("degrees").ToString(), "must be UNIFORM or PER_STAGE");
    }
    plan.micro_batch_samples = joint.micro_batch_samples();
    plan.micro_batches = joint.micro_batches();
    plan.simulated_step = DecodeTime(joint.simulated_step_ms(), path.Field("simulated_step_ms"), violations_);
    NumberLayers(
        wire.stages(), [](const v1::Stage& stage) -> const v1::JointStage& { return stage.joint(); }, plan);
    for (int s = 0; s < wire.stages_size(); ++s) {
      const FieldPath stage_path = plan_path.Element("stages", s);
      const FieldPath joint_path = stage_path.Field("joint");
      if (!wire.stages(s).has_joint()) violations_.Add(joint_path.ToString(), "must be set");
      plan.stages.push_back(DecodeStage(wire.stages(s).joint(), joint_path));
    }
    return plan;
  }

  JointPlan DecodeStart(const v1::JointChoices& wire, const FieldPath& path) {
    JointPlan plan;
    plan.order = Known(ToPipelineOrder(wire.schedule()), path.Field("schedule"), PipelineOrder::kOneFOneB);
    plan.sharding = Known(ToCore(wire.optimizer_sharding()), path.Field("optimizer_sharding"), Sharding::kNone);
    plan.per_stage = wire.degrees() == v1::JOINT_DEGREES_PER_STAGE;
    if (!v1::JointDegrees_IsValid(wire.degrees())) {
      violations_.Add(path.Field("degrees").ToString(), "must be UNIFORM or PER_STAGE");
    }
    plan.micro_batch_samples = wire.micro_batch_samples();
    NumberLayers(
        wire.stages(), [](const auto& stage) -> const auto& { return stage; }, plan);
    for (int s = 0; s < wire.stages_size(); ++s) {
      plan.stages.push_back(DecodeStage(wire.stages(s), path.Element("stages", s)));
    }
    plan.chunks = wire.stages().empty() ? 1 : wire.stages(0).chunks_size();
    return plan;
  }

 private:
  template <typename Core>
  Core Known(const std::optional<Core>& value, const FieldPath& path, Core otherwise) {
    if (!value.has_value()) violations_.Add(path.ToString(), "must be a value that the joint search knows");
    return value.value_or(otherwise);
  }

  // Layers of a graph without a transformer are numbered in the order in which the runs of the stages come; whether
  // they are those of the graph is the verifier's to say.
  template <typename Stages, typename JointOf>
  void NumberLayers(const Stages& stages, const JointOf& joint_of, JointPlan& plan) {
    std::vector<std::string> labels = LabelsOf(plan, graph_);
    int runs = 0;
    for (const auto& stage : stages) runs = std::max(runs, joint_of(stage).chunks_size());
    for (int run = 0; run < runs && !graph_.transformer.has_value(); ++run) {
      for (const auto& stage : stages) {
        if (run >= joint_of(stage).chunks_size()) continue;
        const auto& layers = joint_of(stage).chunks(run).layers();
        labels.insert(labels.end(), layers.begin(), layers.end());
      }
    }
    for (std::size_t layer = 0; layer < labels.size(); ++layer) {
      numbers_.emplace(labels[layer], static_cast<int32_t>(layer));
    }
    if (!graph_.transformer.has_value()) plan.layer_labels = std::move(labels);
  }

  // `Wire`: JointStage, or what a placement says of one.
  template <typename Wire>
  JointStage DecodeStage(const Wire& wire, const FieldPath& path) {
    JointStage stage;
    stage.degrees = {.tensor = wire.tensor_degree(),
                     .context = wire.context_degree(),
                     .expert = wire.expert_degree(),
                     .data = wire.data_degree()};
    for (int c = 0; c < wire.chunks_size(); ++c) {
      stage.chunks.push_back(DecodeChunk(wire.chunks(c), path.Element("chunks", c)));
    }
    return stage;
  }

  template <typename Wire>
  JointChunk DecodeChunk(const Wire& wire, const FieldPath& path) {
    JointChunk chunk;
    if (wire.layers_size() != wire.recomputation_size()) {
      violations_.Add(path.Field("recomputation").ToString(), "must have one value for each of the layers");
    }
    for (int i = 0; i < wire.layers_size(); ++i) {
      const auto found = numbers_.find(wire.layers(i));
      if (i == 0 && found != numbers_.end()) chunk.first_layer = found->second;
      if (found != numbers_.end() && found->second == chunk.first_layer + i) continue;
      violations_.Add(path.Element("layers", i).ToString(),
                      absl::StrCat("must be a layer of the model, one behind the other, is \"", wire.layers(i), "\""));
    }
    for (int i = 0; i < wire.recomputation_size(); ++i) {
      chunk.recomputation.push_back(Known(ToCore(static_cast<v1::LayerRecomputation>(wire.recomputation(i))),
                                          path.Element("recomputation", i), LayerRecomputation::kNone));
    }
    return chunk;
  }

  const OperatorGraph& graph_;
  Violations& violations_;
  absl::flat_hash_map<std::string, int32_t> numbers_;
};

// Numbers of a plan and of its stages. Each time that is none is a violation at `path`.
class NumberDecoder {
 public:
  NumberDecoder(const FieldPath& path, Violations& violations) : path_(path), violations_(violations) {}

  void Decode(const v1::JointPlan& wire, JointPlan& plan) {
    plan.simulated_step = Time(wire.simulated_step_ms());
    plan.simulated_bound = Time(wire.simulated_bound_ms());
    plan.tokens_per_second = wire.tokens_per_second();
    plan.peak_share_in_use = wire.peak_share_in_use();
    plan.peak_share = wire.peak_share();
    for (const auto& configuration : wire.equal_stages()) {
      plan.uniform_configurations.push_back(DecodeConfiguration(configuration));
    }
    for (const v1::JointPlan::ChoiceWorth& worth : wire.worth()) {
      plan.worth.push_back({.without = worth.without(), .step = std::nullopt});
      if (worth.has_step_ms()) plan.worth.back().step = Time(worth.step_ms());
    }
  }

  void Decode(const v1::JointStage& wire, JointStage& stage) {
    stage.forward = Time(wire.forward_ms());
    stage.backward = Time(wire.backward_ms());
    stage.transfers = Time(wire.transfers_ms());
    stage.step_end = Time(wire.step_end_ms());
    stage.measured_layers = wire.measured_layers();
    const v1::JointStage::Memory& memory = wire.memory();
    stage.memory = {.parameters = memory.parameters(),
                    .gradients = memory.gradients(),
                    .optimizer = memory.optimizer(),
                    .activations = memory.activations(),
                    .workspace = memory.workspace(),
                    .reserved = memory.reserved()};
  }

 private:
  Picoseconds Time(double milliseconds) { return DecodeTime(milliseconds, path_, violations_); }

  JointConfiguration DecodeConfiguration(const v1::JointPlan::JointConfiguration& wire) {
    JointConfiguration configuration;
    configuration.num_stages = wire.stages();
    configuration.degrees = {.tensor = wire.tensor_degree(),
                             .context = wire.context_degree(),
                             .expert = wire.expert_degree(),
                             .data = wire.data_degree()};
    configuration.sharding = DecodeEnum(wire.optimizer_sharding(), path_, violations_);
    configuration.recomputation = DecodeEnum(wire.recomputation(), path_, violations_);
    configuration.micro_batch_samples = wire.micro_batch_samples();
    configuration.micro_batches = wire.micro_batches();
    configuration.step = Time(wire.step_ms());
    return configuration;
  }

  const FieldPath& path_;
  Violations& violations_;
};

// What the problem says elsewhere.
void TakeOver(const PlanningProblem& problem, JointSettings& joint) {
  const std::optional<PipelineOrder> order = OrderOf(problem.schedule);
  if (joint.orders.empty() && order.has_value()) joint.orders = {*order};
  if (joint.recomputation.empty() && problem.memory_model.recomputation == MemoryModel::Recomputation::kFull) {
    joint.recomputation = {LayerRecomputation::kFull};
  }
  if (joint.data_degrees.empty() && problem.num_replicas.has_value()) joint.data_degrees = {*problem.num_replicas};
  joint.num_stages = problem.num_stages;
  if (problem.micro_batches.has_value()) joint.micro_batches = *problem.micro_batches;
}

}  // namespace

TransformerShape DecodeTransformer(const v1::Transformer& wire) {
  TransformerShape shape = DecodeShape(wire);
  shape.measured_layers.reserve(static_cast<std::size_t>(wire.measured_layers_size()));
  for (const v1::MeasuredLayer& row : wire.measured_layers()) shape.measured_layers.push_back(DecodeMeasured(row));
  return shape;
}

v1::Transformer EncodeTransformer(const TransformerShape& shape) {
  v1::Transformer wire;
  wire.set_layers(shape.layers);
  wire.set_hidden(shape.hidden);
  wire.set_heads(shape.heads);
  wire.set_kv_heads(shape.kv_heads);
  wire.set_head_width(shape.head_width);
  wire.set_feed_forward(shape.feed_forward);
  wire.set_gated(shape.gated);
  wire.set_stores_scores(shape.stores_scores);
  wire.set_dropout(shape.dropout);
  wire.set_learned_positions(shape.learned_positions);
  wire.set_vocabulary(shape.vocabulary);
  wire.set_sequence(shape.sequence);
  wire.set_tied(shape.tied);
  wire.set_bytes_per_element(shape.bytes_per_element);
  wire.set_eight_bit_products(shape.eight_bit_products);
  wire.set_experts(shape.experts);
  wire.set_experts_per_token(shape.experts_per_token);
  wire.set_expert_feed_forward(shape.expert_feed_forward);
  wire.set_shared_experts(shape.shared_experts);
  wire.set_dense_layers(shape.dense_layers);
  wire.set_query_rank(shape.query_rank);
  wire.set_kv_rank(shape.kv_rank);
  wire.set_rope_width(shape.rope_width);
  wire.set_value_width(shape.value_width);
  wire.set_expert_load(shape.expert_load);
  for (const MeasuredLayer& row : shape.measured_layers) EncodeMeasured(row, *wire.add_measured_layers());
  return wire;
}

void DecodeJoint(const v1::JointSearch& wire, const FieldPath& path, Violations& violations, PlanningProblem& problem) {
  JointSettings& joint = problem.joint.emplace();
  joint.global_batch = wire.global_batch();
  joint.tensor_degrees.assign(wire.tensor_degrees().begin(), wire.tensor_degrees().end());
  joint.context_degrees.assign(wire.context_degrees().begin(), wire.context_degrees().end());
  joint.expert_degrees.assign(wire.expert_degrees().begin(), wire.expert_degrees().end());
  joint.data_degrees.assign(wire.data_degrees().begin(), wire.data_degrees().end());
  joint.micro_batch_samples.assign(wire.micro_batch_samples().begin(), wire.micro_batch_samples().end());
  joint.recomputation = DecodeList<v1::LayerRecomputation, LayerRecomputation>(wire.recomputation(), "recomputation",
                                                                               ToCore, path, violations);
  joint.shardings = DecodeList<v1::OptimizerSharding, Sharding>(wire.optimizer_sharding(), "optimizer_sharding", ToCore,
                                                                path, violations);
  joint.orders =
      DecodeList<v1::ScheduleKind, PipelineOrder>(wire.schedules(), "schedules", ToPipelineOrder, path, violations);
  joint.per_stage = wire.degrees() == v1::JOINT_DEGREES_PER_STAGE;
  joint.first_layers_alike = wire.first_layers_alike();
  if (!v1::JointDegrees_IsValid(wire.degrees())) {
    violations.Add(path.Field("degrees").ToString(), absl::StrCat("must be UNIFORM or PER_STAGE, is ", wire.degrees()));
  }
  joint.tokens_per_sample = PLANWRIGHT_OPTIONAL_FIELD(wire, tokens_per_sample);
  if (wire.has_target_tokens_per_second()) joint.target_tokens_per_second = wire.target_tokens_per_second();
  TakeOver(problem, joint);
}

void EncodeJoint(const JointSettings& joint, v1::JointSearch& wire) {
  wire.set_global_batch(joint.global_batch);
  wire.mutable_tensor_degrees()->Assign(joint.tensor_degrees.begin(), joint.tensor_degrees.end());
  wire.mutable_context_degrees()->Assign(joint.context_degrees.begin(), joint.context_degrees.end());
  wire.mutable_expert_degrees()->Assign(joint.expert_degrees.begin(), joint.expert_degrees.end());
  wire.mutable_data_degrees()->Assign(joint.data_degrees.begin(), joint.data_degrees.end());
  wire.mutable_micro_batch_samples()->Assign(joint.micro_batch_samples.begin(), joint.micro_batch_samples.end());
  for (const LayerRecomputation mode : joint.recomputation) wire.add_recomputation(ToWire(mode));
  for (const Sharding sharding : joint.shardings) wire.add_optimizer_sharding(ToWire(sharding));
  for (const PipelineOrder order : joint.orders) wire.add_schedules(ToWire(order));
  wire.set_degrees(joint.per_stage ? v1::JOINT_DEGREES_PER_STAGE : v1::JOINT_DEGREES_UNIFORM);
  if (joint.first_layers_alike) wire.set_first_layers_alike(true);
  if (joint.tokens_per_sample.has_value()) wire.set_tokens_per_sample(*joint.tokens_per_sample);
  if (joint.target_tokens_per_second.has_value()) {
    wire.set_target_tokens_per_second(*joint.target_tokens_per_second);
  }
}

void EncodeJointPlan(const JointPlan& joint, const OperatorGraph& graph, v1::Plan& wire) {
  v1::JointPlan& plan = *wire.mutable_joint();
  plan.set_schedule(ToWire(joint.order));
  plan.set_chunks_per_stage(joint.chunks);
  plan.set_optimizer_sharding(ToWire(joint.sharding));
  plan.set_degrees(joint.per_stage ? v1::JOINT_DEGREES_PER_STAGE : v1::JOINT_DEGREES_UNIFORM);
  plan.set_micro_batch_samples(joint.micro_batch_samples);
  plan.set_micro_batches(joint.micro_batches);
  plan.set_simulated_step_ms(ToMilliseconds(joint.simulated_step));
  plan.set_simulated_bound_ms(ToMilliseconds(joint.simulated_bound));
  plan.set_tokens_per_second(joint.tokens_per_second);
  plan.set_peak_share_in_use(joint.peak_share_in_use);
  plan.set_peak_share(joint.peak_share);
  for (const JointConfiguration& configuration : joint.uniform_configurations) {
    EncodeConfiguration(configuration, *plan.add_equal_stages());
  }
  for (const ChoiceWorth& worth : joint.worth) {
    v1::JointPlan::ChoiceWorth& encoded = *plan.add_worth();
    encoded.set_without(worth.without);
    if (worth.step.has_value()) encoded.set_step_ms(ToMilliseconds(*worth.step));
  }
  const std::vector<std::string> labels = LabelsOf(joint, graph);
  for (std::size_t s = 0; s < joint.stages.size(); ++s) {
    EncodeStage(joint.stages[s], labels, *wire.mutable_stages(static_cast<int>(s))->mutable_joint());
  }
}

JointPlan DecodeStartChoices(const v1::JointChoices& wire, const OperatorGraph& graph, const FieldPath& path,
                             Violations& violations) {
  return ChoiceDecoder(graph, violations).DecodeStart(wire, path);
}

void EncodeStartChoices(const JointPlan& plan, const OperatorGraph& graph, v1::JointChoices& wire) {
  wire.set_schedule(ToWire(plan.order));
  wire.set_optimizer_sharding(ToWire(plan.sharding));
  wire.set_degrees(plan.per_stage ? v1::JOINT_DEGREES_PER_STAGE : v1::JOINT_DEGREES_UNIFORM);
  wire.set_micro_batch_samples(plan.micro_batch_samples);
  const std::vector<std::string> labels = LabelsOf(plan, graph);
  for (const JointStage& stage : plan.stages) EncodeChoices(stage, labels, *wire.add_stages());
}

JointPlan DecodeJointChoices(const v1::Plan& wire, const OperatorGraph& graph, Violations& violations) {
  return ChoiceDecoder(graph, violations).Decode(wire);
}

JointPlan DecodeJointPlan(const v1::Plan& wire, const OperatorGraph& graph, Violations& violations) {
  JointPlan plan = DecodeJointChoices(wire, graph, violations);
  const FieldPath path("plan.joint");
  NumberDecoder numbers(path, violations);
  numbers.Decode(wire.joint(), plan);
  for (int s = 0; s < wire.stages_size(); ++s) {
    numbers.Decode(wire.stages(s).joint(), plan.stages[static_cast<std::size_t>(s)]);
  }
  return plan;
}

}  // namespace planwright::server
