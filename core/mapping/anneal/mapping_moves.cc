#include "core/mapping/anneal/mapping_moves.h"

#include <algorithm>
#include <cstddef>

namespace planwright {
namespace {

// Shares of the moves for a load that go to any device at all, and that look at the costliest edge.
constexpr double kAnywhere = 0.08;
constexpr double kCostliestEdge = 0.5;
// Near devices to choose from, however small the slack.
constexpr std::size_t kFewestNear = 6;
// Shares of the moves for a ring.
constexpr double kReverse = 0.4;
constexpr double kSegments = 0.3;
constexpr double kReplicas = 0.3;
constexpr int kTriesForReplica = 8;
constexpr std::size_t kLongestSegment = 8;

// Share of the moves for a load that exchange two replicas of a stage, where all-reduces count too.
constexpr double kRelabel = 0.5;

}  // namespace

MappingMoves::MappingMoves(MappingState& state, const MappingPenalties& penalties, RandomStream& random)
    : state_(state),
      tables_(state.tables()),
      instance_(tables_.instance()),
      penalties_(penalties),
      relabels_(instance_.CountsRings() && instance_.CountsTraffic() && instance_.free_ring_order),
      random_(random) {}

int64_t MappingMoves::Propose() {
  moved_ = 0;
  if (penalties_.num_violations() == 0) {
    MoveAnywhere(static_cast<int32_t>(Pick(instance_.num_vertices())));
  } else {
    const MappingPenalties::Violation violation = penalties_.violation(Pick(penalties_.num_violations()));
    violation.is_ring ? MendRing(violation.vertex) : MendLoad(violation.vertex);
  }
  return std::max<int64_t>(moved_, 1);
}

std::size_t MappingMoves::Pick(std::size_t count) {
  return static_cast<std::size_t>(random_.Unit() * static_cast<double>(count));
}

void MappingMoves::MendLoad(int32_t vertex) {
  const auto& neighbours = tables_.neighbours(state_.stage_of(vertex));
  if (!instance_.CountsTraffic() || neighbours.empty() || Chance(kAnywhere)) return MoveAnywhere(vertex);
  const MappingTables::Neighbour* edge = &neighbours[Pick(neighbours.size())];
  if (Chance(kCostliestEdge)) {
    edge = &*std::max_element(neighbours.begin(), neighbours.end(), [&](const auto& a, const auto& b) {
      return state_.EdgeTime(vertex, a) < state_.EdgeTime(vertex, b);
    });
  }
  if (Chance(0.5)) return MoveNear(vertex, *edge);
  const int32_t stage = state_.stage_of(vertex);
  MoveNear(vertex - stage + edge->stage,
           {.traffic = edge->traffic, .stage = stage, .sends_forward = !edge->sends_forward});
}

void MappingMoves::MendRing(int32_t vertex) {
  if (!instance_.free_ring_order) {
    if (Chance(kReplicas)) return ReverseReplicas(vertex);
  } else {
    if (Chance(kReverse)) return ReversePart(vertex);
    if (instance_.objective == MappingObjective::kAllReduce && Chance(kSegments)) return ExchangeSegments(vertex);
  }
  MoveNextOnRing(vertex, Chance(0.5));
}

void MappingMoves::MoveAnywhere(int32_t vertex) {
  MoveTo(state_.device(vertex), tables_.devices()[Pick(tables_.devices().size())]);
}

void MappingMoves::MoveNear(int32_t centre, const MappingTables::Neighbour& neighbour) {
  const int32_t stage = state_.stage_of(centre);
  const int32_t mover = centre - stage + neighbour.stage;
  const double limit = state_.EdgeTime(centre, neighbour) + penalties_.load_limit(stage) - state_.load(centre);
  const DeviceId here = state_.device(centre);
  const auto time = [&](DeviceId there) { return state_.EdgeTimeOver(neighbour, here, there); };
  if (!relabels_ || !Chance(kRelabel)) return MoveTo(state_.device(mover), NearDevice(here, limit, time));
  const int32_t other = NearReplica(neighbour.stage, here, limit, time);
  if (other == MappingState::kNobody || other == mover) return;
  if (!state_.MayExchange(state_.device(mover), state_.device(other))) return;
  state_.ExchangeReplicas(mover, other);
  moved_ += 2;
}

void MappingMoves::MoveNextOnRing(int32_t vertex, bool moves_next) {
  const int32_t next = state_.next_on_ring(vertex);
  const int32_t mover = moves_next ? next : vertex;
  const DeviceId here = state_.device(moves_next ? vertex : next);
  const int32_t stage = state_.stage_of(vertex);
  MoveTo(state_.device(mover), NearDevice(here, penalties_.ring_limit(stage), [&](DeviceId there) {
           return moves_next ? state_.RingTimeOver(stage, here, there) : state_.RingTimeOver(stage, there, here);
         }));
}

void MappingMoves::ReversePart(int32_t vertex) {
  const int32_t stage = state_.stage_of(vertex);
  const int32_t next = state_.next_on_ring(vertex);
  const DeviceId here = state_.device(vertex);
  int32_t partner = NearReplica(stage, here, penalties_.ring_limit(stage),
                                [&](DeviceId there) { return state_.RingTimeOver(stage, here, there); });
  if (partner == MappingState::kNobody) {
    partner =
        static_cast<int32_t>(instance_.VertexOf(stage, static_cast<int32_t>(Pick(Index(instance_.num_replicas)))));
  }
  if (partner == vertex || partner == next) return;
  state_.ReverseRing(next, partner);
}

void MappingMoves::ExchangeSegments(int32_t vertex) {
  const int32_t stage = state_.stage_of(vertex);
  const DeviceId here = state_.device(vertex);
  int32_t other = state_.vertex_on(NearDevice(here, penalties_.ring_limit(stage),
                                              [&](DeviceId there) { return state_.RingTimeOver(stage, here, there); }));
  if (other == MappingState::kNobody || state_.stage_of(other) == stage) return;
  const std::size_t longest = std::min(kLongestSegment, Index(instance_.num_replicas) - 1);
  int32_t mine = state_.next_on_ring(vertex);
  for (std::size_t left = 1 + Pick(longest); left > 0; --left) {
    if (!Exchange(state_.device(mine), state_.device(other))) return state_.Undo();
    mine = state_.next_on_ring(mine);
    other = state_.next_on_ring(other);
  }
}

void MappingMoves::ReverseReplicas(int32_t vertex) {
  const int32_t stages = instance_.num_stages;
  const auto length = static_cast<int32_t>(2 + Pick(std::min(kLongestSegment, Index(instance_.num_replicas)) - 1));
  for (int32_t low = 1, high = length; low < high; ++low, --high) {
    const int32_t a = (vertex / stages + low) % instance_.num_replicas;
    const int32_t b = (vertex / stages + high) % instance_.num_replicas;
    for (int32_t stage = 0; stage < stages; ++stage) {
      Exchange(state_.device(static_cast<int32_t>(instance_.VertexOf(stage, a))),
               state_.device(static_cast<int32_t>(instance_.VertexOf(stage, b))));
    }
  }
}

bool MappingMoves::Exchange(DeviceId a, DeviceId b) {
  if (!state_.MayExchange(a, b)) return false;
  state_.Exchange(a, b);
  moved_ += 2;
  return true;
}

void MappingMoves::MoveTo(DeviceId a, DeviceId b) {
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

template <typename Time>
DeviceId MappingMoves::NearDevice(DeviceId centre, double limit, Time time) {
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

template <typename Time>
int32_t MappingMoves::NearReplica(int32_t stage, DeviceId centre, double limit, Time time) {
  for (int tries = 0; tries < kTriesForReplica; ++tries) {
    const int32_t found = state_.vertex_on(NearDevice(centre, limit, time));
    if (found != MappingState::kNobody && state_.stage_of(found) == stage) return found;
  }
  return MappingState::kNobody;
}

}  // namespace planwright
