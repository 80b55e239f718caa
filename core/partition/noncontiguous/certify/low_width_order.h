// An order of the groups along which few nets are open at a time, for programs that are exponential in their number.
//
// Greedy: the next group is the one after which the fewest nets are open, of those that are on an open net (of few
// groups: nets that nearly all are on guide nobody). It is tried from several first groups and with two rules for ties,
// the net that is open longest or shortest; the best order is that with the smallest sum of 2^open. No guarantee: the
// least width is NP-hard to find.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOW_WIDTH_ORDER_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOW_WIDTH_ORDER_H_

#include <cstdint>
#include <vector>

#include "core/partition/noncontiguous/certify/load_relaxation.h"

namespace planwright {

// By group: its place in the order; empty: more than `most_open` nets are open somewhere in every order that was tried.
// O(tries x groups x most_open x nets of a group).
std::vector<int32_t> NarrowOrder(const LoadRelaxation& relaxation, int32_t most_open);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_LOW_WIDTH_ORDER_H_
