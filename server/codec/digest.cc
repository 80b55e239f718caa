#include "server/codec/digest.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/interruption.h"

namespace planwright::server {
namespace {

// The elements in the order of their keys.
template <typename Element, typename Key>
std::vector<const Element*> SortedBy(const std::vector<Element>& elements, Key key) {
  std::vector<const Element*> sorted;
  sorted.reserve(elements.size());
  for (const Element& element : elements) sorted.push_back(&element);
  std::sort(sorted.begin(), sorted.end(), [&](const Element* a, const Element* b) {
    InterruptionPoint(/*units=*/16);
    return std::invoke(key, *a) < std::invoke(key, *b);
  });
  return sorted;
}

auto KeyOf(const OperatorVariant& variant) {
  return std::tuple(variant.tensor_degree, std::string_view(variant.device_class), variant.samples,
                    variant.context_degree, variant.expert_degree, std::string_view(variant.input_layout),
                    std::string_view(variant.output_layout));
}

bool HasMore(const OperatorVariant& variant) {
  return variant.context_degree != 1 || variant.expert_degree.has_value() || !variant.input_layout.empty() ||
         !variant.output_layout.empty() || !variant.boundary_exchanges.empty();
}

// What variants say beside tensor degrees, in any order. Graphs where they do not have the digest of before.
void AddMoreOfVariants(const OperatorGraph& graph, CanonicalHash& hash) {
  const auto has_more = [](const Operator& op) { return std::any_of(op.variants.begin(), op.variants.end(), HasMore); };
  if (graph.layout_changes.empty() && std::none_of(graph.operators.begin(), graph.operators.end(), has_more)) return;
  hash.Add(std::string_view("planwright.layouts.1"));
  hash.Add(graph.layout_changes.size());
  const auto ends = [](const LayoutChange& change) {
    return std::pair(std::string_view(change.from), std::string_view(change.to));
  };
  for (const LayoutChange* change : SortedBy(graph.layout_changes, ends)) {
    hash.Add(change->from);
    hash.Add(change->to);
    hash.Add(change->share);
  }
  for (const Operator* op : SortedBy(graph.operators, &Operator::name)) {
    if (!has_more(*op)) continue;
    InterruptionPoint(64 * op->variants.size());
    hash.Add(op->name);
    for (const OperatorVariant* variant : SortedBy(op->variants, KeyOf)) {
      hash.Add(int64_t{variant->context_degree});
      hash.Add(variant->expert_degree);
      hash.Add(variant->input_layout);
      hash.Add(variant->output_layout);
      hash.Add(variant->boundary_exchanges.size());
      const auto& exchanges = variant->boundary_exchanges;
      for (const auto* exchange : SortedBy(exchanges, &OperatorVariant::BoundaryExchange::tensor)) {
        hash.Add(exchange->tensor);
        hash.Add(exchange->bytes);
      }
    }
  }
}

// Adds them in any order. A graph without variants has the digest that it had before there were any.
void AddVariants(const OperatorGraph& graph, CanonicalHash& hash) {
  for (const Operator* op : SortedBy(graph.operators, &Operator::name)) {
    if (op->variants.empty()) continue;
    InterruptionPoint(64 * op->variants.size());
    hash.Add(op->name);
    hash.Add(op->variants.size());
    for (const OperatorVariant* variant : SortedBy(op->variants, KeyOf)) {
      // The rest is in AddMoreOfVariants.
      const auto& [tensor_degree, context_degree, expert_degree, input_layout, output_layout, device_class, samples,
                   forward, backward, parameter_bytes, activation_bytes, workspace_bytes, output_bytes, recomputation,
                   boundary_exchanges] = *variant;
      hash.Add(int64_t{tensor_degree});
      hash.Add(device_class);
      hash.Add(samples);
      hash.Add(forward);
      hash.Add(backward);
      hash.Add(parameter_bytes);
      hash.Add(activation_bytes);
      hash.Add(workspace_bytes);
      hash.Add(output_bytes);
      hash.Add(int64_t{recomputation.has_value()});
      if (!recomputation.has_value()) continue;
      hash.Add(recomputation->extra);
      hash.Add(recomputation->activation_bytes);
      hash.Add(recomputation->workspace_bytes);
    }
  }
}

void AddOperator(const OperatorGraph& graph, const Operator& op, CanonicalHash& hash) {
  InterruptionPoint(/*units=*/512);
  hash.Add(op.name);
  hash.Add(op.type);
  hash.Add(op.layer);
  hash.Add(op.pass);
  hash.Add(op.forward_operator.has_value() ? graph.operators[op.forward_operator->index()].name : std::string());
  hash.Add(op.costs.size());
  for (const OperatorCost* cost : SortedBy(op.costs, &OperatorCost::device_class)) {
    hash.Add(cost->device_class);
    hash.Add(cost->forward);
    hash.Add(cost->backward);
    hash.Add(cost->backward_weight);
  }
  hash.Add(op.forward_flops);
  hash.Add(op.backward_flops);
  hash.Add(op.forward_bytes_accessed);
  hash.Add(op.backward_bytes_accessed);
  hash.AddSorted({op.unsupported_device_classes.begin(), op.unsupported_device_classes.end()});
  hash.Add(op.memory_bytes);
  hash.Add(op.parameter_bytes);
  hash.Add(op.activation_bytes);
  hash.Add(op.workspace_bytes);
  hash.Add(op.colocation_group);
}

void AddTensor(const OperatorGraph& graph, const Tensor& tensor, CanonicalHash& hash) {
  InterruptionPoint(128 + 32 * tensor.consumers.size());
  hash.Add(tensor.name);
  hash.Add(graph.operators[tensor.producer.index()].name);
  std::vector<std::string_view> consumers;
  consumers.reserve(tensor.consumers.size());
  for (const OperatorId consumer : tensor.consumers) consumers.push_back(graph.operators[consumer.index()].name);
  hash.AddSorted(std::move(consumers));
  hash.Add(tensor.size_bytes);
  hash.Add(tensor.transfer);
}

// Names every field, so that a new one does not compile before it is here.
// In any order.
void AddMeasured(const std::vector<MeasuredLayer>& rows, CanonicalHash& hash) {
  const auto key = [](const MeasuredLayer& row) {
    return std::tuple(std::string_view(row.layer), std::string_view(row.device_class), row.tensor_degree,
                      row.context_degree, row.expert_degree, row.samples);
  };
  hash.Add(rows.size());
  for (const MeasuredLayer* row : SortedBy(rows, key)) {
    hash.Add(row->layer);
    hash.Add(row->device_class);
    hash.Add(row->tensor_degree);
    hash.Add(row->context_degree);
    hash.Add(row->expert_degree);
    hash.Add(row->samples);
    hash.Add(row->forward_ms);
    hash.Add(row->backward_ms);
    hash.Add(row->activation_bytes);
  }
}

void AddTransformer(const TransformerShape& shape, CanonicalHash& hash) {
  const auto& [layers, hidden, heads, kv_heads, head_width, feed_forward, gated, stores_scores, dropout,
               learned_positions, vocabulary, sequence, tied, bytes_per_element, eight_bit_products, experts,
               experts_per_token, expert_feed_forward, shared_experts, dense_layers, expert_load, query_rank, kv_rank,
               rope_width, value_width, measured_layers] = shape;
  for (const int64_t number : {int64_t{layers},
                               hidden,
                               int64_t{heads},
                               int64_t{kv_heads},
                               head_width,
                               feed_forward,
                               int64_t{gated},
                               int64_t{stores_scores},
                               int64_t{dropout},
                               int64_t{learned_positions},
                               vocabulary,
                               sequence,
                               int64_t{tied},
                               int64_t{bytes_per_element},
                               int64_t{eight_bit_products},
                               int64_t{experts},
                               int64_t{experts_per_token},
                               expert_feed_forward,
                               int64_t{shared_experts},
                               int64_t{dense_layers},
                               query_rank,
                               kv_rank,
                               rope_width,
                               value_width}) {
    hash.Add(number);
  }
  hash.Add(expert_load);
  // Digests from before there were any stay what they were.
  if (!measured_layers.empty()) AddMeasured(measured_layers, hash);
}

void AddClass(const DeviceClass& device_class, CanonicalHash& hash) {
  hash.Add(device_class.name);
  hash.Add(device_class.kind);
  hash.Add(device_class.memory_bytes);
  hash.Add(device_class.peak_flops);
  hash.Add(device_class.compute_efficiency);
  hash.Add(device_class.memory_bandwidth_bytes_per_second);
  hash.Add(device_class.kernel_overhead);
}

// What it reaches when it trains counts where it is said: digests of other clusters stay as they were.
void AddTraining(const DeviceClass& device_class, CanonicalHash& hash) {
  if (!device_class.training.has_value()) return;
  const TrainingEfficiency& training = *device_class.training;
  hash.Add(std::string("training of ") + device_class.name);
  for (const double number :
       {training.products, training.half_extent, training.attention, training.eight_bit_gain, training.memory,
        training.network, training.hidden_in_layers, training.hidden_among_data, training.hidden_at_step_end}) {
    hash.Add(number);
  }
  hash.Add(training.launch);
}

void AddDevice(const Cluster& cluster, const Device& device, CanonicalHash& hash) {
  hash.Add(device.name);
  hash.Add(cluster.class_of(device).name);
  hash.Add(device.host);
  hash.Add(device.labels.size());
  for (const auto& [label, value] : device.labels) {
    hash.Add(label);
    hash.Add(value);
  }
  hash.Add(device.reserved_memory_bytes);
}

// Adds each kind of interconnect.
struct InterconnectHasher {
  const Cluster& cluster;
  CanonicalHash& hash;

  template <typename Shared>
  void AddShared(const Shared& shared) const {
    hash.Add(shared.bandwidth_bytes_per_second);
    hash.Add(shared.latency);
  }
  void AddDeviceOrder() const {
    for (const Device& device : cluster.devices) hash.Add(device.name);
  }

  void operator()(const HostStagedInterconnect& core) const { AddShared(core); }
  void operator()(const UniformInterconnect& core) const { AddShared(core); }
  void operator()(const HierarchyInterconnect& core) const {
    AddLevels(core.levels, hash);
    AddDeviceOrder();
  }
  void operator()(const GridInterconnect& core) const {
    hash.Add(core.dimensions.size());
    for (const int32_t dimension : core.dimensions) hash.Add(dimension);
    hash.Add(core.wrap_around);
    hash.Add(core.link_bandwidth_bytes_per_second);
    hash.Add(core.latency);
    hash.Add(core.non_adjacent);
    AddDeviceOrder();
  }
  void operator()(const LinksInterconnect& core) const {
    // A link has no direction: the lower name comes first. A pair of values: minmax returns references.
    const auto ends = [this](const LinksInterconnect::Link& link) -> std::pair<std::string_view, std::string_view> {
      return std::minmax<std::string_view>(cluster.devices[link.device_a.index()].name,
                                           cluster.devices[link.device_b.index()].name);
    };
    hash.Add(core.links.size());
    for (const LinksInterconnect::Link* link : SortedBy(core.links, ends)) {
      hash.Add(ends(*link).first);
      hash.Add(ends(*link).second);
      hash.Add(link->bandwidth_bytes_per_second);
      hash.Add(link->latency);
    }
    hash.Add(core.routing);
  }
  void operator()(const MatrixInterconnect& core) const {
    hash.Add(core.bandwidth_bytes_per_second.size());
    for (const double bandwidth : core.bandwidth_bytes_per_second) {
      InterruptionPoint(/*units=*/16);
      hash.Add(bandwidth);
    }
    hash.Add(core.latency);
    AddDeviceOrder();
  }
  void operator()(const NodesInterconnect& core) const {
    // A link has no direction: the lower place comes first.
    const auto places = [](const NodesInterconnect::Link& link) {
      return std::pair(std::min(link.place_a, link.place_b), std::max(link.place_a, link.place_b));
    };
    hash.Add(core.devices_per_node);
    hash.Add(core.links.size());
    for (const NodesInterconnect::Link* link : SortedBy(core.links, places)) {
      hash.Add(places(*link).first);
      hash.Add(places(*link).second);
      hash.Add(link->bandwidth_bytes_per_second);
      hash.Add(link->latency);
    }
    hash.Add(core.bandwidth_bytes_per_second);
    hash.Add(core.latency);
    AddLevels(core.levels, hash);
    AddDeviceOrder();
  }
};

}  // namespace

std::string GraphDigest(const OperatorGraph& graph) {
  CanonicalHash hash("planwright.graph.1");
  hash.Add(graph.operators.size());
  for (const Operator* op : SortedBy(graph.operators, &Operator::name)) AddOperator(graph, *op, hash);
  hash.Add(graph.tensors.size());
  for (const Tensor* tensor : SortedBy(graph.tensors, &Tensor::name)) AddTensor(graph, *tensor, hash);
  hash.Add(graph.samples_per_micro_batch);
  if (graph.transformer.has_value()) AddTransformer(*graph.transformer, hash);
  AddVariants(graph, hash);
  AddMoreOfVariants(graph, hash);
  return hash.Hex();
}

void AddDeviceClasses(const Cluster& cluster, CanonicalHash& hash) {
  hash.Add(cluster.device_classes.size());
  for (const DeviceClass* device_class : SortedBy(cluster.device_classes, &DeviceClass::name)) {
    AddClass(*device_class, hash);
  }
  for (const DeviceClass* device_class : SortedBy(cluster.device_classes, &DeviceClass::name)) {
    AddTraining(*device_class, hash);
  }
}

void AddLevels(const std::vector<HierarchyInterconnect::Level>& levels, CanonicalHash& hash) {
  hash.Add(levels.size());
  for (const HierarchyInterconnect::Level& level : levels) {
    hash.Add(level.fan_out);
    hash.Add(level.bandwidth_bytes_per_second);
    hash.Add(level.latency);
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::optional<double>& port = levels[i].port_bandwidth_bytes_per_second;
    if (!port.has_value()) continue;
    hash.Add(std::string("ports of level ") + std::to_string(i));
    hash.Add(*port);
  }
}

std::string ClusterDigest(const Cluster& cluster) {
  CanonicalHash hash("planwright.cluster.1");
  AddDeviceClasses(cluster, hash);
  hash.Add(cluster.devices.size());
  for (const Device* device : SortedBy(cluster.devices, &Device::name)) AddDevice(cluster, *device, hash);
  hash.Add(InterconnectName(cluster.interconnect));
  std::visit(InterconnectHasher{cluster, hash}, cluster.interconnect);
  return hash.Hex();
}

}  // namespace planwright::server
