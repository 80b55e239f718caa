// Any CreatePlanRequest in text proto, through codec, validator and planner: every answer is a plan or an error that
// speaks of the request. INTERNAL would mean that the verifier rejected a plan of ours. Requests are kept small enough
// for many runs a second.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/base/violations.h"
#include "core/planner/observer.h"
#include "core/planner/planner.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/codec/cluster.h"
#include "server/codec/digest.h"
#include "server/codec/field_path.h"
#include "server/codec/graph.h"
#include "server/codec/problem.h"
#include "tests/fuzz/text_proto.h"

namespace planwright::server {
namespace {

constexpr int64_t kMemoryBytes = int64_t{64} << 20;
constexpr int64_t kMaxWork = 2'000;

void CheckDigestsSurviveEncoding(const OperatorGraph& graph, const Cluster& cluster) {
  Violations violations;
  const OperatorGraph graph_again = DecodeGraph(EncodeGraph(graph), violations);
  const Cluster cluster_again = DecodeCluster(EncodeCluster(cluster), kFuzzedLimits.max_devices, violations);
  if (!violations.empty()) Fail("our own encoding is refused: " + violations.ToStatus().ToString());
  if (ClusterDigest(cluster_again) != ClusterDigest(cluster)) Fail("the cluster changes when it is encoded");
  if (GraphDigest(graph_again) != GraphDigest(graph)) Fail("the graph changes when it is encoded");
}

void PlanOnce(const v1::CreatePlanRequest& request) {
  Violations violations;
  const OperatorGraph graph = DecodeGraph(request.graph(), violations);
  const Cluster cluster = DecodeCluster(request.cluster(), kFuzzedLimits.max_devices, violations);
  const PlanningProblem problem = DecodeProblem(request.problem(), graph, cluster, FieldPath("problem"), violations);
  DecodedOptions options = DecodeOptions(request.options(), violations);
  if (!violations.empty()) return;

  options.options.work_limit = std::min(options.options.work_limit.value_or(kMaxWork), kMaxWork);
  TaskArena arena(1);
  PlannerObserver observer;
  const PlanRequest plan_request{.graph = graph, .cluster = cluster, .problem = problem, .options = options.options};
  SolveLimits limits;
  limits.memory_bytes = kMemoryBytes;
  limits.work = *options.options.work_limit;
  const auto plan = MakePlan(plan_request, kFuzzedLimits, limits, arena, observer);
  if (absl::IsInternal(plan.status())) Fail("our own plan was rejected: " + plan.status().ToString());
  if (plan.ok()) CheckDigestsSurviveEncoding(graph, cluster);
}

}  // namespace
}  // namespace planwright::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto request = planwright::ParseTextProto<planwright::v1::CreatePlanRequest>(data, size);
  if (request.has_value()) planwright::server::PlanOnce(*request);
  return 0;
}
