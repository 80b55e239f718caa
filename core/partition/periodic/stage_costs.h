// What dynamic programs over the stages of a chain ask for, in constant time.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_STAGE_COSTS_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_STAGE_COSTS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"
#include "core/schedule/delay.h"

namespace planwright {

// Stages of the layers first .. last whose neighbours are on other devices. Keeps a reference to the chain.
class ChainStageCosts {
 public:
  ChainStageCosts(const Chain& chain, const ChainDevices& devices)
      : chain_(chain), sums_(chain), full_duplex_(devices.full_duplex), memory_bytes_(devices.memory_bytes) {}

  int32_t num_layers() const { return sums_.num_layers(); }
  Picoseconds Load(int32_t first, int32_t last) const { return sums_.compute(first, last); }

  int64_t StaticBytes(int32_t first, int32_t last) const { return sums_.static_bytes(first, last); }
  // The delay in front of the stage, from the delay behind it.
  Delay InFront(int32_t first, int32_t last, Delay delay, Picoseconds period) const {
    return delay.Behind(sums_.forward(first, last), sums_.backward(first, last), period);
  }

  int64_t StoredBytes(int32_t first, int32_t last) const { return sums_.stored_bytes(first, last); }
  int64_t WorkspaceBytes(int32_t first, int32_t last) const { return sums_.workspace_bytes(first, last); }
  // Static bytes and buffers at both ends.
  int64_t ResidentBytes(int32_t first, int32_t last) const {
    return StaticBytes(first, last) + BufferBytes(first) + BufferBytes(last + 1);
  }
  // The memory of a stage alone on its device that stores `batches` micro-batches.
  int64_t Bytes(int32_t first, int32_t last, int32_t batches) const {
    return StageBytes(ResidentBytes(first, last) + WorkspaceBytes(first, last), StoredBytes(first, last), batches);
  }
  bool Fits(int32_t first, int32_t last, int32_t batches) const {
    return !memory_bytes_.has_value() || Bytes(first, last, batches) <= *memory_bytes_;
  }

  // Micro-batches that a stage stores with this delay in front of it; without backward passes only the one at work.
  int32_t Batches(Delay delay) const { return chain_.has_backward ? delay.Batches() : 1; }

  // The cut before `layer` > 0: its transfers one after another, the load of its busiest link, and the delay in front
  // of it from the one behind it.
  Picoseconds SendTime(int32_t layer) const { return CutBefore(layer).send_forward + CutBefore(layer).send_backward; }
  Picoseconds LinkLoad(int32_t layer) const { return planwright::LinkLoad(CutBefore(layer), full_duplex_); }
  Delay AcrossCut(int32_t layer, Delay delay, Picoseconds period) const {
    return planwright::AcrossCut(delay, CutBefore(layer), full_duplex_, period);
  }

 private:
  const ChainCut& CutBefore(int32_t layer) const { return chain_.cuts[Index(layer) - 1]; }
  // The buffer at the device on one side of the cut before `layer`; 0 at the ends of the chain.
  int64_t BufferBytes(int32_t layer) const {
    return layer == 0 || layer == num_layers() ? 0 : CutBefore(layer).buffer_bytes;
  }

  const Chain& chain_;
  const ChainSums sums_;
  const bool full_duplex_;
  const std::optional<int64_t> memory_bytes_;
};

// Where the least period of every allocation lies that fits the memory with one micro-batch in each stage.
struct PeriodRange {
  // The work shared evenly, or the largest layer; at least 1 ps.
  Picoseconds low{0};
  // All work and all transfers one after another: no stage then stores more than one micro-batch.
  Picoseconds high{0};
};
PeriodRange PeriodsOf(const Chain& chain, const ChainDevices& devices);

// What a device needs at least to hold stages of a chain at some period (allocation_annealer.h says why).
// Plain value; nothing is held at first.
class LeastDeviceUse {
 public:
  // The layers first .. last as a stage that stores `batches` micro-batches when its forward pass starts, at least; 0
  // without backward passes, where a stage lets go before the next one starts. Stages come from the last to the first.
  void AddStage(const ChainSums& sums, int32_t first, int32_t last, int32_t batches) {
    const int64_t stored = sums.stored_bytes(first, last);
    load_ += sums.compute(first, last);
    kept_bytes_ += sums.static_bytes(first, last) + std::max(0, batches - 1) * stored;
    workspace_bytes_ = std::max(workspace_bytes_, sums.workspace_bytes(first, last));
    if (batches == 0 || std::exchange(group_batches_, batches) != batches) group_bytes_ = 0;
    group_bytes_ += stored;
    largest_group_bytes_ = std::max(largest_group_bytes_, group_bytes_);
  }

  // Adds the buffer on one side of a cut.
  void AddBuffer(int64_t bytes) { kept_bytes_ += bytes; }

  Picoseconds load() const { return load_; }
  // Bytes at its peak.
  int64_t bytes() const { return kept_bytes_ + workspace_bytes_ + largest_group_bytes_; }

 private:
  Picoseconds load_{0};
  // Static bytes, buffers, and all micro-batches but one of each stage: there at any time.
  int64_t kept_bytes_ = 0;
  int64_t workspace_bytes_ = 0;
  // On top of that, one micro-batch more of each stage of a group: stages that store as many. The one at hand.
  int32_t group_batches_ = 0;
  int64_t group_bytes_ = 0;
  int64_t largest_group_bytes_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_STAGE_COSTS_H_
