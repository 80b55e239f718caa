#include "core/joint/cost/stage_cost.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/units.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/step_simulation.h"
#include "core/joint/slots/chunk_slots.h"

namespace planwright {
namespace {

// Sums with what else a device holds leave 63 bits.
constexpr int64_t kMostHeld = int64_t{1} << 61;

// What both ends of two boundaries take leaves 63 bits.
constexpr int64_t kMostOneWayPs = int64_t{1} << 58;

// One stage while its chunks are added up.
class StageSum {
 public:
  // `held`: by the stage.
  StageSum(const LayerPricer& pricer, const std::vector<LayerPrice>& prices, PipelineOrder order,
           const HeldMicroBatches& held)
      : pricer_(pricer), prices_(prices), is_split_(order == PipelineOrder::kZeroBubble), held_(held) {}

  void Add(const JointChunk& chunk) {
    ChunkCost cost;
    int64_t held = 0;
    const int32_t last = static_cast<int32_t>(pricer_.kinds().size()) - 1;
    for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
      const LayerPrice& price = PriceOf(layer);
      const LayerRecomputation mode = chunk.recomputation[static_cast<std::size_t>(layer - chunk.first_layer)];
      const auto& [extra_ps, kept] = price.InMode(mode);
      const int64_t later = is_split_ ? price.weights_ps : 0;
      cost.forward_ps += price.forward_ps;
      cost.backward_ps += price.backward_ps - later + extra_ps;
      cost.weights_ps += later;
      cost.kept_bytes += kept;
      cost.changing_bytes += std::max(kept, price.weights_kept_bytes);
      cost.weights_kept_bytes += price.weights_kept_bytes;
      held = std::min(held + held_.BytesOf(kept, price.weights_kept_bytes), kMostHeld);
      AddState(price);
      if (layer == 0 || layer == last) ends_bytes_ += price.ends_bytes;
      if (layer == last) shared_ = price.shared;
      any_full_ = any_full_ || mode == LayerRecomputation::kFull;
    }
    most_held_ = std::max(most_held_, held);
    const bool is_last = chunk.end_layer() == last + 1;
    buffers_ =
        std::max(buffers_, BoundaryBufferBytes(chunk.first_layer > 0 ? PriceOf(chunk.first_layer - 1).output_bytes : 0,
                                               is_last ? 0 : PriceOf(chunk.end_layer() - 1).output_bytes));
    chunks_.push_back(cost);
  }

  // `ends`: the link between the first and the last stage; nullopt: they are one.
  void Finish(int64_t reserved_bytes, const std::optional<TrainingLink>& ends, JointStage& stage) const {
    int64_t forward = 0;
    int64_t backward = 0;
    for (const ChunkCost& cost : chunks_) {
      forward += cost.forward_ps;
      backward += cost.backward_ps + cost.weights_ps;
    }
    stage.forward = Picoseconds(forward);
    stage.backward = Picoseconds(backward);
    const LayerPrice::Shared twice = ends.has_value() ? LayerPrice::Shared{} : shared_;
    const int64_t step_end = step_end_ - twice.step_end_ps;
    stage.step_end = Picoseconds(SaturatingAdd(step_end, ends.has_value() ? OneWayPs(ends_bytes_, *ends) : 0));
    stage.in_flight = static_cast<int32_t>(held_.count());
    stage.measured_layers = measured_layers_;
    stage.memory = {.parameters = parameters_ - twice.parameter_bytes + 2 * once_.gathered_bytes,
                    .gradients = gradients_ - twice.gradient_bytes,
                    .optimizer = optimizer_ - twice.optimizer_bytes,
                    .activations = most_held_,
                    .workspace = once_.workspace_bytes + (any_full_ ? once_.recomputed_bytes : 0) + buffers_,
                    .reserved = reserved_bytes};
  }

  const std::vector<ChunkCost>& chunks() const { return chunks_; }
  const LayerPrice& PriceOf(int32_t layer) const {
    return prices_[static_cast<std::size_t>(pricer_.kinds()[static_cast<std::size_t>(layer)])];
  }

 private:
  void AddState(const LayerPrice& price) {
    parameters_ += price.parameter_bytes;
    gradients_ += price.gradient_bytes;
    optimizer_ += price.optimizer_bytes;
    once_.Add(price);
    step_end_ += price.step_end_ps;
    measured_layers_ += price.is_measured ? 1 : 0;
  }

  const LayerPricer& pricer_;
  const std::vector<LayerPrice>& prices_;
  bool is_split_;
  HeldMicroBatches held_;
  // Without transfers.
  std::vector<ChunkCost> chunks_;
  int64_t parameters_ = 0;
  int64_t gradients_ = 0;
  int64_t optimizer_ = 0;
  HeldOnce once_;
  int64_t step_end_ = 0;
  // Of the first and the last layer of the model.
  int64_t ends_bytes_ = 0;
  LayerPrice::Shared shared_ = {};
  int64_t most_held_ = 0;
  int64_t buffers_ = 0;
  int32_t measured_layers_ = 0;
  bool any_full_ = false;
};

}  // namespace

int64_t HeldMicroBatches::BytesOf(int64_t kept_bytes, int64_t weights_kept_bytes) const {
  int64_t bytes = SaturatingMultiply(whole, kept_bytes);
  bytes = SaturatingAdd(bytes, SaturatingMultiply(deferred, weights_kept_bytes));
  bytes = SaturatingAdd(bytes, SaturatingMultiply(changing, std::max(kept_bytes, weights_kept_bytes)));
  return std::min(bytes, kMostHeld);
}

HeldMicroBatches HeldBy(PipelineOrder order, int64_t micro_batches, int64_t from_end, int64_t num_stages,
                        int64_t chunks) {
  switch (order) {
    case PipelineOrder::kOneFOneB:
      return {.whole = std::min(micro_batches, from_end)};
    case PipelineOrder::kGpipe:
      return {.whole = micro_batches};
    case PipelineOrder::kZeroBubble:
      return {.whole = from_end - 1, .deferred = num_stages - from_end, .changing = 1};
    case PipelineOrder::kInterleaved:
      break;
  }
  return {.whole = std::min(micro_batches * chunks, 2 * (from_end - 1) + (chunks - 1) * num_stages + 1)};
}

int64_t BoundaryBufferBytes(int64_t input_bytes, int64_t output_bytes) { return 2 * (input_bytes + output_bytes); }

int64_t OneWayPs(int64_t bytes, const TrainingLink& link) {
  if (bytes == 0) return 0;
  return std::min(SaturatingAdd(TransferTime(bytes, link.bytes_per_second).count(), link.latency_ps), kMostOneWayPs);
}

int64_t TransferPs(int64_t bytes, const TrainingLink& link) { return 2 * OneWayPs(bytes, link); }

int64_t OneFOneBStepPs(int64_t sum_ps, int64_t longest_ps, int64_t end_ps, int64_t micro_batches) {
  return SaturatingAdd(SaturatingAdd(sum_ps, SaturatingMultiply(micro_batches - 1, longest_ps)), end_ps);
}

int64_t GpipeStepPs(int64_t sum_ps, const LongestPasses& longest, int64_t end_ps, int64_t micro_batches) {
  return OneFOneBStepPs(sum_ps, longest.forward_ps + longest.backward_ps, end_ps, micro_batches);
}

int64_t ZeroBubbleStepPs(const LongestPasses& longest, int64_t end_ps, int64_t micro_batches, int64_t num_stages) {
  const auto [forward, backward, weights] = longest;
  const int64_t bubble = std::max({forward, backward, forward + backward - weights});
  return SaturatingAdd(SaturatingAdd(SaturatingMultiply(micro_batches, forward + backward + weights),
                                     SaturatingMultiply(num_stages - 1, bubble)),
                       end_ps);
}

int64_t StepPs(PipelineOrder order, const StepSums& sums, int64_t micro_batches, int64_t num_stages) {
  const auto& [sum, longest_stage, longest, end] = sums;
  switch (order) {
    case PipelineOrder::kOneFOneB:
      return OneFOneBStepPs(sum, longest_stage, end, micro_batches);
    case PipelineOrder::kGpipe:
      return GpipeStepPs(sum, longest, end, micro_batches);
    case PipelineOrder::kZeroBubble:
      return ZeroBubbleStepPs(longest, end, micro_batches, num_stages);
    case PipelineOrder::kInterleaved:
      break;
  }
  return kMaxQuantity;
}

double SamplesPerSecond(int64_t global_batch, int64_t step_ps) {
  const double seconds = static_cast<double>(std::max<int64_t>(step_ps, 1)) / kPicosecondsPerSecond;
  return static_cast<double>(global_batch) / seconds;
}

DeviceRow::DeviceRow(const TrainingCluster& cluster) : cluster_(cluster), starts_{0} {
  for (const TrainingClass& part : cluster.classes) starts_.push_back(starts_.back() + part.devices());
}

int32_t DeviceRow::ClassOf(int64_t slot) const {
  int32_t number = 0;
  while (number < num_classes() && slot >= EndOf(number)) ++number;
  return number;
}

int64_t DeviceRow::RestOfNode(int64_t slot) const {
  const int32_t number = ClassOf(slot);
  if (number == num_classes()) return 0;
  const int64_t size = At(number).devices_per_node;
  const int64_t used = (slot - StartOf(number)) % size;
  return used == 0 ? 0 : size - used;
}

int32_t DeviceRow::TierBetween(int64_t a, int64_t b) const {
  const int32_t number = ClassOf(a);
  const int32_t other = ClassOf(b);
  if (At(number).device_class != At(other).device_class) return cluster_.num_tiers() - 1;
  const int64_t size = At(number).devices_per_node;
  if (number == other && (a - StartOf(number)) / size == (b - StartOf(number)) / size) return 0;
  int32_t tier = 1;
  for (const TrainingGroup& group : cluster_.groups) {
    const auto number_of = [&](int64_t slot) {
      const auto device = static_cast<int64_t>(cluster_.devices[static_cast<std::size_t>(slot)].index());
      return device / cluster_.node_span / group.nodes;
    };
    if (number_of(a) == number_of(b)) return tier;
    ++tier;
  }
  return tier;
}

int32_t DeviceRow::TierOf(int64_t first, int64_t count) const {
  int32_t tier = TierBetween(first, first + count - 1);
  const int64_t size = At(ClassOf(first)).devices_per_node;
  for (int64_t slot = first + size; slot < first + count && tier + 1 < cluster_.num_tiers(); slot += size) {
    tier = std::max(tier, TierBetween(first, slot));
  }
  return tier;
}

std::vector<DeviceId> DeviceRow::DevicesOf(const JointStage& stage) const {
  const TrainingClass& part = At(ClassOf(stage.first_slot));
  const int64_t per_node = part.PerNodeOf(stage.degrees);
  std::vector<DeviceId> devices;
  devices.reserve(static_cast<std::size_t>(stage.degrees.devices()));
  for (int64_t rank = 0; rank < stage.degrees.devices(); ++rank) {
    const int64_t slot = stage.first_slot + rank / per_node * part.devices_per_node + rank % per_node;
    devices.push_back(cluster_.devices[static_cast<std::size_t>(slot)]);
  }
  return devices;
}

int64_t DeviceRow::NextBlock(int32_t number, int64_t slot, int64_t devices, bool is_closest) const {
  const TrainingClass& part = At(number);
  const int32_t most = is_closest ? cluster_.LeastTierOf(part, devices) : cluster_.num_tiers();
  slot = std::max(slot, StartOf(number));
  for (const int64_t taken = part.TakenBy(devices);; slot += part.devices_per_node) {
    const int64_t rest = RestOfNode(slot);
    if (devices > part.devices_per_node || rest < devices) slot += rest;
    if (slot + taken > EndOf(number)) return -1;
    if (TierOf(slot, devices) <= most) return slot;
  }
}

namespace {

// A joint plan while its stages are costed one after the other.
class PlanCosting {
 public:
  PlanCosting(const LayerPricer& pricer, const DeviceRow& row, int64_t reserved_bytes, JointPlan& plan)
      : pricer_(pricer),
        row_(row),
        reserved_bytes_(reserved_bytes),
        plan_(plan),
        num_stages_(static_cast<int64_t>(plan.stages.size())) {
    if (num_stages_ > 1) ends_ = LinkBetween(row, plan.stages.front(), plan.stages.back());
  }

  void Run() {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      if (AddStage(s)) continue;
      plan_.step = kBeyondPrices;
      return;
    }
    const bool is_interleaved = plan_.order == PipelineOrder::kInterleaved;
    plan_.step = Picoseconds(is_interleaved ? InterleavedStepPs()
                                            : StepPs(plan_.order, sums_, plan_.micro_batches, num_stages_));
  }

  PipelineTimes TakeTimes() { return std::move(times_); }
  std::vector<std::vector<ChunkCost>> TakeChunks() { return std::move(chunks_); }

 private:
  int64_t InterleavedStepPs() const {
    std::vector<int64_t> forward;
    std::vector<int64_t> backward;
    for (std::size_t chunk = 0; chunk < static_cast<std::size_t>(plan_.chunks); ++chunk) {
      for (const std::vector<ChunkTimes>& stage : times_) {
        forward.push_back(stage[chunk].forward_ps);
        backward.push_back(stage[chunk].backward_ps);
      }
    }
    const SlotShape shape{num_stages_, plan_.chunks, plan_.micro_batches};
    return SaturatingAdd(SaturatingAdd(SlotsPs(forward, shape), SlotsPs(backward, shape)), sums_.end_ps);
  }

  // False: its layers have no price.
  bool AddStage(std::size_t s) {
    JointStage& stage = plan_.stages[s];
    if (!HavePrices(stage)) return false;
    const int64_t from_end = num_stages_ - static_cast<int64_t>(s);
    StageSum total(pricer_, PricesOf(stage), plan_.order,
                   HeldBy(plan_.order, plan_.micro_batches, from_end, num_stages_, plan_.chunks));
    for (const JointChunk& chunk : stage.chunks) total.Add(chunk);
    total.Finish(reserved_bytes_, ends_, stage);
    std::vector<ChunkCost>& costs = chunks_.emplace_back(total.chunks());
    std::vector<ChunkTimes>& times = times_.emplace_back();
    int64_t transfers = 0;
    int64_t received = 0;
    for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
      costs[c].received_ps = ReceivedBy(s, stage.chunks[c], total);
      costs[c].sent_ps = SentBy(s, stage.chunks[c], total);
      const int64_t own = costs[c].received_ps + costs[c].sent_ps;
      received += costs[c].received_ps;
      transfers += own;
      times.push_back({costs[c].forward_ps + own / 2, costs[c].backward_ps + own - own / 2, costs[c].weights_ps});
      LongestPasses& longest = sums_.longest;
      longest.forward_ps = std::max(longest.forward_ps, times[c].forward_ps);
      longest.backward_ps = std::max(longest.backward_ps, times[c].backward_ps);
      longest.weights_ps = std::max(longest.weights_ps, times[c].weights_ps);
    }
    stage.transfers = Picoseconds(transfers);
    stage.received = Picoseconds(received);
    const int64_t time = (stage.forward + stage.backward + stage.transfers).count();
    sums_.sum_ps = SaturatingAdd(sums_.sum_ps, time);
    sums_.longest_ps = std::max(sums_.longest_ps, time);
    sums_.end_ps = std::max(sums_.end_ps, stage.step_end.count());
    return true;
  }

  bool HavePrices(const JointStage& stage) {
    const std::vector<LayerPrice>& prices = PricesOf(stage);
    if (prices.empty()) return false;
    return std::all_of(stage.chunks.begin(), stage.chunks.end(), [&](const JointChunk& chunk) {
      const auto first = pricer_.kinds().begin() + chunk.first_layer;
      return std::all_of(first, first + static_cast<std::ptrdiff_t>(chunk.recomputation.size()),
                         [&](int32_t kind) { return prices[static_cast<std::size_t>(kind)].can_run; });
    });
  }

  const std::vector<LayerPrice>& PricesOf(const JointStage& stage) {
    const PriceQuery query = StageQuery(row_, plan_, stage);
    if (prices_.empty() || query != priced_) prices_ = pricer_.PriceFor(query, plan_.per_stage);
    priced_ = query;
    return prices_;
  }

  // Time that one micro-batch's tensors at the front of the chunk take, both ways. SentBy: likewise behind it.
  int64_t ReceivedBy(std::size_t s, const JointChunk& chunk, const StageSum& total) const {
    if (chunk.first_layer == 0) return 0;
    const std::size_t count = plan_.stages.size();
    const TrainingLink link = LinkBetween(row_, plan_.stages[(s + count - 1) % count], plan_.stages[s]);
    return TransferPs(total.PriceOf(chunk.first_layer - 1).output_bytes, link);
  }
  int64_t SentBy(std::size_t s, const JointChunk& chunk, const StageSum& total) const {
    if (chunk.end_layer() == static_cast<int32_t>(pricer_.kinds().size())) return 0;
    const TrainingLink link = LinkBetween(row_, plan_.stages[s], plan_.stages[(s + 1) % plan_.stages.size()]);
    return TransferPs(total.PriceOf(chunk.end_layer() - 1).output_bytes, link);
  }

  const LayerPricer& pricer_;
  const DeviceRow& row_;
  int64_t reserved_bytes_;
  JointPlan& plan_;
  int64_t num_stages_;
  // Between the first and the last stage; nullopt: they are one.
  std::optional<TrainingLink> ends_;
  std::vector<LayerPrice> prices_;
  // The query that prices_ answer.
  PriceQuery priced_;
  PipelineTimes times_;
  std::vector<std::vector<ChunkCost>> chunks_;
  StepSums sums_;
};

}  // namespace

PriceQuery QueryOn(const TrainingCluster& cluster, const TrainingClass& part, int32_t tier, const Degrees& degrees,
                   int64_t samples, Sharding sharding) {
  return {.device_class = part.device_class,
          .degrees = degrees,
          .samples = samples,
          .sharding = sharding,
          .crosses_nodes = degrees.devices() > part.devices_per_node,
          .devices_per_node = static_cast<int32_t>(part.PerNodeOf(degrees)),
          .between = cluster.LinkOf(std::max(tier, 1)),
          .inside = cluster.inside};
}

PriceQuery StageQuery(const DeviceRow& row, const JointPlan& plan, const JointStage& stage) {
  const TrainingCluster& cluster = row.cluster();
  const int64_t samples = plan.micro_batch_samples / (plan.per_stage ? stage.degrees.data : 1);
  PriceQuery query =
      QueryOn(cluster, row.At(row.ClassOf(stage.first_slot)), row.TierOf(stage.first_slot, stage.degrees.devices()),
              stage.degrees, samples, plan.sharding);
  if (cluster.pairs == nullptr) return query;
  // As if tensor groups were nodes.
  const StageLinks links = LinksWithin(*cluster.pairs, row.DevicesOf(stage), stage.degrees);
  query.devices_per_node = stage.degrees.tensor;
  query.crosses_nodes = stage.degrees.devices() > stage.degrees.tensor;
  query.inside = links.tensor;
  query.between = links.copies;
  return query;
}

TrainingLink LinkBetween(const DeviceRow& row, const JointStage& a, const JointStage& b) {
  if (row.cluster().pairs != nullptr) return LinkAcross(*row.cluster().pairs, row.DevicesOf(a), row.DevicesOf(b));
  const int32_t tier =
      std::max({row.TierOf(a.first_slot, a.degrees.devices()), row.TierOf(b.first_slot, b.degrees.devices()),
                row.TierBetween(a.first_slot, b.first_slot)});
  return row.cluster().LinkOf(tier);
}

void CostJointPlan(const LayerPricer& pricer, const DeviceRow& row, int64_t reserved_bytes, JointPlan& plan) {
  PlanCosting(pricer, row, reserved_bytes, plan).Run();
}

bool IsHeld(const DeviceRow& row, int64_t reserved_bytes, const JointPlan& plan) {
  return std::all_of(plan.stages.begin(), plan.stages.end(), [&](const JointStage& stage) {
    return stage.memory.total() <= row.At(row.ClassOf(stage.first_slot)).memory_bytes + reserved_bytes;
  });
}

std::vector<std::vector<ChunkCost>> CostChunks(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan) {
  JointPlan costed = plan;
  PlanCosting costing(pricer, row, 0, costed);
  costing.Run();
  return costing.TakeChunks();
}

void SimulateJointPlan(const LayerPricer& pricer, const DeviceRow& row, JointPlan& plan) {
  JointPlan costed = plan;
  PlanCosting timing(pricer, row, 0, costed);
  timing.Run();
  const std::vector<int64_t> ends = SimulateStep(timing.TakeTimes(), plan.order, plan.micro_batches);
  int64_t step = 0;
  for (std::size_t s = 0; s < ends.size(); ++s) step = std::max(step, ends[s] + plan.stages[s].step_end.count());
  plan.simulated_step = Picoseconds(step);
}

}  // namespace planwright
