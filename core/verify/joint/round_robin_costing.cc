#include "core/verify/joint/round_robin_costing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/known.h"
#include "core/model/device_selection.h"
#include "core/verify/joint/choice_rules.h"
#include "core/verify/joint/operator_part.h"

namespace planwright {
namespace {

__extension__ using Wide = __int128;
using verify::IsAllowed;
using verify::OperatorPart;
using verify::StagePath;

constexpr Wide kPicoseconds = 1'000'000'000'000;

// Sums over the operators of a stage, 320 hours in picoseconds; three times as much leaves 63 bits.
constexpr double kMostOfStage = 0x1p60;
constexpr Wide kMost = Wide{1} << 61;

// At most 2^61.
int64_t RoundedUp(Wide value, Wide divisor) {
  return static_cast<int64_t>(std::min((value + divisor - 1) / divisor, kMost));
}

// The next whole number, but for what doubles are off by.
int64_t RoundedUp(double value) {
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(std::min(value, 0x1p62) - std::max(1e-3, 1e-14 * value))));
}

class RoundRobinCosting {
 public:
  RoundRobinCosting(const OperatorGraph& graph, const Cluster& cluster, const ResolvedProblem& problem,
                    const Placement& placement, Violations& violations)
      : graph_(graph),
        cluster_(cluster),
        problem_(problem),
        settings_(Known(problem.joint)),
        placement_(placement),
        joint_(Known(placement.joint)),
        usable_(SelectedDevices(cluster, problem.devices_to_use)),
        violations_(violations),
        stage_of_(graph.operators.size()) {}

  std::optional<Plan> Run() {
    Violations broken;
    CheckChoices(broken);
    if (broken.empty()) CheckStages(broken);
    if (broken.empty()) CheckOrder(broken);
    for (std::size_t s = 0; s < joint_.stages.size() && broken.empty(); ++s) CostStage(s, broken);
    for (const Violation& violation : broken.listed()) violations_.Add(violation.path, violation.rule);
    if (!broken.empty()) return std::nullopt;
    AddMemory();
    AddObjective();
    AddDevices();
    joint_.uniform_configurations.clear();
    joint_.worth.clear();
    joint_.step_bound = joint_.simulated_bound = joint_.simulated_step = Picoseconds(0);
    plan_.problem = problem_;
    plan_.joint = std::move(joint_);
    return std::move(plan_);
  }

 private:
  static void Require(bool holds, const std::string& path, const char* rule, Violations& broken) {
    if (!holds) broken.Add(path, rule);
  }

  void CheckChoices(Violations& broken) const {
    const int64_t batch = settings_.global_batch;
    Require(!joint_.stages.empty() && joint_.stages.size() == placement_.stages.size(), "plan.stages",
            "must be as many as the joint plan has", broken);
    Require(joint_.per_stage, "plan.joint.degrees", "must be PER_STAGE", broken);
    Require(joint_.order == PipelineOrder::kOneFOneB && joint_.chunks == 1, "plan.joint.schedule",
            "must be ONE_F_ONE_B with one run of layers in a stage", broken);
    Require(joint_.sharding == Sharding::kNone, "plan.joint.optimizer_sharding", "must be NONE", broken);
    Require(IsAllowed(settings_.micro_batch_samples, joint_.micro_batch_samples), "plan.joint.micro_batch_samples",
            "must be samples_per_micro_batch of the graph", broken);
    Require(joint_.micro_batches >= 1 && joint_.micro_batches <= batch &&
                joint_.micro_batch_samples * joint_.micro_batches == batch,
            "plan.joint.micro_batches", "times the samples of a micro-batch must be the global batch", broken);
    const std::optional<int32_t>& wanted = settings_.num_stages;
    Require(!wanted.has_value() || std::cmp_equal(joint_.stages.size(), *wanted), "plan.stages",
            "must be as many as the problem says", broken);
  }

  void CheckStages(Violations& broken) {
    std::map<std::string, std::size_t> named;
    for (std::size_t op = 0; op < graph_.operators.size(); ++op) named[graph_.operators[op].name] = op;
    std::set<DeviceId> used;
    int64_t ranks = 0;
    int32_t next = 0;
    for (std::size_t s = 0; s < joint_.stages.size(); ++s) {
      const JointStage& stage = joint_.stages[s];
      const std::string path = StagePath(s);
      const Degrees& degrees = stage.degrees;
      Require(stage.chunks.size() == 1 && stage.chunks.front().first_layer == next &&
                  stage.chunks.front().end_layer() > next &&
                  std::cmp_less_equal(stage.chunks.front().end_layer(), joint_.layer_labels.size()),
              path + ".joint.chunks", "must be one run that goes on where the one before ends", broken);
      Require(degrees.context == 1 && degrees.expert == 1 && degrees.data >= 1 && degrees.tensor >= 1 &&
                  IsAllowed(settings_.tensor_degrees, degrees.tensor) &&
                  IsAllowed(settings_.data_degrees, degrees.data),
              path + ".joint", "must have degrees that may be chosen", broken);
      if (!broken.empty()) return;
      Require(joint_.micro_batches % degrees.data == 0, path + ".joint.data_degree", "must divide the micro-batches",
              broken);
      next = stage.chunks.front().end_layer();
      ranks += degrees.data;
      CheckOperators(s, named, broken);
      CheckDevices(s, used, broken);
      if (!broken.empty()) return;
    }
    Require(std::cmp_equal(next, graph_.operators.size()) && joint_.layer_labels.size() == graph_.operators.size(),
            "plan.stages", "must hold every operator once", broken);
    Require(ranks <= joint_.micro_batches, "plan.stages", "must not have more data ranks than there are micro-batches",
            broken);
  }

  void CheckOperators(std::size_t s, std::map<std::string, std::size_t>& named, Violations& broken) {
    const JointChunk& chunk = joint_.stages[s].chunks.front();
    std::vector<OperatorId> held;
    for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
      const auto found = named.find(joint_.layer_labels[static_cast<std::size_t>(layer)]);
      if (found == named.end()) {
        return broken.Add(StagePath(s) + ".joint.chunks", "must have names of operators, each once");
      }
      held.emplace_back(found->second);
      stage_of_[found->second] = s;
      named.erase(found);
    }
    operators_.push_back(held);
    std::sort(held.begin(), held.end());
    std::vector<OperatorId> stated = placement_.stages[s].operators;
    std::sort(stated.begin(), stated.end());
    Require(stated == held, StagePath(s) + ".operators", "must be those of its layers", broken);
  }

  void CheckDevices(std::size_t s, std::set<DeviceId>& used, Violations& broken) const {
    const std::vector<DeviceId>& devices = placement_.stages[s].devices;
    const std::string path = StagePath(s) + ".replicas";
    Require(std::cmp_equal(devices.size(), joint_.stages[s].degrees.devices()), path,
            "must be as many as the degrees say", broken);
    if (!broken.empty()) return;
    const DeviceClassId first = cluster_.devices[placement_.stages.front().devices.front().index()].device_class;
    for (const DeviceId device : devices) {
      Require(std::binary_search(usable_.begin(), usable_.end(), device), path, "must be on devices that may be used",
              broken);
      Require(used.insert(device).second, path, "must be on devices of their own", broken);
      Require(cluster_.devices[device.index()].device_class == first, path, "must be on devices of one class", broken);
    }
  }

  void CheckOrder(Violations& broken) const {
    for (const Tensor& tensor : graph_.tensors) {
      for (const OperatorId consumer : tensor.consumers) {
        if (stage_of_[consumer.index()] >= stage_of_[tensor.producer.index()]) continue;
        broken.Add("plan.stages", absl::StrCat("must have tensor \"", tensor.name, "\" go forward"));
      }
    }
  }

  const DeviceClass& ClassOf(std::size_t s) const { return cluster_.class_of(placement_.stages[s].devices.front()); }
  int64_t BytesPerSecond() const {
    const auto& uniform = std::get<UniformInterconnect>(cluster_.interconnect);
    return std::llround(std::clamp(Known(uniform.bandwidth_bytes_per_second), 1.0, 0x1p62));
  }

  // Bytes of parameters, gradients and optimizer for each of the parameters.
  double StateFactor() const {
    const ResolvedMemory& model = problem_.memory_model;
    return model.weight_versions + model.gradient_copies + model.optimizer_bytes_per_parameter_byte;
  }

  void CostStage(std::size_t s, Violations& broken) {
    JointStage& stage = joint_.stages[s];
    const JointChunk& chunk = stage.chunks.front();
    const ResolvedMemory& model = problem_.memory_model;
    stage.forward = stage.backward = Picoseconds(0);
    stage.measured_layers = 0;
    stage.memory = {};
    Wide reduced = 0;
    double time = 0;
    double held = 0;
    for (std::size_t i = 0; i < operators_[s].size(); ++i) {
      const Operator& op = graph_.operators[operators_[s][i].index()];
      const auto part = verify::PartOf(op, graph_, ClassOf(s), stage.degrees, joint_.micro_batch_samples);
      const bool is_again = chunk.recomputation[i] == LayerRecomputation::kFull;
      const bool may_be = !is_again || (part.has_value() && part->says_again &&
                                        IsAllowed(settings_.recomputation, LayerRecomputation::kFull));
      if (!part.has_value() || !may_be || chunk.recomputation[i] == LayerRecomputation::kSelective) {
        return broken.Add(StagePath(s) + ".joint",
                          absl::StrCat("must hold and compute again only what can be, unlike \"", op.name, "\""));
      }
      time += part->forward + part->backward + part->extra;
      held += part->parameters * StateFactor() + part->kept + part->kept_again + part->workspace + part->held_again;
      if (time >= kMostOfStage || held >= kMostOfStage) {
        return broken.Add(StagePath(s),
                          "must take less than 320 hours for a micro-batch and hold less than 2^60 bytes");
      }
      stage.forward += Picoseconds(RoundedUp(part->forward));
      stage.backward += Picoseconds(RoundedUp(part->backward) + (is_again ? RoundedUp(part->extra) : 0));
      stage.measured_layers += op.variants.empty() ? 0 : 1;
      const auto parameters = static_cast<double>(RoundedUp(part->parameters));
      reduced += RoundedUp(part->parameters);
      stage.memory.parameters += RoundedUp(parameters * model.weight_versions);
      stage.memory.gradients += RoundedUp(parameters * model.gradient_copies);
      stage.memory.optimizer += RoundedUp(parameters * model.optimizer_bytes_per_parameter_byte);
      stage.memory.activations += RoundedUp(is_again ? part->kept_again : part->kept);
      stage.memory.workspace += RoundedUp(is_again ? part->held_again : part->workspace);
    }
    stage.memory.reserved = model.reserved_bytes;
    AddTransfers(s, stage);
    const int64_t data = stage.degrees.data;
    stage.step_end = Picoseconds(
        RoundedUp(4 * reduced * (data - 1) * kPicoseconds, Wide{data} * joint_.micro_batches * BytesPerSecond()));
    AddPlanStage(s, stage);
  }

  // Each reader of a tensor in another stage pays for it, and so does its producer for each of them.
  void AddTransfers(std::size_t s, JointStage& stage) const {
    Wide in = 0;
    Wide out = 0;
    for (const Tensor& tensor : graph_.tensors) {
      const Operator& producer = graph_.operators[tensor.producer.index()];
      const std::size_t made = stage_of_[tensor.producer.index()];
      for (const OperatorId consumer : tensor.consumers) {
        const std::size_t read = stage_of_[consumer.index()];
        if (made == read || (made != s && read != s)) continue;
        const auto part = verify::PartOf(producer, graph_, ClassOf(s), stage.degrees, joint_.micro_batch_samples);
        const double whole = static_cast<double>(tensor.size_bytes) * static_cast<double>(joint_.micro_batch_samples) /
                             static_cast<double>(graph_.samples_per_micro_batch);
        const int64_t moved = RoundedUp(part.has_value() ? part->sent.value_or(whole) : whole);
        (read == s ? in : out) +=
            moved + BesideTensor(read == s ? consumer : tensor.producer, tensor, s, stage.degrees);
      }
    }
    stage.received = Picoseconds(RoundedUp(2 * in * kPicoseconds, BytesPerSecond()));
    stage.transfers = Picoseconds(RoundedUp(2 * (in + out) * kPicoseconds, BytesPerSecond()));
  }

  // What the operator, in stage `s`, exchanges with its stage's ranks for a tensor with an end elsewhere.
  int64_t BesideTensor(OperatorId id, const Tensor& tensor, std::size_t s, const Degrees& degrees) const {
    const auto part =
        verify::PartOf(graph_.operators[id.index()], graph_, ClassOf(s), degrees, joint_.micro_batch_samples);
    if (!part.has_value()) return 0;
    const auto found = part->beside.find(tensor.name);
    return found == part->beside.end() ? 0 : RoundedUp(found->second);
  }

  void AddPlanStage(std::size_t s, const JointStage& from) {
    Stage& stage = plan_.stages.emplace_back();
    stage.operators = placement_.stages[s].operators;
    std::sort(stage.operators.begin(), stage.operators.end());
    stage.compute = from.forward + from.backward;
    stage.communication_in = from.received;
    stage.communication_out = from.transfers - from.received;
    stage.allreduce = from.step_end;
    stage.load = stage.compute + from.transfers;
    const Picoseconds share(RoundedUp(Wide{stage.load.count()}, from.degrees.data) + from.step_end.count());
    int32_t copy = 0;
    for (const DeviceId device : placement_.stages[s].devices) {
      stage.replicas.push_back({.device = device, .copy = copy, .load = share});
      ++copy;
    }
  }

  void AddMemory() {
    int64_t ranks = 0;
    for (std::size_t s = plan_.stages.size(); s-- > 0;) {
      JointStage& stage = joint_.stages[s];
      ranks += stage.degrees.data;
      stage.in_flight = static_cast<int32_t>((ranks + stage.degrees.data - 1) / stage.degrees.data);
      stage.memory.activations =
          static_cast<int64_t>(std::min(Wide{stage.memory.activations} * stage.in_flight, kMost));
      plan_.stages[s].in_flight_micro_batches = stage.in_flight;
      plan_.stages[s].memory_bytes = stage.memory.total();
      for (const Replica& replica : plan_.stages[s].replicas) {
        const std::optional<int64_t> limit = UsableMemoryBytes(cluster_, replica.device);
        if (!limit.has_value() || stage.memory.total() <= *limit) continue;
        violations_.Add(StagePath(s) + ".memory_bytes",
                        absl::StrCat("must be at most ", *limit, ", is ", stage.memory.total()));
        break;
      }
    }
  }

  void AddObjective() {
    Picoseconds longest(0);
    double busy = 0;
    double devices = 0;
    Estimate& estimate = plan_.estimate;
    for (const Stage& stage : plan_.stages) {
      const Picoseconds load = stage.replicas.front().load;
      const auto count = static_cast<double>(stage.replicas.size());
      longest = std::max(longest, load);
      busy += count * static_cast<double>(load.count());
      devices += count;
      estimate.peak_memory_bytes = std::max(estimate.peak_memory_bytes, stage.memory_bytes);
    }
    if (static_cast<double>(longest.count()) > kMostOfStage) {
      violations_.Add("plan.joint", "must take less than 320 hours for a micro-batch");
    }
    plan_.objective = joint_.step = longest;
    const auto load = static_cast<double>(std::max<int64_t>(longest.count(), 1));
    estimate.step_time = Picoseconds(
        static_cast<int64_t>(std::min<Wide>(Wide{longest.count()} * joint_.micro_batches, Wide{int64_t{1} << 62})));
    estimate.micro_batches_per_second = 1e12 / load;
    estimate.samples_per_second = 1e12 / load * static_cast<double>(joint_.micro_batch_samples);
    joint_.tokens_per_second =
        estimate.samples_per_second * static_cast<double>(settings_.tokens_per_sample.value_or(0));
    estimate.bubble_fraction = std::max(0.0, 1 - busy / (devices * load));
  }

  void AddDevices() {
    for (const DeviceId device : usable_) {
      DeviceUsage& usage = plan_.devices.emplace_back();
      usage.device = device;
      usage.memory_limit_bytes = UsableMemoryBytes(cluster_, device);
      for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
        for (const Replica& replica : plan_.stages[s].replicas) {
          if (replica.device != device) continue;
          usage.stages.emplace_back(s);
          usage.load = replica.load;
          usage.memory_bytes = plan_.stages[s].memory_bytes;
        }
      }
    }
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  const JointSettings& settings_;
  const Placement& placement_;
  JointPlan joint_;
  // Ascending.
  const std::vector<DeviceId> usable_;
  Violations& violations_;
  // By operator.
  std::vector<std::size_t> stage_of_;
  // By stage, in the order of its layers.
  std::vector<std::vector<OperatorId>> operators_;
  Plan plan_;
};

}  // namespace

std::optional<Plan> CostRoundRobinPlacement(const OperatorGraph& graph, const Cluster& cluster,
                                            const ResolvedProblem& problem, const Placement& placement,
                                            Violations& violations) {
  if (!placement.joint.has_value()) {
    violations.Add("plan.joint", "must be set");
    return std::nullopt;
  }
  return RoundRobinCosting(graph, cluster, problem, placement, violations).Run();
}

}  // namespace planwright
