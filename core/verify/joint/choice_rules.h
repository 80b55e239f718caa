// What the choices of a joint plan must obey before they can be costed.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_CHOICE_RULES_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_CHOICE_RULES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/known.h"
#include "core/base/violations.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/verify/joint/machines.h"

namespace planwright::verify {

// What the rules are about: a problem with resolved joint settings, and a placement with joint choices.
struct JointChoices {
  const OperatorGraph& graph;
  const Cluster& cluster;
  const LayerPricer& pricer;
  const ResolvedProblem& problem;
  const Placement& placement;
  const Machines& machines;
  // By class and node: usable devices.
  std::map<std::pair<DeviceClassId, int64_t>, int64_t> node_sizes;

  const JointSettings& settings() const { return Known(problem.joint); }
  const JointPlan& plan() const { return Known(placement.joint); }
  int64_t num_stages() const { return static_cast<int64_t>(plan().stages.size()); }
  bool is_interleaved() const { return plan().order == PipelineOrder::kInterleaved; }
  // The run-th run of layers of the model, in the order of the layers.
  const JointChunk& RunAt(int64_t run) const;
  // Samples of a micro-batch on one rank of the data degree.
  int64_t SamplesOf(const Degrees& degrees) const;
  // The class of the first device of a stage.
  DeviceClassId ClassOf(std::size_t stage) const;
  // The fewest usable devices of its class that a node of the stage has; and of a stage on several nodes no more than
  // it takes of one. REQUIRES: it is on usable devices of one class.
  int64_t UsableInNodeOf(std::size_t stage) const;
  int64_t NodeSizeOf(std::size_t stage) const;
};

// "plan.stages[0]" of the first stage.
std::string StagePath(std::size_t stage);

// Whether a setting allows a choice: an empty list allows everything.
template <typename Value, typename Item>
bool IsAllowed(const std::vector<Value>& list, Item item) {
  return list.empty() || std::find(list.begin(), list.end(), static_cast<Value>(item)) != list.end();
}

// Adds what is wrong with layers, operators, degrees, batch and places, with paths below "plan"; later rules are looked
// at where the former hold. `usable`: ascending.
void CheckJointChoices(const JointChoices& choices, const std::vector<DeviceId>& usable, Violations& violations);

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_CHOICE_RULES_H_
