#include "core/verify/facts/assignment.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/interruption.h"
#include "core/verify/facts/operator_time.h"

namespace planwright {
namespace {

std::string PathOfStage(std::size_t given_index) { return absl::StrCat("plan.stages[", given_index, "]"); }

std::string PathOfOperator(std::size_t given_index, std::size_t position) {
  return absl::StrCat(PathOfStage(given_index), ".operators[", position, "]");
}

std::string PathOfReplica(std::size_t given_index, std::size_t replica) {
  return absl::StrCat(PathOfStage(given_index), ".replicas[", replica, "].device");
}

class StructureCheck {
 public:
  StructureCheck(const ResolvedInput& input, const Placement& placement, Violations& violations)
      : graph_(input.graph),
        cluster_(input.cluster),
        problem_(input.problem),
        placement_(placement),
        violations_(violations) {
    assignment().stage_of.assign(input.graph.operators.size(), Assignment::kNowhere);
    assignment().given_position.assign(input.graph.operators.size(), 0);
  }

  Structure Run() {
    for (std::size_t given = 0; given < placement_.stages.size(); ++given) SeatOperators(given);
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) RequirePlaced(OperatorId(i));
    std::size_t next_occupied = 0;
    for (std::size_t given = 0; given < placement_.stages.size(); ++given) {
      std::vector<DeviceId> devices = KnownDevices(given);
      if (next_occupied == assignment().stages.size() || assignment().stages[next_occupied].given_index != given) {
        continue;
      }
      Assignment::Stage& stage = assignment().stages[next_occupied++];
      stage.devices = std::move(devices);
      stage.ring = RingOf(stage);
      CheckReplication(stage);
    }
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) CheckClass(OperatorId(i));
    return std::move(structure_);
  }

 private:
  Assignment& assignment() { return structure_.assignment; }
  const std::string& NameOf(OperatorId op) const { return graph_.operators[op.index()].name; }
  const std::string& NameOf(DeviceId device) const { return cluster_.devices[device.index()].name; }
  bool TakesPart(OperatorId op) const { return !IsDropped(graph_.operators[op.index()], problem_.workload); }

  // A violation that leaves nothing to cost.
  void Break(std::string path, std::string rule) {
    violations_.Add(std::move(path), std::move(rule));
    structure_.is_whole = false;
  }

  void SeatOperators(std::size_t given) {
    Assignment::Stage stage;
    stage.given_index = given;
    const std::vector<OperatorId>& operators = placement_.stages[given].operators;
    for (std::size_t position = 0; position < operators.size(); ++position) {
      if (TakesSeat(operators[position], given, position)) stage.operators.push_back(operators[position]);
    }
    if (stage.operators.empty()) return;
    std::sort(stage.operators.begin(), stage.operators.end());
    assignment().stages.push_back(std::move(stage));
  }

  bool TakesSeat(OperatorId op, std::size_t given, std::size_t position) {
    if (op.index() >= graph_.operators.size()) {
      Break(PathOfOperator(given, position),
            absl::StrCat("the graph has only ", graph_.operators.size(), " operators"));
      return false;
    }
    if (!TakesPart(op)) return false;
    if (assignment().places(op)) {
      Break(PathOfOperator(given, position),
            absl::StrCat("operator '", NameOf(op), "' is placed twice, first at ", FirstPathOf(op, given)));
      return false;
    }
    assignment().stage_of[op.index()] = static_cast<int32_t>(assignment().stages.size());
    assignment().given_position[op.index()] = position;
    return true;
  }

  // Also where its stage is `given`, the one that is being filled.
  std::string FirstPathOf(OperatorId op, std::size_t given) {
    const std::size_t stage = assignment().stage_index(op);
    const bool is_here = stage == assignment().stages.size();
    return PathOfOperator(is_here ? given : assignment().stages[stage].given_index,
                          assignment().given_position[op.index()]);
  }

  void RequirePlaced(OperatorId op) {
    if (assignment().places(op) || !TakesPart(op)) return;
    Break("plan.stages", absl::StrCat("operator '", NameOf(op), "' is in no stage"));
  }

  // The devices of the cluster among the replicas, each once.
  std::vector<DeviceId> KnownDevices(std::size_t given) {
    std::vector<DeviceId> devices;
    absl::flat_hash_map<std::size_t, std::size_t> first_replica_on;
    const std::vector<DeviceId>& replicas = placement_.stages[given].devices;
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const auto [first, is_new] = first_replica_on.try_emplace(replicas[i].index(), i);
      if (replicas[i].index() >= cluster_.devices.size()) {
        Break(PathOfReplica(given, i), absl::StrCat("the cluster has only ", cluster_.devices.size(), " devices"));
      } else if (!is_new) {
        Break(PathOfReplica(given, i),
              absl::StrCat("device '", NameOf(replicas[i]), "' is already replica ", first->second));
      } else {
        devices.push_back(replicas[i]);
      }
    }
    return devices;
  }

  void CheckReplication(const Assignment::Stage& stage) {
    const std::size_t replicas = placement_.stages[stage.given_index].devices.size();
    const std::string path = absl::StrCat(PathOfStage(stage.given_index), ".replicas");
    if (replicas == 0) {
      Break(path, "the stage has no device");
    } else if (replicas > 1 && problem_.replication == Replication::kNone) {
      Break(path, absl::StrCat("the stage has ", replicas, " replicas, but the problem allows no replication"));
    } else if (!stage.devices.empty()) {
      RequireOneClass(stage, path);
    }
  }

  // The ring as it is stated; where it is not, by ascending device, or in the order of the copies if the problem says
  // so.
  std::vector<DeviceId> RingOf(const Assignment::Stage& stage) {
    const std::vector<DeviceId>& stated = placement_.stages[stage.given_index].ring;
    std::vector<DeviceId> ring = stage.devices;
    if (ring.size() < 2) ring.clear();
    std::vector<DeviceId> ascending = ring;
    std::sort(ascending.begin(), ascending.end());
    const bool is_free = problem_.allreduce.ring == AllReduce::Ring::kFree;
    if (stated.empty()) return is_free ? ascending : ring;
    const std::string path = absl::StrCat(PathOfStage(stage.given_index), ".ring_order");
    if (ring.empty()) {
      Break(path, "must be empty: a ring joins two replicas at least");
    } else if (!std::is_permutation(stated.begin(), stated.end(), ring.begin(), ring.end())) {
      Break(path, absl::StrCat("must visit each of the ", ring.size(), " replicas of the stage once"));
    } else if (!is_free && stated != ring) {
      violations_.Add(path, "must visit the replicas in the order of their copies (problem.allreduce.ring INDEX)");
    }
    return stated;
  }

  void RequireOneClass(const Assignment::Stage& stage, const std::string& path) {
    const DeviceId first = stage.devices.front();
    const auto differs = [&](DeviceId device) {
      return cluster_.devices[device.index()].device_class != cluster_.devices[first.index()].device_class;
    };
    const auto other = std::find_if(stage.devices.begin(), stage.devices.end(), differs);
    if (other == stage.devices.end()) return;
    Break(path, absl::StrCat("replicas must be of one device class, but '", NameOf(first), "' is of class '",
                             cluster_.class_of(first).name, "' and '", NameOf(*other), "' of class '",
                             cluster_.class_of(*other).name, "'"));
  }

  void CheckClass(OperatorId op) {
    if (!assignment().places(op)) return;
    const DeviceClass* runs_on = nullptr;
    for (const DeviceId device : assignment().stages[assignment().stage_index(op)].devices) {
      const DeviceClass& device_class = cluster_.class_of(device);
      InterruptionPoint();
      if (&device_class == runs_on) continue;
      if (TimeOn(graph_.operators[op.index()], device_class, problem_.workload).has_value()) {
        runs_on = &device_class;
        continue;
      }
      Break(assignment().OperatorPath(op), absl::StrCat("operator '", NameOf(op), "' cannot run on device '",
                                                        NameOf(device), "' of class '", device_class.name, "'"));
    }
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  const Placement& placement_;
  Violations& violations_;
  Structure structure_;
};

}  // namespace

bool IsDropped(const Operator& op, Workload workload) {
  return workload == Workload::kInference && op.pass == Pass::kBackward;
}

std::string Assignment::StagePath(std::size_t stage) const { return PathOfStage(stages[stage].given_index); }

std::string Assignment::OperatorPath(OperatorId op) const {
  return PathOfOperator(stages[stage_index(op)].given_index, given_position[op.index()]);
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

Structure CheckStructure(const ResolvedInput& input, const Placement& placement, Violations& violations) {
  return StructureCheck(input, placement, violations).Run();
}

}  // namespace planwright
