// Device mapping: which device runs each replica of each stage, and the order of every all-reduce ring.
#ifndef PLANWRIGHT_CORE_MAPPING_MAPPING_H_
#define PLANWRIGHT_CORE_MAPPING_MAPPING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/mapping_instance.h"
#include "core/model/plan.h"

namespace planwright {

struct MappingOptions {
  // Changes which of equally good mappings is found.
  int64_t seed = 1;
  // Ends when (value - bound) / value is at most this.
  double relative_gap = 0;
  // Mappings to start from; the outcome is never worse than any of them.
  std::vector<Mapping> starts;
};

// No mapping of the instance has a smaller value, rounding of doubles apart: value >= value_ms (1 - 1e-9).
struct MappingBound {
  double value_ms = 0;
  // Stable name.
  std::string method;
};

struct MappingOutcome {
  Mapping mapping;
  MappingValue value;
  // The best of each method, ascending; never empty.
  std::vector<MappingBound> bounds;
  // The value and the best bound meet within 1e-9.
  bool proven = false;
  StopReason stop_reason = StopReason::kExhausted;
  int64_t work = 0;
  // Counts of the search, e.g. "moves".
  std::map<std::string, int64_t> counters;

  double bound_ms() const { return bounds.back().value_ms; }
};

// A better mapping or bound was found; the outcome if the search were stopped now. Calls come one at a time.
using MappingCallback = std::function<void(const MappingOutcome& so_far)>;

// The best mapping found within the limits; nullopt: there is none, which is proved. limits.work counts devices moved
// on trial, and what takes as long (some tenths of a microsecond); the same answer for any number of threads unless the
// clock cut it off.
std::optional<MappingOutcome> MapStages(const MappingInstance& instance, const MappingOptions& options,
                                        const SolveLimits& limits, TaskArena& arena,
                                        const MappingCallback& on_improvement);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_MAPPING_H_
