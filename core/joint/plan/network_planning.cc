#include "core/joint/plan/network_planning.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/known.h"
#include "core/base/polling.h"
#include "core/base/units.h"
#include "core/base/violations.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/place/linked_devices.h"
#include "core/joint/place/network_cluster.h"
#include "core/joint/place/ring_speeds.h"
#include "core/joint/place/stage_places.h"
#include "core/joint/plan/choice_worth.h"
#include "core/joint/plan/equal_stage_plan.h"
#include "core/joint/plan/layer_shifts.h"
#include "core/joint/plan/network_scopes.h"
#include "core/joint/plan/start_plan.h"
#include "core/joint/plan/what_would_fit.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

constexpr int kMostRounds = 4;
// 320 hours; sums of longer ones do not leave 63 bits.
constexpr Picoseconds kLongestStep{int64_t{1} << 60};

// Nothing is better than a plan by what the full search for places can gain over a draft, if it is worse by more. Where
// one host has a slow link a draft that sends over it takes three times as long as the best places of the same plan.
constexpr double kHopeless = 4;

// Of the work for the answer that which is done to say what a choice is worth: one in so many drafts, and so many plans
// with all places.
constexpr std::size_t kDraftsPerWorth = 8;
constexpr std::size_t kPlacedPerWorth = 2;

// The decisions of a plan, as numbers.
std::vector<int64_t> KeyOf(const JointPlan& plan, const std::vector<DeviceClassId>& classes) {
  std::vector<int64_t> key = {
      static_cast<int64_t>(plan.order), plan.chunks,       static_cast<int64_t>(plan.sharding), plan.per_stage ? 1 : 0,
      plan.micro_batch_samples,         plan.micro_batches};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Degrees& degrees = plan.stages[s].degrees;
    key.insert(key.end(), {-1, static_cast<int64_t>(classes[s].index()), degrees.tensor, degrees.context,
                           degrees.expert, degrees.data});
    for (const JointChunk& chunk : plan.stages[s].chunks) {
      key.push_back(-2);
      for (const LayerRecomputation mode : chunk.recomputation) key.push_back(static_cast<int64_t>(mode));
    }
  }
  return key;
}

class NetworkPlanner {
 public:
  NetworkPlanner(const JointQuestion& question, const SolveLimits& limits,
                 const std::function<void(const JointAnswer&)>& on_answer)
      : question_(question),
        limits_(limits),
        on_answer_(on_answer),
        poller_(limits),
        rings_(question.training, poller_),
        closest_(question.most_devices.empty() ? question.training
                                               : FirstDevicesByClass(question.training, question.most_devices)) {
    closest_.pairs = nullptr;
    has_unlike_memory_ = HasUnlikeMemory(question.training);
  }

  absl::StatusOr<JointAnswer> Run() {
    if (question_.enough_ps == 0) {
      for (LeftOutChoice& choice : ChoicesToLeaveOut(question_.settings)) without_.push_back({std::move(choice)});
    }
    if (question_.start != nullptr) PlaceStart();
    SearchScopes();
    if (has_unlike_memory_ && !IsEnough()) SearchPartsOfMoreMemory();
    if (!best_.has_value()) return NoPlan();
    const int64_t simulated_bound = BoundSimulated(best_->plan);
    for (LeftOut& each : without_) SearchWithout(each);
    JointAnswer answer = Known(std::move(best_));
    Complete(simulated_bound, answer);
    return answer;
  }

 private:
  struct BoundedScope {
    NetworkScope scope;
    int64_t bound_ps = 0;
  };
  // The best draft of a scope.
  struct Draft {
    NetworkScope scope;
    JointPlan plan;
    int64_t step_ps = kMaxQuantity;
  };
  // A choice, and the best plan that was found to do without it.
  struct LeftOut {
    LeftOutChoice choice;
    std::optional<PlacedPlan> best = std::nullopt;
    // Neither time nor the longest step kept plans from being found.
    bool is_known = true;
  };

  static TrainingCluster WithMost(const TrainingCluster& cluster) {
    return WithLikeMemory(cluster, AssumedMemory::kMost);
  }

  JointRequest RequestOn(const TrainingCluster& cluster, const JointSettings& settings) const {
    JointRequest request = question_.RequestOn(cluster, settings);
    if (best_.has_value()) request.known_step_ps = best_->plan.step.count();
    return request;
  }

  void PlaceStart() {
    int64_t& fits = counters_["start_fits"];
    for (const TrainingCluster& order : OrdersOf(closest_)) {
      const std::optional<StartPlan> start = StartFrom(*question_.start, RequestOn(order, question_.settings), limits_);
      if (!start.has_value()) continue;
      fits = std::max<int64_t>(fits, start->is_as_given ? 2 : 1);
      Place(start->plan, ClassesOf(start->plan, order));
    }
  }

  void SearchScopes() {
    AddScopes();
    BoundScopes();
    for (const BoundedScope& each : scopes_) {
      if (IsEnough() || has_unlike_memory_) bound_ = std::min(bound_, each.bound_ps);
      if (!IsEnough()) Search(each.scope);
    }
    if (!IsEnough()) SearchNarrowScopes();
  }

  // Stages that fit on some devices only.
  void SearchPartsOfMoreMemory() {
    const std::function<void(const JointAnswer&)> nobody = [](const JointAnswer&) {};
    for (const TrainingCluster& part :
         PartsOfMoreMemory(question_.cluster, question_.training, question_.reserved_bytes)) {
      JointQuestion asked{question_.pricer,   question_.cluster,        part,
                          question_.settings, question_.reserved_bytes, question_.relative_gap};
      for (std::size_t i = 0; i < question_.most_devices.size(); ++i) {
        asked.most_devices.push_back(std::min(question_.most_devices[i], part.classes[i].devices()));
      }
      asked.enough_ps = question_.enough_ps;
      NetworkPlanner planner(asked, limits_, nobody);
      planner.SearchScopes();
      is_interrupted_ = is_interrupted_ || planner.is_interrupted_;
      has_too_long_ = has_too_long_ || planner.has_too_long_;
      if (planner.best_.has_value()) Offer({std::move(planner.best_->training), std::move(planner.best_->plan)});
    }
  }

  // One choice for all stages is among those by stage, and is looked at for itself as well.
  void AddScopes() {
    if (question_.settings.per_stage) {
      for (const TrainingCluster& order : OrdersOf(closest_)) scopes_.push_back({{order, question_.settings, 0}});
    }
    for (const int32_t tensor : question_.settings.tensor_degrees) AddScope(tensor);
  }

  // Every class with fewer devices has no stage of that degree.
  void AddScope(int32_t tensor) {
    JointSettings settings = question_.settings;
    settings.tensor_degrees = {tensor};
    settings.per_stage = false;
    if (std::cmp_greater(tensor, closest_.devices.size())) return;
    const TrainingCluster nodes = AsNodes(closest_, tensor, {rings_.BestOf(tensor, closest_.inside), closest_.between});
    if (nodes.classes.empty()) return;
    for (const TrainingCluster& order : OrdersOf(nodes)) scopes_.push_back({{order, settings, tensor}});
  }

  // Before anything is placed, so that there is a bound whenever the search is interrupted; the most promising scope
  // comes first.
  void BoundScopes() {
    std::optional<int64_t> least;
    for (BoundedScope& each : scopes_) {
      const TrainingCluster cluster = WithMost(each.scope.cluster);
      JointRequest request = RequestOn(cluster, each.scope.settings);
      request.known_step_ps = least;
      const JointOutcome outcome = SearchJoint(request, limits_, [](const JointPlan&) {});
      each.bound_ps = outcome.step_bound_ps;
      floor_ = std::min(floor_, each.bound_ps);
      simulated_floor_ = std::min(simulated_floor_, outcome.simulated_floor_ps);
      if (outcome.plan.has_value()) least = outcome.plan->step.count();
      may_fit_ = may_fit_ || outcome.plan.has_value() || outcome.is_interrupted || outcome.is_open;
    }
    std::stable_sort(scopes_.begin(), scopes_.end(),
                     [](const BoundedScope& a, const BoundedScope& b) { return a.bound_ps < b.bound_ps; });
  }

  // The best plan as if no place were slower, then at the prices of the links that were reached, until nothing is
  // better than what is known.
  void Search(const NetworkScope& scope) {
    const JointOutcome outcome = SearchAt(RequestOn(scope.cluster, scope.settings));
    // Of devices that all have as little memory as one of them nothing is proven.
    if (!has_unlike_memory_) bound_ = std::min(bound_, outcome.step_bound_ps);
    if (!outcome.equal_stages.empty()) PlaceEqualStages(outcome.equal_stages.front(), scope);
    if (outcome.plan.has_value()) PlaceAndReprice(scope, *outcome.plan);
  }

  JointOutcome SearchAt(const JointRequest& request) {
    JointOutcome outcome = SearchJoint(request, limits_, [](const JointPlan&) {});
    is_interrupted_ = is_interrupted_ || outcome.is_interrupted;
    is_open_ = is_open_ || outcome.is_open;
    for (const auto& [name, count] : outcome.counters) counters_[name] += count;
    return outcome;
  }

  // Whatever else is known: `plan`, and the best ones at the prices of the links that the last one reached, as long as
  // each is better than that.
  template <typename PlaceOne>
  void Reprice(const NetworkScope& scope, const JointSettings& settings, JointPlan plan, PlaceOne place) {
    int64_t least = kMaxQuantity;
    for (int round = 0; round <= kMostRounds && !poller_.ShouldStopNow(); ++round) {
      const PlacedPlan& placed = place(plan, ClassesOf(plan, scope.cluster));
      if (placed.plan.step.count() >= least) return;
      least = placed.plan.step.count();
      ++counters_["price_rounds"];
      std::optional<JointPlan> next = BestAt(scope.At(ReachedBy(placed)), settings);
      if (!next.has_value()) return;
      plan = *std::move(next);
    }
  }

  void PlaceAndReprice(const NetworkScope& scope, JointPlan plan) {
    Reprice(scope, scope.settings, std::move(plan),
            [&](const JointPlan& each, const std::vector<DeviceClassId>& classes) -> const PlacedPlan& {
              return Place(each, classes);
            });
  }

  // The best plan at such prices, whatever is known.
  std::optional<JointPlan> BestAt(const TrainingCluster& cluster, const JointSettings& settings) {
    JointRequest request = RequestOn(cluster, settings);
    request.known_step_ps.reset();
    return SearchAt(request).plan;
  }

  std::size_t MostDrafts() const { return MostProbes(closest_.devices.size(), question_.pricer.kinds().size()); }

  // Each data degree, schedule and number of stages for itself, so that whatever a person may fix beforehand has been
  // looked at.
  void SearchNarrowScopes() {
    std::vector<Draft> drafts;
    DraftNarrowScopes(MostDrafts(), drafts);
    PlaceDrafts(std::move(drafts), std::numeric_limits<std::size_t>::max());
  }

  void DraftNarrowScopes(std::size_t budget, std::vector<Draft>& drafts) {
    std::vector<NetworkScope> narrow;
    for (const BoundedScope& each : scopes_) {
      const std::vector<NetworkScope> more = NarrowScopes(each.scope);
      narrow.insert(narrow.end(), more.begin(), more.end());
    }
    if (narrow.empty() || budget == 0) return;
    const LinkedDevices linked(question_.training, poller_);
    const std::size_t looked_at = std::min(budget, narrow.size());
    for (std::size_t i = 0; i < looked_at && !poller_.ShouldStopNow(); ++i) {
      // Where there are more than there is work for, some of them are looked at, evenly spread.
      Draft draft{.scope = narrow[i * narrow.size() / looked_at], .plan = {}};
      if (!MayBeBetter(draft.scope)) continue;
      DraftPlans(linked, budget / looked_at / 2, draft);
      if (draft.step_ps < kMaxQuantity) drafts.push_back(std::move(draft));
    }
  }

  // The best `most` of them, and no hopeless ones, with all that is done for places.
  void PlaceDrafts(std::vector<Draft> drafts, std::size_t most) {
    std::stable_sort(drafts.begin(), drafts.end(),
                     [](const Draft& a, const Draft& b) { return a.step_ps < b.step_ps; });
    drafts.resize(std::min(drafts.size(), most));
    for (Draft& draft : drafts) {
      if (IsHopeless(draft.step_ps)) break;
      PlaceAndReprice(draft.scope, std::move(draft.plan));
    }
  }

  // Looks for plans that do without a choice which the answer has made. What was found for the answer itself counts,
  // and what is found is one more answer where the request allows it.
  void SearchWithout(LeftOut& without) {
    if (without.choice.does_without(Known(best_).plan)) {
      without.is_known = !poller_.ShouldStopNow();
      return;
    }
    JointQuestion asked{question_.pricer,        question_.cluster,        question_.training,
                        without.choice.settings, question_.reserved_bytes, std::max(question_.relative_gap, kWorthGap)};
    asked.most_devices = question_.most_devices;
    const std::function<void(const JointAnswer&)> nobody = [](const JointAnswer&) {};
    NetworkPlanner planner(asked, limits_, nobody);
    planner.RunInShort(without.best);
    without.is_known = !planner.poller_.ShouldStopNow() && (planner.best_.has_value() || !planner.has_too_long_);
    if (!planner.best_.has_value()) return;
    PlacedPlan found{std::move(planner.best_->training), std::move(planner.best_->plan)};
    if (without.choice.is_narrower) Offer(found);
    without.best = std::move(found);
  }

  // Drafts of every scope and of some narrow ones, of which the best get places. `known`: a plan of these settings.
  void RunInShort(const std::optional<PlacedPlan>& known) {
    if (known.has_value()) Offer(*known);
    AddScopes();
    std::vector<Draft> drafts;
    for (const BoundedScope& each : scopes_) {
      Draft draft{.scope = each.scope, .plan = {}};
      if (!MayBeBetter(draft.scope)) continue;
      DraftAndReprice(draft.scope.cluster, draft.scope.settings, draft);
      if (draft.step_ps < kMaxQuantity) drafts.push_back(std::move(draft));
    }
    DraftNarrowScopes(MostDrafts() / kDraftsPerWorth, drafts);
    PlaceDrafts(std::move(drafts), kPlacedPerWorth);
  }

  // Whether the scope may have a better plan than what is known, judged on the fastest links.
  bool MayBeBetter(const NetworkScope& scope) {
    return !best_.has_value() || SearchAt(RequestOn(scope.cluster, scope.settings)).plan.has_value();
  }

  // Plans at the prices of the fastest links, also for some numbers of stages, and for these at those of the fastest
  // links that join so many devices.
  void DraftPlans(const LinkedDevices& linked, std::size_t most_counts, Draft& draft) {
    const NetworkScope& scope = draft.scope;
    DraftAndReprice(scope.cluster, scope.settings, draft);
    for (const int32_t count : StageCounts(scope, static_cast<int64_t>(question_.pricer.kinds().size()), most_counts)) {
      if (poller_.ShouldStopNow()) return;
      JointSettings settings = scope.settings;
      settings.num_stages = count;
      const int64_t devices = count * scope.LeastStage();
      const ReachedLinks links{linked.LinkOf(scope.node, closest_.inside), linked.LinkOf(devices, closest_.inside)};
      DraftAndReprice(scope.cluster, settings, draft);
      DraftAndReprice(scope.At(links), settings, draft);
    }
  }

  void DraftAndReprice(const TrainingCluster& cluster, const JointSettings& settings, Draft& draft) {
    std::optional<JointPlan> first = BestAt(cluster, settings);
    if (!first.has_value()) return;
    Reprice(draft.scope, settings, *std::move(first),
            [&](const JointPlan& plan, const std::vector<DeviceClassId>& classes) -> const PlacedPlan& {
              const PlacedPlan& placed = PlacedAs(plan, classes, PlaceEffort::kDraft);
              Offer(placed);
              if (!IsHopeless(placed.plan.step.count())) Shift(placed);
              if (placed.plan.step.count() < draft.step_ps) {
                draft.step_ps = placed.plan.step.count();
                draft.plan = plan;
              }
              return placed;
            });
  }

  // What people configure by hand.
  void PlaceEqualStages(JointConfiguration equal, const NetworkScope& scope) {
    const std::optional<JointPlan> plan = EqualStagePlan(question_.pricer, scope.cluster, question_.settings, equal);
    if (!plan.has_value()) return;
    const PlacedPlan& placed = PlacedAs(*plan, ClassesOf(*plan, scope.cluster), PlaceEffort::kFull);
    if (!IsHeld(DeviceRow(placed.cluster), question_.reserved_bytes, placed.plan)) return;
    if (placed.plan.step >= kLongestStep) return;
    equal.step = placed.plan.step;
    equal_stages_.push_back(equal);
    Offer(placed);
  }

  // Returns the classes of the stages, on the row of `cluster`.
  static std::vector<DeviceClassId> ClassesOf(const JointPlan& plan, const TrainingCluster& cluster) {
    const DeviceRow row(cluster);
    std::vector<DeviceClassId> classes;
    classes.reserve(plan.stages.size());
    for (const JointStage& stage : plan.stages) {
      classes.push_back(row.At(row.ClassOf(stage.first_slot)).device_class);
    }
    return classes;
  }

  const PlacedPlan& PlacedAs(const JointPlan& plan, const std::vector<DeviceClassId>& classes, PlaceEffort effort) {
    std::vector<int64_t> key = KeyOf(plan, classes);
    key.push_back(static_cast<int64_t>(effort));
    const auto found = placed_.find(key);
    if (found != placed_.end()) return found->second;
    ++counters_["placed_plans"];
    const PlaceQuestion asked{question_.pricer, question_.training, question_.reserved_bytes};
    return placed_.emplace(std::move(key), PlaceStages(asked, plan, classes, effort, poller_)).first->second;
  }

  bool IsHopeless(int64_t step_ps) const {
    return best_.has_value() &&
           static_cast<double>(step_ps) > kHopeless * static_cast<double>(best_->plan.step.count());
  }

  // Places the plan, also with its layers moved to where they are best on these links.
  const PlacedPlan& Place(const JointPlan& plan, const std::vector<DeviceClassId>& classes) {
    const PlacedPlan& placed = PlacedAs(plan, classes, PlaceEffort::kFull);
    Offer(placed);
    Shift(placed);
    return placed;
  }

  // Moves the layers of each placed plan once.
  void Shift(const PlacedPlan& placed) {
    if (question_.settings.first_layers_alike || placed.plan.step >= kLongestStep) return;
    if (!shifted_.insert(&placed).second) return;
    PlacedPlan shifted = placed;
    ShiftLayers({question_.pricer, question_.training, question_.reserved_bytes}, poller_, shifted);
    Offer(shifted);
  }

  void Offer(const PlacedPlan& placed) {
    has_too_long_ = has_too_long_ || placed.plan.step >= kLongestStep;
    if (placed.plan.step >= kLongestStep) return;
    for (LeftOut& each : without_) {
      const bool is_better = !each.best.has_value() || placed.plan.step < each.best->plan.step;
      if (is_better && each.choice.does_without(placed.plan)) each.best = placed;
    }
    if (best_.has_value() && placed.plan.step >= best_->plan.step) return;
    best_ = {.plan = placed.plan, .training = placed.cluster, .is_interrupted = false, .counters = {}};
    SimulateJointPlan(question_.pricer, DeviceRow(best_->training), best_->plan);
    on_answer_(*best_);
  }

  bool IsEnough() const { return best_.has_value() && best_->plan.step.count() <= question_.enough_ps; }

  absl::Status NoPlan() const {
    if (has_too_long_) {
      Violations violations;
      violations.Add("problem.joint.global_batch",
                     "must have a step of less than 320 hours: on these links no plan that was placed has");
      return violations.ToStatus();
    }
    if (is_interrupted_) return NotWithinLimitsError(limits_);
    if (is_open_) return NotFoundInterleavedError();
    if (has_unlike_memory_ && may_fit_) return NotFoundOnUnlikeMemoryError();
    return NothingFitsError(question_, closest_, limits_);
  }

  // No plan's step takes less, task by task.
  int64_t BoundSimulated(const JointPlan& best) const {
    int64_t simulated = best.simulated_step.count();
    for (const TrainingCluster& order : OrdersOf(closest_)) {
      const TrainingCluster row = WithMost(order);
      simulated = std::min(simulated, BoundSimulatedStep(RequestOn(row, question_.settings), simulated, limits_));
    }
    return simulated;
  }

  void Complete(int64_t simulated_bound, JointAnswer& answer) {
    JointPlan& plan = answer.plan;
    plan.step_bound = Picoseconds(std::min(std::max(bound_, floor_), plan.step.count()));
    plan.simulated_bound =
        Picoseconds(std::min(std::max(simulated_bound, simulated_floor_), plan.simulated_step.count()));
    std::stable_sort(equal_stages_.begin(), equal_stages_.end(),
                     [](const JointConfiguration& a, const JointConfiguration& b) { return a.step < b.step; });
    plan.uniform_configurations = equal_stages_;
    for (const LeftOut& each : without_) {
      if (!each.is_known) continue;
      const auto step = each.best.has_value() ? std::optional(each.best->plan.step) : std::nullopt;
      plan.worth.push_back({each.choice.what, step});
    }
    answer.is_interrupted = is_interrupted_;
    answer.counters = counters_;
  }

  const JointQuestion& question_;
  const SolveLimits& limits_;
  const std::function<void(const JointAnswer&)>& on_answer_;
  Poller poller_;
  const RingSpeeds rings_;
  // As many devices as plans may take, as if all pairs had the fastest link.
  TrainingCluster closest_;
  std::optional<JointAnswer> best_;
  std::vector<BoundedScope> scopes_;
  // The choices of which the answer says what they are worth; none where only a fast enough plan is asked for.
  std::vector<LeftOut> without_;
  // Plans that were placed, by their decisions and the effort.
  std::map<std::vector<int64_t>, PlacedPlan> placed_;
  // The placed plans whose layers were moved.
  std::set<const PlacedPlan*> shifted_;
  // No plan of any scope takes less: before plans were placed, and when those were known.
  int64_t floor_ = kMaxQuantity;
  int64_t bound_ = kMaxQuantity;
  // The first task by task.
  int64_t simulated_floor_ = kMaxQuantity;
  // The best of each tensor degree, placed.
  std::vector<JointConfiguration> equal_stages_;
  bool is_interrupted_ = false;
  // Devices of one class differ in memory: stages are looked for as if each had as little as the one that has least,
  // and what is proven is so as if each had the most.
  bool has_unlike_memory_ = false;
  // Nothing proves that no plan fits with the most memory.
  bool may_fit_ = false;
  // As JointOutcome::is_open, of any of the searches.
  bool is_open_ = false;
  // A plan was placed whose step takes longer than kLongestStep.
  bool has_too_long_ = false;
  std::map<std::string, int64_t> counters_;
};

}  // namespace

absl::StatusOr<JointAnswer> PlanOnNetwork(const JointQuestion& question, const SolveLimits& limits,
                                          const std::function<void(const JointAnswer&)>& on_answer) {
  return NetworkPlanner(question, limits, on_answer).Run();
}

}  // namespace planwright
