// Proofs that no plan exists, found without a search.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_FEASIBILITY_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_FEASIBILITY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/infeasibility.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// Every shortage that an elementary argument proves: a block that no device class can run, a block larger than every
// device that can run it, blocks larger than all devices together; the first ones are listed. nullopt: none (a plan may
// still not exist). O(blocks x pools).
std::optional<Infeasibility> FindShortages(const OperatorGraph& graph, const Cluster& cluster,
                                           const BlockInstance& instance);

// What is known of the memory where a search found nothing that fits, as a clause: "the model needs at least 7.90 GiB
// of 8.00 GiB on all devices; the tightest is operator "embed" with 1.20 GiB, of 2.00 GiB on device "gpu0"". Empty
// where a device is unlimited. REQUIRES: at least one pool.
std::string MemoryDemandText(const OperatorGraph& graph, const Cluster& cluster, const BlockInstance& instance);

// The shortage to report when a complete search found that no contiguous split fits.
Infeasibility NoSplitFits(const OperatorGraph& graph, const BlockInstance& instance);

// Operators whose costs are for device classes that the cluster does not have: mostly a name that is spelled otherwise.
// There may be as many as the graph has operators, and what helps is the same for all of a class.
//
// The classes that the cluster has devices of: `"v100", "xeon"`. O(devices x classes).
std::string QuotedClassNames(const Cluster& cluster);

// `operator "a"`, or `operator "a" and the 2 operators that must share its device`. REQUIRES: at least one.
std::string QuotedTogether(const OperatorGraph& graph, const std::vector<OperatorId>& operators);

// Refers to graph and cluster.
class MissingDeviceClasses {
 public:
  MissingDeviceClasses(const OperatorGraph& graph, const Cluster& cluster) : graph_(graph), cluster_(cluster) {}

  // Counts the operators, which must share a device and which no device can run; false: not for the classes of their
  // costs.
  bool Explain(const std::vector<OperatorId>& operators);

  // One for each class that the cluster lacks, by name.
  std::vector<Shortage> Shortages() const;

 private:
  bool HasClass(std::string_view name) const;

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  // By the class that they name: how many operators, and the first.
  struct Users {
    int64_t count = 0;
    OperatorId first;
  };
  std::map<std::string, Users> users_of_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_FEASIBILITY_H_
