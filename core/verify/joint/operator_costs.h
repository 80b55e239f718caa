// What a layer of operators costs one rank, straight from docs/training-costs.md, section 9: a second implementation of
// what core/joint/operators computes, which shares no code with it.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_COSTS_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_COSTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/verify/joint/rank_costs.h"

namespace planwright::verify {

class OperatorCosts {
 public:
  // Operators belong to the layer of `labels` that their `layer` names. All outlive it.
  OperatorCosts(const OperatorGraph& graph, const std::vector<std::string>& labels, const ResolvedMemory& memory);

  // Adds what is wrong with the layers themselves, below "plan.stages": operators in none, tensors that go back.
  void CheckLayers(Violations& violations) const;

  // nullopt: the class cannot run an operator, or none of its variants has the tensor degree.
  // REQUIRES: CheckLayers found nothing.
  std::optional<RankCosts> CostsOf(std::size_t layer, const DeviceClass& device, const TrainingEfficiency& efficiency,
                                   const RankSpread& spread) const;

 private:
  // State by sharding, and what data ranks exchange. `costs` has whole parameters, and passes without exchanges.
  void AddDataRanks(const DeviceClass& device, const TrainingEfficiency& efficiency, const RankSpread& spread,
                    RankCosts& costs) const;
  double RingPs(double bytes, const RankSpread& spread, const TrainingEfficiency& efficiency) const;

  const OperatorGraph& graph_;
  const ResolvedMemory& memory_;
  // By operator; nullopt: of no layer.
  std::vector<std::optional<std::size_t>> layer_of_;
};

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_COSTS_H_
