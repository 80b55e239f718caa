// Copies of large graphs, which may take tens of milliseconds: they look for interruptions (core/base/interruption.h).
#ifndef PLANWRIGHT_CORE_GRAPH_GRAPH_COPY_H_
#define PLANWRIGHT_CORE_GRAPH_GRAPH_COPY_H_

#include <span>

#include "core/model/graph.h"

namespace planwright {

OperatorGraph CopyOf(const OperatorGraph& graph);
// With the operators as `order` lists them; what refers to operators has their old numbers.
OperatorGraph CopyOf(const OperatorGraph& graph, std::span<const OperatorId> order);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_GRAPH_COPY_H_
