#include "core/partition/baselines/baselines.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/cost/terms/transfer.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/noncontiguous/certify/certificates.h"
#include "core/partition/noncontiguous/net_instance.h"
#include "core/partition/periodic/periodic_search.h"

namespace planwright {
namespace {

struct SimpleWay {
  Algorithm algorithm;
  std::string_view name;
  void (*propose)(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals);
};

constexpr std::array<SimpleWay, 7> kSimpleWays = {{
    {Algorithm::kSingleDevice, "single_device", ProposeSingleDevice},
    {Algorithm::kDataParallel, "data_parallel", ProposeDataParallel},
    {Algorithm::kGreedy, "greedy", ProposeGreedy},
    {Algorithm::kLocalSearch, "local_search", ProposeLocalSearch},
    {Algorithm::kPipedream, "pipedream", ProposePipedream},
    {Algorithm::kScotch, "scotch", ProposeScotch},
    {Algorithm::kMaxLoad, "max_load", ProposeMaxLoad},
}};

// REQUIRES: a baseline.
const SimpleWay& WayOf(Algorithm algorithm) {
  return *std::ranges::find(kSimpleWays, algorithm, &SimpleWay::algorithm);
}

// A few ten milliseconds.
constexpr int64_t kBoundWork = 2'000;

// Bounds that take little time beside reading the graph.
void RaiseBounds(const SearchRequest& request, const SolveLimits& limits, SearchRecord& record) {
  const bool are_alike = GivenTimesCount(request.cluster.interconnect);
  if (!record.has_placement() || request.problem.objective != Objective::kMaxThroughput || !are_alike ||
      request.problem.replication != Replication::kNone) {
    return;
  }
  SolveLimits small = limits;
  small.work = std::min(limits.work, kBoundWork);
  const NetInstance instance = BuildNetInstance(request);
  CertifyMaxLoad(instance.blocks, request.problem.overlap, record.objective(), request.options.relative_gap, small,
                 [&](const Bound& bound) { record.RaiseBound(bound); });
}

}  // namespace

absl::StatusOr<SearchOutcome> SolveByBaseline(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                              const SearchCallbacks& callbacks) {
  if (request.problem.schedule == ScheduleKind::kPeriodic) return SolvePeriodic(request, limits, arena, callbacks);
  const SimpleWay& way = WayOf(request.algorithm);
  callbacks.on_phase(way.name);
  Proposals proposals(way.name, request, callbacks);
  way.propose(request, limits, arena, proposals);
  RaiseBounds(request, limits, proposals.record());
  return std::move(proposals).Finish();
}

absl::StatusOr<SearchOutcome> MakeBaseline(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                           const SearchCallbacks& callbacks) {
  if (request.problem.schedule == ScheduleKind::kPeriodic) return SolvePeriodic(request, limits, arena, callbacks);
  const SearchCallbacks silent = callbacks.Silenced();
  const SimpleWay& way = WayOf(request.algorithm);
  Proposals proposals(way.name, request, silent);
  way.propose(request, limits, arena, proposals);
  return std::move(proposals).Finish();
}

}  // namespace planwright
