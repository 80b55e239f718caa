#include "core/partition/contiguous/block_split.h"

#include <algorithm>

#include "core/base/index.h"

namespace planwright {
namespace {

PassWork Difference(const PassWork& a, const PassWork& b) {
  return {.compute = a.compute - b.compute, .in = a.in - b.in, .out = a.out - b.out};
}

}  // namespace

StageGrowth::StageGrowth(const BlockInstance& instance)
    : instance_(instance),
      pins_inside_(instance.nets.size(), 0),
      holds_producer_(instance.nets.size(), false),
      compute_(instance.pools.size(), 0),
      backward_compute_(instance.pools.size(), 0),
      unsupported_(instance.pools.size(), 0) {}

void StageGrowth::Add(int32_t block) {
  const std::size_t b = Index(block);
  blocks_.push_back(block);
  for (std::size_t pool = 0; pool < compute_.size(); ++pool) {
    const DevicePool& data = instance_.pools[pool];
    compute_[pool] += data.time[b];
    if (!data.backward_time.empty()) backward_compute_[pool] += data.backward_time[b];
    if (!data.supported[b]) ++unsupported_[pool];
  }
  memory_.Add(instance_.memory, b);
  workspace_ = std::max(workspace_, instance_.memory.workspace[b]);
  if (!instance_.parameter_bytes.empty()) parameter_bytes_ += instance_.parameter_bytes[b];
  for (const int32_t index : instance_.nets_of[b]) {
    const Net& net = instance_.nets[Index(index)];
    const std::size_t before = pins_inside_[Index(index)]++;
    if (before > 0) {
      MicroBatchWork paid;
      AddCutNet(instance_, net, holds_producer_[Index(index)], paid);
      transfers_.forward = Difference(transfers_.forward, paid.forward);
      transfers_.backward = Difference(transfers_.backward, paid.backward);
      buffer_bytes_ -= net.buffer_bytes;
    }
    if (net.producer == block) holds_producer_[Index(index)] = true;
    if (before + 1 == net.blocks.size()) continue;
    AddCutNet(instance_, net, holds_producer_[Index(index)], transfers_);
    buffer_bytes_ += net.buffer_bytes;
  }
}

void StageGrowth::Clear() {
  for (const int32_t block : blocks_) {
    for (const int32_t net : instance_.nets_of[Index(block)]) {
      pins_inside_[Index(net)] = 0;
      holds_producer_[Index(net)] = false;
    }
  }
  blocks_.clear();
  std::fill(compute_.begin(), compute_.end(), 0);
  std::fill(backward_compute_.begin(), backward_compute_.end(), 0);
  std::fill(unsupported_.begin(), unsupported_.end(), 0);
  transfers_ = {};
  memory_ = {};
  buffer_bytes_ = workspace_ = parameter_bytes_ = 0;
}

int64_t StageGrowth::Load(std::size_t pool, int64_t replicas) const {
  ReplicaWork stage{.work = {}, .parameter_bytes = parameter_bytes_};
  if (instance_.pools[pool].pays_transfers) stage.work = transfers_;
  stage.work.forward.compute = Picoseconds(compute_[pool] - backward_compute_[pool]);
  stage.work.backward.compute = Picoseconds(backward_compute_[pool]);
  return instance_.rule.Load(stage, replicas);
}

bool StageGrowth::Fits(std::size_t pool) const {
  return unsupported_[pool] == 0 && !ExceedsMemory(pool, buffer_bytes_);
}

int64_t StageGrowth::Room(std::size_t pool) const {
  const std::optional<int64_t>& limit = instance_.pools[pool].memory_bytes;
  return limit.has_value() ? *limit - memory_.Total(instance_.memory, buffer_bytes_, workspace_) : kMaxQuantity;
}

bool StageGrowth::IsTooLarge(std::size_t pool) const { return unsupported_[pool] > 0 || ExceedsMemory(pool, 0); }

bool StageGrowth::ExceedsMemory(std::size_t pool, int64_t buffer_bytes) const {
  const std::optional<int64_t>& limit = instance_.pools[pool].memory_bytes;
  return limit.has_value() && memory_.Total(instance_.memory, buffer_bytes, workspace_) > *limit;
}

int64_t SplitLoad(const BlockInstance& instance, const BlockSplit& split) {
  StageGrowth growth(instance);
  int64_t max_load = 0;
  for (const BlockSplit::Stage& stage : split.stages) {
    for (const int32_t block : stage.blocks) growth.Add(block);
    max_load = std::max(max_load, growth.Load(stage.pool, stage.replicas));
    growth.Clear();
  }
  return max_load;
}

}  // namespace planwright
