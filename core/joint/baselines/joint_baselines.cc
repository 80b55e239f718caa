#include "core/joint/baselines/joint_baselines.h"

#include <algorithm>
#include <utility>

#include "core/base/polling.h"
#include "core/joint/baselines/alpa.h"
#include "core/joint/baselines/data_parallel.h"

namespace planwright {
namespace {

constexpr char kNoTime[] = "there was no time";

template <typename Values, typename Value>
bool Holds(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// What the settings have against a plan; empty: nothing.
std::string Objection(const JointSettings& settings, const JointPlan& plan) {
  const Degrees& first = plan.stages.front().degrees;
  const bool is_alike = std::all_of(plan.stages.begin(), plan.stages.end(),
                                    [&](const JointStage& stage) { return stage.degrees == first; });
  if (!settings.per_stage && !is_alike) return "its stages differ in their degrees, which degrees PER_STAGE allow";
  if (!Holds(settings.orders, PipelineOrder::kOneFOneB)) return "its order may not be chosen";
  if (!Holds(settings.shardings, plan.sharding)) return "its sharding may not be chosen";
  if (settings.num_stages.value_or(static_cast<int32_t>(plan.stages.size())) !=
      static_cast<int32_t>(plan.stages.size())) {
    return "it has another number of stages";
  }
  if (settings.micro_batches.value_or(plan.micro_batches) != plan.micro_batches) {
    return "it has another number of micro-batches";
  }
  for (const JointStage& stage : plan.stages) {
    const Degrees& degrees = stage.degrees;
    const bool is_data = settings.data_degrees.empty() || Holds(settings.data_degrees, degrees.data);
    if (is_data && Holds(settings.tensor_degrees, degrees.tensor) && Holds(settings.context_degrees, degrees.context) &&
        Holds(settings.expert_degrees, degrees.expert)) {
      continue;
    }
    return "its degrees may not be chosen";
  }
  return "";
}

}  // namespace

std::vector<JointBaseline> JointBaselines(const BaselineQuestion& question, const SolveLimits& limits,
                                          bool is_cut_off) {
  std::vector<JointBaseline> baselines;
  const auto add = [&](const char* algorithm, std::optional<JointPlan> plan, const char* otherwise) {
    std::string reason = plan.has_value() ? Objection(question.settings, *plan) : otherwise;
    baselines.push_back({algorithm, std::move(plan), std::move(reason)});
  };
  if (is_cut_off) {
    add("data_parallel", std::nullopt, kNoTime);
  } else {
    add("data_parallel", ShardedDataParallel(question),
        "the model does not fit, even sharded, with the recomputation that may be chosen");
  }
  if (question.cluster.classes.size() > 1) {
    add("alpa", std::nullopt, "it is for nodes alike, of devices of one class");
    return baselines;
  }
  Poller poller(limits);
  std::optional<JointPlan> plan = AlpaProgram(question, poller);
  add("alpa", std::move(plan), poller.ShouldStopNow() ? kNoTime : "no division among its submeshes fits");
  return baselines;
}

}  // namespace planwright
