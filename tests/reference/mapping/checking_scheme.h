// The order in which the paper's search places replicas of stages, and what it checks when (section 5.1: the "checking
// scheme" of a stage). It depends on the stage graph and the objective only, so it is made once.
#ifndef PLANWRIGHT_TESTS_REFERENCE_MAPPING_CHECKING_SCHEME_H_
#define PLANWRIGHT_TESTS_REFERENCE_MAPPING_CHECKING_SCHEME_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "core/mapping/problem/mapping_instance.h"

namespace planwright {

struct CheckingScheme {
  // Vertices as in Mapping. kLoad: replica by replica; kAllReduce: stage by stage, so that rings close early.
  std::vector<std::size_t> order;
  // By position in `order`: the vertices whose load is known once that vertex is placed and was not before. Empty lists
  // with kAllReduce.
  std::vector<std::vector<std::size_t>> loads;
  // Likewise the edges of the stage's ring. The time of a ring is the largest of its edges, so each is checked by
  // itself. Empty lists with kLoad.
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> ring_edges;
};

// REQUIRES: the objective is kLoad or kAllReduce.
CheckingScheme MakeCheckingScheme(const MappingInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_MAPPING_CHECKING_SCHEME_H_
