#include "client/exporter/schedule_csv.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/exporter/cannot_express.h"

namespace planwright::client {
namespace {

constexpr char kTarget[] = "schedule_csv";
constexpr int kMaxMicroBatches = 4096;

struct Pass {
  bool is_forward = true;
  int micro_batch = 0;
};

// What stage `stage` of `stages` does, in its order: GPipe runs all forward passes first, 1F1B as many as there are
// stages behind it, then one of each.
std::vector<Pass> OrderOf(int stage, int stages, int micro_batches, bool is_gpipe) {
  const int ahead = is_gpipe ? micro_batches : std::min(stages - stage, micro_batches);
  std::vector<Pass> order;
  for (int forward = 0, backward = 0; backward < micro_batches;) {
    if (forward < micro_batches && forward - backward < ahead) {
      order.push_back({true, forward++});
    } else {
      order.push_back({false, backward++});
    }
  }
  return order;
}

// The slots of all stages: each pass in the first one in which all that it waits for is done.
class Slots {
 public:
  Slots(int stages, int micro_batches, bool is_gpipe)
      : rows_(static_cast<std::size_t>(stages)),
        forward_(Table(stages, micro_batches)),
        backward_(Table(stages, micro_batches)) {
    std::vector<std::vector<Pass>> orders;
    for (int stage = 0; stage < stages; ++stage) orders.push_back(OrderOf(stage, stages, micro_batches, is_gpipe));
    std::vector<std::size_t> next(orders.size(), 0);
    for (int slot = 0; slot < 2 * (micro_batches + stages) * stages; ++slot) {
      for (std::size_t stage = 0; stage < orders.size(); ++stage) {
        const bool is_done = next[stage] == orders[stage].size();
        if (is_done || !IsReady(stage, orders[stage][next[stage]], slot)) {
          rows_[stage].emplace_back();
          continue;
        }
        Enter(stage, orders[stage][next[stage]++], slot);
      }
      const bool is_over = std::equal(next.begin(), next.end(), orders.begin(),
                                      [](std::size_t done, const auto& order) { return done == order.size(); });
      if (is_over) break;
    }
  }

  std::string ToString() const {
    return absl::StrJoin(rows_, "", [](std::string* out, const std::vector<std::string>& row) {
      absl::StrAppend(out, absl::StrJoin(row, ","), "\n");
    });
  }

 private:
  // The slot in which a pass was done; -1: not yet.
  using Times = std::vector<std::vector<int>>;

  static Times Table(int stages, int micro_batches) {
    return Times(static_cast<std::size_t>(stages), std::vector<int>(static_cast<std::size_t>(micro_batches), -1));
  }

  static bool IsBefore(int done, int slot) { return done >= 0 && done < slot; }

  bool IsReady(std::size_t stage, const Pass& pass, int slot) const {
    const auto micro_batch = static_cast<std::size_t>(pass.micro_batch);
    if (pass.is_forward) return stage == 0 || IsBefore(forward_[stage - 1][micro_batch], slot);
    if (stage + 1 == rows_.size()) return IsBefore(forward_[stage][micro_batch], slot);
    return IsBefore(backward_[stage + 1][micro_batch], slot);
  }

  void Enter(std::size_t stage, const Pass& pass, int slot) {
    (pass.is_forward ? forward_ : backward_)[stage][static_cast<std::size_t>(pass.micro_batch)] = slot;
    rows_[stage].push_back(absl::StrCat(stage, pass.is_forward ? "F" : "B", pass.micro_batch));
  }

  std::vector<std::vector<std::string>> rows_;
  Times forward_;
  Times backward_;
};

}  // namespace

absl::StatusOr<Exported> ExportScheduleCsv(const ExportInput& input) {
  const v1::PlanningProblem& problem = input.plan.problem();
  if (problem.workload() == v1::WORKLOAD_INFERENCE) return CannotExpress(kTarget, "it is for inference");
  if (!problem.has_micro_batches() || problem.micro_batches() > kMaxMicroBatches) {
    return CannotExpress(kTarget, absl::StrCat("its problem must count 1 to ", kMaxMicroBatches,
                                               " micro-batches; plan with --micro_batches"));
  }
  const v1::ScheduleKind kind = problem.schedule();
  if (kind != v1::SCHEDULE_KIND_UNSPECIFIED && kind != v1::SCHEDULE_KIND_GPIPE &&
      kind != v1::SCHEDULE_KIND_ONE_F_ONE_B) {
    return CannotExpress(kTarget, "its schedule is neither GPipe nor 1F1B");
  }
  std::set<std::string> devices;
  for (const v1::Stage& stage : input.plan.stages()) {
    for (const v1::Replica& replica : stage.replicas()) {
      if (devices.insert(replica.device()).second) continue;
      return CannotExpress(kTarget, absl::StrCat("device ", replica.device(), " holds several stages"));
    }
  }
  const Slots slots(input.plan.stages_size(), problem.micro_batches(), kind == v1::SCHEDULE_KIND_GPIPE);
  return Exported{slots.ToString(), "load it by _load_csv(file, format=\"compute_only\") of a pipeline schedule"};
}

}  // namespace planwright::client
