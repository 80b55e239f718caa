// Layouts of tensors inside layers: which each operator has, and what changing them takes (docs/training-costs.md,
// section 9).
#ifndef PLANWRIGHT_CORE_JOINT_OPERATORS_LAYER_LAYOUTS_H_
#define PLANWRIGHT_CORE_JOINT_OPERATORS_LAYER_LAYOUTS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/joint/operators/operator_layers.h"
#include "core/joint/operators/operator_share.h"
#include "core/model/graph.h"

namespace planwright {

class LayerLayouts {
 public:
  // Picoseconds in which the ranks of a stage exchange so many bytes each, in one pass.
  using Exchanged = std::function<double(double bytes)>;

  // Both outlive it.
  LayerLayouts(const OperatorGraph& graph, const OperatorLayers& layers);

  // By operator, the choice of `choices` that it has, where those of a layer take the least time together. `factor`: by
  // which the bytes of tensors grow. REQUIRES: no list of `choices` is empty in a layer with layouts.
  std::vector<std::size_t> Choose(const std::vector<std::vector<OperatorChoice>>& choices, double factor,
                                  const Exchanged& exchanged) const;
  // By layer, what changing layouts takes in each pass. `chosen`: by operator.
  std::vector<double> ChangesPs(const std::vector<std::vector<OperatorChoice>>& choices,
                                const std::vector<std::size_t>& chosen, double factor,
                                const Exchanged& exchanged) const;

 private:
  // A tensor that an operator of the layer reads or makes; at the other end an operator of the layer, or none.
  struct Edge {
    const OperatorId* from = nullptr;
    const OperatorId* to = nullptr;
    double bytes = 0;
  };
  struct Layer {
    std::size_t number = 0;
    // In an order in which tensors go forward, of equals by name.
    std::vector<OperatorId> operators;
    std::vector<Edge> edges;
  };

  void AddLayer(std::size_t number, const std::vector<std::size_t>& layer_of);
  std::vector<OperatorId> OrderOf(const std::vector<OperatorId>& operators) const;
  // The bytes that a rank receives where maker and reader have these choices; nullptr: outside the layer.
  double BytesOf(const Edge& edge, const OperatorChoice* from, const OperatorChoice* to) const;

  const OperatorGraph& graph_;
  const OperatorLayers& layers_;
  std::map<std::pair<std::string, std::string>, double> shares_;
  // The layers in which an operator has variants with layouts.
  std::vector<Layer> with_layouts_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_LAYER_LAYOUTS_H_
