#include "server/codec/graph.h"

#include <cstddef>

#include "core/base/interruption.h"
#include "server/codec/joint.h"
#include "server/codec/scalars.h"

namespace planwright::server {
namespace {

constexpr char kAnOperator[] = "an operator of the graph";

NameIndex<OperatorId> IndexOperators(const v1::Graph& wire) {
  NameIndex<OperatorId> index(static_cast<std::size_t>(wire.operators_size()));
  for (const v1::Operator& op : wire.operators()) index.Add(op.name());
  return index;
}

OperatorCost DecodeCost(const v1::OperatorCost& wire, const FieldPath& path, Violations& violations) {
  OperatorCost cost;
  cost.device_class = wire.device_class();
  cost.forward = DecodeTime(wire.forward_ms(), path.Field("forward_ms"), violations);
  cost.backward = DecodeTime(wire.backward_ms(), path.Field("backward_ms"), violations);
  cost.backward_weight = DecodeTime(wire.backward_weight_ms(), path.Field("backward_weight_ms"), violations);
  return cost;
}

OperatorVariant DecodeVariant(const v1::OperatorVariant& wire, const FieldPath& path, Violations& violations) {
  OperatorVariant variant;
  variant.tensor_degree = wire.tensor_degree() == 0 ? 1 : wire.tensor_degree();
  variant.context_degree = wire.context_degree() == 0 ? 1 : wire.context_degree();
  variant.expert_degree = PLANWRIGHT_OPTIONAL_FIELD(wire, expert_degree);
  variant.input_layout = wire.input_layout();
  variant.output_layout = wire.output_layout();
  variant.device_class = wire.device_class();
  if (wire.samples() != 0) variant.samples = wire.samples();
  variant.forward = DecodeTime(wire.forward_ms(), path.Field("forward_ms"), violations);
  variant.backward = DecodeTime(wire.backward_ms(), path.Field("backward_ms"), violations);
  variant.parameter_bytes = wire.parameter_bytes();
  variant.activation_bytes = wire.activation_bytes();
  variant.workspace_bytes = wire.workspace_bytes();
  variant.output_bytes = PLANWRIGHT_OPTIONAL_FIELD(wire, output_bytes);
  for (const v1::OperatorVariant::BoundaryExchange& exchange : wire.boundary_exchanges()) {
    variant.boundary_exchanges.push_back({.tensor = exchange.tensor(), .bytes = exchange.bytes()});
  }
  if (wire.has_recomputation()) {
    const v1::OperatorVariant::Recomputation& again = wire.recomputation();
    const FieldPath extra_path = path.Field("recomputation").Field("extra_ms");
    variant.recomputation = {.extra = DecodeTime(again.extra_ms(), extra_path, violations),
                             .activation_bytes = again.activation_bytes(),
                             .workspace_bytes = again.workspace_bytes()};
  }
  return variant;
}

Operator DecodeOperator(const v1::Operator& wire, const NameIndex<OperatorId>& operators, const FieldPath& path,
                        Violations& violations) {
  InterruptionPoint(128 + 64 * static_cast<std::size_t>(wire.costs_size() + wire.variants_size()));
  Operator op;
  op.name = wire.name();
  op.type = wire.type();
  op.layer = wire.layer();
  op.pass = DecodeEnum(wire.pass(), path.Field("pass"), violations);
  if (!wire.forward_operator().empty()) {
    op.forward_operator =
        operators.Resolve(wire.forward_operator(), kAnOperator, path.Field("forward_operator"), violations);
  }
  for (int i = 0; i < wire.costs_size(); ++i) {
    op.costs.push_back(DecodeCost(wire.costs(i), path.Element("costs", i), violations));
  }
  op.forward_flops = wire.forward_flops();
  op.backward_flops = wire.backward_flops();
  op.forward_bytes_accessed = wire.forward_bytes_accessed();
  op.backward_bytes_accessed = wire.backward_bytes_accessed();
  op.unsupported_device_classes.assign(wire.unsupported_device_classes().begin(),
                                       wire.unsupported_device_classes().end());
  op.memory_bytes = PLANWRIGHT_OPTIONAL_FIELD(wire, memory_bytes);
  op.parameter_bytes = wire.parameter_bytes();
  op.activation_bytes = wire.activation_bytes();
  op.workspace_bytes = wire.workspace_bytes();
  op.colocation_group = wire.colocation_group();
  for (int i = 0; i < wire.variants_size(); ++i) {
    op.variants.push_back(DecodeVariant(wire.variants(i), path.Element("variants", i), violations));
  }
  return op;
}

Tensor DecodeTensor(const v1::Tensor& wire, const NameIndex<OperatorId>& operators, const FieldPath& path,
                    Violations& violations) {
  InterruptionPoint(64 + 64 * static_cast<std::size_t>(wire.consumers_size()));
  Tensor tensor;
  tensor.name = wire.name();
  const std::optional<OperatorId> producer =
      operators.Resolve(wire.producer(), kAnOperator, path.Field("producer"), violations);
  bool resolved = producer.has_value();
  tensor.producer = producer.value_or(OperatorId());
  for (int i = 0; i < wire.consumers_size(); ++i) {
    const std::optional<OperatorId> consumer =
        operators.Resolve(wire.consumers(i), kAnOperator, path.Element("consumers", i), violations);
    resolved = resolved && consumer.has_value();
    tensor.consumers.push_back(consumer.value_or(OperatorId()));
  }
  if (!resolved) tensor.consumers.clear();
  tensor.size_bytes = wire.size_bytes();
  if (wire.has_transfer_ms()) {
    tensor.transfer = DecodeTime(wire.transfer_ms(), path.Field("transfer_ms"), violations);
  }
  return tensor;
}

void EncodeCost(const OperatorCost& cost, v1::OperatorCost& wire) {
  wire.set_device_class(cost.device_class);
  wire.set_forward_ms(ToMilliseconds(cost.forward));
  wire.set_backward_ms(ToMilliseconds(cost.backward));
  wire.set_backward_weight_ms(ToMilliseconds(cost.backward_weight));
}

void EncodeVariant(const OperatorVariant& variant, v1::OperatorVariant& wire) {
  wire.set_tensor_degree(variant.tensor_degree);
  if (variant.context_degree != 1) wire.set_context_degree(variant.context_degree);
  if (variant.expert_degree.has_value()) wire.set_expert_degree(*variant.expert_degree);
  wire.set_input_layout(variant.input_layout);
  wire.set_output_layout(variant.output_layout);
  wire.set_device_class(variant.device_class);
  wire.set_samples(variant.samples.value_or(0));
  wire.set_forward_ms(ToMilliseconds(variant.forward));
  wire.set_backward_ms(ToMilliseconds(variant.backward));
  wire.set_parameter_bytes(variant.parameter_bytes);
  wire.set_activation_bytes(variant.activation_bytes);
  wire.set_workspace_bytes(variant.workspace_bytes);
  if (variant.output_bytes.has_value()) wire.set_output_bytes(*variant.output_bytes);
  for (const OperatorVariant::BoundaryExchange& exchange : variant.boundary_exchanges) {
    v1::OperatorVariant::BoundaryExchange& encoded = *wire.add_boundary_exchanges();
    encoded.set_tensor(exchange.tensor);
    encoded.set_bytes(exchange.bytes);
  }
  if (!variant.recomputation.has_value()) return;
  v1::OperatorVariant::Recomputation& again = *wire.mutable_recomputation();
  again.set_extra_ms(ToMilliseconds(variant.recomputation->extra));
  again.set_activation_bytes(variant.recomputation->activation_bytes);
  again.set_workspace_bytes(variant.recomputation->workspace_bytes);
}

void EncodeOperator(const OperatorGraph& graph, const Operator& op, v1::Operator& wire) {
  wire.set_name(op.name);
  wire.set_type(op.type);
  wire.set_layer(op.layer);
  wire.set_pass(ToWire(op.pass));
  if (op.forward_operator.has_value()) {
    wire.set_forward_operator(graph.operators[op.forward_operator->index()].name);
  }
  for (const OperatorCost& cost : op.costs) EncodeCost(cost, *wire.add_costs());
  wire.set_forward_flops(op.forward_flops);
  wire.set_backward_flops(op.backward_flops);
  wire.set_forward_bytes_accessed(op.forward_bytes_accessed);
  wire.set_backward_bytes_accessed(op.backward_bytes_accessed);
  wire.mutable_unsupported_device_classes()->Add(op.unsupported_device_classes.begin(),
                                                 op.unsupported_device_classes.end());
  if (op.memory_bytes.has_value()) wire.set_memory_bytes(*op.memory_bytes);
  wire.set_parameter_bytes(op.parameter_bytes);
  wire.set_activation_bytes(op.activation_bytes);
  wire.set_workspace_bytes(op.workspace_bytes);
  wire.set_colocation_group(op.colocation_group);
  for (const OperatorVariant& variant : op.variants) EncodeVariant(variant, *wire.add_variants());
}

void EncodeTensor(const OperatorGraph& graph, const Tensor& tensor, v1::Tensor& wire) {
  wire.set_name(tensor.name);
  wire.set_producer(graph.operators[tensor.producer.index()].name);
  for (const OperatorId consumer : tensor.consumers) wire.add_consumers(graph.operators[consumer.index()].name);
  wire.set_size_bytes(tensor.size_bytes);
  if (tensor.transfer.has_value()) wire.set_transfer_ms(ToMilliseconds(*tensor.transfer));
}

}  // namespace

OperatorGraph DecodeGraph(const v1::Graph& wire, Violations& violations) {
  const FieldPath path("graph");
  const NameIndex<OperatorId> operators = IndexOperators(wire);
  OperatorGraph graph;
  graph.display_name = wire.display_name();
  graph.operators.reserve(static_cast<std::size_t>(wire.operators_size()));
  for (int i = 0; i < wire.operators_size(); ++i) {
    graph.operators.push_back(DecodeOperator(wire.operators(i), operators, path.Element("operators", i), violations));
  }
  graph.tensors.reserve(static_cast<std::size_t>(wire.tensors_size()));
  for (int i = 0; i < wire.tensors_size(); ++i) {
    graph.tensors.push_back(DecodeTensor(wire.tensors(i), operators, path.Element("tensors", i), violations));
  }
  if (wire.has_samples_per_micro_batch()) graph.samples_per_micro_batch = wire.samples_per_micro_batch();
  if (wire.has_transformer()) graph.transformer = DecodeTransformer(wire.transformer());
  for (const v1::LayoutChange& change : wire.layout_changes()) {
    graph.layout_changes.push_back({.from = change.from(), .to = change.to(), .share = change.share()});
  }
  return graph;
}

v1::Graph EncodeGraph(const OperatorGraph& graph) {
  v1::Graph wire;
  wire.set_display_name(graph.display_name);
  for (const Operator& op : graph.operators) EncodeOperator(graph, op, *wire.add_operators());
  for (const Tensor& tensor : graph.tensors) EncodeTensor(graph, tensor, *wire.add_tensors());
  wire.set_samples_per_micro_batch(graph.samples_per_micro_batch);
  if (graph.transformer.has_value()) *wire.mutable_transformer() = EncodeTransformer(*graph.transformer);
  for (const LayoutChange& change : graph.layout_changes) {
    v1::LayoutChange& encoded = *wire.add_layout_changes();
    encoded.set_from(change.from);
    encoded.set_to(change.to);
    encoded.set_share(change.share);
  }
  return wire;
}

}  // namespace planwright::server
