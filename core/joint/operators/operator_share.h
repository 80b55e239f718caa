// What one operator costs a tensor rank (docs/training-costs.md, section 9): what a variant says of it, or else the
// whole operator.
#ifndef PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_SHARE_H_
#define PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_SHARE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/cost/terms/cost_table.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/joint.h"

namespace planwright {

// What one micro-batch takes of an operator on one rank, in picoseconds and bytes before they are rounded.
struct OperatorShare {
  struct Again {
    double extra = 0;
    double kept = 0;
    double workspace = 0;
  };

  double forward = 0;
  double backward = 0;
  // The part of `backward` that makes the gradients of weights.
  double weights = 0;
  double parameters = 0;
  double kept = 0;
  double workspace = 0;
  // Bytes that the rank sends on of each tensor that the operator makes; nullopt: all of it.
  std::optional<double> output;
  // By tensor, what goes with it between stages (Piper's objective).
  std::map<std::string, double> exchanged;
  // What a variant says of computing it again.
  std::optional<Again> again;
  // Its parameters are those of experts: they have data x context / expert degree copies.
  bool has_experts = false;
  bool has_variant = false;
  bool is_measured = false;
};

struct ShareQuery {
  // The data degree does not matter.
  Degrees degrees;
  // Samples of the micro-batch on one rank of the data degree, and those that the graph's times are for.
  int64_t samples = 1;
  int64_t samples_of_graph = 1;
};

// The layouts in which an operator wants what it reads, and leaves what it makes.
struct OperatorLayouts {
  std::string input;
  std::string output;

  auto operator<=>(const OperatorLayouts&) const = default;
};

// Ways to run an operator that differ in layouts alone.
struct OperatorChoice {
  OperatorLayouts layouts;
  OperatorShare share;
};

// Choices by layouts. `whole`: the time of the operator on `device_class`. Empty: the class cannot run it, or it has
// variants and none of these degrees and class. O(variants log variants).
std::vector<OperatorChoice> ChoicesOf(const Operator& op, const DeviceClass& device_class, const OperatorTime& whole,
                                      const ShareQuery& query);

// Time of the part of its backward pass that makes gradients of weights, on the class; 0: the operator does not say.
Picoseconds WeightsTimeOf(const Operator& op, const DeviceClass& device_class);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_SHARE_H_
