// Judgements by the planner in this process.
#include "client/webhook/review/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/library/error_details.h"
#include "client/local/local_planning_client.h"
#include "client/webhook/review/patch.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/client/webhook/review/objects.h"

namespace planwright::webhook {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kSmall[] = "zoo:bert-base";
// 61 layers of 7,168: far beyond two accelerators.
constexpr char kHuge[] = "zoo:transformer?layers=61&hidden=7168&heads=128&vocab=129280&sequence=4096";

class JudgeTest : public ::testing::Test {
 protected:
  // Plans in this process, which takes no names of plans to be kept.
  Service RealService() {
    return {.plan = [this](v1::CreatePlanRequest request) -> absl::StatusOr<v1::Plan> {
              ++searches_;
              request.clear_plan_id();
              auto response = client_.CreatePlan(request, {});
              if (!response.ok()) return response.status();
              return response->plan();
            },
            .graph = [this](const std::string& name) -> absl::StatusOr<v1::Graph> {
              v1::GetGraphRequest request;
              request.set_name(name);
              auto response = client_.GetGraph(request, {});
              if (!response.ok()) return response.status();
              return response->graph();
            }};
  }

  static Service ServiceThatEndsWith(const absl::Status& status) {
    return {.plan = [status](const v1::CreatePlanRequest&) -> absl::StatusOr<v1::Plan> { return status; },
            .graph = [status](const std::string&) -> absl::StatusOr<v1::Graph> { return status; }};
  }

  Judgement JudgeReal(const Review& review, Door door = Door::kMutate) {
    return Judge(review, door, policy_, pools_, absl::Now(), RealService());
  }

  static Review Annotated(int pods, int devices, const char* graph, Json others = Json::object()) {
    others[kGraphAnnotation] = graph;
    return CreateOf(MakeJob(pods, devices, std::move(others)));
  }

  static auto HasWarning(Reason reason, const std::string& text) {
    return Contains(AllOf(Field(&Warning::reason, reason), Field(&Warning::text, HasSubstr(text))));
  }

  static std::string VariableOf(const Json& object, const std::string& name) {
    for (const Json& entry : object.at(Place("/spec/template/spec/containers/0/env"))) {
      if (entry["name"] == name) return entry["value"];
    }
    return "";
  }

  client::LocalPlanningClient client_{client::ConfigOfThisMachine("test")};
  int searches_ = 0;
  Policy policy_{.mode = Mode::kAnnotate, .time_limit = absl::Seconds(20)};
  Pools pools_ = TestPools();
};

TEST_F(JudgeTest, LeavesAloneWhatIsNotMeant) {
  EXPECT_FALSE(IsJudged(CreateOf(MakeJob(1, 1, Json::object())), Door::kMutate, policy_));
  const Review meant = Annotated(1, 1, kSmall);
  EXPECT_TRUE(IsJudged(meant, Door::kMutate, policy_));
  Review other = meant;
  other.kind = "CronJob";
  EXPECT_FALSE(IsJudged(other, Door::kMutate, policy_));
  other = meant;
  other.subresource = "status";
  EXPECT_FALSE(IsJudged(other, Door::kMutate, policy_));
  other = meant;
  other.operation = Operation::kOther;
  EXPECT_FALSE(IsJudged(other, Door::kMutate, policy_));
  other = meant;
  other.object["metadata"]["deletionTimestamp"] = "2026-11-23T09:00:00Z";
  EXPECT_FALSE(IsJudged(other, Door::kMutate, policy_));
  policy_.mode = Mode::kOff;
  EXPECT_FALSE(IsJudged(meant, Door::kMutate, policy_));
}

TEST_F(JudgeTest, LeavesTheJobsOfAJobSetAloneAndJudgesThoseOfACronJob) {
  Review review = Annotated(1, 1, kSmall);
  Json& owners = review.object["metadata"]["ownerReferences"];
  owners = {{{"apiVersion", "batch/v1"}, {"kind", "CronJob"}, {"controller", true}}};
  EXPECT_TRUE(IsJudged(review, Door::kMutate, policy_));
  owners = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"}, {"kind", "JobSet"}}};
  EXPECT_TRUE(IsJudged(review, Door::kMutate, policy_));
  owners[0]["controller"] = true;
  EXPECT_FALSE(IsJudged(review, Door::kMutate, policy_));
}

TEST_F(JudgeTest, JudgesUpdatesOfGraphAndProblemOnlyAndNeverPatchesTheirSpec) {
  Review review = Annotated(2, 2, kSmall);
  review.operation = Operation::kUpdate;
  review.old_object = review.object;
  review.old_object["spec"]["suspend"] = true;
  EXPECT_FALSE(IsJudged(review, Door::kMutate, policy_));
  review.old_object["metadata"]["annotations"][kProblemAnnotation] = "micro_batches=8";
  const Judgement judgement = JudgeReal(review);
  EXPECT_EQ(judgement.outcome, Outcome::kPlanned);
  for (const Json& operation : judgement.answer.patch) {
    EXPECT_THAT(operation["path"].get<std::string>(), HasSubstr("/metadata/annotations/planwright.dev~1"));
  }
  policy_.mode = Mode::kEnforce;
  EXPECT_FALSE(IsJudged(review, Door::kValidate, policy_));
}

TEST_F(JudgeTest, WritesThePlanIntoTheJobAndNothingTheSecondTime) {
  Review review = Annotated(2, 2, kSmall);
  const Judgement judgement = JudgeReal(review);
  ASSERT_EQ(judgement.outcome, Outcome::kPlanned);
  EXPECT_THAT(judgement.warnings, IsEmpty());
  review.object = review.object.patch(judgement.answer.patch);
  const Json& annotations = review.object["metadata"]["annotations"];
  EXPECT_EQ(annotations[kDevicesUsedAnnotation], "4");
  EXPECT_GT(std::stod(annotations[kPredictedAnnotation].get<std::string>()), 0);
  EXPECT_EQ(VariableOf(review.object, kStagesVariable).size(), std::string("0,1,2,3").size());
  EXPECT_FALSE(review.object["spec"]["template"]["spec"]["containers"][0].contains("command"));
  EXPECT_THAT(JudgeReal(review).answer.patch, IsEmpty());
}

TEST_F(JudgeTest, NamesThePlanThatTheServiceKeeps) {
  std::string asked;
  Service service = RealService();
  service.plan = [&, plan = service.plan](const v1::CreatePlanRequest& request) {
    asked = request.plan_id();
    return plan(request);
  };
  Review review = Annotated(2, 2, kSmall);
  const Judgement judgement = Judge(review, Door::kMutate, policy_, pools_, absl::Now(), service);
  EXPECT_THAT(asked, ::testing::MatchesRegex("k8s-[0-9a-f]{40}"));
  const Json patched = review.object.patch(judgement.answer.patch);
  EXPECT_EQ(patched["metadata"]["annotations"][kPlanAnnotation], "plans/" + asked);
  EXPECT_EQ(VariableOf(patched, kPlanVariable), "plans/" + asked);
  // The same answer, and nothing kept.
  review.dry_run = true;
  EXPECT_EQ(Judge(review, Door::kMutate, policy_, pools_, absl::Now(), service).answer.patch, judgement.answer.patch);
  EXPECT_EQ(asked, "");
}

TEST_F(JudgeTest, NamesNoPlanWhereNothingIsKeptThoughAnotherPoolWasAskedBefore) {
  google::rpc::ErrorInfo info;
  info.set_reason("NO_STORE");
  google::rpc::Status no_store;
  no_store.add_details()->PackFrom(info);
  Service service = RealService();
  int calls = 0;
  service.plan = [&, plan = service.plan](const v1::CreatePlanRequest& request) -> absl::StatusOr<v1::Plan> {
    if (++calls == 1) return absl::UnavailableError("down");
    if (request.plan_id().empty()) return plan(request);
    return client::WithErrorDetails(absl::FailedPreconditionError("keeps nothing"), no_store.SerializeAsString());
  };
  pools_.pools.push_back(pools_.pools.front());
  const Review review = Annotated(2, 2, kSmall);
  const Judgement judgement = Judge(review, Door::kMutate, policy_, pools_, absl::Now(), service);
  EXPECT_EQ(judgement.outcome, Outcome::kPlanned);
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(review.object.patch(judgement.answer.patch)["metadata"]["annotations"].contains(kPlanAnnotation));
}

TEST_F(JudgeTest, DeniesWithAProofInEnforceAndAtTheValidatingDoorOnly) {
  const Review review = Annotated(1, 2, kHuge);
  Judgement judgement = JudgeReal(review);
  EXPECT_EQ(judgement.outcome, Outcome::kWarned);
  EXPECT_TRUE(judgement.is_infeasible);
  EXPECT_THAT(judgement.warnings, HasWarning(Reason::kInfeasible, "it cannot fit 2 example.com/chip of 16.00 GiB"));
  EXPECT_EQ(JudgeReal(review, Door::kValidate).outcome, Outcome::kUntouched);
  policy_.mode = Mode::kEnforce;
  EXPECT_TRUE(JudgeReal(review).answer.allowed);
  judgement = JudgeReal(review, Door::kValidate);
  EXPECT_EQ(judgement.outcome, Outcome::kDenied);
  EXPECT_FALSE(judgement.answer.allowed);
  EXPECT_THAT(judgement.answer.message, AllOf(HasSubstr("pool chips"), HasSubstr("bytes"), HasSubstr("needed")));
}

// A shortage of all has the tightest operator as its subject, which does not need all of it.
TEST_F(JudgeTest, DenialsSayTheReasonInTheWordsOfTheProof) {
  v1::InfeasibleDetail detail;
  v1::InfeasibleDetail::Reason& shortage = *detail.add_reasons();
  shortage.set_resource("memory");
  shortage.set_subject("head/vocabulary");
  shortage.set_needed_bytes(int64_t{2} << 40);
  shortage.set_available_bytes(int64_t{1} << 35);
  shortage.set_description("the model needs 2.00 TiB, but all devices together offer 32.00 GiB");
  google::rpc::ErrorInfo info;
  info.set_reason("INFEASIBLE");
  google::rpc::Status wire;
  wire.add_details()->PackFrom(detail);
  wire.add_details()->PackFrom(info);
  const absl::Status status =
      client::WithErrorDetails(absl::FailedPreconditionError("infeasible"), wire.SerializeAsString());
  const Judgement judgement =
      Judge(Annotated(1, 2, kHuge), Door::kMutate, policy_, pools_, absl::Now(), ServiceThatEndsWith(status));
  EXPECT_THAT(judgement.warnings, HasWarning(Reason::kInfeasible, "of pool chips: the model needs 2.00 TiB, but all"));
  EXPECT_THAT(judgement.warnings, Not(HasWarning(Reason::kInfeasible, "head/vocabulary needs")));
}

TEST_F(JudgeTest, EmptyAndStalePoolsDenyNothing) {
  policy_.mode = Mode::kEnforce;
  const Review review = Annotated(1, 2, kHuge);
  pools_.updated = absl::Now() - absl::Hours(2);
  policy_.max_pools_age = absl::Hours(1);
  Judgement judgement = JudgeReal(review, Door::kValidate);
  EXPECT_TRUE(judgement.answer.allowed);
  EXPECT_THAT(judgement.warnings, HasWarning(Reason::kStale, "too old"));
  pools_ = TestPools();
  pools_.pools.front().nodes = 0;
  judgement = JudgeReal(review, Door::kValidate);
  EXPECT_TRUE(judgement.answer.allowed);
  EXPECT_THAT(judgement.warnings, HasWarning(Reason::kInfeasible, "cannot fit"));
}

TEST_F(JudgeTest, DeniesOnlyWhatFitsNoPool) {
  policy_.mode = Mode::kEnforce;
  pools_.pools.push_back(pools_.pools.front());
  pools_.pools.back().name = "large";
  pools_.pools.back().device_class.set_memory_bytes(int64_t{1} << 50);
  const Review review = Annotated(1, 2, kHuge);
  EXPECT_TRUE(JudgeReal(review, Door::kValidate).answer.allowed);
  const Judgement mutated = JudgeReal(review);
  EXPECT_EQ(mutated.outcome, Outcome::kPlanned);
  EXPECT_THAT(mutated.warnings, ElementsAre(Field(&Warning::text, HasSubstr("planned for pool large"))));
  pools_.pools.back() = pools_.pools.front();
  EXPECT_FALSE(JudgeReal(review, Door::kValidate).answer.allowed);
}

TEST_F(JudgeTest, EveryOtherErrorAdmits) {
  policy_.mode = Mode::kEnforce;
  const Review review = Annotated(1, 2, kSmall);
  const std::pair<absl::Status, Reason> cases[] = {
      {absl::UnavailableError("down"), Reason::kUnavailable},
      {absl::DeadlineExceededError("late"), Reason::kDeadline},
      {absl::ResourceExhaustedError("full"), Reason::kRefused},
      {absl::UnauthenticatedError("who"), Reason::kRefused},
      {absl::FailedPreconditionError("infeasible, but without a reason"), Reason::kRefused},
      {absl::NotFoundError("no such graph"), Reason::kNotFound},
      {absl::InvalidArgumentError("wrong"), Reason::kInvalid},
      {absl::InternalError("defect"), Reason::kInternal}};
  for (const auto& [status, reason] : cases) {
    const Judgement judgement =
        Judge(review, Door::kValidate, policy_, pools_, absl::Now(), ServiceThatEndsWith(status));
    EXPECT_TRUE(judgement.answer.allowed) << status;
    EXPECT_THAT(judgement.warnings, ElementsAre(Field(&Warning::reason, reason))) << status;
    EXPECT_THAT(AnswerOf(judgement).warnings, ElementsAre(HasSubstr("planwright: not judged"))) << status;
  }
}

TEST_F(JudgeTest, AsksNobodyForWhatCannotBeAsked) {
  EXPECT_THAT(JudgeReal(Annotated(1, 2, "bert")).warnings,
              HasWarning(Reason::kAnnotation, "graphs/DIGEST or zoo:NAME"));
  EXPECT_THAT(JudgeReal(Annotated(1, 2, kSmall, {{kProblemAnnotation, "schedule=fast"}})).warnings,
              HasWarning(Reason::kAnnotation, "schedule=fast"));
  EXPECT_THAT(JudgeReal(Annotated(1, 2, kSmall, {{kPoolAnnotation, "tpus"}})).warnings,
              HasWarning(Reason::kPool, "there is no pool tpus; there are chips"));
  EXPECT_THAT(JudgeReal(Annotated(1, 0, kSmall)).warnings, HasWarning(Reason::kShape, "no pod asks"));
  EXPECT_THAT(JudgeReal(Annotated(1, 9, kSmall)).warnings, HasWarning(Reason::kCapacity, "nodes of pool chips have 8"));
  EXPECT_THAT(JudgeReal(Annotated(9, 8, kSmall)).warnings, HasWarning(Reason::kCapacity, "room for 8 of the 9 pods"));
  EXPECT_EQ(searches_, 0);
}

TEST_F(JudgeTest, PoolsThatGrowHaveTheRoomOfTheirMost) {
  pools_.pools.front().nodes = 1;
  pools_.pools.front().max_nodes = 2;
  EXPECT_EQ(JudgeReal(Annotated(2, 8, kSmall)).outcome, Outcome::kPlanned);
}

TEST_F(JudgeTest, VariablesOfTheUserStay) {
  Review review = Annotated(2, 2, kSmall);
  review.object["spec"]["template"]["spec"]["containers"][0]["env"] = {{{"name", kStagesVariable}, {"value", "mine"}}};
  const Judgement judgement = JudgeReal(review);
  EXPECT_THAT(judgement.warnings, HasWarning(Reason::kRanks, "PLANWRIGHT_STAGE_OF_RANK has another value"));
  EXPECT_EQ(VariableOf(review.object.patch(judgement.answer.patch), kStagesVariable), "mine");
}

TEST_F(JudgeTest, AnnotatesOnlyWhereRanksAreNotDefined) {
  Review review = Annotated(2, 2, kSmall);
  review.object["spec"].erase("completionMode");
  const Judgement judgement = JudgeReal(review);
  EXPECT_EQ(judgement.outcome, Outcome::kPlanned);
  EXPECT_THAT(judgement.warnings, HasWarning(Reason::kRanks, "annotated only: pods have no stable index"));
  EXPECT_FALSE(
      review.object.patch(judgement.answer.patch)["spec"]["template"]["spec"]["containers"][0].contains("env"));
}

TEST_F(JudgeTest, TellsKueueWhichPodsStandTogether) {
  Review review = Annotated(4, 8, kSmall);
  const Json patched = review.object.patch(JudgeReal(review).answer.patch);
  const Json& annotations = patched["spec"]["template"]["metadata"]["annotations"];
  EXPECT_EQ(annotations["kueue.x-k8s.io/podset-slice-required-topology"], "example.com/rack");
  EXPECT_EQ(annotations["kueue.x-k8s.io/podset-slice-size"], "2");
  review.object["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-preferred-topology"] = "block";
  const Json kept = review.object.patch(JudgeReal(review).answer.patch);
  EXPECT_EQ(kept["spec"]["template"]["metadata"]["annotations"].size(), 1);
}

TEST_F(JudgeTest, WritesTheArgumentsOfTheTrainer) {
  const char* graph = "zoo:transformer?layers=4&hidden=256&heads=4&vocab=1024&sequence=128";
  const Json wishes = {{kTrainerAnnotation, "megatron"}, {kProblemAnnotation, "granularity=layer"}};
  const Review review = Annotated(1, 2, graph, wishes);
  const Judgement judgement = JudgeReal(review);
  const Json patched = review.object.patch(judgement.answer.patch);
  EXPECT_THAT(
      VariableOf(patched, kTrainerVariable),
      MatchesRegex("--num-layers 4 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout [Et|L*()0-9]+"
                   " --micro-batch-size 1"));
  EXPECT_THAT(JudgeReal(Annotated(2, 2, kSmall, {{kTrainerAnnotation, "other"}})).warnings,
              HasWarning(Reason::kAnnotation, "megatron or torchtitan"));
}

TEST_F(JudgeTest, PlansOfTheJointSearchHaveAllFlagsOfTheTrainerOnce) {
  const char* graph = "zoo:transformer?layers=5&hidden=256&heads=4&vocab=1024&sequence=128";
  const Review review = Annotated(
      1, 2, graph,
      {{kTrainerAnnotation, "megatron"}, {kProblemAnnotation, "global_batch=8 stages=2 tensor_degrees=1 samples=1"}});
  const Judgement judgement = JudgeReal(review);
  EXPECT_THAT(judgement.warnings, IsEmpty());
  const Json patched = review.object.patch(judgement.answer.patch);
  EXPECT_EQ(VariableOf(patched, kStagesVariable), "0,1");
  const std::string arguments = VariableOf(patched, kTrainerVariable);
  EXPECT_THAT(arguments, StartsWith("--tensor-model-parallel-size 1 --pipeline-model-parallel-size 2 "));
  EXPECT_THAT(arguments, HasSubstr(" --pipeline-model-parallel-layout Et*"));
  EXPECT_THAT(arguments, HasSubstr(" --global-batch-size 8 "));
  EXPECT_EQ(arguments.find("--pipeline-model-parallel-size"), arguments.rfind("--pipeline-model-parallel-size"));
}

TEST_F(JudgeTest, NamesCannotBeReplacedByTheKubelet) {
  const JobShape job = *ReadJob(JobKind::kJob, MakeJob(1, 1, Json::object()));
  const Demand demand = *DemandOf(job, "example.com/chip");
  Json object = MakeJob(1, 1, Json::object());
  EXPECT_TRUE(SetVariable(demand, "example.com/chip", "NAME", "a$(HOME)b$$(c", object));
  EXPECT_EQ(VariableOf(object, "NAME"), "a$$(HOME)b$$$(c");
}

}  // namespace
}  // namespace planwright::webhook
