// In which layouts the operators of layers run, found once more from docs/training-costs.md, section 9, by code that
// shares nothing with core/joint/operators.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_CHOSEN_LAYOUTS_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_CHOSEN_LAYOUTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/joint/cost/training_efficiency.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/verify/joint/machines.h"
#include "core/verify/joint/operator_part.h"
#include "core/verify/joint/rank_costs.h"

namespace planwright::verify {

class ChosenLayouts {
 public:
  // `layer_of`: by operator. All outlive it.
  ChosenLayouts(const OperatorGraph& graph, const std::vector<std::optional<std::size_t>>& layer_of);

  // By operator of the layer that has variants with layouts: which it has. Of others nothing.
  std::map<std::size_t, LayoutPair> Of(std::size_t layer, const DeviceClass& device,
                                       const TrainingEfficiency& efficiency, const RankSpread& spread) const;

  // What changes between these take in one pass, over the links of the stage.
  double ChangesPs(std::size_t layer, const std::map<std::size_t, LayoutPair>& chosen,
                   const TrainingEfficiency& efficiency, const RankSpread& spread) const;

 private:
  // The rest of the layer, when those before have their layouts.
  struct Walk;

  bool IsIn(OperatorId op, std::size_t layer) const;
  bool HasLayouts(std::size_t layer) const;
  // In an order in which tensors go forward, of equals by name.
  std::vector<std::size_t> OrderOf(std::size_t layer) const;
  // Received by a rank in one pass for the tensor between two operators; nullptr: outside the layer.
  double Received(const Tensor& tensor, const LayoutPair* made, const LayoutPair* read, int64_t samples) const;
  // Visits the tensors of the layer with maker and reader; the ends that are outside are nullopt.
  template <typename Visit>
  void ForEachEdge(std::size_t layer, Visit visit) const;

  const OperatorGraph& graph_;
  const std::vector<std::optional<std::size_t>>& layer_of_;
  bool has_any_ = false;
};

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_CHOSEN_LAYOUTS_H_
