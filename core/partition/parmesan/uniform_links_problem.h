// The problem as the partitioner sees it: all pairs of devices connected alike.
//
// Which devices two stages get is decided after the stages (Parmesan, section 6), so until then every transfer takes
// what it takes over the median pair of the cluster, as in the paper, or over the fastest one: a good mapping gives
// most neighbours fast links, and stages that are made for slow ones are then worse balanced than they need be.
// Replicas are left out as well: all stages have the same number.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_UNIFORM_LINKS_PROBLEM_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_UNIFORM_LINKS_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/base/units.h"
#include "core/cost/terms/cost_table.h"
#include "core/cost/terms/transfer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/partition/parmesan/stage_shape.h"
#include "core/partition/search/search.h"

namespace planwright {

// How a tensor with several consumers is charged.
enum class ConsumerCharge {
  // Once for each stage that consumes it.
  kPerStage,
  // Once for each operator that consumes it in another stage: equation (3) of the paper as it is written.
  kPerOperator
};

// The speed that all pairs of devices are given: the median of theirs, or the fastest.
enum class AssumedSpeed { kMedian, kFastest };

struct UniformLinksProblem {
  // Operators pinned to the same device share a stage.
  OperatorGraph graph;
  // The devices of the cluster, connected by a uniform interconnect.
  Cluster cluster;
  // Without replication, schedule and micro-batches.
  ResolvedProblem problem;
  CostTable costs;
};

// REQUIRES: the interconnect is not host_staged. O(graph + pairs looked at).
UniformLinksProblem WithUniformLinks(const SearchRequest& request, ConsumerCharge charge, AssumedSpeed assumed);

// The speed of the link whose bandwidth is the median over all ordered pairs of devices, or over a million of them,
// drawn from a fixed stream, where there are more. A link without bandwidth where there are no two devices.
LinkSpeed MedianSpeed(const Network& network, std::size_t num_devices);

// A bound for any interconnect from one on which the ideal program is exact.
struct UniformLinksBound {
  // Scope PROBLEM, method "fastest_links"; nullopt: nothing was proved, the problem is not of the kind, or the graph is
  // too large to look at.
  std::optional<Bound> bound;
  int64_t work = 0;
  // The clock or the stop flag of the limits ended the proof: given more time it may be better.
  bool is_interrupted = false;
};

// What the program over ideals finds and proves on devices that are connected alike. Spends at most limits.work, in its
// units, and no more than 200,000.
absl::StatusOr<SearchOutcome> SolveWithUniformLinks(const UniformLinksProblem& flat, const ResolvedProblem& problem,
                                                    const SolveLimits& limits, TaskArena& arena);

// What `outcome` of SolveWithUniformLinks proves where its links are the fastest ones.
UniformLinksBound UniformLinksBoundOf(const absl::StatusOr<SearchOutcome>& outcome, const SolveLimits& limits);

// What is proved for a problem without replicas and steps where every pair of devices is connected as well as the best
// connected one: no placement on the real links is faster. REQUIRES: the interconnect is not host_staged.
UniformLinksBound FastestLinksBound(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena);

// Likewise for problems with equal replicas or steps of micro-batches. The slowest of S stages takes no less,
// undivided, than that of S stages without replicas on the fastest links; fewer stages take no less than more. So the
// program runs for the number of stages of the shape with the least bound, which raises the bounds of all shapes with
// at most so many, until that shape cannot be raised, or reaches `enough`. `shapes` as of ShapeBounds with `rule`. At
// most eight runs.
UniformLinksBound FastestShapesBound(const SearchRequest& request, const PipelineRule& rule,
                                     std::vector<ShapeBound> shapes, Picoseconds enough, const SolveLimits& limits,
                                     TaskArena& arena);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_UNIFORM_LINKS_PROBLEM_H_
