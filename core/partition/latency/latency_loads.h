// What the subgraphs of a latency assignment take, kept up to date while vertices come and go: time (net identity,
// latency_instance.h) and memory.
//
// Adding or removing a vertex costs O(its tensors); the workspace of a subgraph is looked for again among all vertices
// when the one with the largest leaves, which under DECLARED memory never happens.
#ifndef PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_LOADS_H_
#define PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_LOADS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/index.h"
#include "core/partition/latency/latency_instance.h"

namespace planwright {

// For one thread. `instance` outlives the object.
class LatencyLoads {
 public:
  // No vertex anywhere. Slots of one accelerator are neighbours, `slots_per_accelerator` of them.
  LatencyLoads(const LatencyInstance& instance, int32_t slots_per_accelerator);

  // `places`: where every vertex is before the call, `vertex` excepted, which is in no slot.
  void AddToSlot(int32_t vertex, int32_t slot);
  // `places`: where every vertex is after the call, or empty: the workspace of the slot may stay too large then, until
  // the slot is empty.
  void RemoveFromSlot(int32_t vertex, int32_t slot, std::span<const int32_t> places);
  void AddToCpu(int32_t vertex);
  void RemoveFromCpu(int32_t vertex);

  bool is_empty(int32_t slot) const { return size_[Index(slot)] == 0; }
  int64_t duration(int32_t slot) const { return duration_[Index(slot)]; }
  // Sum of the durations of all slots.
  int64_t total_duration() const { return total_duration_; }

  // Bytes of the subgraphs of an accelerator.
  int64_t AcceleratorBytes(int32_t accelerator) const;
  // Bytes by which they exceed its memory; 0: they fit.
  int64_t MissingBytes(int32_t accelerator) const;
  // Likewise for all CPUs together. Of COMPONENTS the buffers of all tensors and the largest workspace of all vertices
  // are counted, which may be too much, never too little.
  int64_t MissingCpuBytes() const { return missing_cpu_bytes_; }
  // Missing bytes of all devices together.
  int64_t MissingBytes() const;

 private:
  void ChangeTransfers(int32_t slot, const LatencyTensor& tensor, int64_t sign);
  int64_t SlotBytes(int32_t slot) const;
  void PrepareCpuLimits();
  void ChangeCpuBytes(int32_t vertex, int64_t sign);

  const LatencyInstance* instance_;
  int32_t slots_per_accelerator_;

  // By slot.
  std::vector<int32_t> size_;
  std::vector<int64_t> duration_;
  std::vector<MemorySums> memory_;
  std::vector<int64_t> buffer_bytes_;
  std::vector<int64_t> workspace_bytes_;
  int64_t total_duration_ = 0;
  // Pins of each tensor in each slot, a row per tensor.
  std::vector<int32_t> pins_;

  // By vertex: position of its CPU in instance.cpu_limits (kUnlimited: none), and its bytes there.
  static constexpr int32_t kUnlimited = -1;
  std::vector<int32_t> limit_of_;
  std::vector<int64_t> cpu_bytes_of_;
  // By position in instance.cpu_limits.
  std::vector<int64_t> cpu_bytes_;
  int64_t missing_cpu_bytes_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_LATENCY_LATENCY_LOADS_H_
