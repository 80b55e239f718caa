#include "core/verify/charges.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <variant>

#include "core/base/interruption.h"
#include "core/verify/facts/links.h"

namespace planwright {
namespace {

// One stage that a tensor reaches, with its payer first so that sorting brings payers together.
using Receiver = std::pair<std::size_t, std::size_t>;

// All that flows from one stage to another because of tensors made in one pass: sums over the tensors.
struct Flow {
  // Micro-batch n runs on the sender's replica n mod r and on the receiver's replica n mod r': by n, up to lcm(r, r').
  std::vector<Picoseconds> times;
};

struct FlowKey {
  std::size_t sender = 0;
  std::size_t receiver = 0;
  Pass pass = Pass::kForward;

  auto operator<=>(const FlowKey&) const = default;
};

PassLoad& LoadOfPass(JudgedWork& work, Pass pass) { return pass == Pass::kForward ? work.forward : work.backward; }

// The mean of every `step`-th time from `first` on.
Picoseconds MeanOfEvery(std::size_t step, std::size_t first, const std::vector<Picoseconds>& times) {
  std::vector<Picoseconds> own;
  for (std::size_t n = first; n < times.size(); n += step) own.push_back(times[n]);
  return MeanTime(std::vector<int64_t>(own.size(), 1), own);
}

class Charging {
 public:
  Charging(const ResolvedInput& input, const Assignment& assignment)
      : graph_(input.graph),
        cluster_(input.cluster),
        assignment_(assignment),
        links_(input.cluster.interconnect, input.cluster.devices.size()),
        stages_pay_alone_(input.problem.objective == Objective::kMinLatency),
        is_host_staged_(std::holds_alternative<HostStagedInterconnect>(input.cluster.interconnect)),
        gradients_return_(input.problem.workload == Workload::kTraining && !HasBackwardOperators(input.graph)) {
    for (const Assignment::Stage& stage : assignment.stages) traffic_.replicas.emplace_back(stage.devices.size());
    traffic_.boundary_bytes.resize(assignment.stages.size());
  }

  JudgedTraffic Run() {
    for (const Tensor& tensor : graph_.tensors) Charge(tensor);
    for (const auto& [key, flow] : flows_) ChargeFlow(key, flow);
    FillLinks();
    return std::move(traffic_);
  }

 private:
  // Stages that share a device have the same replicas, so the first one tells devices apart.
  DeviceId HomeOf(std::size_t stage) const { return assignment_.stages[stage].devices.front(); }

  // Stages of the same payer pay as one.
  std::size_t PayerOf(std::size_t stage) const { return stages_pay_alone_ ? stage : HomeOf(stage).index(); }

  // For each payer other than the producer's that consumes the tensor, the first of its stages that does.
  std::vector<Receiver> ReceiversOf(const Tensor& tensor) const {
    InterruptionPoint(32 + 16 * tensor.consumers.size());
    const std::size_t sender = PayerOf(assignment_.stage_index(tensor.producer));
    std::vector<Receiver> receivers;
    for (const OperatorId consumer : tensor.consumers) {
      if (!assignment_.places(consumer)) continue;
      const std::size_t stage = assignment_.stage_index(consumer);
      if (PayerOf(stage) != sender) receivers.emplace_back(PayerOf(stage), stage);
    }
    std::sort(receivers.begin(), receivers.end());
    const auto same_payer = [](const Receiver& a, const Receiver& b) { return a.first == b.first; };
    receivers.erase(std::unique(receivers.begin(), receivers.end(), same_payer), receivers.end());
    return receivers;
  }

  void Charge(const Tensor& tensor) {
    if (!assignment_.places(tensor.producer)) return;
    const std::size_t sender = assignment_.stage_index(tensor.producer);
    const std::vector<Receiver> receivers = ReceiversOf(tensor);
    if (receivers.empty()) return;
    AddBoundary(sender, tensor.size_bytes);
    for (const Receiver& receiver : receivers) AddBoundary(receiver.second, tensor.size_bytes);
    const Pass pass = graph_.operators[tensor.producer.index()].pass;
    if (is_host_staged_) {
      ChargeThroughHost(tensor, pass, sender, receivers);
    } else {
      for (const Receiver& receiver : receivers) AddToFlow(tensor, {sender, receiver.second, pass});
    }
  }

  void AddBoundary(std::size_t stage, int64_t size_bytes) {
    traffic_.boundary_bytes[stage] = SaturatingAdd(traffic_.boundary_bytes[stage], size_bytes);
  }

  // Every accelerator that the tensor is partly on pays once.
  void ChargeThroughHost(const Tensor& tensor, Pass pass, std::size_t sender, const std::vector<Receiver>& receivers) {
    const Picoseconds time = links_.TransferBetween(tensor, HomeOf(sender), HomeOf(receivers.front().second));
    const auto pays = [&](std::size_t stage) {
      return cluster_.class_of(HomeOf(stage)).kind == DeviceKind::kAccelerator;
    };
    if (pays(sender)) {
      for (JudgedWork& replica : traffic_.replicas[sender]) Send(replica, pass, time);
    }
    for (const Receiver& receiver : receivers) {
      if (!pays(receiver.second)) continue;
      for (JudgedWork& replica : traffic_.replicas[receiver.second]) Receive(replica, pass, time);
    }
  }

  // A tensor leaves; its gradient comes back.
  void Send(JudgedWork& replica, Pass pass, Picoseconds time) const {
    LoadOfPass(replica, pass).out += time;
    if (gradients_return_) replica.backward.in += time;
  }

  // A tensor enters; its gradient leaves.
  void Receive(JudgedWork& replica, Pass pass, Picoseconds time) const {
    LoadOfPass(replica, pass).in += time;
    if (gradients_return_) replica.backward.out += time;
  }

  void AddToFlow(const Tensor& tensor, const FlowKey& key) {
    const std::vector<DeviceId>& senders = assignment_.stages[key.sender].devices;
    const std::vector<DeviceId>& receivers = assignment_.stages[key.receiver].devices;
    Flow& flow = flows_[key];
    flow.times.resize(std::lcm(senders.size(), receivers.size()));
    InterruptionPoint(16 * flow.times.size());
    for (std::size_t n = 0; n < flow.times.size(); ++n) {
      flow.times[n] += links_.TransferBetween(tensor, senders[n % senders.size()], receivers[n % receivers.size()]);
    }
  }

  void ChargeFlow(const FlowKey& key, const Flow& flow) {
    std::vector<JudgedWork>& senders = traffic_.replicas[key.sender];
    std::vector<JudgedWork>& receivers = traffic_.replicas[key.receiver];
    for (std::size_t a = 0; a < senders.size(); ++a) {
      Send(senders[a], key.pass, MeanOfEvery(senders.size(), a, flow.times));
    }
    for (std::size_t b = 0; b < receivers.size(); ++b) {
      Receive(receivers[b], key.pass, MeanOfEvery(receivers.size(), b, flow.times));
    }
    AddToLinks(key, flow);
  }

  void AddToLinks(const FlowKey& key, const Flow& flow) {
    const std::vector<DeviceId>& senders = assignment_.stages[key.sender].devices;
    const std::vector<DeviceId>& receivers = assignment_.stages[key.receiver].devices;
    for (std::size_t n = 0; n < flow.times.size(); ++n) {
      const auto [low, high] = std::minmax(senders[n % senders.size()], receivers[n % receivers.size()]);
      link_loads_[{low, high, static_cast<int64_t>(flow.times.size())}] += (gradients_return_ ? 2 : 1) * flow.times[n];
    }
  }

  void FillLinks() {
    for (const auto& [key, load] : link_loads_) {
      const auto& [low, high, period] = key;
      const Picoseconds share(CeilDivide(load.count(), period));
      std::vector<LinkUsage>& links = traffic_.links;
      const bool is_new = links.empty() || links.back().device_a != low || links.back().device_b != high;
      if (is_new) links.push_back({low, high, Picoseconds(0)});
      links.back().load += share;
    }
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const Assignment& assignment_;
  JudgedLinks links_;
  const bool stages_pay_alone_;
  const bool is_host_staged_;
  // Training by backward times: whatever crosses forward comes back as a gradient of the same size.
  const bool gradients_return_;
  std::map<FlowKey, Flow> flows_;
  // By the two devices and how many micro-batches there are to one that crosses.
  std::map<std::tuple<DeviceId, DeviceId, int64_t>, Picoseconds> link_loads_;
  JudgedTraffic traffic_;
};

}  // namespace

PassLoad& PassLoad::operator+=(const PassLoad& other) {
  in += other.in;
  compute += other.compute;
  out += other.out;
  return *this;
}

JudgedWork& JudgedWork::operator+=(const JudgedWork& other) {
  forward += other.forward;
  backward += other.backward;
  return *this;
}

JudgedTraffic ChargeTensors(const ResolvedInput& input, const Assignment& assignment) {
  return Charging(input, assignment).Run();
}

}  // namespace planwright
