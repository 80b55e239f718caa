// How many micro-batches a pipeline holds at each of its stages, and how many turns a step takes (docs/cost-model.md
// section 20).
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_FILL_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_FILL_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/problem.h"

namespace planwright {

// What decides the turns of one stage; stages are listed in pipeline order.
struct JudgedTurns {
  int64_t replicas = 1;
  // Turns that transfers between the stage and earlier ones take, of its slowest replica.
  int64_t transfer_slots = 0;
};

// Turns of transfers beside a stage that receives and gives back for `carried` and has an undivided load of `load`.
int64_t TransferSlots(const ResolvedProblem& problem, bool through_host, Picoseconds carried, Picoseconds load);

// By stage: micro-batches in flight on each of its replicas, whose activations it keeps.
std::vector<int32_t> InFlightOf(const ResolvedProblem& problem, bool through_host,
                                const std::vector<JudgedTurns>& stages);

// Lanes are micro-batches that go through side by side, each lane with its share of the replicas of every stage.
struct JudgedStep {
  int64_t lanes = 1;
  // How many turns each lane takes.
  int64_t turns = 0;
  // How many micro-batches all lanes do together.
  int64_t micro_batches = 1;
};

// REQUIRES: micro_batches is set; at least one stage.
JudgedStep StepOf(const ResolvedProblem& problem, bool through_host, const std::vector<JudgedTurns>& stages);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_FILL_H_
