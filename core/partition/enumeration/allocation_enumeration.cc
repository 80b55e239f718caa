#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/index.h"
#include "core/cost/device_load.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"
#include "core/partition/enumeration/forms.h"
#include "core/partition/enumeration/tensor_table.h"
#include "core/partition/noncontiguous/virtual_devices.h"

namespace planwright {
namespace {

class AllocationEnumeration {
 public:
  AllocationEnumeration(const SearchRequest& request, const std::vector<std::vector<OperatorId>>& groups,
                        const DeviceOptions& devices, PlacementJudge& judge)
      : request_(request),
        problem_(request.problem),
        groups_(groups),
        devices_(devices),
        judge_(judge),
        tensors_(MakeTensorTable(request, groups)),
        pays_once_(RulesOf(request.cluster.interconnect).pay_once),
        gradients_follow_(GradientsFollowTensors(request.graph, problem_.workload)),
        reduces_(ReducesGradients(problem_)),
        stages_(request.graph, problem_),
        free_(devices),
        team_of_(groups.size(), kNowhere),
        order_(FirstNumbers<std::size_t>(groups.size())) {
    for (const std::vector<OperatorId>& operators : groups) options_.push_back(devices.MakeGroup(operators));
    std::stable_sort(order_.begin(), order_.end(),
                     [this](std::size_t a, std::size_t b) { return options_[a].least_time > options_[b].least_time; });
  }

  void Run() {
    Picoseconds all{0};
    for (const DeviceOptions::Group& group : options_) all += group.least_time;
    floor_ = Picoseconds(CeilDivide(all.count(), static_cast<int64_t>(std::max<std::size_t>(1, devices_.max_used()))));
    Place(0);
  }

 private:
  static constexpr int32_t kNowhere = -1;

  struct Team {
    // Positions in devices_.
    std::vector<std::size_t> members;
    std::vector<OperatorId> operators;
    MicroBatchWork compute;
  };

  struct Border {
    MicroBatchWork work;
    int64_t bytes = 0;
  };

  // Places the groups from number `next` of the order on.
  void Place(std::size_t next) {
    if (judge_.has_stopped()) return;
    if (next == order_.size()) return judge_.Judge(CutPlacement());
    const std::size_t group = order_[next];
    const std::vector<bool>& may_hold = options_[group].may_hold;
    for (std::size_t team = 0; team < teams_.size(); ++team) {
      const std::vector<std::size_t>& members = teams_[team].members;
      const bool may_join =
          std::all_of(members.begin(), members.end(), [&](std::size_t device) { return may_hold[device]; });
      if (may_join) Join(group, team, next);
    }
    const std::size_t most = problem_.replication == Replication::kNone ? 1 : free_.idle();
    free_.ForEach(
        TeamOrder::kAscending, 1, most,
        [&](std::size_t position) { return !judge_.has_stopped() && may_hold[position]; },
        [&](const std::vector<std::size_t>& members) {
          teams_.push_back({.members = members, .operators = {}, .compute = {}});
          Join(group, teams_.size() - 1, next);
          teams_.pop_back();
        });
  }

  void Join(std::size_t group, std::size_t index, std::size_t next) {
    if (!judge_.Step()) return;
    Team& team = teams_[index];
    const MicroBatchWork compute = team.compute;
    const std::size_t num_operators = team.operators.size();
    team.compute += options_[group].compute[team.members.front()];
    team.operators.insert(team.operators.end(), groups_[group].begin(), groups_[group].end());
    team_of_[group] = static_cast<int32_t>(index);
    if (MayBeBetter()) Place(next + 1);
    // The list of teams may have grown, and moved.
    Team& same = teams_[index];
    team_of_[group] = kNowhere;
    same.operators.resize(num_operators);
    same.compute = compute;
  }

  bool MayBeBetter() {
    std::vector<Border> borders(teams_.size());
    for (const GroupTensor& tensor : tensors_.tensors) AddTensor(tensor, borders);
    PhaseLoads greatest;
    for (std::size_t i = 0; i < teams_.size(); ++i) {
      const Team& team = teams_[i];
      const int64_t bytes =
          StageMemoryBytes(request_.graph, problem_, team.operators, borders[i].bytes, /*in_flight=*/1);
      const auto fits = [&](std::size_t position) { return devices_[position].Fits(bytes); };
      if (!std::all_of(team.members.begin(), team.members.end(), fits)) {
        judge_.NoteOverfull();
        return false;
      }
      MicroBatchWork work = team.compute;
      if (!pays_once_ || !devices_[team.members.front()].is_cpu) work += borders[i].work;
      const PhaseLoads loads =
          ReplicaLoads(LoadsOf(work, problem_.schedule, problem_.overlap), static_cast<int32_t>(team.members.size()),
                       AllReduceOf(team), ReductionRuleOf(problem_));
      greatest.main = std::max(greatest.main, loads.main);
      greatest.backward = std::max(greatest.backward, loads.backward);
    }
    return judge_.CanImprove(std::max(floor_, greatest.total()));
  }

  // What is certain once the producer and some readers are placed.
  void AddTensor(const GroupTensor& tensor, std::vector<Border>& borders) const {
    const int32_t producer = team_of_[Index(tensor.producer)];
    if (producer == kNowhere) return;
    Border& sender = borders[Index(producer)];
    bool leaves = false;
    for (std::size_t i = 0; i < tensor.readers.size(); ++i) {
      const int32_t reader = team_of_[Index(tensor.readers[i])];
      if (reader == kNowhere || reader == producer || IsRepeated(tensor, i)) continue;
      Border& receiver = borders[Index(reader)];
      receiver.bytes += tensor.size_bytes;
      receiver.work.of(tensor.pass).in += tensor.least_time;
      if (gradients_follow_) receiver.work.backward.out += tensor.least_time;
      const bool is_first = !std::exchange(leaves, true);
      if (is_first) sender.bytes += tensor.size_bytes;
      if (pays_once_ && !is_first) continue;
      sender.work.of(tensor.pass).out += tensor.least_time;
      if (gradients_follow_) sender.work.backward.in += tensor.least_time;
    }
  }

  // Whether the team of a reader holds an earlier one.
  bool IsRepeated(const GroupTensor& tensor, std::size_t reader) const {
    const auto last = tensor.readers.begin() + static_cast<std::ptrdiff_t>(reader);
    return std::any_of(tensor.readers.begin(), last, [&](int32_t group) {
      return team_of_[Index(group)] == team_of_[Index(tensor.readers[reader])];
    });
  }

  Picoseconds AllReduceOf(const Team& team) const {
    if (!reduces_ || team.members.size() == 1) return Picoseconds(0);
    return AllReduceTime(ParameterBytes(request_.graph, team.operators), static_cast<int32_t>(team.members.size()),
                         request_.costs.network().speed(0), problem_.allreduce.factor);
  }

  Placement CutPlacement() const {
    std::vector<DeviceId> device_of(request_.graph.operators.size());
    std::vector<const Team*> team_on(request_.cluster.devices.size());
    for (const Team& team : teams_) {
      const DeviceId first = devices_[team.members.front()].device;
      for (const OperatorId op : team.operators) device_of[op.index()] = first;
      team_on[first.index()] = &team;
    }
    Placement placement = stages_.Cut(device_of);
    for (Placement::Stage& stage : placement.stages) {
      const Team& team = *team_on[stage.devices.front().index()];
      stage.devices.clear();
      for (const std::size_t position : team.members) stage.devices.push_back(devices_[position].device);
    }
    return placement;
  }

  const SearchRequest& request_;
  const ResolvedProblem& problem_;
  const std::vector<std::vector<OperatorId>>& groups_;
  const DeviceOptions& devices_;
  PlacementJudge& judge_;
  const TensorTable tensors_;
  const bool pays_once_;
  const bool gradients_follow_;
  const bool reduces_;
  const VirtualDevices stages_;
  TeamChooser free_;
  // By group.
  std::vector<DeviceOptions::Group> options_;
  std::vector<int32_t> team_of_;
  // Groups in the order in which they are placed.
  std::vector<std::size_t> order_;
  std::vector<Team> teams_;
  // All work, shared by all devices.
  Picoseconds floor_{0};
};

}  // namespace

void EnumerateAllocations(const SearchRequest& request, const std::vector<std::vector<OperatorId>>& groups,
                          const DeviceOptions& devices, PlacementJudge& judge) {
  AllocationEnumeration(request, groups, devices, judge).Run();
}

}  // namespace planwright
