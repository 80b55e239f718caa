// CheckStatedNumbers. Single numbers are compared by reflection, so that one added to the contract is checked as well;
// lists by what their elements speak of.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/units.h"
#include "core/model/plan.h"
#include "server/codec/plan.h"
#include "server/codec/scalars.h"

namespace planwright::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr double kTolerance = 1e-9;

// Places in lists, which are checked against these.
bool IsPosition(const FieldDescriptor& field) { return field.name() == "index" || field.name() == "copy"; }

bool IsNumber(const FieldDescriptor& field) {
  const auto type = field.cpp_type();
  return type == FieldDescriptor::CPPTYPE_DOUBLE || type == FieldDescriptor::CPPTYPE_INT64 ||
         type == FieldDescriptor::CPPTYPE_INT32;
}

bool SameTime(double stated_ms, double fresh_ms) { return FromMilliseconds(stated_ms) == FromMilliseconds(fresh_ms); }

bool SameDouble(const FieldDescriptor& field, double stated, double fresh) {
  if (absl::EndsWith(field.name(), "_ms")) return SameTime(stated, fresh);
  return std::abs(stated - fresh) <= kTolerance * std::abs(fresh);
}

template <typename Value>
std::string IntegerDifference(Value stated, Value fresh) {
  return stated == fresh ? "" : absl::StrCat("must be ", fresh, ", is ", stated);
}

std::string DoubleText(double stated, double fresh) { return absl::StrFormat("must be %.9f, is %.9f", fresh, stated); }

std::string BoolText(bool value) { return value ? "true" : "false"; }

std::string BoolDifference(bool stated, bool fresh) {
  return stated == fresh ? "" : absl::StrCat("must be ", BoolText(fresh), ", is ", BoolText(stated));
}

// How the values of a number or a truth value differ; empty: they do not.
std::string Difference(const FieldDescriptor& field, const Message& stated, const Message& fresh) {
  const auto& reflection = *stated.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double a = reflection.GetDouble(stated, &field);
      const double b = reflection.GetDouble(fresh, &field);
      return SameDouble(field, a, b) ? "" : DoubleText(a, b);
    }
    case FieldDescriptor::CPPTYPE_INT64:
      return IntegerDifference(reflection.GetInt64(stated, &field), reflection.GetInt64(fresh, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return IntegerDifference(reflection.GetInt32(stated, &field), reflection.GetInt32(fresh, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return BoolDifference(reflection.GetBool(stated, &field), reflection.GetBool(fresh, &field));
    default:
      return "";
  }
}

// Whether any single number of the message is set. 0 is not told from unset.
bool StatesNumbers(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return std::any_of(fields.begin(), fields.end(), [](const FieldDescriptor* field) {
    return !field->is_repeated() && !IsPosition(*field) && IsNumber(*field);
  });
}

// Compares the single numbers that `stated` sets and, where it sets any, its truth values. Both are messages of one
// type.
void CompareNumbers(const Message& stated, const Message& fresh, const FieldPath& path, Violations& violations) {
  if (!StatesNumbers(stated)) return;
  for (int i = 0; i < stated.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *stated.GetDescriptor()->field(i);
    if (field.is_repeated() || IsPosition(field)) continue;
    const bool is_truth = field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
    if (!is_truth && !stated.GetReflection()->HasField(stated, &field)) continue;
    const std::string difference = Difference(field, stated, fresh);
    if (!difference.empty()) violations.Add(path.Field(field.name()).ToString(), difference);
  }
}

using Pair = std::pair<std::string, std::string>;

// Checks one plan against the same placement costed anew.
class StatedCheck {
 public:
  StatedCheck(const v1::Plan& stated, const v1::Plan& fresh, Violations& violations)
      : stated_(stated), fresh_(fresh), violations_(violations) {
    absl::flat_hash_map<std::string, int> stage_of_operator;
    for (int i = 0; i < fresh.stages_size(); ++i) {
      for (const std::string& op : fresh.stages(i).operators()) stage_of_operator.emplace(op, i);
    }
    for (const v1::Stage& stage : stated.stages()) fresh_stages_.push_back(StageWith(stage, stage_of_operator));
  }

  void Run() {
    if (stated_.objective_ms() != 0)
      CompareTime(path_.Field("objective_ms"), stated_.objective_ms(), fresh_.objective_ms());
    CheckBounds();
    CheckGap();
    CheckProof();
    CheckStages();
    if (stated_.has_joint()) CheckJoint();
    CheckDevices();
    CheckLinks();
    CheckSchedule();
    CheckEstimate();
    CheckBaselines();
    CheckSlack();
  }

 private:
  // The fresh stage that holds operators of `stage`; nullopt: nobody knows them.
  static std::optional<int> StageWith(const v1::Stage& stage, const absl::flat_hash_map<std::string, int>& stages) {
    for (const std::string& op : stage.operators()) {
      const auto found = stages.find(op);
      if (found != stages.end()) return found->second;
    }
    return std::nullopt;
  }

  // The fresh stage for a stage of the stated plan, by its place there; nullopt: there is none.
  std::optional<int> FreshStage(int stated) const {
    const bool is_known = stated >= 0 && stated < stated_.stages_size();
    return is_known ? fresh_stages_[static_cast<std::size_t>(stated)] : std::nullopt;
  }

  void Add(const FieldPath& path, const std::string& rule) { violations_.Add(path.ToString(), rule); }

  void CompareTime(const FieldPath& path, double stated_ms, double fresh_ms) {
    if (!SameTime(stated_ms, fresh_ms)) Add(path, DoubleText(stated_ms, fresh_ms));
  }

  // Where `stated` says anything.
  void CompareText(const FieldPath& path, const std::string& stated, const std::string& fresh) {
    if (stated.empty() || stated == fresh) return;
    Add(path, absl::StrCat("must be \"", fresh, "\", is \"", stated, "\""));
  }

  bool IsAboveObjective(double bound_ms) const {
    const auto bound = FromMilliseconds(bound_ms);
    return !bound.has_value() || bound > FromMilliseconds(fresh_.objective_ms());
  }

  // MIN_DEVICES proves the number of devices, not a time.
  bool SpeaksOfTime() const { return fresh_.problem().objective() != v1::OBJECTIVE_MIN_DEVICES; }

  // Who states no search states no proof, and no gap, of its own.
  bool IsAnswer() const { return !stated_.provenance().algorithm().empty(); }

  // The scope of the bounds whose largest is the lower bound.
  v1::Bound::Scope ScopeOfProblem() const {
    return HasStep() ? v1::Bound::SCOPE_ALIGNED_PLACES : v1::Bound::SCOPE_PROBLEM;
  }

  // A plan of the joint search; where replicas take micro-batches in turn, no step of it is simulated.
  bool HasStep() const { return fresh_.has_joint() && fresh_.joint().simulated_step_ms() > 0; }

  void CheckBounds() {
    const auto must_not_exceed = [this](const FieldPath& path, double bound_ms) {
      if (!IsAboveObjective(bound_ms)) return;
      Add(path, absl::StrFormat("must be at most the objective %.9f, is %.9f", fresh_.objective_ms(), bound_ms));
    };
    const FieldPath path = path_.Field("lower_bound_ms");
    must_not_exceed(path, stated_.lower_bound_ms());
    double best_ms = 0;
    for (int i = 0; i < stated_.bounds_size(); ++i) {
      if (stated_.bounds(i).scope() != ScopeOfProblem()) continue;
      must_not_exceed(path_.Element("bounds", i).Field("value_ms"), stated_.bounds(i).value_ms());
      best_ms = std::max(best_ms, stated_.bounds(i).value_ms());
    }
    if (stated_.bounds().empty() || SameTime(stated_.lower_bound_ms(), best_ms)) return;
    Add(path, absl::StrFormat("must be the largest of the bounds for the problem, %.9f, is %.9f", best_ms,
                              stated_.lower_bound_ms()));
  }

  void CheckGap() {
    if (stated_.relative_gap() == 0 && (stated_.lower_bound_ms() == 0 || !IsAnswer())) return;
    const auto objective = FromMilliseconds(fresh_.objective_ms());
    const auto bound = FromMilliseconds(stated_.lower_bound_ms());
    if (!objective.has_value() || !bound.has_value()) return;
    const double gap = RelativeGap(*objective, *bound);
    if (std::abs(stated_.relative_gap() - gap) <= kTolerance) return;
    Add(path_.Field("relative_gap"), DoubleText(stated_.relative_gap(), gap));
  }

  // Whether the bounds that the plan states prove it.
  bool IsProven() const {
    if (HasStep()) {
      return SameTime(stated_.joint().simulated_bound_ms(), fresh_.joint().simulated_step_ms());
    }
    if (SpeaksOfTime()) return SameTime(stated_.lower_bound_ms(), fresh_.objective_ms());
    return std::any_of(stated_.bounds().begin(), stated_.bounds().end(), [this](const v1::Bound& bound) {
      return bound.scope() == v1::Bound::SCOPE_FEWER_DEVICES && bound.value_ms() > fresh_.problem().target_period_ms();
    });
  }

  void CheckProof() {
    const v1::Provenance& provenance = stated_.provenance();
    const bool is_proven = IsProven();
    const FieldPath path = path_.Field("provenance");
    const bool is_wrong = provenance.proven_optimal() ? !is_proven : is_proven && IsAnswer();
    if (is_wrong && HasStep()) {
      Add(path.Field("proven_optimal"), "must say whether the simulated step is its bound");
    } else if (is_wrong) {
      Add(path.Field("proven_optimal"),
          SpeaksOfTime()
              ? absl::StrFormat("must be %s: the lower bound %.9f is %sthe objective %.9f", BoolText(is_proven),
                                stated_.lower_bound_ms(), is_proven ? "" : "not ", fresh_.objective_ms())
              : absl::StrFormat("must be %s: the bound for fewer devices is %sabove the target", BoolText(is_proven),
                                is_proven ? "" : "not "));
    }
    if (provenance.stop_reason() == v1::STOP_REASON_OPTIMAL && !is_proven) {
      Add(path.Field("stop_reason"), "must not be OPTIMAL: that is not proven");
    }
  }

  void CheckStages() {
    const bool has_indices = std::any_of(stated_.stages().begin(), stated_.stages().end(),
                                         [](const v1::Stage& stage) { return stage.index() != 0; });
    for (int i = 0; i < stated_.stages_size(); ++i) {
      const v1::Stage& stage = stated_.stages(i);
      const FieldPath path = path_.Element("stages", i);
      if (has_indices && stage.index() != i) Add(path.Field("index"), IntegerDifference(stage.index(), i));
      const std::optional<int> fresh = FreshStage(i);
      if (!fresh.has_value()) continue;
      CompareNumbers(stage, fresh_.stages(*fresh), path, violations_);
      if (stage.has_joint()) {
        const FieldPath joint_path = path.Field("joint");
        CompareNumbers(stage.joint(), fresh_.stages(*fresh).joint(), joint_path, violations_);
        CompareNumbers(stage.joint().memory(), fresh_.stages(*fresh).joint().memory(), joint_path.Field("memory"),
                       violations_);
      }
      CheckReplicas(stage, fresh_.stages(*fresh), path);
    }
  }

  // What no plan beats is searched for; that it obeys the step can be said.
  void CheckJoint() {
    const FieldPath path = path_.Field("joint");
    v1::JointPlan fresh = fresh_.joint();
    fresh.set_simulated_bound_ms(stated_.joint().simulated_bound_ms());
    CompareNumbers(stated_.joint(), fresh, path, violations_);
    const auto bound = FromMilliseconds(stated_.joint().simulated_bound_ms());
    if (bound.has_value() && bound <= FromMilliseconds(fresh.simulated_step_ms())) return;
    Add(path.Field("simulated_bound_ms"), absl::StrFormat("must be at most the simulated step %.9f, is %.9f",
                                                          fresh.simulated_step_ms(), fresh.simulated_bound_ms()));
  }

  void CheckReplicas(const v1::Stage& stated, const v1::Stage& fresh, const FieldPath& path) {
    const bool has_copies = std::any_of(stated.replicas().begin(), stated.replicas().end(),
                                        [](const v1::Replica& replica) { return replica.copy() != 0; });
    for (int i = 0; i < stated.replicas_size() && i < fresh.replicas_size(); ++i) {
      const FieldPath replica_path = path.Element("replicas", i);
      const v1::Replica& replica = stated.replicas(i);
      if (has_copies && replica.copy() != i) Add(replica_path.Field("copy"), IntegerDifference(replica.copy(), i));
      CompareNumbers(replica, fresh.replicas(i), replica_path, violations_);
    }
  }

  void CheckDevices() {
    absl::flat_hash_map<std::string, const v1::DeviceUsage*> usage_of;
    for (const v1::DeviceUsage& usage : fresh_.devices()) usage_of.emplace(usage.device(), &usage);
    absl::flat_hash_set<std::string> listed;
    for (int i = 0; i < stated_.devices_size(); ++i) {
      const v1::DeviceUsage& usage = stated_.devices(i);
      const FieldPath path = path_.Element("devices", i);
      const auto found = usage_of.find(usage.device());
      if (found == usage_of.end()) {
        Add(path.Field("device"), absl::StrCat("must name a device of the cluster, is \"", usage.device(), "\""));
        continue;
      }
      if (!listed.insert(usage.device()).second) {
        Add(path.Field("device"), absl::StrCat("\"", usage.device(), "\" must be listed once"));
      }
      CompareNumbers(usage, *found->second, path, violations_);
      CheckStagesOfDevice(usage, *found->second, path);
    }
    for (const v1::DeviceUsage& usage : fresh_.devices()) {
      if (listed.empty() || usage.stages().empty() || listed.contains(usage.device())) continue;
      Add(path_.Field("devices"), absl::StrCat("must list \"", usage.device(), "\", which holds a stage"));
    }
  }

  void CheckStagesOfDevice(const v1::DeviceUsage& stated, const v1::DeviceUsage& fresh, const FieldPath& path) {
    if (stated.stages().empty() && !StatesNumbers(stated)) return;
    std::vector<int> stages;
    for (const int stage : stated.stages()) stages.push_back(FreshStage(stage).value_or(-1));
    if (std::equal(stages.begin(), stages.end(), fresh.stages().begin(), fresh.stages().end())) return;
    Add(path.Field("stages"), absl::StrCat("must be those that it holds, [", absl::StrJoin(fresh.stages(), ", "),
                                           "], is [", absl::StrJoin(stated.stages(), ", "), "]"));
  }

  void CheckLinks() {
    const bool is_directed = HasDirectedLinks(fresh_.problem());
    const auto ends = [&](const v1::LinkUsage& link) {
      Pair pair(link.device_a(), link.device_b());
      if (!is_directed && pair.second < pair.first) std::swap(pair.first, pair.second);
      return pair;
    };
    absl::flat_hash_map<Pair, const v1::LinkUsage*> usage_of;
    for (const v1::LinkUsage& link : fresh_.links()) usage_of.emplace(ends(link), &link);
    absl::flat_hash_set<Pair> listed;
    for (int i = 0; i < stated_.links_size(); ++i) {
      const v1::LinkUsage& link = stated_.links(i);
      const FieldPath path = path_.Element("links", i);
      const auto found = usage_of.find(ends(link));
      if (found == usage_of.end() || !listed.insert(ends(link)).second) {
        Add(path, absl::StrCat("must be a link with traffic, listed once, is \"", link.device_a(), "\" - \"",
                               link.device_b(), "\""));
      } else {
        CompareNumbers(link, *found->second, path, violations_);
      }
    }
    if (!listed.empty() && listed.size() < usage_of.size()) {
      Add(path_.Field("links"), absl::StrCat("must be ", usage_of.size(), ", are ", listed.size()));
    }
  }

  void CheckSchedule() {
    const v1::Schedule& stated = stated_.schedule();
    const v1::Schedule& fresh = fresh_.schedule();
    const FieldPath path = path_.Field("schedule");
    if (stated.kind() != v1::SCHEDULE_KIND_UNSPECIFIED && stated.kind() != fresh.kind()) {
      Add(path.Field("kind"),
          absl::StrCat("must be ", v1::ScheduleKind_Name(fresh.kind()), ", is ", v1::ScheduleKind_Name(stated.kind())));
    }
    CompareNumbers(stated, fresh, path, violations_);
    CheckTasks(path);
  }

  void CheckTasks(const FieldPath& path) {
    const auto& stated = stated_.schedule().tasks();
    const auto& fresh = fresh_.schedule().tasks();
    absl::flat_hash_map<std::pair<std::string, int>, const v1::Schedule::Task*> task_of;
    for (const v1::Schedule::Task& task : fresh) task_of.emplace(std::pair(task.operation(), task.stage()), &task);
    for (int i = 0; i < stated.size(); ++i) {
      const FieldPath task_path = path.Element("tasks", i);
      const auto found = task_of.find(std::pair(stated[i].operation(), FreshStage(stated[i].stage()).value_or(-1)));
      if (found == task_of.end()) {
        Add(task_path, absl::StrCat("must be a task of the plan, is \"", stated[i].operation(), "\" of stage ",
                                    stated[i].stage()));
        continue;
      }
      const v1::Schedule::Task& task = *found->second;
      CompareText(task_path.Field("resource"), stated[i].resource(), task.resource());
      CompareText(task_path.Field("pass"), stated[i].pass(), task.pass());
      CompareTime(task_path.Field("start_ms"), stated[i].start_ms(), task.start_ms());
      const std::string shift = IntegerDifference(stated[i].index_shift(), task.index_shift());
      if (!shift.empty()) Add(task_path.Field("index_shift"), shift);
    }
    if (stated.empty() || stated.size() == fresh.size()) return;
    Add(path.Field("tasks"), absl::StrCat("must be ", fresh.size(), ", are ", stated.size()));
  }

  void CheckEstimate() {
    const FieldPath path = path_.Field("estimate");
    CompareNumbers(stated_.estimate(), fresh_.estimate(), path, violations_);
    absl::flat_hash_map<std::string, const v1::UncountedMemory*> memory_of;
    for (const v1::UncountedMemory& memory : fresh_.estimate().uncounted_memory()) {
      memory_of.emplace(memory.what(), &memory);
    }
    for (int i = 0; i < stated_.estimate().uncounted_memory_size(); ++i) {
      const v1::UncountedMemory& memory = stated_.estimate().uncounted_memory(i);
      const FieldPath memory_path = path.Element("uncounted_memory", i);
      const auto found = memory_of.find(memory.what());
      if (found != memory_of.end()) {
        CompareNumbers(memory, *found->second, memory_path, violations_);
      } else {
        Add(memory_path.Field("what"), absl::StrCat("must be what is not counted, is \"", memory.what(), "\""));
      }
    }
  }

  // What they reach is searched for; what can be said without a search is that they obey the bound.
  void CheckBaselines() {
    for (int i = 0; i < stated_.baselines_size(); ++i) {
      const v1::Baseline& baseline = stated_.baselines(i);
      const auto objective = FromMilliseconds(baseline.objective_ms());
      const bool obeys = !baseline.admissible() || !baseline.has_objective_ms() ||
                         (objective.has_value() && objective >= FromMilliseconds(stated_.lower_bound_ms()));
      if (obeys) continue;
      Add(path_.Element("baselines", i).Field("objective_ms"),
          absl::StrFormat("must be at least the lower bound %.9f, is %.9f", stated_.lower_bound_ms(),
                          baseline.objective_ms()));
    }
  }

  // How much the busiest device exceeds those that share no stage with it.
  void CheckSlack() {
    if (!stated_.has_explanation() || fresh_.devices().empty()) return;
    const auto less = [](const v1::DeviceUsage& a, const v1::DeviceUsage& b) { return a.load_ms() < b.load_ms(); };
    const v1::DeviceUsage& busiest = *std::max_element(fresh_.devices().begin(), fresh_.devices().end(), less);
    double next_ms = 0;
    for (const v1::DeviceUsage& usage : fresh_.devices()) {
      const bool shares = std::find_first_of(usage.stages().begin(), usage.stages().end(), busiest.stages().begin(),
                                             busiest.stages().end()) != usage.stages().end();
      if (!shares) next_ms = std::max(next_ms, usage.load_ms());
    }
    CompareTime(path_.Field("explanation").Field("slack_ms"), stated_.explanation().slack_ms(),
                busiest.load_ms() - next_ms);
  }

  const v1::Plan& stated_;
  const v1::Plan& fresh_;
  Violations& violations_;
  const FieldPath path_{"plan"};
  // By place in stated_.stages.
  std::vector<std::optional<int>> fresh_stages_;
};

}  // namespace

void CheckStatedNumbers(const v1::Plan& stated, const v1::Plan& fresh, Violations& violations) {
  StatedCheck(stated, fresh, violations).Run();
}

}  // namespace planwright::server
