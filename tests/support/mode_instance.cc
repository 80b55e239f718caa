#include "tests/support/mode_instance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

class ModeMaker {
 public:
  ModeMaker(InstanceMode mode, uint64_t seed, int max_operators)
      : mode_(mode), random_(seed, 7), instance_(MakeRandomInstance(seed, max_operators)) {}

  Instance Make() {
    if (mode_ == InstanceMode::kHierarchy) LimitDevices(4);
    if (mode_ == InstanceMode::kTopology || mode_ == InstanceMode::kSteps) LimitDevices(6);
    if (IsMixed()) LimitDevices(4);
    if (Chance(0.25)) LabelLayers();
    if (mode_ == InstanceMode::kLatency) {
      PoseLatency();
    } else if (mode_ == InstanceMode::kPeriodic) {
      PosePeriodic();
    } else {
      ChooseOverlapAndSchedule();
    }
    if (mode_ == InstanceMode::kNonContiguous) problem().split = Split::kNonContiguous;
    if (mode_ == InstanceMode::kNonContiguous || mode_ == InstanceMode::kLatency) PinAndForbid();
    if (mode_ == InstanceMode::kSteps) PoseSteps();
    if (IsMixed()) PoseMixed();
    if (mode_ == InstanceMode::kHierarchy) Connect();
    if (mode_ == InstanceMode::kTopology) ConnectByTopology();
    const bool may_replicate = mode_ == InstanceMode::kHierarchy || mode_ == InstanceMode::kTopology;
    if (mode_ == InstanceMode::kReplicated || (may_replicate && Chance(0.5))) Replicate();
    const bool is_free = problem().pinned.empty() && problem().forbidden.empty();
    if (mode_ == InstanceMode::kNonContiguous && is_free && Chance(0.4)) Replicate();
    return std::move(instance_);
  }

 private:
  bool Chance(double probability) { return random_.Unit() < probability; }
  PlanningProblem& problem() { return instance_.problem; }
  OperatorGraph& graph() { return instance_.graph; }
  Cluster& cluster() { return instance_.cluster; }

  void LimitDevices(std::size_t count) {
    if (cluster().devices.size() > count) cluster().devices.resize(count);
  }

  void LimitAccelerators(std::size_t count) {
    std::erase_if(cluster().devices, [&](const Device& device) {
      if (cluster().class_of(device).kind == DeviceKind::kCpu) return false;
      return count == 0 || count-- == 0;
    });
  }

  // Runs of operators, a few of them without label; backward operators of the same runs half of the time.
  void LabelLayers() {
    problem().granularity = Granularity::kLayer;
    const auto length = static_cast<std::size_t>(random_.Between(1, 3));
    const bool both_passes = Chance(0.5);
    for (std::size_t i = 0; i < graph().operators.size(); ++i) {
      Operator& op = graph().operators[i];
      if (Chance(0.3) || (op.pass == Pass::kBackward && !both_passes)) continue;
      const std::size_t position = op.forward_operator.has_value() ? op.forward_operator->index() : i;
      op.layer = absl::StrCat("layer", position / length);
    }
  }

  void ChooseOverlapAndSchedule() {
    problem().overlap = std::array{Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex}[random_.Below(3)];
    const bool is_declared = graph().operators.front().memory_bytes.has_value();
    if (is_declared && Chance(0.3)) problem().schedule = ScheduleKind::kGpipe;
  }

  void PoseSteps() {
    if (Chance(0.7)) ConnectByTopology();
    if (Chance(0.7)) Replicate();
    if (problem().replication == Replication::kPerStage) problem().replication = Replication::kUniform;
    if (problem().replication == Replication::kUniform && Chance(0.2)) {
      problem().allreduce.ring = AllReduce::Ring::kIndex;
    }
    if (Chance(0.7)) ChooseMicroBatches();
    if (Chance(0.2)) PinAndForbid();
    const std::size_t devices = cluster().devices.size();
    if (Chance(0.1)) problem().num_stages = static_cast<int32_t>(1 + random_.Below(devices));
    if (problem().replication != Replication::kUniform || problem().num_stages.has_value()) return;
    if (Chance(0.1)) problem().num_replicas = static_cast<int32_t>(1 + random_.Below(devices));
  }

  // The modes that are drawn from every interconnect.
  bool IsMixed() const {
    return mode_ == InstanceMode::kTightMemory || mode_ == InstanceMode::kPerStageSteps ||
           mode_ == InstanceMode::kConstrained;
  }

  void PoseMixed() {
    if (mode_ == InstanceMode::kConstrained && Chance(0.5)) MixClasses();
    if (mode_ != InstanceMode::kPerStageSteps) ReserveMemory();
    const uint64_t interconnect = random_.Below(3);
    if (interconnect == 0) Connect();
    if (interconnect == 1) ConnectByTopology();
    ChooseReplication();
    switch (mode_) {
      case InstanceMode::kTightMemory:
        TightenMemory();
        break;
      case InstanceMode::kPerStageSteps:
        ChooseMicroBatches();
        problem().micro_batches = static_cast<int32_t>(random_.Between(1, 12));
        break;
      default:
        Constrain();
        break;
    }
    if (problem().replication != Replication::kNone && !problem().micro_batches.has_value()) ChooseCharge();
  }

  // Chooses how all-reduces are charged in the limit of many micro-batches.
  void ChooseCharge() {
    if (Chance(0.2)) {
      problem().allreduce.charge = AllReduce::Charge::kPerMicroBatch;
    } else if (Chance(0.1)) {
      problem().allreduce.amortize_over_micro_batches = true;
    }
  }

  // Half of the accelerators are of the other class.
  void MixClasses() {
    for (Device& device : cluster().devices) {
      const bool is_accelerator = cluster().class_of(device).kind == DeviceKind::kAccelerator;
      if (is_accelerator) device.device_class = DeviceClassId(random_.Below(2));
    }
  }

  void ReserveMemory() {
    for (Device& device : cluster().devices) device.reserved_memory_bytes = Chance(0.3) ? random_.Between(1, 10) : 0;
  }

  void ChooseReplication() {
    const uint64_t choice = random_.Below(4);
    if (mode_ == InstanceMode::kPerStageSteps || choice < 2) Replicate();
    const bool is_uniform = mode_ != InstanceMode::kPerStageSteps && choice == 0;
    if (is_uniform) problem().replication = Replication::kUniform;
    if (problem().replication == Replication::kNone) return;
    if (Chance(0.2)) problem().allreduce.ring = AllReduce::Ring::kIndex;
    if (Chance(0.2)) problem().allreduce.factor = AllReduce::Factor::kHalf;
  }

  // What the leanest of a few random pipelines needs, and sometimes a little more.
  void TightenMemory() {
    problem().memory_model.kind = MemoryModel::Kind::kComponents;
    problem().schedule = Chance(0.5) ? ScheduleKind::kOneFOneB : ScheduleKind::kPipedreamAsync;
    const bool counts_steps = problem().schedule == ScheduleKind::kOneFOneB && Chance(0.4);
    if (counts_steps) problem().micro_batches = static_cast<int32_t>(random_.Between(1, 8));
    std::optional<int64_t> least;
    for (int attempt = 0; attempt < 12; ++attempt) {
      const int64_t need = NeedOf(MakeRandomPlacement(instance_, random_));
      if (!least.has_value() || need < *least) least = need;
    }
    for (DeviceClass& device_class : cluster().device_classes) {
      device_class.memory_bytes = *least + (Chance(0.5) ? 0 : random_.Between(0, 6));
    }
  }

  // Memory of the fullest device with the micro-batches in flight of a pipeline whose transfers take no slots.
  int64_t NeedOf(Placement placement) const {
    std::erase_if(placement.stages, [](const Placement::Stage& stage) { return stage.operators.empty(); });
    const ResolvedProblem resolved = ResolveProblem(instance_.graph, instance_.problem);
    const ResolvedMemory& memory = resolved.memory_model;
    const double copies =
        0.0 + memory.weight_versions + memory.gradient_copies + memory.optimizer_bytes_per_parameter_byte;
    int64_t greatest = 0;
    for (std::size_t position = 0; position < placement.stages.size(); ++position) {
      const Placement::Stage& stage = placement.stages[position];
      const auto in_flight = static_cast<int64_t>(placement.stages.size() - position);
      int64_t parameters = 0;
      int64_t bytes = memory.reserved_bytes;
      int64_t workspace = 0;
      for (const OperatorId id : stage.operators) {
        const Operator& op = instance_.graph.operators[id.index()];
        parameters += op.parameter_bytes;
        if (resolved.workload == Workload::kTraining) bytes += in_flight * op.activation_bytes;
        workspace = std::max(workspace, op.workspace_bytes);
      }
      for (const Tensor& tensor : instance_.graph.tensors) {
        if (IsPartlyIn(tensor, stage.operators)) bytes += 2 * tensor.size_bytes;
      }
      bytes += static_cast<int64_t>(std::ceil(static_cast<double>(parameters) * copies)) + workspace;
      bytes += instance_.cluster.devices[stage.devices.front().index()].reserved_memory_bytes;
      greatest = std::max(greatest, bytes);
    }
    return greatest;
  }

  static bool IsPartlyIn(const Tensor& tensor, const std::vector<OperatorId>& operators) {
    const auto is_inside = [&](OperatorId op) {
      return std::find(operators.begin(), operators.end(), op) != operators.end();
    };
    const bool produced = is_inside(tensor.producer);
    return std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                       [&](OperatorId consumer) { return is_inside(consumer) != produced; });
  }

  void Constrain() {
    if (Chance(0.4) && problem().replication != Replication::kPerStage) ChooseMicroBatches();
    if (Chance(0.7)) PinAndForbid();
    const std::size_t devices = cluster().devices.size();
    if (Chance(0.3)) problem().num_stages = static_cast<int32_t>(1 + random_.Below(devices));
  }

  void ChooseMicroBatches() {
    problem().micro_batches = static_cast<int32_t>(random_.Between(1, 6));
    problem().schedule =
        std::array{ScheduleKind::kSteadyState, ScheduleKind::kGpipe, ScheduleKind::kOneFOneB}[random_.Below(3)];
    problem().allreduce.amortize_over_micro_batches = Chance(0.5);
  }

  void PoseLatency() {
    LimitAccelerators(2);
    problem().objective = Objective::kMinLatency;
    problem().schedule = ScheduleKind::kSteadyState;
    if (!HasBackwardOperators(graph())) problem().workload = Workload::kInference;
    ConnectLike<HostStagedInterconnect, UniformInterconnect>();
    for (DeviceClass& device_class : cluster().device_classes) {
      if (device_class.kind == DeviceKind::kCpu) device_class.memory_bytes.reset();
    }
    switch (random_.Below(4)) {
      case 0:
        problem().max_subgraphs_per_device = 2;
        break;
      case 1:
        problem().split = Split::kNonContiguous;
        break;
      default:
        break;
    }
  }

  // Bandwidth and latency stay.
  template <typename To, typename From>
  void ConnectLike() {
    const auto* from = std::get_if<From>(&cluster().interconnect);
    if (from != nullptr) cluster().interconnect = To{from->bandwidth_bytes_per_second, from->latency};
  }

  void PosePeriodic() {
    ConnectLike<UniformInterconnect, HostStagedInterconnect>();
    KeepOneAcceleratorClass();
    problem().schedule = ScheduleKind::kPeriodic;
    problem().overlap = Chance(0.7) ? Overlap::kOverlapped : Overlap::kFullDuplex;
    if (Chance(0.5)) {
      problem().split = Split::kNonContiguous;
      if (Chance(0.5)) problem().max_stages_per_device = static_cast<int32_t>(random_.Between(1, 3));
    }
    const ResolvedProblem resolved = ResolveProblem(graph(), problem());
    const bool keeps_activations =
        resolved.workload == Workload::kTraining && resolved.memory_model.kind == MemoryModel::Kind::kComponents;
    if (keeps_activations && Chance(0.4)) {
      problem().memory_model.recomputation = MemoryModel::Recomputation::kFull;
    }
  }

  // Keeps the class of the first accelerator; without any, the first device becomes one.
  void KeepOneAcceleratorClass() {
    const auto is_accelerator = [&](const Device& device) {
      return cluster().class_of(device).kind == DeviceKind::kAccelerator;
    };
    std::vector<Device>& devices = cluster().devices;
    auto first = std::find_if(devices.begin(), devices.end(), is_accelerator);
    if (first == devices.end()) first = devices.begin();
    const DeviceClassId kept = first->device_class;
    cluster().device_classes[kept.index()].kind = DeviceKind::kAccelerator;
    std::erase_if(devices, [&](const Device& device) { return is_accelerator(device) && device.device_class != kept; });
  }

  void PinAndForbid() {
    if (Chance(0.3)) problem().pinned = {RandomPair()};
    if (Chance(0.3)) problem().forbidden = {RandomPair()};
    Violations contradictions;
    ValidateProblem(graph(), cluster(), problem(), SolverOptions(), contradictions);
    if (contradictions.empty()) return;
    problem().pinned.clear();
    problem().forbidden.clear();
  }

  // An operator and a device that can run it, where the first of ten attempts finds them.
  OperatorDevice RandomPair() {
    OperatorDevice pair;
    for (int attempt = 0; attempt < 10; ++attempt) {
      pair = {OperatorId(random_.Below(graph().operators.size())), DeviceId(random_.Below(cluster().devices.size()))};
      if (CanRun(graph().operators[pair.op.index()], cluster().class_of(pair.device))) return pair;
    }
    return pair;
  }

  static bool CanRun(const Operator& op, const DeviceClass& device_class) {
    const auto& refused = op.unsupported_device_classes;
    if (std::find(refused.begin(), refused.end(), device_class.name) != refused.end()) return false;
    return op.type == kInputOperatorType ||
           std::any_of(op.costs.begin(), op.costs.end(),
                       [&](const OperatorCost& cost) { return cost.device_class == device_class.name; });
  }

  // Returns bytes per second at which transfers take about as long as operators.
  double Bandwidth() {
    Picoseconds longest{1};
    for (const Operator& op : graph().operators) {
      for (const OperatorCost& cost : op.costs) longest = std::max(longest, cost.forward);
    }
    return 1e13 * (1 + 3 * random_.Unit()) / static_cast<double>(longest.count());
  }

  void Connect() {
    std::vector<int32_t> fan_outs;
    const auto count = static_cast<int32_t>(cluster().devices.size());
    for (int32_t inner = 1; inner <= count; ++inner) {
      if (count % inner == 0) fan_outs.push_back(inner);
    }
    const int32_t inner = fan_outs[random_.Below(fan_outs.size())];
    const double bandwidth = Bandwidth();
    const auto latency = [this] { return Picoseconds(Chance(0.5) ? random_.Between(0, 3) : 0); };
    HierarchyInterconnect hierarchy;
    hierarchy.levels = {{inner, bandwidth, latency()}, {count / inner, bandwidth * (0.1 + random_.Unit()), latency()}};
    if (inner == count && Chance(0.5)) hierarchy.levels.pop_back();
    cluster().interconnect = std::move(hierarchy);
    for (Tensor& tensor : graph().tensors) tensor.transfer.reset();
  }

  void ConnectByTopology() {
    switch (random_.Below(4)) {
      case 0:
        cluster().interconnect = RandomGrid();
        break;
      case 1:
        cluster().interconnect = RandomLinks();
        break;
      case 2:
        cluster().interconnect = RandomNodes();
        break;
      default:
        cluster().interconnect = RandomMatrix();
        break;
    }
    for (Tensor& tensor : graph().tensors) tensor.transfer.reset();
  }

  Picoseconds Latency() { return Picoseconds(Chance(0.5) ? random_.Between(0, 3) : 0); }

  // Returns one of a few values, so that ways tie.
  double OneOfThree(double bandwidth) { return bandwidth * static_cast<double>(1 + random_.Below(3)); }

  GridInterconnect RandomGrid() {
    const auto count = static_cast<int32_t>(cluster().devices.size());
    GridInterconnect grid;
    grid.dimensions = count % 2 == 0 && Chance(0.6) ? std::vector<int32_t>{2, count / 2} : std::vector<int32_t>{count};
    grid.wrap_around = Chance(0.5);
    grid.link_bandwidth_bytes_per_second = Bandwidth();
    grid.latency = Latency();
    if (Chance(0.7)) grid.non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops;
    return grid;
  }

  LinksInterconnect RandomLinks() {
    const std::size_t count = cluster().devices.size();
    const double bandwidth = Bandwidth();
    LinksInterconnect links;
    if (Chance(0.5)) links.routing = LinksInterconnect::Routing::kShortestPath;
    const auto join = [&](std::size_t a, std::size_t b) {
      if (a != b) links.links.push_back({DeviceId(a), DeviceId(b), OneOfThree(bandwidth), Latency()});
    };
    for (std::size_t device = 1; device < count; ++device) join(random_.Below(device), device);
    for (std::size_t extra = 0; extra < count; ++extra) join(random_.Below(count), random_.Below(count));
    return links;
  }

  MatrixInterconnect RandomMatrix() {
    const std::size_t count = cluster().devices.size();
    const double bandwidth = Bandwidth();
    MatrixInterconnect matrix{std::vector<double>(count * count), Latency()};
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const double pair = OneOfThree(bandwidth);
        matrix.bandwidth_bytes_per_second[a * count + b] = pair;
        matrix.bandwidth_bytes_per_second[b * count + a] = pair;
      }
    }
    return matrix;
  }

  NodesInterconnect RandomNodes() {
    const auto count = static_cast<int32_t>(cluster().devices.size());
    NodesInterconnect nodes;
    nodes.devices_per_node = count % 2 == 0 && Chance(0.7) ? count / 2 : count;
    nodes.bandwidth_bytes_per_second = Bandwidth();
    nodes.latency = Latency();
    for (int32_t a = 0; a < nodes.devices_per_node; ++a) {
      for (int32_t b = 0; b < a; ++b) {
        if (Chance(0.5)) nodes.links.push_back({a, b, OneOfThree(nodes.bandwidth_bytes_per_second), Latency()});
      }
    }
    nodes.levels = {{count / nodes.devices_per_node, OneOfThree(nodes.bandwidth_bytes_per_second) / 4, Latency()}};
    if (nodes.devices_per_node == count && Chance(0.5)) nodes.levels.clear();
    return nodes;
  }

  void Replicate() {
    problem().replication = Replication::kPerStage;
    const auto give_bandwidth = [this](auto& link) {
      if (!link.bandwidth_bytes_per_second.has_value()) link.bandwidth_bytes_per_second = Bandwidth();
    };
    if (auto* staged = std::get_if<HostStagedInterconnect>(&cluster().interconnect)) give_bandwidth(*staged);
    if (auto* uniform = std::get_if<UniformInterconnect>(&cluster().interconnect)) give_bandwidth(*uniform);
  }

  const InstanceMode mode_;
  RandomStream random_;
  Instance instance_;
};

// Moves some of the idle devices to stages of their class, at a random position among the replicas.
void AddReplicas(const Cluster& cluster, Placement& placement, RandomStream& random) {
  std::vector<DeviceId> idle;
  for (Placement::Stage& stage : placement.stages) {
    if (stage.operators.empty()) idle.push_back(stage.devices.front());
  }
  std::erase_if(placement.stages, [](const Placement::Stage& stage) { return stage.operators.empty(); });
  if (placement.stages.empty()) return;
  for (const DeviceId device : idle) {
    if (random.Below(4) == 0) continue;
    Placement::Stage& stage = placement.stages[random.Below(placement.stages.size())];
    const bool same_class =
        cluster.devices[stage.devices.front().index()].device_class == cluster.devices[device.index()].device_class;
    if (!same_class && random.Below(10) > 0) continue;
    const auto position = static_cast<std::ptrdiff_t>(random.Below(stage.devices.size() + 1));
    stage.devices.insert(stage.devices.begin() + position, device);
  }
}

// Gives every stage as many of the idle devices, mostly of its class, and some stages a ring.
void AddEqualReplicas(const Instance& instance, Placement& placement, RandomStream& random) {
  std::vector<DeviceId> idle;
  for (Placement::Stage& stage : placement.stages) {
    if (stage.operators.empty()) idle.push_back(stage.devices.front());
  }
  std::erase_if(placement.stages, [](const Placement::Stage& stage) { return stage.operators.empty(); });
  if (placement.stages.empty()) return;
  const std::size_t more = random.Below(idle.size() / placement.stages.size() + 1);
  const auto class_of = [&](DeviceId device) { return instance.cluster.devices[device.index()].device_class; };
  for (Placement::Stage& stage : placement.stages) {
    for (std::size_t i = 0; i < more; ++i) {
      const auto is_alike = [&](DeviceId device) { return class_of(device) == class_of(stage.devices.front()); };
      auto chosen = std::find_if(idle.begin(), idle.end(), is_alike);
      if (chosen == idle.end()) chosen = idle.begin();
      stage.devices.push_back(*chosen);
      idle.erase(chosen);
    }
    if (stage.devices.size() < 2 || random.Below(2) == 0) continue;
    stage.ring = stage.devices;
    for (std::size_t i = stage.ring.size(); i > 1; --i) std::swap(stage.ring[i - 1], stage.ring[random.Below(i)]);
  }
}

// Some of the idle devices follow others of their class, in all of their stages.
void AddFollowers(const Cluster& cluster, Placement& placement, RandomStream& random) {
  std::vector<bool> is_idle(cluster.devices.size(), true);
  for (const Placement::Stage& stage : placement.stages) is_idle[stage.devices.front().index()] = false;
  for (std::size_t device = 0; device < is_idle.size(); ++device) {
    const std::size_t leader = random.Below(is_idle.size());
    const bool same_class = cluster.devices[leader].device_class == cluster.devices[device].device_class;
    if (!is_idle[device] || !same_class) continue;
    for (Placement::Stage& stage : placement.stages) {
      if (stage.devices.front() == DeviceId(leader)) stage.devices.emplace_back(device);
    }
  }
}

// Forward operators in the order of the list, backward operators in the opposite order: all that is asked of stages of
// several per device for throughput. For latency both passes run forward.
std::vector<OperatorId> ListingOrder(const Instance& instance, Workload workload) {
  std::vector<OperatorId> order;
  std::vector<OperatorId> backward;
  for (std::size_t i = 0; i < instance.graph.operators.size(); ++i) {
    const bool is_forward = instance.graph.operators[i].pass == Pass::kForward;
    if (is_forward || workload == Workload::kTraining) (is_forward ? order : backward).emplace_back(i);
  }
  if (instance.problem.objective != Objective::kMinLatency) std::reverse(backward.begin(), backward.end());
  order.insert(order.end(), backward.begin(), backward.end());
  return order;
}

// Colocated operators and layers mostly share a device. An operator joins the last stage of its device, or opens a new
// one; in an order without skips that always makes a pipeline.
Placement CutAssignment(const Instance& instance, RandomStream& random) {
  const Workload workload = ResolveProblem(instance.graph, instance.problem).workload;
  const std::size_t num_devices = instance.cluster.devices.size();
  const bool keeps_together = random.Below(4) > 0;
  const bool skips = random.Below(3) == 0;
  std::map<std::string, std::size_t> device_of_label;
  std::vector<std::size_t> device_of(instance.graph.operators.size());
  Placement placement;
  for (const OperatorId id : ListingOrder(instance, workload)) {
    const Operator& op = instance.graph.operators[id.index()];
    std::size_t device = random.Below(num_devices);
    if (keeps_together) {
      if (!op.layer.empty()) device = device_of_label.try_emplace("layer " + op.layer, device).first->second;
      if (!op.colocation_group.empty()) device = device_of_label.try_emplace(op.colocation_group, device).first->second;
      if (op.forward_operator.has_value()) device = device_of[op.forward_operator->index()];
    }
    device_of[id.index()] = device;
    std::vector<Placement::Stage>& stages = placement.stages;
    const auto is_mine = [&](const Placement::Stage& stage) { return stage.devices.front() == DeviceId(device); };
    const auto last = std::find_if(stages.rbegin(), stages.rend(), is_mine);
    const bool joins = last != stages.rend() && (skips || last == stages.rbegin()) && random.Below(5) > 0;
    Placement::Stage& stage = joins ? *last : stages.emplace_back(Placement::Stage{{}, {DeviceId(device)}});
    stage.operators.push_back(id);
  }
  return placement;
}

constexpr std::array kModes = {InstanceMode::kContiguous,    InstanceMode::kReplicated, InstanceMode::kHierarchy,
                               InstanceMode::kTopology,      InstanceMode::kSteps,      InstanceMode::kNonContiguous,
                               InstanceMode::kLatency,       InstanceMode::kPeriodic,   InstanceMode::kTightMemory,
                               InstanceMode::kPerStageSteps, InstanceMode::kConstrained};
constexpr std::array<std::string_view, kModes.size()> kModeNames = {
    "contiguous", "replicated", "hierarchy",    "topology",        "steps",      "noncontiguous",
    "latency",    "periodic",   "tight_memory", "per_stage_steps", "constrained"};

}  // namespace

std::span<const InstanceMode> AllInstanceModes() { return kModes; }

std::string_view NameOf(InstanceMode mode) { return kModeNames.at(static_cast<std::size_t>(mode)); }

Instance MakeModeInstance(InstanceMode mode, uint64_t seed, int max_operators) {
  return ModeMaker(mode, seed, max_operators).Make();
}

Instance WithSelection(Instance instance, RandomStream& random) {
  std::vector<Device>& devices = instance.cluster.devices;
  for (Device& device : devices) {
    device.host = random.Below(2) == 0 ? "left" : "right";
    device.labels["tier"] = random.Below(2) == 0 ? "fast" : "slow";
  }
  const DeviceId device(random.Below(devices.size()));
  DeviceSelection& selection = instance.problem.devices_to_use;
  switch (random.Below(5)) {
    case 0:
      selection.hosts = {devices[device.index()].host};
      break;
    case 1:
      for (std::size_t i = 0; i < devices.size(); ++i) {
        if (DeviceId(i) == device || random.Below(2) == 0) selection.devices.emplace_back(i);
      }
      break;
    case 2:
      selection.match_labels = {{"tier", devices[device.index()].labels["tier"]}};
      break;
    case 3:
      selection.max_devices = static_cast<int32_t>(1 + random.Below(devices.size()));
      break;
    default:
      if (devices.size() > 1) selection.excluded_devices = {device};
      break;
  }
  Violations contradictions;
  ValidateProblem(instance.graph, instance.cluster, instance.problem, SolverOptions(), contradictions);
  if (!contradictions.empty()) selection = {};
  return instance;
}

Placement MakeModePlacement(const Instance& instance, RandomStream& random) {
  const PlanningProblem& problem = instance.problem;
  if (problem.split == Split::kNonContiguous || problem.objective == Objective::kMinLatency) {
    Placement placement = CutAssignment(instance, random);
    if (problem.replication == Replication::kPerStage) AddFollowers(instance.cluster, placement, random);
    return placement;
  }
  Placement placement = MakeRandomPlacement(instance, random);
  if (problem.replication == Replication::kPerStage) AddReplicas(instance.cluster, placement, random);
  if (problem.replication == Replication::kUniform) AddEqualReplicas(instance, placement, random);
  return placement;
}

}  // namespace planwright
