#include "core/partition/baselines/baselines.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/cost/transfer.h"
#include "core/partition/baselines/data_parallel.h"
#include "core/partition/baselines/greedy.h"
#include "core/partition/baselines/local_search.h"
#include "core/partition/baselines/max_load.h"
#include "core/partition/baselines/pipedream.h"
#include "core/partition/baselines/proposals.h"
#include "core/partition/baselines/scotch_mapping.h"
#include "core/partition/baselines/single_device.h"

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
      return ProposeSingleDevice(request, proposals);
    case Algorithm::kDataParallel:
      return ProposeDataParallel(request, proposals);
    case Algorithm::kGreedy:
      return ProposeGreedy(request, proposals);
    case Algorithm::kLocalSearch:
      return ProposeLocalSearch(request, limits, proposals);
    case Algorithm::kPipedream:
      return ProposePipedream(request, limits, arena, proposals);
    case Algorithm::kScotch:
      return ProposeScotch(request, proposals);
    case Algorithm::kMaxLoad:
      return ProposeMaxLoad(request, limits, arena, proposals);
    default:
      std::abort();  // not reached: REQUIRES IsBaseline
  }
}

}  // namespace

bool IsBaseline(Algorithm algorithm) { return !NameOf(algorithm).empty(); }

absl::StatusOr<SearchOutcome> SolveByBaseline(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                              const SearchCallbacks& callbacks) {
  const std::string_view name = NameOf(request.algorithm);
  callbacks.on_phase(name);
  Proposals proposals(name, request, callbacks);
  Propose(request, limits, arena, proposals);
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
  return SolveByBaseline(request, limits, arena, quiet);
}

}  // namespace planwright
