// PipeDream's partition for a fixed number of stages with equally many replicas, which Parmesan's Table 1 compares
// with. Where layers are few and alike it is hard to beat, so the search looks at it as well.
#ifndef PLANWRIGHT_CORE_PARTITION_PARMESAN_PIPEDREAM_STAGES_H_
#define PLANWRIGHT_CORE_PARTITION_PARMESAN_PIPEDREAM_STAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/model/chain.h"
#include "core/partition/parmesan/uniform_links_problem.h"

namespace planwright {

// The layers of the graph in a linear order, cut into `num_stages` consecutive groups so that the slowest stage or
// transfer, each by itself, takes least (Harlap et al., PipeDream, 2018, section 3.2, whose program this is for a given
// number of stages and replicas), all of them on devices of `device_class`. Operators of each stage, ascending;
// nullopt: there are fewer layers. REQUIRES: the class supports every operator. O(stages x layers^2) beside making the
// chain.
std::optional<std::vector<std::vector<OperatorId>>> PipedreamStages(const UniformLinksProblem& flat,
                                                                    DeviceClassId device_class, int32_t num_stages);

// The first layer of each stage. REQUIRES: there are at least num_stages layers.
std::vector<std::size_t> CutChain(const Chain& chain, int32_t num_stages);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PARMESAN_PIPEDREAM_STAGES_H_
