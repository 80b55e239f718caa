#include "core/joint/search/joint_search.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/search/cap_search.h"
#include "core/joint/search/dominance.h"
#include "core/joint/search/equal_stages.h"
#include "core/joint/search/families.h"
#include "core/joint/search/interleaved.h"
#include "core/joint/search/interleaved_bound.h"
#include "core/joint/search/phased_search.h"
#include "core/joint/search/places.h"
#include "core/joint/search/stage_pass.h"
#include "core/joint/stages/stage_table.h"

namespace planwright {
namespace {

// Above every step; twice of it fits.
constexpr int64_t kNoStep = std::numeric_limits<int64_t>::max() / 8;
constexpr std::size_t kEqualStagesListed = 5;
// Units of work of the bound of simulated steps by its number of families, some 0.3 s to 1.5 s, more of unlike layers;
// and how many more for passes whose labels are as many as there are.
constexpr int64_t kWorkOfFamily = 10'000'000;
constexpr int64_t kLeastWorkOfBound = 150'000'000;
constexpr int64_t kMostWorkOfBound = 750'000'000;
constexpr int64_t kMostWorkOfAllWaits = 30'000'000;
// The first limits are below what is needed by one part in so many, the last ones as far above what is known.
constexpr std::array<int64_t, 2> kFirstLimits = {6, 16};
constexpr int64_t kPartsOfLastLimit = 64;

bool Allows(const JointSettings& settings, PipelineOrder order) {
  return std::find(settings.orders.begin(), settings.orders.end(), order) != settings.orders.end();
}

// Orders searched by phased_search.h. What GPIPE runs, 1F1B runs in no more time and memory.
std::vector<PipelineOrder> PhasedOrders(const JointSettings& settings) {
  std::vector<PipelineOrder> orders;
  const bool has_plain = Allows(settings, PipelineOrder::kOneFOneB);
  if (!has_plain && Allows(settings, PipelineOrder::kGpipe)) orders.push_back(PipelineOrder::kGpipe);
  if (Allows(settings, PipelineOrder::kZeroBubble)) orders.push_back(PipelineOrder::kZeroBubble);
  return orders;
}

// Stages from the front of the row, as people count: moved by whole nodes or racks where all are alike.
void MoveToFront(const Places& places, JointPlan& plan) {
  const int64_t period = places.Period(0);
  if (places.row().num_classes() > 1 || period == 0) return;
  const int64_t idle = plan.stages.front().first_slot / period * period;
  for (JointStage& stage : plan.stages) stage.first_slot -= static_cast<int32_t>(idle);
}

// `plan` with each stage as close to the front of its class as those before it let it be; nullopt: they do not fit so.
std::optional<JointPlan> Packed(const DeviceRow& row, JointPlan plan, bool is_closest) {
  int32_t number = -1;
  int64_t from = 0;
  for (JointStage& stage : plan.stages) {
    const int32_t own = row.ClassOf(stage.first_slot);
    if (own != number) from = row.StartOf(own);
    number = own;
    const int64_t devices = stage.degrees.devices();
    const int64_t slot = row.NextBlock(number, from, devices, is_closest);
    if (slot < 0) return std::nullopt;
    stage.first_slot = static_cast<int32_t>(slot);
    from = slot + row.At(number).TakenBy(devices);
  }
  return plan;
}

JointConfiguration ConfigurationOf(PipelineOrder order, const EqualStagePipeline& equal) {
  return {.order = order,
          .num_stages = equal.num_stages,
          .chunks = 1,
          .degrees = equal.family.degrees.front(),
          .sharding = equal.family.sharding,
          .recomputation = equal.most_have,
          .micro_batch_samples = equal.family.samples,
          .micro_batches = equal.family.micro_batches,
          .step = Picoseconds(equal.step_ps)};
}

class JointSearch {
 public:
  JointSearch(const JointRequest& request, const SegmentNumbers& segments, const SolveLimits& limits,
              const std::function<void(const JointPlan&)>& on_plan)
      : request_(request),
        row_(request.cluster),
        places_(row_),
        segments_(segments),
        uniform_(request.settings),
        poller_(limits),
        on_plan_(on_plan),
        best_(request.known_step_ps.value_or(kNoStep)) {
    uniform_.per_stage = false;
  }

  JointOutcome Run() {
    outcome_.step_bound_ps = kNoStep;
    SearchOrders();
    outcome_.step_bound_ps = std::min(outcome_.step_bound_ps, best_);
    outcome_.is_interrupted = poller_.ShouldStopNow();
    if (is_list_cut_ || IsEnough() || (outcome_.is_interrupted && best_ == kNoStep)) outcome_.step_bound_ps = 0;
    outcome_.simulated_floor_ps = is_list_cut_ ? 0 : floor_;
    return std::move(outcome_);
  }

  int64_t BoundSimulated(int64_t known) {
    int64_t bound = known;
    if (Allows(uniform_, PipelineOrder::kOneFOneB)) {
      const JointSpace space = SpaceOf(request_.settings);
      const std::vector<PipelineFamily> families = NeededOf(space, ListFamilies(space, poller_));
      if (poller_.ShouldStopNow()) return 0;
      bound = std::min(bound, BoundPlainSteps(space, families, bound));
    }
    const JointSpace uniform = SpaceOf(uniform_);
    const std::vector<PipelineOrder> phased = PhasedOrders(uniform_);
    std::vector<PipelineFamily> families;
    if (Allows(uniform_, PipelineOrder::kInterleaved) || !phased.empty()) {
      families = NeededOf(uniform, ListFamilies(uniform, poller_));
    }
    for (const PipelineOrder order : phased) {
      bound = std::min(bound, BoundPhased(uniform, order, families, bound, poller_));
    }
    if (poller_.ShouldStopNow()) return 0;
    // Last: holds where it is interrupted as well.
    if (!Allows(uniform_, PipelineOrder::kInterleaved)) return bound;
    return std::min(bound, BoundInterleaved(uniform, families, bound, poller_));
  }

 private:
  bool IsEnough() const { return best_ <= request_.enough_ps; }

  void SearchOrders() {
    const JointSpace uniform = SpaceOf(uniform_);
    const std::vector<PipelineFamily> families = ListOf(uniform);
    outcome_.counters["families"] = static_cast<int64_t>(families.size());
    uniform_bound_ = LeastBusiestBound(families);
    if (!request_.settings.per_stage && !is_list_cut_) listed_bound_ = uniform_bound_;
    const bool has_plain = Allows(uniform_, PipelineOrder::kOneFOneB);
    const std::vector<PipelineOrder> phased = PhasedOrders(uniform_);
    // People see all of equal stages, needless ones as well.
    if (has_plain) TryEqualStages(uniform, PipelineOrder::kOneFOneB, families);
    if (IsEnough()) return;
    const std::vector<PipelineFamily> needed = NeededOf(uniform, families);
    if (has_plain) SearchPlainStages(uniform, needed);
    if (IsEnough()) return;
    if (Allows(uniform_, PipelineOrder::kInterleaved)) SearchInterleavedStages(uniform, needed);
    if (!phased.empty() && outcome_.equal_stages.empty()) TryEqualStages(uniform, phased.front(), families);
    for (const PipelineOrder order : phased) {
      if (!IsEnough()) SearchPhasedStages(uniform, order, needed);
    }
  }

  void SearchPlainStages(const JointSpace& uniform, const std::vector<PipelineFamily>& families) {
    if (uniform_.first_layers_alike) {
      SearchFirstLayersAlike(uniform, families);
    } else {
      SearchFamilies(uniform, families, !request_.settings.per_stage);
    }
    if (request_.settings.per_stage) SearchPerStage();
  }

  // A list that was cut short proves nothing.
  std::vector<PipelineFamily> ListOf(const JointSpace& space) {
    std::vector<PipelineFamily> families = ListFamilies(space, poller_);
    is_list_cut_ = is_list_cut_ || poller_.ShouldStopNow();
    floor_ = std::min(floor_, LeastBusiestPasses(families));
    return families;
  }

  std::vector<PipelineFamily> NeededOf(const JointSpace& space, std::vector<PipelineFamily> families) {
    return WithoutNeedless(space, std::move(families), poller_);
  }

  JointSpace SpaceOf(const JointSettings& settings) const {
    return {request_.pricer, places_, segments_, settings, request_.reserved_bytes};
  }

  void TryEqualStages(const JointSpace& space, PipelineOrder order, const std::vector<PipelineFamily>& families) {
    const std::vector<EqualStagePipeline> best = BestEqualStages(space, order, families, kEqualStagesListed, poller_);
    for (const EqualStagePipeline& equal : best) outcome_.equal_stages.push_back(ConfigurationOf(order, equal));
    if (best.empty()) return;
    const EqualStagePipeline& first = best.front();
    Offer(PlanOfPipeline(first.family, order, false, first.pipeline, places_, OptionsOf(space, first.family),
                         [&](const StageTable& table, const PlacedStage& stage, const HeldMicroBatches&) {
                           return table.ModesInMode(stage.first_layer, stage.end_layer, first.recomputation);
                         }));
  }

  // `proves`: what is left out of these families is left out of all.
  void SearchFamilies(const JointSpace& space, const std::vector<PipelineFamily>& families, bool proves) {
    for (const PipelineFamily& family : families) {
      if (IsEnough()) return;
      const int64_t sought = Sought(best_, request_.relative_gap);
      if (family.step_bound_ps >= sought) {
        if (proves) NoteBound(sought);
        break;
      }
      if (poller_.ShouldStopNow()) {
        if (proves) NoteBound(family.step_bound_ps);
        break;
      }
      const int64_t bound = SearchFamily(space, family);
      if (proves) NoteBound(bound);
    }
  }

  // Each number of first layers that are computed again is a family of its own. None does better than what may compute
  // again any layers.
  void SearchFirstLayersAlike(const JointSpace& space, const std::vector<PipelineFamily>& families) {
    for (const PipelineFamily& family : families) {
      const int64_t sought = Sought(best_, request_.relative_gap);
      if (IsEnough() || family.step_bound_ps >= sought || poller_.ShouldStopNow()) {
        NoteBound(std::min(sought, family.step_bound_ps));
        return;
      }
      std::vector<SpreadOption> options = OptionsOf(space, family);
      StagePass pass(places_, space.num_layers(), family.micro_batches, space.settings.num_stages, options, poller_);
      const int64_t bound = SearchCaps(pass, family.micro_batches, best_, request_.relative_gap, poller_).bound_ps;
      std::vector<PipelineFamily> again = WithFirstLayersAgain(space, {family}, poller_);
      if (poller_.ShouldStopNow()) return NoteBound(family.step_bound_ps);
      for (PipelineFamily& one : again) one.step_bound_ps = std::max(one.step_bound_ps, bound);
      SearchFamilies(space, again, true);
    }
  }

  // Only of first layers that are computed again alike: others choose what fits.
  bool MayFit(const JointSpace& space, const PipelineFamily& family, std::vector<SpreadOption>& options) {
    if (!family.first_layers_again.has_value() || row_.num_classes() > 1) return true;
    StagePass pass(places_, space.num_layers(), family.micro_batches, space.settings.num_stages, options, poller_,
                   StagePass::Measure::kNothing);
    const int64_t devices = pass.LeastDevices({0, kNoStep, kNoStep}, places_.size()).devices_bound;
    return devices < kDoesNotFit || poller_.ShouldStopNow();
  }

  int64_t SearchFamily(const JointSpace& space, const PipelineFamily& family) {
    std::vector<SpreadOption> options = OptionsOf(space, family);
    if (!MayFit(space, family, options)) return kNoStep;
    StagePass pass(places_, space.num_layers(), family.micro_batches, space.settings.num_stages, options, poller_);
    const CapSearchResult result = SearchCaps(pass, family.micro_batches, best_, request_.relative_gap, poller_);
    outcome_.counters["families_searched"] += 1;
    outcome_.counters["passes"] += result.passes;
    outcome_.counters["labels"] += pass.labels();
    if (result.pipeline.has_value()) {
      Offer(PlanOfPipeline(family, PipelineOrder::kOneFOneB, space.settings.per_stage, *result.pipeline, places_,
                           options, ModesThatFit));
    }
    return result.bound_ps;
  }

  // What is known of a family: no step of it takes less, task by task; and how many passes by place have said so, more
  // than kFirstLimits: one whose labels are as many as there are is next.
  struct OpenFamily {
    int64_t bound_ps = 0;
    std::size_t passes = 0;
    std::size_t family = 0;

    friend auto operator<=>(const OpenFamily& a, const OpenFamily& b) = default;
    bool counts_all() const { return passes > kFirstLimits.size(); }
  };

  // What no step under 1F1B beats, task by task; at most `needed`, more is not asked for. The least bound of all
  // families is raised, by passes that count more each time, until nothing is below it or so much work is done.
  int64_t BoundPlainSteps(const JointSpace& space, const std::vector<PipelineFamily>& families, int64_t needed) {
    std::priority_queue<OpenFamily, std::vector<OpenFamily>, std::greater<>> open;
    for (std::size_t i = 0; i < families.size(); ++i) open.push({families[i].busiest_passes_ps, 0, i});
    const auto count = static_cast<int64_t>(families.size());
    int64_t work_left = std::clamp(count * kWorkOfFamily, kLeastWorkOfBound, kMostWorkOfBound);
    int64_t work_left_of_all = kMostWorkOfAllWaits;
    while (!open.empty() && open.top().bound_ps < needed) {
      OpenFamily least = open.top();
      open.pop();
      while (!least.counts_all() && LimitOf(least, needed) <= least.bound_ps) ++least.passes;
      const bool counts_all = least.counts_all();
      const int64_t limit = LimitOf(least, needed);
      const std::optional<int64_t> found =
          LeastStepOf(space, families[least.family], counts_all, limit, counts_all ? work_left_of_all : work_left);
      if (!found.has_value()) return least.bound_ps;
      least.bound_ps = std::max(least.bound_ps, *found);
      if (counts_all && *found < limit) {
        needed = least.bound_ps;
        continue;
      }
      // Below a higher limit a pass by place finds the same.
      least.passes = *found < limit ? kFirstLimits.size() + 1 : least.passes + 1;
      open.push(least);
    }
    return needed;
  }

  // Below which the next pass of a family looks: there is the less to do the lower it is.
  static int64_t LimitOf(const OpenFamily& open, int64_t needed) {
    int64_t limit = needed;
    if (open.passes < kFirstLimits.size()) limit -= needed / kFirstLimits[open.passes];
    if (open.counts_all()) limit = open.bound_ps + needed / kPartsOfLastLimit + 1;
    return std::min(limit, needed);
  }

  std::optional<int64_t> LeastStepOf(const JointSpace& space, const PipelineFamily& family, bool counts_all,
                                     int64_t limit, int64_t& work_left) {
    std::vector<SpreadOption> options = OptionsOf(space, family);
    StagePass pass(places_, space.num_layers(), family.micro_batches, uniform_.num_stages, options, poller_,
                   StagePass::Measure::kStep);
    return counts_all ? pass.LeastSimulated(limit, work_left) : pass.LeastByPlace(limit, work_left);
  }

  void SearchPhasedStages(const JointSpace& space, PipelineOrder order, const std::vector<PipelineFamily>& families) {
    const PhasedResult result = SearchPhased(space, order, families, best_, request_.relative_gap, poller_);
    outcome_.counters["phased_searches"] += result.looked_at;
    outcome_.counters["phased_labels"] += result.labels;
    NoteBound(result.bound_ps);
    if (!result.best.has_value()) return;
    const PipelineFamily& family = families[result.family];
    Offer(PlanOfPipeline(family, order, false, result.best->pipeline, places_, OptionsOf(space, family), ModesThatFit));
  }

  void SearchPerStage() {
    const JointSpace space = SpaceOf(request_.settings);
    std::vector<PipelineFamily> families = ListOf(space);
    if (!is_list_cut_) listed_bound_ = std::min(uniform_bound_, LeastBusiestBound(families));
    SearchFamilies(space, NeededOf(space, std::move(families)), true);
  }

  void SearchInterleavedStages(const JointSpace& space, const std::vector<PipelineFamily>& families) {
    InterleavedResult result = SearchInterleaved(space, families, best_, request_.relative_gap, poller_);
    outcome_.counters["interleavings"] = result.looked_at;
    NoteBound(result.bound_ps);
    outcome_.is_open = result.bound_ps < Sought(best_, request_.relative_gap);
    if (!result.plan.has_value()) return;
    Offer(*std::move(result.plan));
  }

  void Offer(JointPlan plan) {
    MoveToFront(places_, plan);
    Cost(plan);
    if (plan.step.count() >= best_) return;
    // Devices that idle are the last ones of their class, where that takes no longer.
    for (const bool is_closest : {false, true}) {
      std::optional<JointPlan> packed = Packed(row_, plan, is_closest);
      if (!packed.has_value()) continue;
      Cost(*packed);
      if (packed->step > plan.step || !IsHeld(row_, request_.reserved_bytes, *packed)) continue;
      plan = *std::move(packed);
      break;
    }
    best_ = plan.step.count();
    outcome_.plan = plan;
    plan.step_bound = std::min(plan.step, Picoseconds(listed_bound_));
    on_plan_(plan);
  }

  void Cost(JointPlan& plan) const { CostJointPlan(request_.pricer, row_, request_.reserved_bytes, plan); }

  void NoteBound(int64_t bound) { outcome_.step_bound_ps = std::min(outcome_.step_bound_ps, bound); }

  const JointRequest& request_;
  DeviceRow row_;
  Places places_;
  const SegmentNumbers& segments_;
  // The settings, one spread for all stages.
  JointSettings uniform_;
  Poller poller_;
  const std::function<void(const JointPlan&)>& on_plan_;
  // The least step of the plans found and the known one, in picoseconds.
  int64_t best_;
  bool is_list_cut_ = false;
  // What no pipeline with one spread beats, and what none at all does as far as that is known.
  int64_t uniform_bound_ = 0;
  int64_t listed_bound_ = 0;
  // What no pipeline of the lists beats, task by task.
  int64_t floor_ = kNoStep;
  JointOutcome outcome_;
};

}  // namespace

JointOutcome SearchJoint(const JointRequest& request, const SolveLimits& limits,
                         const std::function<void(const JointPlan&)>& on_plan) {
  const std::optional<SegmentNumbers> segments = NumberSegments(request.pricer.kinds(), limits);
  if (!segments.has_value()) {
    JointOutcome nothing;
    nothing.is_interrupted = true;
    return nothing;
  }
  return JointSearch(request, *segments, limits, on_plan).Run();
}

std::optional<bool> MayTakeTooLong(const JointRequest& request, const SolveLimits& limits) {
  Poller poller(limits);
  const DeviceRow row(request.cluster);
  const Places places(row);
  const std::optional<SegmentNumbers> segments = NumberSegments(request.pricer.kinds(), limits);
  if (!segments.has_value()) return std::nullopt;
  const bool are_some =
      AreSomeTooLong({request.pricer, places, *segments, request.settings, request.reserved_bytes}, poller);
  if (poller.ShouldStopNow()) return std::nullopt;
  return are_some;
}

int64_t BoundSimulatedStep(const JointRequest& request, int64_t simulated_step_ps, const SolveLimits& limits) {
  const std::function<void(const JointPlan&)> nobody = [](const JointPlan&) {};
  const std::optional<SegmentNumbers> segments = NumberSegments(request.pricer.kinds(), limits);
  if (!segments.has_value()) return 0;
  return JointSearch(request, *segments, limits, nobody).BoundSimulated(simulated_step_ps);
}

}  // namespace planwright
