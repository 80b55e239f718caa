#include "core/joint/roundrobin/round_robin_instance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <variant>

#include "core/base/ids.h"
#include "core/base/known.h"
#include "core/cost/terms/cost_table.h"
#include "core/joint/operators/operator_share.h"

namespace planwright {
namespace {

// The most that a sum over all operators or tensors may be; WhatIsTooMuch tells what is above it.
constexpr double kMost = 0x1p60;

// Rounded up, but for what doubles are off by where a number lies between those of two variants.
int64_t Whole(double value) {
  // Four such leave 63 bits.
  const double clamped = std::min(value, 1.5 * kMost);
  const double off = std::max(1e-3, 1e-14 * clamped);
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(clamped - off)));
}

// Sizes of memory, the most first, that each stand for the ones down to the next: all of them, or as many as are told
// apart, divided where they are furthest apart.
std::vector<int64_t> FirstsOfGroups(const std::vector<int64_t>& sizes) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (std::size_t i = 1; i < sizes.size(); ++i) steps.emplace_back(sizes[i] - sizes[i - 1], sizes[i]);
  // The widest first, of these the largest sizes.
  std::sort(steps.begin(), steps.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; });
  steps.resize(std::min(steps.size(), kMostRoundRobinMemories - 1));
  std::vector<int64_t> firsts{sizes.front()};
  for (const auto& [step, size] : steps) firsts.push_back(size);
  std::sort(firsts.begin(), firsts.end(), std::greater<>());
  return firsts;
}

// `bytes` of each device.
std::vector<RoundRobinMemory> MemoriesOf(std::vector<int64_t> bytes) {
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  std::vector<int64_t> sizes = bytes;
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const std::vector<int64_t> firsts = FirstsOfGroups(sizes);
  std::vector<RoundRobinMemory> memories;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (memories.size() < firsts.size() && bytes[i] == firsts[memories.size()]) memories.push_back({.bytes = bytes[i]});
    memories.back() = {.bytes = bytes[i], .devices = static_cast<int64_t>(i) + 1};
  }
  return memories;
}

class Builder {
 public:
  Builder(const OperatorGraph& graph, const Cluster& cluster, const ResolvedProblem& problem,
          const std::vector<DeviceId>& devices)
      : graph_(graph),
        cluster_(cluster),
        problem_(problem),
        joint_(Known(problem.joint)),
        devices_(devices),
        samples_(joint_.micro_batch_samples.front()) {}

  RoundRobinInstance Build() {
    OrderOperators();
    AddEdges();
    instance_.tensor_degrees = joint_.tensor_degrees;
    for (const int32_t degree : joint_.tensor_degrees) AddDegree(degree);
    instance_.micro_batches = joint_.global_batch / samples_;
    instance_.devices = static_cast<int64_t>(devices_.size());
    const int64_t most = std::min(instance_.micro_batches, instance_.devices);
    for (int32_t degree = 1; degree <= most; ++degree) {
      const std::vector<int32_t>& allowed = joint_.data_degrees;
      const bool may_be = allowed.empty() || std::find(allowed.begin(), allowed.end(), degree) != allowed.end();
      if (may_be && instance_.micro_batches % degree == 0) instance_.data_degrees.push_back(degree);
    }
    AddMemories();
    instance_.reserved_bytes = problem_.memory_model.reserved_bytes;
    const auto& uniform = std::get<UniformInterconnect>(cluster_.interconnect);
    instance_.bytes_per_second = std::llround(std::clamp(Known(uniform.bandwidth_bytes_per_second), 1.0, 0x1p62));
    instance_.num_stages = joint_.num_stages;
    return std::move(instance_);
  }

 private:
  void OrderOperators() {
    instance_.ids = AllIds<OperatorId>(graph_.operators.size());
    std::sort(instance_.ids.begin(), instance_.ids.end(), [&](OperatorId a, OperatorId b) {
      return graph_.operators[a.index()].name < graph_.operators[b.index()].name;
    });
    position_.resize(instance_.ids.size());
    for (std::size_t i = 0; i < instance_.ids.size(); ++i) {
      position_[instance_.ids[i].index()] = static_cast<int32_t>(i);
    }
  }

  void AddMemories() {
    std::vector<int64_t> bytes;
    bytes.reserve(devices_.size());
    for (const DeviceId device : devices_) {
      bytes.push_back(UsableMemoryBytes(cluster_, device).value_or(int64_t{1} << 61));
    }
    const bool are_all_told_apart = std::set<int64_t>(bytes.begin(), bytes.end()).size() <= kMostRoundRobinMemories;
    instance_.leaves_out_memory = !are_all_told_apart;
    instance_.most_memory_bytes = *std::max_element(bytes.begin(), bytes.end());
    instance_.memories = MemoriesOf(std::move(bytes));
  }

  void AddEdges() {
    for (std::size_t tensor = 0; tensor < graph_.tensors.size(); ++tensor) {
      for (const OperatorId consumer : graph_.tensors[tensor].consumers) {
        instance_.edges.push_back({position_[graph_.tensors[tensor].producer.index()], position_[consumer.index()]});
        tensor_of_edge_.push_back(tensor);
      }
    }
  }

  void AddDegree(int32_t degree) {
    const CostTable costs(graph_, cluster_, Workload::kTraining);
    const DeviceClassId device_class = cluster_.devices[devices_.front().index()].device_class;
    const DeviceClass& device = cluster_.device_classes[device_class.index()];
    auto& operators = instance_.operators.emplace_back();
    std::vector<std::optional<OperatorShare>> shares(graph_.operators.size());
    for (const OperatorId id : instance_.ids) {
      std::vector<OperatorChoice> choices =
          ChoicesOf(graph_.operators[id.index()], device, costs.time(id, device_class),
                    {{.tensor = degree}, samples_, graph_.samples_per_micro_batch});
      std::optional<OperatorShare>& share = shares[id.index()];
      if (!choices.empty()) share = std::move(choices.front().share);
      operators.push_back(share.has_value() ? std::optional(Priced(*share)) : std::nullopt);
    }
    auto& bytes = instance_.edge_bytes.emplace_back();
    for (std::size_t edge = 0; edge < instance_.edges.size(); ++edge) {
      const Tensor& moved = graph_.tensors[tensor_of_edge_[edge]];
      const double whole = static_cast<double>(moved.size_bytes) * static_cast<double>(samples_) /
                           static_cast<double>(graph_.samples_per_micro_batch);
      const std::optional<OperatorShare>& maker = shares[moved.producer.index()];
      const double sent = maker.has_value() ? maker->output.value_or(whole) : whole;
      const OperatorId reader = instance_.ids[static_cast<std::size_t>(instance_.edges[edge].to)];
      bytes.push_back({.entering = Whole(sent) + Exchanged(shares[reader.index()], moved.name),
                       .leaving = Whole(sent) + Exchanged(maker, moved.name)});
    }
  }

  static int64_t Exchanged(const std::optional<OperatorShare>& share, const std::string& tensor) {
    if (!share.has_value()) return 0;
    const auto found = share->exchanged.find(tensor);
    return found == share->exchanged.end() ? 0 : Whole(found->second);
  }

  RoundRobinOperator Priced(const OperatorShare& share) const {
    const ResolvedMemory& memory = problem_.memory_model;
    const int64_t parameters = Whole(share.parameters);
    const auto copies = [&](double factor) { return Whole(static_cast<double>(parameters) * factor); };
    RoundRobinOperator op{.forward_ps = Whole(share.forward),
                          .backward_ps = Whole(share.backward),
                          .parameter_bytes = parameters,
                          .kept_bytes = Whole(share.kept),
                          .versions_bytes = copies(memory.weight_versions),
                          .gradients_bytes = copies(memory.gradient_copies),
                          .optimizer_bytes = copies(memory.optimizer_bytes_per_parameter_byte),
                          .workspace_bytes = Whole(share.workspace),
                          .again = std::nullopt};
    const std::vector<LayerRecomputation>& modes = joint_.recomputation;
    const bool may_be = std::find(modes.begin(), modes.end(), LayerRecomputation::kFull) != modes.end();
    if (share.again.has_value() && may_be) {
      op.again = {.extra_ps = Whole(share.again->extra),
                  .kept_bytes = Whole(share.again->kept),
                  .workspace_bytes = Whole(share.again->workspace)};
    }
    return op;
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  const JointSettings& joint_;
  const std::vector<DeviceId>& devices_;
  const int64_t samples_;
  RoundRobinInstance instance_;
  // By number in the graph.
  std::vector<int32_t> position_;
  std::vector<std::size_t> tensor_of_edge_;
};

}  // namespace

Violations WhatIsTooMuch(const RoundRobinInstance& instance) {
  bool takes_too_long = false;
  bool holds_too_much = false;
  bool sends_too_much = false;
  for (std::size_t degree = 0; degree < instance.tensor_degrees.size(); ++degree) {
    double time = 0;
    double held = 0;
    double sent = 0;
    for (const auto& op : instance.operators[degree]) {
      if (!op.has_value()) continue;
      time += static_cast<double>(op->forward_ps) + static_cast<double>(op->backward_ps);
      held += static_cast<double>(op->kept_bytes) + static_cast<double>(op->fixed_bytes()) +
              static_cast<double>(op->parameter_bytes);
      if (!op->again.has_value()) continue;
      time += static_cast<double>(op->again->extra_ps);
      held += static_cast<double>(op->again->kept_bytes) + static_cast<double>(op->again->workspace_bytes);
    }
    for (const RoundRobinBytes& bytes : instance.edge_bytes[degree]) {
      sent += static_cast<double>(bytes.entering) + static_cast<double>(bytes.leaving);
    }
    takes_too_long = takes_too_long || time >= kMost;
    holds_too_much = holds_too_much || held >= kMost;
    sends_too_much = sends_too_much || sent >= kMost;
  }
  Violations violations;
  if (takes_too_long) violations.Add("graph.operators", "must take less than 320 hours in all for a micro-batch");
  if (holds_too_much) violations.Add("graph.operators", "must hold less than 2^60 bytes in all");
  if (sends_too_much) violations.Add("graph.tensors", "must have less than 2^60 bytes in all");
  return violations;
}

RoundRobinInstance MakeRoundRobinInstance(const OperatorGraph& graph, const Cluster& cluster,
                                          const ResolvedProblem& problem, const std::vector<DeviceId>& devices) {
  return Builder(graph, cluster, problem, devices).Build();
}

RoundRobinInstance WithMostMemory(RoundRobinInstance instance) {
  instance.memories = {{.bytes = instance.most_memory_bytes, .devices = instance.devices}};
  instance.leaves_out_memory = false;
  return instance;
}

}  // namespace planwright
