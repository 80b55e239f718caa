// Time of one transfer of a tensor, and what a tensor that crosses a border costs the two sides (cost-model.md 4, 5).
#ifndef PLANWRIGHT_CORE_COST_TRANSFER_H_
#define PLANWRIGHT_CORE_COST_TRANSFER_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// How `interconnect` charges for tensors.
struct TransferRules {
  // A device pays once for a tensor that is partly on it (host_staged). Otherwise the producing device pays once for
  // each other device that consumes the tensor, and each of those once.
  bool pay_once = true;
  bool cpus_pay = false;
};
TransferRules RulesOf(const Interconnect& interconnect);

// How fast two devices are connected.
struct LinkSpeed {
  // nullopt: every tensor has a transfer time of its own.
  std::optional<double> bandwidth_bytes_per_second;
  Picoseconds latency{0};
};

// No faster than either: the least bandwidth and the greatest latency.
LinkSpeed Slower(const LinkSpeed& a, const LinkSpeed& b);

// The speed of the link between any two devices. Pairs of equal speed form a *link class*, so that what crosses between
// many pairs is counted once for each class:
//   host_staged, uniform   all pairs are of class 0
//   hierarchy              the lowest common level, counting levels with a fan-out of 1 as none (they join nobody)
// Another interconnect needs no more than its own classes here. Immutable.
class Network {
 public:
  // REQUIRES: a valid cluster; host_staged, uniform or hierarchy.
  explicit Network(const Interconnect& interconnect);

  // 0 where a hierarchy joins no devices, because there is only one.
  std::size_t num_link_classes() const { return speeds_.size(); }

  // REQUIRES: two different devices of the cluster. Complexity O(levels), at most 14.
  std::size_t LinkClassOf(DeviceId a, DeviceId b) const;

  // REQUIRES: link_class comes from LinkClassOf.
  const LinkSpeed& speed(std::size_t link_class) const { return speeds_[link_class]; }

  // Of all link classes at once: no link is faster, or slower, whatever its class. REQUIRES: num_link_classes() > 0.
  LinkSpeed FastestLink() const;
  LinkSpeed SlowestLink() const;

  // One transfer of `tensor`, forward direction, over a link of the class: its own transfer time (host_staged and
  // uniform only), else latency + bytes over the bandwidth, else 0 (only a tensor that nobody consumes has neither: the
  // validator saw to it).
  Picoseconds TransferTime(const Tensor& tensor, std::size_t link_class) const;

 private:
  bool given_times_count_;
  // One for each class, innermost level first.
  std::vector<LinkSpeed> speeds_;
  // Devices that a group of the class's level holds.
  std::vector<std::size_t> group_sizes_;
};

// Network::TransferTime between any two devices. REQUIRES: interconnect is host_staged or uniform.
Picoseconds TensorTransferTime(const Tensor& tensor, const Interconnect& interconnect);

// Whether a tensor that crosses a border forward brings back a gradient of the same cost: training by backward times
// (cost-model.md 5), i.e. the graph has no BACKWARD operators. With explicit BACKWARD operators the tensors say all.
bool GradientsFollowTensors(const OperatorGraph& graph, Workload workload);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TRANSFER_H_
