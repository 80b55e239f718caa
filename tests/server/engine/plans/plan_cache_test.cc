// The cache as callers of the engine see it.
#include "server/engine/plans/plan_cache.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "server/engine/planning_engine.h"
#include "server/engine/plans/stored_plans.h"
#include "server/store/open_store.h"
#include "tests/support/lattices.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

v1::CreatePlanRequest ZooRequest() {
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-base");
  request.set_cluster_reference("zoo:pcie:2");
  return request;
}

// The same graph and cluster, spelled out.
v1::CreatePlanRequest SpelledOut(PlanningEngine& engine) {
  v1::GetGraphRequest graph;
  graph.set_name("zoo:bert-base");
  v1::GetClusterRequest cluster;
  cluster.set_name("zoo:pcie:2");
  v1::CreatePlanRequest request;
  *request.mutable_graph() = engine.GetGraph(graph)->graph();
  *request.mutable_cluster() = engine.GetCluster(cluster)->cluster();
  return request;
}

// A search that no clock of a test lets end.
v1::CreatePlanRequest HardRequest(int time_limit_ms) {
  const Lattice lattice = MakeLattice("tow_9x12_hi").value();
  v1::CreatePlanRequest request;
  *request.mutable_graph() = EncodeGraph(lattice.graph);
  *request.mutable_cluster() = EncodeCluster(lattice.cluster);
  request.mutable_options()->mutable_time_limit()->set_nanos(time_limit_ms * 1'000'000);
  return request;
}

class EnginePlanCacheTest : public testing::Test {
 protected:
  static EngineConfig Config() {
    EngineConfig config;
    config.version = "9.9";
    config.cpus = 2;
    config.cache_bytes = int64_t{64} << 20;
    return config;
  }

  v1::Plan MustPlan(const v1::CreatePlanRequest& request, const CallContext& context = CallContext()) {
    auto response = engine_.CreatePlan(request, context);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->plan() : v1::Plan();
  }

  PlanningEngine engine_{Config()};
};

TEST_F(EnginePlanCacheTest, TheSecondRequestIsAnsweredWithoutASearch) {
  v1::Plan first = MustPlan(ZooRequest());
  EXPECT_FALSE(first.provenance().cached());
  const v1::Plan second = MustPlan(ZooRequest());
  EXPECT_TRUE(second.provenance().cached());
  first.mutable_provenance()->set_cached(true);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(first, second));
  EXPECT_EQ(engine_.cache_stats().hits, 1);
  EXPECT_EQ(engine_.cache_stats().misses, 1);
  EXPECT_EQ(engine_.cache_stats().usage.entries, 1);
}

TEST_F(EnginePlanCacheTest, ReferencesAndListsInAnotherOrderMeanTheSame) {
  MustPlan(ZooRequest());
  v1::CreatePlanRequest request = SpelledOut(engine_);
  EXPECT_TRUE(MustPlan(request).provenance().cached());
  std::reverse(request.mutable_graph()->mutable_tensors()->begin(), request.mutable_graph()->mutable_tensors()->end());
  std::reverse(request.mutable_graph()->mutable_operators()->begin(),
               request.mutable_graph()->mutable_operators()->end());
  const v1::Plan plan = MustPlan(request);
  EXPECT_TRUE(plan.provenance().cached());
  // The answer is one to the request that was sent: it passes as what it claims to be.
  v1::EvaluatePlanRequest evaluation;
  *evaluation.mutable_graph() = request.graph();
  *evaluation.mutable_cluster() = request.cluster();
  *evaluation.mutable_plan() = plan;
  const auto verdict = engine_.EvaluatePlan(evaluation);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_TRUE(verdict->valid()) << verdict->DebugString().substr(0, 500);
  EXPECT_EQ(verdict->plan().stages(0).operators(0), plan.stages(0).operators(0));
}

TEST_F(EnginePlanCacheTest, SkipCacheSearchesAndKeepsWhatItFinds) {
  MustPlan(ZooRequest());
  v1::CreatePlanRequest request = ZooRequest();
  request.set_skip_cache(true);
  EXPECT_FALSE(MustPlan(request).provenance().cached());
  EXPECT_TRUE(MustPlan(ZooRequest()).provenance().cached());
}

TEST_F(EnginePlanCacheTest, WhatChangesTheAnswerIsNotShared) {
  MustPlan(ZooRequest());
  v1::CreatePlanRequest seeded = ZooRequest();
  seeded.mutable_options()->set_seed(2);
  EXPECT_FALSE(MustPlan(seeded).provenance().cached());
  v1::CreatePlanRequest threaded = ZooRequest();
  threaded.mutable_options()->set_threads(1);
  EXPECT_TRUE(MustPlan(threaded).provenance().cached());
}

// The plan of `made` in the answer's own words is one to its request.
void ExpectIsPlanFor(PlanningEngine& engine, const v1::CreatePlanRequest& request, const v1::Plan& plan) {
  v1::EvaluatePlanRequest evaluation;
  if (request.has_graph()) {
    *evaluation.mutable_graph() = request.graph();
  } else {
    evaluation.set_graph_reference(request.graph_reference());
  }
  *evaluation.mutable_cluster() = request.cluster();
  *evaluation.mutable_problem() = request.problem();
  *evaluation.mutable_plan() = plan;
  const auto verdict = engine.EvaluatePlan(evaluation);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_TRUE(verdict->valid()) << verdict->DebugString().substr(0, 500);
}

// Two operators on two devices, in a pattern in which each direction of the link is a link of its own.
v1::CreatePlanRequest PatternRequest() {
  return Wire<v1::CreatePlanRequest>(R"pb(
    graph {
      operators {
        name: "a"
        costs { device_class: "gpu" forward_ms: 3 backward_ms: 5 }
        parameter_bytes: 1000000
      }
      operators {
        name: "b"
        costs { device_class: "gpu" forward_ms: 3 backward_ms: 5 }
        parameter_bytes: 1000000
      }
      tensors { name: "ab" producer: "a" consumers: "b" size_bytes: 1000000 }
    }
    cluster {
      device_classes { name: "gpu" memory_bytes: 1000000000 }
      device_groups { name_prefix: "g" device_class: "gpu" count: 2 }
      interconnect { uniform { bandwidth_bytes_per_second: 1e9 } }
    }
    problem { schedule: SCHEDULE_KIND_PERIODIC overlap: OVERLAP_FULL_DUPLEX })pb");
}

TEST_F(EnginePlanCacheTest, LinksOfPatternsKeepTheirDirections) {
  const v1::CreatePlanRequest request = PatternRequest();
  v1::Plan first = MustPlan(request);
  ASSERT_EQ(first.links_size(), 2);
  const v1::Plan second = MustPlan(request);
  ExpectIsPlanFor(engine_, request, second);
  first.mutable_provenance()->set_cached(true);
  EXPECT_EQ(second.DebugString(), first.DebugString());
}

v1::CreatePlanRequest OnTwoOf(const v1::Cluster& cluster, int first) {
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-base");
  *request.mutable_cluster() = cluster;
  v1::DeviceSelection& selection = *request.mutable_problem()->mutable_devices_to_use();
  for (const int i : {first, first + 1}) selection.add_devices(cluster.devices(i).name());
  request.mutable_options()->set_explain(true);
  return request;
}

TEST_F(EnginePlanCacheTest, EqualSetsOfDevicesShareAPlan) {
  v1::GetClusterRequest get;
  get.set_name("zoo:pcie:8");
  const v1::Cluster cluster = engine_.GetCluster(get)->cluster();
  const v1::Plan made = MustPlan(OnTwoOf(cluster, 0));
  const v1::CreatePlanRequest request = OnTwoOf(cluster, 4);
  const v1::Plan found = MustPlan(request);
  EXPECT_TRUE(found.provenance().cached());
  EXPECT_EQ(found.objective_ms(), made.objective_ms());
  ExpectIsPlanFor(engine_, request, found);
  // Nothing of the first one's devices is left, not even in what is said about the plan.
  for (const int other : {0, 1}) {
    EXPECT_EQ(found.DebugString().find("\"" + cluster.devices(other).name()), std::string::npos);
    EXPECT_EQ(found.explanation().bottleneck().find(cluster.devices(other).name() + ":"), std::string::npos);
  }
}

TEST_F(EnginePlanCacheTest, DevicesOfOtherNamesShareAPlan) {
  v1::GetClusterRequest get;
  get.set_name("zoo:pcie:2");
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-base");
  *request.mutable_cluster() = engine_.GetCluster(get)->cluster();
  MustPlan(request);
  for (v1::Device& device : *request.mutable_cluster()->mutable_devices()) device.set_name("my-" + device.name());
  const v1::Plan found = MustPlan(request);
  EXPECT_TRUE(found.provenance().cached());
  ExpectIsPlanFor(engine_, request, found);
  EXPECT_EQ(found.stages(0).replicas(0).device().substr(0, 3), "my-");
}

// "1" and "2" are words of sentences as well as names.
TEST_F(EnginePlanCacheTest, NamesOfDevicesAreNotReplacedInSentences) {
  auto request = Wire<v1::CreatePlanRequest>(R"pb(
    graph {
      operators { name: "a" forward_flops: 1e9 }
      operators { name: "b" forward_flops: 2e9 }
      tensors { name: "t" producer: "a" consumers: "b" transfer_ms: 0.1 }
    }
    cluster {
      device_classes { name: "gpu" peak_flops: 1e12 memory_bandwidth_bytes_per_second: 1e12 memory_bytes: 100 }
      devices { name: "1" device_class: "gpu" }
      devices { name: "2" device_class: "gpu" }
      interconnect { host_staged {} }
    }
    options { explain: true }
  )pb");
  const v1::Plan made = MustPlan(request);
  ASSERT_FALSE(made.warnings().empty());
  EXPECT_EQ(made.warnings(0), "2 operators have roofline estimates, not measured times");
  request.mutable_cluster()->mutable_devices(0)->set_name("x");
  request.mutable_cluster()->mutable_devices(1)->set_name("y");
  const v1::Plan found = MustPlan(request);
  EXPECT_TRUE(found.provenance().cached());
  ExpectIsPlanFor(engine_, request, found);
  EXPECT_EQ(found.warnings(0), "2 operators have roofline estimates, not measured times");
  EXPECT_EQ(found.warnings_size(), made.warnings_size());
  EXPECT_EQ(found.explanation().bottleneck(),
            "device " + found.stages(1).replicas(0).device() + made.explanation().bottleneck().substr(8));
}

// Every text of a message and of those in it.
void CollectTexts(const google::protobuf::Message& message, std::vector<std::string>& texts) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    const bool is_text = field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
    const bool is_message = field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (is_text) {
        texts.push_back(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                             : reflection.GetString(message, field));
      } else if (is_message) {
        CollectTexts(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                          : reflection.GetMessage(message, field),
                     texts);
      }
    }
  }
}

// Sentences may name devices in more places than one thinks of, so all texts are looked at, in every mode.
TEST_F(EnginePlanCacheTest, NoTextOfAnAnswerNamesTheDevicesOfWhoeverAskedBefore) {
  v1::GetClusterRequest get;
  get.set_name("zoo:pcie:2");
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-base");
  *request.mutable_cluster() = engine_.GetCluster(get)->cluster();
  request.mutable_options()->set_explain(true);
  for (const char* problem :
       {"", "workload: WORKLOAD_TRAINING", "replication: REPLICATION_PER_STAGE",
        "objective: OBJECTIVE_MIN_LATENCY workload: WORKLOAD_INFERENCE",
        "objective: OBJECTIVE_MIN_DEVICES target_period_ms: 1000", "split: SPLIT_NON_CONTIGUOUS"}) {
    SCOPED_TRACE(problem);
    *request.mutable_problem() = Wire<v1::PlanningProblem>(problem);
    const auto plan_with = [&](const std::string& prefix) {
      for (int i = 0; i < request.cluster().devices_size(); ++i) {
        request.mutable_cluster()->mutable_devices(i)->set_name(prefix + std::to_string(i));
      }
      return MustPlan(request);
    };
    const v1::Plan made = plan_with("SomebodysDevice");
    const v1::Plan found = plan_with("own");
    ASSERT_TRUE(found.provenance().cached());
    std::vector<std::string> texts;
    CollectTexts(made, texts);
    EXPECT_THAT(texts, testing::Contains(testing::HasSubstr("SomebodysDevice")));
    texts.clear();
    CollectTexts(found, texts);
    EXPECT_THAT(texts, testing::Not(testing::Contains(testing::HasSubstr("SomebodysDevice"))));
  }
}

// A plan of the same shape must not hide that a request breaks the rules.
TEST_F(EnginePlanCacheTest, BrokenSelectionsAreNotAnsweredWithThePlansOfOthers) {
  v1::GetClusterRequest get;
  get.set_name("zoo:pcie:8");
  const v1::Cluster cluster = engine_.GetCluster(get)->cluster();
  MustPlan(OnTwoOf(cluster, 0));
  v1::CreatePlanRequest request = OnTwoOf(cluster, 0);
  request.mutable_problem()->mutable_devices_to_use()->add_hosts("nowhere");
  request.mutable_problem()->mutable_devices_to_use()->add_hosts(cluster.devices(0).host());
  EXPECT_EQ(engine_.CreatePlan(request, CallContext{}).status().code(), absl::StatusCode::kInvalidArgument);
}

// Not even where the key leaves out what is wrong.
TEST_F(EnginePlanCacheTest, BrokenRequestsAreNotAnsweredFromTheCache) {
  MustPlan(ZooRequest());
  v1::CreatePlanRequest request = ZooRequest();
  request.mutable_options()->set_relative_gap(2);
  EXPECT_EQ(engine_.CreatePlan(request, CallContext{}).status().code(), absl::StatusCode::kInvalidArgument);
  request = ZooRequest();
  request.mutable_options()->set_threads(0);
  EXPECT_EQ(engine_.CreatePlan(request, CallContext{}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(EnginePlanCacheTest, APlanCutOffByTheClockStartsAStricterSearch) {
  const v1::Plan cut = MustPlan(HardRequest(50));
  ASSERT_EQ(cut.provenance().stop_reason(), v1::STOP_REASON_TIME_LIMIT);
  EXPECT_TRUE(MustPlan(HardRequest(50)).provenance().cached());
  EXPECT_TRUE(MustPlan(HardRequest(20)).provenance().cached());
  const v1::Plan longer = MustPlan(HardRequest(300));
  EXPECT_FALSE(longer.provenance().cached());
  EXPECT_LE(longer.objective_ms(), cut.objective_ms());
  EXPECT_TRUE(MustPlan(HardRequest(300)).provenance().cached());
}

TEST_F(EnginePlanCacheTest, ACallersDeadlineIsATimeLimitToo) {
  v1::CreatePlanRequest request = HardRequest(0);
  request.mutable_options()->clear_time_limit();
  const auto within = [](int milliseconds) {
    CallContext context;
    context.deadline = SolveLimits::Clock::now() + std::chrono::milliseconds(milliseconds);
    return context;
  };
  EXPECT_FALSE(MustPlan(request, within(300)).provenance().cached());
  EXPECT_TRUE(MustPlan(request, within(250)).provenance().cached());
  EXPECT_FALSE(MustPlan(request, within(600)).provenance().cached());
}

TEST_F(EnginePlanCacheTest, ErrorsAreNotKept) {
  v1::CreatePlanRequest request = ZooRequest();
  request.mutable_problem()->set_num_stages(-1);
  EXPECT_EQ(engine_.CreatePlan(request, CallContext()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_.CreatePlan(request, CallContext()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_.cache_stats().usage.entries, 0);
}

// Where an option counts when a plan is looked for.
enum class Counts { kInKey, kAsEffort, kNowhere };

// Of every field of SolverOptions. A new one belongs here, in PlanKey or SearchEffort, and into its comment.
const std::map<std::string, Counts>& OptionCounts() {
  static const std::map<std::string, Counts> counts = {{"algorithm", Counts::kInKey},
                                                       {"work_limit", Counts::kAsEffort},
                                                       {"time_limit", Counts::kAsEffort},
                                                       {"relative_gap", Counts::kAsEffort},
                                                       {"seed", Counts::kInKey},
                                                       {"ideal_limit", Counts::kInKey},
                                                       {"threads", Counts::kNowhere},
                                                       {"explain", Counts::kInKey},
                                                       {"clusters", Counts::kInKey},
                                                       {"clustering_alpha", Counts::kInKey},
                                                       {"refinement_steps", Counts::kInKey}};
  return counts;
}

// Sets a field to a value that is not its default, and that asks for less where it says how hard to try.
void SetOption(const google::protobuf::FieldDescriptor& field, v1::SolverOptions& options) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *v1::SolverOptions::GetReflection();
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return reflection.SetInt32(&options, &field, 2);
    case Field::CPPTYPE_INT64:
      return reflection.SetInt64(&options, &field, 2);
    case Field::CPPTYPE_DOUBLE:
      return reflection.SetDouble(&options, &field, 0.5);
    case Field::CPPTYPE_BOOL:
      return reflection.SetBool(&options, &field, true);
    case Field::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&options, &field, v1::ALGORITHM_IDEAL_DP);
    case Field::CPPTYPE_MESSAGE:
      reflection.MutableMessage(&options, &field)->CopyFrom(Wire<google::protobuf::Duration>("nanos: 1000000"));
      return;
    default:
      FAIL() << field.name() << " is of a type that no option had";
  }
}

TEST_F(EnginePlanCacheTest, EveryOptionCountsWhereItIsSaidTo) {
  const PlanTask usual = engine_.ReadTask(ZooRequest(), CallContext()).value();
  const SearchEffort wanted = engine_.EffortFor(usual, CallContext());
  const google::protobuf::Descriptor& options = *v1::SolverOptions::descriptor();
  for (int i = 0; i < options.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *options.field(i);
    SCOPED_TRACE(field.name());
    const auto counts = OptionCounts().find(field.name());
    ASSERT_NE(counts, OptionCounts().end());
    v1::CreatePlanRequest request = ZooRequest();
    SetOption(field, *request.mutable_options());
    const absl::StatusOr<PlanTask> other = engine_.ReadTask(request, CallContext());
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(other->shared_key != usual.shared_key, counts->second == Counts::kInKey);
    CachedPlan made;
    made.effort = engine_.EffortFor(*other, CallContext());
    made.plan.objective = Picoseconds(10);
    made.plan.lower_bound = Picoseconds(1);
    made.plan.provenance.stop_reason = StopReason::kTimeLimit;
    EXPECT_EQ(Satisfies(made, wanted), counts->second != Counts::kAsEffort);
  }
}

// Two engines, one after the other, with one store.
class StoredPlansTest : public testing::Test {
 protected:
  StoredPlansTest() : store_(OpenStore("sqlite:" + testing::TempDir() + "/cache_test.db", /*migrate=*/false).value()) {}
  ~StoredPlansTest() override { std::filesystem::remove(testing::TempDir() + "/cache_test.db"); }

  static EngineConfig Config() {
    EngineConfig config;
    config.cpus = 2;
    config.cache_bytes = int64_t{64} << 20;
    return config;
  }
  static v1::Plan MustPlan(PlanningEngine& engine) {
    auto response = engine.CreatePlan(ZooRequest(), CallContext());
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->plan() : v1::Plan();
  }

  // What `engine` keeps for ZooRequest is what `change` makes of it from now on.
  void ReplaceAnswer(PlanningEngine& engine, const std::function<std::string(std::string)>& change) {
    Replace("", DocumentKind::kAnswer, engine.ReadTask(ZooRequest(), CallContext())->shared_key, change);
  }
  void ChangeAnswer(PlanningEngine& engine, const std::function<void(v1::Plan&)>& change) {
    ReplaceAnswer(engine, [&change](const std::string& content) { return ChangedPlan(content, change); });
  }
  // The same for the plan that somebody has named "mine".
  void ChangeMine(const std::function<void(v1::Plan&)>& change) {
    Replace(kDefaultTenant, DocumentKind::kPlan, "mine",
            [&change](const std::string& content) { return ChangedPlan(content, change); });
  }

  std::unique_ptr<Store> store_;

 private:
  static std::string ChangedPlan(const std::string& content, const std::function<void(v1::Plan&)>& change) {
    v1::Plan plan;
    EXPECT_TRUE(plan.ParseFromString(content));
    change(plan);
    return plan.SerializeAsString();
  }
  void Replace(const std::string& tenant, DocumentKind kind, const std::string& id,
               const std::function<std::string(std::string)>& change) {
    Document document = *store_->FindDocument(tenant, kind, id);
    document.content = change(document.content);
    ASSERT_TRUE(store_->ReplaceDocument(tenant, kind, document).ok());
  }
};

TEST_F(StoredPlansTest, PlansOutliveTheEngineThatMadeThem) {
  PlanningEngine first(Config(), store_.get());
  const v1::Plan made = MustPlan(first);
  PlanningEngine second(Config(), store_.get());
  const v1::Plan found = MustPlan(second);
  EXPECT_TRUE(found.provenance().cached());
  EXPECT_EQ(found.objective_ms(), made.objective_ms());
  EXPECT_EQ(second.stored_plans_found(), 1);
  EXPECT_EQ(second.stored_plans_dropped(), 0);
}

TEST_F(StoredPlansTest, WhatTheSearchWasGivenIsKeptExactly) {
  StoredPlan made;
  made.effort = {.time = std::chrono::nanoseconds(7), .work_limit = 9, .relative_gap = 0.1234567890123};
  StoredPlans plans(store_.get());
  plans.Keep("key", made);
  made.effort.work_limit = std::nullopt;
  plans.Keep("other", made);
  const std::optional<StoredPlan> found = plans.Find("key");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->effort.time, made.effort.time);
  EXPECT_EQ(found->effort.work_limit, 9);
  EXPECT_EQ(found->effort.relative_gap, made.effort.relative_gap);
  EXPECT_EQ(plans.Find("other").value().effort.work_limit, std::nullopt);
}

TEST_F(StoredPlansTest, EqualSetsOfDevicesShareAStoredPlan) {
  PlanningEngine first(Config(), store_.get());
  v1::GetClusterRequest get;
  get.set_name("zoo:pcie:8");
  const v1::Cluster cluster = first.GetCluster(get)->cluster();
  ASSERT_TRUE(first.CreatePlan(OnTwoOf(cluster, 0), CallContext()).ok());
  PlanningEngine second(Config(), store_.get());
  const v1::CreatePlanRequest request = OnTwoOf(cluster, 6);
  const auto found = second.CreatePlan(request, CallContext());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->plan().provenance().cached());
  ExpectIsPlanFor(second, request, found->plan());
  EXPECT_EQ(second.stored_plans_dropped(), 0);
}

// A problem of every mode, each with numbers of its own in the plan.
std::vector<v1::CreatePlanRequest> RequestsOfEveryMode() {
  std::vector<v1::CreatePlanRequest> requests;
  const auto add = [&requests](const char* cluster, const char* problem) {
    v1::CreatePlanRequest& request = requests.emplace_back();
    request.set_graph_reference("zoo:bert-base");
    request.set_cluster_reference(cluster);
    *request.mutable_problem() = Wire<v1::PlanningProblem>(problem);
    request.mutable_options()->set_explain(true);
    request.mutable_options()->set_work_limit(1000);
  };
  add("zoo:pcie:2", "");
  add("zoo:pcie:2", "split: SPLIT_NON_CONTIGUOUS");
  add("zoo:pcie:2", "objective: OBJECTIVE_MIN_LATENCY workload: WORKLOAD_INFERENCE");
  add("zoo:pcie:2", "objective: OBJECTIVE_MIN_DEVICES target_period_ms: 1000");
  add("zoo:pcie:2", "workload: WORKLOAD_TRAINING replication: REPLICATION_PER_STAGE");
  add("zoo:dgx1-v100:1", "replication: REPLICATION_UNIFORM");
  add("zoo:dgx1-v100:1", "workload: WORKLOAD_TRAINING micro_batches: 8 schedule: SCHEDULE_KIND_ONE_F_ONE_B");
  requests.push_back(Wire<v1::CreatePlanRequest>(R"pb(
    graph_reference: "zoo:gpt-1.3b"
    cluster_reference: "zoo:dgx-a100:1"
    problem {
      workload: WORKLOAD_TRAINING
      joint { global_batch: 64 }
    }
  )pb"));
  requests.push_back(PatternRequest());
  return requests;
}

TEST_F(StoredPlansTest, AnswersOfTheStoreAreThoseThatWereGiven) {
  PlanningEngine first(Config(), store_.get());
  PlanningEngine second(Config(), store_.get());
  for (const v1::CreatePlanRequest& request : RequestsOfEveryMode()) {
    SCOPED_TRACE(request.DebugString());
    const auto made = first.CreatePlan(request, CallContext());
    ASSERT_TRUE(made.ok()) << made.status();
    v1::Plan expected = made->plan();
    expected.mutable_provenance()->set_cached(true);
    for (PlanningEngine* engine : {&first, &second}) {
      const auto found = engine->CreatePlan(request, CallContext());
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->plan().DebugString(), expected.DebugString());
    }
  }
  EXPECT_EQ(second.stored_plans_dropped(), 0);
}

TEST_F(StoredPlansTest, AWrongPlanIsDroppedAndSearchedForAnew) {
  PlanningEngine first(Config(), store_.get());
  const v1::Plan made = MustPlan(first);
  ChangeAnswer(first, [&](v1::Plan& plan) { plan.set_objective_ms(made.objective_ms() / 2); });
  PlanningEngine second(Config(), store_.get());
  const v1::Plan again = MustPlan(second);
  EXPECT_FALSE(again.provenance().cached());
  EXPECT_EQ(again.objective_ms(), made.objective_ms());
  EXPECT_EQ(second.stored_plans_dropped(), 1);
  // The right one is stored now.
  PlanningEngine third(Config(), store_.get());
  EXPECT_TRUE(MustPlan(third).provenance().cached());
}

TEST_F(StoredPlansTest, APlanForAnotherProblemIsDropped) {
  PlanningEngine first(Config(), store_.get());
  MustPlan(first);
  ChangeAnswer(first, [&](v1::Plan& plan) { plan.mutable_problem()->set_objective(v1::OBJECTIVE_MIN_LATENCY); });
  PlanningEngine second(Config(), store_.get());
  EXPECT_FALSE(MustPlan(second).provenance().cached());
  EXPECT_EQ(second.stored_plans_dropped(), 1);
}

TEST_F(StoredPlansTest, APlanOfOlderRulesIsSearchedForAnew) {
  PlanningEngine first(Config(), store_.get());
  MustPlan(first);
  ChangeAnswer(first, [&](v1::Plan& plan) { plan.set_cost_model_version(1); });
  PlanningEngine second(Config(), store_.get());
  const v1::Plan again = MustPlan(second);
  EXPECT_FALSE(again.provenance().cached());
  EXPECT_EQ(again.cost_model_version(), kCostModelVersion);
}

// Under the name that somebody gave it.
TEST_F(StoredPlansTest, AKeptPlanOfOlderRulesGivesWay) {
  PlanningEngine engine(Config(), store_.get());
  v1::CreatePlanRequest request = ZooRequest();
  request.set_plan_id("mine");
  const auto made = engine.CreatePlan(request, CallContext());
  ASSERT_TRUE(made.ok()) << made.status();
  ChangeMine([](v1::Plan& plan) {
    plan.set_cost_model_version(1);
    // Its rules had no such setting.
    plan.mutable_problem()->mutable_allreduce()->clear_charge();
    plan.set_objective_ms(2 * plan.objective_ms());
  });
  v1::GetPlanRequest get;
  get.set_name("plans/mine");
  const auto kept = engine.library().GetPlan(kDefaultTenant, get);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->plan().warnings(), testing::Contains(testing::HasSubstr("cost model")));
  const auto again = engine.CreatePlan(request, CallContext());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->plan().objective_ms(), made->plan().objective_ms());
  EXPECT_EQ(engine.library().GetPlan(kDefaultTenant, get)->plan().cost_model_version(), kCostModelVersion);
}

// A name stands for one plan.
TEST_F(StoredPlansTest, AKeptPlanThatIsNotAsGoodAsAskedForSaysSo) {
  PlanningEngine engine(Config(), store_.get());
  v1::CreatePlanRequest request = ZooRequest();
  request.set_plan_id("mine");
  const auto warns = [&] {
    const auto answer = engine.CreatePlan(request, CallContext());
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() && std::any_of(answer->plan().warnings().begin(), answer->plan().warnings().end(),
                                      [](const std::string& warning) {
                                        return absl::StrContains(warning, "plans/mine, whose gap of 0.25 is above");
                                      });
  };
  EXPECT_FALSE(warns());
  ChangeMine([](v1::Plan& plan) {
    plan.mutable_provenance()->set_proven_optimal(false);
    plan.set_relative_gap(0.25);
  });
  EXPECT_TRUE(warns());
  ChangeMine([](v1::Plan& plan) { plan.mutable_provenance()->set_stop_reason(v1::STOP_REASON_EXHAUSTED); });
  EXPECT_FALSE(warns());
  ChangeMine([](v1::Plan& plan) { plan.mutable_provenance()->set_stop_reason(v1::STOP_REASON_TIME_LIMIT); });
  EXPECT_TRUE(warns());
  request.mutable_options()->set_relative_gap(0.3);
  EXPECT_FALSE(warns());
}

// That of a later release on the same store.
TEST_F(StoredPlansTest, AKeptPlanOfNewerRulesStays) {
  PlanningEngine engine(Config(), store_.get());
  v1::CreatePlanRequest request = ZooRequest();
  request.set_plan_id("mine");
  const auto made = engine.CreatePlan(request, CallContext());
  ASSERT_TRUE(made.ok()) << made.status();
  ChangeMine([](v1::Plan& plan) { plan.set_cost_model_version(kCostModelVersion + 1); });
  const std::string newer = store_->FindDocument(kDefaultTenant, DocumentKind::kPlan, "mine")->content;
  request.set_skip_cache(true);
  const auto again = engine.CreatePlan(request, CallContext());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->plan().cost_model_version(), kCostModelVersion + 1);
  EXPECT_THAT(again->plan().warnings(), testing::Contains(testing::HasSubstr("cost model")));
  EXPECT_EQ(store_->FindDocument(kDefaultTenant, DocumentKind::kPlan, "mine")->content, newer);
}

TEST_F(StoredPlansTest, WhatCannotBeReadIsDropped) {
  PlanningEngine first(Config(), store_.get());
  MustPlan(first);
  ReplaceAnswer(first, [](const std::string&) { return "\xff\xff"; });
  PlanningEngine second(Config(), store_.get());
  EXPECT_FALSE(MustPlan(second).provenance().cached());
  EXPECT_EQ(second.stored_plans_dropped(), 1);
}

TEST(PlanCacheTest, WithoutBytesNothingIsKept) {
  PlanCache cache(0);
  auto plan = std::make_shared<CachedPlan>();
  plan->plan.provenance.proven_optimal = true;
  cache.Offer("key", plan);
  EXPECT_EQ(cache.Find("key", SearchEffort()), nullptr);
  EXPECT_EQ(cache.stats().misses, 1);
}

}  // namespace
}  // namespace planwright::server
