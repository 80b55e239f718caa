// A graph as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_INPUTS_GRAPH_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_INPUTS_GRAPH_REPORT_H_

#include <string>

#include "planwright/v1/graph.pb.h"

namespace planwright::client {

// How much there is of operators, layers, parameters and work, where times come from, and which types of operators
// have most of it. `title` names the graph. Any graph will do, also one that breaks rules.
std::string GraphReport(const std::string& title, const v1::Graph& graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_INPUTS_GRAPH_REPORT_H_
