#include "client/exporter/schedule_csv.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/exporter/cannot_express.h"
#include "client/report/joint_report.h"

namespace planwright::client {
namespace {

constexpr char kScheduleCsv[] = "schedule_csv";
constexpr int kMaxMicroBatches = 4096;
constexpr int64_t kMaxPasses = 1 << 22;

struct Pass {
  // As torch names them: a forward pass, a backward pass or its two parts, for inputs and for weights.
  char kind = 'F';
  // Where S stages have several runs of layers each, stage r has the runs r, r + S, r + 2 S, ...
  int run = 0;
  int micro_batch = 0;
};

struct Shape {
  int stages = 1;
  int chunks = 1;
  int micro_batches = 1;
  bool is_gpipe = false;
  bool is_zero_bubble = false;

  int runs() const { return stages * chunks; }
  int passes() const { return micro_batches * chunks; }
};

// How many forward passes of stage `stage` wait for their backward passes at most (Narayanan et al. 2021, section 2.2).
int MostAhead(const Shape& shape, int stage) {
  if (shape.is_gpipe) return shape.passes();
  const int behind = shape.stages - stage - 1;
  const int first = shape.chunks == 1 ? behind : 2 * behind + (shape.chunks - 1) * shape.stages;
  return std::min(first + 1, shape.passes());
}

// The `position`-th forward or backward pass of a stage: as many micro-batches as there are stages, run by run.
Pass PassAt(const Shape& shape, int stage, int position, bool is_forward) {
  const char backward = shape.is_zero_bubble ? 'I' : 'B';
  const char kind = is_forward ? 'F' : backward;
  if (shape.chunks == 1) return {kind, stage, position};
  const int in_round = position % shape.runs();
  const int chunk = in_round / shape.stages;
  const int own = is_forward ? chunk : shape.chunks - 1 - chunk;
  return {kind, stage + own * shape.stages, position / shape.runs() * shape.stages + in_round % shape.stages};
}

// What stage `stage` does, in its order: GPipe runs all forward passes first, 1F1B as many as it may, then one of each;
// under ZB-H1 its gradients of weights are `stage` micro-batches late.
std::vector<Pass> OrderOf(const Shape& shape, int stage) {
  const int ahead = MostAhead(shape, stage);
  std::vector<Pass> order;
  for (int forward = 0, backward = 0; backward < shape.passes();) {
    const bool is_forward = forward < shape.passes() && forward - backward < ahead;
    order.push_back(PassAt(shape, stage, is_forward ? forward++ : backward++, is_forward));
    if (!is_forward && shape.is_zero_bubble && backward > stage) order.push_back({'W', stage, backward - 1 - stage});
  }
  if (!shape.is_zero_bubble) return order;
  for (int late = std::max(0, shape.micro_batches - stage); late < shape.micro_batches; ++late) {
    order.push_back({'W', stage, late});
  }
  return order;
}

// The slots of all stages: each pass in the first one in which all that it waits for is done.
class Slots {
 public:
  explicit Slots(const Shape& shape)
      : rows_(static_cast<std::size_t>(shape.stages)), forward_(Table(shape)), backward_(Table(shape)) {
    std::vector<std::vector<Pass>> orders;
    orders.reserve(static_cast<std::size_t>(shape.stages));
    for (int stage = 0; stage < shape.stages; ++stage) orders.push_back(OrderOf(shape, stage));
    std::vector<std::size_t> next(orders.size(), 0);
    // In every slot some stage works.
    for (int slot = 0; slot < 3 * shape.passes() * shape.stages; ++slot) {
      for (std::size_t stage = 0; stage < orders.size(); ++stage) {
        const bool is_done = next[stage] == orders[stage].size();
        if (is_done || !IsReady(orders[stage][next[stage]], slot)) {
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

  static Times Table(const Shape& shape) {
    const std::vector<int> of_run(static_cast<std::size_t>(shape.micro_batches), -1);
    Times times(static_cast<std::size_t>(shape.runs()), of_run);
    return times;
  }

  static bool IsBefore(int done, int slot) { return done >= 0 && done < slot; }

  bool IsReady(const Pass& pass, int slot) const {
    const auto run = static_cast<std::size_t>(pass.run);
    const auto micro_batch = static_cast<std::size_t>(pass.micro_batch);
    if (pass.kind == 'W') return IsBefore(backward_[run][micro_batch], slot);
    if (pass.kind == 'F') return run == 0 || IsBefore(forward_[run - 1][micro_batch], slot);
    if (run + 1 == backward_.size()) return IsBefore(forward_[run][micro_batch], slot);
    return IsBefore(backward_[run + 1][micro_batch], slot);
  }

  void Enter(std::size_t stage, const Pass& pass, int slot) {
    if (pass.kind != 'W') {
      Times& times = pass.kind == 'F' ? forward_ : backward_;
      times[static_cast<std::size_t>(pass.run)][static_cast<std::size_t>(pass.micro_batch)] = slot;
    }
    rows_[stage].push_back(absl::StrCat(pass.run, std::string(1, pass.kind), pass.micro_batch));
  }

  std::vector<std::vector<std::string>> rows_;
  Times forward_;
  Times backward_;
};

absl::StatusOr<Shape> ShapeOf(const v1::Plan& plan) {
  const v1::PlanningProblem& problem = plan.problem();
  const bool is_joint = plan.has_joint();
  if (TakesTurns(plan)) return CannotExpress(kScheduleCsv, "replicas take its micro-batches in turn");
  const int64_t micro_batches = is_joint ? plan.joint().micro_batches() : problem.micro_batches();
  if (micro_batches < 1 || micro_batches > kMaxMicroBatches) {
    return CannotExpress(kScheduleCsv, absl::StrCat("its problem must count 1 to ", kMaxMicroBatches,
                                                    " micro-batches; plan with --micro_batches"));
  }
  const v1::ScheduleKind kind = is_joint ? plan.joint().schedule() : problem.schedule();
  const bool is_interleaved = is_joint && kind == v1::SCHEDULE_KIND_INTERLEAVED;
  const bool is_zero_bubble = is_joint && kind == v1::SCHEDULE_KIND_ZERO_BUBBLE_H1;
  if (kind != v1::SCHEDULE_KIND_UNSPECIFIED && kind != v1::SCHEDULE_KIND_GPIPE &&
      kind != v1::SCHEDULE_KIND_ONE_F_ONE_B && !is_interleaved && !is_zero_bubble) {
    return CannotExpress(kScheduleCsv, "its schedule is neither GPipe nor 1F1B");
  }
  const int64_t chunks = is_interleaved ? plan.joint().chunks_per_stage() : 1;
  if (chunks < 1 || (is_interleaved && micro_batches % plan.stages_size() != 0)) {
    return CannotExpress(kScheduleCsv,
                         "its stages do not divide the micro-batches, so that they cannot be interleaved");
  }
  if (chunks * plan.stages_size() > kMaxPasses / micro_batches) {
    return CannotExpress(kScheduleCsv, absl::StrCat("it has more than ", kMaxPasses, " passes"));
  }
  return Shape{plan.stages_size(), static_cast<int>(chunks), static_cast<int>(micro_batches),
               kind == v1::SCHEDULE_KIND_GPIPE, is_zero_bubble};
}

}  // namespace

absl::StatusOr<Exported> ExportScheduleCsv(const ExportInput& input) {
  if (input.plan.problem().workload() == v1::WORKLOAD_INFERENCE)
    return CannotExpress(kScheduleCsv, "it is for inference");
  const auto shape = ShapeOf(input.plan);
  if (!shape.ok()) return shape.status();
  std::set<std::string> devices;
  for (const v1::Stage& stage : input.plan.stages()) {
    for (const v1::Replica& replica : stage.replicas()) {
      if (devices.insert(replica.device()).second) continue;
      return CannotExpress(kScheduleCsv, absl::StrCat("device ", replica.device(), " holds several stages"));
    }
  }
  return Exported{Slots(*shape).ToString(),
                  "load it by _load_csv(file, format=\"compute_only\") of a pipeline schedule"};
}

}  // namespace planwright::client
