#include "core/cost/terms/traffic.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/index.h"
#include "core/base/interruption.h"

namespace planwright {
namespace {

// What pays as one for the tensors that cross its border, by stage: a device, with all the stages that it holds, or a
// single stage (MIN_LATENCY). Stages that share a device have the same replicas, so the first of them stands for all.
std::vector<std::size_t> PayersOf(const ResolvedProblem& problem, const std::vector<Stage>& stages) {
  return MappedNumbers(stages.size(), [&](std::size_t i) {
    return problem.objective == Objective::kMinLatency ? i : stages[i].replicas.front().device.index();
  });
}

// The stages at which the consumers of a tensor pay: for each payer that consumes it, other than the producer's, the
// first of its stages that does. In order of the payers' first appearance.
class ConsumerStages {
 public:
  ConsumerStages(std::vector<std::size_t> payer_of, const StageMap& stage_of)
      : payer_of_(std::move(payer_of)),
        stage_of_(stage_of),
        last_seen_(payer_of_.empty() ? 0 : *std::max_element(payer_of_.begin(), payer_of_.end()) + 1) {}

  const std::vector<std::size_t>& Of(const Tensor& tensor) {
    stages_.clear();
    ++round_;
    last_seen_[payer_of_[static_cast<std::size_t>(stage_of_[tensor.producer])]] = {round_, kProducer};
    for (const OperatorId consumer : tensor.consumers) {
      if (stage_of_[consumer] != StageMap::kNone) Add(static_cast<std::size_t>(stage_of_[consumer]));
    }
    return stages_;
  }

 private:
  static constexpr auto kProducer = static_cast<std::size_t>(-1);

  struct Seen {
    std::size_t round = 0;
    // In stages_, or kProducer.
    std::size_t position = 0;
  };

  void Add(std::size_t stage) {
    Seen& seen = last_seen_[payer_of_[stage]];
    if (seen.round != round_) {
      seen = {round_, stages_.size()};
      stages_.push_back(stage);
    } else if (seen.position != kProducer) {
      stages_[seen.position] = std::min(stages_[seen.position], stage);
    }
  }

  // By stage.
  const std::vector<std::size_t> payer_of_;
  const StageMap& stage_of_;
  // By payer.
  std::vector<Seen> last_seen_;
  std::vector<std::size_t> stages_;
  std::size_t round_ = 0;
};

// One tensor that crosses: from its producer's stage to those that pay as its consumers.
struct Crossing {
  const Tensor& tensor;
  // The pass of the producer; gradients that follow belong to the backward pass.
  Pass pass = Pass::kForward;
  std::size_t producer = 0;
  const std::vector<std::size_t>& consumers;
};

PassTraffic& Of(ReplicaTraffic& traffic, Pass pass) {
  return pass == Pass::kForward ? traffic.forward : traffic.backward;
}

// Every accelerator pays once for a tensor that is partly on it; replicas of a stage pay alike.
class HostStagedMeter {
 public:
  HostStagedMeter(const Cluster& cluster, const Network& network, bool gradients, const std::vector<Stage>& stages)
      : cluster_(cluster), network_(network), gradients_(gradients), stages_(stages), traffic_(stages.size()) {}

  void Add(const Crossing& crossing) {
    const Picoseconds time = network_.TransferTime(crossing.tensor, 0);
    Of(traffic_[crossing.producer], crossing.pass).out += time;
    if (gradients_) traffic_[crossing.producer].backward.in += time;
    for (const std::size_t consumer : crossing.consumers) {
      Of(traffic_[consumer], crossing.pass).in += time;
      if (gradients_) traffic_[consumer].backward.out += time;
    }
  }

  void Finish(Traffic& traffic) const {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const bool pays = cluster_.class_of(stages_[i].replicas.front().device).kind == DeviceKind::kAccelerator;
      traffic.stages[i].replicas.assign(stages_[i].replicas.size(), pays ? traffic_[i] : ReplicaTraffic());
    }
  }

 private:
  const Cluster& cluster_;
  const Network& network_;
  const bool gradients_;
  const std::vector<Stage>& stages_;
  std::vector<ReplicaTraffic> traffic_;
};

// Visits the pairs of replicas that exchange micro-batches when micro-batch n runs on replica n mod R: those that are
// equal modulo the greatest common divisor. Each serves one of lcm(R, R') micro-batches.
template <typename Visit>
void ForEachPartnership(std::size_t replicas_a, std::size_t replicas_b, Visit visit) {
  const std::size_t divisor = std::gcd(replicas_a, replicas_b);
  for (std::size_t a = 0; a < replicas_a; ++a) {
    for (std::size_t b = a % divisor; b < replicas_b; b += divisor) visit(a, b);
  }
}

// Both ends pay each transfer from one stage to another, over the links of their replicas.
class NetworkMeter {
 public:
  NetworkMeter(const Network& network, bool gradients, const std::vector<Stage>& stages)
      : network_(network), gradients_(gradients), stages_(stages) {}

  void Add(const Crossing& crossing) {
    for (const std::size_t consumer : crossing.consumers) {
      Flow& flow = FlowBetween(crossing.producer, consumer);
      std::vector<Picoseconds>& times = crossing.pass == Pass::kForward ? flow.forward : flow.backward;
      for (std::size_t i = 0; i < flow.link_classes.size(); ++i) {
        times[i] += network_.TransferTime(crossing.tensor, flow.link_classes[i]);
      }
    }
  }

  void Finish(Traffic& traffic) {
    for (std::size_t i = 0; i < stages_.size(); ++i) traffic.stages[i].replicas.resize(stages_[i].replicas.size());
    for (const auto& [ends, flow] : flows_) {
      Charge(ends.first, ends.second, flow, traffic);
      AddToLinks(ends.first, ends.second, flow);
    }
    traffic.links = Links();
  }

 private:
  // All tensors from one stage to another. Lists are parallel.
  struct Flow {
    std::vector<std::size_t> link_classes;
    // Time over a link of the class, by the pass of the producer.
    std::vector<Picoseconds> forward;
    std::vector<Picoseconds> backward;
  };

  struct LinkLoad {
    Picoseconds undivided{0};
    int64_t micro_batches_per_use = 1;
  };

  std::size_t LinkClassOf(std::size_t stage_a, std::size_t replica_a, std::size_t stage_b,
                          std::size_t replica_b) const {
    return network_.LinkClassOf(stages_[stage_a].replicas[replica_a].device,
                                stages_[stage_b].replicas[replica_b].device);
  }

  Flow& FlowBetween(std::size_t producer, std::size_t consumer) {
    const auto [found, is_new] = flows_.try_emplace({producer, consumer});
    Flow& flow = found->second;
    if (!is_new) return flow;
    ForEachPartnership(stages_[producer].replicas.size(), stages_[consumer].replicas.size(),
                       [&](std::size_t a, std::size_t b) {
                         const std::size_t link_class = LinkClassOf(producer, a, consumer, b);
                         InterruptionPoint(4 + flow.link_classes.size() / 2);
                         const auto known = std::find(flow.link_classes.begin(), flow.link_classes.end(), link_class);
                         if (known == flow.link_classes.end()) flow.link_classes.push_back(link_class);
                       });
    flow.forward.resize(flow.link_classes.size());
    flow.backward.resize(flow.link_classes.size());
    return flow;
  }

  static std::size_t PositionOf(const Flow& flow, std::size_t link_class) {
    const auto found = std::find(flow.link_classes.begin(), flow.link_classes.end(), link_class);
    InterruptionPoint(4 + flow.link_classes.size() / 2);
    return static_cast<std::size_t>(found - flow.link_classes.begin());
  }

  void Charge(std::size_t producer, std::size_t consumer, const Flow& flow, Traffic& traffic) const {
    std::vector<ReplicaTraffic>& producers = traffic.stages[producer].replicas;
    std::vector<ReplicaTraffic>& consumers = traffic.stages[consumer].replicas;
    // [replica][position in flow.link_classes]: how many of its partners links of that class lead to.
    std::vector<std::vector<int64_t>> out(producers.size(), std::vector<int64_t>(flow.link_classes.size(), 0));
    std::vector<std::vector<int64_t>> in(consumers.size(), std::vector<int64_t>(flow.link_classes.size(), 0));
    ForEachPartnership(producers.size(), consumers.size(), [&](std::size_t a, std::size_t b) {
      const std::size_t position = PositionOf(flow, LinkClassOf(producer, a, consumer, b));
      ++out[a][position];
      ++in[b][position];
    });
    for (std::size_t a = 0; a < producers.size(); ++a) {
      const Picoseconds forward = MeanTime(out[a], flow.forward);
      producers[a].forward.out += forward;
      producers[a].backward.out += MeanTime(out[a], flow.backward);
      if (gradients_) producers[a].backward.in += forward;
    }
    for (std::size_t b = 0; b < consumers.size(); ++b) {
      const Picoseconds forward = MeanTime(in[b], flow.forward);
      consumers[b].forward.in += forward;
      consumers[b].backward.in += MeanTime(in[b], flow.backward);
      if (gradients_) consumers[b].backward.out += forward;
    }
  }

  void AddToLinks(std::size_t producer, std::size_t consumer, const Flow& flow) {
    const std::vector<Replica>& producers = stages_[producer].replicas;
    const std::vector<Replica>& consumers = stages_[consumer].replicas;
    const auto micro_batches_per_use = static_cast<int64_t>(std::lcm(producers.size(), consumers.size()));
    ForEachPartnership(producers.size(), consumers.size(), [&](std::size_t a, std::size_t b) {
      const std::size_t position = PositionOf(flow, LinkClassOf(producer, a, consumer, b));
      LinkLoad& load = links_[std::minmax({producers[a].device.index(), consumers[b].device.index()})];
      load.undivided += (gradients_ ? 2 : 1) * flow.forward[position] + flow.backward[position];
      load.micro_batches_per_use = micro_batches_per_use;
    });
  }

  std::vector<LinkUsage> Links() const {
    std::vector<LinkUsage> links;
    links.reserve(links_.size());
    for (const auto& [ends, load] : links_) {
      const Picoseconds share(CeilDivide(load.undivided.count(), load.micro_batches_per_use));
      links.push_back({DeviceId(ends.first), DeviceId(ends.second), share});
    }
    std::sort(links.begin(), links.end(), [](const LinkUsage& a, const LinkUsage& b) {
      return std::tie(a.device_a, a.device_b) < std::tie(b.device_a, b.device_b);
    });
    return links;
  }

  const Network& network_;
  const bool gradients_;
  const std::vector<Stage>& stages_;
  absl::flat_hash_map<std::pair<std::size_t, std::size_t>, Flow> flows_;
  absl::flat_hash_map<std::pair<std::size_t, std::size_t>, LinkLoad> links_;
};

// Hands every tensor that crosses to the meter.
template <typename Meter>
Traffic Measure(const OperatorGraph& graph, ConsumerStages consumer_stages, std::size_t num_stages,
                const StageMap& stage_of, Meter meter) {
  Traffic traffic;
  traffic.stages.resize(num_stages);
  for (const Tensor& tensor : graph.tensors) {
    InterruptionPoint(16 + 8 * tensor.consumers.size());
    if (stage_of[tensor.producer] == StageMap::kNone) continue;
    const std::vector<std::size_t>& consumers = consumer_stages.Of(tensor);
    if (consumers.empty()) continue;
    const auto producer = static_cast<std::size_t>(stage_of[tensor.producer]);
    traffic.stages[producer].boundary_bytes += tensor.size_bytes;
    for (const std::size_t consumer : consumers) traffic.stages[consumer].boundary_bytes += tensor.size_bytes;
    meter.Add({.tensor = tensor,
               .pass = graph.operators[tensor.producer.index()].pass,
               .producer = producer,
               .consumers = consumers});
  }
  meter.Finish(traffic);
  return traffic;
}

}  // namespace

Traffic MeasureTraffic(const OperatorGraph& graph, const Cluster& cluster, const Network& network,
                       const ResolvedProblem& problem, const std::vector<Stage>& stages, const StageMap& stage_of) {
  const bool gradients = GradientsFollowTensors(graph, problem.workload);
  ConsumerStages consumers(PayersOf(problem, stages), stage_of);
  if (RulesOf(cluster.interconnect).pay_once) {
    return Measure(graph, std::move(consumers), stages.size(), stage_of,
                   HostStagedMeter(cluster, network, gradients, stages));
  }
  return Measure(graph, std::move(consumers), stages.size(), stage_of, NetworkMeter(network, gradients, stages));
}

}  // namespace planwright
