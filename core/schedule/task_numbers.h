// Where the tasks of a schedule stand in its list: micro-batch after micro-batch, in each the forward passes, the
// backward passes, the transfers, then recomputations and backward parts for the weights.
#ifndef PLANWRIGHT_CORE_SCHEDULE_TASK_NUMBERS_H_
#define PLANWRIGHT_CORE_SCHEDULE_TASK_NUMBERS_H_

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/base/units.h"
#include "core/base/violations.h"
#include "core/cost/pipeline_work.h"
#include "core/model/task_list.h"

namespace planwright {

class TaskNumbers {
 public:
  TaskNumbers(const PipelineWork& work, bool recompute, bool split)
      : stages_(static_cast<int32_t>(work.stages.size())),
        transfers_(static_cast<int32_t>(work.transfers.size())),
        training_(work.training),
        recompute_(recompute && work.training),
        split_(split && work.training) {}

  int32_t per_micro_batch() const { return WeightOffset() + (split_ ? stages_ : 0); }
  bool training() const { return training_; }
  bool recompute() const { return recompute_; }
  bool split() const { return split_; }

  // Returns the number of the task that runs a piece of work of PipelineWork (a pass or a transfer).
  int32_t OfPiece(int32_t piece, int32_t micro_batch) const {
    return micro_batch * per_micro_batch() + (piece < 2 * stages_ ? piece : piece - 2 * stages_ + TransferOffset());
  }
  int32_t OfTransfer(int32_t transfer, int32_t micro_batch) const {
    return OfPiece(2 * stages_ + transfer, micro_batch);
  }
  // REQUIRES: Exists(pass.kind).
  int32_t OfPass(const PassTask& pass) const {
    return pass.micro_batch * per_micro_batch() + OffsetOf(pass.kind) + pass.stage;
  }
  // Whether the schedule has passes of the kind.
  bool Exists(TaskKind kind) const {
    switch (kind) {
      case TaskKind::kForward:
        return true;
      case TaskKind::kBackward:
        return training_ && !split_;
      case TaskKind::kBackwardInput:
      case TaskKind::kBackwardWeight:
        return split_;
      case TaskKind::kRecompute:
        return recompute_;
      default:
        return false;
    }
  }
  // The backward pass that frees what is stored.
  TaskKind LastBackward() const { return split_ ? TaskKind::kBackwardWeight : TaskKind::kBackward; }

 private:
  int32_t TransferOffset() const { return training_ ? 2 * stages_ : stages_; }
  int32_t RecomputeOffset() const { return TransferOffset() + transfers_; }
  int32_t WeightOffset() const { return RecomputeOffset() + (recompute_ ? stages_ : 0); }

  int32_t OffsetOf(TaskKind kind) const {
    switch (kind) {
      case TaskKind::kRecompute:
        return RecomputeOffset();
      case TaskKind::kBackwardWeight:
        return WeightOffset();
      case TaskKind::kForward:
        return 0;
      default:
        return stages_;
    }
  }

  int32_t stages_;
  int32_t transfers_;
  bool training_;
  bool recompute_;
  bool split_;
};

// How large a schedule may become.
// Limits of one task list: they bound the memory of building and simulating it to about 300 MB.
inline constexpr int64_t kMaxTasks = 1'000'000;
inline constexpr int64_t kMaxPrecedences = 4'000'000;

// What one micro-batch adds to a task list, at most.
struct ScheduleExtent {
  int64_t tasks = 1;
  int64_t precedences = 1;
  // Times and stored bytes of all its tasks together.
  int64_t time_ps = 0;
  int64_t stored_bytes = 0;

  void AddTime(Picoseconds time) { time_ps = SaturatingAdd(time_ps, time.count()); }
  void AddStored(int64_t bytes) { stored_bytes = SaturatingAdd(stored_bytes, bytes); }
};

// Adds a violation at "micro_batches" where that many are too many to be simulated.
inline void CheckExtent(const ScheduleExtent& extent, int32_t micro_batches, Violations& violations) {
  const int64_t most = std::min(kMaxTasks / extent.tasks, kMaxPrecedences / extent.precedences);
  if (micro_batches > most) {
    violations.Add("micro_batches",
                   absl::StrCat("must be at most ", most, " for this plan, is ", micro_batches,
                                ": a simulation has at most ", kMaxTasks, " tasks and ", kMaxPrecedences,
                                " dependencies; the time per micro-batch hardly depends on so many"));
  } else if (SaturatingMultiply(extent.time_ps, micro_batches) == kMaxQuantity ||
             SaturatingMultiply(extent.stored_bytes, micro_batches) == kMaxQuantity) {
    violations.Add("micro_batches", "the times or the sizes of all micro-batches add up to too much; ask for fewer");
  }
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_TASK_NUMBERS_H_
