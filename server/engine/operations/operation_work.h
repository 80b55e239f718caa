// What running an operation is: planning, from the best plan saved so far.
#ifndef PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_WORK_H_
#define PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_WORK_H_

#include <memory>

#include "server/engine/plan_finder.h"
#include "server/engine/planning_engine.h"
#include "server/engine/task/search_observer.h"
#include "server/serving/admission/executor.h"
#include "server/serving/operations/operation_runner.h"
#include "server/store/store.h"

namespace planwright::server {

// What running operations takes. All of it outlives them.
struct OperationTools {
  PlanningEngine& engine;
  // Where the jobs are from.
  Store& store;
  PlanFinder& finder;
  // Where searches of operations run.
  Executor& searching;
};

// Plans what the job's request says, as CreatePlan would without a deadline, and saves every incumbent. Errors become
// the operation's result, except that of a store that does not work, after which somebody is to go on (kCancelled).
// `log`: told of the two ends of the search. Waits for the plan; the work is done where PlanFinder does it.
OperationEnd RunOperation(const OperationTools& tools, OperationJob& job, std::unique_ptr<SearchObserver> log);

// The end of an operation that has ended its servers too often.
OperationEnd GiveUpOperation(const Operation& operation);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_WORK_H_
