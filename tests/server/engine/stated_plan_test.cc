// EvaluatePlan on plans that state something else than they cost: every field of every kind of plan is changed.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "server/engine/planning_engine.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// Six operators in a chain on four equal devices.
constexpr char kInput[] = R"pb(
  graph {
    operators { name: "a" $0 }
    operators { name: "b" $0 }
    operators { name: "c" $0 }
    operators { name: "d" $0 }
    operators { name: "e" $0 }
    operators { name: "f" $0 }
    tensors { name: "ab" producer: "a" consumers: "b" size_bytes: 1000000 }
    tensors { name: "bc" producer: "b" consumers: "c" size_bytes: 2000000 }
    tensors { name: "cd" producer: "c" consumers: "d" size_bytes: 1000000 }
    tensors { name: "de" producer: "d" consumers: "e" size_bytes: 2000000 }
    tensors { name: "ef" producer: "e" consumers: "f" size_bytes: 1000000 }
  }
  cluster {
    device_classes { name: "gpu" memory_bytes: 1000000000 }
    device_groups { name_prefix: "g" device_class: "gpu" count: 4 }
    interconnect { $1 }
  }
)pb";
constexpr char kTraining[] =
    R"(costs { device_class: "gpu" forward_ms: 3 backward_ms: 5 }
       parameter_bytes: 1000000 activation_bytes: 100000 workspace_bytes: 10)";
// Two of them fit a device.
constexpr char kInference[] = R"(costs { device_class: "gpu" forward_ms: 3 } memory_bytes: 400000000)";
constexpr char kStart[] = R"pb(
  start_from {
    stages {
      operators: [ "a", "b", "c" ]
      devices: "g0"
    }
    stages {
      operators: [ "d", "e", "f" ]
      devices: "g3"
    }
  }
)pb";
constexpr char kUniform[] = "uniform { bandwidth_bytes_per_second: 1e9 }";
constexpr char kHostStaged[] = "host_staged { bandwidth_bytes_per_second: 1e9 }";

v1::CreatePlanRequest RequestFor(const std::string& problem, const char* interconnect = kUniform,
                                 const char* operators = kTraining) {
  auto request = Wire<v1::CreatePlanRequest>(absl::Substitute(kInput, operators, interconnect));
  *request.mutable_problem() = Wire<v1::PlanningProblem>(problem);
  request.mutable_options()->set_explain(true);
  request.mutable_options()->set_work_limit(100'000);
  return request;
}

// What a placement does not say, and why nothing can be held against it.
const std::set<std::string>& Exempt() {
  static const std::set<std::string> kExempt = {
      // The question; another one has other numbers, which the answer says.
      "planwright.v1.Plan.problem",
      // Of other rules nothing is compared, which the answer says.
      "planwright.v1.Plan.cost_model_version",
      // Names and texts.
      "planwright.v1.Plan.name",
      "planwright.v1.Plan.warnings",
      "planwright.v1.Bound.method",
      "planwright.v1.Explanation.bottleneck",
      // What searches found: only that it agrees with itself is checked, in tests of its own.
      "planwright.v1.Bound.value_ms",
      "planwright.v1.Bound.scope",
      "planwright.v1.Plan.baselines",
      "planwright.v1.Explanation.relief",
      "planwright.v1.JointPlan.simulated_bound_ms",
      "planwright.v1.JointPlan.equal_stages",
      "planwright.v1.JointPlan.worth",
      // How the search went.
      "planwright.v1.Provenance.algorithm",
      "planwright.v1.Provenance.algorithm_version",
      "planwright.v1.Provenance.seed",
      "planwright.v1.Provenance.wall_time_ms",
      "planwright.v1.Provenance.cpu_time_ms",
      "planwright.v1.Provenance.stop_reason",
      "planwright.v1.Provenance.counters",
      "planwright.v1.Provenance.incumbents",
      "planwright.v1.Provenance.cached",
      "planwright.v1.Provenance.fallback",
  };
  return kExempt;
}

// Every field of `type` and of the messages in it that is not exempt.
void CollectFields(const Descriptor& type, std::set<std::string>& fields) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (Exempt().contains(std::string(field.full_name()))) continue;
    if (field.message_type() != nullptr) {
      CollectFields(*field.message_type(), fields);
    } else {
      fields.insert(std::string(field.full_name()));
    }
  }
}

// Changes every field below a message to another value, one at a time, and calls `check` with its path.
class Mutator {
 public:
  using Check = std::function<void(const FieldDescriptor& field, const std::string& path)>;

  explicit Mutator(Check check) : check_(std::move(check)) {}

  void Mutate(Message& message, const std::string& path) const {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      if (!Exempt().contains(std::string(field.full_name()))) MutateField(message, field, path);
    }
  }

 private:
  void MutateField(Message& message, const FieldDescriptor& field, const std::string& path) const {
    const Reflection& reflection = *message.GetReflection();
    const std::string name = absl::StrCat(path, ".", field.name());
    const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string here = field.is_repeated() ? absl::StrCat(name, "[", i, "]") : name;
      if (field.message_type() == nullptr) {
        field.is_repeated() ? MutateElement(message, field, i, here) : MutateScalar(message, field, here);
      } else if (field.is_repeated()) {
        Mutate(*reflection.MutableRepeatedMessage(&message, &field, i), here);
      } else if (reflection.HasField(message, &field)) {
        Mutate(*reflection.MutableMessage(&message, &field), here);
      }
    }
  }

  void MutateScalar(Message& message, const FieldDescriptor& field, const std::string& path) const {
    const Reflection& reflection = *message.GetReflection();
    const bool was_set = !field.has_presence() || reflection.HasField(message, &field);
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        const double old = reflection.GetDouble(message, &field);
        reflection.SetDouble(&message, &field, 1.25 * old + (old == 0 ? 1 : 0));
        check_(field, path);
        reflection.SetDouble(&message, &field, old);
        break;
      }
      case FieldDescriptor::CPPTYPE_INT32: {
        const int32_t old = reflection.GetInt32(message, &field);
        reflection.SetInt32(&message, &field, old + 1);
        check_(field, path);
        reflection.SetInt32(&message, &field, old);
        break;
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        const int64_t old = reflection.GetInt64(message, &field);
        reflection.SetInt64(&message, &field, old + 1);
        check_(field, path);
        reflection.SetInt64(&message, &field, old);
        break;
      }
      case FieldDescriptor::CPPTYPE_BOOL: {
        const bool old = reflection.GetBool(message, &field);
        reflection.SetBool(&message, &field, !old);
        check_(field, path);
        reflection.SetBool(&message, &field, old);
        break;
      }
      case FieldDescriptor::CPPTYPE_ENUM: {
        const int old = reflection.GetEnumValue(message, &field);
        reflection.SetEnumValue(&message, &field, old + 1);
        check_(field, path);
        reflection.SetEnumValue(&message, &field, old);
        break;
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string old = reflection.GetString(message, &field);
        reflection.SetString(&message, &field, old + "x");
        check_(field, path);
        reflection.SetString(&message, &field, old);
        break;
      }
      default:
        FAIL() << path << " has a type that nobody thought of";
    }
    if (!was_set) reflection.ClearField(&message, &field);
  }

  void MutateElement(Message& message, const FieldDescriptor& field, int index, const std::string& path) const {
    const Reflection& reflection = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      const std::string old = reflection.GetRepeatedString(message, &field, index);
      reflection.SetRepeatedString(&message, &field, index, old + "x");
      check_(field, path);
      reflection.SetRepeatedString(&message, &field, index, old);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
      const int32_t old = reflection.GetRepeatedInt32(message, &field, index);
      reflection.SetRepeatedInt32(&message, &field, index, old + 1);
      check_(field, path);
      reflection.SetRepeatedInt32(&message, &field, index, old);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      const int old = reflection.GetRepeatedEnumValue(message, &field, index);
      reflection.SetRepeatedEnumValue(&message, &field, index, old + 1);
      check_(field, path);
      reflection.SetRepeatedEnumValue(&message, &field, index, old);
    } else {
      FAIL() << path << " has a type that nobody thought of";
    }
  }

  Check check_;
};

// Operators and devices of its stages.
v1::Plan PlacementOf(const v1::Plan& plan) {
  v1::Plan bare;
  for (const v1::Stage& stage : plan.stages()) {
    v1::Stage& placed = *bare.add_stages();
    *placed.mutable_operators() = stage.operators();
    for (const v1::Replica& replica : stage.replicas()) placed.add_replicas()->set_device(replica.device());
  }
  return bare;
}

class StatedPlanTest : public testing::Test {
 protected:
  v1::Plan MustPlan(const v1::CreatePlanRequest& request) {
    auto response = engine_.CreatePlan(request, CallContext{});
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->plan() : v1::Plan();
  }

  absl::StatusOr<v1::EvaluatePlanResponse> Evaluate(const v1::CreatePlanRequest& request, const v1::Plan& plan) {
    v1::EvaluatePlanRequest evaluation;
    if (request.has_graph()) {
      *evaluation.mutable_graph() = request.graph();
      *evaluation.mutable_cluster() = request.cluster();
    } else {
      evaluation.set_graph_reference(request.graph_reference());
      evaluation.set_cluster_reference(request.cluster_reference());
    }
    *evaluation.mutable_plan() = plan;
    return engine_.EvaluatePlan(evaluation);
  }

  // Changes every field of the plan made for the request; `met` gathers the names of the fields.
  void ExpectEveryChangeShows(const std::string& kind, const v1::CreatePlanRequest& request,
                              std::set<std::string>& met) {
    v1::Plan plan = MustPlan(request);
    const auto own = Evaluate(request, plan);
    ASSERT_TRUE(own.ok()) << kind << ": " << own.status();
    ASSERT_TRUE(own->valid()) << kind << ": " << own->DebugString();
    const bool is_pattern = plan.schedule().kind() == v1::SCHEDULE_KIND_PERIODIC;
    const Mutator mutator([&](const FieldDescriptor& field, const std::string& path) {
      met.insert(std::string(field.full_name()));
      // Another pattern is another placement, which may do as well.
      if (is_pattern && (field.name() == "start_ms" || field.name() == "index_shift")) return;
      const auto evaluated = Evaluate(request, plan);
      EXPECT_FALSE(evaluated.ok() && evaluated->valid()) << kind << ": " << path << " may be anything";
    });
    mutator.Mutate(plan, "plan");
  }

  static EngineConfig Config() {
    EngineConfig config;
    config.version = "9.9";
    config.cpus = 2;
    return config;
  }

  PlanningEngine engine_{Config()};
};

TEST_F(StatedPlanTest, EveryFieldOfEveryKindOfPlanIsChecked) {
  std::set<std::string> met;
  const auto check = [&](const std::string& kind, const v1::CreatePlanRequest& request) {
    ExpectEveryChangeShows(kind, request, met);
  };
  check("throughput", RequestFor(""));
  check("host_staged", RequestFor("", kHostStaged));
  check("steps", RequestFor("schedule: SCHEDULE_KIND_ONE_F_ONE_B micro_batches: 8 replication: REPLICATION_UNIFORM "
                            "num_replicas: 2"));
  check("replicated", RequestFor("replication: REPLICATION_PER_STAGE overlap: OVERLAP_OVERLAPPED"));
  check("latency", RequestFor("objective: OBJECTIVE_MIN_LATENCY", kHostStaged, kInference));
  check("periodic", RequestFor("schedule: SCHEDULE_KIND_PERIODIC"));
  check("full duplex", RequestFor("schedule: SCHEDULE_KIND_PERIODIC overlap: OVERLAP_FULL_DUPLEX"));
  check("non-contiguous", RequestFor("split: SPLIT_NON_CONTIGUOUS"));
  check("fewest devices", RequestFor("objective: OBJECTIVE_MIN_DEVICES target_period_ms: 30"));
  check("moved", RequestFor(kStart));
  check("joint", Wire<v1::CreatePlanRequest>(R"pb(
          graph_reference: "zoo:transformer?layers=4&hidden=8192&heads=64&sequence=2048"
          cluster_reference: "zoo:dgx-h100:1"
          problem {
            num_stages: 2
            joint { global_batch: 16 schedules: SCHEDULE_KIND_ONE_F_ONE_B }
          }
        )pb"));
  check("operators", RequestFor("num_stages: 2 joint { global_batch: 8 }"));
  check("turns", RequestFor("num_stages: 2 replication: REPLICATION_PER_STAGE joint { global_batch: 8 }"));
  std::set<std::string> all;
  CollectFields(*v1::Plan::descriptor(), all);
  for (const std::string& field : all) {
    EXPECT_TRUE(met.contains(field)) << field << " occurs in no kind of plan: add one, or say why it is exempt";
  }
}

TEST_F(StatedPlanTest, BoundsAndProofsAgreeWithEachOther) {
  const v1::CreatePlanRequest request = RequestFor("");
  const v1::Plan plan = MustPlan(request);
  ASSERT_TRUE(plan.provenance().proven_optimal());
  const auto is_valid = [&](auto change) {
    v1::Plan changed = plan;
    change(changed);
    const auto evaluated = Evaluate(request, changed);
    return evaluated.ok() && evaluated->valid();
  };
  EXPECT_FALSE(is_valid([](v1::Plan& changed) {
    for (v1::Bound& bound : *changed.mutable_bounds()) bound.set_value_ms(bound.value_ms() / 2);
  }));
  EXPECT_FALSE(is_valid([](v1::Plan& changed) {
    for (v1::Bound& bound : *changed.mutable_bounds()) bound.set_scope(v1::Bound::SCOPE_GIVEN_PARTITION);
  }));
  EXPECT_FALSE(is_valid([](v1::Plan& changed) { changed.set_lower_bound_ms(0); }));
  EXPECT_FALSE(is_valid([](v1::Plan& changed) {
    for (v1::Baseline& baseline : *changed.mutable_baselines())
      baseline.set_objective_ms(1), baseline.set_admissible(true);
  }));
  // What is not stated is not judged.
  EXPECT_TRUE(is_valid([](v1::Plan& changed) {
    for (const char* list : {"bounds", "devices", "links", "baselines"}) {
      changed.GetReflection()->ClearField(&changed, changed.GetDescriptor()->FindFieldByName(list));
    }
    changed.clear_schedule();
    changed.clear_estimate();
  }));
}

TEST_F(StatedPlanTest, MovesNeedNotBeStated) {
  const v1::CreatePlanRequest request = RequestFor(kStart);
  v1::Plan plan = MustPlan(request);
  ASSERT_TRUE(plan.has_replanning());
  plan.clear_replanning();
  const auto evaluated = Evaluate(request, plan);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  EXPECT_TRUE(evaluated->valid()) << evaluated->DebugString();
}

TEST_F(StatedPlanTest, ListsAreComplete) {
  const v1::CreatePlanRequest request = RequestFor("objective: OBJECTIVE_MIN_LATENCY", kHostStaged, kInference);
  v1::Plan plan = MustPlan(request);
  ASSERT_GT(plan.schedule().tasks_size(), 1);
  plan.mutable_schedule()->mutable_tasks()->RemoveLast();
  EXPECT_FALSE(Evaluate(request, plan)->valid());
  const v1::CreatePlanRequest linked = RequestFor("");
  for (const char* list : {"devices", "links"}) {
    plan = MustPlan(linked);
    ASSERT_GT(plan.links_size(), 1);
    planwright::v1::Plan::GetReflection()->RemoveLast(&plan,
                                                      planwright::v1::Plan::GetDescriptor()->FindFieldByName(list));
    EXPECT_FALSE(Evaluate(linked, plan)->valid()) << list;
  }
}

TEST_F(StatedPlanTest, ViolationsThatAreNotListedAreCounted) {
  const v1::CreatePlanRequest request = RequestFor("");
  v1::Plan plan = MustPlan(request);
  for (int i = 0; i < 130; ++i) plan.mutable_stages(0)->add_operators(absl::StrCat("other", i));
  const auto evaluated = Evaluate(request, plan);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  ASSERT_EQ(evaluated->violations_size(), 101);
  EXPECT_EQ(evaluated->violations(100).description(), "violations that are not listed: 30");
}

TEST_F(StatedPlanTest, NumbersOfOtherRulesAreCostedAnewAndSaidSo) {
  const v1::CreatePlanRequest request = RequestFor("");
  v1::Plan plan = MustPlan(request);
  const double objective_ms = plan.objective_ms();
  for (const int version : {0, 1}) {
    plan.set_cost_model_version(version);
    plan.set_objective_ms(2 * objective_ms);
    plan.mutable_stages(0)->set_memory_bytes(7);
    const auto evaluated = Evaluate(request, plan);
    ASSERT_TRUE(evaluated.ok()) << evaluated.status();
    EXPECT_TRUE(evaluated->valid()) << evaluated->DebugString();
    EXPECT_EQ(evaluated->objective_ms(), objective_ms);
    EXPECT_EQ(evaluated->plan().cost_model_version(), kCostModelVersion);
    EXPECT_THAT(evaluated->plan().warnings(), Contains(HasSubstr("follow version 1 of the cost model")));
  }
}

TEST_F(StatedPlanTest, APlacementWithoutNumbersFollowsAnyRules) {
  const v1::CreatePlanRequest request = RequestFor("");
  const auto evaluated = Evaluate(request, PlacementOf(MustPlan(request)));
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  EXPECT_TRUE(evaluated->valid()) << evaluated->DebugString();
  EXPECT_THAT(evaluated->plan().warnings(), testing::Not(Contains(HasSubstr("cost model"))));
}

TEST_F(StatedPlanTest, AnyNumberOfOtherRulesIsCostedAnewAndSaidSo) {
  const v1::CreatePlanRequest request = RequestFor("");
  const v1::Plan bare = PlacementOf(MustPlan(request));
  for (const auto& state : std::vector<std::function<void(v1::Plan&)>>{
           [](v1::Plan& plan) { plan.mutable_stages(0)->set_load_ms(77); },
           [](v1::Plan& plan) { plan.mutable_stages(0)->set_compute_ms(77); },
           [](v1::Plan& plan) { plan.mutable_stages(0)->set_memory_bytes(77); },
           [](v1::Plan& plan) { plan.mutable_stages(0)->set_in_flight_micro_batches(77); },
           [](v1::Plan& plan) { plan.mutable_stages(0)->mutable_replicas(0)->set_load_ms(77); },
           [](v1::Plan& plan) { plan.add_links()->set_load_ms(77); },
           [](v1::Plan& plan) { plan.add_bounds()->set_value_ms(77); },
           [](v1::Plan& plan) { plan.mutable_schedule()->set_period_ms(77); }}) {
    v1::Plan old = bare;
    state(old);
    const auto evaluated = Evaluate(request, old);
    ASSERT_TRUE(evaluated.ok()) << evaluated.status();
    EXPECT_TRUE(evaluated->valid()) << old.DebugString() << evaluated->DebugString();
    EXPECT_THAT(evaluated->plan().warnings(), Contains(HasSubstr("cost model"))) << old.DebugString();
  }
}

// Who states a bound need not say how far it is.
TEST_F(StatedPlanTest, ABoundAloneIsNoAnswer) {
  const v1::CreatePlanRequest request = RequestFor("");
  const v1::Plan plan = MustPlan(request);
  v1::Plan bounded = PlacementOf(plan);
  bounded.set_lower_bound_ms(plan.objective_ms() / 2);
  EXPECT_TRUE(Evaluate(request, bounded)->valid());
  bounded.set_lower_bound_ms(plan.objective_ms() * 2);
  EXPECT_FALSE(Evaluate(request, bounded)->valid());
}

TEST_F(StatedPlanTest, SimulationsSayThatAPlanFollowsOtherRules) {
  const v1::CreatePlanRequest request = RequestFor("");
  v1::SimulatePlanRequest simulation;
  *simulation.mutable_graph() = request.graph();
  *simulation.mutable_cluster() = request.cluster();
  *simulation.mutable_plan() = MustPlan(request);
  simulation.mutable_plan()->set_cost_model_version(1);
  auto messages = engine_.SimulatePlan(simulation);
  ASSERT_TRUE(messages.ok()) << messages.status();
  EXPECT_THAT(messages->Next()->summary().warnings(), Contains(HasSubstr("cost model")));
}

// A plan that was made while only parameters and gradients counted, judged with an optimizer that does not fit.
TEST_F(StatedPlanTest, AnotherProblemIsJudgedAsAskedAndSaidSo) {
  const v1::CreatePlanRequest request = RequestFor("");
  v1::EvaluatePlanRequest evaluation;
  *evaluation.mutable_graph() = request.graph();
  *evaluation.mutable_cluster() = request.cluster();
  *evaluation.mutable_plan() = MustPlan(request);
  evaluation.mutable_problem()->mutable_memory_model()->set_preset("adam_mixed");
  const auto evaluated = engine_.EvaluatePlan(evaluation);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  EXPECT_TRUE(evaluated->valid());
  EXPECT_GT(evaluated->plan().estimate().peak_memory_bytes(), evaluation.plan().estimate().peak_memory_bytes());
  EXPECT_THAT(evaluated->plan().warnings(),
              Contains(HasSubstr("memory_model.optimizer_bytes_per_parameter_byte: 0 -> 6")));
}

}  // namespace
}  // namespace planwright::server
