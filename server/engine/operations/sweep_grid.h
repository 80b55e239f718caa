// The rows of a sweep.
#ifndef PLANWRIGHT_SERVER_ENGINE_OPERATIONS_SWEEP_GRID_H_
#define PLANWRIGHT_SERVER_ENGINE_OPERATIONS_SWEEP_GRID_H_

#include <cstdint>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::server {

// How many combinations the lists have; saturates.
int64_t GridSize(const v1::SweepPlansRequest& request);

// The settings of row `index`; the last list runs fastest. REQUIRES: 0 <= index < GridSize.
v1::SweepResult::Settings GridSettings(const v1::SweepPlansRequest& request, int64_t index);

// Puts `settings` in the place of those of `problem`.
void ApplySettings(const v1::SweepResult::Settings& settings, v1::PlanningProblem& problem);

// Puts rows with plans first, by objective (for each sample where batches differ), equal ones in the order they had,
// and numbers them; then the others.
void RankRows(v1::SweepResult& sweep);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_OPERATIONS_SWEEP_GRID_H_
