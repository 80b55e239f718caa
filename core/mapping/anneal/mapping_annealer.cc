#include "core/mapping/anneal/mapping_annealer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "core/mapping/problem/mapping_penalties.h"
#include "core/mapping/problem/mapping_state.h"

namespace planwright {
namespace {

// What a cycle in vain changes.
constexpr double kCycleGrowth = 1.25;
constexpr double kAmbitionDecay = 0.6;
constexpr double kLeastAmbition = 1e-4;
constexpr int64_t kSweepGrowth = 2;
constexpr int64_t kMovesPerBudget = 2048;
constexpr int64_t kMovesPerLook = 256;

// The heat after a cycle in vain: what is as modest as can be begins anew, with longer cycles, to leave the trap.
MappingHeat After(MappingHeat heat, double most_ambition) {
  heat.ambition = std::min(heat.ambition, most_ambition) * kAmbitionDecay;
  heat.cycle_moves = static_cast<int64_t>(static_cast<double>(heat.cycle_moves) * kCycleGrowth);
  if (heat.ambition >= kLeastAmbition) return heat;
  const int64_t first_cycle = heat.first_cycle_moves * kSweepGrowth;
  return {.hot = heat.hot, .cold = heat.cold, .cycle_moves = first_cycle, .first_cycle_moves = first_cycle};
}

// Of the moves for a load, to any device at all.
constexpr double kAnywhere = 0.08;
constexpr double kCostliestEdge = 0.5;
// Near devices to choose from, however small the slack.
constexpr std::size_t kFewestNear = 6;
// Of the moves for a ring.
constexpr double kReverse = 0.4;
constexpr double kSegments = 0.3;
constexpr double kReplicas = 0.3;
constexpr int kTriesForReplica = 8;
constexpr std::size_t kLongestSegment = 8;

// Of the moves for a load where all-reduces count too.
constexpr double kRelabel = 0.5;

// Moves of annealing: what mends a broken limit, guessed from the links around it. For one thread; what it is given
// outlives it.
//
//   guided exchange   one end of an edge that is too slow moves to a device near the other end, out of those that the
//                     limit of the other end allows; who is there takes its place or, where its stage must not be,
//                     that of a third
//   relabelling       the replicas of one stage change devices and places on the ring, so that an edge gets faster and
//                     the ring stays as it is (where loads and all-reduces both count)
//   2-opt             a part of a ring is turned around, so that a replica gets a near one as its next
//   segments          as many devices of one ring as of another change places, joined where they are near (kAllReduce)
//   replicas          where rings follow the replicas, some replicas of all stages come in the other order
class MappingMoves {
 public:
  MappingMoves(MappingState& state, const MappingPenalties& penalties, RandomStream& random)
      : state_(state),
        tables_(state.tables()),
        instance_(tables_.instance()),
        penalties_(penalties),
        relabels_(instance_.CountsRings() && instance_.CountsTraffic() && instance_.free_ring_order),
        random_(random) {}

  // Tries a move on the state, to be accepted or undone by the caller. Returns the number of devices moved on trial, at
  // least 1; the state may be as it was, where the guess was no move.
  int64_t Propose() {
    moved_ = 0;
    if (penalties_.num_violations() == 0) {
      MoveAnywhere(static_cast<int32_t>(Pick(instance_.num_vertices())));
    } else {
      const MappingPenalties::Violation violation = penalties_.violation(Pick(penalties_.num_violations()));
      violation.is_ring ? MendRing(violation.vertex) : MendLoad(violation.vertex);
    }
    return std::max<int64_t>(moved_, 1);
  }

 private:
  std::size_t Pick(std::size_t count) { return static_cast<std::size_t>(random_.Unit() * static_cast<double>(count)); }

  bool Chance(double probability) { return random_.Unit() < probability; }

  void MendLoad(int32_t vertex) {
    const auto& neighbours = tables_.neighbours(vertex);
    if (!instance_.CountsTraffic() || neighbours.empty() || Chance(kAnywhere)) return MoveAnywhere(vertex);
    const ReplicaNeighbour* edge = &neighbours[Pick(neighbours.size())];
    if (Chance(kCostliestEdge)) {
      edge = &*std::max_element(neighbours.begin(), neighbours.end(),
                                [&](const auto& a, const auto& b) { return state_.EdgeTime(a) < state_.EdgeTime(b); });
    }
    if (Chance(0.5)) return MoveNear(vertex, *edge);
    MoveNear(edge->vertex, {edge->traffic, edge->edge, vertex, !edge->sends_forward});
  }

  void MendRing(int32_t vertex) {
    if (!instance_.free_ring_order) {
      if (Chance(kReplicas)) return ReverseReplicas(vertex);
    } else {
      if (Chance(kReverse)) return ReversePart(vertex);
      if (instance_.objective == MappingObjective::kAllReduce && Chance(kSegments)) return ExchangeSegments(vertex);
    }
    MoveNextOnRing(vertex, Chance(0.5));
  }

  void MoveAnywhere(int32_t vertex) {
    MoveTo(state_.device(vertex), tables_.devices()[Pick(tables_.devices().size())]);
  }

  // Moves the neighbour near to `centre`.
  void MoveNear(int32_t centre, const ReplicaNeighbour& neighbour) {
    const int32_t stage = state_.stage_of(centre);
    const int32_t mover = neighbour.vertex;
    const double limit = state_.EdgeTime(neighbour) + penalties_.load_limit(stage) - state_.load(centre);
    const DeviceId here = state_.device(centre);
    const auto time = [&](DeviceId there) { return state_.EdgeTimeOver(neighbour, here, there); };
    if (!relabels_ || !Chance(kRelabel)) return MoveTo(state_.device(mover), NearDevice(here, limit, time));
    const int32_t other = NearReplica(state_.stage_of(mover), here, limit, time);
    if (other == MappingState::kNobody || other == mover) return;
    if (!state_.MayExchange(state_.device(mover), state_.device(other))) return;
    state_.ExchangeReplicas(mover, other);
    moved_ += 2;
  }

  void MoveNextOnRing(int32_t vertex, bool moves_next) {
    const int32_t next = state_.next_on_ring(vertex);
    const int32_t mover = moves_next ? next : vertex;
    const DeviceId here = state_.device(moves_next ? vertex : next);
    const int32_t stage = state_.stage_of(vertex);
    MoveTo(state_.device(mover), NearDevice(here, penalties_.ring_limit(stage), [&](DeviceId there) {
             return moves_next ? state_.RingTimeOver(stage, here, there) : state_.RingTimeOver(stage, there, here);
           }));
  }

  void ReversePart(int32_t vertex) {
    const int32_t stage = state_.stage_of(vertex);
    const int32_t next = state_.next_on_ring(vertex);
    const DeviceId here = state_.device(vertex);
    int32_t partner = NearReplica(stage, here, penalties_.ring_limit(stage),
                                  [&](DeviceId there) { return state_.RingTimeOver(stage, here, there); });
    if (partner == MappingState::kNobody) {
      const std::size_t replica = Pick(Index(instance_.replicas.Of(stage)));
      partner = static_cast<int32_t>(instance_.VertexOf(stage, static_cast<int32_t>(replica)));
    }
    if (partner == vertex || partner == next) return;
    state_.ReverseRing(next, partner);
  }

  void ExchangeSegments(int32_t vertex) {
    const int32_t stage = state_.stage_of(vertex);
    const DeviceId here = state_.device(vertex);
    int32_t other = state_.vertex_on(NearDevice(
        here, penalties_.ring_limit(stage), [&](DeviceId there) { return state_.RingTimeOver(stage, here, there); }));
    if (other == MappingState::kNobody || state_.stage_of(other) == stage) return;
    const std::size_t longest = std::min(kLongestSegment, Index(instance_.replicas.Of(stage)) - 1);
    int32_t mine = state_.next_on_ring(vertex);
    for (std::size_t left = 1 + Pick(longest); left > 0; --left) {
      if (!Exchange(state_.device(mine), state_.device(other))) return state_.Undo();
      mine = state_.next_on_ring(mine);
      other = state_.next_on_ring(other);
    }
  }

  void ReverseReplicas(int32_t vertex) {
    const StageReplicas& replicas = instance_.replicas;
    const int32_t size = replicas.Of(state_.stage_of(vertex));
    const auto length = static_cast<int32_t>(2 + Pick(std::min(kLongestSegment, Index(size)) - 1));
    for (int32_t low = 1, high = length; low < high; ++low, --high) {
      const int32_t a = (replicas.ReplicaOf(Index(vertex)) + low) % size;
      const int32_t b = (replicas.ReplicaOf(Index(vertex)) + high) % size;
      for (int32_t stage = 0; stage < instance_.num_stages(); ++stage) {
        if (std::max(a, b) >= replicas.Of(stage)) continue;
        Exchange(state_.device(static_cast<int32_t>(instance_.VertexOf(stage, a))),
                 state_.device(static_cast<int32_t>(instance_.VertexOf(stage, b))));
      }
    }
  }

  bool Exchange(DeviceId a, DeviceId b) {
    if (!state_.MayExchange(a, b)) return false;
    state_.Exchange(a, b);
    moved_ += 2;
    return true;
  }

  // Moves what is on a to b: by Exchange, or by rotation with a random third device where only that may be.
  void MoveTo(DeviceId a, DeviceId b) {
    if (Exchange(a, b) || a == b || state_.vertex_on(b) == MappingState::kNobody) return;
    const DeviceId third = tables_.devices()[Pick(tables_.devices().size())];
    const auto may_go = [&](DeviceId from, DeviceId to) {
      const int32_t vertex = state_.vertex_on(from);
      return vertex == MappingState::kNobody || tables_.MayRun(state_.stage_of(vertex), to);
    };
    if (third == a || third == b || !may_go(a, b) || !may_go(b, third) || !may_go(third, a)) return;
    state_.Exchange(a, b);
    state_.Exchange(a, third);
    moved_ += 3;
  }

  // A random one of the devices near `centre` for which `time`, of a device, is at most `limit`: of a few at least.
  template <typename Time>
  DeviceId NearDevice(DeviceId centre, double limit, Time time) {
    const std::span<const DeviceId> near = tables_.near().Of(centre);
    if (near.empty()) return centre;
    const auto is_within = [&](DeviceId device) { return time(device) <= limit; };
    // Few are within the limit as a rule, so the end is looked for from the front.
    std::size_t tried = kFewestNear;
    while (tried < near.size() && is_within(near[tried])) tried *= 2;
    const auto begin = near.begin() + static_cast<std::ptrdiff_t>(tried / 2);
    const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(tried, near.size()));
    const std::size_t within =
        tried == kFewestNear ? 0 : static_cast<std::size_t>(std::partition_point(begin, end, is_within) - near.begin());
    return near[Pick(std::min(near.size(), std::max(within, kFewestNear)))];
  }

  // The replica of the stage on such a device; kNobody: a few tries met none.
  template <typename Time>
  int32_t NearReplica(int32_t stage, DeviceId centre, double limit, Time time) {
    for (int tries = 0; tries < kTriesForReplica; ++tries) {
      const int32_t found = state_.vertex_on(NearDevice(centre, limit, time));
      if (found != MappingState::kNobody && state_.stage_of(found) == stage) return found;
    }
    return MappingState::kNobody;
  }

  MappingState& state_;
  const MappingTables& tables_;
  const MappingInstance& instance_;
  const MappingPenalties& penalties_;
  const bool relabels_;
  RandomStream& random_;
  int64_t moved_ = 0;
};

class Annealer {
 public:
  Annealer(const MappingTables& tables, const Mapping& start, double bound_ms, const MappingHeat& heat,
           RandomStream& random, const SolveLimits& limits)
      : tables_(tables),
        bound_ms_(bound_ms),
        random_(random),
        limits_(limits),
        state_(tables, start),
        run_{.best = start, .value = Evaluate(tables.instance(), tables.links(), start), .heat = heat},
        penalties_(state_, Target()),
        moves_(state_, penalties_, random) {}

  MappingRun Run(int64_t moves) && {
    while (run_.moves < moves && !IsDone()) {
      const double before = run_.value.value_ms;
      RunCycle(std::min(run_.heat.cycle_moves, moves - run_.moves));
      if (run_.value.value_ms < before) continue;
      run_.heat = After(run_.heat, MostAmbition());
      penalties_.SetTarget(Target());
    }
    return std::move(run_);
  }

 private:
  // Half of the gap, relative to the value: what the bound allows is seldom there.
  double MostAmbition() const { return (1 - bound_ms_ / run_.value.value_ms) / 2; }
  double Target() const { return run_.value.value_ms * (1 - std::min(run_.heat.ambition, MostAmbition())); }
  bool IsDone() const { return is_stopped_ || run_.value.value_ms <= bound_ms_ * (1 + kRoundingOfValues); }

  void RunCycle(int64_t moves) {
    const int64_t first = run_.moves;
    const double cooling = std::log(run_.heat.cold / run_.heat.hot) / static_cast<double>(moves);
    double temperature = run_.heat.hot;
    while (run_.moves - first < moves && !IsDone()) {
      if (++steps_ % kMovesPerLook == 0) {
        temperature = run_.heat.hot * std::exp(cooling * static_cast<double>(run_.moves - first));
        is_stopped_ = CheckInterruption(limits_).has_value();
        if (steps_ % kMovesPerBudget == 0) penalties_.Rebudget();
      }
      Step(temperature);
    }
  }

  void Step(double temperature) {
    run_.moves += moves_.Propose();
    const double difference = penalties_.Preview();
    if (difference > 0 && random_.Unit() >= std::exp(-difference / temperature)) return state_.Undo();
    penalties_.Accept();
    state_.Accept();
    if (penalties_.IsBelow(run_.value.value_ms * (1 - kRoundingOfValues))) Record();
  }

  void Record() {
    Mapping mapping = state_.ToMapping();
    const MappingValue value = Evaluate(tables_.instance(), tables_.links(), mapping);
    if (value.value_ms >= run_.value.value_ms) return;
    run_.best = std::move(mapping);
    run_.value = value;
    penalties_.SetTarget(Target());
  }

  const MappingTables& tables_;
  const double bound_ms_;
  RandomStream& random_;
  const SolveLimits& limits_;
  int64_t steps_ = 0;
  bool is_stopped_ = false;
  MappingState state_;
  MappingRun run_;
  MappingPenalties penalties_;
  MappingMoves moves_;
};

}  // namespace

MappingRun AnnealMapping(const MappingTables& tables, const Mapping& start, double bound_ms, const MappingHeat& heat,
                         int64_t moves, RandomStream& random, const SolveLimits& limits) {
  return Annealer(tables, start, bound_ms, heat, random, limits).Run(moves);
}

}  // namespace planwright
