// The oracle: looks at every placement of a small instance and judges it by the plainest reading of the rules.
//
// Shares only core/base and the values of core/model with what it checks. It trades speed for being obviously right:
// matrices, loops over everything, no sharing of work between placements.
#ifndef PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_
#define PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "tests/support/random_instance.h"

namespace planwright {

// Device of each operator; kNowhere for operators that the workload drops.
using DeviceChoice = std::vector<int>;
inline constexpr int kNowhere = -1;

struct NaiveVerdict {
  bool is_supported = true;
  bool is_colocated = true;
  bool is_contiguous = true;
  bool fits = true;
  // By device; meaningless where an operator is not supported.
  std::vector<Picoseconds> loads;
  std::vector<int64_t> memory_bytes;
  Picoseconds objective{0};

  bool is_feasible() const { return is_supported && is_colocated && is_contiguous && fits; }
};

// Judges placements of one instance, each device holding at most one stage.
// REQUIRES: measured costs only (no roofline), host_staged or uniform, at most 10 operators and 8 devices.
class NaiveJudge {
 public:
  explicit NaiveJudge(const Instance& instance);

  NaiveVerdict Judge(const DeviceChoice& choice) const;

  // The best objective of all feasible placements; nullopt: there is none.
  // Tries every choice of devices, except that of idle devices that are alike only the first is tried, and that
  // operators whose computation alone reaches the best objective so far are not extended. Exponential.
  std::optional<Picoseconds> Optimum() const;

  bool TakesPart(std::size_t op) const;

 private:
  void Extend(std::size_t op, DeviceChoice& choice, std::vector<Picoseconds>& compute,
              std::optional<Picoseconds>& best) const;
  bool IsFirstIdleOfItsKind(int device, std::size_t op, const DeviceChoice& choice) const;

  bool IsColocated(const DeviceChoice& choice) const;
  bool IsContiguous(const DeviceChoice& choice) const;
  Picoseconds LoadOf(int device, const DeviceChoice& choice) const;
  int64_t MemoryOf(int device, const DeviceChoice& choice) const;
  // Devices other than the producer's where the tensor is read; empty: it does not cross.
  std::vector<int> OtherDevicesOf(const Tensor& tensor, const DeviceChoice& choice) const;

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  PlanningProblem problem_;
  // time_[operator][device]; nullopt: not supported.
  std::vector<std::vector<std::optional<Picoseconds>>> time_;
  // Of each tensor.
  std::vector<Picoseconds> transfer_;
  // same_union_[a][b]: colocation forces a and b onto one device.
  std::vector<std::vector<bool>> same_union_;
  std::vector<bool> is_orphaned_;
  bool gradients_return_ = false;
};

// NaiveJudge::Optimum of MakeRandomInstance(seed), remembered for the next test that asks. Not thread-safe.
std::optional<Picoseconds> OptimumOf(uint64_t seed);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_
