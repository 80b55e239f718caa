// The paper's automatic choice between its two instantiations of the stage time.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_OBJECTIVE_CHOICE_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_OBJECTIVE_CHOICE_H_

#include "core/mapping/problem/mapping_instance.h"

namespace planwright {

// kAllReduce where the rings carry more bytes than the stages exchange (ratio > 1), else kLoad: end of section 5.2 of
// the paper. Every replica has as many edges of its ring as of its traffic counted, so replicas cancel out.
MappingObjective ChooseObjective(const MappingInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_OBJECTIVE_CHOICE_H_
