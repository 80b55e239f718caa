// Jobs of Kubernetes in what their kinds have in common: pods that run at once, and what each of them asks for.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JOB_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JOB_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/webhook/review/json_tree.h"

namespace planwright::webhook {

enum class JobKind { kJob, kJobSet, kPyTorchJob, kTrainJob };

// The kind of the object that a review speaks of, or of a controller; nullopt: none that is judged.
std::optional<JobKind> JobKindNamed(std::string_view group, std::string_view kind);

// Something that resources and variables are stated for: a container, or the trainer of a TrainJob.
struct Asker {
  Place place;
  // Quantities by resource: the limits, and requests where there is no limit.
  std::map<std::string, std::string> resources;
};

// Pods of one template.
struct PodSet {
  // The replicated job or replica type; empty where there is one template.
  std::string name;
  // Copies of the set; their pods are counted in `pods`.
  int64_t replicas = 1;
  // How many run at the same time, over all copies. >= 0.
  int64_t pods = 0;
  // Whether pod i knows its i: annotations alone do not tell processes which rank they have.
  bool is_indexed = false;
  // Where the pod template stands; a TrainJob has none.
  std::optional<Place> pod_template;
  std::vector<Asker> askers;
  std::map<std::string, std::string> node_selector;
};

struct JobShape {
  JobKind kind = JobKind::kJob;
  // In the order of the ranks: replicated jobs as listed, master before workers.
  std::vector<PodSet> sets;
};

// INVALID_ARGUMENT: what is needed to count pods is missing or no number, e.g. a TrainJob's numNodes.
absl::StatusOr<JobShape> ReadJob(JobKind kind, const Json& object);

// Accelerators of one pod; 0: it asks for none. INVALID_ARGUMENT: a quantity that is no whole number.
absl::StatusOr<int64_t> AcceleratorsOf(const PodSet& set, const std::string& resource);

// The containers of the pod that ask for some.
std::vector<const Asker*> AskersFor(const PodSet& set, const std::string& resource);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JOB_H_
