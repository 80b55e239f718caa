// Simulated annealing on latency schedules.
//
// State: a SubgraphSchedule without cycle that fits all memory. A move takes groups to another accelerator, slot or the
// CPUs:
//   single    one group;
//   closure   a group with all its descendants (or ancestors) inside its slot: the way to shift the border between two
//             subgraphs without a cycle;
//   cluster   a few connected groups of one slot;
//   exchange  two groups of different places change places;
//   chain     a closure goes from A to B, and one of B to a third place;
//   merge     all of a slot;
//   trade     all of two accelerators change places;
//   bundle    (several slots per pass) one bundle to another slot of its accelerator;
//   sequence  (several slots per accelerator) two neighbours of a sequence change places.
// Destinations are mostly places of neighbours in the graph. Energy: latency + a small share of the sum of all
// durations, which leads across the plateaus off the critical path. Cooling is geometric in work.
//
// From a start that does not fit or has a cycle the same moves first lead to one that does and has none: badness (units
// without a start time, then missing bytes) may only fall until it is 0, and never rises above 0 again.
//
// Source: Tarnawski et al., Efficient algorithms for device placement of DNN graph operators, 2020, section 4 (the
// problem); the method is ours.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_ANNEALING_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_ANNEALING_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/partition/latency/latency_instance.h"
#include "core/partition/latency/subgraph_schedule.h"

namespace planwright {

// Where every vertex is, as in SubgraphSchedule::place, and the sequences of the accelerators.
struct LatencyAssignment {
  std::vector<int32_t> places;
  std::vector<std::vector<int32_t>> sequences;
  // Picoseconds. Meaningless before it was scheduled.
  int64_t latency = 0;
};

struct AnnealingSlice {
  // Picoseconds.
  double first_temperature = 0;
  double last_temperature = 0;
  // Units of work, about ten nanoseconds each: 10 for each proposal, 3 for each group that it chooses, 6 for each
  // vertex that is moved or moved back, 1 for each unit of a trial schedule. The slice ends soon after them.
  int64_t work = 0;
  uint64_t seed = 0;
  uint64_t stream = 0;
};

struct LatencyAnnealingResult {
  // The best assignment that fits and has a schedule, with its latency; nullopt: none was met.
  std::optional<LatencyAssignment> best;
  int64_t work = 0;
  int64_t moves = 0;
};

// For one thread. `instance` and `limits` outlive the object.
class LatencyAnnealer {
 public:
  LatencyAnnealer(const LatencyInstance& instance, int32_t slots_per_pass, const SolveLimits& limits);

  // REQUIRES: `start` obeys `allowed`, and its places are slots of the right passes.
  LatencyAnnealingResult Run(const LatencyAssignment& start, const AnnealingSlice& slice);

 private:
  // An accelerator with a slot for each pass, or the CPUs.
  struct Target {
    int32_t accelerator = SubgraphSchedule::kCpu;
    std::array<int32_t, 2> number = {0, 0};
  };
  struct Undo {
    int32_t vertex;
    int32_t place;
  };
  struct Energy {
    // 0 where there is a schedule that fits.
    int64_t badness = 0;
    int64_t latency = 0;
    double value = 0;
  };

  void Load(const LatencyAssignment& assignment);
  LatencyAssignment Snapshot() const;
  Energy Measure();
  bool Accepts(const Energy& energy, double temperature);
  void TakeBack();

  // Each applies one move and returns whether there was anything to move and all of it may be where it went.
  bool Propose();
  bool ProposeSingle();
  bool ProposeClosure();
  bool ProposeCluster();
  bool ProposeExchange();
  bool ProposeChain();
  bool ProposeMerge();
  bool ProposeTrade();
  bool ProposeBundle();
  bool ProposeSequence();

  // chosen_: the groups that move together.
  void ClearChosen();
  bool Choose(int32_t group);
  void ChooseClosure(int32_t vertex, bool downwards);
  void ChooseCluster(int32_t vertex, std::size_t size);

  Target TargetFor(int32_t vertex);
  Target TargetOfChosen();
  Target TargetOfVertex(int32_t vertex);
  Target TargetOf(int32_t group) { return TargetOfVertex(instance_->groups[static_cast<std::size_t>(group)].front()); }
  Target RandomTarget();

  bool MayMove(int32_t group, const Target& target) const;
  bool MoveChosen(const Target& target);
  bool WillNotFit(const Target& target) const;
  void MoveGroup(int32_t group, const Target& target);
  void MoveVertex(int32_t vertex, int32_t place);
  void Touch(int32_t place);

  int32_t Below(int32_t bound);
  int32_t RandomVertex() { return Below(instance_->num_vertices()); }

  const LatencyInstance* instance_;
  SubgraphSchedule schedule_;
  Poller poller_;
  RandomStream random_;
  int64_t work_ = 0;
  // By group, where memory is additive.
  std::vector<int64_t> group_bytes_;

  Energy current_;
  std::vector<Undo> undo_;
  // Accelerator of the sequence that the move changed, and the first position; none: -1.
  int32_t swapped_accelerator_ = -1;
  std::size_t swapped_position_ = 0;

  std::vector<int32_t> chosen_;
  std::vector<bool> is_chosen_;
  std::vector<int32_t> frontier_;
  // Accelerators that the move changed.
  std::vector<int32_t> touched_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_ANNEALING_H_
