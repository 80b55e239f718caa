// What running an operation is: planning, from the best plan saved so far.
#ifndef PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_WORK_H_
#define PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_WORK_H_

#include "server/engine/planning_engine.h"
#include "server/engine/task/search_observer.h"
#include "server/serving/operations/claim_keeper.h"
#include "server/serving/operations/operation_runner.h"
#include "server/store/store.h"

namespace planwright::server {

// Plans what the job's request says, as CreatePlan would without a deadline, and saves every incumbent. Errors become
// the operation's result, except that of a store that does not work, after which somebody is to go on (kCancelled).
// `store`: where the job is from. `log`: told of the two ends of the search; outlives the call.
// `claims`: nullptr, nobody else searches for the same; a search that somebody else has claimed is waited for.
OperationEnd RunOperation(PlanningEngine& engine, Store& store, ClaimKeeper* claims, OperationJob& job,
                          SearchObserver& log);

// The end of an operation that has ended its servers too often.
OperationEnd GiveUpOperation(const Operation& operation);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_WORK_H_
