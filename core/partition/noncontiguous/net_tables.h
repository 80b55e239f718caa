// A net instance laid out for the inner loop of local search: flat arrays, devices and groups as small numbers.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_TABLES_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/index.h"
#include "core/partition/noncontiguous/net_instance.h"

namespace planwright {

// Nets with more groups say little about who belongs together.
inline constexpr std::size_t kMostTellingGroups = 64;

// A group's part in one net whose direction does not matter.
struct NetPin {
  int32_t net = 0;
  // Groups of the net.
  int32_t size = 0;
  // Picoseconds that a paying device pays when it holds the net partly; under GPIPE in the forward pass.
  int64_t weight = 0;
};

// A net in which the device of `producer` pays otherwise than the others (NetCharge).
struct DirectedNet {
  int32_t producer = 0;
  int32_t size = 0;
  int64_t forward = 0;
  int64_t gradient = 0;
  int64_t late = 0;
};

template <typename Value>
class Rows {
 public:
  Rows() = default;
  explicit Rows(const std::vector<std::vector<Value>>& rows) {
    start_.reserve(rows.size() + 1);
    start_.push_back(0);
    for (const auto& row : rows) {
      values_.insert(values_.end(), row.begin(), row.end());
      start_.push_back(values_.size());
    }
  }

  std::span<const Value> operator[](int32_t row) const {
    const auto r = static_cast<std::size_t>(row);
    return {values_.data() + start_[r], start_[r + 1] - start_[r]};
  }
  std::span<const Value> values() const { return values_; }

 private:
  std::vector<Value> values_;
  std::vector<std::size_t> start_;
};

// Immutable; any thread. The instance must outlive it.
class NetTables {
 public:
  explicit NetTables(const NetInstance& instance);

  const NetInstance& instance() const { return *instance_; }
  int32_t num_groups() const { return num_groups_; }
  int32_t num_devices() const { return num_devices_; }
  int32_t num_nets() const { return num_nets_; }

  const LoadRule& rule() const { return instance_->rule(); }
  // GPIPE tells the passes apart.
  bool has_phases() const { return rule().has_phases; }
  // Several devices may work as one.
  bool replicates() const { return rule().replicates; }

  int64_t time(int32_t group, int32_t device) const {
    return times_[pool_of_[Index(device)] * Index(num_groups_) + Index(group)];
  }
  // The part of `time` in the backward pass. REQUIRES: has_phases().
  int64_t backward_time(int32_t group, int32_t device) const {
    return backward_times_[pool_of_[Index(device)] * Index(num_groups_) + Index(group)];
  }
  // What replicas reduce; 0 where they do not.
  int64_t parameter_bytes(int32_t group) const {
    const std::vector<int64_t>& bytes = instance_->blocks.parameter_bytes;
    return bytes.empty() ? 0 : bytes[Index(group)];
  }
  bool may_run(int32_t group, int32_t device) const {
    return may_run_[Index(group) * Index(num_devices_) + Index(device)] != 0;
  }
  std::size_t pool_of(int32_t device) const { return pool_of_[Index(device)]; }
  bool pays(int32_t device) const { return pays_[Index(device)] != 0; }
  // How many times the device keeps linear memory.
  int64_t times_stored(int32_t device) const { return times_stored_[Index(device)]; }
  // Memory of the device; kMaxQuantity: unlimited.
  int64_t memory_limit(int32_t device) const { return memory_limit_[Index(device)]; }
  // Some device can be too small for some set of groups.
  bool memory_binds() const { return memory_binds_; }
  // The memory of a device is just a sum over its groups: no parameters to scale, no workspace, no buffers.
  bool memory_is_sum() const { return memory_is_sum_; }

  // Nets are numbered: those without direction first, then the directed ones.
  std::span<const NetPin> plain_pins(int32_t group) const { return plain_pins_[group]; }
  std::span<const int32_t> directed_nets(int32_t group) const { return directed_of_[group]; }
  bool is_directed(int32_t net) const { return net >= num_plain_nets_; }
  // In the forward pass, or in both together, and in the backward pass of GPIPE. REQUIRES: !is_directed(net).
  int64_t plain_weight(int32_t net) const { return plain_weight_[Index(net)]; }
  int64_t plain_backward_weight(int32_t net) const { return plain_backward_weight_[Index(net)]; }
  // REQUIRES: is_directed(net).
  const DirectedNet& directed(int32_t net) const { return directed_[Index(net - num_plain_nets_)]; }
  bool has_directed_nets() const { return !directed_.empty(); }
  std::span<const int32_t> nets_of(int32_t group) const { return nets_of_[group]; }
  std::span<const int32_t> groups_of(int32_t net) const { return groups_of_[net]; }
  // Picoseconds that a tensor of the net takes there and back.
  int64_t weight(int32_t net) const {
    if (!is_directed(net)) return plain_weight(net) + plain_backward_weight(net);
    return directed(net).forward + directed(net).gradient + directed(net).late;
  }
  int64_t buffer_bytes(int32_t net) const { return buffer_bytes_[Index(net)]; }

 private:
  void AddNets();
  void AddDevices();

  const NetInstance* instance_;
  int32_t num_groups_;
  int32_t num_devices_;
  int32_t num_nets_ = 0;
  int32_t num_plain_nets_ = 0;
  bool memory_binds_ = false;
  bool memory_is_sum_ = true;
  std::vector<int64_t> times_;
  std::vector<int64_t> backward_times_;
  std::vector<std::size_t> pool_of_;
  std::vector<uint8_t> may_run_;
  std::vector<uint8_t> pays_;
  std::vector<int64_t> memory_limit_;
  std::vector<int64_t> times_stored_;
  std::vector<int64_t> plain_weight_;
  std::vector<int64_t> plain_backward_weight_;
  Rows<NetPin> plain_pins_;
  Rows<int32_t> directed_of_;
  std::vector<DirectedNet> directed_;
  Rows<int32_t> nets_of_;
  Rows<int32_t> groups_of_;
  std::vector<int64_t> buffer_bytes_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_TABLES_H_
