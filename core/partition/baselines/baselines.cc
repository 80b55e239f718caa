#include "core/partition/baselines/baselines.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
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

namespace planwright {
namespace {

// Stable name; empty: not a baseline.
std::string_view NameOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kSingleDevice:
      return "single_device";
    case Algorithm::kDataParallel:
      return "data_parallel";
    case Algorithm::kGreedy:
      return "greedy";
    case Algorithm::kLocalSearch:
      return "local_search";
    case Algorithm::kPipedream:
      return "pipedream";
    case Algorithm::kScotch:
      return "scotch";
    case Algorithm::kMaxLoad:
      return "max_load";
    default:
      return "";
  }
}

void Propose(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, Proposals& proposals) {
  switch (request.algorithm) {
    case Algorithm::kSingleDevice:
      ProposeSingleDevice(request, proposals);
      break;
    case Algorithm::kDataParallel:
      ProposeDataParallel(request, proposals);
      break;
    case Algorithm::kGreedy:
      ProposeGreedy(request, proposals);
      break;
    case Algorithm::kLocalSearch:
      ProposeLocalSearch(request, limits, proposals);
      break;
    case Algorithm::kPipedream:
      ProposePipedream(request, limits, arena, proposals);
      break;
    case Algorithm::kScotch:
      ProposeScotch(request, proposals);
      break;
    case Algorithm::kMaxLoad:
      ProposeMaxLoad(request, limits, arena, proposals);
      break;
    default:
      std::abort();  // not reached: REQUIRES IsBaseline
  }
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
  const NetInstance instance = BuildNetInstance(request.graph, request.cluster, request.problem, request.costs);
  CertifyMaxLoad(instance.blocks, request.problem.overlap, record.objective(), request.options.relative_gap, small,
                 [&](const Bound& bound) { record.RaiseBound(bound); });
}

}  // namespace

bool IsBaseline(Algorithm algorithm) { return !NameOf(algorithm).empty(); }

absl::StatusOr<SearchOutcome> SolveByBaseline(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                              const SearchCallbacks& callbacks) {
  const std::string_view name = NameOf(request.algorithm);
  callbacks.on_phase(name);
  Proposals proposals(name, request, callbacks);
  Propose(request, limits, arena, proposals);
  RaiseBounds(request, limits, proposals.record());
  return std::move(proposals).Finish();
}

absl::StatusOr<SearchOutcome> MakeBaseline(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                           const SearchCallbacks& callbacks) {
  SearchCallbacks quiet;
  quiet.objective = callbacks.objective;
  quiet.objection = callbacks.objection;
  quiet.on_phase = [](std::string_view) {};
  quiet.on_bound = [](const Bound&) {};
  quiet.on_incumbent = [](const SearchOutcome&, int64_t, std::string_view) {};
  Proposals proposals(NameOf(request.algorithm), request, quiet);
  Propose(request, limits, arena, proposals);
  return std::move(proposals).Finish();
}

}  // namespace planwright
