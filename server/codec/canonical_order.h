// An order of things that depends on nothing but what they are and what joins each two of them.
#ifndef PLANWRIGHT_SERVER_CODEC_CANONICAL_ORDER_H_
#define PLANWRIGHT_SERVER_CODEC_CANONICAL_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planwright::server {

// What joins two things: equal joints are equal values.
using JointKind = std::pair<double, int64_t>;

// Puts things that are told by `codes`, and by `joint(a, b)` for each two of them, into an order such that things of
// the same codes and joints, numbered in any way, end up in the same places. (The canonical form of a graph whose
// vertices and edges have labels: of all orders that whose rows - the code, then the joints to those before - are least
// comes first; orders are tried by depth-first search, one of things that nothing tells apart only.) nullopt: more than
// `most_steps` were needed. Deterministic. REQUIRES: joint(a, b) == joint(b, a). Complexity O(n^2) for each step; few
// steps unless the things are regular and have no twins.
std::optional<std::vector<std::size_t>> CanonicalOrder(const std::vector<std::string>& codes,
                                                       const std::function<JointKind(std::size_t, std::size_t)>& joint,
                                                       int64_t most_steps = 10'000);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_CANONICAL_ORDER_H_
