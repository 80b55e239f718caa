#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/model/colocation.h"
#include "core/model/support.h"
#include "core/model/validation_rules.h"

namespace planwright {
namespace {

class ConstraintValidator {
 public:
  ConstraintValidator(const ResolvedInput& input, Violations& violations)
      : graph_(input.graph),
        cluster_(input.cluster),
        problem_(input.problem),
        violations_(violations),
        union_of_(ColocationUnions(input.graph, input.problem)) {}

  void Check() {
    for (std::size_t i = 0; i < problem_.pinned.size(); ++i) {
      if (Counts(problem_.pinned[i])) CheckPin(i);
    }
    for (std::size_t op = 0; op < union_of_.size(); ++op) CheckFollower(OperatorId(op));
    for (std::size_t i = 0; i < problem_.forbidden.size(); ++i) {
      if (Counts(problem_.forbidden[i])) CheckProhibition(i);
    }
  }

 private:
  bool Counts(const OperatorDevice& pair) const {
    return pair.op.index() < union_of_.size() && pair.device.index() < cluster_.devices.size() &&
           union_of_[pair.op.index()] != kDropped;
  }

  // For MIN_LATENCY all CPUs count as one device: a union may be spread over them.
  bool IsInPool(DeviceId device) const {
    return problem_.objective == Objective::kMinLatency && cluster_.class_of(device).kind == DeviceKind::kCpu;
  }

  bool SamePlace(DeviceId a, DeviceId b) const { return a == b || (IsInPool(a) && IsInPool(b)); }

  bool Runs(OperatorId op, DeviceId device) const {
    return CanRun(graph_.operators[op.index()], cluster_.class_of(device), problem_.workload);
  }

  std::string Quoted(OperatorId op) const { return absl::StrCat("\"", graph_.operators[op.index()].name, "\""); }
  std::string Quoted(DeviceId device) const { return absl::StrCat("\"", cluster_.devices[device.index()].name, "\""); }

  static std::string PinPath(std::size_t pin) { return ElementPath("problem.pinned", pin); }

  // The device runs the operator, and agrees with earlier pins of the operator and of its union.
  void CheckPin(std::size_t index) {
    const OperatorDevice& pin = problem_.pinned[index];
    if (!Runs(pin.op, pin.device)) {
      violations_.Add(PinPath(index) + ".device",
                      absl::StrCat("must be able to run ", Quoted(pin.op), ", ", Quoted(pin.device), " cannot"));
    }
    const std::size_t of_operator = pin_of_operator_.try_emplace(pin.op.index(), index).first->second;
    const std::size_t of_union = pin_of_union_.try_emplace(union_of_[pin.op.index()], index).first->second;
    const OperatorDevice& same = problem_.pinned[of_operator];
    const OperatorDevice& mate = problem_.pinned[of_union];
    if (same.device != pin.device) {
      violations_.Add(PinPath(index) + ".device", absl::StrCat("must be ", Quoted(same.device), " as ",
                                                               PinPath(of_operator), " says of the same operator"));
    } else if (!SamePlace(mate.device, pin.device)) {
      violations_.Add(PinPath(index) + ".device",
                      absl::StrCat("must be ", Quoted(mate.device), " as of ", Quoted(mate.op), " in ",
                                   PinPath(of_union), ": the two must share a device"));
    }
  }

  // The device to which the union of `op` is pinned runs `op` as well.
  void CheckFollower(OperatorId op) {
    const auto pin_of_union = pin_of_union_.find(union_of_[op.index()]);
    if (pin_of_union == pin_of_union_.end()) return;
    const OperatorDevice& pin = problem_.pinned[pin_of_union->second];
    if (pin_of_operator_.contains(op.index()) || IsInPool(pin.device) || Runs(op, pin.device)) return;
    violations_.Add(PinPath(pin_of_union->second) + ".device",
                    absl::StrCat("must be able to run ", Quoted(op), ", which shares the device of ", Quoted(pin.op),
                                 ", ", Quoted(pin.device), " cannot"));
  }

  // No pin puts the operator, or its union, on the device.
  void CheckProhibition(std::size_t index) {
    const OperatorDevice& forbidden = problem_.forbidden[index];
    const auto pin_of_operator = pin_of_operator_.find(forbidden.op.index());
    const auto pin_of_union = pin_of_union_.find(union_of_[forbidden.op.index()]);
    std::optional<std::size_t> pin;
    if (pin_of_operator != pin_of_operator_.end()) {
      pin = pin_of_operator->second;
    } else if (pin_of_union != pin_of_union_.end() && !IsInPool(forbidden.device)) {
      pin = pin_of_union->second;
    }
    if (!pin.has_value() || problem_.pinned[*pin].device != forbidden.device) return;
    violations_.Add(ElementPath("problem.forbidden", index) + ".device",
                    absl::StrCat("must not be ", Quoted(forbidden.device), ", to which ", PinPath(*pin), " pins ",
                                 Quoted(problem_.pinned[*pin].op)));
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  Violations& violations_;
  const std::vector<int32_t> union_of_;
  // The first pin of each operator, by its index, and of each union: positions in problem.pinned.
  absl::flat_hash_map<std::size_t, std::size_t> pin_of_operator_;
  absl::flat_hash_map<int32_t, std::size_t> pin_of_union_;
};

}  // namespace

void CheckConstraints(const ResolvedInput& input, Violations& violations) {
  if (input.problem.pinned.empty()) return;  // prohibitions alone contradict nothing
  ConstraintValidator(input, violations).Check();
}

}  // namespace planwright
