// Predictions for people that follow from the objective and the devices of a plan.
#ifndef PLANWRIGHT_CORE_VERIFY_FACTS_ESTIMATE_H_
#define PLANWRIGHT_CORE_VERIFY_FACTS_ESTIMATE_H_

#include "core/model/graph.h"
#include "core/model/plan.h"

namespace planwright {

// Fills in the rates, the idle share and the peak memory of `plan`, whose objective and devices are there.
void FillEstimate(const OperatorGraph& graph, Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_VERIFY_FACTS_ESTIMATE_H_
