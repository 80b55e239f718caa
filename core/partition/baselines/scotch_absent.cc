// Takes the place of scotch_mapping.cc in a build without Scotch.
#include "core/partition/baselines/proposals.h"

namespace planwright {

bool HasScotch() { return false; }

void ProposeScotch(const SearchRequest& /*request*/, const SolveLimits& /*limits*/, TaskArena& /*arena*/,
                   Proposals& proposals) {
  proposals.Refuse("this build has no Scotch");
}

}  // namespace planwright
