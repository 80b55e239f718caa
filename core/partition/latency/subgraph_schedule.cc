#include "core/partition/latency/subgraph_schedule.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace planwright {
namespace {

constexpr std::size_t kWordBits = 64;

// Takes the element at `position` out of `list` in O(1); `positions` says where each element is.
void RemoveAt(std::vector<int32_t>& list, std::vector<int32_t>& positions, int32_t position) {
  const int32_t last = list.back();
  list[static_cast<std::size_t>(position)] = last;
  positions[static_cast<std::size_t>(last)] = position;
  list.pop_back();
}

void Append(std::vector<int32_t>& list, std::vector<int32_t>& positions, int32_t element) {
  positions[static_cast<std::size_t>(element)] = static_cast<int32_t>(list.size());
  list.push_back(element);
}

}  // namespace

SubgraphSchedule::SubgraphSchedule(const LatencyInstance& instance, int32_t slots_per_pass)
    : instance_(&instance),
      slots_per_pass_(slots_per_pass),
      num_slots_(instance.num_accelerators() * instance.num_passes * slots_per_pass),
      words_per_slot_((Index(num_slots_) + kWordBits - 1) / kWordBits),
      loads_(instance, instance.num_passes * slots_per_pass) {
  const std::size_t num_vertices = instance.operators.size();
  const std::size_t num_slots = Index(num_slots_);
  place_.assign(num_vertices, kCpu);
  sequence_.resize(instance.accelerators.size());
  int32_t next_slot = 0;
  for (std::vector<int32_t>& slots : sequence_) {
    slots.resize(Index(instance.num_passes * slots_per_pass));
    std::iota(slots.begin(), slots.end(), next_slot);
    next_slot += static_cast<int32_t>(slots.size());
  }
  NumberEdges();
  links_.assign(num_slots * num_slots, 0);
  successors_.assign(num_slots * words_per_slot_, 0);
  num_predecessors_.assign(num_slots, 0);
  edges_to_cpu_.resize(num_slots);
  edge_position_.assign(edge_from_.size(), 0);
  num_edges_from_cpu_.assign(num_slots, 0);
  cpu_position_.assign(num_vertices, 0);
  used_position_.assign(num_slots, 0);
  ready_.assign(num_slots, 0);
  waits_.assign(num_slots, 0);
  next_of_accelerator_.assign(num_slots, kCpu);
  cpu_ready_.assign(num_vertices, 0);
  cpu_waits_.assign(num_vertices, 0);
  for (int32_t vertex = 0; vertex < instance.num_vertices(); ++vertex) SetOnCpu(vertex, true);
}

int64_t SubgraphSchedule::BytesFor(const LatencyInstance& instance, int32_t slots_per_pass) {
  const int64_t slots = SaturatingMultiply(int64_t{instance.num_accelerators()} * instance.num_passes, slots_per_pass);
  const auto tensors = static_cast<int64_t>(instance.tensors.size());
  constexpr int64_t kBytesPerPair = sizeof(int32_t);
  return SaturatingMultiply(kBytesPerPair, SaturatingMultiply(slots, SaturatingAdd(slots, tensors)));
}

void SubgraphSchedule::NumberEdges() {
  const std::size_t num_vertices = instance_->operators.size();
  first_out_.assign(num_vertices + 1, 0);
  first_in_.assign(num_vertices + 1, 0);
  for (const auto& [from, to] : instance_->precedence.edges()) {
    edge_from_.push_back(from);
    edge_to_.push_back(to);
    ++first_out_[Index(from) + 1];
    ++first_in_[Index(to) + 1];
  }
  std::partial_sum(first_out_.begin(), first_out_.end(), first_out_.begin());
  std::partial_sum(first_in_.begin(), first_in_.end(), first_in_.begin());
  in_edges_.resize(edge_to_.size());
  std::vector<int32_t> next = first_in_;
  for (std::size_t edge = 0; edge < edge_to_.size(); ++edge) {
    in_edges_[Index(next[Index(edge_to_[edge])]++)] = static_cast<int32_t>(edge);
  }
}

void SubgraphSchedule::Move(int32_t vertex, int32_t place) {
  if (place_[Index(vertex)] == place) return;
  const auto first_out = first_out_[Index(vertex)];
  const auto end_out = first_out_[Index(vertex) + 1];
  const auto first_in = first_in_[Index(vertex)];
  const auto end_in = first_in_[Index(vertex) + 1];
  for (int32_t edge = first_out; edge < end_out; ++edge) Disconnect(edge);
  for (int32_t i = first_in; i < end_in; ++i) Disconnect(in_edges_[Index(i)]);
  SetPlace(vertex, place);
  for (int32_t edge = first_out; edge < end_out; ++edge) Connect(edge);
  for (int32_t i = first_in; i < end_in; ++i) Connect(in_edges_[Index(i)]);
}

void SubgraphSchedule::Load(const std::vector<int32_t>& places, const std::vector<std::vector<int32_t>>& sequences) {
  for (int32_t vertex = 0; vertex < instance_->num_vertices(); ++vertex) Move(vertex, places[Index(vertex)]);
  sequence_ = sequences;
}

void SubgraphSchedule::SetPlace(int32_t vertex, int32_t place) {
  const int32_t old_place = std::exchange(place_[Index(vertex)], place);
  if (old_place == kCpu) {
    SetOnCpu(vertex, false);
  } else {
    loads_.RemoveFromSlot(vertex, old_place, place_);
    if (loads_.is_empty(old_place)) SetUsed(old_place, false);
  }
  if (place == kCpu) {
    SetOnCpu(vertex, true);
  } else {
    if (loads_.is_empty(place)) SetUsed(place, true);
    loads_.AddToSlot(vertex, place);
  }
}

void SubgraphSchedule::SetUsed(int32_t slot, bool used) {
  if (used) {
    Append(used_slots_, used_position_, slot);
  } else {
    RemoveAt(used_slots_, used_position_, used_position_[Index(slot)]);
  }
}

void SubgraphSchedule::SetOnCpu(int32_t vertex, bool on_cpu) {
  if (on_cpu) {
    loads_.AddToCpu(vertex);
    Append(on_cpu_, cpu_position_, vertex);
  } else {
    loads_.RemoveFromCpu(vertex);
    RemoveAt(on_cpu_, cpu_position_, cpu_position_[Index(vertex)]);
  }
}

void SubgraphSchedule::Connect(int32_t edge) {
  const int32_t from = place_[Index(edge_from_[Index(edge)])];
  const int32_t to = place_[Index(edge_to_[Index(edge)])];
  if (from == to) return;
  if (to == kCpu) {
    Append(edges_to_cpu_[Index(from)], edge_position_, edge);
  } else if (from == kCpu) {
    ++num_edges_from_cpu_[Index(to)];
  } else if (links_[Link(from, to)]++ == 0) {
    successors_[Index(from) * words_per_slot_ + Index(to) / kWordBits] |= uint64_t{1} << (Index(to) % kWordBits);
    ++num_predecessors_[Index(to)];
  }
}

void SubgraphSchedule::Disconnect(int32_t edge) {
  const int32_t from = place_[Index(edge_from_[Index(edge)])];
  const int32_t to = place_[Index(edge_to_[Index(edge)])];
  if (from == to) return;
  if (to == kCpu) {
    RemoveAt(edges_to_cpu_[Index(from)], edge_position_, edge_position_[Index(edge)]);
  } else if (from == kCpu) {
    --num_edges_from_cpu_[Index(to)];
  } else if (--links_[Link(from, to)] == 0) {
    successors_[Index(from) * words_per_slot_ + Index(to) / kWordBits] &= ~(uint64_t{1} << (Index(to) % kWordBits));
    --num_predecessors_[Index(to)];
  }
}

void SubgraphSchedule::SwapInSequence(int32_t accelerator, std::size_t first, std::size_t second) {
  std::swap(sequence_[Index(accelerator)][first], sequence_[Index(accelerator)][second]);
}

int64_t SubgraphSchedule::Latency() {
  CountWaits();
  latency_ = 0;
  num_stuck_units_ = static_cast<int64_t>(num_units());
  while (!startable_.empty()) {
    const int32_t unit = startable_.back();
    startable_.pop_back();
    --num_stuck_units_;
    if (unit < num_slots_) {
      StartSlot(unit);
    } else {
      StartOnCpu(unit - num_slots_);
    }
  }
  return num_stuck_units_ == 0 ? latency_ : kCyclic;
}

// Sets up what every unit waits for.
void SubgraphSchedule::CountWaits() {
  startable_.clear();
  started_.clear();
  for (const int32_t slot : used_slots_) {
    ready_[Index(slot)] = 0;
    waits_[Index(slot)] = num_predecessors_[Index(slot)] + num_edges_from_cpu_[Index(slot)];
    next_of_accelerator_[Index(slot)] = kCpu;
  }
  if (instance_->num_passes * slots_per_pass_ > 1) {
    for (const std::vector<int32_t>& sequence : sequence_) {
      int32_t previous = kCpu;
      for (const int32_t slot : sequence) {
        if (loads_.is_empty(slot)) continue;
        if (previous != kCpu) {
          next_of_accelerator_[Index(previous)] = slot;
          ++waits_[Index(slot)];
        }
        previous = slot;
      }
    }
  }
  for (const int32_t slot : used_slots_) {
    if (waits_[Index(slot)] == 0) startable_.push_back(slot);
  }
  for (const int32_t vertex : on_cpu_) {
    cpu_ready_[Index(vertex)] = 0;
    cpu_waits_[Index(vertex)] = first_in_[Index(vertex) + 1] - first_in_[Index(vertex)];
    if (cpu_waits_[Index(vertex)] == 0) startable_.push_back(num_slots_ + vertex);
  }
}

void SubgraphSchedule::StartSlot(int32_t slot) {
  started_.push_back(slot);
  const int64_t end = ready_[Index(slot)] + loads_.duration(slot);
  latency_ = std::max(latency_, end);
  for (std::size_t word = 0; word < words_per_slot_; ++word) {
    for (uint64_t bits = successors_[Index(slot) * words_per_slot_ + word]; bits != 0; bits &= bits - 1) {
      ReleaseSlot(static_cast<int32_t>(word * kWordBits) + std::countr_zero(bits), end);
    }
  }
  for (const int32_t edge : edges_to_cpu_[Index(slot)]) ReleaseOnCpu(edge_to_[Index(edge)], end);
  if (next_of_accelerator_[Index(slot)] != kCpu) ReleaseSlot(next_of_accelerator_[Index(slot)], end);
}

void SubgraphSchedule::StartOnCpu(int32_t vertex) {
  const int64_t end = cpu_ready_[Index(vertex)] + instance_->cpu_time[Index(vertex)];
  latency_ = std::max(latency_, end);
  for (int32_t edge = first_out_[Index(vertex)]; edge < first_out_[Index(vertex) + 1]; ++edge) {
    const int32_t consumer = edge_to_[Index(edge)];
    if (place_[Index(consumer)] == kCpu) {
      ReleaseOnCpu(consumer, end);
    } else {
      ReleaseSlot(place_[Index(consumer)], end);
    }
  }
}

void SubgraphSchedule::ReleaseSlot(int32_t slot, int64_t time) {
  ready_[Index(slot)] = std::max(ready_[Index(slot)], time);
  if (--waits_[Index(slot)] == 0) startable_.push_back(slot);
}

void SubgraphSchedule::ReleaseOnCpu(int32_t vertex, int64_t time) {
  cpu_ready_[Index(vertex)] = std::max(cpu_ready_[Index(vertex)], time);
  if (--cpu_waits_[Index(vertex)] == 0) startable_.push_back(num_slots_ + vertex);
}

std::vector<int32_t> SubgraphSchedule::SlotsByStart() const {
  std::vector<int32_t> slots = started_;
  std::stable_sort(slots.begin(), slots.end(), [this](int32_t a, int32_t b) { return start(a) < start(b); });
  return slots;
}

int64_t SubgraphSchedule::finish(int32_t vertex) const {
  const int32_t place = place_[Index(vertex)];
  if (place == kCpu) return cpu_ready_[Index(vertex)] + instance_->cpu_time[Index(vertex)];
  return ready_[Index(place)] + loads_.duration(place);
}

}  // namespace planwright
