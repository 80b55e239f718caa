#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/quantity_text.h"
#include "core/verify/checks.h"

namespace planwright {
namespace {

template <typename T>
bool Lists(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

class RuleCheck {
 public:
  RuleCheck(const ResolvedInput& input, const Assignment& assignment, Violations& violations)
      : graph_(input.graph),
        cluster_(input.cluster),
        problem_(input.problem),
        assignment_(assignment),
        violations_(violations),
        is_latency_(input.problem.objective == Objective::kMinLatency),
        is_periodic_(input.problem.schedule == ScheduleKind::kPeriodic) {}

  void Run() {
    CheckColocation();
    if (problem_.granularity == Granularity::kLayer) CheckLayers();
    for (const OperatorDevice& pin : problem_.pinned) CheckPin(pin);
    for (const OperatorDevice& ban : problem_.forbidden) CheckBan(ban);
    CheckSelection();
    if (is_periodic_) CheckAccelerators();
    CheckNumbers();
    if (is_latency_) {
      CheckPasses();
      CheckSubgraphsPerDevice();
    } else {
      CheckStagesPerDevice();
      if (problem_.split == Split::kNonContiguous) CheckTeams();
    }
  }

 private:
  const std::string& NameOf(OperatorId op) const { return graph_.operators[op.index()].name; }
  const std::string& NameOf(DeviceId device) const { return cluster_.devices[device.index()].name; }
  bool IsCpu(DeviceId device) const { return cluster_.class_of(device).kind == DeviceKind::kCpu; }

  // Empty where the operator is nowhere or its stage has no known device.
  const std::vector<DeviceId>& DevicesOf(OperatorId op) const {
    static const std::vector<DeviceId> kNone;
    return assignment_.places(op) ? assignment_.stages[assignment_.stage_index(op)].devices : kNone;
  }

  // Whether colocated operators may be apart like this: for latency all CPUs count as one device.
  bool IsSamePlace(const std::vector<DeviceId>& a, const std::vector<DeviceId>& b) const {
    return a == b || (is_latency_ && IsCpu(a.front()) && IsCpu(b.front()));
  }

  // Calls visit(operator) for those on known devices, in the order of the graph.
  template <typename Visit>
  void ForEachPlaced(const Visit& visit) const {
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      if (!DevicesOf(OperatorId(i)).empty()) visit(OperatorId(i), graph_.operators[i]);
    }
  }

  void CheckColocation() {
    absl::flat_hash_map<std::string_view, OperatorId> first_of_group;
    ForEachPlaced([&](OperatorId op, const Operator& fields) {
      if (fields.forward_operator.has_value()) {
        RequireColocation(op, *fields.forward_operator, "its forward operator");
      }
      if (fields.colocation_group.empty()) return;
      const auto [first, is_new] = first_of_group.try_emplace(fields.colocation_group, op);
      if (is_new) return;
      RequireColocation(op, first->second,
                        absl::StrCat("of its colocation group '", fields.colocation_group, "' operator"));
    });
  }

  // The stages of a pattern run their passes as a whole: what belongs together is in one of them.
  void RequireColocation(OperatorId op, OperatorId other, const std::string& relation) {
    RequireSharedDevice(op, other, relation);
    if (is_periodic_ && !DevicesOf(other).empty()) RequireSharedStage(op, other, relation);
  }

  // `relation` says what `other` is to `op`.
  void RequireSharedDevice(OperatorId op, OperatorId other, const std::string& relation) {
    const std::vector<DeviceId>& here = DevicesOf(op);
    const std::vector<DeviceId>& there = DevicesOf(other);
    if (there.empty() || IsSamePlace(here, there)) return;
    violations_.Add(assignment_.OperatorPath(op),
                    absl::StrCat("operator '", NameOf(op), "' is on device '", NameOf(here.front()), "', but ",
                                 relation, " '", NameOf(other), "' is on '", NameOf(there.front()), "'"));
  }

  // A layer is in one stage; for latency on one device, each pass of it in one stage unless that is the CPUs'.
  void CheckLayers() {
    using Key = std::pair<std::string_view, Pass>;
    absl::flat_hash_map<Key, OperatorId> first_of_pass;
    absl::flat_hash_map<std::string_view, OperatorId> first_of_layer;
    ForEachPlaced([&](OperatorId op, const Operator& fields) {
      if (fields.layer.empty()) return;
      const std::string relation = absl::StrCat("of its layer '", fields.layer, "' operator");
      const OperatorId first = first_of_layer.try_emplace(fields.layer, op).first->second;
      RequireSharedDevice(op, first, relation);
      const Key key(fields.layer, is_latency_ ? fields.pass : Pass::kForward);
      RequireSharedStage(op, first_of_pass.try_emplace(key, op).first->second, relation);
    });
  }

  void RequireSharedStage(OperatorId op, OperatorId other, const std::string& relation) {
    const std::size_t here = assignment_.stage_index(op);
    const std::size_t there = assignment_.stage_index(other);
    // Another device has been reported.
    if (here == there || !IsSamePlace(DevicesOf(op), DevicesOf(other))) return;
    if (is_latency_ && IsCpu(DevicesOf(op).front())) return;
    violations_.Add(assignment_.OperatorPath(op),
                    absl::StrCat("operator '", NameOf(op), "' is in another stage than ", relation, " '", NameOf(other),
                                 "', at ", assignment_.OperatorPath(other)));
  }

  // How many stages there are, and how many replicas each has.
  void CheckNumbers() {
    const std::size_t stages = assignment_.stages.size();
    if (problem_.num_stages.has_value() && !std::cmp_equal(stages, *problem_.num_stages)) {
      violations_.Add("plan.stages", absl::StrCat("has ", CountedText(static_cast<int64_t>(stages), "stage"), ", not ",
                                                  *problem_.num_stages, " (problem.num_stages)"));
    }
    for (std::size_t stage = 0; stage < stages; ++stage) CheckReplicas(stage);
  }

  void CheckReplicas(std::size_t stage) {
    const std::size_t replicas = assignment_.stages[stage].devices.size();
    const std::string path = absl::StrCat(assignment_.StagePath(stage), ".replicas");
    if (problem_.num_replicas.has_value() && !std::cmp_equal(replicas, *problem_.num_replicas)) {
      violations_.Add(path, absl::StrCat("has ", CountedText(static_cast<int64_t>(replicas), "replica"), ", not ",
                                         *problem_.num_replicas, " (problem.num_replicas)"));
    }
    const std::size_t of_first = assignment_.stages.front().devices.size();
    if (problem_.replication != Replication::kUniform || replicas == of_first) return;
    violations_.Add(path, absl::StrCat("has ", replicas, " replicas, ", assignment_.StagePath(0), " has ", of_first,
                                       ", but the replication is UNIFORM"));
  }

  void CheckAccelerators() {
    for (std::size_t stage = 0; stage < assignment_.stages.size(); ++stage) {
      for (const DeviceId device : assignment_.stages[stage].devices) {
        if (!IsCpu(device)) continue;
        violations_.Add(absl::StrCat(assignment_.StagePath(stage), ".replicas"),
                        absl::StrCat("device '", NameOf(device), "' is a CPU, but PERIODIC runs on accelerators"));
      }
    }
  }

  void CheckPin(const OperatorDevice& pin) {
    for (const DeviceId device : DevicesOf(pin.op)) {
      if (device == pin.device) continue;
      violations_.Add(assignment_.OperatorPath(pin.op),
                      absl::StrCat("operator '", NameOf(pin.op), "' is on device '", NameOf(device),
                                   "', but is pinned to '", NameOf(pin.device), "'"));
    }
  }

  void CheckBan(const OperatorDevice& ban) {
    for (const DeviceId device : DevicesOf(ban.op)) {
      if (device != ban.device) continue;
      violations_.Add(assignment_.OperatorPath(ban.op),
                      absl::StrCat("operator '", NameOf(ban.op), "' must not be on device '", NameOf(ban.device), "'"));
    }
  }

  void CheckSelection() {
    const DeviceSelection& selection = problem_.devices_to_use;
    if (selection.empty()) return;
    std::set<DeviceId> used;
    for (std::size_t stage = 0; stage < assignment_.stages.size(); ++stage) {
      for (const DeviceId device : assignment_.stages[stage].devices) {
        if (!used.insert(device).second || IsSelected(cluster_, selection, device)) continue;
        violations_.Add(absl::StrCat(assignment_.StagePath(stage), ".replicas"),
                        absl::StrCat("device '", NameOf(device), "' is not among problem.devices_to_use"));
      }
    }
    if (!selection.max_devices.has_value() || std::cmp_less_equal(used.size(), *selection.max_devices)) return;
    violations_.Add("plan.stages",
                    absl::StrCat("uses ", CountedText(static_cast<int64_t>(used.size()), "device"), ", more than ",
                                 *selection.max_devices, " (problem.devices_to_use.max_devices)"));
  }

  // CONTIGUOUS allows one stage per device unless the problem says how many.
  void CheckStagesPerDevice() {
    if (!problem_.max_stages_per_device.has_value() && problem_.split == Split::kNonContiguous) return;
    const int32_t limit = problem_.max_stages_per_device.value_or(1);
    std::vector<int32_t> stages_on(cluster_.devices.size());
    for (const Assignment::Stage& stage : assignment_.stages) {
      for (std::size_t i = 0; i < stage.devices.size(); ++i) {
        const int32_t count = ++stages_on[stage.devices[i].index()];
        if (count <= limit) continue;
        violations_.Add(
            absl::StrCat("plan.stages[", stage.given_index, "].replicas[", i, "].device"),
            absl::StrCat("stage ", count, " of device '", NameOf(stage.devices[i]), "', which may hold ", limit));
      }
    }
  }

  // Replicas do the same: a device of two stages has the same fellows in both, and the same turn among them.
  void CheckTeams() {
    std::vector<const Assignment::Stage*> first_on(cluster_.devices.size(), nullptr);
    for (const Assignment::Stage& stage : assignment_.stages) {
      for (std::size_t i = 0; i < stage.devices.size(); ++i) {
        const Assignment::Stage*& first = first_on[stage.devices[i].index()];
        if (first == nullptr) first = &stage;
        if (first->devices == stage.devices) continue;
        violations_.Add(absl::StrCat("plan.stages[", stage.given_index, "].replicas[", i, "].device"),
                        absl::StrCat("device '", NameOf(stage.devices[i]), "' also holds stage ", first->given_index,
                                     ", so both need the same replicas in the same order"));
      }
    }
  }

  void CheckPasses() {
    for (const Assignment::Stage& stage : assignment_.stages) {
      if (stage.devices.empty() || IsCpu(stage.devices.front())) continue;
      const OperatorId first = stage.operators.front();
      const auto differs = [&](OperatorId op) { return PassOf(op) != PassOf(first); };
      const auto other = std::find_if(stage.operators.begin(), stage.operators.end(), differs);
      if (other == stage.operators.end()) continue;
      violations_.Add(absl::StrCat("plan.stages[", stage.given_index, "]"),
                      absl::StrCat("a subgraph has operators of one pass, but '", NameOf(first), "' and '",
                                   NameOf(*other), "' are of different ones"));
    }
  }

  Pass PassOf(OperatorId op) const { return graph_.operators[op.index()].pass; }

  // One subgraph per pass and accelerator, or as many as the problem says; no limit of its own for NON_CONTIGUOUS.
  void CheckSubgraphsPerDevice() {
    if (!problem_.max_subgraphs_per_device.has_value() && problem_.split == Split::kNonContiguous) return;
    const int32_t limit = problem_.max_subgraphs_per_device.value_or(1);
    absl::flat_hash_map<std::pair<std::size_t, Pass>, int32_t> subgraphs_on;
    for (const Assignment::Stage& stage : assignment_.stages) {
      if (stage.devices.empty() || IsCpu(stage.devices.front())) continue;
      const DeviceId device = stage.devices.front();
      const int32_t count = ++subgraphs_on[{device.index(), PassOf(stage.operators.front())}];
      if (count <= limit) continue;
      violations_.Add(
          absl::StrCat("plan.stages[", stage.given_index, "].replicas[0].device"),
          absl::StrCat("subgraph ", count, " of one pass on device '", NameOf(device), "', which may hold ", limit));
    }
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  const Assignment& assignment_;
  Violations& violations_;
  const bool is_latency_;
  const bool is_periodic_;
};

}  // namespace

bool IsSelected(const Cluster& cluster, const DeviceSelection& selection, DeviceId id) {
  const Device& device = cluster.devices[id.index()];
  if (!selection.hosts.empty() && !Lists(selection.hosts, device.host)) return false;
  if (!selection.devices.empty() && !Lists(selection.devices, id)) return false;
  for (const auto& [label, value] : selection.match_labels) {
    const auto found = device.labels.find(label);
    if (found == device.labels.end() || found->second != value) return false;
  }
  return !Lists(selection.excluded_devices, id);
}

void CheckRules(const ResolvedInput& input, const Assignment& assignment, Violations& violations) {
  RuleCheck(input, assignment, violations).Run();
}

}  // namespace planwright
