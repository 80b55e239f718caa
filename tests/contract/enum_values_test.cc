// The promise of the contract about settings: each one is planned, or refused with its path; none is ignored.
//
// Walks the messages by reflection, so that a field or a value that is added to the contract is covered at once.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/violations.h"
#include "server/engine/planning_engine.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// One enum value of one field below a request.
struct EnumSetting {
  // From the request to the field.
  std::vector<const FieldDescriptor*> fields;
  int number = 0;

  std::string Path() const {
    std::string path;
    for (const FieldDescriptor* field : fields) absl::StrAppend(&path, path.empty() ? "" : ".", field->name());
    return path;
  }
  std::string ValueName() const {
    const auto* value = fields.back()->enum_type()->FindValueByNumber(number);
    return value == nullptr ? absl::StrCat(number) : value->name();
  }
};

// A number that no enum of the contract has.
constexpr int kUnknownNumber = 4321;

// Adds every value of every singular enum field below `type`, and one unknown number for each.
void CollectSettings(const Descriptor& type, std::vector<const FieldDescriptor*>& fields,
                     std::vector<EnumSetting>& settings) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_repeated()) continue;
    fields.push_back(field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      CollectSettings(*field->message_type(), fields, settings);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      for (int j = 0; j < field->enum_type()->value_count(); ++j) {
        settings.push_back({fields, field->enum_type()->value(j)->number()});
      }
      settings.push_back({fields, kUnknownNumber});
    }
    fields.pop_back();
  }
}

std::vector<EnumSetting> SettingsBelow(const char* request_field) {
  std::vector<const FieldDescriptor*> fields = {v1::CreatePlanRequest::descriptor()->FindFieldByName(request_field)};
  std::vector<EnumSetting> settings;
  CollectSettings(*fields.front()->message_type(), fields, settings);
  return settings;
}

void Apply(const EnumSetting& setting, Message& request) {
  Message* message = &request;
  for (std::size_t i = 0; i + 1 < setting.fields.size(); ++i) {
    message = message->GetReflection()->MutableMessage(message, setting.fields[i]);
  }
  message->GetReflection()->SetEnumValue(message, setting.fields.back(), setting.number);
}

v1::CreatePlanRequest SmallRequest() {
  return Wire<v1::CreatePlanRequest>(R"pb(
    graph {
      operators {
        name: "a"
        costs { device_class: "gpu" forward_ms: 1 backward_ms: 2 }
        memory_bytes: 1
      }
      operators {
        name: "b"
        costs { device_class: "gpu" forward_ms: 1 backward_ms: 2 }
        memory_bytes: 1
      }
      tensors { name: "t" producer: "a" consumers: "b" transfer_ms: 0.1 }
    }
    cluster {
      device_classes { name: "gpu" }
      device_groups { name_prefix: "g" device_class: "gpu" count: 2 }
      interconnect { host_staged { bandwidth_bytes_per_second: 1e9 } }
    }
  )pb");
}

std::string NameOf(const testing::TestParamInfo<EnumSetting>& info) {
  std::string name = info.param.Path();
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return absl::StrCat(name, "_", info.param.ValueName());
}

// The problem of a plan says what was solved; a setting that was planned is in it as it was asked for.
void ExpectInPlan(const EnumSetting& setting, const v1::Plan& plan) {
  if (setting.fields.front()->name() != "problem" || setting.number == 0) return;
  const Message* message = &plan.problem();
  for (std::size_t i = 1; i + 1 < setting.fields.size(); ++i) {
    message = &message->GetReflection()->GetMessage(*message, setting.fields[i]);
  }
  EXPECT_EQ(message->GetReflection()->GetEnumValue(*message, setting.fields.back()), setting.number);
}

// A plan of the joint search to start from, but for what is set.
void AddStart(v1::PlanningProblem& problem) {
  problem.mutable_joint()->set_global_batch(8);
  problem.mutable_start_from()->add_stages()->add_devices("host0/gpu0");
  v1::JointChoices& choices = *problem.mutable_start_from()->mutable_joint();
  if (choices.schedule() == v1::SCHEDULE_KIND_UNSPECIFIED) choices.set_schedule(v1::SCHEDULE_KIND_ONE_F_ONE_B);
  if (choices.optimizer_sharding() == v1::OPTIMIZER_SHARDING_UNSPECIFIED) {
    choices.set_optimizer_sharding(v1::OPTIMIZER_SHARDING_NONE);
  }
  choices.set_micro_batch_samples(1);
  v1::JointChoices::SpreadStage& stage = *choices.add_stages();
  stage.set_tensor_degree(1);
  stage.set_context_degree(1);
  stage.set_expert_degree(1);
  stage.set_data_degree(1);
  v1::JointChoices::LayerRun& run = *stage.add_chunks();
  for (const char* layer : {"embedding", "layer.0", "layer.1", "head"}) {
    run.add_layers(layer);
    run.add_recomputation(v1::LAYER_RECOMPUTATION_NONE);
  }
}

// What an objective asks for beside itself.
void AddWhatItNeeds(v1::CreatePlanRequest& request) {
  v1::PlanningProblem& problem = *request.mutable_problem();
  if (problem.schedule() == v1::SCHEDULE_KIND_PERIODIC) {
    request.mutable_cluster()->mutable_interconnect()->mutable_uniform()->set_bandwidth_bytes_per_second(1e9);
  }
  if (problem.start_from().has_joint()) AddStart(problem);
  if (problem.has_joint()) {
    request.set_graph_reference("zoo:transformer?layers=2");
    request.set_cluster_reference("zoo:dgx-h100:1");
    problem.mutable_joint()->set_global_batch(8);
  }
  if (problem.objective() == v1::OBJECTIVE_MIN_DEVICES) problem.set_target_period_ms(1000);
  if (problem.objective() == v1::OBJECTIVE_MIN_LATENCY) problem.set_workload(v1::WORKLOAD_INFERENCE);
}

class EnumSettingTest : public testing::TestWithParam<EnumSetting> {};

TEST_P(EnumSettingTest, IsPlannedOrRefusedWithItsPath) {
  const EnumSetting& setting = GetParam();
  v1::CreatePlanRequest request = SmallRequest();
  Apply(setting, request);
  AddWhatItNeeds(request);
  PlanningEngine engine(EngineConfig{});
  const auto response = engine.CreatePlan(request, CallContext{});
  if (response.ok()) {
    EXPECT_NE(setting.number, kUnknownNumber);
    EXPECT_GT(response->plan().objective_ms(), 0);
    ExpectInPlan(setting, response->plan());
    return;
  }
  EXPECT_EQ(response.status().code(), absl::StatusCode::kInvalidArgument) << response.status();
  const std::vector<Violation> violations = ViolationsOf(response.status());
  EXPECT_THAT(violations, testing::Contains(testing::Field(&Violation::path, setting.Path()))) << response.status();
}

INSTANTIATE_TEST_SUITE_P(Problem, EnumSettingTest, testing::ValuesIn(SettingsBelow("problem")), NameOf);
INSTANTIATE_TEST_SUITE_P(Options, EnumSettingTest, testing::ValuesIn(SettingsBelow("options")), NameOf);

// Interconnects are messages, not enum values.
TEST(InterconnectTest, EveryKindIsPlannedOrRefusedWithItsPath) {
  const Descriptor& type = *v1::Interconnect::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    v1::CreatePlanRequest request = SmallRequest();
    v1::Interconnect& interconnect = *request.mutable_cluster()->mutable_interconnect();
    interconnect.Clear();
    planwright::v1::Interconnect::GetReflection()->MutableMessage(&interconnect, type.field(i));
    PlanningEngine engine(EngineConfig{});
    const auto response = engine.CreatePlan(request, CallContext{});
    if (response.ok()) continue;
    EXPECT_EQ(response.status().code(), absl::StatusCode::kInvalidArgument) << response.status();
    for (const Violation& violation : ViolationsOf(response.status())) {
      EXPECT_THAT(violation.path, testing::StartsWith("cluster.interconnect")) << violation.rule;
    }
  }
}

}  // namespace
}  // namespace planwright::server
