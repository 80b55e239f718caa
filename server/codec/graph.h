// Graph of the wire <-> OperatorGraph of core.
#ifndef PLANWRIGHT_SERVER_CODEC_GRAPH_H_
#define PLANWRIGHT_SERVER_CODEC_GRAPH_H_

#include "core/base/violations.h"
#include "core/model/graph.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::server {

// Violations (paths below "graph"): times that are not finite or too long, unknown enum numbers, names that resolve to
// no operator. A tensor with such a name keeps its place and loses its consumers, so that what the validator says about
// the rest of the graph holds. Complexity O(operators + tensor ends).
OperatorGraph DecodeGraph(const v1::Graph& wire, Violations& violations);

// The inverse; times in milliseconds decode to the same picoseconds up to 2^53 ps (two and a half hours).
// REQUIRES: ids in range.
v1::Graph EncodeGraph(const OperatorGraph& graph);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_GRAPH_H_
