#include "core/partition/latency/latency_instance.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/union_find.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"
#include "core/model/colocation.h"
#include "core/partition/search/allowed_devices.h"

namespace planwright {
namespace {

// The members of each label, ascending.
std::vector<std::vector<int32_t>> MembersOf(const std::vector<int32_t>& labels) {
  std::vector<std::vector<int32_t>> members;
  for (std::size_t vertex = 0; vertex < labels.size(); ++vertex) {
    if (Index(labels[vertex]) == members.size()) members.emplace_back();
    members[Index(labels[vertex])].push_back(static_cast<int32_t>(vertex));
  }
  return members;
}

class Builder {
 public:
  explicit Builder(const PlanningInput& input) : input_(input) {}

  LatencyInstance Build() {
    AddVertices();
    AddTensors();
    AddGroups();
    AddBundles();
    allowed_ = AllowedDevices(input_.problem, input_.cluster.devices.size(), input_.graph.operators.size(), units_);
    AddAccelerators();
    AddCpus();
    instance_.memory = MemoryOf(input_.graph, input_.problem, units_);
    instance_.memory_is_declared = MemoryForm(input_.problem).is_declared();
    if (input_.problem.max_subgraphs_per_device.has_value() || input_.problem.split == Split::kContiguous) {
      instance_.subgraph_limit = input_.problem.max_subgraphs_per_device.value_or(1);
    }
    return std::move(instance_);
  }

 private:
  const Operator& OperatorOf(std::size_t vertex) const {
    return input_.graph.operators[instance_.operators[vertex].index()];
  }

  void AddVertices() {
    const bool keeps_backward = input_.problem.workload == Workload::kTraining;
    vertex_of_.assign(input_.graph.operators.size(), kDropped);
    for (std::size_t i = 0; i < input_.graph.operators.size(); ++i) {
      const Pass pass = input_.graph.operators[i].pass;
      if (pass == Pass::kBackward && !keeps_backward) continue;
      if (pass == Pass::kBackward) instance_.num_passes = 2;
      vertex_of_[i] = instance_.num_vertices();
      instance_.operators.emplace_back(i);
      units_.push_back({OperatorId(i)});
      instance_.pass.push_back(pass);
    }
  }

  void AddTensors() {
    const MemoryForm form(input_.problem);
    std::vector<Digraph::Edge> edges;
    instance_.tensors_of.resize(instance_.operators.size());
    for (const Tensor& tensor : input_.graph.tensors) {
      const int32_t producer = vertex_of_[tensor.producer.index()];
      if (producer == kDropped) continue;
      LatencyTensor added{.pins = {producer},
                          .transfer = TensorTransferTime(tensor, input_.cluster.interconnect).count(),
                          .buffer_bytes = form.BufferBytes(tensor.size_bytes)};
      for (const OperatorId op : tensor.consumers) {
        const int32_t consumer = vertex_of_[op.index()];
        if (consumer == kDropped) continue;
        added.pins.push_back(consumer);
        edges.emplace_back(producer, consumer);
      }
      if (added.pins.size() < 2) continue;
      for (const int32_t pin : added.pins) {
        instance_.tensors_of[Index(pin)].push_back(static_cast<int32_t>(instance_.tensors.size()));
      }
      instance_.tensors.push_back(std::move(added));
    }
    instance_.precedence = Digraph(instance_.num_vertices(), std::move(edges));
  }

  void AddGroups() {
    const std::vector<int32_t> unions = ColocationUnions(input_.graph, input_.problem);
    for (const OperatorId op : instance_.operators) instance_.group_of.push_back(unions[op.index()]);
    instance_.groups = MembersOf(instance_.group_of);
  }

  void AddBundles() {
    UnionFind unions(instance_.num_vertices());
    std::map<std::pair<std::string, Pass>, int32_t> head;
    for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
      const Operator& op = OperatorOf(Index(vertex));
      if (input_.problem.granularity != Granularity::kLayer || op.layer.empty()) continue;
      unions.Unite(vertex, head.try_emplace({op.layer, op.pass}, vertex).first->second);
    }
    instance_.bundle_of = unions.Labels();
    instance_.bundles = MembersOf(instance_.bundle_of);
  }

  // Adds the pools of accelerators, and the accelerators that are in them.
  void AddPools() {
    instance_.pools = PoolsOf(input_.cluster);
    std::erase_if(instance_.pools, [&](const DevicePool& pool) {
      return input_.cluster.class_of(pool.devices.front()).kind != DeviceKind::kAccelerator;
    });
    for (std::size_t i = 0; i < instance_.pools.size(); ++i) {
      AddTimes(input_.costs, units_, /*has_phases=*/false, instance_.pools[i]);
      for (const DeviceId device : instance_.pools[i].devices) instance_.accelerators.push_back({device, i});
    }
    std::ranges::sort(instance_.accelerators, {}, &LatencyAccelerator::device);
  }

  void AddAccelerators() {
    instance_.allowed.resize(instance_.groups.size());
    AddPools();
    for (const LatencyAccelerator& accelerator : instance_.accelerators) {
      InterruptionPoint(16 * instance_.operators.size());
      const std::vector<bool>& supported = instance_.pools[accelerator.pool].supported;
      for (std::size_t group = 0; group < instance_.groups.size(); ++group) {
        const auto& members = instance_.groups[group];
        instance_.allowed[group].push_back(std::all_of(members.begin(), members.end(), [&](int32_t vertex) {
          return supported[Index(vertex)] && Holds(allowed_[Index(vertex)], accelerator.device.index());
        }));
      }
    }
  }

  void AddCpus() {
    std::vector<bool> has_cpu(instance_.operators.size(), false);
    instance_.cpu_of.resize(instance_.operators.size());
    instance_.cpu_time.resize(instance_.operators.size());
    for (std::size_t i = 0; i < input_.cluster.devices.size(); ++i) {
      const DeviceId device(i);
      if (input_.cluster.class_of(device).kind != DeviceKind::kCpu) continue;
      const std::optional<int64_t> memory_bytes = UsableMemoryBytes(input_.cluster, device);
      if (memory_bytes.has_value()) instance_.cpu_limits.push_back({device, *memory_bytes});
      for (std::size_t vertex = 0; vertex < instance_.operators.size(); ++vertex) {
        const OperatorId op = instance_.operators[vertex];
        const OperatorTime& time = input_.costs.time(op, input_.cluster.devices[i].device_class);
        if (!time.supported || !Holds(allowed_[vertex], i)) continue;
        if (has_cpu[vertex] && time.total().count() >= instance_.cpu_time[vertex]) continue;
        has_cpu[vertex] = true;
        instance_.cpu_of[vertex] = device;
        instance_.cpu_time[vertex] = time.total().count();
      }
    }
    for (const std::vector<int32_t>& members : instance_.groups) {
      instance_.allowed_on_cpu.push_back(
          std::all_of(members.begin(), members.end(), [&](int32_t vertex) { return has_cpu[Index(vertex)]; }));
    }
  }

  const PlanningInput input_;
  // By operator; kDropped: the workload drops it.
  std::vector<int32_t> vertex_of_;
  // What pins and prohibitions leave, by vertex.
  std::vector<DeviceSet> allowed_;
  // Each vertex by itself.
  UnitOperators units_;
  LatencyInstance instance_;
};

}  // namespace

LatencyInstance BuildLatencyInstance(const PlanningInput& input) { return Builder(input).Build(); }

}  // namespace planwright
