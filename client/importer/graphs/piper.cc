#include "client/importer/graphs/piper.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/importer/graphs/class_times.h"
#include "client/importer/graphs/median.h"
#include "client/importer/graphs/number_limits.h"
#include "client/importer/reading/json_fields.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using nlohmann::json;

constexpr double kMsPerSecond = 1e3;
constexpr char kVanilla[] = "vanilla";
constexpr char kRecomputed[] = "activation recomp";
constexpr int64_t kMaxDevices = 10'000;
// Half of the nodes of no model take longer than this for a micro-batch.
constexpr double kIncredibleMs = 200;

// Bytes by id of the node at the other end.
using SyncBytes = std::map<int64_t, int64_t>;

struct Variant {
  double time_ms = 0;
  double parameter_bytes = 0;
  double per_micro_batch_bytes = 0;
  double fixed_bytes = 0;
  // The sync bytes of edges from other nodes, and of edges to other nodes.
  SyncBytes forward;
  SyncBytes backward;
};

// Where the sync bytes of a node's variant were read, and which they are.
struct SyncOfVariant {
  std::size_t node = 0;
  int variant = 0;
  std::string path;
  SyncBytes forward;
  SyncBytes backward;
};

class PiperReader {
 public:
  PiperReader(double ms_per_unit, v1::CreatePlanRequest& request, ViolationList& violations)
      : ms_per_unit_(ms_per_unit), request_(request), violations_(violations) {}

  void Read(const json& file) {
    FieldReader reader(file, "", violations_);
    for (const char* name : {"maxDevices", "maxMemoryPerDevice", "bandwidth", "nodes", "edges"}) reader.Require(name);
    ReadCluster(reader);
    const json* nodes = reader.Array("nodes");
    const json* edges = reader.Array("edges");
    if (nodes != nullptr) ReadNodes(*nodes);
    if (nodes != nullptr && edges != nullptr) ReadEdges(*edges);
    AddTensors();
  }

  // The median time of the forward and backward passes of all nodes.
  double MedianMs() const { return Median(times_ms_).value_or(0); }

  bool assumed_forward_share() const { return assumed_forward_share_; }
  bool takes_larger_sync() const { return takes_larger_sync_; }

 private:
  static double Bytes(FieldReader& reader, const char* name) {
    const double bytes = reader.NonNegative(name).value_or(0);
    if (bytes <= kMaxBytes) return bytes;
    reader.Report(name, absl::StrFormat("must be at most 2^62 bytes, is %g", bytes));
    return 0;
  }

  void ReadCluster(FieldReader& reader) {
    v1::Cluster& cluster = *request_.mutable_cluster();
    v1::DeviceClass& accelerator = *cluster.add_device_classes();
    accelerator.set_name(kUnnamedClass);
    accelerator.set_kind(v1::DEVICE_KIND_ACCELERATOR);
    accelerator.set_memory_bytes(static_cast<int64_t>(std::floor(Bytes(reader, "maxMemoryPerDevice"))));
    v1::DeviceGroup& group = *cluster.add_device_groups();
    group.set_name_prefix("acc");
    group.set_device_class(kUnnamedClass);
    group.set_count(static_cast<int32_t>(reader.Integer("maxDevices", 1, kMaxDevices).value_or(1)));
    const auto bandwidth = reader.NonNegative("bandwidth");
    cluster.mutable_interconnect()->mutable_uniform()->set_bandwidth_bytes_per_second(bandwidth.value_or(0));
    if (bandwidth == 0.0) reader.Report("bandwidth", "must be > 0, is 0");
  }

  void ReadNodes(const json& nodes) {
    edges_of_.resize(nodes.size());
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      ReadNode(nodes[index], index, *request_.mutable_graph()->add_operators());
    }
  }

  void ReadNode(const json& node, std::size_t index, v1::Operator& op) {
    const std::string path = absl::StrCat("nodes[", index, "]");
    FieldReader reader(node, path, violations_);
    for (const char* name : {"id", "TMPCs"}) reader.Require(name);
    const auto id = reader.Integer("id", -kAnyInteger, kAnyInteger);
    if (id.has_value() && !index_of_.emplace(*id, index).second) {
      reader.Report("id", absl::StrCat("must be unique, is ", *id, " as in nodes[", index_of_.at(*id), "]"));
    }
    op.set_name(absl::StrCat(id.value_or(0)));
    ids_.push_back(id.value_or(0));
    op.set_type(reader.String("name").value_or(""));
    if (!reader.Has("TMPCs")) return;
    ReadVariants(node.at("TMPCs"), absl::StrCat(path, ".TMPCs"), op);
  }

  // Those of one device are the costs of the operator; those of every degree are its variants.
  void ReadVariants(const json& degrees, const std::string& path, v1::Operator& op) {
    FieldReader reader(degrees, path, violations_);
    reader.Require("1");
    if (!degrees.is_object()) return;
    for (const auto& [key, unused] : degrees.items()) {
      int32_t degree = 0;
      if (!absl::SimpleAtoi(key, &degree) || degree < 1 || degree > kMaxDevices || absl::StrCat(degree) != key) {
        reader.Report(key.c_str(), absl::StrCat("must be a degree of tensor parallelism in 1 .. ", kMaxDevices));
        continue;
      }
      ReadDegree(reader, degree, path, op);
    }
  }

  void ReadDegree(FieldReader& reader, int32_t degree, const std::string& path, v1::Operator& op) {
    const std::string key = absl::StrCat(degree);
    const json* variants = reader.Array(key.c_str());
    // No variant is no degree.
    if (variants == nullptr || (variants->empty() && degree > 1)) return;
    std::map<std::string, Variant> by_id;
    for (std::size_t i = 0; i < variants->size(); ++i) {
      FieldReader variant((*variants)[i], absl::StrCat(path, ".", key, "[", i, "]"), violations_);
      for (const char* name : {"id", "timePerSample", "parameterSize", "memoryUsageA", "memoryUsageB"}) {
        variant.Require(name);
      }
      const Variant read = {variant.NonNegative("timePerSample").value_or(0) * ms_per_unit_,
                            Bytes(variant, "parameterSize"),
                            Bytes(variant, "memoryUsageA"),
                            Bytes(variant, "memoryUsageB"),
                            ReadSync(variant, (*variants)[i], "syncTimeFw"),
                            ReadSync(variant, (*variants)[i], "syncTimeBw")};
      const auto id = variant.String("id");
      if (id.has_value() && !by_id.emplace(*id, read).second) {
        variant.Report("id", absl::StrCat("must be unique, is \"", *id, "\" again"));
      }
    }
    const auto vanilla = by_id.find(kVanilla);
    if (vanilla == by_id.end()) return reader.Report(key.c_str(), "must have a variant \"vanilla\"");
    const auto recomputed = by_id.find(kRecomputed);
    const Variant* again = recomputed == by_id.end() ? nullptr : &recomputed->second;
    if (degree == 1) SetCosts(vanilla->second, again, op);
    AddVariant(degree, vanilla->second, again, op);
    syncs_.push_back({static_cast<std::size_t>(request_.graph().operators_size()) - 1, op.variants_size() - 1,
                      absl::StrCat(path, ".", key), LargerOf(vanilla->second.forward, again, &Variant::forward),
                      LargerOf(vanilla->second.backward, again, &Variant::backward)});
  }

  // Bytes that are gathered or divided where a stage ends, by node.
  static SyncBytes ReadSync(FieldReader& variant, const json& fields, const char* name) {
    SyncBytes sync;
    if (!fields.is_object() || !fields.contains(name)) return sync;
    if (!fields.at(name).is_object()) {
      variant.Report(name, "must be an object of bytes by node");
      return sync;
    }
    for (const auto& [neighbour, bytes] : fields.at(name).items()) {
      int64_t id = 0;
      const bool is_number = bytes.is_number() && bytes.get<double>() >= 0 && bytes.get<double>() <= kMaxBytes;
      if (!absl::SimpleAtoi(neighbour, &id) || !is_number) {
        variant.Report(name, absl::StrCat("must have ids of nodes with bytes in 0 .. 2^62, has \"", neighbour, "\""));
      } else {
        sync[id] = std::llround(std::ceil(bytes.get<double>()));
      }
    }
    return sync;
  }

  // The larger bytes of a variant, whether it is computed again or not.
  SyncBytes LargerOf(const SyncBytes& vanilla, const Variant* again, SyncBytes Variant::*sync) {
    SyncBytes larger = vanilla;
    if (again == nullptr) return larger;
    for (const auto& [id, bytes] : again->*sync) {
      int64_t& known = larger[id];
      takes_larger_sync_ |= known != bytes;
      known = std::max(known, bytes);
    }
    return larger;
  }

  // The forward pass is what recomputation repeats, else a third of the time.
  double ForwardMs(const Variant& vanilla, const Variant* recomputed) {
    constexpr double kForwardShare = 1.0 / 3;
    const double repeated_ms = recomputed == nullptr ? -1 : recomputed->time_ms - vanilla.time_ms;
    const bool is_known = repeated_ms >= 0 && repeated_ms <= vanilla.time_ms;
    assumed_forward_share_ |= !is_known && vanilla.time_ms > 0;
    return is_known ? repeated_ms : vanilla.time_ms * kForwardShare;
  }

  // What stays besides parameters and gradients.
  static int64_t Workspace(const Variant& variant) {
    return std::llround(std::max(0.0, variant.fixed_bytes - 2 * variant.parameter_bytes));
  }

  void AddVariant(int32_t degree, const Variant& vanilla, const Variant* recomputed, v1::Operator& op) {
    v1::OperatorVariant& variant = *op.add_variants();
    variant.set_tensor_degree(degree);
    variant.set_forward_ms(ForwardMs(vanilla, recomputed));
    variant.set_backward_ms(vanilla.time_ms - variant.forward_ms());
    variant.set_parameter_bytes(std::llround(vanilla.parameter_bytes));
    variant.set_activation_bytes(std::llround(std::ceil(vanilla.per_micro_batch_bytes)));
    variant.set_workspace_bytes(Workspace(vanilla));
    const bool saves = recomputed != nullptr && recomputed->time_ms >= vanilla.time_ms &&
                       recomputed->per_micro_batch_bytes < vanilla.per_micro_batch_bytes;
    if (!saves) return;
    v1::OperatorVariant::Recomputation& again = *variant.mutable_recomputation();
    again.set_extra_ms(recomputed->time_ms - vanilla.time_ms);
    again.set_activation_bytes(std::llround(std::ceil(recomputed->per_micro_batch_bytes)));
    again.set_workspace_bytes(Workspace(*recomputed));
  }

  void SetCosts(const Variant& vanilla, const Variant* recomputed, v1::Operator& op) {
    v1::OperatorCost& cost = *op.add_costs();
    cost.set_device_class(kUnnamedClass);
    cost.set_forward_ms(ForwardMs(vanilla, recomputed));
    cost.set_backward_ms(vanilla.time_ms - cost.forward_ms());
    op.set_parameter_bytes(std::llround(vanilla.parameter_bytes));
    op.set_activation_bytes(std::llround(std::ceil(vanilla.per_micro_batch_bytes)));
    op.set_workspace_bytes(Workspace(vanilla));
    times_ms_.push_back(vanilla.time_ms);
  }

  void ReadEdges(const json& edges) {
    for (std::size_t index = 0; index < edges.size(); ++index) {
      FieldReader reader(edges[index], absl::StrCat("edges[", index, "]"), violations_);
      for (const char* name : {"sourceId", "destId", "communicationCost"}) reader.Require(name);
      const auto from = ReadEnd(reader, "sourceId");
      const auto to = ReadEnd(reader, "destId");
      const double bytes = Bytes(reader, "communicationCost");
      if (!from.has_value() || !to.has_value()) continue;
      if (*from == *to) {
        reader.Report("destId", "must differ from sourceId: an operator cannot wait for itself");
        continue;
      }
      edges_of_[*from][std::llround(std::ceil(bytes))].insert(*to);
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

  // What the variants of a node, in their order, exchange for an edge to `to`.
  std::vector<int64_t> GatheredFor(const std::vector<const SyncOfVariant*>& syncs, std::size_t to) const {
    std::vector<int64_t> gathered;
    for (const SyncOfVariant* sync : syncs) {
      const auto bytes = sync->backward.find(ids_[to]);
      gathered.push_back(bytes == sync->backward.end() ? 0 : bytes->second);
    }
    return gathered;
  }

  // Every end that syncTimes name is one of an edge.
  void CheckSyncs() {
    std::set<std::pair<std::size_t, std::size_t>> edges;
    for (std::size_t from = 0; from < edges_of_.size(); ++from) {
      for (const auto& [unused, consumers] : edges_of_[from]) {
        for (const std::size_t to : consumers) edges.emplace(from, to);
      }
    }
    for (const SyncOfVariant& sync : syncs_) {
      const auto require = [&](const SyncBytes& bytes, const char* name, bool comes_in) {
        for (const auto& [id, unused] : bytes) {
          const auto other = index_of_.find(id);
          if (other != index_of_.end() &&
              edges.contains(comes_in ? std::pair(other->second, sync.node) : std::pair(sync.node, other->second))) {
            continue;
          }
          violations_.Add(absl::StrCat(sync.path, ".", name),
                          absl::StrCat("must name nodes at the other end of edges ", comes_in ? "to" : "from",
                                       " this one, names ", id));
        }
      };
      require(sync.forward, "syncTimeFw", true);
      require(sync.backward, "syncTimeBw", false);
    }
  }

  void AddExchange(const SyncOfVariant& sync, const std::string& tensor, int64_t bytes) {
    if (bytes == 0) return;
    v1::Operator& op = *request_.mutable_graph()->mutable_operators(static_cast<int>(sync.node));
    v1::OperatorVariant::BoundaryExchange& exchange = *op.mutable_variants(sync.variant)->add_boundary_exchanges();
    exchange.set_tensor(tensor);
    exchange.set_bytes(bytes);
  }

  // Edges of one node that move as many bytes, for which it gathers as many, move the same value.
  void AddTensors() {
    CheckSyncs();
    std::vector<std::vector<const SyncOfVariant*>> syncs_of(edges_of_.size());
    for (const SyncOfVariant& sync : syncs_) {
      if (sync.node < syncs_of.size()) syncs_of[sync.node].push_back(&sync);
    }
    v1::Graph& graph = *request_.mutable_graph();
    for (std::size_t producer = 0; producer < edges_of_.size(); ++producer) {
      std::size_t number = 0;
      std::map<std::pair<int64_t, std::vector<int64_t>>, std::set<std::size_t>> alike;
      for (const auto& [bytes, consumers] : edges_of_[producer]) {
        for (const std::size_t consumer : consumers) {
          alike[{bytes, GatheredFor(syncs_of[producer], consumer)}].insert(consumer);
        }
      }
      for (const auto& [key, consumers] : alike) {
        v1::Tensor& tensor = *graph.add_tensors();
        const std::string& name = graph.operators(static_cast<int>(producer)).name();
        tensor.set_name(absl::StrCat(name, ".out", number == 0 ? "" : absl::StrCat(number)));
        tensor.set_producer(name);
        tensor.set_size_bytes(key.first);
        for (const std::size_t consumer : consumers) {
          tensor.add_consumers(graph.operators(static_cast<int>(consumer)).name());
          for (const SyncOfVariant* sync : syncs_of[consumer]) {
            const auto bytes = sync->forward.find(ids_[producer]);
            if (bytes != sync->forward.end()) AddExchange(*sync, tensor.name(), bytes->second);
          }
        }
        for (std::size_t i = 0; i < syncs_of[producer].size(); ++i) {
          AddExchange(*syncs_of[producer][i], tensor.name(), key.second[i]);
        }
        ++number;
      }
    }
  }

  const double ms_per_unit_;
  v1::CreatePlanRequest& request_;
  ViolationList& violations_;
  std::unordered_map<int64_t, std::size_t> index_of_;
  // By position.
  std::vector<int64_t> ids_;
  std::vector<SyncOfVariant> syncs_;
  // By position of the producer: consumers by the bytes that go to them.
  std::vector<std::map<int64_t, std::set<std::size_t>>> edges_of_;
  std::vector<double> times_ms_;
  bool assumed_forward_share_ = false;
  bool takes_larger_sync_ = false;
};

}  // namespace

absl::Status ReadPiperGraph(std::string_view text, std::string_view source, std::optional<double> ms_per_unit,
                            v1::CreatePlanRequest& request, std::vector<std::string>& warnings) {
  const std::string name(source);
  ViolationList violations;
  PiperReader reader(ms_per_unit.value_or(kMsPerSecond), request, violations);
  reader.Read(json::parse(text));
  if (!violations.empty()) return violations.ToStatus(source);
  if (!ms_per_unit.has_value()) {
    warnings.push_back(absl::StrCat(name, ": times are taken for seconds; --time_unit says otherwise"));
    if (reader.MedianMs() > kIncredibleMs) {
      warnings.push_back(absl::StrFormat(
          "%s: the median node takes %.4g s, which looks 1,000 times too long: public files have milliseconds as well; "
          "--time_unit=ms reads them so",
          name, reader.MedianMs() / kMsPerSecond));
    }
  }
  if (reader.assumed_forward_share()) {
    warnings.push_back(absl::StrCat(name, ": a third of the times is taken for the forward pass, where no variant \"",
                                    kRecomputed, "\" tells"));
  }
  if (reader.takes_larger_sync()) {
    warnings.push_back(absl::StrCat(name, ": where syncTimeFw and syncTimeBw of \"", kVanilla, "\" and \"", kRecomputed,
                                    "\" differ, the larger is taken for both"));
  }
  warnings.push_back(absl::StrCat(name, ": devices, memory and bandwidth are those of the file, which public files ",
                                  "leave at placeholders; --cluster overrules them"));
  return absl::OkStatus();
}

}  // namespace planwright::client
