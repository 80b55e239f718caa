#include "core/planner/joint/plan_assembly.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/known.h"
#include "core/base/quantity_text.h"
#include "core/joint/cost/stage_cost.h"
#include "core/model/device_selection.h"

namespace planwright {
namespace {

constexpr char kAlgorithm[] = "joint_search";

class PlanAssembly {
 public:
  explicit PlanAssembly(const FoundJointPlan& found) : found_(found), joint_(found.answer.plan) {}

  Plan Run() {
    plan_.problem = found_.problem;
    plan_.objective = joint_.step;
    plan_.lower_bound = joint_.step_bound;
    if (joint_.step_bound > Picoseconds(0)) {
      plan_.bounds.push_back({.value = joint_.step_bound, .method = kAlgorithm, .scope = BoundScope::kAlignedPlaces});
    }
    AddStages();
    AddDeviceUsage(found_.cluster, found_.problem, plan_);
    AddEstimate();
    AddBaselines();
    plan_.provenance.algorithm = kAlgorithm;
    plan_.provenance.algorithm_version = JointPlanVersion();
    plan_.provenance.seed = found_.options.seed;
    plan_.provenance.proven_optimal = joint_.simulated_step == joint_.simulated_bound;
    plan_.provenance.counters = found_.answer.counters;
    plan_.joint = joint_;
    if (!found_.graph.transformer.has_value()) plan_.joint->layer_labels = found_.pricer.labels();
    AddRates(*plan_.joint);
    return std::move(plan_);
  }

 private:
  std::vector<std::vector<OperatorId>> OperatorsByStage() const {
    std::map<std::string, std::size_t> stage_of;
    const std::vector<std::string>& labels = found_.pricer.labels();
    for (std::size_t s = 0; s < joint_.stages.size(); ++s) {
      for (const JointChunk& chunk : joint_.stages[s].chunks) {
        for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
          stage_of[labels[static_cast<std::size_t>(layer)]] = s;
        }
      }
    }
    // The loss is computed where the head is.
    if (found_.graph.transformer.has_value()) stage_of["loss"] = stage_of[labels.back()];
    std::vector<std::vector<OperatorId>> operators(joint_.stages.size());
    for (std::size_t op = 0; op < found_.graph.operators.size(); ++op) {
      const auto stage = stage_of.find(found_.graph.operators[op].layer);
      if (stage != stage_of.end()) operators[stage->second].emplace_back(op);
    }
    return operators;
  }

  void AddStages() {
    std::vector<std::vector<OperatorId>> operators = OperatorsByStage();
    const DeviceRow row(found_.answer.training);
    for (std::size_t s = 0; s < joint_.stages.size(); ++s) {
      const JointStage& from = joint_.stages[s];
      Stage& stage = plan_.stages.emplace_back();
      stage.operators = std::move(operators[s]);
      stage.compute = from.forward + from.backward;
      stage.communication_in = from.received;
      stage.communication_out = from.transfers - from.received;
      stage.allreduce = from.step_end;
      stage.load = stage.compute + from.transfers;
      stage.memory_bytes = from.memory.total();
      stage.in_flight_micro_batches = from.in_flight;
      for (const DeviceId device : row.DevicesOf(from)) {
        const auto rank = static_cast<int32_t>(stage.replicas.size());
        stage.replicas.push_back({.device = device, .copy = rank, .load = stage.load});
      }
    }
  }

  void AddEstimate() {
    Estimate& estimate = plan_.estimate;
    const auto step_ps = static_cast<double>(std::max<int64_t>(joint_.step.count(), 1));
    estimate.step_time = joint_.step;
    estimate.micro_batches_per_second = static_cast<double>(joint_.micro_batches) / (step_ps * 1e-12);
    estimate.samples_per_second = SamplesPerSecond();
    std::vector<double> busy_ps;
    busy_ps.reserve(joint_.stages.size());
    for (const JointStage& stage : joint_.stages) {
      const double time = static_cast<double>((stage.forward + stage.backward + stage.transfers).count());
      busy_ps.push_back(time * static_cast<double>(joint_.micro_batches) + static_cast<double>(stage.step_end.count()));
    }
    AddDeviceEstimate(busy_ps, step_ps, plan_);
    estimate.estimated_operators = static_cast<int32_t>(found_.graph.operators.size());
  }

  double SamplesPerSecond() const {
    return planwright::SamplesPerSecond(Known(found_.problem.joint).global_batch, joint_.step.count());
  }

  void AddRates(JointPlan& rated) const {
    rated.tokens_per_second = SamplesPerSecond() * static_cast<double>(found_.pricer.tokens_per_sample());
    double in_use = 0;
    double all = 0;
    for (const DeviceUsage& usage : plan_.devices) {
      const DeviceClass& device_class = found_.cluster.class_of(usage.device);
      const double peak = device_class.kind == DeviceKind::kAccelerator ? device_class.peak_flops : 0;
      all += peak;
      if (!usage.stages.empty()) in_use += peak;
    }
    const double flops = SamplesPerSecond() * found_.pricer.flops_per_sample();
    rated.peak_share_in_use = in_use > 0 ? flops / in_use : 0;
    rated.peak_share = all > 0 ? flops / all : 0;
  }

  void AddBaselines() {
    Baseline equal{.algorithm = "equal_stages", .objective = std::nullopt, .reason = "", .admissible = true};
    if (joint_.uniform_configurations.empty()) {
      equal.reason = "no configuration of equal stages fits";
      equal.admissible = false;
    } else {
      const JointConfiguration& best = joint_.uniform_configurations.front();
      equal.objective = best.step;
      equal.reason =
          OnDevicesText(best.num_stages * best.degrees.devices(), std::ssize(found_.answer.training.devices));
    }
    plan_.baselines.push_back(std::move(equal));
  }

  const FoundJointPlan& found_;
  const JointPlan& joint_;
  Plan plan_;
};

}  // namespace

Plan AssembleJointPlan(const FoundJointPlan& found) { return PlanAssembly(found).Run(); }

void AddDeviceUsage(const Cluster& cluster, const ResolvedProblem& problem, Plan& plan) {
  std::map<DeviceId, std::size_t> stage_of;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const Replica& replica : plan.stages[s].replicas) stage_of[replica.device] = s;
  }
  for (const DeviceId device : SelectedDevices(cluster, problem.devices_to_use)) {
    DeviceUsage& usage = plan.devices.emplace_back();
    usage.device = device;
    usage.memory_limit_bytes = UsableMemoryBytes(cluster, device);
    const auto stage = stage_of.find(device);
    if (stage == stage_of.end()) continue;
    usage.stages.emplace_back(stage->second);
    usage.load = plan.stages[stage->second].replicas.front().load;
    usage.memory_bytes = plan.stages[stage->second].memory_bytes;
  }
}

void AddDeviceEstimate(const std::vector<double>& busy_ps, double whole_ps, Plan& plan) {
  double busy = 0;
  double devices = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const auto count = static_cast<double>(plan.stages[s].replicas.size());
    busy += count * busy_ps[s];
    devices += count;
    plan.estimate.peak_memory_bytes = std::max(plan.estimate.peak_memory_bytes, plan.stages[s].memory_bytes);
  }
  plan.estimate.bubble_fraction = std::max(0.0, 1 - busy / (devices * whole_ps));
}

std::string OnDevicesText(int64_t used, int64_t all) {
  return used == all ? "" : absl::StrCat("on ", used, " of ", CountedText(all, "device"));
}

}  // namespace planwright
