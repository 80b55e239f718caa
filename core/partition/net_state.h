// An assignment of groups to devices whose loads and memory follow every move in time proportional to the degree of the
// group (noncontiguous-and-latency.md section 1, "State").
//
// For every net and device the number of groups of the net there is kept: a move changes two numbers for each net of
// the group, and they tell whether a device starts or stops to hold the net partly. All sums are integers, so moving
// there and back restores them exactly.
#ifndef PLANWRIGHT_CORE_PARTITION_NET_STATE_H_
#define PLANWRIGHT_CORE_PARTITION_NET_STATE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/partition/net_tables.h"

namespace planwright {

// What a device does for one micro-batch, in picoseconds.
struct DeviceWork {
  int64_t compute = 0;
  // Transfers whose direction does not matter count as `in`.
  int64_t in = 0;
  int64_t out = 0;

  DeviceWork& operator+=(const DeviceWork& other) {
    compute += other.compute;
    in += other.in;
    out += other.out;
    return *this;
  }
  friend DeviceWork operator+(DeviceWork a, const DeviceWork& b) { return a += b; }
  bool operator==(const DeviceWork&) const = default;

  int64_t Load(Overlap overlap) const;
};

// What moving one group changes: on the device that it leaves, on the one that it enters, and on the devices of
// producers that send to one device more or less.
struct MoveEffect {
  struct Change {
    int32_t device = 0;
    DeviceWork work;
    int64_t buffer_bytes = 0;
  };
  // The first two are always the device left and the device entered.
  std::vector<Change> changes;

  Change& On(int32_t device);
};

// For one thread. The tables outlive the state.
class NetState {
 public:
  // REQUIRES: a device for every group.
  NetState(const NetTables& tables, std::vector<int32_t> device_of);

  const NetTables& tables() const { return *tables_; }
  int32_t device_of(int32_t group) const { return device_of_[Index(group)]; }
  const std::vector<int32_t>& assignment() const { return device_of_; }
  const DeviceWork& work(int32_t device) const { return work_[Index(device)]; }
  int64_t load(int32_t device) const { return work_[Index(device)].Load(overlap_); }
  int64_t MaxLoad() const;

  // What Move(group, to) would change. REQUIRES: `to` is another device. O(degree of the group).
  void Preview(int32_t group, int32_t to, MoveEffect& effect) const;
  // Whether a move with this effect leaves no device too full, or no fuller than it was. O(log groups).
  bool KeepsMemory(int32_t group, int32_t to, const MoveEffect& effect) const;
  // Does what Preview computed.
  void Move(int32_t group, int32_t to, const MoveEffect& effect);

  // Bytes by which the device is too full; 0 if it is not.
  int64_t overflow(int32_t device) const { return tables_->memory_binds() ? overflow_[Index(device)] : 0; }
  bool fits_memory() const { return num_overfull_ == 0; }

 private:
  std::size_t Cell(int32_t net, int32_t device) const {
    return Index(net) * Index(tables_->num_devices()) + Index(device);
  }
  void CountGroups();
  void CountNet(int32_t net);
  void PreviewPlain(int32_t group, int32_t from, int32_t to, MoveEffect& effect) const;
  void PreviewDirected(int32_t group, int32_t from, int32_t to, MoveEffect& effect) const;
  void PreviewBuffers(int32_t group, int32_t from, int32_t to, MoveEffect& effect) const;
  void Pay(int32_t device, int64_t in, int64_t out, MoveEffect& effect) const;
  void AddMemory(int32_t group, int32_t device);
  void RemoveMemory(int32_t group, int32_t device);
  void RefreshOverflow(int32_t device);
  // Bytes on the device with other sums and buffers, and with a workspace of at least `workspace`.
  int64_t MemoryBytes(int32_t device, const MemorySums& sums, int64_t buffers, int64_t workspace) const;

  const NetTables* tables_;
  Overlap overlap_;
  std::vector<int32_t> device_of_;
  std::vector<DeviceWork> work_;
  // Groups of each net on each device, and the number of devices that hold a net.
  std::vector<int32_t> count_;
  std::vector<int32_t> spread_;
  // Kept only where memory can bind: sums, buffers, and how often each workspace size occurs, by device.
  std::vector<MemorySums> memory_;
  std::vector<int64_t> buffer_bytes_;
  std::vector<std::map<int64_t, int32_t>> workspaces_;
  std::vector<int64_t> overflow_;
  int32_t num_overfull_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NET_STATE_H_
