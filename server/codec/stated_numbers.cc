// CheckStatedNumbers: walks the two messages by reflection, so that a number added to the contract is checked as well.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/codec/plan.h"
#include "server/codec/scalars.h"

namespace planwright::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Positions, not numbers that follow from the placement.
bool IsPosition(const FieldDescriptor& field) { return field.name() == "index" || field.name() == "copy"; }

bool SameDouble(const FieldDescriptor& field, double stated, double fresh) {
  if (absl::EndsWith(field.name(), "_ms")) return FromMilliseconds(stated) == FromMilliseconds(fresh);
  return std::abs(stated - fresh) <= 1e-9 * std::abs(fresh);
}

// The value of a numeric field as text; empty: equal.
std::string Difference(const FieldDescriptor& field, const Message& stated, const Message& fresh) {
  const auto& reflection = *stated.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double a = reflection.GetDouble(stated, &field);
      const double b = reflection.GetDouble(fresh, &field);
      return SameDouble(field, a, b) ? "" : absl::StrFormat("must be %.9f, is %.9f", b, a);
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t a = reflection.GetInt64(stated, &field);
      const int64_t b = reflection.GetInt64(fresh, &field);
      return a == b ? "" : absl::StrCat("must be ", b, ", is ", a);
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      const int32_t a = reflection.GetInt32(stated, &field);
      const int32_t b = reflection.GetInt32(fresh, &field);
      return a == b ? "" : absl::StrCat("must be ", b, ", is ", a);
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(stated, &field) == reflection.GetBool(fresh, &field) ? "" : "must be false, is true";
    default:
      return "";
  }
}

// Compares the singular numbers that `stated` sets. Both are messages of one type.
void CompareNumbers(const Message& stated, const Message& fresh, const FieldPath& path, Violations& violations) {
  std::vector<const FieldDescriptor*> fields;
  stated.GetReflection()->ListFields(stated, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated() || IsPosition(*field)) continue;
    const std::string difference = Difference(*field, stated, fresh);
    if (!difference.empty()) violations.Add(path.Field(field->name()).ToString(), difference);
  }
}

// Where `stated` says anything.
void CompareText(const std::string& stated, const std::string& fresh, const FieldPath& path, Violations& violations) {
  if (stated.empty() || stated == fresh) return;
  violations.Add(path.ToString(), absl::StrCat("must be \"", fresh, "\", is \"", stated, "\""));
}

void CompareReplicas(const v1::Stage& stated, const v1::Stage& fresh, const FieldPath& path, Violations& violations) {
  for (int i = 0; i < stated.replicas_size() && i < fresh.replicas_size(); ++i) {
    CompareNumbers(stated.replicas(i), fresh.replicas(i), path.Element("replicas", i), violations);
  }
}

void CompareStages(const v1::Plan& stated, const v1::Plan& fresh, const FieldPath& path, Violations& violations) {
  absl::flat_hash_map<std::string, const v1::Stage*> stage_of_operator;
  for (const v1::Stage& stage : fresh.stages()) {
    for (const std::string& op : stage.operators()) stage_of_operator.emplace(op, &stage);
  }
  for (int i = 0; i < stated.stages_size(); ++i) {
    for (const std::string& op : stated.stages(i).operators()) {
      const auto found = stage_of_operator.find(op);
      if (found == stage_of_operator.end()) continue;
      const FieldPath stage_path = path.Element("stages", i);
      CompareNumbers(stated.stages(i), *found->second, stage_path, violations);
      CompareReplicas(stated.stages(i), *found->second, stage_path, violations);
      break;
    }
  }
}

void CompareDevices(const v1::Plan& stated, const v1::Plan& fresh, const FieldPath& path, Violations& violations) {
  absl::flat_hash_map<std::string, const v1::DeviceUsage*> usage_of_device;
  for (const v1::DeviceUsage& usage : fresh.devices()) usage_of_device.emplace(usage.device(), &usage);
  for (int i = 0; i < stated.devices_size(); ++i) {
    const FieldPath usage_path = path.Element("devices", i);
    const auto found = usage_of_device.find(stated.devices(i).device());
    if (found != usage_of_device.end()) {
      CompareNumbers(stated.devices(i), *found->second, usage_path, violations);
    } else {
      violations.Add(usage_path.Field("device").ToString(),
                     absl::StrCat("must name a device of the cluster, is \"", stated.devices(i).device(), "\""));
    }
  }
}

// The numbers of a pattern are what is judged; its resources follow from the stages.
void CompareTasks(const v1::Plan& stated, const v1::Plan& fresh, const FieldPath& path, Violations& violations) {
  absl::flat_hash_map<std::pair<std::string, int>, const v1::Schedule::Task*> task_of_operation;
  for (const v1::Schedule::Task& task : fresh.schedule().tasks()) {
    task_of_operation.emplace(std::pair(task.operation(), task.stage()), &task);
  }
  for (int i = 0; i < stated.schedule().tasks_size(); ++i) {
    const v1::Schedule::Task& task = stated.schedule().tasks(i);
    const auto found = task_of_operation.find(std::pair(task.operation(), task.stage()));
    if (found == task_of_operation.end()) continue;
    const FieldPath task_path = path.Element("tasks", i);
    CompareText(task.resource(), found->second->resource(), task_path.Field("resource"), violations);
    CompareText(task.pass(), found->second->pass(), task_path.Field("pass"), violations);
  }
}

void CheckBound(const v1::Plan& stated, const v1::Plan& fresh, const FieldPath& path, Violations& violations) {
  const auto bound = FromMilliseconds(stated.lower_bound_ms());
  const auto objective = FromMilliseconds(fresh.objective_ms());
  if (!bound.has_value() || bound > objective) {
    violations.Add(
        path.Field("lower_bound_ms").ToString(),
        absl::StrFormat("must be at most the objective %.9f, is %.9f", fresh.objective_ms(), stated.lower_bound_ms()));
  }
  // Of MIN_DEVICES it is the number of devices that is proven.
  const bool speaks_of_time = fresh.problem().objective() != v1::OBJECTIVE_MIN_DEVICES;
  if (stated.provenance().proven_optimal() && speaks_of_time && bound != objective) {
    violations.Add(path.Field("provenance").Field("proven_optimal").ToString(),
                   absl::StrFormat("must be false: the lower bound %.9f is not the objective %.9f",
                                   stated.lower_bound_ms(), fresh.objective_ms()));
  }
}

}  // namespace

void CheckStatedNumbers(const v1::Plan& stated, const v1::Plan& fresh, Violations& violations) {
  const FieldPath path("plan");
  // objective_ms is the only number of the plan itself that follows from the placement.
  v1::Plan objective;
  objective.set_objective_ms(stated.objective_ms());
  CompareNumbers(objective, fresh, path, violations);
  CheckBound(stated, fresh, path, violations);
  CompareStages(stated, fresh, path, violations);
  CompareDevices(stated, fresh, path, violations);
  CompareTasks(stated, fresh, path.Field("schedule"), violations);
  CompareNumbers(stated.estimate(), fresh.estimate(), path.Field("estimate"), violations);
}

}  // namespace planwright::server
