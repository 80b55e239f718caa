#include "core/verify/assignment.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"
#include "core/verify/operator_time.h"

namespace planwright {
namespace {

// Where an operator stands in the placement as given.
struct Seat {
  std::size_t stage = 0;
  std::size_t position = 0;
};

std::string StagePath(std::size_t stage) { return absl::StrCat("plan.stages[", stage, "]"); }

std::string OperatorPath(const Seat& seat) {
  return absl::StrCat(StagePath(seat.stage), ".operators[", seat.position, "]");
}

std::string ReplicaPath(std::size_t stage, std::size_t replica) {
  return absl::StrCat(StagePath(stage), ".replicas[", replica, "].device");
}

class StructureCheck {
 public:
  StructureCheck(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                 const Placement& placement, Violations& violations)
      : graph_(graph),
        cluster_(cluster),
        problem_(problem),
        placement_(placement),
        violations_(violations),
        seats_(graph.operators.size()),
        devices_(placement.stages.size()),
        occupied_(placement.stages.size()) {}

  std::optional<Assignment> Run() {
    SeatOperators();
    FindDevices();
    CheckClasses();
    CheckColocation();
    CheckStagesPerDevice();
    if (!costable_) return std::nullopt;
    return MakeAssignment();
  }

 private:
  bool TakesPart(OperatorId op) const { return !IsDropped(graph_.operators[op.index()], *problem_.workload); }
  const std::string& NameOf(OperatorId op) const { return graph_.operators[op.index()].name; }
  const std::string& NameOf(DeviceId device) const { return cluster_.devices[device.index()].name; }

  // A violation that leaves nothing to cost.
  void Break(std::string path, std::string rule) {
    violations_.Add(std::move(path), std::move(rule));
    costable_ = false;
  }

  void SeatOperators() {
    for (std::size_t stage = 0; stage < placement_.stages.size(); ++stage) {
      const std::vector<OperatorId>& operators = placement_.stages[stage].operators;
      for (std::size_t position = 0; position < operators.size(); ++position) {
        SeatOperator(operators[position], {stage, position});
      }
    }
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      if (seats_[i].has_value() || !TakesPart(OperatorId(i))) continue;
      Break("plan.stages", absl::StrCat("operator '", NameOf(OperatorId(i)), "' is in no stage"));
    }
  }

  void SeatOperator(OperatorId op, const Seat& seat) {
    if (op.index() >= graph_.operators.size()) {
      Break(OperatorPath(seat), absl::StrCat("the graph has only ", graph_.operators.size(), " operators"));
      return;
    }
    if (!TakesPart(op)) return;
    occupied_[seat.stage] = true;
    std::optional<Seat>& taken = seats_[op.index()];
    if (taken.has_value()) {
      Break(OperatorPath(seat),
            absl::StrCat("operator '", NameOf(op), "' is placed twice, first at ", OperatorPath(*taken)));
      return;
    }
    taken = seat;
  }

  void FindDevices() {
    for (std::size_t stage = 0; stage < placement_.stages.size(); ++stage) {
      const std::vector<DeviceId>& replicas = placement_.stages[stage].devices;
      bool all_known = true;
      for (std::size_t i = 0; i < replicas.size(); ++i) all_known &= CheckReplica(stage, i);
      if (!occupied_[stage]) continue;
      if (replicas.empty()) {
        Break(absl::StrCat(StagePath(stage), ".replicas"), "the stage has no device");
      } else if (replicas.size() > 1) {
        Break(absl::StrCat(StagePath(stage), ".replicas"),
              absl::StrCat("the stage has ", replicas.size(), " replicas, but the problem allows no replication"));
      } else if (all_known) {
        devices_[stage] = replicas.front();
      }
    }
  }

  bool CheckReplica(std::size_t stage, std::size_t replica) {
    const std::vector<DeviceId>& replicas = placement_.stages[stage].devices;
    const DeviceId device = replicas[replica];
    if (device.index() >= cluster_.devices.size()) {
      Break(ReplicaPath(stage, replica), absl::StrCat("the cluster has only ", cluster_.devices.size(), " devices"));
      return false;
    }
    const auto end = replicas.begin() + static_cast<std::ptrdiff_t>(replica);
    const auto first = std::find(replicas.begin(), end, device);
    if (first != end) {
      Break(ReplicaPath(stage, replica),
            absl::StrCat("device '", NameOf(device), "' is already replica ", first - replicas.begin()));
    }
    return true;
  }

  void CheckClasses() {
    ForEachPlaced([this](OperatorId op, DeviceId device) {
      const DeviceClass& device_class = cluster_.class_of(device);
      if (TimeOn(graph_.operators[op.index()], device_class, *problem_.workload).has_value()) return;
      Break(OperatorPath(*seats_[op.index()]), absl::StrCat("operator '", NameOf(op), "' cannot run on device '",
                                                            NameOf(device), "' of class '", device_class.name, "'"));
    });
  }

  void CheckColocation() {
    absl::flat_hash_map<std::string_view, OperatorId> first_of_group;
    ForEachPlaced([&](OperatorId op, DeviceId) {
      const Operator& op_fields = graph_.operators[op.index()];
      if (op_fields.forward_operator.has_value()) {
        RequireSharedDevice(op, *op_fields.forward_operator, "its forward operator");
      }
      if (op_fields.colocation_group.empty()) return;
      const auto [first, is_new] = first_of_group.try_emplace(op_fields.colocation_group, op);
      if (is_new) return;
      const std::string relation = absl::StrCat("of its colocation group '", op_fields.colocation_group, "' operator");
      RequireSharedDevice(op, first->second, relation);
    });
  }

  // `relation` says what `other` is to `op`.
  void RequireSharedDevice(OperatorId op, OperatorId other, const std::string& relation) {
    const std::optional<DeviceId> device = PlacedOn(op);
    const std::optional<DeviceId> other_device = PlacedOn(other);
    if (!device.has_value() || !other_device.has_value() || *device == *other_device) return;
    violations_.Add(OperatorPath(*seats_[op.index()]),
                    absl::StrCat("operator '", NameOf(op), "' is on device '", NameOf(*device), "', but ", relation,
                                 " '", NameOf(other), "' is on '", NameOf(*other_device), "'"));
  }

  // CONTIGUOUS allows one stage per device unless the problem says how many.
  void CheckStagesPerDevice() {
    const bool is_limited = problem_.max_stages_per_device.has_value() || problem_.split == Split::kContiguous;
    if (!is_limited) return;
    const int32_t limit = problem_.max_stages_per_device.value_or(1);
    std::vector<int32_t> stages_on(cluster_.devices.size());
    for (std::size_t stage = 0; stage < devices_.size(); ++stage) {
      if (!devices_[stage].has_value()) continue;
      const int32_t count = ++stages_on[devices_[stage]->index()];
      if (count <= limit) continue;
      violations_.Add(ReplicaPath(stage, 0), absl::StrCat("stage ", count, " of device '", NameOf(*devices_[stage]),
                                                          "', which may hold ", limit));
    }
  }

  std::optional<DeviceId> PlacedOn(OperatorId op) const {
    const std::optional<Seat>& seat = seats_[op.index()];
    if (!seat.has_value()) return std::nullopt;
    return devices_[seat->stage];
  }

  // Calls visit(operator, device) in the order of the graph.
  template <typename Visit>
  void ForEachPlaced(const Visit& visit) const {
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      const OperatorId op(i);
      if (const std::optional<DeviceId> device = PlacedOn(op); device.has_value()) visit(op, *device);
    }
  }

  Assignment MakeAssignment() const {
    Assignment assignment;
    std::vector<std::size_t> kept(placement_.stages.size());
    for (std::size_t stage = 0; stage < placement_.stages.size(); ++stage) {
      if (!occupied_[stage]) continue;
      kept[stage] = assignment.stages.size();
      assignment.stages.push_back({stage, *devices_[stage], {}});
    }
    assignment.stage_of.assign(seats_.size(), Assignment::kDropped);
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      if (!seats_[i].has_value()) continue;
      const std::size_t stage = kept[seats_[i]->stage];
      assignment.stage_of[i] = static_cast<int32_t>(stage);
      assignment.stages[stage].operators.emplace_back(i);
    }
    return assignment;
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const PlanningProblem& problem_;
  const Placement& placement_;
  Violations& violations_;
  bool costable_ = true;
  // Of each operator that takes part and is placed: where first.
  std::vector<std::optional<Seat>> seats_;
  // Of each stage as given: its only device; nullopt where it is empty or broken.
  std::vector<std::optional<DeviceId>> devices_;
  std::vector<bool> occupied_;
};

}  // namespace

bool IsDropped(const Operator& op, Workload workload) {
  return workload == Workload::kInference && op.pass == Pass::kBackward;
}

void Assignment::Reorder(const std::vector<std::size_t>& order) {
  std::vector<Stage> reordered;
  reordered.reserve(stages.size());
  for (const std::size_t stage : order) {
    for (const OperatorId op : stages[stage].operators) {
      stage_of[op.index()] = static_cast<int32_t>(reordered.size());
    }
    reordered.push_back(std::move(stages[stage]));
  }
  stages = std::move(reordered);
}

std::optional<Assignment> CheckStructure(const OperatorGraph& graph, const Cluster& cluster,
                                         const PlanningProblem& problem, const Placement& placement,
                                         Violations& violations) {
  return StructureCheck(graph, cluster, problem, placement, violations).Run();
}

}  // namespace planwright
