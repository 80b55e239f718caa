#include "server/engine/planning_engine.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/partition/contiguous/ideals/table_estimate.h"
#include "core/planner/algorithms/algorithms.h"
#include "core/planner/explanation.h"
#include "core/planner/planner.h"
#include "core/planner/replanning.h"
#include "server/codec/canonical_hash.h"
#include "server/codec/cluster.h"
#include "server/codec/digest.h"
#include "server/codec/graph.h"
#include "server/codec/plan.h"
#include "server/codec/plan_key.h"
#include "server/codec/problem.h"
#include "server/codec/scalars.h"
#include "server/codec/simulation.h"
#include "server/engine/library/request_input.h"
#include "server/engine/library/resource_name.h"
#include "server/engine/memory_shares.h"
#include "server/engine/plans/plan_numbering.h"
#include "server/engine/server_info.h"
#include "server/engine/task/interruptible.h"
#include "server/engine/task_memory.h"

namespace planwright::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using Clock = SolveLimits::Clock;

// Plans in their wire form, with the digests of their graph and cluster, which are computed once. Not thread-safe.
class AnswerEncoder {
 public:
  AnswerEncoder(const OperatorGraph& graph, const Cluster& cluster) : graph_(graph), cluster_(cluster) {}
  explicit AnswerEncoder(const PlanTask& task)
      : graph_(*task.graph),
        cluster_(*task.cluster),
        graph_digest_(task.graph_digest),
        cluster_digest_(task.cluster_digest) {}

  v1::Plan Encode(const Plan& plan) {
    v1::Plan wire = EncodePlan(plan, graph_, cluster_);
    wire.set_graph_digest(graph_digest());
    wire.set_cluster_digest(cluster_digest());
    return wire;
  }

  const std::string& graph_digest() {
    if (graph_digest_.empty()) graph_digest_ = GraphDigest(graph_);
    return graph_digest_;
  }
  const std::string& cluster_digest() {
    if (cluster_digest_.empty()) cluster_digest_ = ClusterDigest(cluster_);
    return cluster_digest_;
  }

 private:
  const OperatorGraph& graph_;
  const Cluster& cluster_;
  std::string graph_digest_;
  std::string cluster_digest_;
};

// Hands the planner's events to a SearchObserver, plans in their wire form.
class EventRelay final : public PlannerObserver {
 public:
  EventRelay(SearchObserver& observer, AnswerEncoder& encoder) : observer_(observer), encoder_(encoder) {}

  void OnPhase(std::string_view phase) override { observer_.OnPhase(phase); }
  void OnIncumbent(const Incumbent& incumbent) override { observer_.OnIncumbent(incumbent); }
  void OnBound(const Bound& bound) override { observer_.OnBound(bound); }
  bool wants_incumbent_plans() const override { return observer_.wants_incumbent_plans(); }
  void OnIncumbentPlan(const Plan& plan) override { observer_.OnIncumbentAnswer(encoder_.Encode(plan)); }

 private:
  SearchObserver& observer_;
  AnswerEncoder& encoder_;
};

// Tells the observer of the two ends of the search around MakePlan.
absl::StatusOr<Plan> RunSearch(const PlanRequest& request, const ModelLimits& model_limits, const SolveLimits& limits,
                               TaskArena& arena, AnswerEncoder& encoder, SearchObserver& observer) {
  const Clock::time_point start = Clock::now();
  observer.OnSearchStart({.operators = request.graph.operators.size(),
                          .tensors = request.graph.tensors.size(),
                          .devices = request.cluster.devices.size(),
                          .time_limit = limits.deadline - start});
  EventRelay relay(observer, encoder);
  absl::StatusOr<Plan> plan = MakePlan(request, model_limits, limits, arena, relay);
  observer.OnSearchEnd(plan, Clock::now() - start);
  return plan;
}

// What a call that only judges may spend.
SolveLimits LimitsOfCall(const CallContext& context) {
  SolveLimits limits;
  limits.deadline = context.deadline.value_or(limits.deadline);
  limits.stop = context.stop;
  return limits;
}

// "memory_model.recomputation: RECOMPUTATION_NONE -> RECOMPUTATION_FULL, ..." for two messages; empty: they are equal.
std::string DifferenceOf(const v1::PlanningProblem& from, const v1::PlanningProblem& to) {
  // What is listed; plans of large graphs may differ in thousands of pins.
  constexpr std::size_t kMostLines = 4;
  std::string report;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&report);
  if (differencer.Compare(from, to)) return "";
  std::vector<std::string> lines = absl::StrSplit(report, '\n', absl::SkipEmpty());
  const std::size_t more = lines.size() - std::min(lines.size(), kMostLines);
  lines.resize(lines.size() - more);
  for (std::string& line : lines) line = std::string(absl::StripPrefix(line, "modified: "));
  return absl::StrCat(absl::StrJoin(lines, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

void CheckDigest(const std::string& stated, const std::string& actual, const char* path, const char* noun,
                 Violations& violations) {
  if (stated.empty() || stated == actual) return;
  violations.Add(path, absl::StrCat("the plan was made for another ", noun, ": give that one, or plan anew (must be ",
                                    actual, ", is ", stated, ")"));
}

// Where the problem that the plan says it was made for is not that of the request, every default filled in: how they
// differ. A plan that does not say is taken at its word.
std::optional<std::string> OtherProblemWarning(const v1::Plan& plan, const PlanRequest& request) {
  if (!plan.has_problem()) return std::nullopt;
  const auto own = ResolvedForm(plan.problem(), request.graph, request.cluster);
  const v1::PlanningProblem asked = EncodeResolved(request.problem, request.graph, request.cluster);
  const std::string difference = own.has_value()
                                     ? DifferenceOf(*own, asked)
                                     : std::string("the one that it states does not speak of this graph and cluster");
  if (difference.empty()) return std::nullopt;
  return absl::StrCat("the plan is judged under another problem than it was made for (", difference,
                      "): the numbers that it states were not compared");
}

// How the moves of a plan that starts from another one are counted: they follow from the placement.
void CheckMoves(const v1::Plan& plan, const PlanningProblem& problem, const Placement& placement, double objective_ms,
                Violations& violations) {
  if (!plan.has_replanning() || !problem.start_from.has_value()) return;
  const v1::Replanning& stated = plan.replanning();
  const auto compare = [&violations](const char* field, bool is_right, const auto& right) {
    if (!is_right) violations.Add(absl::StrCat("plan.replanning.", field), absl::StrCat("must be ", right));
  };
  const int32_t moved = CountMovedStages(*problem.start_from, placement);
  const int32_t kept = plan.stages_size() - moved;
  const double lost_ms = objective_ms - stated.best_objective_ms();
  compare("moved_stages", stated.moved_stages() == moved, moved);
  compare("kept_stages", stated.kept_stages() == kept, kept);
  compare("best_objective_ms", stated.best_objective_ms() <= objective_ms, "at most the objective");
  compare("time_lost_ms", FromMilliseconds(stated.time_lost_ms()) == FromMilliseconds(lost_ms), lost_ms);
}

// What `stated` says otherwise than `fresh`, its placement costed anew.
void CheckStated(const v1::Plan& stated, const v1::Plan& fresh, const PlanningProblem& problem,
                 const Placement& placement, Violations& violations) {
  CheckStatedNumbers(stated, fresh, violations);
  CheckMoves(stated, problem, placement, fresh.objective_ms(), violations);
}

// Every violation of the plan itself; its placement is costed where that is possible. What it states is judged where it
// was made for the same problem, by the same rules.
absl::StatusOr<v1::EvaluatePlanResponse> Judge(const v1::Plan& plan, const PlanRequest& request,
                                               const ModelLimits& model_limits, const SolveLimits& limits,
                                               AnswerEncoder& encoder) {
  Violations violations;
  const Placement placement = DecodePlacement(plan, request.graph, request.cluster, violations);
  ASSIGN_OR_RETURN(const Verdict verdict, EvaluatePlacement(request, model_limits, placement, limits));
  v1::EvaluatePlanResponse response;
  // A placement with names left out is not the one that was sent: nothing else is said about it.
  const bool understood = violations.empty();
  if (understood) violations = verdict.violations;
  if (understood && verdict.costed.has_value()) {
    *response.mutable_plan() = encoder.Encode(*verdict.costed);
    response.set_objective_ms(response.plan().objective_ms());
    const std::optional<std::string> other_rules = OtherRulesWarning(plan);
    const std::optional<std::string> other_problem = OtherProblemWarning(plan, request);
    for (const auto& warning : {other_rules, other_problem}) {
      if (warning.has_value()) response.mutable_plan()->add_warnings(*warning);
    }
    if (!other_rules.has_value() && !other_problem.has_value()) {
      CheckStated(plan, response.plan(), request.problem, placement, violations);
    }
  }
  response.set_valid(violations.empty());
  for (const Violation& violation : violations.listed()) {
    v1::PlanViolation& wire = *response.add_violations();
    wire.set_field(violation.path);
    wire.set_description(violation.rule);
  }
  if (violations.unlisted_count() > 0) {
    v1::PlanViolation& wire = *response.add_violations();
    wire.set_field("plan");
    wire.set_description(absl::StrCat("violations that are not listed: ", violations.unlisted_count()));
  }
  return response;
}

absl::Status CheckDigests(const v1::Plan& plan, AnswerEncoder& encoder) {
  Violations violations;
  CheckDigest(plan.graph_digest(), encoder.graph_digest(), "plan.graph_digest", "graph", violations);
  CheckDigest(plan.cluster_digest(), encoder.cluster_digest(), "plan.cluster_digest", "cluster", violations);
  return violations.ToStatus();
}

template <typename Request>
absl::StatusOr<GivenPlan> ReadAnyGivenPlan(const Request& request, const ModelLimits& limits,
                                           const InputLookup& names) {
  Violations violations;
  ASSIGN_OR_RETURN(RequestInput input, ReadInput(request, limits, names, violations));
  GivenPlan given{.graph = std::move(input.graph), .cluster = std::move(input.cluster), .problem = {}};
  const auto& [graph, cluster, problem] = given;
  if (!request.has_plan()) violations.Add("plan", "must be set");
  const FieldPath plan_path("plan");
  given.problem = request.has_problem()
                      ? DecodeProblem(request.problem(), graph, cluster, FieldPath("problem"), violations)
                      : DecodeProblem(request.plan().problem(), graph, cluster, plan_path.Field("problem"), violations);
  RETURN_IF_ERROR(CheckDecoded(graph, cluster, limits, violations));
  return given;
}

// Whether sizes and names are within the limits.
bool IsWithin(const ModelLimits& limits, const OperatorGraph& graph, const Cluster& cluster) {
  const auto is_long = [&limits](const std::string& name) {
    return std::cmp_greater(name.size(), limits.max_name_bytes);
  };
  const auto has_long = [&is_long](const auto& named) {
    return std::any_of(named.begin(), named.end(), [&is_long](const auto& element) { return is_long(element.name); });
  };
  if (std::cmp_greater(graph.operators.size(), limits.max_operators)) return false;
  if (std::cmp_greater(graph.tensors.size(), limits.max_tensors)) return false;
  if (std::cmp_greater(cluster.devices.size(), limits.max_devices)) return false;
  return !is_long(graph.display_name) && !is_long(cluster.display_name) && !has_long(graph.operators) &&
         !has_long(graph.tensors) && !has_long(cluster.device_classes) && !has_long(cluster.devices);
}

// OK where the options obey the rules, and the sizes the limits that hold now; else INVALID_ARGUMENT with all that is
// wrong with the request. Known plans would hide it: their names and keys leave out what does not change the answer,
// and they may have been made under other limits.
absl::Status CheckBeforeLooking(const PlanTask& task, const ModelLimits& limits) {
  Violations violations;
  ValidateOptions(task.options.options, violations);
  if (violations.empty() && IsWithin(limits, *task.graph, *task.cluster)) return absl::OkStatus();
  return CheckRequest({*task.graph, *task.cluster, task.problem, task.options.options}, limits);
}

// What a plan is stored as whose caller has no name for it.
std::string IdOfWish(const PlanTask& task) {
  CanonicalHash hash("planwright.wish.1");
  hash.Add(task.key);
  hash.Add(task.options.options.work_limit);
  hash.Add(task.options.options.relative_gap);
  hash.Add(task.options.time_limit.has_value() ? task.options.time_limit->count() : -1);
  return ResourceIdOf(hash);
}

// The devices of a stored plan travel in its problem, as the selection that they are.
void GiveDevices(const std::vector<std::string>& devices, v1::PlanningProblem& problem) {
  if (devices.empty()) return;
  problem.mutable_devices_to_use()->mutable_devices()->Add(devices.begin(), devices.end());
}

// The inverse: takes them out again.
std::vector<std::string> TakeDevices(v1::PlanningProblem& problem) {
  const v1::DeviceSelection& selection = problem.devices_to_use();
  std::vector<std::string> devices(selection.devices().begin(), selection.devices().end());
  if (selection.has_max_devices()) {
    problem.mutable_devices_to_use()->clear_devices();
  } else {
    problem.clear_devices_to_use();
  }
  return devices;
}

Numbering NumberingFor(const PlanTask& task) {
  return NumberingOf(*task.graph, *task.cluster, task.shared.devices, HasDirectedLinks(task.resolved_problem));
}

// `plan`, by ids of the task, in the words of the task.
v1::Plan EncodeFor(const PlanTask& task, const Plan& plan) {
  v1::Plan wire = AnswerEncoder(task).Encode(plan);
  *wire.mutable_problem() = task.resolved_problem;
  return wire;
}

// The names of others that say where tasks run; those of the task's own are checked.
void ForgetResources(Plan& plan) {
  for (ScheduledTask& task : plan.tasks) task.resource.clear();
}

// The plan of the store by the numbers of the task; `devices`: what those of the task are called in it, by number, or
// empty, where names matter. Violations: it is none of ours.
Plan DecodeStored(const PlanTask& task, const std::vector<std::string>& devices, const v1::Plan& wire,
                  Violations& violations) {
  const Numbering numbering = NumberingFor(task);
  NameIndex<OperatorId> operator_names(numbering.operators.size());
  for (const OperatorId op : numbering.operators) operator_names.Add(task.graph->operators[op.index()].name);
  NameIndex<DeviceId> device_names(numbering.devices.size());
  for (const std::string& device : devices) device_names.Add(device);
  if (devices.empty()) {
    for (const DeviceId device : numbering.devices) device_names.Add(task.cluster->devices[device.index()].name);
  }
  return DecodePlan(wire, *task.graph, operator_names, device_names, violations);
}

// Changes with the program and with every algorithm, all of which may have a part in a plan.
std::string ProgramVersion(const std::string& program) {
  std::string version = absl::StrCat(program, ";cost_model=", kCostModelVersion);
  for (const AlgorithmRow& algorithm : Algorithms()) {
    absl::StrAppend(&version, ";", ToAbsl(algorithm.name), "=", ToAbsl(algorithm.version));
  }
  return version;
}

}  // namespace

v1::Plan AnswerOf(const PlanTask& task, const CachedPlan& cached, bool from_cache) {
  v1::Plan plan = EncodeFor(task, WithIds(cached.plan, NumberingFor(task)));
  if (from_cache) plan.mutable_provenance()->set_cached(true);
  return plan;
}

PlanningEngine::PlanningEngine(EngineConfig config, Store* store)
    : config_(std::move(config)),
      limits_(config_.model_limits),
      library_(store, config_.quota, limits_),
      program_version_(ProgramVersion(config_.version)),
      arena_(config_.cpus),
      cache_(config_.cache_bytes),
      stored_(store, config_.retention.answer_bytes) {}

template <typename Request>
absl::StatusOr<PlanTask> PlanningEngine::ReadAnyTask(const Request& request, const CallContext& context) {
  return Interruptible(LimitsOfCall(context), [&]() -> absl::StatusOr<PlanTask> {
    Violations violations;
    ASSIGN_OR_RETURN(RequestInput input, ReadInput(request, model_limits(), NamesFor(context.tenant), violations));
    ASSIGN_OR_RETURN(PlanTask task, MakeTask(std::make_shared<const OperatorGraph>(std::move(input.graph)),
                                             std::make_shared<const Cluster>(std::move(input.cluster)),
                                             request.problem(), request.options(), violations));
    task.skip_cache = request.skip_cache();
    return task;
  });
}

absl::StatusOr<PlanTask> PlanningEngine::ReadTask(const v1::CreatePlanRequest& request, const CallContext& context) {
  ASSIGN_OR_RETURN(PlanTask task, ReadAnyTask(request, context));
  task.is_to_be_kept = request.store() || !request.plan_id().empty();
  task.plan_id = request.plan_id();
  task.is_named = !task.plan_id.empty();
  // So that a call that is made again after its answer was lost finds what it has stored.
  if (task.is_to_be_kept && task.plan_id.empty() && !task.skip_cache) task.plan_id = IdOfWish(task);
  return task;
}

absl::StatusOr<PlanTask> PlanningEngine::ReadTask(const v1::StreamPlanRequest& request, const CallContext& context) {
  return ReadAnyTask(request, context);
}

absl::StatusOr<PlanTask> PlanningEngine::ReadTask(const v1::BatchCreatePlansRequest::Entry& entry,
                                                  std::shared_ptr<const OperatorGraph> graph,
                                                  std::shared_ptr<const Cluster> cluster, const CallContext& context) {
  return Interruptible(LimitsOfCall(context), [&]() -> absl::StatusOr<PlanTask> {
    Violations violations;
    if (graph == nullptr || entry.graph_source_case() != v1::BatchCreatePlansRequest::Entry::GRAPH_SOURCE_NOT_SET) {
      ASSIGN_OR_RETURN(OperatorGraph own_graph, ReadGraph(entry, NamesFor(context.tenant), violations));
      graph = std::make_shared<const OperatorGraph>(std::move(own_graph));
    }
    return MakeTask(std::move(graph), std::move(cluster), entry.problem(), entry.options(), violations);
  });
}

absl::StatusOr<PlanTask> PlanningEngine::MakeTask(std::shared_ptr<const OperatorGraph> graph,
                                                  std::shared_ptr<const Cluster> cluster,
                                                  const v1::PlanningProblem& problem, const v1::SolverOptions& options,
                                                  Violations& violations) const {
  PlanTask task;
  task.graph = std::move(graph);
  task.cluster = std::move(cluster);
  task.problem = DecodeProblem(problem, *task.graph, *task.cluster, FieldPath("problem"), violations);
  task.options = DecodeOptions(options, violations);
  RETURN_IF_ERROR(CheckDecoded(*task.graph, *task.cluster, model_limits(), violations));
  RETURN_IF_ERROR(CheckBeforeLooking(task, model_limits()));
  task.graph_digest = GraphDigest(*task.graph);
  task.cluster_digest = ClusterDigest(*task.cluster);
  task.resolved_problem = EncodeResolved(task.problem, *task.graph, *task.cluster);
  task.key = KeyOf(task, task.cluster_digest, task.resolved_problem);
  std::optional<SharedProblem> shared =
      ShareProblem(*task.graph, *task.cluster, model_limits(), task.problem, task.resolved_problem);
  task.shared = shared.has_value() ? *std::move(shared) : SharedProblem{task.cluster_digest, task.resolved_problem, {}};
  task.shared_key = KeyOf(task, task.shared.cluster_digest, task.shared.problem);
  return task;
}

std::string PlanningEngine::KeyOf(const PlanTask& task, std::string_view cluster_digest,
                                  const v1::PlanningProblem& problem) const {
  return PlanKey({.graph_digest = task.graph_digest,
                  .cluster_digest = cluster_digest,
                  .problem = problem,
                  .options = task.options.options,
                  .program_version = program_version_});
}

SearchEffort PlanningEngine::EffortFor(const PlanTask& task, const CallContext& context) const {
  const Clock::time_point now = Clock::now();
  return {.time = SearchDeadline(now, task.options.time_limit, context.deadline, config_.time_limits,
                                 context.searches_left) -
                  now,
          .work_limit = task.options.options.work_limit,
          .relative_gap = task.options.options.relative_gap};
}

std::shared_ptr<const CachedPlan> PlanningEngine::FindPlan(const PlanTask& task, const CallContext& context) {
  if (task.skip_cache) return nullptr;
  std::shared_ptr<const CachedPlan> known = cache_.Find(task.shared_key, EffortFor(task, context));
  return known == nullptr ? nullptr : InWordsOf(task, std::move(known), context);
}

std::shared_ptr<const CachedPlan> PlanningEngine::InWordsOf(const PlanTask& task,
                                                            std::shared_ptr<const CachedPlan> known,
                                                            const CallContext& context) const {
  if (known->key == task.key) return known;
  return Verified(task, *known, context).value_or(nullptr);
}

absl::StatusOr<std::shared_ptr<const CachedPlan>> PlanningEngine::Verified(const PlanTask& task,
                                                                           const CachedPlan& known,
                                                                           const CallContext& context) const {
  const absl::Status wrong = absl::InvalidArgumentError("it is not what it says");
  if (known.devices.size() != task.shared.devices.size() || known.plan.cost_model_version != kCostModelVersion) {
    return wrong;
  }
  const bool is_renamed = known.devices != task.shared.devices;
  Plan plan = WithIds(known.plan, NumberingFor(task));
  if (is_renamed) ForgetResources(plan);
  const Placement placement = PlacementOf(plan);
  ASSIGN_OR_RETURN(const Verdict verdict,
                   EvaluatePlacement({*task.graph, *task.cluster, task.problem, task.options.options}, model_limits(),
                                     placement, LimitsOfCall(context)));
  if (!verdict.violations.empty() || !verdict.costed.has_value()) return wrong;
  Violations violations;
  CheckStated(EncodeFor(task, plan), EncodeFor(task, *verdict.costed), task.problem, placement, violations);
  if (!violations.empty()) return wrong;
  auto own = std::make_shared<CachedPlan>(known);
  own->key = task.key;
  own->devices = task.shared.devices;
  if (is_renamed) RenewTexts(*verdict.costed, BottleneckOf(*task.cluster, *verdict.costed), own->plan);
  return own;
}

std::shared_ptr<const CachedPlan> PlanningEngine::FetchPlan(const PlanTask& task, const CallContext& context) {
  if (task.skip_cache || !MayFetch()) return nullptr;
  FetchStored(task, context);
  std::shared_ptr<const CachedPlan> known = cache_.Peek(task.shared_key);
  if (known == nullptr || !Satisfies(*known, EffortFor(task, context))) return nullptr;
  return InWordsOf(task, std::move(known), context);
}

void PlanningEngine::FetchStored(const PlanTask& task, const CallContext& context) {
  std::optional<StoredPlan> stored = stored_.Find(task.shared_key);
  if (!stored.has_value()) return;
  CachedPlan known;
  known.effort = stored->effort;
  if (!task.shared.devices.empty()) known.devices = TakeDevices(*stored->plan.mutable_problem());
  const v1::Plan& plan = stored->plan;
  const bool is_its_key =
      plan.graph_digest() == task.graph_digest && KeyOf(task, plan.cluster_digest(), plan.problem()) == task.shared_key;
  Violations violations;
  if (is_its_key) known.plan = DecodeStored(task, known.devices, plan, violations);
  if (!is_its_key || !violations.empty()) return stored_.Drop(task.shared_key);
  absl::StatusOr<std::shared_ptr<const CachedPlan>> verified = Verified(task, known, context);
  if (verified.ok()) {
    cache_.Offer(task.shared_key, *std::move(verified));
  } else if (verified.status().code() == absl::StatusCode::kInvalidArgument) {
    stored_.Drop(task.shared_key);
  }
}

void PlanningEngine::StoreShared(const PlanTask& task, const CachedPlan& found) {
  if (config_.cache_bytes == 0) return;
  const std::shared_ptr<const CachedPlan> known = cache_.Peek(task.shared_key);
  if (known != nullptr && known.get() != &found) return;
  StoredPlan shared{.plan = AnswerOf(task, found, /*from_cache=*/false), .effort = found.effort};
  shared.plan.set_cluster_digest(task.shared.cluster_digest);
  *shared.plan.mutable_problem() = task.shared.problem;
  GiveDevices(task.shared.devices, *shared.plan.mutable_problem());
  stored_.Keep(task.shared_key, shared);
}

absl::StatusOr<std::shared_ptr<const CachedPlan>> PlanningEngine::Search(const PlanTask& task,
                                                                         const CallContext& context) {
  auto found = std::make_shared<CachedPlan>();
  found->effort = EffortFor(task, context);
  const Clock::time_point start = Clock::now();
  SolveLimits limits;
  limits.deadline = start + found->effort.time;
  limits.work = found->effort.work_limit.value_or(limits.work);
  limits.memory_bytes = TableBytes(task);
  limits.stop = context.stop;

  const std::optional<Placement> known = task.start.has_value() ? task.start : KnownPlacement(task);
  PlanRequest request{*task.graph, *task.cluster, task.problem, task.options.options};
  if (known.has_value()) request.warm_start = &*known;
  SearchObserver silent;
  AnswerEncoder encoder(task);
  ASSIGN_OR_RETURN(Plan plan, RunSearch(request, model_limits(), limits, arena_, encoder,
                                        context.observer != nullptr ? *context.observer : silent));
  found->plan = WithNumbers(std::move(plan), NumberingFor(task));
  found->key = task.key;
  found->devices = task.shared.devices;
  if (found->plan.provenance.stop_reason == StopReason::kCancelled) found->effort.time = Clock::now() - start;
  cache_.Offer(task.shared_key, found);
  return found;
}

int PlanningEngine::LargeSearches(const EngineConfig& config) {
  constexpr int kMost = 8;
  return std::min(config.max_running + config.spare_running, kMost);
}

int64_t PlanningEngine::TableBytes(const PlanTask& task) const {
  // Less is not worth the doubt about the estimate.
  constexpr int64_t kLeast = int64_t{64} << 20;
  const int64_t searches = int64_t{LargeSearches(config_)} + config_.max_operations;
  const int64_t most = MemoryShares(config_.memory_budget_bytes).tables / searches;
  // The estimate is of ideals of the graph; how many labels the joint search keeps is not known before.
  if (task.problem.joint.has_value()) return most;
  return std::min(std::max(EstimateTableBytes(*task.graph, *task.cluster, task.options.options), kLeast), most);
}

std::optional<Placement> PlanningEngine::KnownPlacement(const PlanTask& task) {
  if (task.skip_cache) return std::nullopt;
  const std::shared_ptr<const CachedPlan> known = cache_.Peek(task.shared_key);
  if (known == nullptr) return std::nullopt;
  return PlacementOf(WithIds(known->plan, NumberingFor(task)));
}

absl::StatusOr<v1::Plan> PlanningEngine::PlanAlone(const PlanTask& task, const CallContext& context) {
  std::shared_ptr<const CachedPlan> known = FindPlan(task, context);
  if (known == nullptr) known = FetchPlan(task, context);
  if (known != nullptr) return AnswerOf(task, *known, /*from_cache=*/true);
  ASSIGN_OR_RETURN(const std::shared_ptr<const CachedPlan> found, Search(task, context));
  StoreShared(task, *found);
  return AnswerOf(task, *found, /*from_cache=*/false);
}

absl::StatusOr<v1::CreatePlanResponse> PlanningEngine::CreatePlan(const v1::CreatePlanRequest& request,
                                                                  const CallContext& context) {
  v1::CreatePlanResponse response;
  ASSIGN_OR_RETURN(const PlanTask task, ReadTask(request, context));
  ASSIGN_OR_RETURN(std::optional<v1::Plan> kept, library_.FindKeptPlan(context.tenant, task));
  if (kept.has_value()) {
    *response.mutable_plan() = *std::move(kept);
    return response;
  }
  ASSIGN_OR_RETURN(*response.mutable_plan(), PlanAlone(task, context));
  RETURN_IF_ERROR(library_.KeepPlan(context.tenant, task, *response.mutable_plan()));
  return response;
}

absl::StatusOr<v1::StreamPlanResponse> PlanningEngine::StreamPlan(const v1::StreamPlanRequest& request,
                                                                  const CallContext& context) {
  v1::StreamPlanResponse response;
  ASSIGN_OR_RETURN(const PlanTask task, ReadTask(request, context));
  ASSIGN_OR_RETURN(*response.mutable_plan(), PlanAlone(task, context));
  return response;
}

absl::StatusOr<GivenPlan> PlanningEngine::ReadGivenPlan(const v1::EvaluatePlanRequest& request,
                                                        const CallContext& context) {
  return Interruptible(LimitsOfCall(context),
                       [&] { return ReadAnyGivenPlan(request, model_limits(), NamesFor(context.tenant)); });
}

absl::StatusOr<GivenPlan> PlanningEngine::ReadGivenPlan(const v1::SimulatePlanRequest& request,
                                                        const CallContext& context) {
  return Interruptible(LimitsOfCall(context),
                       [&] { return ReadAnyGivenPlan(request, model_limits(), NamesFor(context.tenant)); });
}

absl::StatusOr<v1::EvaluatePlanResponse> PlanningEngine::EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                                      const CallContext& context) {
  ASSIGN_OR_RETURN(const GivenPlan given, ReadGivenPlan(request, context));
  return EvaluatePlan(request, given, context);
}

absl::StatusOr<v1::EvaluatePlanResponse> PlanningEngine::EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                                      const GivenPlan& given,
                                                                      const CallContext& context) const {
  AnswerEncoder encoder(given.graph, given.cluster);
  RETURN_IF_ERROR(CheckDigests(request.plan(), encoder));
  return Judge(request.plan(), {given.graph, given.cluster, given.problem, SolverOptions{}}, model_limits(),
               LimitsOfCall(context), encoder);
}

absl::StatusOr<SimulationMessages> PlanningEngine::SimulatePlan(const v1::SimulatePlanRequest& request,
                                                                const CallContext& context) {
  ASSIGN_OR_RETURN(const GivenPlan given, ReadGivenPlan(request, context));
  return SimulatePlan(request, given, context);
}

absl::StatusOr<SimulationMessages> PlanningEngine::SimulatePlan(const v1::SimulatePlanRequest& request,
                                                                const GivenPlan& given,
                                                                const CallContext& context) const {
  const auto& [graph, cluster, problem] = given;
  AnswerEncoder encoder(graph, cluster);
  RETURN_IF_ERROR(CheckDigests(request.plan(), encoder));
  Violations violations;
  const Placement placement = DecodePlacement(request.plan(), graph, cluster, violations);
  const SimulationSettings settings = DecodeSimulationSettings(request, graph, cluster, violations);
  RETURN_IF_ERROR(violations.ToStatus());
  ASSIGN_OR_RETURN(PlanSimulation simulation,
                   SimulatePlacement({graph, cluster, problem, SolverOptions{}}, model_limits(), placement, settings,
                                     LimitsOfCall(context)));
  const std::optional<std::string> other_rules = OtherRulesWarning(request.plan());
  if (other_rules.has_value()) simulation.warnings.push_back(*other_rules);
  int64_t samples = graph.samples_per_micro_batch;
  if (problem.joint.has_value()) samples = problem.joint->global_batch / simulation.settings.micro_batches;
  return SimulationMessages(std::move(simulation), samples, request.view() == v1::SimulatePlanRequest::VIEW_FULL);
}

absl::StatusOr<v1::GetGraphResponse> PlanningEngine::GetGraph(const v1::GetGraphRequest& request,
                                                              const CallContext& context) {
  Violations violations;
  ASSIGN_OR_RETURN(v1::Graph graph, NamesFor(context.tenant).FindGraphMessage(request.name(), "name", violations));
  RETURN_IF_ERROR(violations.ToStatus());
  v1::GetGraphResponse response;
  *response.mutable_graph() = std::move(graph);
  return response;
}

absl::StatusOr<v1::GetClusterResponse> PlanningEngine::GetCluster(const v1::GetClusterRequest& request,
                                                                  const CallContext& context) {
  Violations violations;
  ASSIGN_OR_RETURN(const Cluster cluster,
                   NamesFor(context.tenant).FindCluster(request.name(), "name", model_limits(), violations));
  RETURN_IF_ERROR(violations.ToStatus());
  v1::GetClusterResponse response;
  *response.mutable_cluster() = EncodeCluster(cluster);
  return response;
}

v1::GetServerInfoResponse PlanningEngine::GetServerInfo() const {
  EngineConfig now = config_;
  now.model_limits = model_limits();
  return MakeServerInfo(now, library_.store_kind());
}

absl::StatusOr<std::string> PlanningEngine::WriteProgram(const v1::CreatePlanRequest& request, ProgramFormat format,
                                                         ProgramForm form) {
  Violations violations;
  ASSIGN_OR_RETURN(const RequestInput input, ReadInput(request, model_limits(), NamesFor(kDefaultTenant), violations));
  const PlanningProblem problem =
      DecodeProblem(request.problem(), input.graph, input.cluster, FieldPath("problem"), violations);
  const DecodedOptions decoded = DecodeOptions(request.options(), violations);
  RETURN_IF_ERROR(CheckDecoded(input.graph, input.cluster, model_limits(), violations));
  return WriteIntegerProgram({input.graph, input.cluster, problem, decoded.options}, model_limits(), format, form);
}

}  // namespace planwright::server
