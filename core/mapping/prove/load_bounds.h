// Lower bounds of the largest load that look at stages one by one or at the machine as a whole.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_BOUNDS_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_BOUNDS_H_

#include <span>
#include <vector>

#include "core/base/polling.h"
#include "core/mapping/prove/replica_model.h"

namespace planwright {

// [s * num_devices + d]: the least weighted load of stage s on device d, surcharge included, when its neighbours take
// the nearest devices, each a different one, the busiest link the nearest. `surcharge_ms` as for ReplicaDomains::Reset.
// Source: Parmesan, equation (8), for every place. Complexity O(devices x links).
std::vector<double> StarLoads(const ReplicaModel& model, std::span<const double> surcharge_ms);

// Equation (8): the largest over stages of the least over devices. `star_loads`: from StarLoads.
double StarBound(const ReplicaModel& model, const std::vector<double>& star_loads);

// The quotient bound: where links up to some speed hold the machine together in parts of
// at most c < S devices, every replica is spread over several of them. All ways to do that are enumerated, parts being
// alike: neighbours in the same part are as near as the fastest devices of a part get, others as near as parts get.
// The least largest weighted load over all such ways, for the speed that gives the best bound; 0 where the machine has
// no such parts. Branch and bound of at most `nodes_left` nodes, of which it leaves what it did not need; what is cut
// gives no bound. A poller that stops leaves what is proved so far.
// Never above `most_ms`, beyond which nobody asks.
double QuotientBound(const ReplicaModel& model, std::span<const double> surcharge_ms, double most_ms,
                     int64_t& nodes_left, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_BOUNDS_H_
