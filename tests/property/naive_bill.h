// What one placement costs by the plainest reading of docs/cost-model.md. No sharing of work between placements; what
// replicas exchange is found by running their micro-batches.
#ifndef PLANWRIGHT_TESTS_PROPERTY_NAIVE_BILL_H_
#define PLANWRIGHT_TESTS_PROPERTY_NAIVE_BILL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/model/problem.h"
#include "tests/property/naive_model.h"

namespace planwright {

struct NaiveBill {
  bool fits = true;
  // By device.
  std::vector<Picoseconds> loads;
  std::vector<int64_t> memory_bytes;
  // By stage, of CONTIGUOUS placements: the micro-batches that a replica keeps, and those that are on their way between
  // the stage and those before it.
  std::vector<int64_t> in_flight;
  std::vector<int64_t> slots;
  // By the two devices, the smaller one first; none for host_staged.
  std::map<std::pair<std::size_t, std::size_t>, Picoseconds> links;
  Picoseconds objective{0};
  // Where the number of micro-batches is set.
  Picoseconds step_time{0};
};

// REQUIRES: every device of a stage can run its operators; stages that share a device have the same replicas in the
// same order; rings are empty or visit each replica; where memory or step time depends on the place of a stage, the
// stages are in pipeline order. Operators that take no part, and stages of such only, cost nothing.
NaiveBill MakeNaiveBill(const NaiveModel& model, const Placement& placement);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_NAIVE_BILL_H_
