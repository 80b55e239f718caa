#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/known.h"
#include "core/base/quantity_text.h"
#include "core/verify/checks.h"

namespace planwright {
namespace {

// Rates and shares are doubles; any order of evaluation stays far below this.
constexpr double kRelativeTolerance = 1e-9;

std::string Text(Picoseconds time) { return TimeText(time); }
std::string Text(int64_t count) { return CountText(count); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(StageId stage) { return absl::StrCat(stage.index()); }
std::string Text(DeviceId device) { return absl::StrCat("device ", device.index()); }
std::string Text(OperatorId op) { return absl::StrCat("operator ", op.index()); }
std::string Text(Pass pass) { return pass == Pass::kForward ? "forward" : "backward"; }
std::string Text(const std::string& name) { return absl::StrCat("'", name, "'"); }
std::string Text(const std::optional<int64_t>& bytes) { return bytes.has_value() ? CountText(*bytes) : "unlimited"; }

class Comparison {
 public:
  Comparison(const Plan& stated, const Plan& fresh, Violations& violations)
      : stated_(stated), fresh_(fresh), violations_(violations) {}

  void Run() {
    CompareEach("plan.stages", stated_.stages, fresh_.stages, &Comparison::CompareStage);
    CompareEach("plan.devices", stated_.devices, fresh_.devices, &Comparison::CompareDevice);
    CompareEach("plan.links", stated_.links, fresh_.links, &Comparison::CompareLink);
    CompareEach("plan.schedule.tasks", stated_.tasks, fresh_.tasks, &Comparison::CompareTask);
    Compare("plan.objective_ms", stated_.objective, fresh_.objective);
    CompareEstimate();
  }

 private:
  // Whether the two are the same.
  template <typename T>
  bool Compare(const std::string& path, const T& stated, const T& fresh) {
    if (stated == fresh) return true;
    violations_.Add(path, absl::StrCat("is stated as ", Text(stated), ", but is ", Text(fresh)));
    return false;
  }

  template <typename T>
  bool SameSize(const std::string& path, const std::vector<T>& stated, const std::vector<T>& fresh) {
    if (stated.size() == fresh.size()) return true;
    violations_.Add(path, absl::StrCat("has ", stated.size(), " entries, not ", fresh.size()));
    return false;
  }

  using Path = std::string;

  // Calls compare(path of the element, stated, fresh) for all elements, unless there are more or fewer.
  template <typename T>
  void CompareEach(const Path& path, const std::vector<T>& stated, const std::vector<T>& fresh,
                   void (Comparison::*compare)(const Path&, const T&, const T&)) {
    if (!SameSize(path, stated, fresh)) return;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      (this->*compare)(absl::StrCat(path, "[", i, "]"), stated[i], fresh[i]);
    }
  }

  template <typename T>
  bool CompareList(const std::string& path, const std::vector<T>& stated, const std::vector<T>& fresh) {
    if (!SameSize(path, stated, fresh)) return false;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      if (!Compare(absl::StrCat(path, "[", i, "]"), stated[i], fresh[i])) return false;
    }
    return true;
  }

  void CompareStage(const Path& path, const Stage& stated, const Stage& fresh) {
    // Operators out of order, or stages that are not in pipeline order: the numbers below would be another stage's.
    if (!CompareList(path + ".operators", stated.operators, fresh.operators)) return;
    Compare(path + ".compute_ms", stated.compute, fresh.compute);
    Compare(path + ".communication_in_ms", stated.communication_in, fresh.communication_in);
    Compare(path + ".communication_out_ms", stated.communication_out, fresh.communication_out);
    Compare(path + ".allreduce_ms", stated.allreduce, fresh.allreduce);
    Compare(path + ".load_ms", stated.load, fresh.load);
    Compare(path + ".memory_bytes", stated.memory_bytes, fresh.memory_bytes);
    Compare(path + ".transfer_slots", int64_t{stated.transfer_slots}, int64_t{fresh.transfer_slots});
    Compare(path + ".in_flight_micro_batches", int64_t{stated.in_flight_micro_batches},
            int64_t{fresh.in_flight_micro_batches});
    Compare(path + ".backward_contiguous", stated.backward_contiguous, fresh.backward_contiguous);
    CompareList(path + ".ring_order", stated.ring_order, fresh.ring_order);
    CompareEach(path + ".replicas", stated.replicas, fresh.replicas, &Comparison::CompareReplica);
  }

  void CompareReplica(const Path& path, const Replica& stated, const Replica& fresh) {
    Compare(path + ".device", stated.device, fresh.device);
    Compare(path + ".copy", int64_t{stated.copy}, int64_t{fresh.copy});
    Compare(path + ".load_ms", stated.load, fresh.load);
  }

  void CompareDevice(const Path& path, const DeviceUsage& stated, const DeviceUsage& fresh) {
    if (!Compare(path + ".device", stated.device, fresh.device)) return;
    CompareList(path + ".stages", stated.stages, fresh.stages);
    Compare(path + ".load_ms", stated.load, fresh.load);
    Compare(path + ".memory_bytes", stated.memory_bytes, fresh.memory_bytes);
    Compare(path + ".memory_limit_bytes", stated.memory_limit_bytes, fresh.memory_limit_bytes);
  }

  void CompareLink(const Path& path, const LinkUsage& stated, const LinkUsage& fresh) {
    Compare(path + ".device_a", stated.device_a, fresh.device_a);
    Compare(path + ".device_b", stated.device_b, fresh.device_b);
    Compare(path + ".load_ms", stated.load, fresh.load);
  }

  void CompareTask(const Path& path, const ScheduledTask& stated, const ScheduledTask& fresh) {
    Compare(path + ".operation", stated.operation, fresh.operation);
    Compare(path + ".stage", stated.stage, fresh.stage);
    Compare(path + ".pass", stated.pass, fresh.pass);
    Compare(path + ".resource", stated.resource, fresh.resource);
    Compare(path + ".start_ms", stated.start, fresh.start);
    Compare(path + ".index_shift", int64_t{stated.index_shift}, int64_t{fresh.index_shift});
  }

  void CompareEstimate() {
    const Estimate& stated = stated_.estimate;
    const Estimate& fresh = fresh_.estimate;
    Compare("plan.estimate.step_time_ms", stated.step_time, fresh.step_time);
    CompareRate("plan.estimate.micro_batches_per_second", stated.micro_batches_per_second,
                fresh.micro_batches_per_second);
    CompareRate("plan.estimate.samples_per_second", stated.samples_per_second, fresh.samples_per_second);
    CompareRate("plan.estimate.bubble_fraction", stated.bubble_fraction, fresh.bubble_fraction);
    Compare("plan.estimate.peak_memory_bytes", stated.peak_memory_bytes, fresh.peak_memory_bytes);
    Compare("plan.estimate.estimated_operators", int64_t{stated.estimated_operators},
            int64_t{fresh.estimated_operators});
  }

  // Written so that nan differs from everything. Shares near 0 are differences of numbers near 1.
  void CompareRate(const std::string& path, double stated, double fresh) {
    if (std::abs(stated - fresh) <= kRelativeTolerance * std::max(1.0, std::abs(fresh))) return;
    violations_.Add(path, absl::StrCat("is stated as ", stated, ", but is ", fresh));
  }

  const Plan& stated_;
  const Plan& fresh_;
  Violations& violations_;
};

}  // namespace

void CompareNumbers(const Plan& stated, const Plan& fresh, Violations& violations) {
  Comparison(stated, fresh, violations).Run();
}

namespace {

void CheckProofOfTime(const Plan& plan, Picoseconds best, Picoseconds objective, Violations& violations) {
  const bool is_proven = best == objective;
  const Provenance& provenance = plan.provenance;
  if (provenance.proven_optimal != is_proven) {
    violations.Add("plan.provenance.proven_optimal",
                   absl::StrCat("is ", Text(provenance.proven_optimal), ", but the bound of ", TimeText(best),
                                is_proven ? " equals" : " differs from", " the objective of ", TimeText(objective)));
  }
  if (provenance.stop_reason == StopReason::kOptimal && !is_proven) {
    violations.Add("plan.provenance.stop_reason", "is OPTIMAL, but no bound equals the objective");
  }
}

// The number of devices is proven by a bound above the target for every plan with fewer.
void CheckProofOfDevices(const Plan& plan, Violations& violations) {
  bool is_proven = false;
  for (const Bound& bound : plan.bounds) {
    is_proven |= bound.scope == BoundScope::kFewerDevices && bound.value > Known(plan.problem.target_period);
  }
  const Provenance& provenance = plan.provenance;
  if (provenance.proven_optimal != is_proven) {
    violations.Add("plan.provenance.proven_optimal",
                   absl::StrCat("is ", Text(provenance.proven_optimal), ", but fewer devices are ",
                                is_proven ? "" : "not ", "proven to miss the target"));
  }
  if (provenance.stop_reason == StopReason::kOptimal && !is_proven) {
    violations.Add("plan.provenance.stop_reason", "is OPTIMAL, but fewer devices are not proven to miss the target");
  }
}

}  // namespace

void CheckBounds(const Plan& plan, Picoseconds objective, Violations& violations) {
  Picoseconds best{0};
  for (std::size_t i = 0; i < plan.bounds.size(); ++i) {
    if (plan.bounds[i].scope != BoundScope::kProblem) continue;
    const Picoseconds bound = plan.bounds[i].value;
    best = std::max(best, bound);
    if (bound <= objective) continue;
    violations.Add(absl::StrCat("plan.bounds[", i, "].value_ms"),
                   absl::StrCat("is ", TimeText(bound), ", above the objective of ", TimeText(objective)));
  }
  if (plan.lower_bound != best) {
    violations.Add("plan.lower_bound_ms", absl::StrCat("is stated as ", TimeText(plan.lower_bound),
                                                       ", but the largest bound for the problem is ", TimeText(best)));
  }
  if (plan.problem.objective == Objective::kMinDevices) {
    CheckProofOfDevices(plan, violations);
  } else {
    CheckProofOfTime(plan, best, objective, violations);
  }
}

}  // namespace planwright
