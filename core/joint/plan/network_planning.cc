#include "core/joint/plan/network_planning.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/polling.h"
#include "core/base/units.h"
#include "core/base/violations.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/place/ring_speeds.h"
#include "core/joint/place/stage_places.h"
#include "core/joint/plan/start_plan.h"
#include "core/joint/plan/what_would_fit.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

constexpr int kMostRounds = 4;
// 320 hours; sums of longer ones do not leave 63 bits.
constexpr Picoseconds kLongestStep{int64_t{1} << 60};

// The slowest links that a placed plan relies on.
struct ReachedLinks {
  TrainingLink tensor;
  // Between copies and between stages.
  TrainingLink others;
};

ReachedLinks ReachedBy(const PlacedPlan& placed) {
  const PairLinks& pairs = *placed.cluster.pairs;
  const DeviceRow row(placed.cluster);
  // No faster than any pair.
  ReachedLinks reached{placed.cluster.inside, placed.cluster.inside};
  const std::vector<JointStage>& stages = placed.plan.stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const StageLinks within = LinksWithin(pairs, row.DevicesOf(stages[s]), stages[s].degrees);
    reached.tensor = Slower(reached.tensor, within.tensor);
    reached.others = Slower(reached.others, within.copies);
    if (s > 0) {
      const TrainingLink across = LinkAcross(pairs, row.DevicesOf(stages[s - 1]), row.DevicesOf(stages[s]));
      reached.others = Slower(reached.others, across);
    }
  }
  return reached;
}

// `mode` where the layer has it, else the first one that may be chosen, else its first one.
LayerRecomputation ModeOf(const LayerPrice& price, LayerRecomputation mode,
                          const std::vector<LayerRecomputation>& allowed) {
  const auto exists = [&](LayerRecomputation other) {
    return price.modes[static_cast<std::size_t>(other)].has_value();
  };
  if (exists(mode)) return mode;
  for (const LayerRecomputation other : allowed) {
    if (exists(other)) return other;
  }
  for (const LayerRecomputation other : {LayerRecomputation::kNone, LayerRecomputation::kSelective}) {
    if (exists(other)) return other;
  }
  return LayerRecomputation::kFull;
}

// As if each class were nodes of so many devices.
TrainingCluster AsNodes(const TrainingCluster& cluster, int64_t node, const ReachedLinks& links) {
  TrainingCluster nodes{.classes = {}, .devices = {}, .inside = links.tensor, .between = links.others};
  auto next = cluster.devices.begin();
  for (const TrainingClass& part : cluster.classes) {
    TrainingClass own = part;
    own.devices_per_node = static_cast<int32_t>(std::min<int64_t>(node, part.devices()));
    own.nodes = static_cast<int32_t>(part.devices() / own.devices_per_node);
    if (part.devices() >= node) {
      nodes.classes.push_back(own);
      nodes.devices.insert(nodes.devices.end(), next, next + own.devices());
    }
    next += part.devices();
  }
  return nodes;
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
  }

  absl::StatusOr<JointAnswer> Run() {
    if (question_.start != nullptr) PlaceStart();
    if (question_.settings.per_stage) {
      for (const TrainingCluster& order : OrdersOf(closest_)) parts_.push_back({order, question_.settings, 0});
    } else {
      for (const int32_t tensor : question_.settings.tensor_degrees) AddPart(tensor);
    }
    BoundParts();
    for (const Part& part : parts_) SearchPart(part);
    if (!best_.has_value()) return NoPlan();
    Complete();
    return *std::move(best_);
  }

 private:
  static std::vector<TrainingCluster> OrdersOf(const TrainingCluster& cluster) {
    if (cluster.classes.size() == 1) return {cluster};
    return {cluster, InReverse(cluster)};
  }

  JointRequest RequestOn(const TrainingCluster& cluster, const JointSettings& settings) const {
    JointRequest request{question_.pricer, cluster, settings, question_.reserved_bytes, question_.relative_gap};
    if (best_.has_value()) request.known_step_ps = best_->plan.step.count();
    return request;
  }

  void PlaceStart() {
    int64_t& fits = counters_["start_fits"];
    for (const TrainingCluster& order : OrdersOf(closest_)) {
      const std::optional<StartPlan> start = StartFrom(*question_.start, RequestOn(order, question_.settings));
      if (!start.has_value()) continue;
      fits = std::max<int64_t>(fits, start->is_as_given ? 2 : 1);
      Place(start->plan, order);
    }
  }

  // Plans that are searched for together.
  struct Part {
    // As if no place were slower.
    TrainingCluster cluster;
    JointSettings settings;
    // Devices of a node of it; 0: there are no nodes.
    int64_t node = 0;
    int64_t bound_ps = 0;
  };

  // Every class with fewer devices has no stage of that degree.
  void AddPart(int32_t tensor) {
    JointSettings settings = question_.settings;
    settings.tensor_degrees = {tensor};
    if (std::cmp_greater(tensor, closest_.devices.size())) return;
    const TrainingCluster nodes = AsNodes(closest_, tensor, {rings_.BestOf(tensor, closest_.inside), closest_.between});
    if (nodes.classes.empty()) return;
    for (const TrainingCluster& order : OrdersOf(nodes)) parts_.push_back({order, settings, tensor});
  }

  // Before anything is placed, so that there is a bound whenever the search is interrupted; the most promising part
  // comes first.
  void BoundParts() {
    std::optional<int64_t> least;
    for (Part& part : parts_) {
      JointRequest request = RequestOn(part.cluster, part.settings);
      request.known_step_ps = least;
      const JointOutcome outcome = SearchJoint(request, limits_, [](const JointPlan&) {});
      part.bound_ps = outcome.step_bound_ps;
      floor_ = std::min(floor_, part.bound_ps);
      if (outcome.plan.has_value()) least = outcome.plan->step.count();
    }
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const Part& a, const Part& b) { return a.bound_ps < b.bound_ps; });
  }

  void SearchPart(const Part& part) {
    const auto& [cluster, settings, node, bound_ps] = part;
    std::optional<ReachedLinks> reached = Look(cluster, settings, true);
    for (int round = 0; reached.has_value() && round < kMostRounds; ++round) {
      ++counters_["price_rounds"];
      if (node == 0) reached->tensor = reached->others = Slower(reached->tensor, reached->others);
      TrainingCluster priced = cluster;
      priced.inside = Slower(cluster.inside, reached->tensor);
      priced.between = Slower(cluster.between, reached->others);
      reached = Look(priced, settings, false);
    }
  }

  // Searches and places what is found; nullopt: nothing is better at these prices than the best plan, or what is lies
  // no better. `proves`: no place has lower prices.
  std::optional<ReachedLinks> Look(const TrainingCluster& cluster, const JointSettings& settings, bool proves) {
    const JointOutcome outcome = SearchJoint(RequestOn(cluster, settings), limits_, [](const JointPlan&) {});
    is_interrupted_ = is_interrupted_ || outcome.is_interrupted;
    for (const auto& [name, count] : outcome.counters) counters_[name] += count;
    if (proves) bound_ = std::min(bound_, outcome.step_bound_ps);
    if (proves && !outcome.equal_stages.empty()) PlaceEqualStages(outcome.equal_stages.front(), cluster);
    if (!outcome.plan.has_value()) return std::nullopt;
    const int64_t before = best_.has_value() ? best_->plan.step.count() : kMaxQuantity;
    const ReachedLinks reached = Place(*outcome.plan, cluster);
    const bool is_better = best_.has_value() && best_->plan.step.count() < before;
    return proves || is_better ? std::optional(reached) : std::nullopt;
  }

  // What people configure by hand: as many layers in every stage, the first and last one with the ends of the model.
  void PlaceEqualStages(JointConfiguration equal, const TrainingCluster& cluster) {
    const TrainingClass& part = cluster.classes.front();
    const bool fits = part.BlocksOf(equal.degrees.devices()) >= equal.num_stages;
    const std::vector<LayerPrice> prices =
        question_.pricer.Price(QueryOn(cluster, part, 0, equal.degrees, equal.micro_batch_samples, equal.sharding));
    if (!fits || prices.empty()) return;
    JointPlan plan{.order = equal.order,
                   .sharding = equal.sharding,
                   .micro_batch_samples = equal.micro_batch_samples,
                   .micro_batches = equal.micro_batches};
    const std::vector<int32_t>& kinds = question_.pricer.kinds();
    const auto last = static_cast<int32_t>(kinds.size()) - 1;
    int32_t layer = 0;
    for (int32_t s = 1; s <= equal.num_stages; ++s) {
      JointStage& stage = plan.stages.emplace_back();
      stage.degrees = equal.degrees;
      stage.first_slot = static_cast<int32_t>((s - 1) * part.TakenBy(equal.degrees.devices()));
      JointChunk& chunk = stage.chunks.emplace_back();
      chunk.first_layer = layer;
      const int32_t end = s == equal.num_stages ? last + 1 : 1 + s * ((last - 1) / equal.num_stages);
      for (; layer < end; ++layer) {
        const LayerPrice& price = prices[static_cast<std::size_t>(kinds[static_cast<std::size_t>(layer)])];
        chunk.recomputation.push_back(ModeOf(price, equal.recomputation, question_.settings.recomputation));
      }
    }
    PlacedPlan placed = PlaceOn(plan, cluster);
    const bool is_held = std::all_of(placed.plan.stages.begin(), placed.plan.stages.end(), [&](const auto& stage) {
      return stage.memory.total() <= part.memory_bytes + question_.reserved_bytes;
    });
    if (!is_held || placed.plan.step >= kLongestStep) return;
    equal.step = placed.plan.step;
    equal_stages_.push_back(equal);
    Offer(std::move(placed));
  }

  PlacedPlan PlaceOn(const JointPlan& plan, const TrainingCluster& cluster) {
    const DeviceRow row(cluster);
    std::vector<DeviceClassId> classes;
    for (const JointStage& stage : plan.stages) {
      classes.push_back(row.At(row.ClassOf(stage.first_slot)).device_class);
    }
    ++counters_["placed_plans"];
    return PlaceStages({question_.pricer, question_.training, question_.reserved_bytes}, plan, classes, poller_);
  }

  // `cluster`: of the plan's slots.
  ReachedLinks Place(const JointPlan& plan, const TrainingCluster& cluster) {
    PlacedPlan placed = PlaceOn(plan, cluster);
    const ReachedLinks reached = ReachedBy(placed);
    Offer(std::move(placed));
    return reached;
  }

  void Offer(PlacedPlan placed) {
    has_too_long_ = has_too_long_ || placed.plan.step >= kLongestStep;
    if (placed.plan.step >= kLongestStep) return;
    if (best_.has_value() && placed.plan.step >= best_->plan.step) return;
    SimulateJointPlan(question_.pricer, DeviceRow(placed.cluster), placed.plan);
    best_ = {
        .plan = std::move(placed.plan), .training = std::move(placed.cluster), .is_interrupted = false, .counters = {}};
    on_answer_(*best_);
  }

  absl::Status NoPlan() const {
    if (has_too_long_) {
      Violations violations;
      violations.Add("problem.joint.global_batch",
                     "must have a step of less than 320 hours: on these links no plan that was placed has");
      return violations.ToStatus();
    }
    if (!is_interrupted_) {
      return NothingFitsError(RequestOn(closest_, question_.settings), limits_);
    }
    return NotInTimeError(limits_);
  }

  void Complete() {
    JointPlan& plan = best_->plan;
    plan.step_bound = Picoseconds(std::min(std::max(bound_, floor_), plan.step.count()));
    int64_t simulated = plan.simulated_step.count();
    for (const TrainingCluster& order : OrdersOf(closest_)) {
      simulated = std::min(simulated, BoundSimulatedStep(RequestOn(order, question_.settings), simulated, limits_));
    }
    plan.simulated_bound = Picoseconds(simulated);
    std::stable_sort(equal_stages_.begin(), equal_stages_.end(),
                     [](const JointConfiguration& a, const JointConfiguration& b) { return a.step < b.step; });
    plan.uniform_configurations = equal_stages_;
    best_->is_interrupted = is_interrupted_;
    best_->counters = counters_;
  }

  const JointQuestion& question_;
  const SolveLimits& limits_;
  const std::function<void(const JointAnswer&)>& on_answer_;
  Poller poller_;
  const RingSpeeds rings_;
  // As many devices as plans may take, as if all pairs had the fastest link.
  TrainingCluster closest_;
  std::optional<JointAnswer> best_;
  std::vector<Part> parts_;
  // No plan of any part takes less: before plans were placed, and when those were known.
  int64_t floor_ = kMaxQuantity;
  int64_t bound_ = kMaxQuantity;
  // The best of each tensor degree, placed.
  std::vector<JointConfiguration> equal_stages_;
  bool is_interrupted_ = false;
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
