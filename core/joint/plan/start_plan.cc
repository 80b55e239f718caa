#include "core/joint/plan/start_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/polling.h"
#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

template <typename Value, typename Item>
bool Holds(const std::vector<Value>& list, Item item) {
  return std::find(list.begin(), list.end(), static_cast<Value>(item)) != list.end();
}

// Returns the plan without what follows from its choices.
JointPlan ChoicesOf(const JointPlan& plan) {
  JointPlan choices{.order = plan.order,
                    .chunks = plan.chunks,
                    .sharding = plan.sharding,
                    .per_stage = plan.per_stage,
                    .micro_batch_samples = plan.micro_batch_samples};
  for (const JointStage& stage : plan.stages) {
    JointStage& own = choices.stages.emplace_back();
    own.chunks = stage.chunks;
    own.degrees = stage.degrees;
  }
  return choices;
}

class StartPlanner {
 public:
  StartPlanner(const JointStart& start, const JointRequest& request, Poller& poller)
      : start_{ChoicesOf(start.plan), start.classes, start.devices},
        request_(request),
        settings_(request.settings),
        poller_(poller),
        row_(request.cluster) {}

  std::optional<StartPlan> Run() {
    if (settings_.first_layers_alike || !MayChoose(start_.plan)) return std::nullopt;
    if (std::optional<JointPlan> given = AsGiven(); given.has_value()) return StartPlan{*std::move(given), true};
    if (start_.plan.per_stage) return std::nullopt;
    const auto most = static_cast<int32_t>(start_.plan.stages.size());
    const std::vector<int32_t> data_degrees = DataDegrees();
    for (int32_t stages = 1; stages <= most; ++stages) {
      if (settings_.num_stages.value_or(stages) != stages) continue;
      for (const int32_t data : data_degrees) {
        if (poller_.ShouldStopNow()) return best_;
        TryAdapted(stages, data);
      }
    }
    return best_;
  }

 private:
  // Whether the settings have what holds for all stages; degrees of data and micro-batches are looked at later.
  bool MayChoose(const JointPlan& plan) const {
    const auto has_degrees = [&](const JointStage& stage) {
      return Holds(settings_.tensor_degrees, stage.degrees.tensor) &&
             Holds(settings_.context_degrees, stage.degrees.context) &&
             Holds(settings_.expert_degrees, stage.degrees.expert);
    };
    // What is searched, and so bounded.
    if (plan.per_stage && plan.order != PipelineOrder::kOneFOneB) return false;
    const bool is_interleaved = plan.order == PipelineOrder::kInterleaved;
    if (is_interleaved && (plan.chunks < 2 || plan.chunks > kMostChunks)) return false;
    return Holds(settings_.orders, plan.order) && Holds(settings_.shardings, plan.sharding) &&
           (!plan.per_stage || settings_.per_stage) && std::all_of(plan.stages.begin(), plan.stages.end(), has_degrees);
  }

  bool MayHaveData(int64_t data) const { return settings_.data_degrees.empty() || Holds(settings_.data_degrees, data); }

  // Ascending: those that may be chosen, divide the batch and, in one stage, fit the row.
  std::vector<int32_t> DataDegrees() const {
    const int64_t samples = start_.plan.micro_batch_samples;
    std::vector<int32_t> found;
    if (samples < 1 || settings_.global_batch % samples != 0) return found;
    const int64_t micro_batches = settings_.global_batch / samples;
    for (int64_t data = 1; data <= std::min(row_.size(), micro_batches); ++data) {
      if (micro_batches % data == 0 && MayHaveData(data)) found.push_back(static_cast<int32_t>(data));
    }
    return found;
  }

  void TryAdapted(int32_t num_stages, int32_t data) {
    Degrees degrees = start_.plan.stages.front().degrees;
    degrees.data = data;
    if (degrees.devices() * num_stages > row_.size()) return;
    JointPlan plan{.order = start_.plan.order,
                   .chunks = start_.plan.chunks,
                   .sharding = start_.plan.sharding,
                   .micro_batch_samples = start_.plan.micro_batch_samples};
    plan.stages.resize(static_cast<std::size_t>(num_stages));
    for (JointStage& stage : plan.stages) stage.degrees = degrees;
    for (const bool again : {false, true}) {
      for (JointStage& stage : plan.stages) stage.chunks.clear();
      JointPlan candidate = plan;
      if (!DivideLayers(again, candidate) || !Finish(candidate)) continue;
      if (!best_.has_value() || candidate.step < best_->plan.step) best_ = {std::move(candidate), false};
      return;
    }
  }

  // Run k of n ends where the given runs have k / n of their number behind them.
  bool DivideLayers(bool again, JointPlan& plan) const {
    std::vector<int32_t> given_ends{0};
    std::vector<LayerRecomputation> modes;
    for (int32_t chunk = 0; chunk < start_.plan.chunks; ++chunk) {
      for (const JointStage& stage : start_.plan.stages) {
        const JointChunk& run = stage.chunks[static_cast<std::size_t>(chunk)];
        given_ends.push_back(run.end_layer());
        modes.insert(modes.end(), run.recomputation.begin(), run.recomputation.end());
      }
    }
    // The ends of the model are kept as they are.
    for (std::size_t layer = 1; again && layer + 1 < modes.size(); ++layer) modes[layer] = LayerRecomputation::kFull;
    const auto given = static_cast<int64_t>(given_ends.size()) - 1;
    const int64_t runs = static_cast<int64_t>(plan.stages.size()) * plan.chunks;
    int32_t first = 0;
    for (int64_t run = 1; run <= runs; ++run) {
      const int64_t at = run * given / runs;
      const int64_t part = run * given % runs;
      const int64_t low = given_ends[static_cast<std::size_t>(at)];
      const int64_t high = given_ends[static_cast<std::size_t>(std::min(at + 1, given))];
      const auto end = static_cast<int32_t>(low + (high - low) * part / runs);
      if (end <= first) return false;
      plan.stages[static_cast<std::size_t>((run - 1) % static_cast<int64_t>(plan.stages.size()))].chunks.push_back(
          {first, {modes.begin() + first, modes.begin() + end}});
      first = end;
    }
    return true;
  }

  // With all choices: where it lies, or laid out again, which may put other boundaries between nodes. The faster one.
  std::optional<JointPlan> AsGiven() const {
    JointPlan own = start_.plan;
    const bool has_own = Divide(own) && PlaceAsGiven(own) && Cost(own);
    JointPlan packed = start_.plan;
    const bool has_packed = Finish(packed);
    if (has_own && (!has_packed || own.step <= packed.step)) return own;
    return has_packed ? std::optional(std::move(packed)) : std::nullopt;
  }

  // Micro-batches, places and costs; false: it does not fit.
  bool Finish(JointPlan& plan) const { return Divide(plan) && (Place(true, plan) || Place(false, plan)) && Cost(plan); }

  // False: a layer has no price there, or it does not fit.
  bool Cost(JointPlan& plan) const {
    if (!HasPrices(plan)) return false;
    CostJointPlan(request_.pricer, row_, request_.reserved_bytes, plan);
    return IsHeld(row_, request_.reserved_bytes, plan);
  }

  bool Divide(JointPlan& plan) const {
    const auto num_stages = static_cast<int64_t>(plan.stages.size());
    if (settings_.num_stages.value_or(num_stages) != num_stages) return false;
    const int64_t data = plan.per_stage ? 1 : plan.stages.front().degrees.data;
    for (const JointStage& stage : plan.stages) {
      const int64_t own = stage.degrees.data;
      const bool divides = !plan.per_stage || plan.micro_batch_samples % own == 0;
      const int64_t each = plan.per_stage ? plan.micro_batch_samples / own : plan.micro_batch_samples;
      if (!divides || !MayHaveData(own) || !Holds(settings_.micro_batch_samples, each)) return false;
    }
    if (plan.micro_batch_samples > settings_.global_batch || data > settings_.global_batch) return false;
    if (settings_.global_batch % (plan.micro_batch_samples * data) != 0) return false;
    plan.micro_batches = settings_.global_batch / (plan.micro_batch_samples * data);
    if (settings_.micro_batches.value_or(plan.micro_batches) != plan.micro_batches) return false;
    if (plan.order == PipelineOrder::kInterleaved) return num_stages >= 2 && plan.micro_batches % num_stages == 0;
    return plan.order != PipelineOrder::kZeroBubble || plan.micro_batches >= num_stages;
  }

  // Its own blocks, if they are blocks of this row, one behind the other or one before the other.
  bool PlaceAsGiven(JointPlan& plan) const {
    if (start_.devices.size() != plan.stages.size()) return false;
    bool is_forwards = true;
    bool is_backwards = true;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const std::optional<int32_t> slot = OwnSlot(s);
      if (!slot.has_value()) return false;
      plan.stages[s].first_slot = *slot;
      if (s == 0) continue;
      is_forwards = is_forwards && IsBehind(plan.stages[s - 1], plan.stages[s]);
      is_backwards = is_backwards && IsBehind(plan.stages[s], plan.stages[s - 1]);
    }
    return is_forwards || is_backwards;
  }

  bool IsBehind(const JointStage& before, const JointStage& behind) const {
    const TrainingClass& part = row_.At(row_.ClassOf(before.first_slot));
    return before.first_slot + part.TakenBy(before.degrees.devices()) <= behind.first_slot;
  }

  // Where the devices of a stage begin, if they are all there and a block may lie there.
  std::optional<int32_t> OwnSlot(std::size_t s) const {
    const std::vector<DeviceId>& own = start_.devices[s];
    const std::vector<DeviceId>& devices = request_.cluster.devices;
    JointStage stage = start_.plan.stages[s];
    if (std::ssize(own) != stage.degrees.devices()) return std::nullopt;
    const auto first = std::find(devices.begin(), devices.end(), own.front());
    if (first == devices.end()) return std::nullopt;
    stage.first_slot = static_cast<int32_t>(first - devices.begin());
    const int64_t place =
        row_.NextBlock(row_.ClassOf(stage.first_slot), stage.first_slot, std::ssize(own), /*is_closest=*/false);
    const bool is_block = place == stage.first_slot && row_.DevicesOf(stage) == own;
    return is_block ? std::optional(stage.first_slot) : std::nullopt;
  }

  // One block behind the other, each on the class that its stage had, else on the first that has room.
  // `in_racks`: blocks that could be in one rack, pod, ... are.
  bool Place(bool in_racks, JointPlan& plan) const {
    int64_t slot = 0;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const int64_t devices = plan.stages[s].degrees.devices();
      const std::optional<DeviceClassId> wanted =
          plan.stages.size() == start_.classes.size() ? start_.classes[s] : std::nullopt;
      int64_t place = -1;
      for (int32_t number = std::max(0, row_.ClassOf(slot)); number < row_.num_classes() && place < 0; ++number) {
        const bool is_wanted = !wanted.has_value() || row_.At(number).device_class == *wanted;
        if (is_wanted) place = row_.NextBlock(number, slot, devices, in_racks);
      }
      if (place < 0) return false;
      plan.stages[s].first_slot = static_cast<int32_t>(place);
      slot = place + row_.At(row_.ClassOf(place)).TakenBy(devices);
    }
    return true;
  }

  // Every layer has a price and the mode that it is given; that may be chosen, or the layer has none that may.
  bool HasPrices(const JointPlan& plan) const {
    for (const JointStage& stage : plan.stages) {
      const int64_t samples = plan.micro_batch_samples / (plan.per_stage ? stage.degrees.data : 1);
      const std::vector<LayerPrice> prices = request_.pricer.PriceFor(
          QueryOn(request_.cluster, row_.At(row_.ClassOf(stage.first_slot)),
                  row_.TierOf(stage.first_slot, stage.degrees.devices()), stage.degrees, samples, plan.sharding),
          plan.per_stage);
      if (prices.empty()) return false;
      for (const JointChunk& chunk : stage.chunks) {
        for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
          const auto kind = static_cast<std::size_t>(request_.pricer.kinds()[static_cast<std::size_t>(layer)]);
          const LayerRecomputation mode = chunk.recomputation[static_cast<std::size_t>(layer - chunk.first_layer)];
          if (!HasMode(prices[kind], mode)) return false;
        }
      }
    }
    return true;
  }

  bool HasMode(const LayerPrice& price, LayerRecomputation mode) const {
    const auto exists = [&](LayerRecomputation other) {
      return price.modes[static_cast<std::size_t>(other)].has_value();
    };
    const std::vector<LayerRecomputation>& allowed = settings_.recomputation;
    return exists(mode) && (Holds(allowed, mode) || std::none_of(allowed.begin(), allowed.end(), exists));
  }

  const JointStart start_;
  const JointRequest& request_;
  const JointSettings& settings_;
  Poller& poller_;
  const DeviceRow row_;
  std::optional<StartPlan> best_;
};

}  // namespace

std::optional<StartPlan> StartFrom(const JointStart& start, const JointRequest& request, const SolveLimits& limits) {
  Poller poller(limits);
  return StartPlanner(start, request, poller).Run();
}

}  // namespace planwright
