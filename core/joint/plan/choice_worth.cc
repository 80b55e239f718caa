#include "core/joint/plan/choice_worth.h"

#include <algorithm>
#include <utility>

namespace planwright {
namespace {

template <typename Predicate>
bool IsEveryStage(const JointPlan& plan, Predicate predicate) {
  return std::all_of(plan.stages.begin(), plan.stages.end(), predicate);
}

bool ComputesNothingAgain(const JointPlan& plan) {
  return IsEveryStage(plan, [](const JointStage& stage) {
    return std::all_of(stage.chunks.begin(), stage.chunks.end(), [](const JointChunk& chunk) {
      return std::all_of(chunk.recomputation.begin(), chunk.recomputation.end(),
                         [](LayerRecomputation mode) { return mode == LayerRecomputation::kNone; });
    });
  });
}

// Also where there is one copy of everything, which nothing can be shared out of.
bool SharesNothing(const JointPlan& plan) {
  return plan.sharding == Sharding::kNone ||
         IsEveryStage(plan, [](const JointStage& stage) { return stage.degrees.data * stage.degrees.context == 1; });
}

bool HasNoTensorGroups(const JointPlan& plan) {
  return IsEveryStage(plan, [](const JointStage& stage) { return stage.degrees.tensor == 1; });
}

bool HasNoContextGroups(const JointPlan& plan) {
  return IsEveryStage(plan, [](const JointStage& stage) { return stage.degrees.context == 1; });
}

bool HasNoExpertGroups(const JointPlan& plan) {
  return IsEveryStage(plan, [](const JointStage& stage) { return stage.degrees.expert == 1; });
}

bool HasOneStage(const JointPlan& plan) { return plan.stages.size() == 1; }

bool HasOneSpread(const JointPlan& plan) {
  const Degrees& first = plan.stages.front().degrees;
  return IsEveryStage(plan, [&](const JointStage& stage) { return stage.degrees == first; });
}

// `settings` with `value` alone in one of their lists.
template <typename Value>
LeftOutChoice WithOnly(const JointSettings& settings, const char* what, std::vector<Value> JointSettings::*list,
                       Value value, bool (*does_without)(const JointPlan&)) {
  LeftOutChoice choice{.what = what, .settings = settings, .does_without = does_without};
  std::vector<Value>& values = choice.settings.*list;
  choice.is_narrower = std::find(values.begin(), values.end(), value) != values.end();
  values = {value};
  return choice;
}

void AddWithoutOrder(const JointSettings& settings, const char* what, PipelineOrder order,
                     std::vector<LeftOutChoice>& choices) {
  LeftOutChoice choice{.what = what, .settings = settings, .does_without = [order](const JointPlan& plan) {
                         return plan.order != order;
                       }};
  if (std::erase(choice.settings.orders, order) == 0 || choice.settings.orders.empty()) return;
  choices.push_back(std::move(choice));
}

}  // namespace

std::vector<LeftOutChoice> ChoicesToLeaveOut(const JointSettings& settings) {
  std::vector<LeftOutChoice> choices;
  if (settings.recomputation.size() > 1) {
    choices.push_back(WithOnly(settings, "recomputation", &JointSettings::recomputation, LayerRecomputation::kNone,
                               ComputesNothingAgain));
  }
  if (settings.shardings != std::vector{Sharding::kNone}) {
    choices.push_back(WithOnly(settings, "sharding", &JointSettings::shardings, Sharding::kNone, SharesNothing));
  }
  if (settings.tensor_degrees.size() > 1) {
    choices.push_back(WithOnly(settings, "tensor parallelism", &JointSettings::tensor_degrees, 1, HasNoTensorGroups));
  }
  if (settings.context_degrees.size() > 1) {
    choices.push_back(
        WithOnly(settings, "context parallelism", &JointSettings::context_degrees, 1, HasNoContextGroups));
  }
  if (settings.expert_degrees.size() > 1) {
    choices.push_back(WithOnly(settings, "expert parallelism", &JointSettings::expert_degrees, 1, HasNoExpertGroups));
  }
  AddWithoutOrder(settings, "interleaving", PipelineOrder::kInterleaved, choices);
  AddWithoutOrder(settings, "zero bubble", PipelineOrder::kZeroBubble, choices);
  if (!settings.num_stages.has_value()) {
    choices.push_back({.what = "a pipeline", .settings = settings, .does_without = HasOneStage});
    choices.back().settings.num_stages = 1;
  }
  if (settings.per_stage) {
    choices.push_back({.what = "degrees by stage", .settings = settings, .does_without = HasOneSpread});
    choices.back().settings.per_stage = false;
  }
  return choices;
}

}  // namespace planwright
