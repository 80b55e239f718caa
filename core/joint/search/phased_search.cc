#include "core/joint/search/phased_search.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "core/joint/search/cap_search.h"

namespace planwright {
namespace {

// One family under the order, of ZERO_BUBBLE_H1 with one number of stages.
struct PhasedCandidate {
  std::size_t family = 0;
  std::optional<int32_t> num_stages;
  int64_t bound_ps = 0;
};

class PhasedSearch {
 public:
  PhasedSearch(const JointSpace& space, PipelineOrder order, const std::vector<PipelineFamily>& families,
               Poller& poller)
      : space_(space), order_(order), families_(families), poller_(poller) {}

  PhasedResult Run(int64_t best_ps, double relative_gap) {
    PhasedResult result;
    result.bound_ps = std::numeric_limits<int64_t>::max();
    const auto bound_of = [](const PhasePass& pass) { return pass.StepBound(); };
    for (const PhasedCandidate& candidate : List(Sought(best_ps, relative_gap), bound_of)) {
      const int64_t sought = Sought(best_ps, relative_gap);
      if (candidate.bound_ps >= sought || poller_.ShouldStop(10'000)) break;
      const std::vector<SpreadOption> options = OptionsOf(space_, families_[candidate.family]);
      const PhaseBounds bounds = BoundsOf(options.front());
      PhasePass pass = PassOf(candidate, options.front(), bounds);
      std::optional<PhasePipeline> found = pass.Least(sought);
      ++result.looked_at;
      result.labels += pass.labels();
      if (!found.has_value()) continue;
      result.bound_ps = std::min(result.bound_ps, found->step_ps);
      best_ps = found->step_ps;
      result.best = std::move(found);
      result.family = candidate.family;
    }
    // What was left out half way is no more than what all families are known to take.
    if (poller_.ShouldStopNow()) result.bound_ps = LeastBusiestBound(families_);
    result.bound_ps = std::min(result.bound_ps, Sought(best_ps, relative_gap));
    return result;
  }

  int64_t BoundSimulated(int64_t known_ps) {
    int64_t bound = known_ps;
    const auto bound_of = [](const PhasePass& pass) { return pass.BusiestBound(); };
    for (const PhasedCandidate& candidate : List(known_ps, bound_of)) {
      if (candidate.bound_ps >= bound) break;
      if (poller_.ShouldStop(10'000)) return 0;
      const std::vector<SpreadOption> options = OptionsOf(space_, families_[candidate.family]);
      const PhaseBounds bounds = BoundsOf(options.front());
      bound = std::min(bound, PassOf(candidate, options.front(), bounds).LeastSimulated(bound));
    }
    return poller_.ShouldStopNow() ? 0 : bound;
  }

 private:
  PhaseBounds BoundsOf(const SpreadOption& option) const {
    return {space_.places, space_.num_layers(), order_, option};
  }

  PhasePass PassOf(const PhasedCandidate& candidate, const SpreadOption& option, const PhaseBounds& bounds) {
    const int64_t micro_batches = families_[candidate.family].micro_batches;
    return {space_.places, space_.num_layers(), {order_, micro_batches, candidate.num_stages}, option, bounds, poller_};
  }

  // The candidates whose bound is below `limit`, the least first.
  template <typename BoundOf>
  std::vector<PhasedCandidate> List(int64_t limit, BoundOf bound_of) {
    std::vector<PhasedCandidate> candidates;
    for (std::size_t at = 0; at < families_.size() && !poller_.ShouldStop(1'000); ++at) {
      const PipelineFamily& family = families_[at];
      const std::vector<SpreadOption> options = OptionsOf(space_, family);
      if (options.empty()) continue;
      const PhaseBounds bounds = BoundsOf(options.front());
      const auto add = [&](std::optional<int32_t> num_stages) {
        PhasedCandidate candidate{at, num_stages, 0};
        candidate.bound_ps = bound_of(PassOf(candidate, options.front(), bounds));
        if (candidate.bound_ps < limit) candidates.push_back(candidate);
      };
      if (order_ == PipelineOrder::kGpipe) {
        add(space_.settings.num_stages);
        continue;
      }
      const int64_t most = std::min({family.most_stages, family.micro_batches, int64_t{space_.num_layers()}});
      for (int32_t stages = 1; stages <= most; ++stages) {
        if (space_.settings.num_stages.value_or(stages) == stages) add(stages);
      }
    }
    std::sort(candidates.begin(), candidates.end(), [](const PhasedCandidate& a, const PhasedCandidate& b) {
      return std::tuple(a.bound_ps, a.family, a.num_stages) < std::tuple(b.bound_ps, b.family, b.num_stages);
    });
    return candidates;
  }

  const JointSpace& space_;
  PipelineOrder order_;
  const std::vector<PipelineFamily>& families_;
  Poller& poller_;
};

}  // namespace

PhasedResult SearchPhased(const JointSpace& space, PipelineOrder order, const std::vector<PipelineFamily>& families,
                          int64_t best_ps, double relative_gap, Poller& poller) {
  return PhasedSearch(space, order, families, poller).Run(best_ps, relative_gap);
}

int64_t BoundPhased(const JointSpace& space, PipelineOrder order, const std::vector<PipelineFamily>& families,
                    int64_t known_ps, Poller& poller) {
  return PhasedSearch(space, order, families, poller).BoundSimulated(known_ps);
}

}  // namespace planwright
