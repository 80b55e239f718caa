#include "core/joint/plan/fewest_devices.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/status_macros.h"
#include "core/base/units.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;

// 1, 2, ..., those of a node, and then whole nodes.
std::vector<int64_t> CountsOf(const TrainingClass& part) {
  std::vector<int64_t> counts;
  for (int64_t devices = 1; devices < part.devices_per_node; ++devices) counts.push_back(devices);
  for (int64_t nodes = 1; nodes <= part.nodes; ++nodes) counts.push_back(nodes * part.devices_per_node);
  return counts;
}

class FewestDevices {
 public:
  FewestDevices(const JointQuestion& question, const SolveLimits& limits)
      : question_(question), limits_(limits), counts_(CountsOf(question.training.classes.front())) {
    const std::optional<double>& target = question.settings.target_tokens_per_second;
    if (!target.has_value()) return;
    const double tokens =
        static_cast<double>(question.settings.global_batch) * static_cast<double>(question.pricer.tokens_per_sample());
    most_ps_ = static_cast<int64_t>(std::min(std::floor(tokens / *target * kPicosecondsPerSecond), 4e18));
  }

  absl::StatusOr<JointAnswer> Run(const std::function<void(const JointAnswer&)>& on_answer) {
    const std::size_t all = counts_.size() - 1;
    // The first that reaches the target, the last that is refuted, and the last that is missed; one behind.
    std::size_t reached = all;
    std::size_t refuted = 0;
    std::size_t missed = 0;
    const Decision of_all = Ask(all);
    if (of_all != Decision::kReached) return WhyNot(of_all, on_answer);
    while (missed < reached && !CheckInterruption(limits_).has_value()) {
      const std::size_t middle = missed + (reached - missed) / 2;
      const Decision decision = Ask(middle);
      if (decision == Decision::kReached) {
        reached = middle;
      } else {
        missed = middle + 1;
        if (decision == Decision::kRefuted) refuted = middle + 1;
      }
    }
    const TrainingCluster part = FirstDevices(question_.training, counts_[reached]);
    ASSIGN_OR_RETURN(JointAnswer answer, PlanJointly(On(part), limits_, on_answer));
    answer.counters["device_counts_tried"] = tried_;
    answer.counters["devices_allowed"] = counts_[reached];
    answer.counters["devices_needed"] = counts_[std::min(refuted, reached)];
    return answer;
  }

 private:
  enum class Decision { kReached, kRefuted, kOpen };

  JointQuestion On(const TrainingCluster& part) const {
    return {question_.pricer,   question_.cluster,        part,
            question_.settings, question_.reserved_bytes, question_.relative_gap};
  }

  // Whether the count at `place` of the list reaches the target.
  Decision Ask(std::size_t place) {
    ++tried_;
    const TrainingCluster part = FirstDevices(question_.training, counts_[place]);
    const JointOutcome outcome =
        SearchJoint({question_.pricer, part, question_.settings, question_.reserved_bytes, question_.relative_gap},
                    limits_, [](const JointPlan&) {});
    if (outcome.plan.has_value() && outcome.plan->step.count() <= most_ps_) return Decision::kReached;
    best_ = outcome.plan.has_value() ? std::optional(outcome.plan->step) : std::nullopt;
    if (outcome.is_interrupted && !outcome.plan.has_value()) return Decision::kOpen;
    const bool is_refuted = !outcome.plan.has_value() || outcome.step_bound_ps > most_ps_;
    return is_refuted ? Decision::kRefuted : Decision::kOpen;
  }

  // All devices miss the target.
  absl::Status WhyNot(Decision decision, const std::function<void(const JointAnswer&)>& on_answer) const {
    // Nothing fits: the search itself says so best.
    if (!best_.has_value()) return PlanJointly(question_, limits_, on_answer).status();
    const double tokens = static_cast<double>(question_.settings.global_batch) *
                          static_cast<double>(question_.pricer.tokens_per_sample());
    const std::string found =
        absl::StrFormat("the best plan on all %d devices trains %.0f tokens/s, and %.0f are asked for", counts_.back(),
                        tokens / static_cast<double>(best_->count()) * kPicosecondsPerSecond,
                        *question_.settings.target_tokens_per_second);
    if (decision == Decision::kOpen) {
      return NoPlanFoundError(found + "; it is not proven that none does", SpentLimit::kTime);
    }
    Infeasibility infeasibility;
    infeasibility.Add({.resource = "time",
                       .subject = "",
                       .needed_bytes = 0,
                       .available_bytes = 0,
                       .description = found + "; lower the target or add devices"});
    return InfeasibleError(infeasibility);
  }

  const JointQuestion& question_;
  const SolveLimits& limits_;
  const std::vector<int64_t> counts_;
  int64_t most_ps_ = std::numeric_limits<int64_t>::max();
  int64_t tried_ = 0;
  // Of the last count that missed.
  std::optional<Picoseconds> best_;
};

}  // namespace

absl::StatusOr<JointAnswer> PlanOnFewestDevices(const JointQuestion& question, const SolveLimits& limits,
                                                const std::function<void(const JointAnswer&)>& on_answer) {
  return FewestDevices(question, limits).Run(on_answer);
}

}  // namespace planwright
