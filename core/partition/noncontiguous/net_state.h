// An assignment of groups to devices whose loads and memory follow every move in time proportional to the degree of the
// group.
//
// For every net and device the number of groups of the net there is kept: a move changes two numbers for each net of
// the group, and they tell whether a device starts or stops to hold the net partly. All sums are integers, so moving
// there and back restores them exactly.
//
// With replication a device leads a *team* of as many devices of its pool as it has replicas: the team holds the groups
// of its leader, each on every member. A device that has joined another's team leads none and holds nothing.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_STATE_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_STATE_H_

#include <cstdint>
#include <map>
#include <stop_token>
#include <vector>

#include "core/base/index.h"
#include "core/cost/device_load.h"
#include "core/partition/noncontiguous/net_tables.h"
#include "core/partition/search/load_rule.h"

namespace planwright {

struct NetAssignment {
  // By group: the device, or the leader of the team.
  std::vector<int32_t> device_of;
  // By device: members of the team that it leads, 0 of none. Empty: every device leads itself alone.
  std::vector<int32_t> replicas;

  // No assignment at all.
  bool empty() const { return device_of.empty(); }
  bool operator==(const NetAssignment&) const = default;
};

// What moving one group changes: on the device that it leaves, on the one that it enters, and on the devices of
// producers that send to one device more or less.
struct MoveEffect {
  struct Change {
    int32_t device = 0;
    ReplicaWork work;
    int64_t buffer_bytes = 0;
  };
  // The first two are always the device left and the device entered.
  std::vector<Change> changes;

  Change& On(int32_t device);
};

// For one thread. The tables outlive the state.
class NetState {
 public:
  // REQUIRES: a device for every group, one that leads a team; no more members of teams in a pool than devices.
  // Throws Interrupted where `stop` is requested meanwhile: many nets on hundreds of devices take a tenth of a second.
  NetState(const NetTables& tables, NetAssignment assignment, const std::stop_token& stop = {});

  const NetTables& tables() const { return *tables_; }
  int32_t device_of(int32_t group) const { return assignment_.device_of[Index(group)]; }
  int32_t replicas(int32_t device) const {
    return assignment_.replicas.empty() ? 1 : assignment_.replicas[Index(device)];
  }
  int32_t num_groups_on(int32_t device) const { return num_groups_on_[Index(device)]; }
  const NetAssignment& assignment() const { return assignment_; }
  // What a member of the team would do if it did every micro-batch. Passes that are not told apart count as forward,
  // transfers whose direction does not matter as `in`.
  const ReplicaWork& work(int32_t device) const { return work_[Index(device)]; }
  // What every member of the team does, if the work of its leader changed to `work`.
  PhaseLoads LoadsWith(int32_t device, const ReplicaWork& work) const {
    return is_plain_ ? PhaseLoads{.main = LoadOf(work.work.forward, overlap_)} : TeamLoads(device, work);
  }
  PhaseLoads loads(int32_t device) const { return LoadsWith(device, work(device)); }
  // The sum over all phases, in picoseconds.
  int64_t load(int32_t device) const { return loads(device).total().count(); }
  // The greatest load of any device, phase by phase; their sum is the objective.
  PhaseLoads GreatestLoads() const;
  // The sum of the greatest loads, in picoseconds.
  int64_t Objective() const { return GreatestLoads().total().count(); }

  // What Move(group, to) would change. REQUIRES: `to` is another device. O(degree of the group).
  void Preview(int32_t group, int32_t to, MoveEffect& effect) const;
  // Whether a move with this effect leaves no device too full, or no fuller than it was. O(log groups).
  bool KeepsMemory(int32_t group, int32_t to, const MoveEffect& effect) const;
  // Does what Preview computed.
  void Move(int32_t group, int32_t to, const MoveEffect& effect);
  // REQUIRES: with replication; a device of 0 replicas holds nothing.
  void SetReplicas(int32_t device, int32_t replicas) { assignment_.replicas[Index(device)] = replicas; }

  // Bytes by which the device is too full; 0 if it is not.
  int64_t overflow(int32_t device) const { return tables_->memory_binds() ? overflow_[Index(device)] : 0; }
  bool fits_memory() const { return num_overfull_ == 0; }

 private:
  void MakeCounts(std::size_t cells, const std::stop_token& stop);
  std::size_t Cell(int32_t net, int32_t device) const {
    return Index(net) * Index(tables_->num_devices()) + Index(device);
  }
  PhaseLoads TeamLoads(int32_t device, const ReplicaWork& work) const;
  void CountGroups();
  void CountNet(int32_t net);
  // `times` over: -1 takes it away.
  void AddGroup(int32_t group, int32_t device, int64_t times, ReplicaWork& work) const;
  // What a device pays for a directed net, `times` over; taken back for times < 0.
  MicroBatchWork Paid(const DirectedNet& net, bool sends, int64_t times) const;
  template <typename WeightOf>
  void PreviewPlain(int32_t group, int32_t from, int32_t to, PassWork MicroBatchWork::*pass, const WeightOf& weight_of,
                    MoveEffect& effect) const;
  void PreviewDirected(int32_t group, int32_t from, int32_t to, MoveEffect& effect) const;
  void PreviewBuffers(int32_t group, int32_t from, int32_t to, MoveEffect& effect) const;
  void Pay(int32_t device, const MicroBatchWork& work, MoveEffect& effect) const;
  void AddMemory(int32_t group, int32_t device);
  void RemoveMemory(int32_t group, int32_t device);
  void RefreshOverflow(int32_t device);
  // Bytes on the device with other sums and buffers, and with a workspace of at least `workspace`.
  int64_t MemoryBytes(int32_t device, MemorySums sums, int64_t buffers, int64_t workspace) const;

  const NetTables* tables_;
  // Loads follow from the forward work alone.
  bool is_plain_;
  Overlap overlap_;
  NetAssignment assignment_;
  std::vector<ReplicaWork> work_;
  std::vector<int32_t> num_groups_on_;
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

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_NET_STATE_H_
