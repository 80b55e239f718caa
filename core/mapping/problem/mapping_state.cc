#include "core/mapping/problem/mapping_state.h"

namespace planwright {

MappingState::MappingState(const MappingTables& tables, const Mapping& mapping)
    : tables_(tables),
      num_stages_(tables.instance().num_stages),
      num_replicas_(tables.instance().num_replicas),
      num_edges_(tables.instance().CountsTraffic() ? tables.instance().traffic.size() : 0),
      counts_rings_(tables.instance().CountsRings()),
      device_(mapping.devices),
      vertex_on_(tables.instance().num_devices(), kNobody),
      edges_(num_edges_ * Index(num_replicas_)),
      load_(device_.size()),
      place_(device_.size()),
      ring_time_(device_.size(), 0) {
  for (std::size_t vertex = 0; vertex < device_.size(); ++vertex) {
    vertex_on_[device_[vertex].index()] = static_cast<int32_t>(vertex);
  }
  for (std::size_t stage = 0; stage < mapping.rings.size(); ++stage) {
    for (const int32_t replica : mapping.rings[stage]) {
      const std::size_t vertex = tables.instance().VertexOf(static_cast<int32_t>(stage), replica);
      place_[vertex] = static_cast<int32_t>(ring_.size() % Index(num_replicas_));
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

double MappingState::EdgeTime(int32_t vertex, const MappingTables::Neighbour& neighbour) const {
  const EdgeTimes& times = edges_[EdgeOf(vertex, neighbour.traffic)];
  return times.forward + times.backward;
}

double MappingState::EdgeTimeOver(const MappingTables::Neighbour& neighbour, DeviceId here, DeviceId there) const {
  const StageTraffic& traffic = tables_.instance().traffic[Index(neighbour.traffic)];
  const EdgeTimes times = neighbour.sends_forward ? TimesOf(traffic, here, there) : TimesOf(traffic, there, here);
  return times.forward + times.backward;
}

double MappingState::RingTimeOver(int32_t stage, DeviceId from, DeviceId to) const {
  const MappingInstance& instance = tables_.instance();
  return tables_.links().Between(from, to).Of(instance.allreduce_bytes[Index(stage)], instance.allreduce_hops);
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
    if (num_edges_ == 0) continue;
    const int32_t first_of_replica = vertex - stage_of(vertex);
    for (const auto& neighbour : tables_.neighbours(stage_of(vertex))) RefreshLoad(first_of_replica + neighbour.stage);
  }
}

void MappingState::ExchangeReplicas(int32_t a, int32_t b) {
  const std::size_t row = Index(stage_of(a)) * Index(num_replicas_);
  const std::size_t place_of_a = row + Index(place_[Index(a)]);
  const std::size_t place_of_b = row + Index(place_[Index(b)]);
  PlaceOnRing(place_of_a, b);
  PlaceOnRing(place_of_b, a);
  Exchange(device(a), device(b));
}

void MappingState::ReverseRing(int32_t first_vertex, int32_t last_vertex) {
  int32_t first = place_[Index(first_vertex)];
  int32_t length = (place_[Index(last_vertex)] - first + num_replicas_) % num_replicas_ + 1;
  if (2 * length > num_replicas_) {
    // The rest of the ring turned around makes the same ring, the other way round.
    first = (first + length) % num_replicas_;
    length = num_replicas_ - length;
  }
  const std::size_t row = Index(stage_of(first_vertex)) * Index(num_replicas_);
  const auto position = [&](int32_t steps) { return row + Index((first + steps + num_replicas_) % num_replicas_); };
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
    ring_[saved_ring_[i].position] = saved_ring_[i].vertex;
    place_[Index(saved_ring_[i].vertex)] = static_cast<int32_t>(saved_ring_[i].position % Index(num_replicas_));
  }
  for (std::size_t i = saved_places_.size(); i-- > 0;) Put(saved_places_[i].vertex, saved_places_[i].device);
  Accept();
}

Mapping MappingState::ToMapping() const {
  Mapping mapping{.devices = device_, .rings = {}};
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    if (i % Index(num_replicas_) == 0) mapping.rings.emplace_back();
    mapping.rings.back().push_back(ring_[i] / num_stages_);
  }
  return mapping;
}

int32_t MappingState::Step(int32_t vertex, int32_t by) const {
  const int32_t place = (place_[Index(vertex)] + by + num_replicas_) % num_replicas_;
  return ring_[Index(stage_of(vertex)) * Index(num_replicas_) + Index(place)];
}

MappingState::EdgeTimes MappingState::TimesOf(const StageTraffic& traffic, DeviceId from, DeviceId to) const {
  const LinkTimes& links = tables_.links();
  const LinkTime& there = links.Between(from, to);
  const LinkTime& back = links.is_symmetric() ? there : links.Between(to, from);
  return {.forward = there.Of(traffic.forward_bytes, traffic.forward_transfers),
          .backward = back.Of(traffic.backward_bytes, traffic.backward_transfers)};
}

double MappingState::LoadOf(int32_t vertex) const {
  const int32_t stage = stage_of(vertex);
  MappedWork work{.compute_ms = tables_.instance().ComputeMs(stage, device(vertex))};
  if (num_edges_ == 0) return work.compute_ms;
  for (const MappingTables::Neighbour& neighbour : tables_.neighbours(stage)) {
    const EdgeTimes& times = edges_[EdgeOf(vertex, neighbour.traffic)];
    work.out_ms += neighbour.sends_forward ? times.forward : times.backward;
    work.in_ms += neighbour.sends_forward ? times.backward : times.forward;
  }
  return work.LoadMs(tables_.instance().overlap);
}

double MappingState::RingTimeOf(int32_t vertex) const {
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
  if (num_edges_ == 0) return;
  const int32_t first_of_replica = vertex - stage_of(vertex);
  for (const MappingTables::Neighbour& neighbour : tables_.neighbours(stage_of(vertex))) {
    const std::size_t edge = EdgeOf(vertex, neighbour.traffic);
    const DeviceId here = device(vertex);
    const DeviceId there = device(first_of_replica + neighbour.stage);
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
  ring_[position] = vertex;
  place_[Index(vertex)] = static_cast<int32_t>(position % Index(num_replicas_));
}

}  // namespace planwright
