// A schedule that repeats: what starts when within a period, and for which micro-batch (MadPipe, section 3.2).
#ifndef PLANWRIGHT_CORE_MODEL_PERIODIC_PATTERN_H_
#define PLANWRIGHT_CORE_MODEL_PERIODIC_PATTERN_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/graph.h"

namespace planwright {

enum class PatternOperation { kForward, kBackward, kSendForward, kSendBackward };

// Stable name: "forward", "backward", "send_forward", "send_backward".
std::string_view NameOf(PatternOperation operation);
// nullopt: no operation has this name.
std::optional<PatternOperation> PatternOperationOf(std::string_view name);
// The pass that it is part of.
Pass PassOf(PatternOperation operation);

// In period n the task works on micro-batch n - shift: its absolute start for micro-batch b is start + (b + shift) x
// period. The shift of the first forward task is 0.
struct PatternTask {
  PatternOperation operation = PatternOperation::kForward;
  // The stage whose pass it is, or whose output a transfer sends: kSendForward goes to stage + 1, kSendBackward to
  // stage - 1. Between stages of one device there is no transfer.
  StageId stage;
  // 0 <= start < period.
  Picoseconds start{0};
  int32_t shift = 0;

  bool operator==(const PatternTask&) const = default;
};

struct PeriodicPattern {
  Picoseconds period{0};
  // One for each operation that takes place, by stage, then in the order of PatternOperation.
  std::vector<PatternTask> tasks;

  bool operator==(const PeriodicPattern&) const = default;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_PERIODIC_PATTERN_H_
