// Closed forms against the simulator, on random placements of an instance.
#ifndef PLANWRIGHT_TESTS_PROPERTY_SIMULATION_CLAIMS_H_
#define PLANWRIGHT_TESTS_PROPERTY_SIMULATION_CLAIMS_H_

#include "core/base/random.h"
#include "core/model/problem.h"
#include "tests/property/answers.h"
#include "tests/support/random_instance.h"

namespace planwright {

// Under GPIPE and ONE_F_ONE_B no step takes longer than the plan says; under PIPEDREAM_ASYNC no steady period is longer
// than the objective. Of PER_STAGE only where all links are alike, because elsewhere the objective counts means, and
// only where no tensor goes to a later stage on the way back, nor under GPIPE from a forward pass to the backward pass
// of another stage.
Finding ClosedFormBoundsSimulation(ScheduleKind schedule, const Instance& instance, RandomStream& random);

// Of two plans whose simulated times per micro-batch differ by more than 5 %, in steps of eight times as many
// micro-batches as there are devices, the objective prefers the faster one.
Finding ObjectiveRanksAsSimulation(ScheduleKind schedule, const Instance& instance, RandomStream& random);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_SIMULATION_CLAIMS_H_
