// Takes the place of scotch_static_mapping.cc in a build without Scotch.
#include "tests/reference/mapping/scotch_static_mapping.h"

namespace planwright {

std::optional<Mapping> MapByScotch(const MappingInstance& /*instance*/, const LinkTimes& /*links*/,
                                   const KindAssignment& /*kinds*/, int64_t /*seed*/) {
  return std::nullopt;
}

}  // namespace planwright
