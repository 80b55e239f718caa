#include "core/cost/traffic.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/cost/transfer.h"

namespace planwright {
namespace {

// One tensor that crosses: from its producer's stage to the others that consume it.
struct Crossing {
  int64_t size_bytes = 0;
  Picoseconds forward{0};
  // What the gradient costs on the way back; 0 where none follows the tensor.
  Picoseconds backward{0};
  std::size_t producer = 0;
  const std::vector<std::size_t>& consumers;
};

// The distinct stages other than the producer's that consume a tensor, in order of first appearance.
class ConsumerStages {
 public:
  ConsumerStages(std::size_t num_stages, const StageMap& stage_of) : stage_of_(stage_of), last_seen_(num_stages, 0) {}

  const std::vector<std::size_t>& Of(const Tensor& tensor) {
    stages_.clear();
    ++round_;
    last_seen_[static_cast<std::size_t>(stage_of_[tensor.producer])] = round_;
    for (const OperatorId consumer : tensor.consumers) {
      if (stage_of_[consumer] == StageMap::kNone) continue;
      const auto stage = static_cast<std::size_t>(stage_of_[consumer]);
      if (std::exchange(last_seen_[stage], round_) != round_) stages_.push_back(stage);
    }
    return stages_;
  }

 private:
  const StageMap& stage_of_;
  std::vector<std::size_t> last_seen_;
  std::vector<std::size_t> stages_;
  std::size_t round_ = 0;
};

class TrafficMeter {
 public:
  TrafficMeter(const Cluster& cluster, const std::vector<Stage>& stages)
      : cluster_(cluster), rules_(RulesOf(cluster.interconnect)), stages_(stages) {
    traffic_.stages.resize(stages.size());
  }

  void Add(const Crossing& crossing) {
    traffic_.stages[crossing.producer].boundary_bytes += crossing.size_bytes;
    if (rules_.pay_once) Pay(crossing.producer, crossing.backward, crossing.forward);
    for (const std::size_t consumer : crossing.consumers) {
      traffic_.stages[consumer].boundary_bytes += crossing.size_bytes;
      Pay(consumer, crossing.forward, crossing.backward);
      if (rules_.pay_once) continue;
      Pay(crossing.producer, crossing.backward, crossing.forward);
      links_[LinkOf(crossing.producer, consumer)] += crossing.forward + crossing.backward;
    }
  }

  Traffic Finish() && {
    for (const auto& [ends, load] : links_) {
      traffic_.links.push_back({DeviceId(ends.first), DeviceId(ends.second), load});
    }
    std::sort(traffic_.links.begin(), traffic_.links.end(), [](const LinkUsage& a, const LinkUsage& b) {
      return std::tie(a.device_a, a.device_b) < std::tie(b.device_a, b.device_b);
    });
    return std::move(traffic_);
  }

 private:
  DeviceId DeviceOf(std::size_t stage) const { return stages_[stage].replicas.front().device; }

  std::pair<std::size_t, std::size_t> LinkOf(std::size_t stage_a, std::size_t stage_b) const {
    return std::minmax({DeviceOf(stage_a).index(), DeviceOf(stage_b).index()});
  }

  void Pay(std::size_t stage, Picoseconds in, Picoseconds out) {
    if (!rules_.cpus_pay && cluster_.class_of(DeviceOf(stage)).kind == DeviceKind::kCpu) return;
    traffic_.stages[stage].in += in;
    traffic_.stages[stage].out += out;
  }

  const Cluster& cluster_;
  const TransferRules rules_;
  const std::vector<Stage>& stages_;
  Traffic traffic_;
  absl::flat_hash_map<std::pair<std::size_t, std::size_t>, Picoseconds> links_;
};

}  // namespace

Traffic MeasureTraffic(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                       const std::vector<Stage>& stages, const StageMap& stage_of) {
  const bool gradients = GradientsFollowTensors(graph, *problem.workload);
  ConsumerStages consumer_stages(stages.size(), stage_of);
  TrafficMeter meter(cluster, stages);
  for (const Tensor& tensor : graph.tensors) {
    if (stage_of[tensor.producer] == StageMap::kNone) continue;
    const std::vector<std::size_t>& consumers = consumer_stages.Of(tensor);
    if (consumers.empty()) continue;
    const Picoseconds time = TensorTransferTime(tensor, cluster.interconnect);
    meter.Add({.size_bytes = tensor.size_bytes,
               .forward = time,
               .backward = gradients ? time : Picoseconds(0),
               .producer = static_cast<std::size_t>(stage_of[tensor.producer]),
               .consumers = consumers});
  }
  return std::move(meter).Finish();
}

}  // namespace planwright
