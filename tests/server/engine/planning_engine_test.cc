#include "server/engine/planning_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/violations.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "tests/support/lattices.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two operators of 3 and 4 ms on two accelerators that a tensor of 0.5 ms connects: 4.5 ms.
constexpr char kRequest[] = R"pb(
  graph {
    operators {
      name: "a"
      costs { device_class: "gpu" forward_ms: 3 }
      memory_bytes: 10
    }
    operators {
      name: "b"
      costs { device_class: "gpu" forward_ms: 4 }
      memory_bytes: 10
    }
    tensors { name: "t" producer: "a" consumers: "b" transfer_ms: 0.5 }
  }
  cluster {
    device_classes { name: "gpu" memory_bytes: 15 }
    device_groups { name_prefix: "g" device_class: "gpu" count: 2 }
    interconnect { host_staged {} }
  }
)pb";

v1::CreatePlanRequest SmallRequest() { return Wire<v1::CreatePlanRequest>(kRequest); }

v1::EvaluatePlanRequest EvaluationOf(const v1::CreatePlanRequest& request, const v1::Plan& plan) {
  v1::EvaluatePlanRequest evaluation;
  *evaluation.mutable_graph() = request.graph();
  *evaluation.mutable_cluster() = request.cluster();
  *evaluation.mutable_plan() = plan;
  return evaluation;
}

EngineConfig TestConfig() {
  EngineConfig config;
  config.version = "9.9";
  config.cpus = 2;
  return config;
}

class PlanningEngineTest : public testing::Test {
 protected:
  v1::Plan MustPlan(const v1::CreatePlanRequest& request) {
    auto response = engine_.CreatePlan(request, CallContext{});
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->plan() : v1::Plan();
  }
  std::vector<std::string> Refusal(const v1::CreatePlanRequest& request) {
    return Lines(ViolationsOf(engine_.CreatePlan(request, CallContext{}).status()));
  }
  v1::EvaluatePlanResponse MustEvaluate(const v1::EvaluatePlanRequest& request) {
    auto response = engine_.EvaluatePlan(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::EvaluatePlanResponse();
  }

  PlanningEngine engine_{TestConfig()};
};

TEST_F(PlanningEngineTest, PlansASmallGraph) {
  const v1::Plan plan = MustPlan(SmallRequest());
  EXPECT_EQ(plan.objective_ms(), 4.5);
  EXPECT_EQ(plan.lower_bound_ms(), 4.5);
  EXPECT_TRUE(plan.provenance().proven_optimal());
  EXPECT_EQ(plan.provenance().stop_reason(), v1::STOP_REASON_OPTIMAL);
  EXPECT_EQ(plan.stages_size(), 2);
  EXPECT_EQ(plan.graph_digest().size(), 64);
  EXPECT_EQ(plan.problem().workload(), v1::WORKLOAD_INFERENCE);
  EXPECT_EQ(plan.problem().memory_model().kind(), v1::MemoryModel::KIND_DECLARED);
}

TEST_F(PlanningEngineTest, PlansTheZoo) {
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-base");
  request.set_cluster_reference("zoo:dgx1-v100:1");
  EXPECT_TRUE(MustPlan(request).provenance().proven_optimal());
}

TEST_F(PlanningEngineTest, NamesWhatTheZooLacks) {
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-bse");
  request.set_cluster_reference("zoo:dgx1-v100:1");
  EXPECT_EQ(engine_.CreatePlan(request, CallContext{}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PlanningEngineTest, RefusesWhatIsNotSet) {
  EXPECT_THAT(Refusal(v1::CreatePlanRequest()),
              ElementsAre("graph: must be set, or graph_reference", "cluster: must be set, or cluster_reference"));
  EXPECT_THAT(Lines(ViolationsOf(engine_.EvaluatePlan(v1::EvaluatePlanRequest()).status())),
              ElementsAre("graph: must be set, or graph_reference", "cluster: must be set, or cluster_reference",
                          "plan: must be set"));
}

TEST_F(PlanningEngineTest, ReportsWhatCodecAndValidatorFindTogether) {
  v1::CreatePlanRequest request = SmallRequest();
  request.mutable_graph()->mutable_tensors(0)->set_producer("nobody");
  request.mutable_graph()->mutable_operators(1)->set_name("a");
  request.mutable_cluster()->mutable_device_classes(0)->set_memory_bytes(-1);
  const std::vector<std::string> refusal = Refusal(request);
  EXPECT_THAT(refusal, testing::Contains(testing::StartsWith("graph.tensors[0].producer: ")));
  EXPECT_THAT(refusal, testing::Contains(testing::StartsWith("graph.operators[1].name: ")));
  EXPECT_THAT(refusal, testing::Contains(testing::StartsWith("cluster.device_classes[0].memory_bytes: ")));
}

TEST_F(PlanningEngineTest, ItsOwnPlansAreValid) {
  const v1::CreatePlanRequest request = SmallRequest();
  const v1::EvaluatePlanResponse response = MustEvaluate(EvaluationOf(request, MustPlan(request)));
  EXPECT_TRUE(response.valid());
  EXPECT_EQ(response.objective_ms(), 4.5);
  EXPECT_THAT(response.violations(), IsEmpty());
}

TEST_F(PlanningEngineTest, CostsABarePlacement) {
  const auto plan = Wire<v1::Plan>(R"pb(
    stages {
      operators: "b"
      replicas { device: "g0" }
    }
    stages {
      operators: "a"
      replicas { device: "g1" }
    }
  )pb");
  const v1::EvaluatePlanResponse response = MustEvaluate(EvaluationOf(SmallRequest(), plan));
  EXPECT_TRUE(response.valid());
  EXPECT_EQ(response.objective_ms(), 4.5);
}

TEST_F(PlanningEngineTest, AnInvalidPlanIsAnAnswer) {
  // Twenty bytes on a device of fifteen.
  const auto crowded = Wire<v1::Plan>("stages { operators: 'a' operators: 'b' replicas { device: 'g0' } }");
  const v1::EvaluatePlanResponse response = MustEvaluate(EvaluationOf(SmallRequest(), crowded));
  EXPECT_FALSE(response.valid());
  EXPECT_GT(response.violations_size(), 0);

  const auto unknown = Wire<v1::Plan>("stages { operators: 'z' replicas { device: 'g0' } }");
  const v1::EvaluatePlanResponse misnamed = MustEvaluate(EvaluationOf(SmallRequest(), unknown));
  EXPECT_FALSE(misnamed.valid());
  ASSERT_EQ(misnamed.violations_size(), 1);
  EXPECT_EQ(misnamed.violations(0).field(), "plan.stages[0].operators[0]");
}

TEST_F(PlanningEngineTest, AWrongNumberMakesAPlanInvalid) {
  const v1::CreatePlanRequest request = SmallRequest();
  v1::Plan plan = MustPlan(request);
  plan.set_objective_ms(4.4);
  const v1::EvaluatePlanResponse response = MustEvaluate(EvaluationOf(request, plan));
  EXPECT_FALSE(response.valid());
  ASSERT_GT(response.violations_size(), 0);
  EXPECT_EQ(response.violations(0).field(), "plan.objective_ms");
  EXPECT_EQ(response.objective_ms(), 4.5);
}

// Its numbers speak of the problem that it was made for, resolved or not.
TEST_F(PlanningEngineTest, NumbersAreJudgedUnderTheirOwnProblem) {
  const v1::CreatePlanRequest request = SmallRequest();
  v1::Plan plan = MustPlan(request);
  plan.set_objective_ms(4.4);
  v1::EvaluatePlanRequest evaluation = EvaluationOf(request, plan);
  *evaluation.mutable_problem() = request.problem();
  EXPECT_FALSE(MustEvaluate(evaluation).valid());
  evaluation.mutable_problem()->set_overlap(v1::OVERLAP_FULL_DUPLEX);
  const v1::EvaluatePlanResponse response = MustEvaluate(evaluation);
  EXPECT_TRUE(response.valid());
  EXPECT_LT(response.objective_ms(), 4.5);
}

// What a latency plan looks like on the wire: with the start of every subgraph.
TEST_F(PlanningEngineTest, JudgesAPlanForThroughputByItsLatency) {
  const v1::CreatePlanRequest request = SmallRequest();
  v1::EvaluatePlanRequest evaluation = EvaluationOf(request, MustPlan(request));
  evaluation.mutable_problem()->set_objective(v1::OBJECTIVE_MIN_LATENCY);
  const v1::EvaluatePlanResponse response = MustEvaluate(evaluation);
  EXPECT_TRUE(response.valid());
  ASSERT_EQ(response.plan().schedule().tasks_size(), 2);
  EXPECT_EQ(response.plan().schedule().tasks(0).start_ms(), 0);
  EXPECT_GT(response.plan().schedule().tasks(1).start_ms(), 0);
}

TEST_F(PlanningEngineTest, RefusesAPlanOfAnotherGraph) {
  v1::CreatePlanRequest request = SmallRequest();
  const v1::Plan plan = MustPlan(request);
  request.mutable_graph()->mutable_operators(0)->mutable_costs(0)->set_forward_ms(3.5);
  const absl::Status status = engine_.EvaluatePlan(EvaluationOf(request, plan)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Lines(ViolationsOf(status)), ElementsAre(testing::StartsWith("plan.graph_digest: ")));
}

TEST_F(PlanningEngineTest, InputOrderDoesNotChangeTheDigests) {
  v1::CreatePlanRequest request = SmallRequest();
  const v1::Plan plan = MustPlan(request);
  request.mutable_graph()->mutable_operators()->SwapElements(0, 1);
  EXPECT_EQ(MustPlan(request).graph_digest(), plan.graph_digest());
}

// Asks for a stop at the first incumbent and records what it is told.
class StoppingObserver : public SearchObserver {
 public:
  explicit StoppingObserver(std::stop_source stop) : stop_(std::move(stop)) {}

  void OnSearchStart(const SearchStart& start) override { started_with_ = start.operators; }
  void OnIncumbent(const Incumbent&) override { stop_.request_stop(); }
  void OnSearchEnd(const absl::StatusOr<Plan>& result, std::chrono::nanoseconds) override { ended_ok_ = result.ok(); }

  std::size_t started_with() const { return started_with_; }
  bool ended_ok() const { return ended_ok_; }

 private:
  std::stop_source stop_;
  std::size_t started_with_ = 0;
  bool ended_ok_ = false;
};

v1::CreatePlanRequest HardRequest() {
  const Lattice lattice = MakeLattice("tow_9x12_hi").value();
  v1::CreatePlanRequest request;
  *request.mutable_graph() = EncodeGraph(lattice.graph);
  *request.mutable_cluster() = EncodeCluster(lattice.cluster);
  return request;
}

TEST_F(PlanningEngineTest, AStopRequestIsAnsweredWithTheBestPlan) {
  const std::stop_source stop;
  StoppingObserver observer(stop);
  const auto response =
      engine_.CreatePlan(HardRequest(), {.deadline = std::nullopt, .stop = stop.get_token(), .observer = &observer});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->plan().provenance().stop_reason(), v1::STOP_REASON_CANCELLED);
  EXPECT_GT(response->plan().relative_gap(), 0);
  EXPECT_GT(observer.started_with(), 0);
  EXPECT_TRUE(observer.ended_ok());
}

// Keeps the answers that incumbents would be.
class AnswerRecorder : public SearchObserver {
 public:
  bool wants_incumbent_plans() const override { return true; }
  void OnIncumbentAnswer(const v1::Plan& plan) override { answers.push_back(plan); }

  std::vector<v1::Plan> answers;
};

TEST_F(PlanningEngineTest, StreamsThePlanOfCreatePlanAndCompleteIncumbents) {
  const v1::CreatePlanRequest request = SmallRequest();
  const v1::Plan plan = MustPlan(request);
  v1::StreamPlanRequest stream;
  *stream.mutable_graph() = request.graph();
  *stream.mutable_cluster() = request.cluster();
  AnswerRecorder recorder;
  const auto last = engine_.StreamPlan(stream, {.deadline = std::nullopt, .stop = {}, .observer = &recorder});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->plan().objective_ms(), plan.objective_ms());
  EXPECT_EQ(last->plan().graph_digest(), plan.graph_digest());
  ASSERT_FALSE(recorder.answers.empty());
  for (const v1::Plan& answer : recorder.answers) {
    EXPECT_EQ(answer.graph_digest(), plan.graph_digest());
    EXPECT_EQ(answer.cluster_digest(), plan.cluster_digest());
    EXPECT_EQ(answer.provenance().incumbents().rbegin()->objective_ms(), answer.objective_ms());
    EXPECT_TRUE(MustEvaluate(EvaluationOf(request, answer)).valid());
  }
  EXPECT_EQ(recorder.answers.back().objective_ms(), plan.objective_ms());
}

TEST_F(PlanningEngineTest, RefusesAStreamAsItRefusesAPlan) {
  const absl::Status refused = engine_.StreamPlan(v1::StreamPlanRequest(), CallContext{}).status();
  EXPECT_EQ(refused, engine_.CreatePlan(v1::CreatePlanRequest(), CallContext{}).status());
  EXPECT_FALSE(ViolationsOf(refused).empty());
}

TEST_F(PlanningEngineTest, ADeadlineIsAnsweredWithTheBestPlan) {
  const auto deadline = SolveLimits::Clock::now() + std::chrono::seconds(1);
  const auto response = engine_.CreatePlan(HardRequest(), {.deadline = deadline, .stop = {}, .observer = nullptr});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->plan().provenance().stop_reason(), v1::STOP_REASON_TIME_LIMIT);
  EXPECT_GT(response->plan().relative_gap(), 0);
}

TEST_F(PlanningEngineTest, SaysWhatItIsAndCan) {
  const v1::GetServerInfoResponse info = engine_.GetServerInfo();
  EXPECT_EQ(info.version(), "9.9");
  EXPECT_GT(info.capabilities_size(), 0);
  EXPECT_GT(info.algorithms_size(), 0);
  EXPECT_GT(info.models_size(), 0);
  EXPECT_GT(info.clusters_size(), 0);
  EXPECT_EQ(info.limits().cpus(), 2);
  EXPECT_EQ(info.limits().max_operators(), 1'000'000);
  EXPECT_EQ(info.limits().default_time_limit().seconds(), 60);
}

// A new algorithm is a value of the contract and of core/model, a row beside its search and a line in the list of
// rows; that they name the same is checked here.
TEST_F(PlanningEngineTest, EveryAlgorithmOfTheContractHasARowOfItsName) {
  const v1::GetServerInfoResponse info = engine_.GetServerInfo();
  std::set<std::string> listed;
  for (const v1::AlgorithmInfo& row : info.algorithms()) {
    EXPECT_EQ(v1::Algorithm_Name(row.algorithm()), absl::StrCat("ALGORITHM_", absl::AsciiStrToUpper(row.name())));
    EXPECT_TRUE(listed.insert(v1::Algorithm_Name(row.algorithm())).second) << row.name();
  }
  const auto* contract = v1::Algorithm_descriptor();
  for (int i = 0; i < contract->value_count(); ++i) {
    if (contract->value(i)->number() <= v1::ALGORITHM_AUTO) continue;
    EXPECT_TRUE(listed.contains(contract->value(i)->name())) << contract->value(i)->name() << " has no row";
  }
}

}  // namespace
}  // namespace planwright::server
