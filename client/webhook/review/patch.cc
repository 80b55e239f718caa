#include "client/webhook/review/patch.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/exporter/exporter.h"

namespace planwright::webhook {
namespace {

// Linux takes strings of up to 128 KiB into an environment.
constexpr std::size_t kMaxVariableBytes = std::size_t{64} << 10;
constexpr std::string_view kTopologyPrefix = "kueue.x-k8s.io/podset-";
constexpr char kExclusiveTopology[] = "alpha.jobset.sigs.k8s.io/exclusive-topology";
constexpr char kSliceTopology[] = "kueue.x-k8s.io/podset-slice-required-topology";
constexpr char kSliceSize[] = "kueue.x-k8s.io/podset-slice-size";

// The object at `name`, made where there is none.
Json& ObjectIn(Json& holder, const char* name) {
  Json& member = holder[name];
  if (!member.is_object()) member = Json::object();
  return member;
}

Json& AnnotationsOf(Json& holder) { return ObjectIn(ObjectIn(holder, "metadata"), "annotations"); }

absl::Status NoRanks(std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("annotated only: ", std::string(why)));
}

// Whether the pods of the demand are ranks 0, 1, ... in its order. Every kind has a rule of its own.
absl::Status CheckOrder(const JobShape& job, const Demand& demand) {
  const bool all_indexed =
      std::all_of(demand.sets.begin(), demand.sets.end(), [](const PodSet* set) { return set->is_indexed; });
  if (!all_indexed) return NoRanks("pods have no stable index (completionMode Indexed, all running at once)");
  if (job.kind == JobKind::kJobSet && (demand.sets.size() > 1 || demand.sets.front()->replicas != 1)) {
    return NoRanks("ranks of a JobSet need one template with accelerators and one replica");
  }
  if (job.kind == JobKind::kPyTorchJob) {
    const auto runs = std::count_if(job.sets.begin(), job.sets.end(), [](const PodSet& set) { return set.pods > 0; });
    const PodSet& first = *demand.sets.front();
    if (first.name != "Master" || first.pods != 1 || runs != std::ssize(demand.sets)) {
      return NoRanks("ranks of a PyTorchJob need one Master, and accelerators in all replicas");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckContainers(const Demand& demand, const std::string& resource) {
  const bool one_each = std::all_of(demand.sets.begin(), demand.sets.end(),
                                    [&](const PodSet* set) { return AskersFor(*set, resource).size() == 1; });
  return one_each ? absl::OkStatus() : NoRanks("several containers of a pod ask for accelerators");
}

// "$(NAME)" would be replaced by the kubelet.
std::string Escaped(std::string_view value) { return absl::StrReplaceAll(std::string(value), {{"$(", "$$("}}); }

// The entry of that name in the environment of `holder`; nullptr: there is none.
Json* FindVariable(Json& holder, std::string_view name) {
  const auto environment = holder.find("env");
  if (environment == holder.end() || !environment->is_array()) return nullptr;
  for (Json& entry : *environment) {
    if (TextAt(entry, {"name"}) == name) return &entry;
  }
  return nullptr;
}

bool HasTopology(const std::map<std::string, std::string>& annotations) {
  return std::any_of(annotations.begin(), annotations.end(), [](const auto& annotation) {
    return annotation.first.starts_with(kTopologyPrefix) || annotation.first == kExclusiveTopology;
  });
}

// The innermost level that Kueue knows and on which several pods stand together; -1: there is none.
int SliceLevel(const Pool& pool, const std::vector<int64_t>& together) {
  for (std::size_t level = 0; level < together.size(); ++level) {
    if (!pool.levels[level].label.empty() && together[level] > 1) return static_cast<int>(level);
  }
  return -1;
}

// The pod template that may have slices; nullptr: the job is to be left alone.
const Place* TemplateForSlices(const Demand& demand, const Json& object) {
  const PodSet& set = *demand.sets.front();
  if (demand.sets.size() != 1 || set.replicas != 1 || !set.pod_template.has_value()) return nullptr;
  if (TextAt(object, {"metadata", "labels", kQueueLabel}).empty()) return nullptr;
  const bool has_topology = HasTopology(TextsAt(object, {"metadata", "annotations"})) ||
                            HasTopology(TextsAt(object.at(*set.pod_template), {"metadata", "annotations"}));
  return has_topology ? nullptr : &*set.pod_template;
}

}  // namespace

void AnnotatePlan(const v1::Plan& plan, std::string_view name, Json& object) {
  Json& annotations = AnnotationsOf(object);
  const auto used = std::count_if(plan.devices().begin(), plan.devices().end(),
                                  [](const v1::DeviceUsage& device) { return device.stages_size() > 0; });
  if (!name.empty()) annotations[kPlanAnnotation] = name;
  annotations[kDevicesUsedAnnotation] = absl::StrCat(used);
  annotations[kPredictedAnnotation] = absl::StrFormat("%.3f", plan.objective_ms());
  annotations[kGapAnnotation] = absl::StrFormat("%.4f", plan.relative_gap());
}

absl::StatusOr<std::string> StageOfRank(const JobShape& job, const Demand& demand, const std::string& resource,
                                        const v1::Plan& plan) {
  for (const absl::Status& status : {CheckOrder(job, demand), CheckContainers(demand, resource)}) {
    if (!status.ok()) return status;
  }
  if (plan.devices_size() != demand.devices()) return NoRanks("the plan does not know every device");
  std::vector<std::string> stages;
  // In the order of the cluster, which is that of the ranks.
  for (const v1::DeviceUsage& device : plan.devices()) {
    if (device.stages().empty()) {
      return NoRanks(absl::StrCat("the plan leaves device ", stages.size(), " of ", demand.devices(), " idle"));
    }
    stages.push_back(absl::StrJoin(device.stages(), "+"));
  }
  std::string text = absl::StrJoin(stages, ",");
  if (text.size() > kMaxVariableBytes) return NoRanks("the list of stages is too long for a variable");
  return text;
}

bool SetVariable(const Demand& demand, const std::string& resource, std::string_view name, std::string_view value,
                 Json& object) {
  const std::string escaped = Escaped(value);
  std::vector<Json*> holders;
  for (const PodSet* set : demand.sets) {
    for (const Asker* asker : AskersFor(*set, resource)) {
      Json& holder = object.at(asker->place);
      const Json* entry = FindVariable(holder, name);
      if (entry == nullptr) {
        holders.push_back(&holder);
      } else if (TextAt(*entry, {"value"}) != escaped) {
        return false;
      }
    }
  }
  for (Json* holder : holders) {
    Json& environment = (*holder)["env"];
    if (!environment.is_array()) environment = Json::array();
    environment.push_back({{"name", name}, {"value", escaped}});
  }
  return true;
}

void AnnotateSlices(const Demand& demand, const Pool& pool, Json& object) {
  const Place* pod_template = TemplateForSlices(demand, object);
  if (pod_template == nullptr) return;
  const std::vector<int64_t> together = PodsTogether(demand, pool);
  const int level = SliceLevel(pool, together);
  if (level < 0) return;
  Json& annotations = AnnotationsOf(object.at(*pod_template));
  annotations[kSliceTopology] = pool.levels[static_cast<std::size_t>(level)].label;
  annotations[kSliceSize] = absl::StrCat(together[static_cast<std::size_t>(level)]);
}

absl::StatusOr<std::string> TrainerArguments(const std::string& trainer, const v1::Plan& plan, const v1::Graph& graph) {
  const auto exported = client::FindExportTarget(trainer)->write({.plan = plan, .graph = &graph});
  if (!exported.ok()) return exported.status();
  const std::string text(absl::StripAsciiWhitespace(exported->text));
  if (text.size() > kMaxVariableBytes) return NoRanks("the trainer's arguments are too long for a variable");
  if (trainer != "megatron") return text;
  // All of its flags, quoted for a shell; shells split a variable at its blanks and leave quotes in it.
  return absl::StrReplaceAll(text, {{"'", ""}});
}

}  // namespace planwright::webhook
