// What a job takes of a pool: one host for each pod, with its accelerators.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_DEVICES_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_DEVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/webhook/review/job.h"
#include "client/webhook/review/pools.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::webhook {

struct Demand {
  // The sets with accelerators, in the order of the job.
  std::vector<const PodSet*> sets;
  // How many every pod asks for.
  int64_t devices_per_pod = 0;
  int64_t pods = 0;

  int64_t devices() const { return pods * devices_per_pod; }
};

// `job` outlives the answer. INVALID_ARGUMENT: no pod asks for the resource, templates ask for different numbers of it,
// or there are more than 16,384 in all; the message says which.
absl::StatusOr<Demand> DemandOf(const JobShape& job, const std::string& resource);

// Pods that find room in `nodes` nodes of the pool.
int64_t PodsOfNodes(const Demand& demand, const Pool& pool, int64_t nodes);

// How many pods stand together on each level, packed as well as their number allows: always the same number in every
// unit, so that it divides that of the level outside. The last one is demand.pods.
std::vector<int64_t> PodsTogether(const Demand& demand, const Pool& pool);

// The devices of the job as a cluster: device `rank{i}` in host `pod{i / devices_per_pod}`. Pods of one node reach each
// other as those of neighbouring nodes do. REQUIRES: demand.devices_per_pod <= pool.devices_per_node.
v1::Cluster ClusterFor(const Demand& demand, const Pool& pool);

// How devices of ClusterFor are named.
inline constexpr char kDevicePrefix[] = "rank";

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_DEVICES_H_
