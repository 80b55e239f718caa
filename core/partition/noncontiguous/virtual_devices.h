// Cuts an assignment of operators to devices into stages that form a pipeline: the virtual devices of a non-contiguous
// split (device-placement 5.2), which its schedule runs in their order.
//
// Always possible with one operator a stage; few stages are wanted, because each is a turn of its device. First stages
// are filled greedily in topological order, always on the device that can run most next, once from the front and once
// from the back, and the cut with fewer stages is kept. Then stages of one device are merged as long as no path leads
// from one to the other through a third. Neither step is optimal.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_VIRTUAL_DEVICES_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_VIRTUAL_DEVICES_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/digraph.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// Immutable; any thread.
class VirtualDevices {
 public:
  // Beyond this the second step is left out: it takes stages^3 / 64 steps for each merge.
  static constexpr int32_t kMaxMergedStages = 256;

  // O(operators + tensor ends log).
  VirtualDevices(const OperatorGraph& graph, const ResolvedProblem& problem);

  // Stages in pipeline order, operators ascending, one device each. `device_of`: a device for every operator (ignored
  // for those that the workload drops); operators that must be in one stage (operator_unions.h) have the same.
  // O((operators + ordered pairs) x devices) for the first step where devices take turns of similar length.
  Placement Cut(const std::vector<DeviceId>& device_of) const;

 private:
  // The operators of each atom: what must be in one stage.
  std::vector<std::vector<OperatorId>> atoms_;
  Digraph order_;
  Digraph reverse_order_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_VIRTUAL_DEVICES_H_
