#include "core/joint/search/interleaved_bound.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>

#include "core/base/units.h"
#include "core/joint/dealing/like_stages.h"
#include "core/joint/search/interleaved_candidates.h"
#include "core/joint/waits/chunk_waits.h"

namespace planwright {
namespace {

// Of all linear programs of a bound; two seconds or three.
constexpr int64_t kMostWorkOfWaits = 25'000'000;

// Some stage has no less than the mean of the passes of all micro-batches and of the ends of the step. `beside_ps`:
// what a micro-batch takes beside the passes of its layers.
int64_t MeanOfStagesPs(const StageTable& table, int32_t num_layers, const SlotShape& shape, int64_t beside_ps) {
  const int64_t work = SaturatingAdd(table.BasePs(0, num_layers), beside_ps);
  const int64_t passes = SaturatingMultiply(shape.micro_batches, work);
  return CeilDivide(SaturatingAdd(passes, table.StepEndOfSeveralPs()), shape.num_stages);
}

// Bounds of candidates, closer and closer: the least of all is made closer until it is as close as can be.
class InterleavedBound {
 public:
  InterleavedBound(const JointSpace& space, int64_t known, Poller& poller)
      : space_(space), known_(known), poller_(poller) {}

  // The least of all; interrupted, what is known by then.
  int64_t Of(const std::vector<InterleavedCandidate>& candidates) {
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    for (std::size_t i = 0; i < candidates.size(); ++i) open.push({candidates[i].bound_ps, Closeness::kWork, i});
    while (!open.empty() && open.top().bound < known_) {
      Open least = open.top();
      open.pop();
      if (least.closeness == Closeness::kWaits || poller_.ShouldStop(10'000)) return least.bound;
      Improve(candidates[least.candidate], least);
      if (least.closeness == Closeness::kWaits) known_ = std::min(known_, least.bound);
      open.push(least);
    }
    return known_;
  }

 private:
  // What is counted. Of the same bounds the closest is looked at first.
  enum class Closeness { kWaits, kSteps, kWork };

  struct Open {
    int64_t bound = 0;
    Closeness closeness = Closeness::kWork;
    std::size_t candidate = 0;

    friend auto operator<=>(const Open& a, const Open& b) = default;
  };

  void Improve(const InterleavedCandidate& candidate, Open& open) {
    const bool has_steps = open.closeness == Closeness::kSteps;
    open.closeness = has_steps ? Closeness::kWaits : Closeness::kSteps;
    const int64_t work = WorkOfWaits(candidate.num_stages, candidate.chunks);
    if (has_steps && work > work_left_) return;
    const std::vector<SpreadOption> options = OptionsOf(space_, *candidate.family);
    const StageTable& table = *options.front().ClosestAt(candidate.class_number);
    const std::optional<int64_t> again = LeastAgainPs(space_, candidate, table);
    if (!again.has_value()) {
      open.bound = known_;
      return;
    }
    const Interleaving interleaving = InterleavingOf(space_, candidate, table);
    LikeStages dealt(table, space_.num_layers(), interleaving, poller_);
    if (has_steps) {
      open.bound = std::max(open.bound, dealt.LeastStepByWaitsPs(*again, known_));
      work_left_ -= work;
    } else {
      const int64_t beside = SaturatingAdd(*again, CutsOf(interleaving));
      open.bound = std::max({open.bound, MeanOfStagesPs(table, space_.num_layers(), interleaving.shape(), beside),
                             dealt.LeastStepPs(known_)});
    }
  }

  const JointSpace& space_;
  // More is not asked for.
  int64_t known_;
  Poller& poller_;
  int64_t work_left_ = kMostWorkOfWaits;
};

}  // namespace

int64_t BoundInterleaved(const JointSpace& space, const std::vector<PipelineFamily>& families, int64_t known_ps,
                         Poller& poller) {
  std::vector<InterleavedCandidate> candidates;
  for (std::size_t at = 0; at < families.size(); ++at) {
    if (poller.ShouldStop(1'000)) return 0;
    const auto bound_of = [&](const StageTable& table, int32_t stages, int32_t chunks) {
      return MeanOfStagesPs(table, space.num_layers(), {stages, chunks, families[at].micro_batches}, 0);
    };
    ListCandidates(space, families, at, bound_of, known_ps, candidates);
  }
  // An interrupted list lacks some.
  if (poller.ShouldStopNow()) return 0;
  return InterleavedBound(space, known_ps, poller).Of(candidates);
}

}  // namespace planwright
