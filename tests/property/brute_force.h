// The oracle of throughput: looks at every placement of a small instance and judges it by the plainest reading of the
// rules.
#ifndef PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_
#define PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "tests/property/naive_bill.h"
#include "tests/property/naive_model.h"
#include "tests/support/mode_instance.h"
#include "tests/support/random_instance.h"

namespace planwright {

struct NaiveVerdict : NaiveBill {
  // Every device can run its operators, and replicas are of one class. The bill is empty otherwise.
  bool is_supported = true;
  // Colocation, layers, pins, bans, selected devices, stages per device, numbers of stages and replicas.
  bool obeys_rules = true;
  // The stages form a pipeline.
  bool has_order = true;

  bool is_feasible() const { return is_supported && obeys_rules && has_order && fits; }
};

// Judges placements of one instance of MAX_THROUGHPUT. REQUIRES: that of NaiveModel; at most 8 devices.
class NaiveJudge {
 public:
  explicit NaiveJudge(const Instance& instance) : model_(instance) {}

  // REQUIRES: that of MakeNaiveBill; every operator that takes part in exactly one stage, every stage on at least one
  // device, without repetition.
  NaiveVerdict Judge(const Placement& placement) const;

  // The best objective of all feasible placements; nullopt: there is none. Exponential.
  // Tries every way to form teams of devices (replicas), in every order where replicas differ in their partners, with
  // the best of all rings, every choice of a team for each operator, and every order of the stages where the step or
  // the memory depends on it; of what is alike only the first, and no choice is extended whose computation alone
  // reaches the best objective so far.
  std::optional<Picoseconds> Optimum() const;
  // That, and a placement that has it.
  std::optional<Placement> BestPlacement() const;

  // How many placements full enumeration looks at, at most: teams of devices, and a team for each operator.
  double NumPlacements() const;

 private:
  // The devices of one stage, in the order of their micro-batches.
  using Team = std::vector<std::size_t>;

  bool ObeysRules(const Placement& placement) const;
  bool HasShape(const Placement& placement) const;
  // [a][b]: stage a comes before stage b.
  std::vector<std::vector<bool>> OrderOfStages(const Placement& placement) const;
  bool HasOrder(const Placement& placement) const;
  // Whether a plan's numbers depend on which of its pipeline orders it states.
  bool OrderMatters() const;

  std::vector<std::vector<Team>> AllTeams() const;
  void AddDevice(std::size_t device, std::vector<Team>& teams, std::vector<std::vector<Team>>& all) const;
  bool DevicesAreConnectedAlike() const;
  bool DevicesAreInterchangeable() const;
  bool AreAlike(const Team& a, const Team& b) const;

  struct Search;
  Search Run() const;
  void Extend(Search& search, std::size_t op) const;
  bool MayJoin(const Search& search, std::size_t op, std::size_t team) const;
  // nullopt: operators that no order can part are on several devices, or a team of several devices is idle, which has
  // been seen with the devices apart.
  std::optional<Placement> PlacementOfChoice(const Search& search) const;
  void ChooseRings(Placement& placement) const;
  // Puts the stages into every pipeline order.
  void TryOrders(Search& search, Placement& ordered, const std::vector<Placement::Stage>& rest) const;
  void Consider(Search& search, const Placement& placement) const;

  NaiveModel model_;
};

// NaiveJudge::Optimum of the instance, remembered for the next test that asks. Not thread-safe.
std::optional<Picoseconds> OptimumOf(uint64_t seed);
std::optional<Picoseconds> OptimumOf(InstanceMode mode, uint64_t seed, int max_operators);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_BRUTE_FORCE_H_
