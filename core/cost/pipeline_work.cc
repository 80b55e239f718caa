#include "core/cost/pipeline_work.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/index.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/stage_map.h"
#include "core/cost/terms/traffic.h"
#include "core/cost/terms/transfer.h"
#include "core/model/support.h"

namespace planwright {
namespace {

DeviceId FirstDevice(const Stage& stage) { return stage.replicas.front().device; }

// The devices that hold the copies of each stage.
using Copies = std::vector<std::vector<DeviceId>>;

TaskKind KindOf(bool receives, Pass pass) {
  if (pass == Pass::kForward) return receives ? TaskKind::kReceiveForward : TaskKind::kSendForward;
  return receives ? TaskKind::kReceiveBackward : TaskKind::kSendBackward;
}

// Finds the transfers of a micro-batch and what waits for them.
class TransferBuilder {
 public:
  TransferBuilder(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan, const Copies& copies,
                  PipelineWork& work)
      : graph_(graph),
        cluster_(cluster),
        plan_(plan),
        copies_(copies),
        work_(work),
        through_host_(RulesOf(cluster.interconnect).pay_once),
        gradients_(GradientsFollowTensors(graph, plan.problem.workload)),
        stage_of_(graph.operators.size(), plan.stages) {}

  void Build() {
    for (const Tensor& tensor : graph_.tensors) {
      if (stage_of_[tensor.producer] != StageMap::kNone) Add(tensor);
    }
    const auto key = [](const Precedence& precedence) { return std::pair(precedence.before, precedence.after); };
    std::vector<Precedence>& all = work_.precedences;
    std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    all.erase(std::unique(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
              all.end());
  }

 private:
  // The passes of one device, other than the producer's, that consume a tensor.
  struct Consumer {
    DeviceId device;
    // The first of its stages that does: the one that pays.
    int32_t payer = 0;
    std::vector<std::pair<int32_t, Pass>> passes;
  };

  int32_t NodeOf(int32_t stage, Pass pass) const {
    return pass == Pass::kForward ? stage : static_cast<int32_t>(work_.stages.size()) + stage;
  }

  void Wait(int32_t after, int32_t before) { work_.precedences.push_back({before, after}); }

  void Add(const Tensor& tensor) {
    const int32_t producer = stage_of_[tensor.producer];
    const Pass pass = graph_.operators[tensor.producer.index()].pass;
    const bool is_input = graph_.operators[tensor.producer.index()].type == kInputOperatorType;
    if (is_input) work_.stages[Index(producer)].received_bytes += tensor.size_bytes;
    consumers_.clear();
    for (const OperatorId op : tensor.consumers) {
      const int32_t stage = stage_of_[op];
      if (stage != StageMap::kNone && stage != producer) {
        AddConsumer(producer, pass, stage, graph_.operators[op.index()].pass);
      }
    }
    if (consumers_.empty()) return;
    for (const Consumer& consumer : consumers_) {
      if (pass == Pass::kForward) work_.stages[Index(consumer.payer)].received_bytes += tensor.size_bytes;
    }
    if (through_host_) {
      CrossHost(tensor, producer, pass);
    } else {
      for (const Consumer& consumer : consumers_) CrossNetwork(tensor, producer, pass, consumer);
    }
  }

  void AddConsumer(int32_t producer, Pass producer_pass, int32_t stage, Pass pass) {
    const DeviceId device = FirstDevice(plan_.stages[Index(stage)]);
    if (device == FirstDevice(plan_.stages[Index(producer)])) {
      Wait(NodeOf(stage, pass), NodeOf(producer, producer_pass));
      if (gradients_) Wait(NodeOf(producer, Pass::kBackward), NodeOf(stage, Pass::kBackward));
      return;
    }
    auto found = std::find_if(consumers_.begin(), consumers_.end(),
                              [device](const Consumer& consumer) { return consumer.device == device; });
    if (found == consumers_.end()) found = consumers_.insert(found, {device, stage, {}});
    found->payer = std::min(found->payer, stage);
    found->passes.emplace_back(stage, pass);
  }

  // Returns the classes of the links that micro-batches take: they visit the copies of a stage in turn.
  std::set<std::size_t> LinkClasses(int32_t stage, int32_t peer) const {
    if (peer == TransferWork::kHost) return {0};
    const std::vector<DeviceId>& here = copies_[Index(stage)];
    const std::vector<DeviceId>& there = copies_[Index(peer)];
    std::set<std::size_t> link_classes;
    for (std::size_t i = 0; i < std::lcm(here.size(), there.size()); ++i) {
      link_classes.insert(work_.network.LinkClassOf(here[i % here.size()], there[i % there.size()]));
    }
    return link_classes;
  }

  // The transfer of `stage`, made on first use, `time` longer by that of `tensor`. `source` tells apart what one
  // stage receives from several.
  int32_t Extend(const Tensor& tensor, bool receives, Pass pass, int32_t stage, int32_t peer, int32_t source) {
    const auto [found, is_new] =
        known_.try_emplace({receives, pass == Pass::kForward, stage, source}, work_.transfers.size());
    if (is_new) {
      TransferWork& made = work_.transfers.emplace_back();
      made.kind = KindOf(receives, pass);
      made.stage = stage;
      made.peer = peer;
      for (const std::size_t link_class : LinkClasses(stage, peer)) made.times.push_back({link_class, Picoseconds(0)});
    }
    for (auto& [link_class, time] : work_.transfers[found->second].times) {
      time += work_.network.TransferTime(tensor, link_class);
    }
    return static_cast<int32_t>(2 * work_.stages.size() + found->second);
  }

  // Makes two transfers where they occupy the devices, else one on the link.
  void Send(const Tensor& tensor, Pass pass, int32_t from, int32_t to, const std::vector<int32_t>& before,
            const std::vector<int32_t>& after) {
    int32_t last = Extend(tensor, /*receives=*/false, pass, from, to, to);
    for (const int32_t node : before) Wait(last, node);
    if (work_.overlap == Overlap::kSerial) {
      const int32_t received = Extend(tensor, /*receives=*/true, pass, to, from, from);
      Wait(received, last);
      last = received;
    }
    for (const int32_t node : after) Wait(node, last);
  }

  void CrossNetwork(const Tensor& tensor, int32_t producer, Pass pass, const Consumer& consumer) {
    std::vector<int32_t> consuming;
    std::vector<int32_t> gradients;
    for (const auto& [stage, consuming_pass] : consumer.passes) {
      consuming.push_back(NodeOf(stage, consuming_pass));
      gradients.push_back(NodeOf(stage, Pass::kBackward));
    }
    Send(tensor, pass, producer, consumer.payer, {NodeOf(producer, pass)}, consuming);
    if (!gradients_) return;
    Send(tensor, Pass::kBackward, consumer.payer, producer, gradients, {NodeOf(producer, Pass::kBackward)});
  }

  bool IsCpu(int32_t stage) const {
    return cluster_.class_of(FirstDevice(plan_.stages[Index(stage)])).kind == DeviceKind::kCpu;
  }

  // What has the tensors of `stage` in host memory, or has them from there: a copy, or where the stage is in host
  // memory itself `pass_node`.
  int32_t Copy(const Tensor& tensor, bool receives, Pass pass, int32_t stage, int32_t source, int32_t pass_node) {
    return IsCpu(stage) ? pass_node : Extend(tensor, receives, pass, stage, TransferWork::kHost, source);
  }

  void WaitUnlessSame(int32_t after, int32_t before) {
    if (after != before) Wait(after, before);
  }

  void CrossHost(const Tensor& tensor, int32_t producer, Pass pass) {
    constexpr int32_t kAny = TransferWork::kHost;
    const int32_t made = NodeOf(producer, pass);
    const int32_t out = Copy(tensor, /*receives=*/false, pass, producer, kAny, made);
    WaitUnlessSame(out, made);
    for (const Consumer& consumer : consumers_) {
      const int32_t in = Copy(tensor, /*receives=*/true, pass, consumer.payer, producer, out);
      WaitUnlessSame(in, out);
      for (const auto& [stage, consuming_pass] : consumer.passes) Wait(NodeOf(stage, consuming_pass), in);
    }
    if (gradients_) GradientsCrossHost(tensor, producer);
  }

  void GradientsCrossHost(const Tensor& tensor, int32_t producer) {
    constexpr int32_t kAny = TransferWork::kHost;
    const int32_t wanted = NodeOf(producer, Pass::kBackward);
    const int32_t in = Copy(tensor, /*receives=*/true, Pass::kBackward, producer, kAny, wanted);
    WaitUnlessSame(wanted, in);
    for (const Consumer& consumer : consumers_) {
      const int32_t out = Copy(tensor, /*receives=*/false, Pass::kBackward, consumer.payer, kAny, in);
      WaitUnlessSame(in, out);
      for (const auto& [stage, pass] : consumer.passes) Wait(out, NodeOf(stage, Pass::kBackward));
    }
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const Plan& plan_;
  const Copies& copies_;
  PipelineWork& work_;
  const bool through_host_;
  const bool gradients_;
  const StageMap stage_of_;
  // Who consumes the tensor at hand.
  std::vector<Consumer> consumers_;
  absl::flat_hash_map<std::tuple<bool, bool, int32_t, int32_t>, std::size_t> known_;
};

// Memory that grows with micro-batches in flight.
int64_t StoredBytes(const OperatorGraph& graph, const ResolvedProblem& problem,
                    const std::vector<OperatorId>& operators) {
  return StageMemoryBytes(graph, problem, operators, 0, 1) - StageMemoryBytes(graph, problem, operators, 0, 0);
}

StageWork MeasureStage(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, const Plan& plan,
                       const Stage& stage) {
  StageWork work;
  const DeviceClassId class_id = cluster.devices[FirstDevice(stage).index()].device_class;
  const DeviceClass& device_class = cluster.device_classes[class_id.index()];
  for (const OperatorId id : stage.operators) {
    const Operator& op = graph.operators[id.index()];
    const OperatorTime& time = costs.time(id, class_id);
    work.forward += time.forward;
    work.backward += time.backward;
    const OperatorCost* cost = MeasuredCost(op, device_class);
    if (cost != nullptr && op.pass == Pass::kForward) {
      work.backward_weight += std::min(cost->backward_weight, time.backward);
    }
    work.largest_stored_bytes = std::max(work.largest_stored_bytes, StoredBytes(graph, plan.problem, {id}));
  }
  work.stored_bytes = StoredBytes(graph, plan.problem, stage.operators);
  work.allreduce = stage.allreduce;
  work.transfer_slots = stage.transfer_slots;
  return work;
}

// The devices that hold `copies[s]` of each stage s, and what each of them keeps.
void AddDevices(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan, const Copies& copies,
                PipelineWork& work) {
  const Traffic traffic = MeasureTraffic(graph, cluster, work.network, plan.problem, plan.stages,
                                         StageMap(graph.operators.size(), plan.stages));
  struct Held {
    std::vector<OperatorId> operators;
    int64_t boundary_bytes = 0;
    std::vector<std::pair<std::size_t, std::size_t>> copies;
  };
  std::vector<Held> held(cluster.devices.size());
  for (std::size_t stage = 0; stage < copies.size(); ++stage) {
    work.stages[stage].devices.resize(copies[stage].size());
    for (std::size_t copy = 0; copy < copies[stage].size(); ++copy) {
      Held& device = held[copies[stage][copy].index()];
      device.operators.insert(device.operators.end(), plan.stages[stage].operators.begin(),
                              plan.stages[stage].operators.end());
      device.boundary_bytes += traffic.stages[stage].boundary_bytes;
      device.copies.emplace_back(stage, copy);
    }
  }
  for (std::size_t device = 0; device < held.size(); ++device) {
    const Held& here = held[device];
    if (here.copies.empty()) continue;
    for (const auto& [stage, copy] : here.copies) {
      work.stages[stage].devices[copy] = static_cast<int32_t>(work.devices.size());
    }
    work.devices.push_back(
        {.id = DeviceId(device),
         .name = cluster.devices[device].name,
         .static_bytes = StageMemoryBytes(graph, plan.problem, here.operators, here.boundary_bytes, /*in_flight=*/0)});
  }
}

PipelineWork MeasureWork(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs, const Plan& plan,
                         const Copies& copies) {
  PipelineWork work{costs.network()};
  work.overlap = plan.problem.overlap;
  work.through_host = RulesOf(cluster.interconnect).pay_once;
  work.training = plan.problem.workload == Workload::kTraining;
  work.stages.reserve(plan.stages.size());
  for (const Stage& stage : plan.stages) work.stages.push_back(MeasureStage(graph, cluster, costs, plan, stage));
  TransferBuilder(graph, cluster, plan, copies, work).Build();
  AddDevices(graph, cluster, plan, copies, work);
  return work;
}

}  // namespace

Picoseconds TransferWork::TimeOver(std::size_t link_class) const {
  const auto before = [](const ClassTime& link, std::size_t of) { return link.link_class < of; };
  return std::lower_bound(times.begin(), times.end(), link_class, before)->time;
}

Picoseconds TransferWork::LongestTime() const {
  const auto shorter = [](const ClassTime& a, const ClassTime& b) { return a.time < b.time; };
  return std::max_element(times.begin(), times.end(), shorter)->time;
}

PipelineWork MeasurePipelineWork(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                                 const Plan& plan) {
  Copies copies;
  for (const Stage& stage : plan.stages) {
    std::vector<DeviceId>& devices = copies.emplace_back();
    for (const Replica& replica : stage.replicas) devices.push_back(replica.device);
  }
  return MeasureWork(graph, cluster, costs, plan, copies);
}

PipelineWork MeasureBidirectionalWork(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                                      const Plan& plan) {
  Copies copies;
  copies.reserve(plan.stages.size());
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    copies.push_back({FirstDevice(plan.stages[stage]), FirstDevice(plan.stages[plan.stages.size() - 1 - stage])});
  }
  PipelineWork work = MeasureWork(graph, cluster, costs, plan, copies);
  if (!work.training) return work;
  for (std::size_t stage = 0; stage < copies.size(); ++stage) {
    work.stages[stage].allreduce = AllReduceTime(ParameterBytes(graph, plan.stages[stage].operators), 2,
                                                 RingSpeed(work.network, copies[stage]), plan.problem.allreduce.factor);
  }
  return work;
}

}  // namespace planwright
