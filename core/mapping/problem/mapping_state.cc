#include "core/mapping/problem/mapping_state.h"

namespace planwright {

MappingState::MappingState(const MappingTables& tables, const Mapping& mapping)
    : tables_(tables),
      replicas_(tables.instance().replicas),
      counts_traffic_(tables.instance().CountsTraffic()),
      counts_rings_(tables.instance().CountsRings()),
      device_(mapping.devices),
      vertex_on_(tables.instance().num_devices(), kNobody),
      edges_(counts_traffic_ ? tables.num_edges() : 0),
      load_(device_.size()),
      place_(device_.size()),
      ring_time_(device_.size(), 0) {
  for (std::size_t vertex = 0; vertex < device_.size(); ++vertex) {
    vertex_on_[device_[vertex].index()] = static_cast<int32_t>(vertex);
  }
  for (std::size_t stage = 0; stage < mapping.rings.size(); ++stage) {
    int32_t place = 0;
    for (const int32_t replica : mapping.rings[stage]) {
      const std::size_t vertex = replicas_.VertexOf(static_cast<int32_t>(stage), replica);
      place_[vertex] = place++;
      ring_.push_back(static_cast<int32_t>(vertex));
    }
  }
  for (int32_t vertex = 0; vertex < static_cast<int32_t>(device_.size()); ++vertex) {
    RefreshEdges(vertex);
    if (counts_rings_) ring_time_[Index(vertex)] = RingTimeOf(vertex);
  }
  for (std::size_t vertex = 0; vertex < device_.size(); ++vertex) load_[vertex] = LoadOf(static_cast<int32_t>(vertex));
  Accept();
}

double MappingState::EdgeTime(const ReplicaNeighbour& neighbour) const {
  const EdgeTimes& times = edges_[Index(neighbour.edge)];
  return times.forward + times.backward;
}

double MappingState::EdgeTimeOver(const ReplicaNeighbour& neighbour, DeviceId here, DeviceId there) const {
  const StageTraffic& traffic = tables_.instance().traffic[Index(neighbour.traffic)];
  const EdgeTimes times = neighbour.sends_forward ? TimesOf(traffic, here, there) : TimesOf(traffic, there, here);
  return times.forward + times.backward;
}

double MappingState::RingTimeOver(int32_t stage, DeviceId from, DeviceId to) const {
  const MappingInstance& instance = tables_.instance();
  return tables_.links().Between(from, to).Of(instance.allreduce_bytes[Index(stage)], instance.AllReduceHops(stage));
}

bool MappingState::MayExchange(DeviceId a, DeviceId b) const {
  const int32_t on_a = vertex_on(a);
  const int32_t on_b = vertex_on(b);
  if (a == b || (on_a == kNobody && on_b == kNobody)) return false;
  return (on_a == kNobody || tables_.MayRun(stage_of(on_a), b)) &&
         (on_b == kNobody || tables_.MayRun(stage_of(on_b), a));
}

void MappingState::Exchange(DeviceId a, DeviceId b) {
  const int32_t on_a = vertex_on(a);
  const int32_t on_b = vertex_on(b);
  if (on_a != kNobody) Put(on_a, b);
  if (on_b != kNobody) Put(on_b, a);
  for (const int32_t vertex : {on_a, on_b}) {
    if (vertex == kNobody) continue;
    RefreshEdges(vertex);
    if (counts_rings_) {
      RefreshRing(vertex);
      RefreshRing(previous_on_ring(vertex));
    }
  }
  for (const int32_t vertex : {on_a, on_b}) {
    if (vertex == kNobody) continue;
    RefreshLoad(vertex);
    if (!counts_traffic_) continue;
    for (const ReplicaNeighbour& neighbour : tables_.neighbours(vertex)) RefreshLoad(neighbour.vertex);
  }
}

void MappingState::ExchangeReplicas(int32_t a, int32_t b) {
  const std::size_t row = RingOf(a);
  const std::size_t place_of_a = row + Index(place_[Index(a)]);
  const std::size_t place_of_b = row + Index(place_[Index(b)]);
  PlaceOnRing(place_of_a, b);
  PlaceOnRing(place_of_b, a);
  Exchange(device(a), device(b));
}

void MappingState::ReverseRing(int32_t first_vertex, int32_t last_vertex) {
  const int32_t size = RingSize(first_vertex);
  int32_t first = place_[Index(first_vertex)];
  int32_t length = (place_[Index(last_vertex)] - first + size) % size + 1;
  if (2 * length > size) {
    // The rest of the ring turned around makes the same ring, the other way round.
    first = (first + length) % size;
    length = size - length;
  }
  const std::size_t row = RingOf(first_vertex);
  const auto position = [&](int32_t steps) { return row + Index((first + steps + size) % size); };
  for (int32_t low = 0, high = length - 1; low < high; ++low, --high) {
    const int32_t vertex = ring_[position(low)];
    PlaceOnRing(position(low), ring_[position(high)]);
    PlaceOnRing(position(high), vertex);
  }
  for (int32_t steps = -1; steps < length; ++steps) RefreshRing(ring_[position(steps)]);
}

void MappingState::Accept() {
  saved_places_.clear();
  saved_edges_.clear();
  saved_loads_.clear();
  saved_ring_times_.clear();
  saved_ring_.clear();
  changed_loads_.clear();
  changed_rings_.clear();
}

void MappingState::Undo() {
  for (; !saved_edges_.empty(); saved_edges_.pop_back()) edges_[saved_edges_.back().edge] = saved_edges_.back().times;
  for (; !saved_loads_.empty(); saved_loads_.pop_back()) {
    load_[Index(saved_loads_.back().vertex)] = saved_loads_.back().time;
  }
  for (; !saved_ring_times_.empty(); saved_ring_times_.pop_back()) {
    ring_time_[Index(saved_ring_times_.back().vertex)] = saved_ring_times_.back().time;
  }
  for (std::size_t i = saved_ring_.size(); i-- > 0;) {
    PutOnRing(saved_ring_[i].position, saved_ring_[i].vertex);
  }
  for (std::size_t i = saved_places_.size(); i-- > 0;) Put(saved_places_[i].vertex, saved_places_[i].device);
  Accept();
}

Mapping MappingState::ToMapping() const {
  Mapping mapping{.devices = device_, .rings = {}};
  for (const int32_t ranked : ring_) {
    const auto vertex = Index(ranked);
    if (place_[vertex] == 0) mapping.rings.emplace_back();
    mapping.rings.back().push_back(replicas_.ReplicaOf(vertex));
  }
  return mapping;
}

int32_t MappingState::Step(int32_t vertex, int32_t by) const {
  const int32_t size = RingSize(vertex);
  const int32_t place = (place_[Index(vertex)] + by + size) % size;
  return ring_[RingOf(vertex) + Index(place)];
}

MappingState::EdgeTimes MappingState::TimesOf(const StageTraffic& traffic, DeviceId from, DeviceId to) const {
  const LinkTimes& links = tables_.links();
  const LinkTime& there = links.Between(from, to);
  const LinkTime& back = links.is_symmetric() ? there : links.Between(to, from);
  return {.forward = there.Of(traffic.forward_bytes, traffic.forward_transfers),
          .backward = back.Of(traffic.backward_bytes, traffic.backward_transfers)};
}

double MappingState::LoadOf(int32_t vertex) const {
  MappedWork work{.compute_ms = tables_.instance().ComputeMs(stage_of(vertex), device(vertex))};
  if (!counts_traffic_) return work.compute_ms;
  for (const ReplicaNeighbour& neighbour : tables_.neighbours(vertex)) {
    const EdgeTimes& times = edges_[Index(neighbour.edge)];
    work.out_ms += neighbour.sends_forward ? times.forward : times.backward;
    work.in_ms += neighbour.sends_forward ? times.backward : times.forward;
  }
  return work.LoadMs(tables_.instance().overlap);
}

double MappingState::RingTimeOf(int32_t vertex) const {
  if (RingSize(vertex) < 2) return 0;
  return RingTimeOver(stage_of(vertex), device(vertex), device(next_on_ring(vertex)));
}

void MappingState::Put(int32_t vertex, DeviceId device) {
  const DeviceId old = device_[Index(vertex)];
  saved_places_.push_back({.vertex = vertex, .device = old});
  if (vertex_on_[old.index()] == vertex) vertex_on_[old.index()] = kNobody;
  device_[Index(vertex)] = device;
  vertex_on_[device.index()] = vertex;
}

void MappingState::RefreshEdges(int32_t vertex) {
  if (!counts_traffic_) return;
  for (const ReplicaNeighbour& neighbour : tables_.neighbours(vertex)) {
    const std::size_t edge = Index(neighbour.edge);
    const DeviceId here = device(vertex);
    const DeviceId there = device(neighbour.vertex);
    const StageTraffic& traffic = tables_.instance().traffic[Index(neighbour.traffic)];
    saved_edges_.push_back({.edge = edge, .times = edges_[edge]});
    edges_[edge] = neighbour.sends_forward ? TimesOf(traffic, here, there) : TimesOf(traffic, there, here);
  }
}

void MappingState::RefreshLoad(int32_t vertex) {
  saved_loads_.push_back({.vertex = vertex, .time = load_[Index(vertex)]});
  load_[Index(vertex)] = LoadOf(vertex);
  changed_loads_.push_back(vertex);
}

void MappingState::RefreshRing(int32_t vertex) {
  if (!counts_rings_) return;
  saved_ring_times_.push_back({.vertex = vertex, .time = ring_time_[Index(vertex)]});
  ring_time_[Index(vertex)] = RingTimeOf(vertex);
  changed_rings_.push_back(vertex);
}

void MappingState::PlaceOnRing(std::size_t position, int32_t vertex) {
  saved_ring_.push_back({.position = position, .vertex = ring_[position]});
  PutOnRing(position, vertex);
}

void MappingState::PutOnRing(std::size_t position, int32_t vertex) {
  ring_[position] = vertex;
  place_[Index(vertex)] = static_cast<int32_t>(position - RingOf(vertex));
}

}  // namespace planwright
