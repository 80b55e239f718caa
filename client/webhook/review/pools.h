// Pools of nodes with accelerators, as the pools file describes them.
//
//   updated: 2026-11-23T09:00:00Z
//   classes: {}                             # as in a cluster in YAML
//   pools:
//     - name: h100
//       resource: nvidia.com/gpu
//       class: h100
//       reserved_memory: 2 GiB              # of each accelerator
//       nodes: 16
//       max_nodes: 32                       # if the pool can grow
//       devices: 8                          # accelerators of a node
//       inside: {bandwidth: 370 GB/s, latency: 5 us}
//       levels:                             # of the network, innermost first
//         - {label: example.com/rack, nodes: 4, bandwidth: 400 Gb/s, latency: 10 us}
//         - {bandwidth: 200 Gb/s, latency: 15 us}
//       queues: [team-a/gpu]
//       node_selector: {example.com/pool: h100}
//       cluster: clusters/DIGEST            # the whole pool, for people; not read
//
// Numbers and names only, so that the inventory can write it into a ConfigMap.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_POOLS_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_POOLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::webhook {

struct PoolLink {
  double bytes_per_second = 0;
  double latency_ms = 0;
};

// One level of the network: units of so many nodes, which reach each other over the link.
struct PoolLevel {
  // The node label whose value names the unit; empty: Kueue does not know the level.
  std::string label;
  // How many one unit has; 0: all of the pool.
  int64_t nodes = 0;
  PoolLink link;
};

struct Pool {
  std::string name;
  // What pods ask for to get the accelerators: "nvidia.com/gpu".
  std::string resource;
  v1::DeviceClass device_class;
  int64_t reserved_memory_bytes = 0;
  // Nodes that are there, also while they are cordoned or not ready.
  int64_t nodes = 0;
  // The nodes that the pool can grow to; at least `nodes`.
  int64_t max_nodes = 0;
  int64_t devices_per_node = 0;
  PoolLink inside;
  // Innermost first, with ever more nodes; at least one, of which the last spans the pool.
  std::vector<PoolLevel> levels;
  // "NAMESPACE/NAME" of local queues.
  std::vector<std::string> queues;
  // Empty: jobs do not select it by labels.
  std::map<std::string, std::string> node_selector;
};

struct Pools {
  // When the numbers were counted; nullopt: written by hand, which does not go stale.
  std::optional<absl::Time> updated;
  std::vector<Pool> pools;

  bool IsStale(absl::Time now, absl::Duration max_age) const { return updated.has_value() && now - *updated > max_age; }
};

// INVALID_ARGUMENT, with everything that is wrong with `text` and its line; `source` names it.
absl::StatusOr<Pools> ParsePools(std::string_view text, std::string_view source);

// The pools that a job of the namespace may run on: the one that it names; else those that list its Kueue queue
// (empty: it has none); else those whose node selector equals its own. Empty: none.
std::vector<const Pool*> CandidatePools(const Pools& pools, std::string_view wished, std::string_view name_space,
                                        std::string_view queue,
                                        const std::map<std::string, std::string>& node_selector);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_POOLS_H_
