#include "server/codec/joint.h"

#include <string>
#include <vector>

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

void EncodeMemory(const JointMemory& memory, v1::JointStage::Memory& wire) {
  wire.set_parameters(memory.parameters);
  wire.set_gradients(memory.gradients);
  wire.set_optimizer(memory.optimizer);
  wire.set_activations(memory.activations);
  wire.set_workspace(memory.workspace);
  wire.set_reserved(memory.reserved);
}

void EncodeStage(const JointStage& stage, int32_t num_layers, v1::JointStage& wire) {
  wire.set_tensor_degree(stage.degrees.tensor);
  wire.set_context_degree(stage.degrees.context);
  wire.set_expert_degree(stage.degrees.expert);
  wire.set_data_degree(stage.degrees.data);
  for (const JointChunk& chunk : stage.chunks) {
    v1::JointStage::Chunk& encoded = *wire.add_chunks();
    for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
      encoded.add_layers(LabelOf(layer, num_layers));
    }
    for (const LayerRecomputation mode : chunk.recomputation) encoded.add_recomputation(ToWire(mode));
  }
  wire.set_forward_ms(ToMilliseconds(stage.forward));
  wire.set_backward_ms(ToMilliseconds(stage.backward));
  wire.set_transfers_ms(ToMilliseconds(stage.transfers));
  wire.set_step_end_ms(ToMilliseconds(stage.step_end));
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

// What the problem says elsewhere.
void TakeOver(const PlanningProblem& problem, JointSettings& joint) {
  if (joint.orders.empty()) {
    if (problem.schedule == ScheduleKind::kOneFOneB) joint.orders = {PipelineOrder::kOneFOneB};
    if (problem.schedule == ScheduleKind::kInterleaved) joint.orders = {PipelineOrder::kInterleaved};
  }
  if (joint.recomputation.empty() && problem.memory_model.recomputation == MemoryModel::Recomputation::kFull) {
    joint.recomputation = {LayerRecomputation::kFull};
  }
  if (joint.data_degrees.empty() && problem.num_replicas.has_value()) joint.data_degrees = {*problem.num_replicas};
  joint.num_stages = problem.num_stages;
  if (problem.micro_batches.has_value()) joint.micro_batches = *problem.micro_batches;
}

}  // namespace

TransformerShape DecodeTransformer(const v1::Transformer& wire) {
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
  if (!v1::JointDegrees_IsValid(wire.degrees())) {
    violations.Add(path.Field("degrees").ToString(), absl::StrCat("must be UNIFORM or PER_STAGE, is ", wire.degrees()));
  }
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
  // Embedding and head beside the transformer's layers.
  const int32_t num_layers = graph.transformer->layers + 2;
  for (std::size_t s = 0; s < joint.stages.size(); ++s) {
    EncodeStage(joint.stages[s], num_layers, *wire.mutable_stages(static_cast<int>(s))->mutable_joint());
  }
}

}  // namespace planwright::server
