// Orders of passes as orders of tasks.
#ifndef PLANWRIGHT_CORE_SCHEDULE_ORDER_EXPANSION_H_
#define PLANWRIGHT_CORE_SCHEDULE_ORDER_EXPANSION_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/cost/pipeline_work.h"
#include "core/model/task_list.h"
#include "core/schedule/pass_order.h"
#include "core/schedule/task_numbers.h"

namespace planwright {

// Puts the transfers that occupy a device between its passes: what a pass receives before the first pass that needs
// it, what passes send after the last of them. `work` and `list` outlive the object.
class OrderExpansion {
 public:
  // REQUIRES: the list has the tasks of all micro-batches.
  OrderExpansion(const PipelineWork& work, const TaskNumbers& numbers, const TaskList& list);

  // `followers`: tasks that the device runs right after a pass and its sends, by pass. REQUIRES: each order once.
  std::vector<int32_t> Expand(const PassOrder& passes, const absl::flat_hash_map<int32_t, int32_t>& followers);

 private:
  int32_t PieceOf(const PassTask& pass) const;
  void PlaceReceive(int32_t transfer, int32_t micro_batch, std::vector<int32_t>& order);
  void PlaceSend(int32_t transfer, int32_t micro_batch, std::vector<int32_t>& order);
  bool IsOnDevice(int32_t piece, int32_t micro_batch, int32_t device) const;

  const PipelineWork& work_;
  const TaskNumbers& numbers_;
  const TaskList& list_;
  // [piece of work]: the pieces that it waits for, and those that wait for it.
  std::vector<std::vector<int32_t>> before_;
  std::vector<std::vector<int32_t>> after_;
  // By task.
  std::vector<bool> placed_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_ORDER_EXPANSION_H_
