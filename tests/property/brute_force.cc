#include "tests/property/brute_force.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <variant>

namespace planwright {
namespace {

std::optional<Picoseconds> MeasuredTime(const Operator& op, const DeviceClass& device_class, bool training) {
  for (const std::string& name : op.unsupported_device_classes) {
    if (name == device_class.name) return std::nullopt;
  }
  if (op.type == "Input") return Picoseconds(0);
  for (const OperatorCost& cost : op.costs) {
    if (cost.device_class == device_class.name) return training ? cost.forward + cost.backward : cost.forward;
  }
  return std::nullopt;
}

Picoseconds TransferOf(const Tensor& tensor, const Interconnect& interconnect) {
  if (tensor.transfer.has_value()) return *tensor.transfer;
  double bandwidth = 0;
  Picoseconds latency{0};
  if (std::holds_alternative<HostStagedInterconnect>(interconnect)) {
    bandwidth = std::get<HostStagedInterconnect>(interconnect).bandwidth_bytes_per_second.value();
    latency = std::get<HostStagedInterconnect>(interconnect).latency;
  } else {
    bandwidth = std::get<UniformInterconnect>(interconnect).bandwidth_bytes_per_second.value();
    latency = std::get<UniformInterconnect>(interconnect).latency;
  }
  return latency + TransferTime(tensor.size_bytes, bandwidth);
}

void Close(std::vector<std::vector<bool>>& relation) {
  const std::size_t n = relation.size();
  for (std::size_t via = 0; via < n; ++via) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if (relation[a][via] && relation[via][b]) relation[a][b] = true;
      }
    }
  }
}

}  // namespace

NaiveJudge::NaiveJudge(const Instance& instance)
    : graph_(instance.graph), cluster_(instance.cluster), problem_(ResolveProblem(instance.graph, instance.problem)) {
  const std::size_t n = graph_.operators.size();
  const bool training = problem_.workload == Workload::kTraining;
  bool any_backward = false;
  for (const Operator& op : graph_.operators) {
    any_backward |= op.pass == Pass::kBackward;
    auto& times = time_.emplace_back();
    for (const Device& device : cluster_.devices) {
      times.push_back(MeasuredTime(op, cluster_.device_classes[device.device_class.index()], training));
    }
  }
  gradients_return_ = training && !any_backward;
  for (const Tensor& tensor : graph_.tensors) transfer_.push_back(TransferOf(tensor, cluster_.interconnect));

  same_union_.assign(n, std::vector<bool>(n, false));
  for (std::size_t a = 0; a < n; ++a) {
    if (!TakesPart(a)) continue;
    same_union_[a][a] = true;
    for (std::size_t b = 0; b < n; ++b) {
      if (!TakesPart(b)) continue;
      const Operator& op_a = graph_.operators[a];
      const Operator& op_b = graph_.operators[b];
      const bool linked = op_a.forward_operator == OperatorId(b) || op_b.forward_operator == OperatorId(a);
      const bool grouped = !op_a.colocation_group.empty() && op_a.colocation_group == op_b.colocation_group;
      if (linked || grouped) same_union_[a][b] = true;
    }
  }
  Close(same_union_);
  for (std::size_t a = 0; a < n; ++a) {
    bool has_forward = false;
    for (std::size_t b = 0; b < n; ++b) {
      has_forward |= same_union_[a][b] && graph_.operators[b].pass == Pass::kForward;
    }
    is_orphaned_.push_back(!has_forward);
  }
}

bool NaiveJudge::TakesPart(std::size_t op) const {
  return problem_.workload == Workload::kTraining || graph_.operators[op].pass == Pass::kForward;
}

bool NaiveJudge::IsColocated(const DeviceChoice& choice) const {
  for (std::size_t a = 0; a < choice.size(); ++a) {
    for (std::size_t b = 0; b < choice.size(); ++b) {
      if (same_union_[a][b] && choice[a] != choice[b]) return false;
    }
  }
  return true;
}

bool NaiveJudge::IsContiguous(const DeviceChoice& choice) const {
  // before[a][b]: something on device a must come before something on device b.
  std::array<std::array<bool, 8>, 8> before{};
  const std::size_t devices = cluster_.devices.size();
  for (const Tensor& tensor : graph_.tensors) {
    const std::size_t a = tensor.producer.index();
    for (const OperatorId consumer : tensor.consumers) {
      const std::size_t b = consumer.index();
      if (!TakesPart(a) || !TakesPart(b) || choice[a] == choice[b]) continue;
      const auto device_a = static_cast<std::size_t>(choice[a]);
      const auto device_b = static_cast<std::size_t>(choice[b]);
      const bool a_is_forward = graph_.operators[a].pass == Pass::kForward;
      const bool b_is_forward = graph_.operators[b].pass == Pass::kForward;
      if (a_is_forward && b_is_forward) before[device_a][device_b] = true;
      if (!a_is_forward && !b_is_forward && (is_orphaned_[a] || is_orphaned_[b])) before[device_b][device_a] = true;
    }
  }
  for (std::size_t via = 0; via < devices; ++via) {
    for (std::size_t a = 0; a < devices; ++a) {
      for (std::size_t b = 0; b < devices; ++b) {
        if (before[a][via] && before[via][b]) before[a][b] = true;
      }
    }
  }
  for (std::size_t device = 0; device < devices; ++device) {
    if (before[device][device]) return false;
  }
  return true;
}

std::vector<int> NaiveJudge::OtherDevicesOf(const Tensor& tensor, const DeviceChoice& choice) const {
  std::vector<int> others;
  if (!TakesPart(tensor.producer.index())) return others;
  const int home = choice[tensor.producer.index()];
  for (const OperatorId consumer : tensor.consumers) {
    if (!TakesPart(consumer.index())) continue;
    const int device = choice[consumer.index()];
    if (device == home) continue;
    if (std::find(others.begin(), others.end(), device) == others.end()) others.push_back(device);
  }
  return others;
}

Picoseconds NaiveJudge::LoadOf(int device, const DeviceChoice& choice) const {
  Picoseconds load{0};
  for (std::size_t op = 0; op < choice.size(); ++op) {
    if (choice[op] == device) load += time_[op][static_cast<std::size_t>(device)].value();
  }
  const auto& device_class = cluster_.class_of(DeviceId(static_cast<std::size_t>(device)));
  const bool host_staged = std::holds_alternative<HostStagedInterconnect>(cluster_.interconnect);
  if (host_staged && device_class.kind == DeviceKind::kCpu) return load;
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Tensor& tensor = graph_.tensors[i];
    const std::vector<int> others = OtherDevicesOf(tensor, choice);
    if (others.empty()) continue;
    int64_t transfers = 0;
    if (choice[tensor.producer.index()] == device) {
      transfers = host_staged ? 1 : static_cast<int64_t>(others.size());
    } else if (std::find(others.begin(), others.end(), device) != others.end()) {
      transfers = 1;
    }
    if (gradients_return_) transfers *= 2;
    load += transfers * transfer_[i];
  }
  return load;
}

int64_t NaiveJudge::MemoryOf(int device, const DeviceChoice& choice) const {
  const MemoryModel& model = problem_.memory_model;
  int64_t declared = 0;
  int64_t parameters = 0;
  int64_t activations = 0;
  int64_t workspace = 0;
  bool is_used = false;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    if (choice[i] != device) continue;
    const Operator& op = graph_.operators[i];
    is_used = true;
    declared += op.memory_bytes.value_or(0);
    parameters += op.parameter_bytes;
    activations += op.activation_bytes;
    workspace = std::max(workspace, op.workspace_bytes);
  }
  if (model.kind == MemoryModel::Kind::kDeclared) return declared;
  if (!is_used) return 0;
  int64_t buffers = 0;
  for (const Tensor& tensor : graph_.tensors) {
    const std::vector<int> others = OtherDevicesOf(tensor, choice);
    const bool sends = choice[tensor.producer.index()] == device && !others.empty();
    const bool receives = std::find(others.begin(), others.end(), device) != others.end();
    if (sends || receives) buffers += 2 * tensor.size_bytes;
  }
  const double copies =
      model.weight_versions.value() + model.gradient_copies.value() + model.optimizer_bytes_per_parameter_byte.value();
  const auto state = static_cast<int64_t>(std::ceil(static_cast<double>(parameters) * copies));
  const int64_t kept = problem_.workload == Workload::kTraining ? activations : 0;
  return state + kept + workspace + buffers + model.reserved_bytes;
}

NaiveVerdict NaiveJudge::Judge(const DeviceChoice& choice) const {
  NaiveVerdict verdict;
  for (std::size_t op = 0; op < choice.size(); ++op) {
    if (choice[op] != kNowhere && !time_[op][static_cast<std::size_t>(choice[op])].has_value()) {
      verdict.is_supported = false;
    }
  }
  verdict.is_colocated = IsColocated(choice);
  verdict.is_contiguous = IsContiguous(choice);
  if (!verdict.is_supported) return verdict;
  for (std::size_t i = 0; i < cluster_.devices.size(); ++i) {
    const int device = static_cast<int>(i);
    verdict.loads.push_back(LoadOf(device, choice));
    verdict.memory_bytes.push_back(MemoryOf(device, choice));
    verdict.objective = std::max(verdict.objective, verdict.loads.back());
    const std::optional<int64_t> class_memory = cluster_.class_of(DeviceId(i)).memory_bytes;
    if (!class_memory.has_value()) continue;
    const int64_t usable = std::max<int64_t>(0, *class_memory - cluster_.devices[i].reserved_memory_bytes);
    if (verdict.memory_bytes.back() > usable) verdict.fits = false;
  }
  return verdict;
}

std::optional<Picoseconds> NaiveJudge::Optimum() const {
  DeviceChoice choice(graph_.operators.size(), kNowhere);
  std::vector<Picoseconds> compute(cluster_.devices.size());
  std::optional<Picoseconds> best;
  Extend(0, choice, compute, best);
  return best;
}

void NaiveJudge::Extend(std::size_t op, DeviceChoice& choice, std::vector<Picoseconds>& compute,
                        std::optional<Picoseconds>& best) const {
  if (op == choice.size()) {
    const NaiveVerdict verdict = Judge(choice);
    if (verdict.is_feasible() && (!best.has_value() || verdict.objective < *best)) best = verdict.objective;
    return;
  }
  if (!TakesPart(op)) {
    Extend(op + 1, choice, compute, best);
    return;
  }
  for (int device = 0; device < static_cast<int>(cluster_.devices.size()); ++device) {
    const std::optional<Picoseconds> time = time_[op][static_cast<std::size_t>(device)];
    if (!time.has_value() || !IsFirstIdleOfItsKind(device, op, choice)) continue;
    Picoseconds& load = compute[static_cast<std::size_t>(device)];
    // Transfers only add to the computation.
    if (best.has_value() && load + *time >= *best) continue;
    load += *time;
    choice[op] = device;
    Extend(op + 1, choice, compute, best);
    choice[op] = kNowhere;
    load -= *time;
  }
}

// True for devices in use by the operators before `op`, too.
bool NaiveJudge::IsFirstIdleOfItsKind(int device, std::size_t op, const DeviceChoice& choice) const {
  const auto is_idle = [&](int d) {
    return std::find(choice.begin(), choice.begin() + static_cast<std::ptrdiff_t>(op), d) ==
           choice.begin() + static_cast<std::ptrdiff_t>(op);
  };
  if (!is_idle(device)) return true;
  const Device& wanted = cluster_.devices[static_cast<std::size_t>(device)];
  for (int earlier = 0; earlier < device; ++earlier) {
    const Device& other = cluster_.devices[static_cast<std::size_t>(earlier)];
    if (is_idle(earlier) && other.device_class == wanted.device_class &&
        other.reserved_memory_bytes == wanted.reserved_memory_bytes) {
      return false;
    }
  }
  return true;
}

std::optional<Picoseconds> OptimumOf(uint64_t seed) {
  static std::map<uint64_t, std::optional<Picoseconds>> known;
  const auto found = known.find(seed);
  if (found != known.end()) return found->second;
  return known[seed] = NaiveJudge(MakeRandomInstance(seed)).Optimum();
}

}  // namespace planwright
