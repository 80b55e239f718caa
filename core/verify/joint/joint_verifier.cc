#include "core/verify/joint/joint_verifier.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/known.h"
#include "core/verify/joint/joint_costing.h"
#include "core/verify/joint/round_robin_costing.h"

namespace planwright {
namespace {

constexpr double kRelativeTolerance = 1e-9;

class Comparison {
 public:
  Comparison(const Plan& stated, const Plan& fresh, Violations& violations)
      : stated_(stated),
        fresh_(fresh),
        stated_joint_(Known(stated.joint)),
        fresh_joint_(Known(fresh.joint)),
        violations_(violations) {}

  void Run() {
    CompareSteps();
    for (std::size_t s = 0; s < fresh_.stages.size(); ++s) {
      const std::string path = absl::StrCat("plan.stages[", s, "]");
      CompareStage(stated_.stages[s], fresh_.stages[s], path);
      CompareJoint(stated_joint_.stages[s], fresh_joint_.stages[s], path + ".joint");
    }
    CompareDevices();
    CompareRates();
    CheckBounds();
  }

 private:
  void Require(bool holds, const std::string& path, const char* rule) {
    if (!holds) violations_.Add(path, rule);
  }
  void Same(int64_t stated, int64_t fresh, const std::string& path) {
    if (stated != fresh) violations_.Add(path, absl::StrCat("must be ", fresh, ", is ", stated));
  }
  void Same(Picoseconds stated, Picoseconds fresh, const std::string& path) {
    Same(stated.count(), fresh.count(), path);
  }
  void Near(double stated, double fresh, const std::string& path) {
    if (std::abs(stated - fresh) <= kRelativeTolerance * std::abs(fresh) + kRelativeTolerance) return;
    violations_.Add(path, absl::StrCat("must be ", fresh, ", is ", stated));
  }

  void CompareSteps() {
    Same(stated_.objective, fresh_.objective, "plan.objective_ms");
    Same(stated_joint_.step, fresh_joint_.step, "plan.joint.step");
    Same(stated_joint_.simulated_step, fresh_joint_.simulated_step, "plan.joint.simulated_step_ms");
  }

  void CompareStage(const Stage& stated, const Stage& fresh, const std::string& path) {
    Require(stated.operators == fresh.operators, path + ".operators", "must be in the order of the graph");
    Same(stated.compute, fresh.compute, path + ".compute_ms");
    Same(stated.communication_in, fresh.communication_in, path + ".communication_in_ms");
    Same(stated.communication_out, fresh.communication_out, path + ".communication_out_ms");
    Same(stated.allreduce, fresh.allreduce, path + ".allreduce_ms");
    Same(stated.load, fresh.load, path + ".load_ms");
    Same(stated.memory_bytes, fresh.memory_bytes, path + ".memory_bytes");
    Same(stated.in_flight_micro_batches, fresh.in_flight_micro_batches, path + ".in_flight_micro_batches");
    for (std::size_t r = 0; r < fresh.replicas.size(); ++r) {
      Same(stated.replicas[r].copy, fresh.replicas[r].copy, path + ".replicas.copy");
      Same(stated.replicas[r].load, fresh.replicas[r].load, path + ".replicas.load_ms");
    }
  }

  void CompareJoint(const JointStage& stated, const JointStage& fresh, const std::string& path) {
    Same(stated.in_flight, fresh.in_flight, path + ".in_flight");
    Same(stated.forward, fresh.forward, path + ".forward_ms");
    Same(stated.backward, fresh.backward, path + ".backward_ms");
    Same(stated.transfers, fresh.transfers, path + ".transfers_ms");
    Same(stated.received, fresh.received, path + ".received");
    Same(stated.step_end, fresh.step_end, path + ".step_end_ms");
    Same(stated.measured_layers, fresh.measured_layers, path + ".measured_layers");
    Same(stated.memory.parameters, fresh.memory.parameters, path + ".memory.parameters");
    Same(stated.memory.gradients, fresh.memory.gradients, path + ".memory.gradients");
    Same(stated.memory.optimizer, fresh.memory.optimizer, path + ".memory.optimizer");
    Same(stated.memory.activations, fresh.memory.activations, path + ".memory.activations");
    Same(stated.memory.workspace, fresh.memory.workspace, path + ".memory.workspace");
    Same(stated.memory.reserved, fresh.memory.reserved, path + ".memory.reserved");
  }

  void CompareDevices() {
    if (stated_.devices.size() != fresh_.devices.size()) {
      return violations_.Add("plan.devices", "must be those that the problem selects");
    }
    for (std::size_t d = 0; d < fresh_.devices.size(); ++d) {
      const DeviceUsage& stated = stated_.devices[d];
      const DeviceUsage& fresh = fresh_.devices[d];
      const std::string path = absl::StrCat("plan.devices[", d, "]");
      Require(stated.device == fresh.device, path, "must be in the order of the cluster");
      Require(stated.stages == fresh.stages, path + ".stages", "must be those that it holds");
      Require(stated.memory_limit_bytes == fresh.memory_limit_bytes, path + ".memory_limit_bytes",
              "must be the device's");
      Same(stated.load, fresh.load, path + ".load_ms");
      Same(stated.memory_bytes, fresh.memory_bytes, path + ".memory_bytes");
    }
  }

  void CompareRates() {
    Near(stated_joint_.tokens_per_second, fresh_joint_.tokens_per_second, "plan.joint.tokens_per_second");
    Near(stated_joint_.peak_share_in_use, fresh_joint_.peak_share_in_use, "plan.joint.peak_share_in_use");
    Near(stated_joint_.peak_share, fresh_joint_.peak_share, "plan.joint.peak_share");
    const Estimate& stated = stated_.estimate;
    const Estimate& fresh = fresh_.estimate;
    Same(stated.step_time, fresh.step_time, "plan.estimate.step_time_ms");
    Same(stated.peak_memory_bytes, fresh.peak_memory_bytes, "plan.estimate.peak_memory_bytes");
    Same(stated.estimated_operators, fresh.estimated_operators, "plan.estimate.estimated_operators");
    Near(stated.micro_batches_per_second, fresh.micro_batches_per_second, "plan.estimate.micro_batches_per_second");
    Near(stated.samples_per_second, fresh.samples_per_second, "plan.estimate.samples_per_second");
    Near(stated.bubble_fraction, fresh.bubble_fraction, "plan.estimate.bubble_fraction");
  }

  void CheckBounds() {
    const JointPlan& joint = stated_joint_;
    Require(stated_.lower_bound == joint.step_bound && joint.step_bound <= joint.step, "plan.lower_bound_ms",
            "must be the bound of the closed form and at most it");
    Require(joint.simulated_bound <= joint.simulated_step, "plan.joint.simulated_bound_ms",
            "must be at most the simulated step");
    // No step is simulated where replicas take micro-batches in turn.
    const bool is_met = joint.simulated_step > Picoseconds(0) ? joint.simulated_bound == joint.simulated_step
                                                              : joint.step_bound == joint.step;
    Require(stated_.provenance.proven_optimal == is_met, "plan.provenance.proven_optimal",
            "must say whether the simulated step meets its bound");
  }

  const Plan& stated_;
  const Plan& fresh_;
  const JointPlan& stated_joint_;
  const JointPlan& fresh_joint_;
  Violations& violations_;
};

}  // namespace

void VerifyJointPlan(const OperatorGraph& graph, const Cluster& cluster, const LayerPricer& pricer, const Plan& plan,
                     Violations& violations) {
  if (!plan.joint.has_value()) return violations.Add("plan.joint", "must be set");
  const std::optional<Plan> fresh =
      CostJointPlacement(graph, cluster, pricer, plan.problem, PlacementOf(plan), violations);
  if (fresh.has_value()) Comparison(plan, *fresh, violations).Run();
}

void VerifyRoundRobinPlan(const OperatorGraph& graph, const Cluster& cluster, const Plan& plan,
                          Violations& violations) {
  if (!plan.joint.has_value()) return violations.Add("plan.joint", "must be set");
  const std::optional<Plan> fresh =
      CostRoundRobinPlacement(graph, cluster, plan.problem, PlacementOf(plan), violations);
  if (fresh.has_value()) Comparison(plan, *fresh, violations).Run();
}

}  // namespace planwright
