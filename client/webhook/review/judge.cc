#include "client/webhook/review/judge.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/library/error_details.h"
#include "client/webhook/review/devices.h"
#include "client/webhook/review/job.h"
#include "client/webhook/review/patch.h"

namespace planwright::webhook {
namespace {

constexpr char kPlansPrefix[] = "plans/";

bool IsJudgedController(const Json& owner) {
  const Json* is_controller = Find(owner, {"controller"});
  if (is_controller == nullptr || *is_controller != Json(true)) return false;
  const std::string version = TextAt(owner, {"apiVersion"});
  return JobKindNamed(version.substr(0, version.find('/')), TextAt(owner, {"kind"})).has_value();
}

bool HasJudgedController(const Json& object) {
  const Json* owners = Find(object, {"metadata", "ownerReferences"});
  return owners != nullptr && owners->is_array() && std::any_of(owners->begin(), owners->end(), IsJudgedController);
}

bool HasChanged(const Review& review, const char* annotation) {
  const Keys place = {"metadata", "annotations", annotation};
  return TextAt(review.object, place) != TextAt(review.old_object, place);
}

// "k8s-" and a digest of what is asked, so that the same question is stored once and its name is known before.
std::string PlanIdOf(const v1::CreatePlanRequest& request) {
  std::string bytes;
  google::protobuf::io::StringOutputStream text(&bytes);
  {
    google::protobuf::io::CodedOutputStream coded(&text);
    coded.SetSerializationDeterministic(true);
    request.SerializeToCodedStream(&coded);
  }
  constexpr std::size_t kDigestBytes = 20;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return absl::StrCat("k8s-", absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), kDigestBytes}));
}

// One pool with what the job takes of it.
struct Candidate {
  const Pool* pool;
  Demand demand;
};

// A plan, and what it is for.
struct Planned {
  v1::Plan plan;
  // Empty: the service keeps no plans.
  std::string name;
  Candidate candidate;
};

class Judging {
 public:
  Judging(const Review& review, JobKind kind, Door door, const Policy& policy, const Pools& pools, absl::Time now,
          const Service& service)
      : review_(review),
        kind_(kind),
        door_(door),
        policy_(policy),
        pools_(pools),
        is_stale_(pools.IsStale(now, policy.max_pools_age)),
        service_(service),
        wishes_(ReadWishes(review.object, policy.mode)) {}

  Judgement Run() {
    for (const std::string& warning : wishes_.warnings) Warn(Reason::kAnnotation, warning);
    const std::optional<Planned> planned = AskPools();
    if (!planned.has_value()) {
      Refuse();
    } else if (door_ == Door::kMutate) {
      Patch(*planned);
    }
    return std::move(judgement_);
  }

 private:
  void Warn(Reason reason, std::string text) { judgement_.warnings.push_back({reason, std::move(text)}); }

  // Until one has a plan; collects the proofs that others have none.
  std::optional<Planned> AskPools() {
    if (!ReadRequest() || !ReadShape()) return std::nullopt;
    const std::vector<const Pool*> pools = FindPools();
    has_several_pools_ = pools.size() > 1;
    for (const Pool* pool : pools) {
      std::optional<Candidate> candidate = Fit(*pool);
      if (!candidate.has_value()) continue;
      std::optional<Planned> planned = Ask(*std::move(candidate));
      if (planned.has_value()) return planned;
    }
    judgement_.is_infeasible = !pools.empty() && proofs_.size() == pools.size();
    may_deny_ = judgement_.is_infeasible && !is_stale_ && !saw_empty_pool_;
    return std::nullopt;
  }

  // What all pools are asked for.
  bool ReadRequest() {
    if (!IsGraphName(wishes_.graph)) {
      Warn(Reason::kAnnotation, absl::StrCat(kGraphAnnotation, " must be graphs/DIGEST or zoo:NAME"));
      return false;
    }
    request_.set_graph_reference(wishes_.graph);
    const absl::Status problem = ReadProblem(wishes_.problem, *request_.mutable_problem(), *request_.mutable_options());
    if (!problem.ok()) {
      const auto details = client::ErrorDetailsOf(problem);
      if (details.violations.empty()) Warn(Reason::kAnnotation, std::string(problem.message()));
      for (const client::FieldViolation& violation : details.violations) {
        Warn(Reason::kAnnotation, absl::StrCat(kProblemAnnotation, ": ", violation.field, ": ", violation.description));
      }
      return false;
    }
    const int64_t milliseconds = absl::ToInt64Milliseconds(policy_.time_limit);
    request_.mutable_options()->mutable_time_limit()->set_seconds(milliseconds / 1000);
    request_.mutable_options()->mutable_time_limit()->set_nanos(static_cast<int32_t>(milliseconds % 1000) * 1'000'000);
    return true;
  }

  bool ReadShape() {
    auto job = ReadJob(kind_, review_.object);
    if (!job.ok()) {
      Warn(Reason::kShape, absl::StrCat("not judged: ", job.status().message()));
      return false;
    }
    job_ = *std::move(job);
    return true;
  }

  // The node selectors of all templates, one after the other: those without accelerators ask for other nodes.
  std::vector<const Pool*> FindPools() {
    const std::string queue = TextAt(review_.object, {"metadata", "labels", kQueueLabel});
    std::vector<const Pool*> found;
    for (const PodSet& set : job_.sets) {
      found = CandidatePools(pools_, wishes_.pool, review_.name_space, queue, set.node_selector);
      if (!found.empty()) return found;
    }
    std::vector<std::string> names;
    names.reserve(pools_.pools.size());
    for (const Pool& pool : pools_.pools) names.push_back(pool.name);
    Warn(Reason::kPool, wishes_.pool.empty()
                            ? absl::StrCat("not judged: no pool has this job's queue or node selector; name one with ",
                                           kPoolAnnotation)
                            : absl::StrCat("not judged: there is no pool ", Clipped(wishes_.pool, 60), "; there are ",
                                           names.empty() ? "none" : absl::StrJoin(names, ", ")));
    return found;
  }

  // nullopt: the job does not fit the pool's form, of which a warning tells.
  std::optional<Candidate> Fit(const Pool& pool) {
    auto demand = DemandOf(job_, pool.resource);
    if (!demand.ok()) {
      Warn(Reason::kShape, absl::StrCat("not judged for pool ", pool.name, ": ", demand.status().message()));
      return std::nullopt;
    }
    if (demand->devices_per_pod > pool.devices_per_node) {
      Warn(Reason::kCapacity, absl::StrCat("a pod asks for ", demand->devices_per_pod, " ", pool.resource,
                                           ", and nodes of pool ", pool.name, " have ", pool.devices_per_node));
      return std::nullopt;
    }
    const int64_t room = PodsOfNodes(*demand, pool, pool.max_nodes);
    if (room < demand->pods) {
      Warn(Reason::kCapacity, absl::StrCat("pool ", pool.name, " has room for ", room, " of the ", demand->pods,
                                           " pods, even when nothing else runs"));
      return std::nullopt;
    }
    saw_empty_pool_ = saw_empty_pool_ || pool.nodes == 0;
    return Candidate{.pool = &pool, .demand = *std::move(demand)};
  }

  // nullopt: there is none, of which a proof or a warning tells.
  std::optional<Planned> Ask(Candidate candidate) {
    *request_.mutable_cluster() = ClusterFor(candidate.demand, *candidate.pool);
    request_.clear_plan_id();
    const std::string plan_id = PlanIdOf(request_);
    if (door_ == Door::kMutate && !review_.dry_run) request_.set_plan_id(plan_id);
    auto plan = service_.plan(request_);
    const bool has_store = client::ErrorDetailsOf(plan.status()).reason != "NO_STORE";
    if (!has_store) {
      request_.clear_plan_id();
      plan = service_.plan(request_);
    }
    if (plan.ok()) {
      return Planned{.plan = *std::move(plan),
                     .name = has_store ? absl::StrCat(kPlansPrefix, plan_id) : "",
                     .candidate = std::move(candidate)};
    }
    if (IsProvenInfeasible(plan.status())) {
      proofs_.push_back(InfeasibleText(plan.status(), candidate.demand, *candidate.pool));
    } else {
      judgement_.warnings.push_back(WarningOf(plan.status()));
    }
    return std::nullopt;
  }

  void Patch(const Planned& planned) {
    judgement_.outcome = Outcome::kPlanned;
    Json after = review_.object;
    AnnotatePlan(planned.plan, planned.name, after);
    if (review_.operation == Operation::kCreate) PatchSpec(planned, after);
    judgement_.answer.patch = Json::diff(review_.object, after);
  }

  // Templates are immutable once the job is there.
  void PatchSpec(const Planned& planned, Json& after) {
    const Pool& pool = *planned.candidate.pool;
    if (has_several_pools_) {
      Warn(Reason::kRanks,
           absl::StrCat("annotated only: several pools may take the job; planned for pool ", pool.name));
      return;
    }
    AnnotateSlices(planned.candidate.demand, pool, after);
    const auto stages = StageOfRank(job_, planned.candidate.demand, pool.resource, planned.plan);
    if (!stages.ok()) {
      Warn(Reason::kRanks, std::string(stages.status().message()));
      return;
    }
    if (!planned.name.empty()) SetOwnVariable(planned.candidate, kPlanVariable, planned.name, after);
    SetOwnVariable(planned.candidate, kStagesVariable, *stages, after);
    if (!wishes_.trainer.empty()) SetTrainerArguments(planned, after);
  }

  void SetOwnVariable(const Candidate& candidate, std::string_view name, std::string_view value, Json& after) {
    if (SetVariable(candidate.demand, candidate.pool->resource, name, value, after)) return;
    Warn(Reason::kRanks, absl::StrCat(std::string(name), " has another value already, which stays"));
  }

  void SetTrainerArguments(const Planned& planned, Json& after) {
    const auto graph = service_.graph(wishes_.graph);
    const auto arguments = graph.ok() ? TrainerArguments(wishes_.trainer, planned.plan, *graph)
                                      : absl::StatusOr<std::string>(graph.status());
    if (arguments.ok()) {
      SetOwnVariable(planned.candidate, kTrainerVariable, *arguments, after);
    } else {
      Warn(Reason::kTrainer, absl::StrCat("no ", kTrainerVariable, ": ", arguments.status().message()));
    }
  }

  // There is no plan.
  void Refuse() {
    judgement_.outcome = Outcome::kWarned;
    if (may_deny_ && door_ == Door::kValidate && wishes_.mode == Mode::kEnforce) {
      judgement_.outcome = Outcome::kDenied;
      judgement_.answer.allowed = false;
      judgement_.answer.message = absl::StrCat("planwright: ", absl::StrJoin(proofs_, "; "));
      return;
    }
    for (const std::string& proof : proofs_) Warn(Reason::kInfeasible, proof);
    if (!proofs_.empty() && is_stale_) Warn(Reason::kStale, "the numbers of the pools are too old to deny anything");
  }

  const Review& review_;
  const JobKind kind_;
  const Door door_;
  const Policy& policy_;
  const Pools& pools_;
  const bool is_stale_;
  const Service& service_;
  const Wishes wishes_;
  Judgement judgement_;
  v1::CreatePlanRequest request_;
  JobShape job_;
  // Why the job cannot fit into pools, one sentence for each.
  std::vector<std::string> proofs_;
  bool has_several_pools_ = false;
  bool saw_empty_pool_ = false;
  bool may_deny_ = false;
};

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUntouched:
      return "untouched";
    case Outcome::kPlanned:
      return "planned";
    case Outcome::kWarned:
      return "warned";
    case Outcome::kDenied:
      return "denied";
  }
  return "";
}

bool IsJudged(const Review& review, Door door, const Policy& policy) {
  if (review.operation == Operation::kOther || !review.subresource.empty()) return false;
  if (!JobKindNamed(review.group, review.kind).has_value()) return false;
  const Wishes wishes = ReadWishes(review.object, policy.mode);
  if (wishes.graph.empty() || wishes.mode == Mode::kOff) return false;
  if (Find(review.object, {"metadata", "deletionTimestamp"}) != nullptr) return false;
  if (HasJudgedController(review.object)) return false;
  if (door == Door::kValidate) return review.operation == Operation::kCreate && wishes.mode == Mode::kEnforce;
  return review.operation == Operation::kCreate || HasChanged(review, kGraphAnnotation) ||
         HasChanged(review, kProblemAnnotation);
}

Judgement Judge(const Review& review, Door door, const Policy& policy, const Pools& pools, absl::Time now,
                const Service& service) {
  const auto kind = JobKindNamed(review.group, review.kind);
  if (!kind.has_value() || !IsJudged(review, door, policy)) return {};
  return Judging(review, *kind, door, policy, pools, now, service).Run();
}

Answer AnswerOf(const Judgement& judgement) {
  Answer answer = judgement.answer;
  for (const Warning& warning : judgement.warnings) {
    answer.warnings.push_back(absl::StrCat("planwright: ", warning.text));
  }
  return answer;
}

}  // namespace planwright::webhook
