// One operator on one tensor rank, from what the graph says of it: a second implementation of
// core/joint/operators/operator_share.h, which shares no code with it.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_PART_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_PART_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/joint.h"

namespace planwright::verify {

// Picoseconds and bytes before they are rounded.
struct OperatorPart {
  double forward = 0;
  double backward = 0;
  double weights = 0;
  double kept = 0;
  double workspace = 0;
  double parameters = 0;
  // What it takes where it is computed again, what is kept then, and what is held meanwhile.
  double extra = 0;
  double kept_again = 0;
  double held_again = 0;
  // The parameters are those of experts, which the expert degree divides.
  bool has_experts = false;
  // A variant says how it is computed again.
  bool says_again = false;
  // By tensor, what is exchanged beside it between stages.
  std::map<std::string, double> beside;
  // Bytes that are sent of each tensor that it makes; nullopt: all of it.
  std::optional<double> sent;
};

// The layouts in which it reads and makes tensors.
using LayoutPair = std::pair<std::string, std::string>;

// The layouts in which it can run with these degrees, ascending. Empty: the class cannot run it, or none of its
// variants has them.
std::vector<LayoutPair> LayoutsOf(const Operator& op, const DeviceClass& device, const Degrees& degrees);

// nullopt: LayoutsOf lacks `layouts`, or the class does not tell how long it takes.
std::optional<OperatorPart> PartOf(const Operator& op, const OperatorGraph& graph, const DeviceClass& device,
                                   const Degrees& degrees, int64_t samples, const LayoutPair& layouts = {});

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_PART_H_
