#include "client/webhook/review/job.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace planwright::webhook {
namespace {

// More pods than any cluster runs; products of two of them are still numbers.
constexpr int64_t kMaxCount = int64_t{1} << 30;

struct NamedKind {
  std::string_view group;
  std::string_view kind;
  JobKind meant;
};
constexpr std::array<NamedKind, 4> kKinds = {{{"batch", "Job", JobKind::kJob},
                                              {"jobset.x-k8s.io", "JobSet", JobKind::kJobSet},
                                              {"kubeflow.org", "PyTorchJob", JobKind::kPyTorchJob},
                                              {"trainer.kubeflow.org", "TrainJob", JobKind::kTrainJob}}};

// The number at `keys`, or `fallback` where there is nothing.
absl::StatusOr<int64_t> CountAt(const Json& value, Keys keys, int64_t fallback) {
  if (Find(value, keys) == nullptr) return fallback;
  const std::optional<int64_t> count = WholeNumberAt(value, keys);
  if (count.has_value() && *count >= 0 && *count <= kMaxCount) return *count;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(*(keys.end() - 1)), " must be a whole number from 0 to ", kMaxCount));
}

// Limits and, where there are none, requests; Kubernetes takes both as texts or numbers.
std::map<std::string, std::string> ResourcesOf(const Json& resources) {
  std::map<std::string, std::string> quantities;
  for (const char* part : {"limits", "requests"}) {
    const Json* found = Find(resources, {part});
    if (found == nullptr || !found->is_object()) continue;
    for (const auto& [name, quantity] : found->items()) {
      quantities.emplace(name, quantity.is_string() ? quantity.get<std::string>() : quantity.dump());
    }
  }
  return quantities;
}

void ReadPodTemplate(const Json& holder, const Place& place, PodSet& set) {
  set.pod_template = place / "template";
  set.node_selector = TextsAt(holder, {"template", "spec", "nodeSelector"});
  const Json* containers = Find(holder, {"template", "spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return;
  for (std::size_t i = 0; i < containers->size(); ++i) {
    const Json* resources = Find((*containers)[i], {"resources"});
    set.askers.push_back({*set.pod_template / "spec" / "containers" / i,
                          resources == nullptr ? std::map<std::string, std::string>() : ResourcesOf(*resources)});
  }
}

// Reads the JobSpec at `place`. `indexed_by_default`: what an unset completionMode means.
absl::Status ReadJobSpec(const Json& spec, const Place& place, bool indexed_by_default, PodSet& set) {
  const auto parallelism = CountAt(spec, {"parallelism"}, 1);
  if (!parallelism.ok()) return parallelism.status();
  const auto completions = CountAt(spec, {"completions"}, *parallelism);
  if (!completions.ok()) return completions.status();
  const std::string mode = TextAt(spec, {"completionMode"});
  set.pods = set.replicas * std::min(*parallelism, *completions);
  // Indexes beyond those that run at once come later.
  set.is_indexed = (mode.empty() ? indexed_by_default : mode == "Indexed") && *completions <= *parallelism;
  ReadPodTemplate(spec, place, set);
  return absl::OkStatus();
}

absl::Status ReadPlainJob(const Json& object, JobShape& job) {
  const Json* spec = Find(object, {"spec"});
  if (spec == nullptr) return absl::InvalidArgumentError("it has no spec");
  PodSet set;
  const absl::Status read = ReadJobSpec(*spec, Place("/spec"), /*indexed_by_default=*/false, set);
  if (read.ok()) job.sets.push_back(std::move(set));
  return read;
}

absl::Status ReadJobSet(const Json& object, JobShape& job) {
  const Json* jobs = Find(object, {"spec", "replicatedJobs"});
  if (jobs == nullptr || !jobs->is_array()) return absl::InvalidArgumentError("it has no replicatedJobs");
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    const Json& replicated = (*jobs)[i];
    PodSet set;
    set.name = TextAt(replicated, {"name"});
    const auto replicas = CountAt(replicated, {"replicas"}, 1);
    if (!replicas.ok()) return replicas.status();
    set.replicas = *replicas;
    const Json* spec = Find(replicated, {"template", "spec"});
    if (spec == nullptr) return absl::InvalidArgumentError(absl::StrCat("replicatedJobs[", i, "] has no template"));
    const Place place = Place("/spec/replicatedJobs") / i / "template" / "spec";
    const absl::Status read = ReadJobSpec(*spec, place, /*indexed_by_default=*/true, set);
    if (!read.ok()) return read;
    job.sets.push_back(std::move(set));
  }
  return absl::OkStatus();
}

// Ranks are those of the operator: the master is 0, worker i is i + 1. An elastic job gives them out anew.
absl::Status ReadPyTorchJob(const Json& object, JobShape& job) {
  const bool is_elastic = Find(object, {"spec", "elasticPolicy"}) != nullptr;
  for (const char* type : {"Master", "Worker"}) {
    const Json* replica = Find(object, {"spec", "pytorchReplicaSpecs", type});
    if (replica == nullptr) continue;
    const auto count = CountAt(*replica, {"replicas"}, 1);
    if (!count.ok()) return count.status();
    PodSet set;
    set.name = type;
    set.pods = *count;
    set.is_indexed = !is_elastic;
    ReadPodTemplate(*replica, Place("/spec/pytorchReplicaSpecs") / type, set);
    job.sets.push_back(std::move(set));
  }
  if (job.sets.empty()) return absl::InvalidArgumentError("it has neither Master nor Worker");
  return absl::OkStatus();
}

// What a TrainJob leaves out stands in its runtime, which a review does not bring along.
absl::Status ReadTrainJob(const Json& object, JobShape& job) {
  const Json* trainer = Find(object, {"spec", "trainer"});
  const Json* resources = trainer == nullptr ? nullptr : Find(*trainer, {"resourcesPerNode"});
  if (resources == nullptr || Find(*trainer, {"numNodes"}) == nullptr) {
    return absl::InvalidArgumentError("a TrainJob is judged only with numNodes and resourcesPerNode of its own");
  }
  const auto nodes = CountAt(*trainer, {"numNodes"}, 1);
  if (!nodes.ok()) return nodes.status();
  PodSet set;
  set.pods = *nodes;
  set.is_indexed = true;
  set.askers.push_back({Place("/spec/trainer"), ResourcesOf(*resources)});
  job.sets.push_back(std::move(set));
  return absl::OkStatus();
}

}  // namespace

std::optional<JobKind> JobKindNamed(std::string_view group, std::string_view kind) {
  for (const NamedKind& known : kKinds) {
    if (known.group == group && known.kind == kind) return known.meant;
  }
  return std::nullopt;
}

absl::StatusOr<JobShape> ReadJob(JobKind kind, const Json& object) {
  JobShape job{.kind = kind, .sets = {}};
  const auto read = [&] {
    switch (kind) {
      case JobKind::kJobSet:
        return ReadJobSet(object, job);
      case JobKind::kPyTorchJob:
        return ReadPyTorchJob(object, job);
      case JobKind::kTrainJob:
        return ReadTrainJob(object, job);
      default:
        return ReadPlainJob(object, job);
    }
  };
  const absl::Status status = read();
  if (!status.ok()) return status;
  return job;
}

absl::StatusOr<int64_t> AcceleratorsOf(const PodSet& set, const std::string& resource) {
  int64_t sum = 0;
  for (const Asker* asker : AskersFor(set, resource)) {
    int64_t count = 0;
    if (!absl::SimpleAtoi(asker->resources.at(resource), &count) || count < 0 || count > kMaxCount) {
      return absl::InvalidArgumentError(
          absl::StrCat(resource, " must be a whole number, is \"", asker->resources.at(resource), "\""));
    }
    sum += count;
  }
  return sum;
}

std::vector<const Asker*> AskersFor(const PodSet& set, const std::string& resource) {
  std::vector<const Asker*> askers;
  for (const Asker& asker : set.askers) {
    const auto found = asker.resources.find(resource);
    if (found != asker.resources.end() && found->second != "0") askers.push_back(&asker);
  }
  return askers;
}

}  // namespace planwright::webhook
