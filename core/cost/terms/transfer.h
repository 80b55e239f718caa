// Time of one transfer, and what a tensor that crosses a border costs the two sides (docs/cost-model.md sections 4, 5).
#ifndef PLANWRIGHT_CORE_COST_TERMS_TRANSFER_H_
#define PLANWRIGHT_CORE_COST_TERMS_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/topology/pair_classes.h"

namespace planwright {

// How `interconnect` charges for tensors.
struct TransferRules {
  // A device pays once for a tensor that is partly on it (host_staged). Otherwise the producing device pays once for
  // each other device that consumes the tensor, and each of those once.
  bool pay_once = true;
  bool cpus_pay = false;
};
TransferRules RulesOf(const Interconnect& interconnect);

// Whether a tensor's own transfer time holds: where all pairs of devices are connected alike (host_staged, uniform).
bool GivenTimesCount(const Interconnect& interconnect);

// How fast two devices are connected.
struct LinkSpeed {
  // nullopt: every tensor has a transfer time of its own.
  std::optional<double> bandwidth_bytes_per_second;
  Picoseconds latency{0};
};

// Returns a link no faster than either: the least bandwidth and the greatest latency.
LinkSpeed Slower(const LinkSpeed& a, const LinkSpeed& b);

// The speed of the link between any two devices. Pairs of equal speed form a *link class*, so that what crosses between
// many pairs is counted once for each class:
//   host_staged, uniform   all pairs are of class 0
//   hierarchy              the lowest common level, counting levels with a fan-out of 1 as none (they join nobody)
//   grid                   the number of hops, less 1, where that divides the bandwidth; else all pairs are of class 0
//   links, matrix          pairs of equal bandwidth and latency, the fastest first
//   nodes                  pairs inside a machine as those of a matrix, then the levels of the tree of machines
// Immutable; copies share their tables.
class Network {
 public:
  // REQUIRES: a valid cluster. Complexity O(levels or dimensions); links and matrix: O(devices^2 log devices), links
  // beside routing (core/topology/routing.h), so make it once; nodes: the same of one machine.
  explicit Network(const Interconnect& interconnect);

  // 0 where there are no two devices to connect.
  std::size_t num_link_classes() const { return speeds_.size(); }

  // REQUIRES: two different devices of the cluster. Complexity O(levels), at most 14; O(1) on other interconnects.
  std::size_t LinkClassOf(DeviceId a, DeviceId b) const;

  // REQUIRES: link_class comes from LinkClassOf.
  const LinkSpeed& speed(std::size_t link_class) const { return speeds_[link_class]; }

  // The best and the worst link: none is faster, or slower, whatever its class. REQUIRES: num_link_classes() > 0.
  LinkSpeed FastestLink() const;
  LinkSpeed SlowestLink() const;

  // One transfer of `tensor`, forward direction, over a link of the class: its own transfer time (host_staged and
  // uniform only), else latency + bytes over the bandwidth, else 0 (only a tensor that nobody consumes has neither: the
  // validator saw to it).
  Picoseconds TransferTime(const Tensor& tensor, std::size_t link_class) const;

 private:
  // Adds the classes of a tree whose leaves hold `leaf_size` devices.
  void AddLevels(const std::vector<HierarchyInterconnect::Level>& levels, std::size_t leaf_size);
  void AddDistances(const GridInterconnect& grid);
  void AddPairs(PairClasses pairs);
  void AddNodes(const NodesInterconnect& nodes);
  std::size_t LevelClassOf(DeviceId a, DeviceId b) const;

  bool given_times_count_;
  // One for each class.
  std::vector<LinkSpeed> speeds_;
  // hierarchy, nodes: devices that a group of each level holds, and the class of the first level.
  std::vector<std::size_t> group_sizes_;
  std::size_t first_level_ = 0;
  // nodes: devices of one machine.
  std::optional<std::size_t> node_size_;
  // grid whose bandwidth is divided by hops.
  std::optional<GridInterconnect> distances_;
  // links, matrix; nodes: of the places of a machine.
  std::shared_ptr<const PairClasses> pairs_;
};

// Network::TransferTime between any two devices. REQUIRES: interconnect is host_staged or uniform.
Picoseconds TensorTransferTime(const Tensor& tensor, const Interconnect& interconnect);

// Whether a tensor that crosses a border forward brings back a gradient of the same cost: training by backward times
// (docs/cost-model.md section 5), i.e. the graph has no BACKWARD operators. With BACKWARD ones the tensors say all.
bool GradientsFollowTensors(const OperatorGraph& graph, Workload workload);

// Time to reduce the gradients of a replicated stage (docs/cost-model.md section 6).
//
// Ring all-reduce: every replica sends and receives 2 (R - 1) chunks of 1/R of the parameters.
// Source: Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009. The factor HALF
// is that of Tarnawski et al., Efficient algorithms for device placement of DNN graph operators, 2020, C.2.
//
// The slowest edge of the ring: the least bandwidth and the greatest latency of its edges.
// REQUIRES: at least two different devices.
LinkSpeed RingSpeed(const Network& network, const std::vector<DeviceId>& ring);

// Returns the sum over all `operators`.
int64_t ParameterBytes(const OperatorGraph& graph, const std::vector<OperatorId>& operators);

// factor x parameter_bytes / bandwidth, one ceil of the exact product, + 2 (R - 1) x latency. Factor RING: 2 (R - 1) /
// R, HALF: (R - 1) / R. 0 for one replica, which has nobody to agree with. REQUIRES: 1 <= replicas; with more than one
// the speed has a bandwidth.
Picoseconds AllReduceTime(int64_t parameter_bytes, int32_t replicas, const LinkSpeed& speed, AllReduce::Factor factor);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_TRANSFER_H_
