#include "client/importer/graphs/device_placement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/importer/graphs/median.h"
#include "client/importer/graphs/number_limits.h"
#include "client/importer/reading/json_fields.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using nlohmann::json;

// The reference takes costs of one source that differ by less for equal.
constexpr double kSameCostMs = 1e-6;
// No link between an accelerator and its host moves a terabyte per second.
constexpr double kIncredibleBytesPerSecond = 1e12;

struct ConsumerEdge {
  std::size_t consumer = 0;
  double cost_ms = 0;
  int64_t size_bytes = 0;
};

std::string Indexed(const char* list, std::size_t index) { return absl::StrCat(list, "[", index, "]"); }

// Bytes given as a JSON number. A fraction is rounded against the plan: up for what is needed.
std::optional<int64_t> Bytes(FieldReader& reader, const char* name, double (*round)(double)) {
  const auto bytes = reader.NonNegative(name);
  if (!bytes.has_value()) return std::nullopt;
  if (*bytes <= kMaxBytes) return static_cast<int64_t>(round(*bytes));
  reader.Report(name, absl::StrFormat("must be at most 2^62 bytes, is %g", *bytes));
  return std::nullopt;
}

double RoundUp(double value) { return std::ceil(value); }
double RoundDown(double value) { return std::floor(value); }

// Turns one file into a request; collects violations with the paths of the file.
class GraphReader {
 public:
  GraphReader(v1::CreatePlanRequest& request, ViolationList& violations) : request_(request), violations_(violations) {}

  void Read(const json& file) {
    FieldReader reader(file, "", violations_);
    for (const char* name : {"maxSizePerFPGA", "maxFPGAs", "maxCPUs", "nodes", "edges"}) reader.Require(name);
    ReadCluster(reader);
    const json* nodes = reader.Array("nodes");
    const json* edges = reader.Array("edges");
    if (nodes != nullptr) ReadNodes(*nodes);
    // Without nodes every edge would be reported, which tells nothing new.
    if (nodes != nullptr && edges != nullptr) ReadEdges(*edges);
    AddTensors();
    request_.mutable_problem()->mutable_memory_model()->set_kind(v1::MemoryModel::KIND_DECLARED);
  }

  // Half of the transfers that state a size would need a faster link than this. 0: no transfer states one.
  double MedianBytesPerSecond() const { return Median(bytes_per_second_).value_or(0); }

 private:
  void ReadCluster(FieldReader& reader) {
    v1::Cluster& cluster = *request_.mutable_cluster();
    cluster.mutable_interconnect()->mutable_host_staged();
    v1::DeviceClass& accelerator = *cluster.add_device_classes();
    accelerator.set_name(kAcceleratorClass);
    accelerator.set_kind(v1::DEVICE_KIND_ACCELERATOR);
    if (const auto bytes = Bytes(reader, "maxSizePerFPGA", RoundDown)) accelerator.set_memory_bytes(*bytes);
    v1::DeviceClass& cpu = *cluster.add_device_classes();
    cpu.set_name(kCpuClass);
    cpu.set_kind(v1::DEVICE_KIND_CPU);
    AddDevices(reader, "maxFPGAs", kAcceleratorClass, "acc");
    AddDevices(reader, "maxCPUs", kCpuClass, "cpu");
  }

  void AddDevices(FieldReader& reader, const char* field, const char* device_class, const char* prefix) {
    const int64_t count = reader.Integer(field, 0, std::numeric_limits<int32_t>::max()).value_or(0);
    if (count == 0) return;
    v1::DeviceGroup& group = *request_.mutable_cluster()->add_device_groups();
    group.set_name_prefix(prefix);
    group.set_device_class(device_class);
    group.set_count(static_cast<int32_t>(count));
  }

  void ReadNodes(const json& nodes) {
    request_.mutable_graph()->mutable_operators()->Reserve(static_cast<int>(nodes.size()));
    edges_of_.resize(nodes.size());
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      FieldReader reader(nodes[index], Indexed("nodes", index), violations_);
      ReadNode(reader, index, *request_.mutable_graph()->add_operators());
    }
  }

  void ReadNode(FieldReader& reader, std::size_t index, v1::Operator& op) {
    for (const char* name : {"id", "supportedOnFpga", "cpuLatency", "fpgaLatency", "isBackwardNode"}) {
      reader.Require(name);
    }
    if (reader.Has("containedSubnodes")) {
      reader.Report("containedSubnodes", "contracted graphs cannot be read; use the graph it was made from");
    }
    ReadIdentity(reader, index, op);
    AddCost(reader, "fpgaLatency", kAcceleratorClass, op);
    AddCost(reader, "cpuLatency", kCpuClass, op);
    if (!reader.Flag("supportedOnFpga").value_or(true)) op.add_unsupported_device_classes(kAcceleratorClass);
    op.set_pass(reader.Flag("isBackwardNode").value_or(false) ? v1::PASS_BACKWARD : v1::PASS_FORWARD);
    op.set_memory_bytes(Bytes(reader, "size", RoundUp).value_or(0));
  }

  void ReadIdentity(FieldReader& reader, std::size_t index, v1::Operator& op) {
    if (const auto id = reader.Integer("id", -kAnyInteger, kAnyInteger)) {
      op.set_name(absl::StrCat(*id));
      const auto [first, is_new] = index_of_.emplace(*id, index);
      if (!is_new) reader.Report("id", absl::StrCat("must be unique, is ", *id, " as in nodes[", first->second, "]"));
    }
    if (auto name = reader.String("name")) op.set_type(*std::move(name));
    if (const auto color = reader.Integer("colorClass", -kAnyInteger, kAnyInteger)) {
      op.set_colocation_group(absl::StrCat(*color));
    }
    if (const auto layer = reader.Integer("layerId", -kAnyInteger, kAnyInteger)) op.set_layer(absl::StrCat(*layer));
  }

  static void AddCost(FieldReader& reader, const char* field, const char* device_class, v1::Operator& op) {
    const auto time_ms = reader.NonNegative(field);
    if (!time_ms.has_value()) return;
    v1::OperatorCost& cost = *op.add_costs();
    cost.set_device_class(device_class);
    cost.set_forward_ms(*time_ms);
  }

  void ReadEdges(const json& edges) {
    for (std::size_t index = 0; index < edges.size(); ++index) {
      FieldReader reader(edges[index], Indexed("edges", index), violations_);
      ReadEdge(reader);
    }
  }

  void ReadEdge(FieldReader& reader) {
    for (const char* name : {"sourceId", "destId", "cost"}) reader.Require(name);
    const auto producer = ReadEnd(reader, "sourceId");
    const auto consumer = ReadEnd(reader, "destId");
    const auto cost_ms = reader.NonNegative("cost");
    const int64_t size_bytes = Bytes(reader, "size", RoundUp).value_or(0);
    if (!producer.has_value() || !consumer.has_value() || !cost_ms.has_value()) return;
    if (*producer == *consumer) {
      reader.Report("destId", "must differ from sourceId: an operator cannot wait for itself");
      return;
    }
    edges_of_[*producer].push_back({*consumer, *cost_ms, size_bytes});
    if (*cost_ms > 0 && size_bytes > 0) {
      bytes_per_second_.push_back(static_cast<double>(size_bytes) / (*cost_ms / 1e3));
    }
  }

  std::optional<std::size_t> ReadEnd(FieldReader& reader, const char* field) {
    const auto id = reader.Integer(field, -kAnyInteger, kAnyInteger);
    if (!id.has_value()) return std::nullopt;
    const auto node = index_of_.find(*id);
    if (node != index_of_.end()) return node->second;
    reader.Report(field, absl::StrCat("must be the id of a node, is ", *id));
    return std::nullopt;
  }

  void AddTensors() {
    for (std::size_t producer = 0; producer < edges_of_.size(); ++producer) {
      const std::vector<ConsumerEdge>& edges = edges_of_[producer];
      if (edges.empty()) continue;
      const auto [least, most] =
          std::minmax_element(edges.begin(), edges.end(),
                              [](const ConsumerEdge& a, const ConsumerEdge& b) { return a.cost_ms < b.cost_ms; });
      if (most->cost_ms - least->cost_ms <= kSameCostMs) {
        AddSharedTensor(producer, edges, most->cost_ms);
      } else {
        AddTensorPerEdge(producer, edges);
      }
    }
  }

  v1::Tensor& AddTensor(std::size_t producer, double cost_ms) {
    v1::Graph& graph = *request_.mutable_graph();
    const std::string& name = graph.operators(static_cast<int>(producer)).name();
    v1::Tensor& tensor = *graph.add_tensors();
    tensor.set_name(absl::StrCat("t", name));
    tensor.set_producer(name);
    tensor.set_transfer_ms(cost_ms);
    return tensor;
  }

  const std::string& NameOf(std::size_t node) const {
    return request_.graph().operators(static_cast<int>(node)).name();
  }

  // One value that every consumer reads. Parallel edges are one.
  void AddSharedTensor(std::size_t producer, const std::vector<ConsumerEdge>& edges, double cost_ms) {
    v1::Tensor& tensor = AddTensor(producer, cost_ms);
    std::unordered_set<std::size_t> consumers;
    for (const ConsumerEdge& edge : edges) {
      if (consumers.insert(edge.consumer).second) tensor.add_consumers(NameOf(edge.consumer));
      tensor.set_size_bytes(std::max(tensor.size_bytes(), edge.size_bytes));
    }
  }

  // A value of its own for every edge. Parallel edges of one cost are one.
  void AddTensorPerEdge(std::size_t producer, const std::vector<ConsumerEdge>& edges) {
    std::map<std::pair<std::size_t, double>, v1::Tensor*> tensors;
    for (const ConsumerEdge& edge : edges) {
      v1::Tensor*& tensor = tensors[{edge.consumer, edge.cost_ms}];
      if (tensor == nullptr) {
        tensor = &AddTensor(producer, edge.cost_ms);
        absl::StrAppend(tensor->mutable_name(), ".", tensors.size());
        tensor->add_consumers(NameOf(edge.consumer));
      }
      tensor->set_size_bytes(std::max(tensor->size_bytes(), edge.size_bytes));
    }
  }

  v1::CreatePlanRequest& request_;
  ViolationList& violations_;
  // Position of each id in the list of nodes.
  std::unordered_map<int64_t, std::size_t> index_of_;
  // By position of the source.
  std::vector<std::vector<ConsumerEdge>> edges_of_;
  std::vector<double> bytes_per_second_;
};

// Reads the operators of one device into a stage of `plan`; `placed` gets their names.
void ReadSplitDevice(FieldReader& reader, const std::string& device, v1::Plan& plan,
                     std::unordered_map<std::string, int>& placed) {
  reader.Require("nodes");
  const json* nodes = reader.Array("nodes");
  if (nodes == nullptr || nodes->empty()) return;
  v1::Stage& stage = *plan.add_stages();
  stage.set_index(plan.stages_size() - 1);
  stage.add_replicas()->set_device(device);
  for (const json& node : *nodes) {
    const auto id = WholeNumber(node);
    if (!id.has_value()) {
      reader.Report("nodes", absl::StrCat("must hold ids of nodes, holds ", Shown(node)));
      continue;
    }
    stage.add_operators(absl::StrCat(*id));
    placed.emplace(absl::StrCat(*id), stage.index());
  }
}

// Adds the operators that the split leaves out to the stage of their colocation group, in the order of the graph.
void PlaceWithGroup(const v1::Graph& graph, const std::unordered_map<std::string, int>& placed, v1::Plan& plan) {
  std::unordered_map<std::string, int> stage_of_group;
  for (const v1::Operator& op : graph.operators()) {
    const auto stage = placed.find(op.name());
    if (stage != placed.end() && !op.colocation_group().empty()) {
      stage_of_group.emplace(op.colocation_group(), stage->second);
    }
  }
  for (const v1::Operator& op : graph.operators()) {
    const auto stage = stage_of_group.find(op.colocation_group());
    if (placed.contains(op.name()) || stage == stage_of_group.end()) continue;
    plan.mutable_stages(stage->second)->add_operators(op.name());
  }
}

}  // namespace

bool IsDevicePlacementGraph(const JsonOutline& outline) {
  return outline.Has("nodes") || outline.Has("maxFPGAs") || outline.Has("maxSizePerFPGA");
}

bool IsDevicePlacementSplit(const JsonOutline& outline) { return outline.Has("fpgas") || outline.Has("cpus"); }

absl::Status ReadDevicePlacementGraph(std::string_view text, std::string_view source, v1::CreatePlanRequest& request,
                                      std::vector<std::string>& warnings) {
  ViolationList violations;
  GraphReader reader(request, violations);
  reader.Read(json::parse(text));
  if (!violations.empty()) return violations.ToStatus(source);
  const double bytes_per_second = reader.MedianBytesPerSecond();
  if (bytes_per_second > kIncredibleBytesPerSecond) {
    warnings.push_back(absl::StrFormat(
        "%s: transfers look 1,000 times too fast (the median one moves %.0f GB/s): the costs of the edges may be in "
        "seconds where milliseconds are meant; they are used as given",
        std::string(source), bytes_per_second / 1e9));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Plan> ReadDevicePlacementSplit(std::string_view text, std::string_view source,
                                                  const v1::Graph* graph) {
  const json file = json::parse(text);
  ViolationList violations;
  v1::Plan plan;
  std::unordered_map<std::string, int> placed;
  FieldReader reader(file, "", violations);
  for (const auto& [list, prefix] : {std::pair{"fpgas", "acc"}, std::pair{"cpus", "cpu"}}) {
    const json* devices = reader.Array(list);
    for (std::size_t index = 0; devices != nullptr && index < devices->size(); ++index) {
      FieldReader device((*devices)[index], Indexed(list, index), violations);
      ReadSplitDevice(device, absl::StrCat(prefix, index), plan, placed);
    }
  }
  if (!violations.empty()) return violations.ToStatus(source);
  if (graph != nullptr) PlaceWithGroup(*graph, placed, plan);
  return plan;
}

}  // namespace planwright::client
