// One operator on one tensor rank, from what the graph says of it: a second implementation of
// core/joint/operators/operator_share.h, which shares no code with it.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_PART_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_PART_H_

#include <cstdint>
#include <optional>

#include "core/model/cluster.h"
#include "core/model/graph.h"

namespace planwright::verify {

// Picoseconds and bytes before they are rounded.
struct OperatorPart {
  double forward = 0;
  double backward = 0;
  double weights = 0;
  double kept = 0;
  double workspace = 0;
  double parameters = 0;
  // Where it is computed again: what that takes, what is kept then, and what is held meanwhile.
  double extra = 0;
  double kept_again = 0;
  double held_again = 0;
  // A variant says how it is computed again.
  bool says_again = false;
  // Of each tensor that it makes; nullopt: all of it.
  std::optional<double> sent;
};

// nullopt: the class cannot run it, or it has variants, but none of the degree.
std::optional<OperatorPart> PartOf(const Operator& op, const OperatorGraph& graph, const DeviceClass& device,
                                   int32_t degree, int64_t samples);

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_PART_H_
