#include <algorithm>
#include <cmath>
#include <variant>

#include "core/model/validation_rules.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

// Sums that reach kMaxQuantity are refused, so that sums of valid numbers never overflow.
bool IsTooLarge(int64_t sum) { return sum >= kMaxQuantity; }
bool IsTooLarge(double sum) { return !(sum < static_cast<double>(kMaxQuantity)); }

template <typename Number>
void RequireAtLeastIfSet(const std::optional<Number>& value, int64_t least, const char* path, Violations& violations) {
  if (!value.has_value()) return;
  RequireAtLeast(
      *value, least, [path] { return path; }, violations);
}

void CheckOptions(const SolverOptions& options, Violations& violations) {
  RequireAtLeastIfSet(options.work_limit, 1, "options.work_limit", violations);
  RequireAtLeastIfSet(options.ideal_limit, 1, "options.ideal_limit", violations);
  RequireAtLeastIfSet(options.threads, 1, "options.threads", violations);
  if (!(options.relative_gap >= 0 && options.relative_gap < 1)) {
    violations.Add("options.relative_gap", absl::StrCat("must be in [0, 1), is ", options.relative_gap));
  }
}

void CheckNumbers(const PlanningProblem& problem, Violations& violations) {
  if (problem.target_period.has_value() && *problem.target_period <= Picoseconds(0)) {
    violations.Add("problem.target_period_ms",
                   absl::StrCat("must be > 0, is ", ToMilliseconds(*problem.target_period)));
  }
  RequireAtLeastIfSet(problem.max_stages_per_device, 1, "problem.max_stages_per_device", violations);
  RequireAtLeastIfSet(problem.max_subgraphs_per_device, 1, "problem.max_subgraphs_per_device", violations);
  RequireAtLeastIfSet(problem.micro_batches, 1, "problem.micro_batches", violations);
  RequireAtLeastIfSet(problem.num_stages, 1, "problem.num_stages", violations);
  RequireAtLeastIfSet(problem.num_replicas, 1, "problem.num_replicas", violations);
  RequireAtLeastIfSet(problem.devices_to_use.max_devices, 1, "problem.devices_to_use.max_devices", violations);
}

void CheckMemoryNumbers(const MemoryModel& memory, Violations& violations) {
  RequireAtLeastIfSet(memory.weight_versions, 1, "problem.memory_model.weight_versions", violations);
  RequireAtLeastIfSet(memory.gradient_copies, 0, "problem.memory_model.gradient_copies", violations);
  RequireNonNegative(
      memory.optimizer_bytes_per_parameter_byte.value_or(0),
      [] { return "problem.memory_model.optimizer_bytes_per_parameter_byte"; }, violations);
  RequireAtLeast(
      memory.reserved_bytes, 0, [] { return "problem.memory_model.reserved_bytes"; }, violations);
  const std::string& preset = memory.preset;
  if (!preset.empty() && preset != "sgd" && preset != "adam_mixed" && preset != "madpipe") {
    violations.Add("problem.memory_model.preset",
                   absl::StrCat(R"(must be "sgd", "adam_mixed" or "madpipe", is ")", preset, "\""));
  }
}

// The ids that a problem refers to.
class IdValidator {
 public:
  IdValidator(const OperatorGraph& graph, const Cluster& cluster, Violations& violations)
      : num_operators_(graph.operators.size()), num_devices_(cluster.devices.size()), violations_(violations) {}

  void Check(const PlanningProblem& problem) {
    CheckDevices(problem.devices_to_use.devices, "problem.devices_to_use.devices");
    CheckDevices(problem.devices_to_use.excluded_devices, "problem.devices_to_use.excluded_devices");
    CheckPairs(problem.pinned, "problem.pinned");
    CheckPairs(problem.forbidden, "problem.forbidden");
    if (!problem.start_from.has_value()) return;
    for (std::size_t i = 0; i < problem.start_from->stages.size(); ++i) {
      const Placement::Stage& stage = problem.start_from->stages[i];
      const std::string path = ElementPath("problem.start_from.stages", i);
      for (std::size_t j = 0; j < stage.operators.size(); ++j) {
        CheckOperator(stage.operators[j], [&] { return ElementPath(path + ".operators", j); });
      }
      CheckDevices(stage.devices, path + ".devices");
    }
  }

 private:
  template <typename Path>
  void CheckOperator(OperatorId op, const Path& path) {
    if (op.index() < num_operators_) return;
    violations_.Add(path(), absl::StrCat("must be an operator of the graph, is number ", op.index()));
  }

  template <typename Path>
  void CheckDevice(DeviceId device, const Path& path) {
    if (device.index() < num_devices_) return;
    violations_.Add(path(), absl::StrCat("must be a device of the cluster, is number ", device.index()));
  }

  void CheckDevices(const std::vector<DeviceId>& devices, const std::string& list) {
    for (std::size_t i = 0; i < devices.size(); ++i) CheckDevice(devices[i], [&] { return ElementPath(list, i); });
  }

  void CheckPairs(const std::vector<OperatorDevice>& pairs, const std::string& list) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      CheckOperator(pairs[i].op, [&] { return ElementPath(list, i) + ".operator"; });
      CheckDevice(pairs[i].device, [&] { return ElementPath(list, i) + ".device"; });
    }
  }

  std::size_t num_operators_;
  std::size_t num_devices_;
  Violations& violations_;
};

// Rules that speak of graph, cluster and problem together. `problem` is resolved.
class AgreementValidator {
 public:
  AgreementValidator(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                     Violations& violations)
      : graph_(graph), cluster_(cluster), problem_(problem), violations_(violations) {}

  void Check() {
    if (problem_.memory_model.kind == MemoryModel::Kind::kDeclared) {
      CheckDeclaredMemory();
    } else {
      CheckComponentSums();
    }
    if (const auto* staged = std::get_if<HostStagedInterconnect>(&cluster_.interconnect)) {
      CheckTransfers(*staged);
    } else if (const auto* uniform = std::get_if<UniformInterconnect>(&cluster_.interconnect)) {
      CheckTransfers(*uniform);
    }
  }

 private:
  bool IsDropped(OperatorId op) const {
    return problem_.workload == Workload::kInference && graph_.operators[op.index()].pass == Pass::kBackward;
  }

  void CheckDeclaredMemory() {
    RequireNoComponentSettings();
    int64_t sum = 0;
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      if (IsDropped(OperatorId(i))) continue;
      const std::optional<int64_t>& memory_bytes = graph_.operators[i].memory_bytes;
      if (!memory_bytes.has_value() && graph_.operators[i].type != kInputOperatorType) {
        violations_.Add(ElementPath("graph.operators", i) + ".memory_bytes",
                        "must be set, because problem.memory_model.kind is DECLARED");
      }
      sum = SaturatingAdd(sum, memory_bytes.value_or(0));
    }
    if (IsTooLarge(sum)) violations_.Add("graph.operators", "memory_bytes of all operators must sum to less than 2^62");
  }

  // Settings that nothing would heed are refused.
  void RequireNoComponentSettings() {
    const MemoryModel& memory = problem_.memory_model;
    const auto require_unset = [this](bool is_set, const char* field) {
      if (!is_set) return;
      violations_.Add(absl::StrCat("problem.memory_model.", field),
                      "must not be set, because memory is DECLARED; set problem.memory_model.kind to COMPONENTS");
    };
    require_unset(memory.weight_versions.has_value(), "weight_versions");
    require_unset(memory.gradient_copies.has_value(), "gradient_copies");
    require_unset(memory.optimizer_bytes_per_parameter_byte.has_value(), "optimizer_bytes_per_parameter_byte");
    require_unset(memory.reserved_bytes > 0, "reserved_bytes");
    require_unset(!memory.preset.empty(), "preset");
  }

  // In doubles, because only the order of magnitude counts.
  void CheckComponentSums() {
    const MemoryModel& memory = problem_.memory_model;
    const double copies =
        0.0 + *memory.weight_versions + *memory.gradient_copies + *memory.optimizer_bytes_per_parameter_byte;
    auto sum = static_cast<double>(memory.reserved_bytes);
    for (const Operator& op : graph_.operators) {
      sum += static_cast<double>(op.parameter_bytes) * copies + static_cast<double>(op.activation_bytes) +
             static_cast<double>(op.workspace_bytes);
    }
    for (const Tensor& tensor : graph_.tensors) {
      sum += 2.0 * static_cast<double>(tensor.size_bytes) * static_cast<double>(1 + tensor.consumers.size());
    }
    if (IsTooLarge(sum)) {
      violations_.Add("graph.operators",
                      "memory of all operators and transfer buffers must sum to less than 2^62 bytes");
    }
  }

  // The time that operators can take in all: measured, and estimated on the slowest class.
  int64_t SumOfOperatorTimes() {
    int64_t sum = 0;
    double flops = 0;
    double bytes = 0;
    for (const Operator& op : graph_.operators) {
      int64_t slowest = 0;
      for (const OperatorCost& cost : op.costs) {
        slowest = std::max(slowest, SaturatingAdd(cost.forward.count(), cost.backward.count()));
      }
      sum = SaturatingAdd(sum, slowest);
      flops += op.forward_flops + op.backward_flops;
      bytes += static_cast<double>(op.forward_bytes_accessed) + static_cast<double>(op.backward_bytes_accessed);
    }
    if (IsTooLarge(sum)) violations_.Add("graph.operators", "times of all operators must sum to less than 2^62 ps");
    return SaturatingAdd(sum, SlowestEstimate(flops, bytes));
  }

  // An upper bound on the sum of all roofline times on any one class, where each takes an overhead for either pass.
  int64_t SlowestEstimate(double flops, double bytes) {
    int64_t slowest = 0;
    for (std::size_t i = 0; i < cluster_.device_classes.size(); ++i) {
      const DeviceClass& device_class = cluster_.device_classes[i];
      const double rate = device_class.peak_flops * device_class.compute_efficiency;
      const double bandwidth = device_class.memory_bandwidth_bytes_per_second;
      const double overheads = 2.0 * static_cast<double>(graph_.operators.size()) *
                               static_cast<double>(device_class.kernel_overhead.count());
      const double sum =
          (rate > 0 ? flops / rate * 1e12 : 0) + (bandwidth > 0 ? bytes / bandwidth * 1e12 : 0) + overheads;
      if (IsTooLarge(sum)) {
        violations_.Add(ElementPath("cluster.device_classes", i),
                        "must be fast enough that estimated times of all operators sum to less than 2^62 ps");
        return kMaxQuantity;
      }
      slowest = std::max(slowest, static_cast<int64_t>(std::ceil(sum)));
    }
    return slowest;
  }

  // A tensor is charged at most 4 transfers for each consumer: at both ends, and its gradient again.
  template <typename Simple>
  void CheckTransfers(const Simple& interconnect) {
    int64_t sum = SumOfOperatorTimes();
    const bool times_fit = !IsTooLarge(sum);
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor& tensor = graph_.tensors[i];
      if (tensor.consumers.empty() || IsDropped(tensor.producer)) continue;
      if (!tensor.transfer.has_value() && !interconnect.bandwidth_bytes_per_second.has_value()) {
        violations_.Add(ElementPath("graph.tensors", i) + ".transfer_ms",
                        absl::StrCat("must be set, because cluster.interconnect.",
                                     InterconnectName(cluster_.interconnect), " has no bandwidth_bytes_per_second"));
        continue;
      }
      const int64_t time = TransferTimeOf(tensor, interconnect);
      sum = SaturatingAdd(sum, SaturatingMultiply(time, 4 * static_cast<int64_t>(tensor.consumers.size())));
    }
    if (times_fit && IsTooLarge(sum)) {
      violations_.Add("graph.tensors", "times of all operators and transfers must sum to less than 2^62 ps");
    }
  }

  template <typename Simple>
  static int64_t TransferTimeOf(const Tensor& tensor, const Simple& interconnect) {
    if (tensor.transfer.has_value()) return tensor.transfer->count();
    const Picoseconds time = TransferTime(tensor.size_bytes, *interconnect.bandwidth_bytes_per_second);
    return SaturatingAdd(time.count(), interconnect.latency.count());
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const PlanningProblem& problem_;
  Violations& violations_;
};

}  // namespace

void ValidateProblem(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                     const SolverOptions& options, Violations& violations) {
  CheckOptions(options, violations);
  CheckNumbers(problem, violations);
  CheckMemoryNumbers(problem.memory_model, violations);
  IdValidator(graph, cluster, violations).Check(problem);
  const PlanningProblem resolved = ResolveProblem(graph, problem);
  AgreementValidator(graph, cluster, resolved, violations).Check();
}

}  // namespace planwright
