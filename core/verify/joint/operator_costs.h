// What a layer of operators costs one rank, straight from docs/training-costs.md, section 9: a second implementation of
// what core/joint/operators computes, which shares no code with it.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_COSTS_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_COSTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/known.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"
#include "core/verify/joint/chosen_layouts.h"
#include "core/verify/joint/operator_part.h"
#include "core/verify/joint/rank_costs.h"

namespace planwright::verify {

class OperatorCosts {
 public:
  // Operators belong to the layer of `labels` that their `layer` names. All outlive it.
  OperatorCosts(const OperatorGraph& graph, const std::vector<std::string>& labels, const ResolvedMemory& memory);

  // Adds what is wrong with the layers themselves, below "plan.stages": operators in none, tensors that go back.
  void CheckLayers(Violations& violations) const;

  // nullopt: the class cannot run an operator, or none of its variants has the degrees.
  // REQUIRES: CheckLayers found nothing.
  std::optional<RankCosts> CostsOf(std::size_t layer, const DeviceClass& device, const TrainingEfficiency& efficiency,
                                   const RankSpread& spread) const;
  // Of these the output alone, also where there is nothing else.
  double OutputOf(std::size_t layer, const DeviceClass& device, const TrainingEfficiency& efficiency,
                  const RankSpread& spread) const;

 private:
  // What is asked of several layers.
  struct Question {
    const DeviceClass& device;
    const TrainingEfficiency& efficiency;
    const RankSpread& spread;
    // By layer, the layouts of its operators; nullopt: it cannot run. As they are asked for.
    std::map<std::size_t, std::optional<std::map<std::size_t, LayoutPair>>> layouts = {};
  };

  void AddTensor(std::size_t tensor);
  const std::optional<std::map<std::size_t, LayoutPair>>& LayoutsIn(std::size_t layer, Question& question) const;
  bool CanRun(std::size_t layer, const Question& question) const;
  std::optional<OperatorPart> PartIn(std::size_t op, const std::map<std::size_t, LayoutPair>& layouts,
                                     const Question& question) const;
  double OutputOf(std::size_t layer, Question& question) const;
  // What a rank has of a tensor: of one from a layer that cannot run so, all.
  double BytesOf(const Tensor& tensor, Question& question) const;
  // A BACKWARD operator whose forward operator has variants, which tell the costs of both.
  bool IsSpokenFor(const Operator& op) const;
  // Bytes of parameters on a rank.
  struct Held {
    double ordinary = 0;
    double experts = 0;
  };

  // Of an operator that CheckLayers finds in a layer.
  std::size_t LayerOf(OperatorId op) const { return Known(layer_of_[op.index()]); }
  // State by sharding, and what ranks with the same parameters exchange. `costs` has passes without exchanges.
  void AddDataRanks(const DeviceClass& device, const TrainingEfficiency& efficiency, const RankSpread& spread,
                    const Held& held, RankCosts& costs) const;
  // Picoseconds that a gather or a scatter of `bytes` takes in a ring of ranks that are so far apart.
  static double RingPs(double bytes, int64_t ranks, int64_t apart, const RankSpread& spread,
                       const TrainingEfficiency& efficiency);

  const OperatorGraph& graph_;
  const ResolvedMemory& memory_;
  const bool has_backward_operators_;
  // By operator; nullopt: of no layer.
  std::vector<std::optional<std::size_t>> layer_of_;
  // By layer, its operators, the tensors that they read, and those with one end in it or before and another behind it.
  std::vector<std::vector<std::size_t>> operators_of_;
  std::vector<std::vector<std::size_t>> read_in_;
  std::vector<std::vector<std::size_t>> leaving_;
  ChosenLayouts layouts_;
};

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_OPERATOR_COSTS_H_
