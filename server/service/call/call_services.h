// What every RPC needs.
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_CALL_SERVICES_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_CALL_SERVICES_H_

#include <chrono>

#include "server/connections/connections.h"
#include "server/engine/operations/operations.h"
#include "server/engine/plan_finder.h"
#include "server/engine/planning_engine.h"
#include "server/observability/audit_log.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"
#include "server/observability/span_exporter.h"
#include "server/service/call/answer_cache.h"
#include "server/serving/admission/executor.h"
#include "server/serving/admission/memory_account.h"
#include "server/serving/admission/unanswered_calls.h"
#include "server/serving/admission/unsent_answers.h"
#include "server/serving/admission/uploads.h"
#include "server/serving/callers/authenticator.h"
#include "server/serving/callers/call_registry.h"
#include "server/serving/tenants/stored_usage.h"
#include "server/serving/tenants/tenant_overrides.h"

namespace planwright::server {

// All of them outlive the service.
struct CallServices {
  PlanningEngine& engine;
  PlanFinder& finder;
  AnswerCache& answers;
  Operations& operations;
  // Runs what may take long: searches, evaluations.
  Executor& executor;
  // Runs what does not, so that it never waits for searches.
  Executor& serving;
  // Reads requests that take long to read, so that neither searches nor the reading of others waits for them.
  Executor& long_reads;
  // Runs what waits for the store, so that nothing else does; not for the rows of the plan cache, which are the
  // finder's.
  Executor& lookups;
  // Runs what reads large graphs to be stored and makes large answers, a few at a time.
  Executor& retrievals;
  Uploads& uploads;
  // Requests while they are messages, batches for as long as they run, and answers until they are sent.
  MemoryAccount& unpacked;
  MemoryAccount& batches;
  UnsentAnswers& unsent;
  const Authenticator& authenticator;
  UnansweredCalls& in_flight;
  Connections& connections;
  Metrics& metrics;
  CallRegistry& calls;
  TenantOverrides& tenants;
  const StoredUsage& usage;
  AuditLog& audit;
  const Logger& log;
  // Searches that take as long are logged as slow.
  std::chrono::nanoseconds slow_search{0};
  // nullptr: no collector of traces is told of calls.
  SpanExporter* spans = nullptr;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_CALL_SERVICES_H_
