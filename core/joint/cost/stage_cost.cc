#include "core/joint/cost/stage_cost.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/units.h"

namespace planwright {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;

// One stage while its chunks are added up.
class StageSum {
 public:
  StageSum(const LayerPricer& pricer, const std::vector<LayerPrice>& prices) : pricer_(pricer), prices_(prices) {}

  void Add(const JointChunk& chunk) {
    int64_t kept = 0;
    ChunkTimes times;
    for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
      const LayerPrice& price = PriceOf(layer);
      const auto mode = static_cast<std::size_t>(chunk.recomputation[static_cast<std::size_t>(layer - chunk.first_layer)]);
      kept += price.modes[mode]->kept_bytes;
      times.forward += price.forward_ps;
      times.backward += price.backward_ps + price.modes[mode]->extra_ps;
      AddState(price);
      recomputed_ = std::max(recomputed_, price.recomputed_bytes);
      any_full_ = any_full_ || mode == static_cast<std::size_t>(LayerRecomputation::kFull);
    }
    most_kept_ = std::max(most_kept_, kept);
    const bool is_last = chunk.end_layer() == static_cast<int32_t>(pricer_.kinds().size());
    buffers_ = std::max(buffers_, BoundaryBufferBytes(chunk.first_layer > 0 ? PriceOf(chunk.first_layer - 1).output_bytes : 0,
                                                      is_last ? 0 : PriceOf(chunk.end_layer() - 1).output_bytes));
    chunks_.push_back(times);
  }

  void Finish(int64_t in_flight, int64_t reserved_bytes, JointStage& stage) const {
    int64_t forward = 0;
    int64_t backward = 0;
    for (const ChunkTimes& times : chunks_) {
      forward += times.forward;
      backward += times.backward;
    }
    stage.forward = Picoseconds(forward);
    stage.backward = Picoseconds(backward);
    stage.step_end = Picoseconds(step_end_);
    stage.in_flight = static_cast<int32_t>(in_flight);
    stage.memory = {.parameters = parameters_ + 2 * gathered_,
                    .gradients = gradients_,
                    .optimizer = optimizer_,
                    .activations = in_flight * most_kept_,
                    .workspace = workspace_ + (any_full_ ? recomputed_ : 0) + buffers_,
                    .reserved = reserved_bytes};
  }

  struct ChunkTimes {
    int64_t forward = 0;
    int64_t backward = 0;
  };
  const std::vector<ChunkTimes>& chunks() const { return chunks_; }
  const LayerPrice& PriceOf(int32_t layer) const {
    return prices_[static_cast<std::size_t>(pricer_.kinds()[static_cast<std::size_t>(layer)])];
  }

 private:
  void AddState(const LayerPrice& price) {
    parameters_ += price.parameter_bytes;
    gradients_ += price.gradient_bytes;
    optimizer_ += price.optimizer_bytes;
    gathered_ = std::max(gathered_, price.gathered_bytes);
    workspace_ = std::max(workspace_, price.workspace_bytes);
    step_end_ += price.step_end_ps;
  }

  const LayerPricer& pricer_;
  const std::vector<LayerPrice>& prices_;
  std::vector<ChunkTimes> chunks_;
  int64_t parameters_ = 0;
  int64_t gradients_ = 0;
  int64_t optimizer_ = 0;
  int64_t gathered_ = 0;
  int64_t workspace_ = 0;
  int64_t recomputed_ = 0;
  int64_t step_end_ = 0;
  int64_t most_kept_ = 0;
  int64_t buffers_ = 0;
  bool any_full_ = false;
};

// The link between what runs before a boundary and what runs behind it: that of a node only where both blocks are in
// one.
const TrainingLink& LinkBetween(const DeviceRow& row, const JointStage& a, const JointStage& b) {
  const int64_t last = std::max(a.first_slot + a.degrees.devices(), b.first_slot + b.degrees.devices()) - 1;
  const int64_t first = std::min(a.first_slot, b.first_slot);
  const int32_t number = row.ClassOf(first);
  const int64_t size = row.At(number).devices_per_node;
  const bool same = number == row.ClassOf(last) &&
                    (first - row.StartOf(number)) / size == (last - row.StartOf(number)) / size;
  return same ? row.cluster().inside : row.cluster().between;
}

}  // namespace

int64_t InFlight(PipelineOrder order, int64_t micro_batches, int64_t from_end, int64_t num_stages, int64_t chunks) {
  if (order == PipelineOrder::kOneFOneB) return std::min(micro_batches, from_end);
  return std::min(micro_batches * chunks, 2 * (from_end - 1) + (chunks - 1) * num_stages + 1);
}

int64_t BoundaryBufferBytes(int64_t input_bytes, int64_t output_bytes) { return 2 * (input_bytes + output_bytes); }

int64_t TransferPs(int64_t bytes, const TrainingLink& link) {
  if (bytes == 0) return 0;
  const double time = static_cast<double>(bytes) / link.bytes_per_second * kPicosecondsPerSecond;
  return 2 * (static_cast<int64_t>(std::ceil(time)) + link.latency_ps);
}

int64_t OneFOneBStepPs(int64_t sum_ps, int64_t longest_ps, int64_t end_ps, int64_t micro_batches) {
  return sum_ps + (micro_batches - 1) * longest_ps + end_ps;
}

int64_t InterleavedStepPs(int64_t slot_ps, int64_t end_ps, int64_t micro_batches, int64_t num_stages, int64_t chunks) {
  return (micro_batches * chunks + num_stages - 1) * slot_ps + end_ps;
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

void CostJointPlan(const LayerPricer& pricer, const DeviceRow& row, int64_t reserved_bytes, JointPlan& plan) {
  const auto num_stages = static_cast<int64_t>(plan.stages.size());
  const int64_t chunks = plan.chunks;
  const auto num_layers = static_cast<int32_t>(pricer.kinds().size());
  int64_t sum = 0;
  int64_t longest = 0;
  int64_t end = 0;
  int64_t forward_slot = 0;
  int64_t backward_slot = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    JointStage& stage = plan.stages[s];
    const int32_t number = row.ClassOf(stage.first_slot);
    const std::vector<LayerPrice> prices = pricer.Price(
        {.device_class = row.At(number).device_class,
         .degrees = stage.degrees,
         .samples = plan.micro_batch_samples,
         .sharding = plan.sharding,
         .crosses_nodes = stage.degrees.devices() > row.At(number).devices_per_node,
         .devices_per_node = row.At(number).devices_per_node});
    StageSum total(pricer, prices);
    for (const JointChunk& chunk : stage.chunks) total.Add(chunk);
    total.Finish(InFlight(plan.order, plan.micro_batches, num_stages - static_cast<int64_t>(s), num_stages, chunks),
                 reserved_bytes, stage);
    int64_t transfers = 0;
    for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
      const JointChunk& chunk = stage.chunks[c];
      int64_t own = 0;
      if (chunk.first_layer > 0) {
        const JointStage& before = plan.stages[(s + plan.stages.size() - 1) % plan.stages.size()];
        own += TransferPs(total.PriceOf(chunk.first_layer - 1).output_bytes, LinkBetween(row, before, stage));
      }
      if (chunk.end_layer() < num_layers) {
        const JointStage& behind = plan.stages[(s + 1) % plan.stages.size()];
        own += TransferPs(total.PriceOf(chunk.end_layer() - 1).output_bytes, LinkBetween(row, stage, behind));
      }
      transfers += own;
      forward_slot = std::max(forward_slot, total.chunks()[c].forward + CeilDivide(own, 2));
      backward_slot = std::max(backward_slot, total.chunks()[c].backward + CeilDivide(own, 2));
    }
    stage.transfers = Picoseconds(transfers);
    const int64_t time = (stage.forward + stage.backward + stage.transfers).count();
    sum += time;
    longest = std::max(longest, time);
    end = std::max(end, stage.step_end.count());
  }
  plan.step = Picoseconds(plan.order == PipelineOrder::kOneFOneB
                              ? OneFOneBStepPs(sum, longest, end, plan.micro_batches)
                              : InterleavedStepPs(forward_slot + backward_slot, end, plan.micro_batches, num_stages,
                                                  chunks));
}

}  // namespace planwright
