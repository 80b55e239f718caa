#include "core/verify/joint/operator_costs.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/verify/joint/operator_part.h"

namespace planwright::verify {

OperatorCosts::OperatorCosts(const OperatorGraph& graph, const std::vector<std::string>& labels,
                             const ResolvedMemory& memory)
    : graph_(graph), memory_(memory), has_backward_operators_(HasBackwardOperators(graph)), layouts_(graph, layer_of_) {
  std::map<std::string, std::size_t> numbers;
  for (std::size_t layer = 0; layer < labels.size(); ++layer) numbers.emplace(labels[layer], layer);
  for (const Operator& op : graph.operators) {
    const auto found = numbers.find(op.layer);
    layer_of_.push_back(found == numbers.end() ? std::nullopt : std::optional(found->second));
  }
  operators_of_.resize(labels.size());
  for (std::size_t op = 0; op < layer_of_.size(); ++op) {
    const std::optional<std::size_t>& layer = layer_of_[op];
    if (layer.has_value()) operators_of_[*layer].push_back(op);
  }
  read_in_.resize(labels.size());
  leaving_.resize(labels.size());
  for (std::size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) AddTensor(tensor);
}

void OperatorCosts::AddTensor(std::size_t tensor) {
  // Operators of no layer are told by CheckLayers.
  const std::size_t producer = layer_of_[graph_.tensors[tensor].producer.index()].value_or(0);
  std::pair<std::size_t, std::size_t> ends(producer, producer);
  for (const OperatorId consumer : graph_.tensors[tensor].consumers) {
    const std::optional<std::size_t>& layer = layer_of_[consumer.index()];
    if (!layer.has_value()) continue;
    ends = {std::min(ends.first, *layer), std::max(ends.second, *layer)};
    if (read_in_[*layer].empty() || read_in_[*layer].back() != tensor) read_in_[*layer].push_back(tensor);
  }
  for (std::size_t layer = ends.first; layer < ends.second; ++layer) leaving_[layer].push_back(tensor);
}

void OperatorCosts::CheckLayers(Violations& violations) const {
  for (std::size_t op = 0; op < layer_of_.size(); ++op) {
    if (layer_of_[op].has_value()) continue;
    return violations.Add("plan.stages", absl::StrCat("must hold operator \"", graph_.operators[op].name, "\""));
  }
  for (const Tensor& tensor : graph_.tensors) {
    if (graph_.operators[tensor.producer.index()].pass == Pass::kBackward) continue;
    for (const OperatorId consumer : tensor.consumers) {
      if (graph_.operators[consumer.index()].pass == Pass::kBackward) continue;
      if (LayerOf(consumer) >= LayerOf(tensor.producer)) continue;
      violations.Add("plan.stages",
                     absl::StrCat("must have layers in an order in which tensor \"", tensor.name, "\" goes forward"));
    }
  }
}

std::optional<OperatorPart> OperatorCosts::PartIn(std::size_t op, const std::map<std::size_t, LayoutPair>& layouts,
                                                  const Question& question) const {
  const auto chosen = layouts.find(op);
  return PartOf(graph_.operators[op], graph_, question.device, question.spread.degrees, question.spread.samples,
                chosen == layouts.end() ? LayoutPair() : chosen->second);
}

bool OperatorCosts::CanRun(std::size_t layer, const Question& question) const {
  for (const std::size_t op : operators_of_[layer]) {
    const Operator& each = graph_.operators[op];
    if (IsSpokenFor(each)) continue;
    const std::vector<LayoutPair> layouts = LayoutsOf(each, question.device, question.spread.degrees);
    if (layouts.empty() || !PartIn(op, {{op, layouts.front()}}, question).has_value()) return false;
  }
  return true;
}

const std::optional<std::map<std::size_t, LayoutPair>>& OperatorCosts::LayoutsIn(std::size_t layer,
                                                                                 Question& question) const {
  const auto [entry, is_new] = question.layouts.try_emplace(layer);
  if (is_new && CanRun(layer, question)) {
    entry->second = layouts_.Of(layer, question.device, question.efficiency, question.spread);
  }
  return entry->second;
}

double OperatorCosts::BytesOf(const Tensor& tensor, Question& question) const {
  const auto& layouts = LayoutsIn(LayerOf(tensor.producer), question);
  if (layouts.has_value()) {
    const std::optional<OperatorPart> part = PartIn(tensor.producer.index(), *layouts, question);
    if (part.has_value() && part->sent.has_value()) return *part->sent;
  }
  return static_cast<double>(tensor.size_bytes) * static_cast<double>(question.spread.samples) /
         static_cast<double>(graph_.samples_per_micro_batch);
}

double OperatorCosts::OutputOf(std::size_t layer, const DeviceClass& device, const TrainingEfficiency& efficiency,
                               const RankSpread& spread) const {
  Question question{device, efficiency, spread};
  return OutputOf(layer, question);
}

double OperatorCosts::OutputOf(std::size_t layer, Question& question) const {
  double output = 0;
  for (const std::size_t tensor : leaving_[layer]) output += BytesOf(graph_.tensors[tensor], question);
  // What goes back is as large as what went forward, or else tensors of its own.
  return has_backward_operators_ ? output / 2 : output;
}

std::optional<RankCosts> OperatorCosts::CostsOf(std::size_t layer, const DeviceClass& device,
                                                const TrainingEfficiency& efficiency, const RankSpread& spread) const {
  Question question{device, efficiency, spread};
  const std::optional<std::map<std::size_t, LayoutPair>> own = LayoutsIn(layer, question);
  if (!own.has_value()) return std::nullopt;
  RankCosts costs;
  Held held;
  double kept = 0;
  double kept_again = 0;
  double extra = 0;
  bool reads_again = false;
  for (const std::size_t op : operators_of_[layer]) {
    if (IsSpokenFor(graph_.operators[op])) continue;
    const std::optional<OperatorPart> part = PartIn(op, *own, question);
    if (!part.has_value()) return std::nullopt;
    costs.forward += part->forward;
    costs.backward += part->backward;
    costs.weights += part->weights;
    costs.workspace = std::max(costs.workspace, part->workspace);
    (part->has_experts ? held.experts : held.ordinary) += part->parameters;
    costs.recomputed += part->held_again;
    kept += part->kept;
    kept_again += part->kept_again;
    extra += part->extra;
    reads_again = reads_again || (graph_.operators[op].variants.empty() && part->kept > 0);
  }
  costs.output = OutputOf(layer, question);
  for (const std::size_t read : read_in_[layer]) {
    const Tensor& tensor = graph_.tensors[read];
    const Operator& producer = graph_.operators[tensor.producer.index()];
    const bool is_made_whole =
        LayerOf(tensor.producer) == layer && producer.variants.empty() && producer.pass == Pass::kForward;
    const bool is_read_again = std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](OperatorId consumer) {
      const Operator& reader = graph_.operators[consumer.index()];
      return LayerOf(consumer) == layer && !is_made_whole && reader.variants.empty() && reader.pass == Pass::kForward;
    });
    if (is_read_again && reads_again) kept_again += BytesOf(tensor, question);
  }
  costs.kept_for_weights = kept;
  const double changes = layouts_.ChangesPs(layer, *own, efficiency, spread);
  costs.forward += changes;
  costs.backward += changes;
  costs.modes[static_cast<std::size_t>(LayerRecomputation::kNone)] = {0, kept};
  if (kept_again < kept) {
    costs.modes[static_cast<std::size_t>(LayerRecomputation::kFull)] = {extra, kept_again};
  } else {
    costs.recomputed = 0;
  }
  AddDataRanks(device, efficiency, spread, held, costs);
  return costs;
}

bool OperatorCosts::IsSpokenFor(const Operator& op) const {
  return op.forward_operator.has_value() && !graph_.operators[op.forward_operator->index()].variants.empty();
}

void OperatorCosts::AddDataRanks(const DeviceClass& device, const TrainingEfficiency& efficiency,
                                 const RankSpread& spread, const Held& held, RankCosts& costs) const {
  const int64_t copies = int64_t{spread.degrees.context} * spread.degrees.data;
  const int64_t expert_copies = copies / spread.degrees.expert;
  const double whole = held.ordinary + held.experts;
  const auto part = [&](double factor, Sharding from) {
    if (spread.sharding < from) return factor * whole;
    return factor * (held.ordinary / static_cast<double>(copies) + held.experts / static_cast<double>(expert_copies));
  };
  const double optimizer = memory_.optimizer_bytes_per_parameter_byte;
  costs.parameters = part(memory_.weight_versions, Sharding::kParameters);
  costs.gradients = part(memory_.gradient_copies, Sharding::kGradients);
  costs.optimizer = part(optimizer, Sharding::kOptimizer);
  costs.gathered = spread.sharding == Sharding::kParameters ? whole : 0;
  const int64_t tensor = spread.degrees.tensor;
  const double ring = RingPs(held.ordinary, copies, tensor, spread, efficiency) +
                      RingPs(held.experts, expert_copies, tensor * spread.degrees.expert, spread, efficiency);
  const auto hidden = [&](double time, double computed) {
    return std::min(efficiency.hidden_among_data * time, computed);
  };
  double rings = 2;
  if (spread.sharding == Sharding::kGradients) rings = 1;
  if (spread.sharding == Sharding::kParameters) {
    rings = 0;
    costs.forward += ring - hidden(ring, costs.forward);
  }
  if (spread.sharding >= Sharding::kGradients) {
    const double exchanged = spread.sharding == Sharding::kParameters ? 2 * ring : ring;
    costs.backward += exchanged - hidden(exchanged, costs.backward);
  }
  costs.step_end = (1 - efficiency.hidden_at_step_end) * rings * ring;
  if (device.memory_bandwidth_bytes_per_second <= 0) return;
  costs.step_end += 1e12 * part(3 + 2 * optimizer, Sharding::kOptimizer) /
                    (device.memory_bandwidth_bytes_per_second * efficiency.memory);
}

double OperatorCosts::RingPs(double bytes, int64_t ranks, int64_t apart, const RankSpread& spread,
                             const TrainingEfficiency& efficiency) {
  if (ranks < 2 || bytes <= 0) return 0;
  const MachineLink& inside = spread.inside;
  const MachineLink& between = spread.between;
  double speed = inside.bytes_per_second;
  auto latency = static_cast<double>(inside.latency_ps);
  if (const int64_t fewest = RanksTogetherIn(ranks, apart, spread).fewest; fewest < ranks) {
    speed = std::min(speed, static_cast<double>(fewest) * between.bytes_per_second);
    latency = static_cast<double>(between.latency_ps);
  }
  const double moved = bytes - bytes / static_cast<double>(ranks);
  return 1e12 * moved / (speed * efficiency.network) + latency;
}

}  // namespace planwright::verify
