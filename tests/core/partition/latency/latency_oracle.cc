#include "tests/core/partition/latency/latency_oracle.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <variant>

namespace planwright {
namespace {

std::size_t At(int32_t value) { return static_cast<std::size_t>(value); }

bool Holds(const std::vector<int32_t>& vertices, int32_t vertex) {
  return std::find(vertices.begin(), vertices.end(), vertex) != vertices.end();
}

bool IsPartlyIn(const LatencyTensor& tensor, const std::vector<int32_t>& vertices) {
  const auto inside = [&](int32_t pin) { return Holds(vertices, pin); };
  return std::any_of(tensor.pins.begin(), tensor.pins.end(), inside) &&
         !std::all_of(tensor.pins.begin(), tensor.pins.end(), inside);
}

int64_t Duration(const LatencyInstance& instance, const NaiveSubgraph& subgraph) {
  int64_t duration = 0;
  for (const int32_t vertex : subgraph.vertices) duration += instance.pool_of(subgraph.accelerator).time[At(vertex)];
  for (const LatencyTensor& tensor : instance.tensors) {
    if (IsPartlyIn(tensor, subgraph.vertices)) duration += tensor.transfer;
  }
  return duration;
}

class Recursion {
 public:
  Recursion(const LatencyInstance& instance, const std::vector<NaiveSubgraph>& subgraphs)
      : instance_(instance), subgraphs_(subgraphs) {}

  std::optional<int64_t> Finish(int32_t vertex) {
    for (std::size_t i = 0; i < subgraphs_.size(); ++i) {
      if (Holds(subgraphs_[i].vertices, vertex)) return FinishOfSubgraph(i);
    }
    return Memoized(-1 - vertex, [&]() -> std::optional<int64_t> {
      const std::optional<int64_t> start = Inputs({vertex}, 0);
      if (!start.has_value()) return std::nullopt;
      return *start + instance_.cpu_time[At(vertex)];
    });
  }

 private:
  std::optional<int64_t> FinishOfSubgraph(std::size_t index) {
    return Memoized(static_cast<int32_t>(index), [&]() -> std::optional<int64_t> {
      const NaiveSubgraph& subgraph = subgraphs_[index];
      int64_t start = 0;
      for (std::size_t before = 0; before < index; ++before) {
        if (subgraphs_[before].accelerator != subgraph.accelerator) continue;
        const std::optional<int64_t> end = FinishOfSubgraph(before);
        if (!end.has_value()) return std::nullopt;
        start = std::max(start, *end);
      }
      const std::optional<int64_t> ready = Inputs(subgraph.vertices, start);
      if (!ready.has_value()) return std::nullopt;
      return *ready + Duration(instance_, subgraph);
    });
  }

  std::optional<int64_t> Inputs(const std::vector<int32_t>& vertices, int64_t start) {
    for (const int32_t vertex : vertices) {
      for (const int32_t producer : instance_.precedence.predecessors(vertex)) {
        if (Holds(vertices, producer)) continue;
        const std::optional<int64_t> finish = Finish(producer);
        if (!finish.has_value()) return std::nullopt;
        start = std::max(start, *finish);
      }
    }
    return start;
  }

  // nullopt also where the unit is asked for while it is being computed.
  std::optional<int64_t> Memoized(int32_t unit, const std::function<std::optional<int64_t>()>& compute) {
    const auto [entry, is_new] = finish_.try_emplace(unit, std::nullopt);
    if (is_new) {
      const std::optional<int64_t> finish = compute();
      finish_[unit] = finish;
      return finish;
    }
    return entry->second;
  }

  const LatencyInstance& instance_;
  const std::vector<NaiveSubgraph>& subgraphs_;
  std::map<int32_t, std::optional<int64_t>> finish_;
};

// Tries every place of every vertex.
class Enumeration {
 public:
  Enumeration(const LatencyInstance& instance, int32_t slots_per_pass)
      : instance_(instance), slots_per_pass_(slots_per_pass), place_(instance.operators.size(), kCpu) {}

  std::optional<int64_t> Run() {
    Place(0);
    return least_;
  }

 private:
  static constexpr int32_t kCpu = -1;

  // Slots of a pass on an accelerator: (accelerator x 2 + pass) x slots_per_pass + number.
  int32_t AcceleratorOf(int32_t place) const { return place == kCpu ? kCpu : place / (2 * slots_per_pass_); }

  void Place(int32_t vertex) {
    if (vertex == instance_.num_vertices()) {
      Judge();
      return;
    }
    const int32_t group = instance_.group_of[At(vertex)];
    if (instance_.allowed_on_cpu[At(group)]) Try(vertex, kCpu);
    const int32_t pass = instance_.pass[At(vertex)] == Pass::kBackward ? 1 : 0;
    for (int32_t accelerator = 0; accelerator < instance_.num_accelerators(); ++accelerator) {
      if (!instance_.allowed[At(group)][At(accelerator)]) continue;
      for (int32_t number = 0; number < slots_per_pass_; ++number) {
        Try(vertex, (accelerator * 2 + pass) * slots_per_pass_ + number);
      }
    }
  }

  void Try(int32_t vertex, int32_t place) {
    place_[At(vertex)] = place;
    // The first of a group or bundle is placed before the others.
    const int32_t first_of_group = instance_.groups[At(instance_.group_of[At(vertex)])].front();
    const int32_t first_of_bundle = instance_.bundles[At(instance_.bundle_of[At(vertex)])].front();
    if (AcceleratorOf(place_[At(first_of_group)]) != AcceleratorOf(place)) return;
    if (place_[At(first_of_bundle)] != place) return;
    Place(vertex + 1);
  }

  void Judge() {
    std::map<int32_t, NaiveSubgraph> by_slot;
    for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
      const int32_t place = place_[At(vertex)];
      if (place == kCpu) continue;
      by_slot[place].accelerator = AcceleratorOf(place);
      by_slot[place].vertices.push_back(vertex);
    }
    std::vector<NaiveSubgraph> subgraphs;
    for (const auto& [slot, subgraph] : by_slot) subgraphs.push_back(subgraph);
    if (Fits(subgraphs)) Order(subgraphs, 0);
  }

  bool Fits(const std::vector<NaiveSubgraph>& subgraphs) const {
    std::vector<int64_t> bytes(instance_.accelerators.size(), 0);
    for (const NaiveSubgraph& subgraph : subgraphs) bytes[At(subgraph.accelerator)] += NaiveBytes(instance_, subgraph);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] > instance_.pool_of(static_cast<int32_t>(i)).memory_bytes.value_or(bytes[i])) return false;
    }
    return true;
  }

  // All orders of the subgraphs of one accelerator; of different ones the order does not matter.
  void Order(std::vector<NaiveSubgraph>& subgraphs, std::size_t fixed) {
    if (fixed == subgraphs.size()) {
      const std::optional<int64_t> latency = NaiveLatency(instance_, subgraphs);
      if (latency.has_value() && (!least_.has_value() || *latency < *least_)) least_ = latency;
      return;
    }
    for (std::size_t next = fixed; next < subgraphs.size(); ++next) {
      if (subgraphs[next].accelerator != subgraphs[fixed].accelerator) continue;
      std::swap(subgraphs[fixed], subgraphs[next]);
      Order(subgraphs, fixed + 1);
      std::swap(subgraphs[fixed], subgraphs[next]);
    }
  }

  const LatencyInstance& instance_;
  int32_t slots_per_pass_;
  std::vector<int32_t> place_;
  std::optional<int64_t> least_;
};

}  // namespace

LatencyInstance BuildForLatency(const OperatorGraph& graph, const Cluster& cluster, PlanningProblem problem) {
  problem.objective = Objective::kMinLatency;
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  return BuildLatencyInstance({graph, cluster, resolved, CostTable(graph, cluster, resolved.workload)});
}

std::optional<int64_t> NaiveLatency(const LatencyInstance& instance, const std::vector<NaiveSubgraph>& subgraphs) {
  Recursion recursion(instance, subgraphs);
  int64_t latency = 0;
  for (int32_t vertex = 0; vertex < instance.num_vertices(); ++vertex) {
    const std::optional<int64_t> finish = recursion.Finish(vertex);
    if (!finish.has_value()) return std::nullopt;
    latency = std::max(latency, *finish);
  }
  return latency;
}

int64_t NaiveBytes(const LatencyInstance& instance, const NaiveSubgraph& subgraph) {
  const UnitMemory& memory = instance.memory;
  int64_t bytes = memory.reserved;
  int64_t parameters = 0;
  int64_t workspace = 0;
  for (const int32_t vertex : subgraph.vertices) {
    bytes += memory.linear[At(vertex)];
    parameters += memory.parameters[At(vertex)];
    workspace = std::max(workspace, memory.workspace[At(vertex)]);
  }
  for (const LatencyTensor& tensor : instance.tensors) {
    if (IsPartlyIn(tensor, subgraph.vertices)) bytes += tensor.buffer_bytes;
  }
  return bytes + workspace + static_cast<int64_t>(std::ceil(static_cast<double>(parameters) * memory.parameter_factor));
}

std::optional<int64_t> LeastLatency(const LatencyInstance& instance, int32_t slots_per_pass) {
  return Enumeration(instance, slots_per_pass).Run();
}

Instance MakeLatencyInstance(uint64_t seed, int max_operators, int32_t slots_per_pass) {
  Instance made = MakeRandomInstance(seed, max_operators);
  if (const auto* uniform = std::get_if<UniformInterconnect>(&made.cluster.interconnect)) {
    made.cluster.interconnect = HostStagedInterconnect{uniform->bandwidth_bytes_per_second, uniform->latency};
  }
  // The oracle does not pack CPUs.
  for (DeviceClass& device_class : made.cluster.device_classes) {
    if (device_class.kind == DeviceKind::kCpu) device_class.memory_bytes.reset();
  }
  made.problem.objective = Objective::kMinLatency;
  made.problem.schedule = ScheduleKind::kSteadyState;
  made.problem.max_subgraphs_per_device = slots_per_pass;
  if (!HasBackwardOperators(made.graph)) made.problem.workload = Workload::kInference;
  return made;
}

}  // namespace planwright
