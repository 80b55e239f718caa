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
  // [sender's replica][receiver's replica]; 0 where the two never meet.
  std::vector<std::vector<Picoseconds>> times;
};

struct FlowKey {
  std::size_t sender = 0;
  std::size_t receiver = 0;
  Pass pass = Pass::kForward;

  auto operator<=>(const FlowKey&) const = default;
};

PassLoad& LoadOfPass(JudgedWork& work, Pass pass) { return pass == Pass::kForward ? work.forward : work.backward; }

// Whether some micro-batch runs on both replicas: n = a mod r and n = b mod r'.
bool Meet(std::size_t a, std::size_t replicas_a, std::size_t b, std::size_t replicas_b) {
  const std::size_t divisor = std::gcd(replicas_a, replicas_b);
  return a % divisor == b % divisor;
}

// [a][b]: 1 where the two replicas meet, else 0.
std::vector<std::vector<int64_t>> Meetings(std::size_t replicas_a, std::size_t replicas_b) {
  std::vector<std::vector<int64_t>> meetings(replicas_a, std::vector<int64_t>(replicas_b));
  for (std::size_t a = 0; a < replicas_a; ++a) {
    InterruptionPoint(16 * replicas_b);
    for (std::size_t b = 0; b < replicas_b; ++b) meetings[a][b] = Meet(a, replicas_a, b, replicas_b) ? 1 : 0;
  }
  return meetings;
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
    flow.times.resize(senders.size(), std::vector<Picoseconds>(receivers.size()));
    for (std::size_t a = 0; a < senders.size(); ++a) {
      for (std::size_t b = 0; b < receivers.size(); ++b) {
        if (!Meet(a, senders.size(), b, receivers.size())) continue;
        flow.times[a][b] += links_.TransferBetween(tensor, senders[a], receivers[b]);
      }
    }
  }

  void ChargeFlow(const FlowKey& key, const Flow& flow) {
    std::vector<JudgedWork>& senders = traffic_.replicas[key.sender];
    std::vector<JudgedWork>& receivers = traffic_.replicas[key.receiver];
    const std::vector<std::vector<int64_t>> meetings = Meetings(senders.size(), receivers.size());
    for (std::size_t a = 0; a < senders.size(); ++a) {
      Send(senders[a], key.pass, MeanTime(meetings[a], flow.times[a]));
    }
    std::vector<int64_t> met(senders.size());
    std::vector<Picoseconds> times(senders.size());
    for (std::size_t b = 0; b < receivers.size(); ++b) {
      for (std::size_t a = 0; a < senders.size(); ++a) {
        met[a] = meetings[a][b];
        times[a] = flow.times[a][b];
      }
      Receive(receivers[b], key.pass, MeanTime(met, times));
    }
    AddToLinks(key, flow);
  }

  void AddToLinks(const FlowKey& key, const Flow& flow) {
    const std::vector<DeviceId>& senders = assignment_.stages[key.sender].devices;
    const std::vector<DeviceId>& receivers = assignment_.stages[key.receiver].devices;
    const auto period = static_cast<int64_t>(std::lcm(senders.size(), receivers.size()));
    for (std::size_t a = 0; a < senders.size(); ++a) {
      for (std::size_t b = 0; b < receivers.size(); ++b) {
        if (!Meet(a, senders.size(), b, receivers.size())) continue;
        const auto [low, high] = std::minmax(senders[a], receivers[b]);
        link_loads_[{low, high, period}] += (gradients_return_ ? 2 : 1) * flow.times[a][b];
      }
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
