#include "core/partition/baselines/baselines.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/cost/terms/transfer.h"
#include "core/partition/baselines/data_parallel.h"
#include "core/partition/baselines/greedy.h"
#include "core/partition/baselines/local_search.h"
#include "core/partition/baselines/max_load.h"
#include "core/partition/baselines/pipedream.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/baselines/scotch_mapping.h"
#include "core/partition/baselines/single_device.h"
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
    {Algorithm::kSingleDevice, "single_device",
     [](const SearchRequest& request, const SolveLimits& /*limits*/, TaskArena& /*arena*/, Proposals& proposals) {
       ProposeSingleDevice(request, proposals);
     }},
    {Algorithm::kDataParallel, "data_parallel",
     [](const SearchRequest& request, const SolveLimits& /*limits*/, TaskArena& /*arena*/, Proposals& proposals) {
       ProposeDataParallel(request, proposals);
     }},
    {Algorithm::kGreedy, "greedy",
     [](const SearchRequest& request, const SolveLimits& /*limits*/, TaskArena& /*arena*/, Proposals& proposals) {
       ProposeGreedy(request, proposals);
     }},
    {Algorithm::kLocalSearch, "local_search",
     [](const SearchRequest& request, const SolveLimits& limits, TaskArena& /*arena*/, Proposals& proposals) {
       ProposeLocalSearch(request, limits, proposals);
     }},
    {Algorithm::kPipedream, "pipedream", ProposePipedream},
    {Algorithm::kScotch, "scotch",
     [](const SearchRequest& request, const SolveLimits& /*limits*/, TaskArena& /*arena*/, Proposals& proposals) {
       ProposeScotch(request, proposals);
     }},
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
  SearchCallbacks quiet;
  quiet.objective = callbacks.objective;
  quiet.objection = callbacks.objection;
  quiet.on_phase = [](std::string_view) {};
  quiet.on_bound = [](const Bound&) {};
  quiet.on_incumbent = [](const SearchOutcome&, int64_t, std::string_view) {};
  const SimpleWay& way = WayOf(request.algorithm);
  Proposals proposals(way.name, request, quiet);
  way.propose(request, limits, arena, proposals);
  return std::move(proposals).Finish();
}

}  // namespace planwright
