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

// Of one micro-batch; picoseconds and bytes before they are rounded.
struct OperatorShare {
  struct Again {
    double extra = 0;
    double kept = 0;
    double workspace = 0;
  };

  double forward = 0;
  double backward = 0;
  // Of `backward`, the gradients of weights.
  double weights = 0;
  double parameters = 0;
  double kept = 0;
  double workspace = 0;
  // Of each tensor that it makes; nullopt: all of it.
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
  // Without data.
  Degrees degrees;
  // Of the micro-batch on one rank of the data degree, and of the graph's times.
  int64_t samples = 1;
  int64_t samples_of_graph = 1;
};

// In which an operator wants what it reads, and leaves what it makes.
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

// By layouts. `whole`: the time of the operator on `device_class`. Empty: the class cannot run it, or it has variants
// and none of these degrees and class. O(variants log variants).
std::vector<OperatorChoice> ChoicesOf(const Operator& op, const DeviceClass& device_class, const OperatorTime& whole,
                                      const ShareQuery& query);

// Of its backward pass on the class, the gradients of weights; 0: the operator does not say.
Picoseconds WeightsTimeOf(const Operator& op, const DeviceClass& device_class);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_OPERATOR_SHARE_H_
