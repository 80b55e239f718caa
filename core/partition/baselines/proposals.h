// Collects the placements that a baseline makes: keeps the best one that the problem allows, and why it allows no
// other.
#ifndef PLANWRIGHT_CORE_PARTITION_BASELINES_PROPOSALS_H_
#define PLANWRIGHT_CORE_PARTITION_BASELINES_PROPOSALS_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/model/graph.h"
#include "core/partition/search/search.h"
#include "core/partition/search/search_record.h"

namespace planwright {

// One thread at a time.
class Proposals {
 public:
  // `name`: stable name of the baseline. Both outlive the object.
  Proposals(std::string_view name, const SearchRequest& request, const SearchCallbacks& callbacks);

  // Takes `placement` where nothing is objected to it and it is better than those before. Returns whether it was.
  bool Propose(Placement placement);
  // The baseline can make no placement, or one less; the first reason is kept. A sentence without a full stop.
  void Refuse(std::string_view reason);

  // The true objective of a feasible placement.
  Picoseconds Cost(const Placement& placement) const { return callbacks_.objective(placement); }
  SearchRecord& record() { return record_; }

  // The best placement; without one NO_PLAN_FOUND with the first reason, or why the search was cut off.
  absl::StatusOr<SearchOutcome> Finish() &&;

 private:
  const std::string name_;
  const SearchCallbacks& callbacks_;
  SearchRecord record_;
  std::string reason_;
};

// Runs `solve` on `request`, ranking placements by `objective`, and proposes what `translate` makes of its placement.
// Bounds are dropped and proofs of infeasibility are mere refusals: they speak of the changed problem.
void RunSubSearch(SolveFunction solve, const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                  Proposals& proposals, const std::function<Picoseconds(const Placement&)>& objective,
                  const std::function<Placement(Placement)>& translate);

// The rules of the baselines, each in a source of its own name.
//
// `limits` and `arena` are for those that search. REQUIRES: BaselineRows lists the mode for the algorithm.
//
// Everything on one device: proposes the graph on the first device of each kind, devices of one class that offer the
// same memory. O(kinds x (operators + tensor ends)).
void ProposeSingleDevice(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                         Proposals& proposals);

// The whole graph on every device of one class, each working on micro-batches of its own: proposes, for each class, one
// stage of all operators with a replica on each of its devices (device-placement, C.2; docs/cost-model.md section 6).
// O(classes x (operators + tensors + devices)).
void ProposeDataParallel(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                         Proposals& proposals);

// Fills one device after the other along a topological order. O((operators + tensor ends) log).
void ProposeGreedy(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

// Proposes each local optimum. Random numbers come from options.seed. Work: moves looked at; without options.work_limit
// the search ends after 50 million of them. Each costs O(nets of the block). Memory: 4 bytes for each net and device.
void ProposeLocalSearch(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                        Proposals& proposals);

// The graph of `request` with every branching as a colocation group.
OperatorGraph ContractBranchings(const SearchRequest& request);

// Proposes the plans of the linearized program for ContractBranchings. Same complexity as LINEARIZED_DP. With
// replication UNIFORM or a number of micro-batches: its stages for the 16 numbers of stages and replicas of least
// bound, on consecutive devices, the replicas of a stage side by side.
void ProposePipedream(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

// Whether this build has the library Scotch.
bool HasScotch();

// Proposes Scotch's partition, the same for the same seed. A call cannot be interrupted, so graphs of more than 50,000
// blocks are refused, and all are where the build lacks the library.
void ProposeScotch(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

// For MIN_LATENCY: the contiguous split of greatest throughput, run for one micro-batch (device-placement section 7,
// "Max-load DP"), as subgraphs. Same complexity as IDEAL_DP.
void ProposeMaxLoad(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_BASELINES_PROPOSALS_H_
