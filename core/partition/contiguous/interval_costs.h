// Load and memory of stages that are intervals of one linear order of the blocks.
//
// Position i stands for the boundary before the i-th block of the order; a stage is [start, end). For a fixed end the
// nets that its boundary cuts give the load of every start by the identity of reached_set.h, and the correction is a
// step function of the start. Loads that are no sums (LoadRule::is_additive) are made by adding block after block.
#ifndef PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_INTERVAL_COSTS_H_
#define PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_INTERVAL_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/partition/contiguous/block_split.h"
#include "core/partition/search/block_instance.h"

namespace planwright {

// Not thread-safe: MoveTo changes the object.
class IntervalCosts {
 public:
  static constexpr int64_t kInfeasible = kMaxQuantity;

  // `order`: all blocks, topologically. Both outlive the object. O(blocks + pins).
  IntervalCosts(const BlockInstance& instance, const std::vector<int32_t>& order);

  std::size_t size() const { return order_.size(); }
  const std::vector<int32_t>& order() const { return order_; }

  // Makes `end` the end of the stages asked for. REQUIRES: ends are visited in ascending order, from 1.
  // O(cut nets log) each.
  void MoveTo(std::size_t end);

  // Fills loads[start] for the stages [start, end) on `replicas` devices of `pool`, from start = end - 1 down to the
  // first one whose load alone in time, or whose memory, rules out this and every earlier start; returns one past that
  // start, so that loads is filled on [returned, end). Loads above max_load or beyond the memory are kInfeasible. O(end
  // - returned), times the nets of a block where loads are no sums.
  std::size_t Loads(std::size_t pool, int64_t replicas, int64_t max_load, std::vector<int64_t>& loads);

  // What the stage from `start` to the end asked for last leaves of the memory of the device. REQUIRES: Loads filled
  // its load, which is not kInfeasible.
  int64_t Room(std::size_t start) const { return rooms_[start]; }

 private:
  // What is lost from the correction when the start moves down to `position`.
  struct Step {
    std::size_t position;
    int64_t weight;
    int64_t buffer_bytes;
  };

  std::size_t AdditiveLoads(std::size_t pool, int64_t replicas, int64_t max_load, std::vector<int64_t>& loads);
  std::size_t GrownLoads(std::size_t pool, int64_t replicas, int64_t max_load, std::vector<int64_t>& loads);

  const BlockInstance& instance_;
  const std::vector<int32_t>& order_;
  // Positions of the blocks of each net, ascending.
  std::vector<std::vector<std::size_t>> pins_;
  // Total weight and buffer bytes of the nets cut by each boundary.
  std::vector<int64_t> borders_;
  std::vector<int64_t> border_buffers_;

  std::size_t end_ = 0;
  // Nets cut by the boundary `end_`, and how many of their pins lie before it.
  std::vector<int32_t> open_;
  std::vector<std::size_t> pins_before_;
  // Descending by position.
  std::vector<Step> steps_;
  StageGrowth growth_;
  // By start, of the loads filled last.
  std::vector<int64_t> rooms_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_CONTIGUOUS_INTERVAL_COSTS_H_
