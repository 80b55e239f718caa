#include "core/verify/joint/joint_costing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/units.h"
#include "core/joint/cost/training_efficiency.h"
#include "core/model/device_selection.h"
#include "core/verify/joint/choice_rules.h"
#include "core/verify/joint/machines.h"
#include "core/verify/joint/measured_costs.h"
#include "core/verify/joint/operator_costs.h"
#include "core/verify/joint/rank_costs.h"
#include "core/verify/joint/step_order.h"

namespace planwright {
namespace {

using verify::StagePath;

constexpr int64_t kMaxTasks = 4'000'000;
// 320 hours; sums of a few such leave 63 bits.
constexpr int64_t kLongestStepPs = int64_t{1} << 60;

// What the chunks of a stage add up to, and the most that one of them needs.
struct Sums {
  int64_t state_parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t step_end = 0;
  int64_t ends = 0;
  int64_t forward = 0;
  int64_t backward = 0;
  int64_t transfers = 0;
  int64_t received = 0;
  // The most that one chunk or layer needs.
  int64_t activations = 0;
  int64_t workspace = 0;
  int64_t gathered = 0;
  int64_t again = 0;
  int64_t buffers = 0;
  bool is_any_full = false;
  int32_t measured = 0;
};

class JointCosting {
 public:
  JointCosting(const OperatorGraph& graph, const Cluster& cluster, const LayerPricer& pricer,
               const ResolvedProblem& problem, const Placement& placement, Violations& violations)
      : machines_(cluster),
        network_(cluster),
        usable_(SelectedDevices(cluster, problem.devices_to_use)),
        choices_{graph, cluster, pricer, problem, placement, machines_, machines_.NodeSizes(usable_)},
        operator_costs_(graph, pricer.labels(), choices_.problem.memory_model),
        measured_(graph),
        violations_(violations) {}

  std::optional<Plan> Run() {
    Violations broken;
    verify::CheckJointChoices(choices_, usable_, broken);
    if (broken.empty() && !choices_.graph.transformer.has_value()) operator_costs_.CheckLayers(broken);
    if (broken.empty()) CostStages(broken);
    for (const Violation& violation : broken.listed()) violations_.Add(violation.path, violation.rule);
    if (!broken.empty()) return std::nullopt;
    CheckMemory();
    if (!AddClosedForm()) return std::nullopt;
    Simulate();
    AddDevices();
    AddRates();
    AddEstimate();
    plan_.problem = choices_.problem;
    plan_.joint = std::move(joint_);
    return std::move(plan_);
  }

 private:
  int64_t num_stages() const { return choices_.num_stages(); }
  int64_t num_layers() const { return static_cast<int64_t>(choices_.pricer.kinds().size()); }

  void CostStages(Violations& broken) {
    joint_ = choices_.plan();
    joint_.uniform_configurations.clear();
    joint_.worth.clear();
    joint_.step_bound = joint_.simulated_bound = Picoseconds(0);
    std::optional<PriceQuery> priced;
    std::vector<LayerPrice> prices;
    for (std::size_t s = 0; s < joint_.stages.size() && broken.empty(); ++s) {
      const verify::RankSpread spread = SpreadOf(s);
      const PriceQuery query = verify::QueryOf(choices_.ClassOf(s), spread);
      if (query != priced) prices = choices_.pricer.PriceFor(query, joint_.per_stage);
      priced = query;
      if (prices.empty()) {
        broken.Add(StagePath(s) + ".joint", "must have degrees that divide the model");
      } else if (!CanRun(s, prices)) {
        broken.Add(StagePath(s) + ".joint", "must have degrees, and a class, that all operators of its layers have");
      } else {
        CheckPrices(s, spread, prices, broken);
        FillIn(s, Total(s, prices, broken));
      }
    }
  }

  verify::RankSpread SpreadOf(std::size_t s) const {
    const Degrees& degrees = joint_.stages[s].degrees;
    const std::vector<DeviceId>& devices = choices_.placement.stages[s].devices;
    verify::RankSpread spread{.degrees = degrees, .samples = choices_.SamplesOf(degrees), .sharding = joint_.sharding};
    if (network_.exists()) {
      spread.node_size = degrees.tensor;
      spread.inside = network_.OfTensorGroups(devices, degrees);
      spread.between = network_.OfCopies(devices, degrees);
    } else {
      spread.node_size = choices_.NodeSizeOf(s);
      spread.inside = machines_.LinkOf(0);
      spread.between = machines_.LinkOf(std::max<std::size_t>(machines_.RingOf(devices), 1));
    }
    return spread;
  }

  bool CanRun(std::size_t s, const std::vector<LayerPrice>& prices) const {
    const std::vector<JointChunk>& chunks = joint_.stages[s].chunks;
    return std::all_of(chunks.begin(), chunks.end(), [&](const JointChunk& chunk) {
      for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
        if (!PriceOf(prices, layer).can_run) return false;
      }
      return true;
    });
  }

  // What the layers of a stage cost, and what the layers before them send to it, is computed once more.
  void CheckPrices(std::size_t s, const verify::RankSpread& spread, const std::vector<LayerPrice>& prices,
                   Violations& broken) const {
    const DeviceClass& device = choices_.cluster.device_classes[choices_.ClassOf(s).index()];
    const TrainingEfficiency efficiency = TrainingEfficiencyOf(device);
    for (int32_t turn = 0; turn < joint_.chunks; ++turn) {
      const JointChunk& chunk = choices_.RunAt(turn * num_stages() + static_cast<int64_t>(s));
      for (int32_t layer = std::max(chunk.first_layer - 1, 0); layer < chunk.end_layer(); ++layer) {
        const std::string difference = DifferenceAt(layer, PriceOf(prices, layer), device, efficiency, spread);
        if (difference.empty()) continue;
        broken.Add(StagePath(s) + ".joint",
                   absl::StrCat(choices_.pricer.labels()[static_cast<std::size_t>(layer)], ": ", difference));
      }
    }
  }

  std::string DifferenceAt(int32_t layer, LayerPrice price, const DeviceClass& device,
                           const TrainingEfficiency& efficiency, const verify::RankSpread& spread) const {
    if (choices_.graph.transformer.has_value()) {
      return DifferenceOfTransformer(layer, price, device, efficiency, spread);
    }
    const auto number = static_cast<std::size_t>(layer);
    const auto costs = operator_costs_.CostsOf(number, device, efficiency, spread);
    if (!costs.has_value() && !price.can_run) {
      // Before the stage, which receives what leaves it.
      verify::RankCosts received;
      received.output = operator_costs_.OutputOf(number, device, efficiency, spread);
      return verify::DifferenceOf(price, received);
    }
    if (!costs.has_value()) return "must not be on a class or of degrees that its operators do not have";
    if (!price.can_run) return "must run, as all its operators can";
    // Measured times of operators are compared as well: the graph has them.
    price.is_measured = false;
    return verify::DifferenceOf(price, *costs);
  }

  std::string DifferenceOfTransformer(int32_t layer, const LayerPrice& price, const DeviceClass& device,
                                      const TrainingEfficiency& efficiency, const verify::RankSpread& spread) const {
    const auto costs_on = [&](const verify::RankSpread& own) {
      return verify::CostsOfRank(*choices_.graph.transformer, layer, device, efficiency, own);
    };
    const std::string& label = choices_.pricer.labels()[static_cast<std::size_t>(layer)];
    const MeasuredLayer* row = measured_.Of(label, device.name, spread);
    if (row == nullptr && price.is_measured) return "must not have measured times: there are none";
    if (row == nullptr) return verify::DifferenceOf(price, costs_on(spread));
    const auto [slowest, fastest] = verify::SpreadsOfProfile(spread, !network_.exists());
    return verify::DifferenceOfMeasured(price, *row, costs_on(spread), costs_on(slowest), costs_on(fastest));
  }

  // Forward passes that are done and whose backward passes are not, at the most.
  int64_t InFlightOf(std::size_t s) const {
    const int64_t behind = num_stages() - 1 - static_cast<int64_t>(s);
    switch (joint_.order) {
      case PipelineOrder::kOneFOneB:
        return std::min(joint_.micro_batches, behind + 1);
      case PipelineOrder::kGpipe:
        return joint_.micro_batches;
      case PipelineOrder::kZeroBubble:
        // Some wait for the rest of their backward pass: as many as stages lie before this one.
        return num_stages();
      case PipelineOrder::kInterleaved:
        break;
    }
    return std::min(joint_.micro_batches * joint_.chunks, 2 * behind + (joint_.chunks - 1) * num_stages() + 1);
  }

  // `bytes` and what stage `s` holds of the activations of a layer at the worst moment; of more than 2^61 that number.
  int64_t SumOfBytes(int64_t bytes, std::size_t s, int64_t kept, int64_t kept_for_weights) const {
    __extension__ using Wide = __int128;
    constexpr Wide kMost = Wide{1} << 61;
    Wide held = Wide{InFlightOf(s)} * kept;
    if (joint_.order == PipelineOrder::kZeroBubble) {
      const auto before = static_cast<int64_t>(s);
      held =
          Wide{num_stages() - 1 - before} * kept + Wide{before} * kept_for_weights + std::max(kept, kept_for_weights);
    }
    return static_cast<int64_t>(std::min(bytes + std::min(held, kMost), kMost));
  }

  Sums Total(std::size_t s, const std::vector<LayerPrice>& prices, Violations& broken) {
    Sums sums;
    for (int32_t turn = 0; turn < joint_.chunks; ++turn) {
      const int64_t run = turn * num_stages() + static_cast<int64_t>(s);
      const JointChunk& chunk = choices_.RunAt(run);
      verify::StepRun& times = runs_[run];
      int64_t activations = 0;
      for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
        const LayerPrice& price = PriceOf(prices, layer);
        const LayerRecomputation mode = chunk.recomputation[static_cast<std::size_t>(layer - chunk.first_layer)];
        const auto& cost = price.modes[static_cast<std::size_t>(mode)];
        if (!cost.has_value() || !MayChoose(price, mode)) {
          broken.Add(StagePath(s) + ".joint.chunks", "must compute again only what can be, and what may be chosen");
          return sums;
        }
        const int64_t later = joint_.order == PipelineOrder::kZeroBubble ? price.weights_ps : 0;
        times.forward_ps += price.forward_ps;
        times.backward_ps += price.backward_ps - later + cost->extra_ps;
        times.weights_ps += later;
        activations = SumOfBytes(activations, s, cost->kept_bytes, price.weights_kept_bytes);
        sums.is_any_full = sums.is_any_full || mode == LayerRecomputation::kFull;
        AddLayer(price, sums);
        if (layer == 0 || layer + 1 == num_layers()) sums.ends += price.ends_bytes;
      }
      if (num_stages() == 1 && chunk.end_layer() == num_layers()) {
        KeepTiedTableOnce(PriceOf(prices, num_layers() - 1), sums);
      }
      sums.activations = std::max(sums.activations, activations);
      sums.forward += times.forward_ps;
      sums.backward += times.backward_ps + times.weights_ps;
      AddTransfers(s, chunk, prices, times, sums);
    }
    return sums;
  }

  // Layers that have none of the modes that may be chosen take any that they have.
  bool MayChoose(const LayerPrice& price, LayerRecomputation mode) const {
    const std::vector<LayerRecomputation>& listed = choices_.settings().recomputation;
    const auto exists = [&](LayerRecomputation other) {
      return price.modes[static_cast<std::size_t>(other)].has_value();
    };
    return listed.empty() || std::none_of(listed.begin(), listed.end(), exists) ||
           std::find(listed.begin(), listed.end(), mode) != listed.end();
  }

  static void AddLayer(const LayerPrice& price, Sums& sums) {
    sums.workspace = std::max(sums.workspace, price.workspace_bytes);
    sums.gathered = std::max(sums.gathered, price.gathered_bytes);
    sums.again = std::max(sums.again, price.recomputed_bytes);
    sums.state_parameters += price.parameter_bytes;
    sums.gradients += price.gradient_bytes;
    sums.optimizer += price.optimizer_bytes;
    sums.step_end += price.step_end_ps;
    sums.measured += price.is_measured ? 1 : 0;
  }

  static void KeepTiedTableOnce(const LayerPrice& head, Sums& sums) {
    sums.state_parameters -= head.shared.parameter_bytes;
    sums.gradients -= head.shared.gradient_bytes;
    sums.optimizer -= head.shared.optimizer_bytes;
    sums.step_end -= head.shared.step_end_ps;
  }

  const LayerPrice& PriceOf(const std::vector<LayerPrice>& prices, int64_t layer) const {
    return prices[static_cast<std::size_t>(choices_.pricer.kinds()[static_cast<std::size_t>(layer)])];
  }

  void AddTransfers(std::size_t s, const JointChunk& chunk, const std::vector<LayerPrice>& prices,
                    verify::StepRun& times, Sums& sums) const {
    const int64_t received = chunk.first_layer > 0 ? PriceOf(prices, chunk.first_layer - 1).output_bytes : 0;
    const int64_t sent = chunk.end_layer() < num_layers() ? PriceOf(prices, chunk.end_layer() - 1).output_bytes : 0;
    sums.buffers = std::max(sums.buffers, 2 * received + 2 * sent);
    const auto count = static_cast<std::size_t>(num_stages());
    const int64_t front = verify::BothWaysPs(received, LinkBetween((s + count - 1) % count, s));
    const int64_t back = verify::BothWaysPs(sent, LinkBetween(s, (s + 1) % count));
    sums.received = std::min(sums.received + front, kLongestStepPs);
    sums.transfers = std::min(sums.transfers + front + back, kLongestStepPs);
    times.forward_ps += (front + back) / 2;
    times.backward_ps += (front + back) / 2;
  }

  verify::MachineLink LinkBetween(std::size_t a, std::size_t b) const {
    const std::vector<DeviceId>& from = choices_.placement.stages[a].devices;
    const std::vector<DeviceId>& to = choices_.placement.stages[b].devices;
    if (network_.exists()) return network_.BetweenStages(from, to);
    return machines_.LinkOf(
        std::max({machines_.RingOf(from), machines_.RingOf(to), machines_.RingOf({from.front(), to.front()})}));
  }

  // Of one stage there is nothing to add up.
  int64_t SumOfEndsPs(int64_t bytes) const {
    if (num_stages() == 1) return 0;
    return verify::OneWayPs(bytes, LinkBetween(0, static_cast<std::size_t>(num_stages()) - 1));
  }

  void FillIn(std::size_t s, const Sums& sums) {
    JointStage& to = joint_.stages[s];
    to.in_flight = static_cast<int32_t>(InFlightOf(s));
    to.forward = Picoseconds(sums.forward);
    to.backward = Picoseconds(sums.backward);
    to.transfers = Picoseconds(sums.transfers);
    to.received = Picoseconds(sums.received);
    to.step_end = Picoseconds(std::min(sums.step_end + SumOfEndsPs(sums.ends), kLongestStepPs));
    to.measured_layers = sums.measured;
    to.memory = {.parameters = sums.state_parameters + 2 * sums.gathered,
                 .gradients = sums.gradients,
                 .optimizer = sums.optimizer,
                 .activations = sums.activations,
                 .workspace = sums.workspace + sums.buffers + (sums.is_any_full ? sums.again : 0),
                 .reserved = choices_.problem.memory_model.reserved_bytes};
    Stage& stage = plan_.stages.emplace_back();
    stage.operators = choices_.placement.stages[s].operators;
    std::sort(stage.operators.begin(), stage.operators.end());
    stage.compute = to.forward + to.backward;
    stage.communication_in = to.received;
    stage.communication_out = to.transfers - to.received;
    stage.allreduce = to.step_end;
    stage.load = stage.compute + to.transfers;
    stage.memory_bytes = to.memory.total();
    stage.in_flight_micro_batches = to.in_flight;
    int32_t rank = 0;
    for (const DeviceId device : choices_.placement.stages[s].devices) {
      stage.replicas.push_back({.device = device, .copy = rank, .load = stage.load});
      ++rank;
    }
  }

  void CheckMemory() {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const Stage& stage = plan_.stages[s];
      for (const Replica& replica : stage.replicas) {
        const std::optional<int64_t> limit = UsableMemoryBytes(choices_.cluster, replica.device);
        if (!limit.has_value() || stage.memory_bytes <= *limit) continue;
        violations_.Add(StagePath(s) + ".memory_bytes",
                        absl::StrCat("must be at most ", *limit, ", is ", stage.memory_bytes));
        break;
      }
    }
  }

  // False: it is longer than what is costed.
  bool AddClosedForm() {
    int64_t sum = 0;
    int64_t longest = 0;
    int64_t end = 0;
    for (const JointStage& stage : joint_.stages) {
      const int64_t time = (stage.forward + stage.backward + stage.transfers).count();
      sum = std::min(sum + time, kLongestStepPs);
      longest = std::max(longest, time);
      end = std::max(end, stage.step_end.count());
    }
    verify::StepRun most;
    for (const auto& [run, times] : runs_) {
      most.forward_ps = std::max(most.forward_ps, times.forward_ps);
      most.backward_ps = std::max(most.backward_ps, times.backward_ps);
      most.weights_ps = std::max(most.weights_ps, times.weights_ps);
    }
    const int64_t step =
        joint_.order == PipelineOrder::kInterleaved
            ? verify::SlotsPs(Runs(), num_stages(), joint_.micro_batches)
            : verify::ClosedFormPs({sum, longest, most}, joint_.order, num_stages(), joint_.micro_batches);
    if (step > kLongestStepPs - std::min(end, kLongestStepPs)) {
      violations_.Add("plan.joint", "must take less than 320 hours for a step");
      return false;
    }
    joint_.step = Picoseconds(end + step);
    plan_.objective = joint_.step;
    return true;
  }

  std::vector<verify::StepRun> Runs() const {
    std::vector<verify::StepRun> runs;
    runs.reserve(runs_.size());
    for (const auto& [run, times] : runs_) runs.push_back(times);
    return runs;
  }

  void Simulate() {
    const std::vector<verify::StepRun> runs = Runs();
    if (static_cast<int64_t>(runs.size()) * joint_.micro_batches > kMaxTasks) return;
    const std::vector<int64_t> ends = verify::EndsOfStep(runs, joint_.order, num_stages(), joint_.micro_batches);
    int64_t simulated = 0;
    for (std::size_t s = 0; s < ends.size(); ++s) {
      simulated = std::max(simulated, ends[s] + joint_.stages[s].step_end.count());
    }
    joint_.simulated_step = Picoseconds(simulated);
  }

  void AddDevices() {
    std::map<DeviceId, std::size_t> stage_of;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      for (const Replica& replica : plan_.stages[s].replicas) stage_of[replica.device] = s;
    }
    for (const DeviceId device : usable_) {
      DeviceUsage& usage = plan_.devices.emplace_back();
      usage.device = device;
      usage.memory_limit_bytes = UsableMemoryBytes(choices_.cluster, device);
      const auto found = stage_of.find(device);
      if (found == stage_of.end()) continue;
      usage.stages.emplace_back(found->second);
      usage.load = plan_.stages[found->second].load;
      usage.memory_bytes = plan_.stages[found->second].memory_bytes;
    }
  }

  // Measured times may all be 0.
  double StepSeconds() const {
    return static_cast<double>(std::max<int64_t>(joint_.step.count(), 1)) / kPicosecondsPerSecond;
  }
  double SamplesPerSecond() const { return static_cast<double>(choices_.settings().global_batch) / StepSeconds(); }

  void AddRates() {
    joint_.tokens_per_second = SamplesPerSecond() * static_cast<double>(choices_.pricer.tokens_per_sample());
    double used = 0;
    double all = 0;
    for (const DeviceUsage& usage : plan_.devices) {
      const DeviceClass& device_class = choices_.cluster.class_of(usage.device);
      if (device_class.kind != DeviceKind::kAccelerator) continue;
      all += device_class.peak_flops;
      if (!usage.stages.empty()) used += device_class.peak_flops;
    }
    const double flops = SamplesPerSecond() * choices_.pricer.flops_per_sample();
    joint_.peak_share_in_use = used > 0 ? flops / used : 0;
    joint_.peak_share = all > 0 ? flops / all : 0;
  }

  void AddEstimate() {
    Estimate& estimate = plan_.estimate;
    estimate.step_time = joint_.step;
    estimate.micro_batches_per_second = static_cast<double>(joint_.micro_batches) / StepSeconds();
    estimate.samples_per_second = SamplesPerSecond();
    double busy = 0;
    double devices = 0;
    for (const Stage& stage : plan_.stages) {
      const auto count = static_cast<double>(stage.replicas.size());
      const double work = static_cast<double>(stage.load.count()) * static_cast<double>(joint_.micro_batches);
      busy += count * (work + static_cast<double>(stage.allreduce.count()));
      devices += count;
      estimate.peak_memory_bytes = std::max(estimate.peak_memory_bytes, stage.memory_bytes);
    }
    estimate.bubble_fraction = std::max(0.0, 1 - busy / (devices * StepSeconds() * kPicosecondsPerSecond));
    estimate.estimated_operators = static_cast<int32_t>(choices_.graph.operators.size());
  }

  const verify::Machines machines_;
  // Remembers ways.
  mutable verify::StageNetwork network_;
  // Ascending.
  const std::vector<DeviceId> usable_;
  const verify::JointChoices choices_;
  // Used for graphs without a transformer.
  const verify::OperatorCosts operator_costs_;
  const verify::MeasuredRows measured_;
  Violations& violations_;
  Plan plan_;
  JointPlan joint_;
  // In the order of the layers.
  std::map<int64_t, verify::StepRun> runs_;
};

}  // namespace

std::optional<Plan> CostJointPlacement(const OperatorGraph& graph, const Cluster& cluster, const LayerPricer& pricer,
                                       const ResolvedProblem& problem, const Placement& placement,
                                       Violations& violations) {
  return JointCosting(graph, cluster, pricer, problem, placement, violations).Run();
}

}  // namespace planwright
