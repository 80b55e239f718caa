// The shortest periodic pattern of any allocation under exact memory, by branch and bound on index shifts.
//
// For one period T: the longest paths between all steps bound every difference of starts, hence the index shift of
// every two steps of one resource; bounds of shifts are new edges, and memory bounds shifts in turn. When nothing
// changes any more, the earliest starts either are a pattern, or two steps overlap or memory is exceeded, and the
// domain of one shift is split so that either half rules that out. A pattern stays feasible when its period grows, so
// the shortest one is found by bisection from the largest load up; every pattern found is drawn together to the
// shortest period of its shifts first. Without loss of generality no step waits a whole period after the one before it,
// for all later steps could start a period earlier: so domains are finite.
//
// Solves exactly what MadPipe solves by an ILP (section 4.3), for any number of stages on any device, and agrees with
// 1F1B* (4.1) on contiguous allocations. A step without duration meets nobody.
#ifndef PLANWRIGHT_CORE_SCHEDULE_PATTERN_SEARCH_H_
#define PLANWRIGHT_CORE_SCHEDULE_PATTERN_SEARCH_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"
#include "core/schedule/pattern_constraints.h"

namespace planwright {

struct PatternOutcome {
  // nullopt: there is none, or none was found.
  std::optional<PeriodicPattern> pattern;
  // No pattern of the allocation has a shorter period; nullopt: no pattern exists at all.
  std::optional<Picoseconds> lower_bound;
  // The pattern is the shortest one, or none exists.
  bool is_proven = false;
  // How many nodes of search trees were taken, over all periods tried; a node takes O(steps^2) at least.
  int64_t nodes = 0;
};

// The shortest pattern of `allocation`. limits.work: nodes over all periods tried, a quarter of what is left for each;
// where they do not suffice the outcome is not proven. Periods above kMaxQuantity / (2 x steps + 2) are not tried, nor
// branches of the tree that would take more than 256 MiB. The limits are looked at within nodes as well, which take
// seconds where there are a thousand steps.
PatternOutcome PatternSearch(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
                             const SolveLimits& limits);

enum class PatternAnswer { kFeasible, kInfeasible, kUnknown };

// The search as an object that keeps its memory from one question to the next. Not thread-safe. What it is given
// outlives it.
class PatternSearcher {
 public:
  PatternSearcher(const Chain& chain, const ChainSums& sums, const ChainDevices& devices)
      : chain_(chain), sums_(sums), devices_(devices) {}

  // Asks about `allocation` from now on.
  void SetAllocation(const ChainAllocation& allocation);

  // Whether a pattern of this period exists; kUnknown: limits.work nodes did not tell, or the limits say stop.
  PatternAnswer Decide(Picoseconds period, const SolveLimits& limits);

  // The shortest pattern, as PatternSearch. With a target: nothing is found unless a pattern of at most that period
  // exists.
  PatternOutcome FindShortest(const SolveLimits& limits, std::optional<Picoseconds> target = std::nullopt);

  // The number of steps of the allocation at hand.
  int32_t num_steps() const { return constraints_.num_steps(); }
  // What was done since the allocation was set: nodes of the search trees, and rows of distances drawn, each of which
  // takes O(steps).
  int64_t nodes() const { return nodes_; }
  int64_t rows() const { return rows_; }

 private:
  // A node of the tree.
  struct Node {
    // By step, then step: s_to - s_from is at least this.
    std::vector<int64_t> distance;
    // Domain of the shift of each pair.
    std::vector<int32_t> low;
    std::vector<int32_t> high;
  };
  // Two parts of a domain: up to `at`, and above.
  struct Split {
    std::size_t pair = 0;
    int32_t at = 0;
    bool is_upper_first = false;
  };

  bool MakeRoot(Node& root);
  bool Propagate(Node& node);
  bool Refine(Node& node, std::size_t pair, bool& has_changed);
  bool RefineByMemory(Node& node, bool& has_changed);
  bool RefineByMemory(Node& node, const PatternConstraints::Room& room, std::size_t starting, bool& has_changed);
  bool LowerHigh(Node& node, std::size_t pair, int64_t high, bool& has_changed);
  bool RaiseLow(Node& node, std::size_t pair, int64_t low, bool& has_changed);
  bool Insert(Node& node, int32_t from, int32_t to, int64_t weight);
  PatternAnswer Explore(std::size_t depth);
  bool IsDeep(std::size_t depth) const;
  bool Narrow(Node& node, const Split& split, bool to_upper);
  std::optional<Split> FindConflict(const Node& node);
  std::optional<Split> FindOverlap(const Node& node);
  std::optional<Split> FindExcess(const Node& node) const;
  void StartAnywhere();
  bool Try(int64_t period, const SolveLimits& limits);
  void ShortenBest(const SolveLimits& limits);

  const Chain& chain_;
  const ChainSums& sums_;
  const ChainDevices& devices_;
  PatternConstraints constraints_;
  int64_t period_ = 0;
  // By depth in the tree; kept from one question to the next.
  std::deque<Node> nodes_on_path_;
  // By pair: the shifts of the pattern that was found last, or of the earliest starts under examination.
  std::vector<int32_t> shifts_;
  // FindShortest keeps here: the best pattern; the longest periods refuted and tried in vain, below which it does not
  // look; and the count of nodes with which it began.
  std::optional<ShiftedPattern> best_;
  int64_t refuted_ = 0;
  int64_t tried_ = 0;
  int64_t first_node_ = 0;
  int64_t nodes_ = 0;
  int64_t rows_ = 0;
  // Decide keeps here: what may end it, its last node, the row at which it looks next, whether it ended within a node.
  const SolveLimits* limits_ = nullptr;
  int64_t last_node_ = 0;
  int64_t next_look_ = 0;
  bool is_interrupted_ = false;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_PATTERN_SEARCH_H_
