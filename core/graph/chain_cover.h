// Covers the vertices of an acyclic graph by chains, so that an ideal is one number per chain.
#ifndef PLANWRIGHT_CORE_GRAPH_CHAIN_COVER_H_
#define PLANWRIGHT_CORE_GRAPH_CHAIN_COVER_H_

#include <cstdint>
#include <vector>

#include "core/graph/digraph.h"

namespace planwright {

// Vertices of each chain, every one reachable from the one before. Every vertex is in one chain.
// Up to kMaxMinimumCover vertices the number of chains is the least possible, the width of the graph (Dilworth 1950:
// matching on the transitive closure); above it chains are paths, made greedily.
// `order` is a topological order. Time O(n^3 / 64) at worst for the minimum cover, O(n + m) for the greedy one; memory
// n^2 / 8 bytes, O(n).
std::vector<std::vector<int32_t>> ChainCover(const Digraph& graph, const std::vector<int32_t>& order);

inline constexpr int32_t kMaxMinimumCover = 8192;

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_CHAIN_COVER_H_
