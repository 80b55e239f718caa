// Which stage each operator is in, and what stages and their layers send to each other.
#ifndef PLANWRIGHT_CLIENT_PAGE_TRAFFIC_H_
#define PLANWRIGHT_CLIENT_PAGE_TRAFFIC_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// Operators of one stage with one label; an operator without a label is a layer of its own.
struct StageLayer {
  // Position in Plan.stages.
  int stage = 0;
  std::string name;
  std::vector<std::string> operators;
};

// What one micro-batch sends, forward and backward tensors alike.
struct Flow {
  int from = 0;
  int to = 0;
  int64_t bytes = 0;
  // Positions in Graph.tensors.
  std::vector<int> tensors;
};

struct Traffic {
  // Stage by stage, in the order of their first operators.
  std::vector<StageLayer> layers;
  // Between different layers, by position in `layers`; ordered by from, then to.
  std::vector<Flow> between_layers;
  // Between different stages. A tensor counts once for each stage that reads it.
  std::vector<Flow> between_stages;
};

// Operators that are in no stage are left out. Complexity O(operators + tensor ends).
Traffic TrafficOf(const v1::Plan& plan, const v1::Graph& graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_TRAFFIC_H_
