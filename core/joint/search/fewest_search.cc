#include "core/joint/search/fewest_search.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/search/dominance.h"
#include "core/joint/search/families.h"
#include "core/joint/search/places.h"
#include "core/joint/search/stage_pass.h"
#include "core/joint/stages/stage_table.h"

namespace planwright {
namespace {

// As intervals of cap_search.h: wide ones prune little, and many narrow ones are slow.
constexpr int64_t kPartsOfFewestStep = 50;
// Above every step.
constexpr int64_t kUnlimitedStep = std::numeric_limits<int64_t>::max() / 8;

// All pipelines whose longest stage takes more than `above` and at most `cap`.
struct DeviceInterval {
  int64_t above = 0;
  int64_t cap = 0;
  // They take at least so many devices.
  int64_t devices = 0;
};

struct TakesMore {
  bool operator()(const DeviceInterval& a, const DeviceInterval& b) const {
    return std::pair(a.devices, a.above) > std::pair(b.devices, b.above);
  }
};

class FewestSearch {
 public:
  FewestSearch(const JointRequest& request, const SegmentNumbers& segments, std::optional<int64_t> most_ps,
               int64_t most_devices, const SolveLimits& limits)
      : request_(request),
        row_(request.cluster),
        places_(row_),
        segments_(segments),
        uniform_(request.settings),
        limit_(most_ps.value_or(kUnlimitedStep) + 1),
        measure_(most_ps.has_value() ? StagePass::Measure::kTime : StagePass::Measure::kNothing),
        poller_(limits) {
    uniform_.per_stage = false;
    outcome_.devices = most_devices + 1;
  }

  FewestOutcome Run() {
    const JointSpace uniform = SpaceOf(uniform_);
    std::vector<PipelineFamily> families = NeededOf(uniform);
    if (uniform_.first_layers_alike) families = WithFirstLayersAgain(uniform, families, poller_);
    SearchFamilies(uniform, std::move(families));
    if (request_.settings.per_stage) {
      const JointSpace space = SpaceOf(request_.settings);
      SearchFamilies(space, NeededOf(space));
    }
    outcome_.is_proven = !poller_.ShouldStopNow();
    return std::move(outcome_);
  }

 private:
  using Open = std::priority_queue<DeviceInterval, std::vector<DeviceInterval>, TakesMore>;

  std::vector<PipelineFamily> NeededOf(const JointSpace& space) {
    return WithoutNeedless(space, ListFamilies(space, poller_), poller_);
  }

  JointSpace SpaceOf(const JointSettings& settings) const {
    return {request_.pricer, places_, segments_, settings, request_.reserved_bytes};
  }

  bool is_timed() const { return measure_ == StagePass::Measure::kTime; }

  // What the work of a family leaves it at least.
  int64_t DevicesOf(const PipelineFamily& family) const {
    const int64_t rest = family.micro_batches - 1;
    const int64_t left = limit_ - 1 - family.once_ps;
    if (!is_timed()) return family.fewest_devices;
    if (left < 0) return kDoesNotFit;
    if (rest == 0) return family.fewest_devices;
    const int64_t longest = left / rest;
    return longest == 0 ? kDoesNotFit : std::max(family.fewest_devices, CeilDivide(family.work_ps, longest));
  }

  void SearchFamilies(const JointSpace& space, std::vector<PipelineFamily> families) {
    std::stable_sort(families.begin(), families.end(),
                     [&](const PipelineFamily& a, const PipelineFamily& b) { return DevicesOf(a) < DevicesOf(b); });
    for (const PipelineFamily& family : families) {
      if (DevicesOf(family) >= outcome_.devices || poller_.ShouldStopNow()) return;
      SearchFamily(space, family);
    }
  }

  void SearchFamily(const JointSpace& space, const PipelineFamily& family) {
    std::vector<SpreadOption> options = OptionsOf(space, family);
    StagePass pass(places_, space.num_layers(), family.micro_batches, space.settings.num_stages, options, poller_,
                   measure_);
    Open open;
    Push(pass, {pass.longest_bound() - 1, MostCap(pass, family), 0}, open);
    while (!open.empty() && open.top().devices < outcome_.devices && !poller_.ShouldStopNow()) {
      const DeviceInterval interval = Narrowed(pass, family, open);
      if (interval.devices >= outcome_.devices) continue;
      const StagePass::Fewest found = pass.LeastDevices(WindowOf(interval), outcome_.devices - 1);
      if (found.pipeline.has_value()) Offer(space, family, options, *found.pipeline, found.devices);
      if (is_timed()) Split(pass, family, interval, found, open);
    }
  }

  StagePass::Window WindowOf(const DeviceInterval& interval) const { return {interval.above, interval.cap, limit_}; }

  // No longest stage of a pipeline that takes `value` beside it may take more.
  int64_t MostLongest(const PipelineFamily& family, int64_t value) const {
    const int64_t rest = family.micro_batches - 1;
    return rest == 0 ? kUnlimitedStep : (limit_ - 1 - value) / rest;
  }

  int64_t MostCap(const StagePass& pass, const PipelineFamily& family) const {
    const int64_t possible = pass.longest_possible();
    if (!is_timed()) return possible;
    return std::min(possible, MostLongest(family, SaturatingAdd(pass.SumBound(possible), pass.end_bound())));
  }

  void Push(const StagePass& pass, DeviceInterval interval, Open& open) const {
    if (interval.above >= interval.cap) return;
    interval.devices = std::max(interval.devices, pass.DevicesBound(WindowOf(interval), outcome_.devices - 1));
    if (interval.devices < outcome_.devices) open.push(interval);
  }

  // The first part of the best interval; the rest of it stays open.
  DeviceInterval Narrowed(const StagePass& pass, const PipelineFamily& family, Open& open) const {
    DeviceInterval interval = open.top();
    open.pop();
    const int64_t rest = family.micro_batches - 1;
    if (!is_timed() || rest == 0 || pass.has_one_stage()) return interval;
    const int64_t narrow = interval.above + limit_ / kPartsOfFewestStep / rest + 1;
    if (narrow >= interval.cap) return interval;
    Push(pass, {narrow, interval.cap, interval.devices}, open);
    interval.cap = narrow;
    interval.devices = std::max(interval.devices, pass.DevicesBound(WindowOf(interval), outcome_.devices - 1));
    return interval;
  }

  // What is left of an interval in which fewer devices may do than are known.
  void Split(const StagePass& pass, const PipelineFamily& family, const DeviceInterval& interval,
             const StagePass::Fewest& found, Open& open) const {
    if (found.devices_bound >= outcome_.devices) return;
    const int64_t cap = std::min(interval.cap, MostLongest(family, found.value_bound));
    const int64_t middle = interval.above + (cap - interval.above) / 2;
    Push(pass, {interval.above, middle, found.devices_bound}, open);
    Push(pass, {middle, cap, found.devices_bound}, open);
  }

  void Offer(const JointSpace& space, const PipelineFamily& family, const std::vector<SpreadOption>& options,
             const StagePipeline& pipeline, int64_t devices) {
    outcome_.devices = devices;
    outcome_.plan = PlanOfPipeline(family, PipelineOrder::kOneFOneB, space.settings.per_stage, pipeline, places_,
                                   options, ModesThatFit);
  }

  const JointRequest& request_;
  DeviceRow row_;
  Places places_;
  const SegmentNumbers& segments_;
  // The settings, one spread for all stages.
  JointSettings uniform_;
  // Above the steps that will do.
  int64_t limit_;
  StagePass::Measure measure_;
  Poller poller_;
  FewestOutcome outcome_;
};

}  // namespace

bool PlainHoldsWhatOthersDo(const JointRequest& request) {
  const std::vector<PipelineOrder>& orders = request.settings.orders;
  const auto may_be = [&](PipelineOrder order) {
    return std::find(orders.begin(), orders.end(), order) != orders.end();
  };
  if (!may_be(PipelineOrder::kOneFOneB)) return false;
  const std::vector<int32_t>& kinds = request.pricer.kinds();
  if (!may_be(PipelineOrder::kInterleaved) || kinds.size() < 4) return true;
  return std::all_of(kinds.begin() + 1, kinds.end() - 1, [&](int32_t kind) { return kind == kinds[1]; });
}

FewestOutcome SearchFewestDevices(const JointRequest& request, std::optional<int64_t> most_ps, int64_t most_devices,
                                  const SolveLimits& limits) {
  const std::optional<SegmentNumbers> segments = NumberSegments(request.pricer.kinds(), limits);
  if (!segments.has_value()) return {.plan = std::nullopt, .devices = most_devices + 1};
  return FewestSearch(request, *segments, most_ps, most_devices, limits).Run();
}

}  // namespace planwright
