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
    LikeStages dealt(table, space_.num_layers(), InterleavingOf(space_, candidate, table), poller_);
    if (!again.has_value()) {
      open.bound = known_;
    } else if (has_steps) {
      open.bound = std::max(open.bound, dealt.LeastStepByWaitsPs(*again, known_));
    } else {
      open.bound = std::max({open.bound, LeastOfWorkPs(candidate, table, *again), dealt.LeastStepPs(known_)});
    }
    if (has_steps) work_left_ -= work;
  }

  // Some stage has no less than the mean of all micro-batches and of the ends of the step.
  int64_t LeastOfWorkPs(const InterleavedCandidate& candidate, const StageTable& table, int64_t again) const {
    const int64_t work = SaturatingAdd(table.BasePs(0, space_.num_layers()), again);
    const int64_t passes = SaturatingMultiply(candidate.family->micro_batches, work);
    return CeilDivide(SaturatingAdd(passes, table.StepEndPs(0, space_.num_layers())), candidate.num_stages);
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
    // As LeastOfWorkPs where nothing is computed again.
    const auto bound_of = [&](const StageTable& table, int32_t stages, int32_t) {
      const int64_t passes = SaturatingMultiply(families[at].micro_batches, table.BasePs(0, space.num_layers()));
      return CeilDivide(SaturatingAdd(passes, table.StepEndPs(0, space.num_layers())), stages);
    };
    ListCandidates(space, families, at, bound_of, known_ps, candidates);
  }
  // An interrupted list lacks some.
  if (poller.ShouldStopNow()) return 0;
  return InterleavedBound(space, known_ps, poller).Of(candidates);
}

}  // namespace planwright
