// Where the tasks of a schedule stand in its list: micro-batch after micro-batch, in each the forward passes, the
// backward passes, the transfers, then recomputations and backward parts for the weights.
#ifndef PLANWRIGHT_CORE_SCHEDULE_TASK_NUMBERS_H_
#define PLANWRIGHT_CORE_SCHEDULE_TASK_NUMBERS_H_

#include <cstdint>

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

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SCHEDULE_TASK_NUMBERS_H_
