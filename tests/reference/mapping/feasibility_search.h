// The paper's inner search: is there a mapping whose value is at most a target (section 5.1)?
//
// Depth first: the vertices in the order of the checking scheme, each on every free device in ascending order, checking
// the times that become known. Complete, so in the worst case O(devices!); it learns nothing from a failure and treats
// devices that are alike as different, as the paper has it.
// Source: Parmesan, section 5.1 (its Algorithm 2 stands in an appendix that is not public).
#ifndef PLANWRIGHT_TESTS_REFERENCE_MAPPING_FEASIBILITY_SEARCH_H_
#define PLANWRIGHT_TESTS_REFERENCE_MAPPING_FEASIBILITY_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/limits.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/mapping/problem/mapping_tables.h"
#include "tests/reference/mapping/checking_scheme.h"

namespace planwright {

enum class Feasibility {
  kFound,
  // There is no such mapping: a proof.
  kNone,
  // Cut off: nothing is known.
  kTimeout,
};

// One thread at a time. What it is given outlives it.
class FeasibilitySearch {
 public:
  // REQUIRES: the scheme is that of the instance.
  FeasibilitySearch(const MappingInstance& instance, const LinkTimes& links, const CheckingScheme& scheme);

  // Tries at most `max_nodes` devices.
  Feasibility Search(double target_ms, int64_t max_nodes, const SolveLimits& limits);

  // After kFound; all rings in the order of replicas.
  Mapping mapping() const;
  // Devices tried by the last search.
  int64_t nodes() const { return nodes_; }

 private:
  // Of the ring of a stage so far.
  struct RingTimes {
    double compute_ms = 0;
    LinkTime slowest;
  };

  bool Fits(std::size_t position, DeviceId device, double target_ms);
  double LoadMs(std::size_t vertex) const;
  double RingValueMs(std::size_t position, DeviceId device);
  // Takes a device out of the list of free ones, and back in: the reverse order of Take.
  void Take(std::size_t place);
  void Restore(std::size_t place);

  const MappingInstance& instance_;
  const LinkTimes& links_;
  const CheckingScheme& scheme_;
  // Ascending, linked: places of free devices after and before each; the place behind the last one is head and end.
  std::vector<DeviceId> devices_;
  std::vector<std::size_t> next_;
  std::vector<std::size_t> previous_;
  // By vertex, those placed.
  std::vector<DeviceId> device_of_;
  // By position, those placed.
  std::vector<std::size_t> place_at_;
  std::vector<RingTimes> rings_;
  // By stage: its edges.
  std::vector<std::vector<const StageTraffic*>> traffic_;
  int64_t nodes_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_MAPPING_FEASIBILITY_SEARCH_H_
