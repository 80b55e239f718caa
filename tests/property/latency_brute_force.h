// The oracle of MIN_LATENCY: looks at every set of subgraphs and every order of them on their devices.
#ifndef PLANWRIGHT_TESTS_PROPERTY_LATENCY_BRUTE_FORCE_H_
#define PLANWRIGHT_TESTS_PROPERTY_LATENCY_BRUTE_FORCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "tests/property/naive_model.h"

namespace planwright {

struct NaiveLatencyVerdict {
  bool is_supported = true;
  // Colocation, layers, pins, bans, selected devices, one pass per subgraph, subgraphs per device.
  bool obeys_rules = true;
  // It can be executed with the stages of a device in the order given, or in another one.
  bool order_is_executable = true;
  bool any_order_is_executable = true;
  bool fits = true;
  // In the order given. By device, by stage, and of the whole.
  std::vector<Picoseconds> loads;
  std::vector<int64_t> memory_bytes;
  std::vector<Picoseconds> starts;
  Picoseconds objective{0};

  bool is_feasible() const { return is_supported && obeys_rules && any_order_is_executable && fits; }
};

// REQUIRES: that of NaiveModel; MIN_LATENCY, host_staged, no gradients that follow tensors.
class NaiveLatencyJudge {
 public:
  explicit NaiveLatencyJudge(const Instance& instance) : model_(instance) {}

  // REQUIRES: every operator that takes part in exactly one stage, every stage not empty and on one device.
  NaiveLatencyVerdict Judge(const Placement& placement) const;

  // How many placements Optimum looks at, at most.
  double NumPlacements() const;

  // The best objective of all feasible placements; nullopt: there is none. Exponential. An operator goes to a CPU, any
  // that may run it (REQUIRES: CPUs of one class, without memory limits), or to one of the *slots* of an accelerator,
  // which run one after the other.
  std::optional<Picoseconds> Optimum() const;

 private:
  struct Search;
  std::size_t NumSlots() const;
  std::optional<int32_t> SubgraphLimit() const;
  bool ObeysRules(const Placement& placement) const;
  void Extend(Search& search, std::size_t op) const;

  NaiveModel model_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_LATENCY_BRUTE_FORCE_H_
