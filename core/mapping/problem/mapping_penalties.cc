#include "core/mapping/problem/mapping_penalties.h"

#include <algorithm>
#include <array>
#include <limits>

namespace planwright {
namespace {

// The least penalty of an excess: breaking a limit by little is not nothing.
constexpr double kStep = 0.03;
// Mappings with more violations are not asked for their value: it is far from the target.
constexpr std::size_t kMostViolations = 16;
// Sums that meet the target exactly are not beyond it for their rounding.
constexpr double kRounding = 1e-12;

double Penalty(double time, double limit) {
  if (time <= limit * (1 + kRounding)) return 0;
  return kStep + 1 - std::max(limit, 0.0) / time;
}

bool AddsAllReduce(const MappingInstance& instance) {
  return instance.CountsRings() && instance.objective != MappingObjective::kLargerOfBoth;
}

}  // namespace

MappingPenalties::MappingPenalties(const MappingState& state, double target_ms)
    : state_(state),
      instance_(state.tables().instance()),
      num_vertices_(instance_.num_vertices()),
      adds_allreduce_(AddsAllReduce(instance_)),
      limits_(Index(instance_.num_stages())),
      penalty_(2 * num_vertices_, 0),
      place_(2 * num_vertices_, -1),
      looked_at_(2 * num_vertices_, 0) {
  SetTarget(target_ms);
}

void MappingPenalties::SetTarget(double target_ms) {
  target_ms_ = target_ms;
  ChooseLimits();
  for (std::size_t item = 0; item < penalty_.size(); ++item) SetPenalty(item, Penalty(TimeOf(item), LimitOf(item)));
}

MappingPenalties::Violation MappingPenalties::violation(std::size_t i) const {
  return {.vertex = static_cast<int32_t>(violated_[i] % num_vertices_), .is_ring = violated_[i] >= num_vertices_};
}

double MappingPenalties::Preview() {
  changes_.clear();
  ++look_;
  for (const int32_t vertex : state_.changed_loads()) PreviewItem(Index(vertex));
  for (const int32_t vertex : state_.changed_rings()) PreviewItem(num_vertices_ + Index(vertex));
  double difference = 0;
  for (const Change& change : changes_) difference += change.penalty - penalty_[change.item];
  return difference;
}

void MappingPenalties::Accept() {
  for (const Change& change : changes_) SetPenalty(change.item, change.penalty);
}

bool MappingPenalties::IsBelow(double value_ms) const {
  if (violated_.size() > kMostViolations) return false;
  for (const std::size_t item : violated_) {
    const double weight = item < num_vertices_ ? instance_.load_weight : instance_.allreduce_weight;
    if (weight * TimeOf(item) >= value_ms) return false;
  }
  return !adds_allreduce_ || SumsOfStages() < value_ms;
}

double MappingPenalties::SumsOfStages() const {
  const bool is_shared = instance_.objective == MappingObjective::kLoadPlusLargestAllReduce;
  double largest = 0;
  double load = 0;
  double ring = 0;
  for (int32_t stage = 0; stage < instance_.num_stages(); ++stage) {
    if (!is_shared) load = ring = 0;
    for (int32_t replica = 0; replica < instance_.replicas.Of(stage); ++replica) {
      const auto vertex = static_cast<int32_t>(instance_.VertexOf(stage, replica));
      load = std::max(load, state_.load(vertex));
      ring = std::max(ring, state_.ring_time(vertex));
    }
    largest = std::max(largest, instance_.load_weight * load + instance_.allreduce_weight * ring);
  }
  return largest;
}

double MappingPenalties::TimeOf(std::size_t item) const {
  return item < num_vertices_ ? state_.load(static_cast<int32_t>(item))
                              : state_.ring_time(static_cast<int32_t>(item - num_vertices_));
}

double MappingPenalties::LimitOf(std::size_t item) const {
  return item < num_vertices_ ? limits_[Index(instance_.StageOf(item))].load
                              : limits_[Index(instance_.StageOf(item - num_vertices_))].ring;
}

void MappingPenalties::PreviewItem(std::size_t item) {
  if (looked_at_[item] == look_) return;
  looked_at_[item] = look_;
  changes_.push_back({.item = item, .penalty = Penalty(TimeOf(item), LimitOf(item))});
}

void MappingPenalties::SetPenalty(std::size_t item, double penalty) {
  penalty_[item] = penalty;
  int32_t& place = place_[item];
  if (penalty > 0 && place < 0) {
    place = static_cast<int32_t>(violated_.size());
    violated_.push_back(item);
  } else if (penalty == 0 && place >= 0) {
    const std::size_t last = violated_.back();
    violated_[Index(place)] = last;
    place_[last] = place;
    violated_.pop_back();
    place = -1;
  }
}

void MappingPenalties::ChooseLimits() {
  if (!adds_allreduce_) {
    const Limits limits{.load = target_ms_ / instance_.load_weight, .ring = target_ms_ / instance_.allreduce_weight};
    std::fill(limits_.begin(), limits_.end(), limits);
    return;
  }
  const bool is_shared = instance_.objective == MappingObjective::kLoadPlusLargestAllReduce;
  std::vector<int32_t> vertices;
  for (int32_t stage = 0; stage < instance_.num_stages(); ++stage) {
    if (!is_shared) vertices.clear();
    for (int32_t replica = 0; replica < instance_.replicas.Of(stage); ++replica) {
      vertices.push_back(static_cast<int32_t>(instance_.VertexOf(stage, replica)));
    }
    if (!is_shared) limits_[Index(stage)] = ChooseSplit(vertices);
  }
  if (is_shared) std::fill(limits_.begin(), limits_.end(), ChooseSplit(vertices));
}

MappingPenalties::Limits MappingPenalties::SplitTarget(double ring_budget) const {
  return {.load = (target_ms_ - instance_.allreduce_weight * ring_budget) / instance_.load_weight, .ring = ring_budget};
}

MappingPenalties::Limits MappingPenalties::ChooseSplit(const std::vector<int32_t>& vertices) const {
  std::vector<double> loads;
  std::vector<double> rings;
  for (const int32_t vertex : vertices) {
    loads.push_back(state_.load(vertex));
    rings.push_back(state_.ring_time(vertex));
  }
  std::sort(loads.begin(), loads.end());
  std::sort(rings.begin(), rings.end());
  const std::size_t last = vertices.size() - 1;
  const std::array<std::size_t, 6> ranks = {
      last, last - std::min<std::size_t>(last, 1), last * 7 / 8, last * 3 / 4, last / 2, 0};
  Limits best;
  double least = std::numeric_limits<double>::infinity();
  const auto offer = [&](double ring_budget) {
    const Limits limits = SplitTarget(std::max(ring_budget, 0.0));
    const double penalty = PenaltyUnder(vertices, limits);
    if (penalty >= least) return;
    least = penalty;
    best = limits;
  };
  for (const std::size_t rank : ranks) {
    offer(rings[rank]);
    offer((target_ms_ - instance_.load_weight * loads[rank]) / instance_.allreduce_weight);
  }
  return best;
}

double MappingPenalties::PenaltyUnder(const std::vector<int32_t>& vertices, const Limits& limits) const {
  double penalty = 0;
  for (const int32_t vertex : vertices) {
    penalty += Penalty(state_.load(vertex), limits.load) + Penalty(state_.ring_time(vertex), limits.ring);
  }
  return penalty;
}

}  // namespace planwright
