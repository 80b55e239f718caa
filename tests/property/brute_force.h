// The oracle of throughput: looks at every placement of a small instance and judges it by the plainest reading of the
// rules. No sharing of work between placements; what replicas exchange is found by running their micro-batches.
#ifndef PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_
#define PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "tests/property/naive_model.h"
#include "tests/support/mode_instance.h"
#include "tests/support/random_instance.h"

namespace planwright {

struct NaiveVerdict {
  // Every device can run its operators, and replicas are of one class. The numbers are meaningless otherwise.
  bool is_supported = true;
  // Colocation, layers, pins, bans, selected devices, stages per device, numbers of stages and replicas.
  bool obeys_rules = true;
  // The stages form a pipeline.
  bool has_order = true;
  bool fits = true;
  // By device.
  std::vector<Picoseconds> loads;
  std::vector<int64_t> memory_bytes;
  // By the two devices, the smaller one first; none for host_staged.
  std::map<std::pair<std::size_t, std::size_t>, Picoseconds> links;
  Picoseconds objective{0};
  // Where the number of micro-batches is set.
  Picoseconds step_time{0};

  bool is_feasible() const { return is_supported && obeys_rules && has_order && fits; }
};

// Judges placements of one instance of MAX_THROUGHPUT. REQUIRES: that of NaiveModel; at most 8 devices.
class NaiveJudge {
 public:
  explicit NaiveJudge(const Instance& instance) : model_(instance) {}

  // REQUIRES: every operator that takes part in exactly one stage, every stage on at least one device, without
  // repetition; stages that share a device have the same replicas in the same order. Rings are empty or visit each
  // replica. Where memory depends on the place of a stage, the stages are in pipeline order.
  NaiveVerdict Judge(const Placement& placement) const;

  // The best objective of all feasible placements; nullopt: there is none. Exponential.
  // Tries every way to form teams of devices (replicas), and every choice of a team for each operator; of what is alike
  // only the first, and no choice is extended whose computation alone reaches the best objective so far.
  std::optional<Picoseconds> Optimum() const;

 private:
  // The devices of one stage, in the order of their micro-batches.
  using Team = std::vector<std::size_t>;

  bool ObeysRules(const Placement& placement) const;
  bool HasShape(const Placement& placement) const;
  bool HasOrder(const Placement& placement) const;

  std::vector<std::vector<Team>> AllTeams() const;
  void AddDevice(std::size_t device, std::vector<Team>& teams, std::vector<std::vector<Team>>& all) const;
  bool DevicesAreInterchangeable() const;
  bool AreAlike(const Team& a, const Team& b) const;

  struct Search;
  void Extend(Search& search, std::size_t op) const;
  bool MayJoin(const Search& search, std::size_t op, std::size_t team) const;
  // nullopt: operators that no order can part are on several devices.
  std::optional<Placement> PlacementOfChoice(const Search& search) const;

  NaiveModel model_;
};

// NaiveJudge::Optimum of the instance, remembered for the next test that asks. Not thread-safe.
std::optional<Picoseconds> OptimumOf(uint64_t seed);
std::optional<Picoseconds> OptimumOf(InstanceMode mode, uint64_t seed, int max_operators);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_
