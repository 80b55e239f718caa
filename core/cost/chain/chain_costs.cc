#include "core/cost/chain/chain_costs.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"

namespace planwright {
namespace {

// A tensor that is on its way across the cuts begin .. end - 1.
struct Crossing {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class ChainBuilder {
 public:
  ChainBuilder(const OperatorGraph& graph, const Interconnect& interconnect, const ResolvedProblem& problem,
               const std::vector<std::vector<OperatorId>>& layers)
      : graph_(graph),
        interconnect_(interconnect),
        layers_(layers),
        memory_(problem),
        training_(problem.workload == Workload::kTraining),
        recomputes_(training_ && problem.memory_model.recomputation == MemoryModel::Recomputation::kFull),
        gradients_follow_(GradientsFollowTensors(graph, problem.workload)),
        layer_of_(graph.operators.size(), kNowhere) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      for (const OperatorId op : layers[layer]) layer_of_[op.index()] = layer;
    }
  }

  Chain Build(const CostTable& costs, DeviceClassId device_class) const {
    Chain chain;
    chain.has_backward = training_;
    for (const std::vector<OperatorId>& layer : layers_) chain.layers.push_back(Layer(layer, costs, device_class));
    AddCuts(chain);
    if (recomputes_) Recompute(chain);
    return chain;
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  ChainLayer Layer(const std::vector<OperatorId>& operators, const CostTable& costs, DeviceClassId device_class) const {
    ChainLayer layer;
    for (const OperatorId id : operators) {
      const OperatorTime& time = costs.time(id, device_class);
      layer.forward += time.forward;
      layer.backward += time.backward;
    }
    const MemoryParts memory = memory_.PartsOf(graph_, operators);
    layer.static_bytes = memory.declared + ParameterStateBytes(memory.parameters, memory_.copies());
    layer.stored_bytes = memory.stored;
    layer.workspace_bytes = memory.workspace;
    return layer;
  }

  // Every tensor enters and leaves sums that run along the cuts.
  void AddCuts(Chain& chain) const {
    std::vector<ChainCut> changes(layers_.size());
    for (const Tensor& tensor : graph_.tensors) {
      if (layer_of_[tensor.producer.index()] == kNowhere) continue;
      const auto [forward, backward] = CrossingsOf(tensor);
      const Picoseconds time = TensorTransferTime(tensor, interconnect_);
      const int64_t buffer_bytes = memory_.BufferBytes(tensor.size_bytes);
      const Picoseconds gradient = gradients_follow_ ? time : Picoseconds(0);
      Add(forward, {time, gradient, buffer_bytes}, changes);
      Add(backward, {Picoseconds(0), time, buffer_bytes}, changes);
    }
    ChainCut cut;
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      cut.send_forward += changes[i].send_forward;
      cut.send_backward += changes[i].send_backward;
      cut.buffer_bytes += changes[i].buffer_bytes;
      chain.cuts.push_back(cut);
    }
  }

  // Returns what the tensor crosses on the way forward, and on the way back.
  std::pair<Crossing, Crossing> CrossingsOf(const Tensor& tensor) const {
    const std::size_t producer = layer_of_[tensor.producer.index()];
    std::size_t first = producer;
    std::size_t last = producer;
    for (const OperatorId consumer : tensor.consumers) {
      const std::size_t layer = layer_of_[consumer.index()];
      if (layer == kNowhere) continue;
      first = std::min(first, layer);
      last = std::max(last, layer);
    }
    // What backward operators make goes back, whichever way it is listed (ListsGradientsForward).
    if (graph_.operators[tensor.producer.index()].pass == Pass::kBackward) return {{first, first}, {first, last}};
    return {{producer, last}, {first, producer}};
  }

  static void Add(Crossing crossing, const ChainCut& cut, std::vector<ChainCut>& changes) {
    if (crossing.begin == crossing.end) return;
    changes[crossing.begin].send_forward += cut.send_forward;
    changes[crossing.begin].send_backward += cut.send_backward;
    changes[crossing.begin].buffer_bytes += cut.buffer_bytes;
    changes[crossing.end].send_forward -= cut.send_forward;
    changes[crossing.end].send_backward -= cut.send_backward;
    changes[crossing.end].buffer_bytes -= cut.buffer_bytes;
  }

  // The forward pass runs again, from the tensors that come to a stage on the way forward and those that its Input
  // operators have made.
  void Recompute(Chain& chain) const {
    for (ChainLayer& layer : chain.layers) layer.backward += layer.forward;
    if (memory_.is_declared()) return;
    std::vector<int64_t> changes(layers_.size() + 1, 0);
    for (const Tensor& tensor : graph_.tensors) {
      const std::size_t producer = layer_of_[tensor.producer.index()];
      if (producer == kNowhere) continue;
      const Crossing forward = CrossingsOf(tensor).first;
      changes[forward.begin + 1] += tensor.size_bytes;
      changes[forward.end + 1] -= tensor.size_bytes;
      const bool is_input = graph_.operators[tensor.producer.index()].type == kInputOperatorType;
      if (is_input) chain.layers[producer].stored_bytes += tensor.size_bytes;
    }
    int64_t received_bytes = 0;
    for (std::size_t i = 0; i < chain.layers.size(); ++i) {
      received_bytes += changes[i];
      chain.layers[i].received_bytes = received_bytes;
    }
  }

  const OperatorGraph& graph_;
  const Interconnect& interconnect_;
  const std::vector<std::vector<OperatorId>>& layers_;
  const MemoryForm memory_;
  const bool training_;
  const bool recomputes_;
  const bool gradients_follow_;
  std::vector<std::size_t> layer_of_;
};

}  // namespace

Chain MakeChain(const OperatorGraph& graph, const Interconnect& interconnect, const ResolvedProblem& problem,
                const CostTable& costs, DeviceClassId device_class,
                const std::vector<std::vector<OperatorId>>& layers) {
  return ChainBuilder(graph, interconnect, problem, layers).Build(costs, device_class);
}

ChainSums::ChainSums(const Chain& chain)
    : forward_(1), backward_(1), static_bytes_(1), stored_bytes_(1), has_backward_(chain.has_backward) {
  std::vector<int64_t> workspace;
  for (const ChainLayer& layer : chain.layers) {
    forward_.push_back(forward_.back() + layer.forward);
    backward_.push_back(backward_.back() + layer.backward);
    static_bytes_.push_back(static_bytes_.back() + layer.static_bytes);
    stored_bytes_.push_back(stored_bytes_.back() + layer.stored_bytes);
    received_bytes_.push_back(layer.received_bytes);
    workspace.push_back(layer.workspace_bytes);
  }
  workspace_bytes_.push_back(std::move(workspace));
  for (std::size_t half = 1; 2 * half <= chain.layers.size(); half *= 2) {
    const std::vector<int64_t>& halves = workspace_bytes_.back();
    std::vector<int64_t> maxima;
    for (std::size_t i = 0; i + half < halves.size(); ++i) maxima.push_back(std::max(halves[i], halves[i + half]));
    workspace_bytes_.push_back(std::move(maxima));
  }
}

int64_t ChainSums::workspace_bytes(int32_t first, int32_t last) const {
  const std::size_t count = Index(last - first) + 1;
  const auto power = static_cast<std::size_t>(std::bit_width(count) - 1);
  const std::vector<int64_t>& maxima = workspace_bytes_[power];
  return std::max(maxima[Index(first)], maxima[Index(last) + 1 - (std::size_t{1} << power)]);
}

}  // namespace planwright
