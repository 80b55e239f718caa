#include "core/partition/noncontiguous/net_state.h"

#include <algorithm>
#include <utility>

#include "core/base/interruption.h"

namespace planwright {
namespace {

// Counts made between two looks at a stop request.
constexpr std::size_t kCellsAtOnce = std::size_t{1} << 18U;

// How often the device of a producer sends: to each of `readers` other devices, or once for all of them.
int64_t Sends(bool pay_once, int32_t readers) { return pay_once ? std::min(readers, 1) : readers; }

}  // namespace

MoveEffect::Change& MoveEffect::On(int32_t device) {
  const auto known =
      std::find_if(changes.begin(), changes.end(), [&](const Change& change) { return change.device == device; });
  if (known != changes.end()) return *known;
  Change& change = changes.emplace_back();
  change.device = device;
  return change;
}

NetState::NetState(const NetTables& tables, NetAssignment assignment, const std::stop_token& stop)
    : tables_(&tables),
      is_plain_(!tables.has_phases() && !tables.replicates()),
      overlap_(tables.rule().overlap),
      assignment_(std::move(assignment)),
      work_(Index(tables.num_devices())),
      num_groups_on_(Index(tables.num_devices()), 0) {
  const std::size_t num_devices = Index(tables.num_devices());
  if (tables.replicates() && assignment_.replicas.empty()) assignment_.replicas.assign(num_devices, 1);
  MakeCounts(Index(tables.num_nets()) * num_devices, stop);
  spread_.assign(Index(tables.num_nets()), 0);
  if (tables.memory_binds()) {
    memory_.resize(num_devices);
    buffer_bytes_.assign(num_devices, 0);
    workspaces_.resize(num_devices);
    overflow_.assign(num_devices, 0);
  }
  CountGroups();
  for (int32_t net = 0; net < tables.num_nets(); ++net) CountNet(net);
  if (!tables.memory_binds()) return;
  for (int32_t device = 0; device < tables.num_devices(); ++device) RefreshOverflow(device);
}

void NetState::MakeCounts(std::size_t cells, const std::stop_token& stop) {
  count_.reserve(cells);
  do {
    if (stop.stop_requested()) throw Interrupted(Interruption::kCancelled);
    count_.resize(std::min(cells, count_.size() + kCellsAtOnce));
  } while (count_.size() < cells);
}

void NetState::CountGroups() {
  for (int32_t group = 0; group < tables_->num_groups(); ++group) {
    const int32_t device = device_of(group);
    AddGroup(group, device, 1, work_[Index(device)]);
    ++num_groups_on_[Index(device)];
    if (tables_->memory_binds()) AddMemory(group, device);
    for (const int32_t net : tables_->nets_of(group)) {
      if (count_[Cell(net, device)]++ == 0) ++spread_[Index(net)];
    }
  }
}

void NetState::AddGroup(int32_t group, int32_t device, int64_t times, ReplicaWork& work) const {
  const int64_t time = times * tables_->time(group, device);
  work.work.forward.compute += Picoseconds(time);
  if (is_plain_) return;
  work.parameter_bytes += times * tables_->parameter_bytes(group);
  if (!tables_->has_phases()) return;
  const int64_t backward = times * tables_->backward_time(group, device);
  work.work.forward.compute -= Picoseconds(backward);
  work.work.backward.compute += Picoseconds(backward);
}

MicroBatchWork NetState::Paid(const DirectedNet& net, bool sends, int64_t times) const {
  Picoseconds PassWork::*const there = sends ? &PassWork::out : &PassWork::in;
  Picoseconds PassWork::*const back = sends ? &PassWork::in : &PassWork::out;
  MicroBatchWork work;
  PassWork& last = tables_->has_phases() ? work.backward : work.forward;
  work.forward.*there = Picoseconds(times * net.forward);
  last.*back += Picoseconds(times * net.gradient);
  last.*there += Picoseconds(times * net.late);
  return work;
}

void NetState::CountNet(int32_t net) {
  if (spread_[Index(net)] < 2) return;
  for (int32_t device = 0; device < tables_->num_devices(); ++device) {
    if (count_[Cell(net, device)] == 0) continue;
    if (tables_->memory_binds()) buffer_bytes_[Index(device)] += tables_->buffer_bytes(net);
    if (!tables_->pays(device)) continue;
    MicroBatchWork& work = work_[Index(device)].work;
    if (!tables_->is_directed(net)) {
      work.forward.in += Picoseconds(tables_->plain_weight(net));
      work.backward.in += Picoseconds(tables_->plain_backward_weight(net));
      continue;
    }
    const DirectedNet& directed = tables_->directed(net);
    if (device_of(directed.producer) == device) {
      work += Paid(directed, /*sends=*/true, Sends(tables_->instance().pay_once, spread_[Index(net)] - 1));
    } else {
      work += Paid(directed, /*sends=*/false, 1);
    }
  }
}

PhaseLoads NetState::TeamLoads(int32_t device, const ReplicaWork& work) const {
  const int32_t members = replicas(device);
  return members == 0 ? PhaseLoads() : tables_->rule().LoadsByPhase(work, members);
}

PhaseLoads NetState::GreatestLoads() const {
  PhaseLoads greatest;
  for (int32_t device = 0; device < tables_->num_devices(); ++device) {
    const PhaseLoads load = loads(device);
    greatest.main = std::max(greatest.main, load.main);
    greatest.backward = std::max(greatest.backward, load.backward);
  }
  return greatest;
}

void NetState::Preview(int32_t group, int32_t to, MoveEffect& effect) const {
  const int32_t from = device_of(group);
  effect.changes.resize(2);
  effect.changes[0] = {from, {}, 0};
  effect.changes[1] = {to, {}, 0};
  AddGroup(group, from, -1, effect.changes[0].work);
  AddGroup(group, to, 1, effect.changes[1].work);
  PreviewPlain(
      group, from, to, &MicroBatchWork::forward, [](const NetPin& pin) { return pin.weight; }, effect);
  if (!is_plain_ && tables_->has_phases()) {
    const auto weight_of = [&](const NetPin& pin) { return tables_->plain_backward_weight(pin.net); };
    PreviewPlain(group, from, to, &MicroBatchWork::backward, weight_of, effect);
  }
  if (tables_->has_directed_nets()) PreviewDirected(group, from, to, effect);
  if (tables_->memory_binds() && !tables_->memory_is_sum()) PreviewBuffers(group, from, to, effect);
}

// Books what changes at `pass`.
template <typename WeightOf>
void NetState::PreviewPlain(int32_t group, int32_t from, int32_t to, PassWork MicroBatchWork::*pass,
                            const WeightOf& weight_of, MoveEffect& effect) const {
  int64_t left = 0;
  int64_t entered = 0;
  for (const NetPin& pin : tables_->plain_pins(group)) {
    const int32_t at_from = count_[Cell(pin.net, from)];
    const int32_t at_to = count_[Cell(pin.net, to)];
    left += weight_of(pin) * (static_cast<int>(at_from == pin.size) - static_cast<int>(at_from == 1));
    entered += weight_of(pin) * (static_cast<int>(at_to == 0) - static_cast<int>(at_to == pin.size - 1));
  }
  if (tables_->pays(from)) (effect.changes[0].work.work.*pass).in += Picoseconds(left);
  if (tables_->pays(to)) (effect.changes[1].work.work.*pass).in += Picoseconds(entered);
}

void NetState::Pay(int32_t device, const MicroBatchWork& work, MoveEffect& effect) const {
  if (tables_->pays(device)) effect.On(device).work.work += work;
}

// Takes back what the two devices and the producer's pay before the move, and adds what they pay after it.
void NetState::PreviewDirected(int32_t group, int32_t from, int32_t to, MoveEffect& effect) const {
  const bool pay_once = tables_->instance().pay_once;
  for (const int32_t net : tables_->directed_nets(group)) {
    const DirectedNet& directed = tables_->directed(net);
    const int32_t at_from = count_[Cell(net, from)];
    const int32_t at_to = count_[Cell(net, to)];
    const int32_t readers_before = spread_[Index(net)] - 1;
    const int32_t readers_after =
        readers_before + static_cast<int32_t>(at_to == 0) - static_cast<int32_t>(at_from == 1);
    const int32_t source_before = device_of(directed.producer);
    const int32_t source_after = directed.producer == group ? to : source_before;
    const auto read = [&](int32_t device, int64_t sign) { Pay(device, Paid(directed, /*sends=*/false, sign), effect); };
    if (from != source_before) read(from, -1);
    if (to != source_before && at_to > 0) read(to, -1);
    if (from != source_after && at_from > 1) read(from, 1);
    if (to != source_after) read(to, 1);
    Pay(source_before, Paid(directed, /*sends=*/true, -Sends(pay_once, readers_before)), effect);
    Pay(source_after, Paid(directed, /*sends=*/true, Sends(pay_once, readers_after)), effect);
  }
}

void NetState::PreviewBuffers(int32_t group, int32_t from, int32_t to, MoveEffect& effect) const {
  for (const int32_t net : tables_->nets_of(group)) {
    const int64_t bytes = tables_->buffer_bytes(net);
    const auto size = static_cast<int32_t>(tables_->groups_of(net).size());
    const int32_t at_from = count_[Cell(net, from)];
    const int32_t at_to = count_[Cell(net, to)];
    effect.changes[0].buffer_bytes += bytes * (static_cast<int>(at_from == size) - static_cast<int>(at_from == 1));
    effect.changes[1].buffer_bytes += bytes * (static_cast<int>(at_to == 0) - static_cast<int>(at_to == size - 1));
  }
}

void NetState::Move(int32_t group, int32_t to, const MoveEffect& effect) {
  const int32_t from = device_of(group);
  for (const MoveEffect::Change& change : effect.changes) {
    work_[Index(change.device)] += change.work;
    if (tables_->memory_binds()) buffer_bytes_[Index(change.device)] += change.buffer_bytes;
  }
  for (const int32_t net : tables_->nets_of(group)) {
    if (--count_[Cell(net, from)] == 0) --spread_[Index(net)];
    if (count_[Cell(net, to)]++ == 0) ++spread_[Index(net)];
  }
  if (tables_->memory_binds()) {
    RemoveMemory(group, from);
    AddMemory(group, to);
    RefreshOverflow(from);
    RefreshOverflow(to);
  }
  --num_groups_on_[Index(from)];
  ++num_groups_on_[Index(to)];
  assignment_.device_of[Index(group)] = to;
}

void NetState::AddMemory(int32_t group, int32_t device) {
  const UnitMemory& memory = tables_->instance().blocks.memory;
  memory_[Index(device)].Add(memory, Index(group));
  if (memory.workspace[Index(group)] > 0) ++workspaces_[Index(device)][memory.workspace[Index(group)]];
}

void NetState::RemoveMemory(int32_t group, int32_t device) {
  const UnitMemory& memory = tables_->instance().blocks.memory;
  memory_[Index(device)] = memory_[Index(device)] - MemorySums::Of(memory, Index(group));
  if (memory.workspace[Index(group)] == 0) return;
  auto& workspaces = workspaces_[Index(device)];
  const auto entry = workspaces.find(memory.workspace[Index(group)]);
  if (--entry->second == 0) workspaces.erase(entry);
}

int64_t NetState::MemoryBytes(int32_t device, MemorySums sums, int64_t buffers, int64_t workspace) const {
  sums.linear = SaturatingMultiply(sums.linear, tables_->times_stored(device));
  if (tables_->memory_is_sum()) return sums.linear + tables_->instance().blocks.memory.reserved;
  const auto& workspaces = workspaces_[Index(device)];
  const int64_t largest = workspaces.empty() ? 0 : workspaces.rbegin()->first;
  return sums.Total(tables_->instance().blocks.memory, buffers, std::max(largest, workspace));
}

void NetState::RefreshOverflow(int32_t device) {
  const int64_t bytes = MemoryBytes(device, memory_[Index(device)], buffer_bytes_[Index(device)], 0);
  int64_t& overflow = overflow_[Index(device)];
  num_overfull_ -= static_cast<int32_t>(overflow > 0);
  overflow = std::max<int64_t>(0, bytes - tables_->memory_limit(device));
  num_overfull_ += static_cast<int32_t>(overflow > 0);
}

bool NetState::KeepsMemory(int32_t group, int32_t to, const MoveEffect& effect) const {
  if (!tables_->memory_binds()) return true;
  const UnitMemory& memory = tables_->instance().blocks.memory;
  const int32_t from = device_of(group);
  MemorySums entered = memory_[Index(to)];
  entered.Add(memory, Index(group));
  const int64_t bytes_to = MemoryBytes(to, entered, buffer_bytes_[Index(to)] + effect.changes[1].buffer_bytes,
                                       memory.workspace[Index(group)]);
  if (bytes_to - tables_->memory_limit(to) > overflow(to)) return false;
  if (tables_->memory_is_sum()) return true;
  // What leaves may make more buffers than it frees; its workspace is counted as if it stayed.
  const int64_t bytes_from = MemoryBytes(from, memory_[Index(from)] - MemorySums::Of(memory, Index(group)),
                                         buffer_bytes_[Index(from)] + effect.changes[0].buffer_bytes, 0);
  return bytes_from - tables_->memory_limit(from) <= overflow(from);
}

}  // namespace planwright
