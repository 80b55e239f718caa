#include "core/partition/latency/latency_loads.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/cost/terms/memory_form.h"

namespace planwright {

LatencyLoads::LatencyLoads(const LatencyInstance& instance, int32_t slots_per_accelerator)
    : instance_(&instance), slots_per_accelerator_(slots_per_accelerator) {
  const std::size_t num_slots = instance.accelerators.size() * Index(slots_per_accelerator);
  size_.assign(num_slots, 0);
  duration_.assign(num_slots, 0);
  memory_.assign(num_slots, {});
  buffer_bytes_.assign(num_slots, 0);
  workspace_bytes_.assign(num_slots, 0);
  pins_.assign(instance.tensors.size() * num_slots, 0);
  PrepareCpuLimits();
}

void LatencyLoads::PrepareCpuLimits() {
  const UnitMemory& memory = instance_->memory;
  limit_of_.assign(instance_->operators.size(), kUnlimited);
  cpu_bytes_of_.assign(instance_->operators.size(), 0);
  const int64_t workspace =
      memory.workspace.empty() ? 0 : *std::max_element(memory.workspace.begin(), memory.workspace.end());
  cpu_bytes_.assign(instance_->cpu_limits.size(), memory.reserved + workspace);
  for (std::size_t i = 0; i < cpu_bytes_.size(); ++i) {
    // Even an unused CPU would count as overfull: nothing may be put there, and nothing is over its limit yet.
    cpu_bytes_[i] = std::min(cpu_bytes_[i], instance_->cpu_limits[i].memory_bytes);
  }
  for (std::size_t vertex = 0; vertex < limit_of_.size(); ++vertex) {
    for (std::size_t i = 0; i < instance_->cpu_limits.size(); ++i) {
      if (instance_->cpu_limits[i].device == instance_->cpu_of[vertex]) limit_of_[vertex] = static_cast<int32_t>(i);
    }
    cpu_bytes_of_[vertex] =
        memory.linear[vertex] + ParameterStateBytes(memory.parameters[vertex], memory.parameter_factor);
    for (const int32_t tensor : instance_->tensors_of[vertex]) {
      cpu_bytes_of_[vertex] += instance_->tensors[Index(tensor)].buffer_bytes;
    }
  }
}

void LatencyLoads::ChangeTransfers(int32_t slot, const LatencyTensor& tensor, int64_t sign) {
  duration_[Index(slot)] += sign * tensor.transfer;
  total_duration_ += sign * tensor.transfer;
  buffer_bytes_[Index(slot)] += sign * tensor.buffer_bytes;
}

void LatencyLoads::AddToSlot(int32_t vertex, int32_t slot) {
  const UnitMemory& memory = instance_->memory;
  const int64_t time = instance_->pool_of(slot / slots_per_accelerator_).time[Index(vertex)];
  ++size_[Index(slot)];
  duration_[Index(slot)] += time;
  total_duration_ += time;
  memory_[Index(slot)].Add(memory, Index(vertex));
  workspace_bytes_[Index(slot)] = std::max(workspace_bytes_[Index(slot)], memory.workspace[Index(vertex)]);
  for (const int32_t position : instance_->tensors_of[Index(vertex)]) {
    const LatencyTensor& tensor = instance_->tensors[Index(position)];
    const int32_t pins = ++pins_[Index(position) * size_.size() + Index(slot)];
    if (pins == 1) ChangeTransfers(slot, tensor, 1);
    if (Index(pins) == tensor.pins.size()) ChangeTransfers(slot, tensor, -1);
  }
}

void LatencyLoads::RemoveFromSlot(int32_t vertex, int32_t slot, std::span<const int32_t> places) {
  const UnitMemory& memory = instance_->memory;
  const int64_t time = instance_->pool_of(slot / slots_per_accelerator_).time[Index(vertex)];
  --size_[Index(slot)];
  duration_[Index(slot)] -= time;
  total_duration_ -= time;
  memory_[Index(slot)].Remove(memory, Index(vertex));
  for (const int32_t position : instance_->tensors_of[Index(vertex)]) {
    const LatencyTensor& tensor = instance_->tensors[Index(position)];
    const int32_t pins = pins_[Index(position) * size_.size() + Index(slot)]--;
    if (Index(pins) == tensor.pins.size()) ChangeTransfers(slot, tensor, 1);
    if (pins == 1) ChangeTransfers(slot, tensor, -1);
  }
  if (is_empty(slot)) workspace_bytes_[Index(slot)] = 0;
  if (places.empty() || memory.workspace[Index(vertex)] == 0 ||
      memory.workspace[Index(vertex)] < workspace_bytes_[Index(slot)])
    return;
  workspace_bytes_[Index(slot)] = 0;
  for (std::size_t other = 0; other < places.size(); ++other) {
    if (places[other] != slot) continue;
    workspace_bytes_[Index(slot)] = std::max(workspace_bytes_[Index(slot)], memory.workspace[other]);
  }
}

void LatencyLoads::AddToCpu(int32_t vertex) { ChangeCpuBytes(vertex, 1); }
void LatencyLoads::RemoveFromCpu(int32_t vertex) { ChangeCpuBytes(vertex, -1); }

void LatencyLoads::ChangeCpuBytes(int32_t vertex, int64_t sign) {
  if (limit_of_[Index(vertex)] == kUnlimited) return;
  const std::size_t limit = Index(limit_of_[Index(vertex)]);
  const int64_t free_before = instance_->cpu_limits[limit].memory_bytes - cpu_bytes_[limit];
  cpu_bytes_[limit] += sign * cpu_bytes_of_[Index(vertex)];
  const int64_t free_after = instance_->cpu_limits[limit].memory_bytes - cpu_bytes_[limit];
  missing_cpu_bytes_ += std::max<int64_t>(0, -free_after) - std::max<int64_t>(0, -free_before);
}

int64_t LatencyLoads::SlotBytes(int32_t slot) const {
  if (is_empty(slot)) return 0;
  return memory_[Index(slot)].Total(instance_->memory, buffer_bytes_[Index(slot)], workspace_bytes_[Index(slot)]);
}

int64_t LatencyLoads::AcceleratorBytes(int32_t accelerator) const {
  int64_t bytes = 0;
  const int32_t first = accelerator * slots_per_accelerator_;
  for (int32_t slot = first; slot < first + slots_per_accelerator_; ++slot) bytes += SlotBytes(slot);
  return bytes;
}

int64_t LatencyLoads::MissingBytes(int32_t accelerator) const {
  const auto& limit = instance_->pool_of(accelerator).memory_bytes;
  return limit.has_value() ? std::max<int64_t>(0, AcceleratorBytes(accelerator) - *limit) : 0;
}

int64_t LatencyLoads::MissingBytes() const {
  int64_t missing = missing_cpu_bytes_;
  for (int32_t accelerator = 0; accelerator < instance_->num_accelerators(); ++accelerator) {
    missing += MissingBytes(accelerator);
  }
  return missing;
}

}  // namespace planwright
