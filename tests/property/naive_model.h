// The tables that every oracle reads: times, transfers, who must be with whom, who may run where.
//
// Shares only core/base and the values of core/model with what it checks. It trades speed for being obviously right:
// matrices, loops over everything.
#ifndef PLANWRIGHT_TESTS_PROPERTY_NAIVE_MODEL_H_
#define PLANWRIGHT_TESTS_PROPERTY_NAIVE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "tests/support/random_instance.h"

namespace planwright {

// REQUIRES of all members: operators and devices of the instance. Measured costs only (no roofline).
class NaiveModel {
 public:
  explicit NaiveModel(const Instance& instance);

  const OperatorGraph& graph() const { return graph_; }
  const Cluster& cluster() const { return cluster_; }
  // Resolved.
  const ResolvedProblem& problem() const { return problem_; }
  std::size_t num_operators() const { return graph_.operators.size(); }
  std::size_t num_devices() const { return cluster_.devices.size(); }

  bool TakesPart(std::size_t op) const;
  bool IsForward(std::size_t op) const { return graph_.operators[op].pass == Pass::kForward; }
  bool IsCpu(std::size_t device) const { return cluster_.class_of(DeviceId(device)).kind == DeviceKind::kCpu; }

  // Time of the operator in the two passes; nullopt: the device cannot run it.
  struct Times {
    Picoseconds forward{0};
    Picoseconds backward{0};
  };
  const std::optional<Times>& time(std::size_t op, std::size_t device) const { return time_[op][device]; }

  // Pins, bans and the selection of devices let the operator run there.
  bool IsAllowed(std::size_t op, std::size_t device) const;

  // Colocation, and layers where they stay whole, force the two onto one device.
  bool SameUnion(std::size_t a, std::size_t b) const { return same_union_[a][b]; }
  // Both in one layer that must stay whole.
  bool SameLayer(std::size_t a, std::size_t b) const;
  // No FORWARD operator in its union.
  bool IsOrphaned(std::size_t op) const { return is_orphaned_[op]; }

  // For stages of throughput: what makes a come before b, or with it.
  bool MustPrecede(std::size_t a, std::size_t b) const { return must_precede_[a][b]; }

  // 0 bytes per second: every tensor has a transfer time.
  struct Link {
    double bandwidth = 0;
    Picoseconds latency{0};
  };
  // Of two different devices.
  const Link& LinkBetween(std::size_t a, std::size_t b) const { return links_[a][b]; }

  // Of two different devices, or on host_staged with host memory.
  Picoseconds Transfer(const Tensor& tensor, std::size_t device_a, std::size_t device_b) const;
  // Whatever crosses forward comes back as a gradient.
  bool gradients_return() const { return gradients_return_; }

  // Time to agree on the gradients of `parameter_bytes` around `ring`; 0 for one device.
  Picoseconds AllReduce(int64_t parameter_bytes, const std::vector<std::size_t>& ring) const;

  // Memory of `operators` on one device; `border_bytes` cross its border, activations of `in_flight` micro-batches are
  // kept.
  int64_t Memory(const std::vector<std::size_t>& operators, int64_t border_bytes, int64_t in_flight = 1) const;
  bool Fits(std::size_t device, int64_t bytes) const;

 private:
  Link FindLink(std::size_t a, std::size_t b) const;
  // Of two places of one machine.
  static Link LinkInside(const NodesInterconnect& nodes, std::size_t a, std::size_t b);
  void FillUnions();
  void FillPrecedence();

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  ResolvedProblem problem_;
  // [operator][device].
  std::vector<std::vector<std::optional<Times>>> time_;
  // [device][device].
  std::vector<std::vector<Link>> links_;
  std::vector<std::vector<bool>> same_union_;
  std::vector<std::vector<bool>> must_precede_;
  std::vector<bool> is_orphaned_;
  bool gradients_return_ = false;
};

// The transitive closure.
void Close(std::vector<std::vector<bool>>& relation);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_NAIVE_MODEL_H_
