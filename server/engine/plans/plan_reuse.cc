#include "server/engine/plans/plan_reuse.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace planwright::server {
namespace {

// Of one allocation, beside what was asked for.
constexpr std::size_t kPerAllocation = 16;

// What a value holds beside itself.
std::size_t Held(const std::string& text) {
  constexpr std::size_t kWithin = 15;
  return text.capacity() > kWithin ? text.capacity() + 1 + kPerAllocation : 0;
}

// The same of a list of values that hold nothing themselves.
template <typename Element>
std::size_t Held(const std::vector<Element>& list) {
  return list.capacity() > 0 ? list.capacity() * sizeof(Element) + kPerAllocation : 0;
}

template <typename Element, typename HeldByOne>
std::size_t HeldByAll(const std::vector<Element>& list, const HeldByOne& held_by_one) {
  std::size_t bytes = Held(list);
  for (const Element& element : list) bytes += held_by_one(element);
  return bytes;
}

std::size_t HeldByTexts(const std::vector<std::string>& texts) {
  return HeldByAll(texts, [](const std::string& text) { return Held(text); });
}

std::size_t Held(const JointPlan& joint) {
  const auto of_chunk = [](const JointChunk& chunk) { return Held(chunk.recomputation); };
  const auto of_stage = [&](const JointStage& stage) { return HeldByAll(stage.chunks, of_chunk); };
  return HeldByAll(joint.stages, of_stage) + HeldByTexts(joint.layer_labels) + Held(joint.uniform_configurations) +
         HeldByAll(joint.worth, [](const ChoiceWorth& worth) { return Held(worth.without); });
}

std::size_t Held(const Provenance& provenance) {
  // A node of a map: the value, three pointers and a colour.
  constexpr std::size_t kPerNode = kPerAllocation + sizeof(std::pair<const std::string, int64_t>) + 4 * sizeof(void*);
  std::size_t bytes = Held(provenance.algorithm) + Held(provenance.algorithm_version) + Held(provenance.fallback);
  for (const auto& [name, count] : provenance.counters) bytes += kPerNode + Held(name);
  return bytes + HeldByAll(provenance.incumbents, [](const Incumbent& found) { return Held(found.algorithm); });
}

// Of its problem there is nothing that takes room (WithNumbers).
std::size_t Held(const Plan& plan) {
  std::size_t bytes = HeldByAll(plan.bounds, [](const Bound& bound) { return Held(bound.method); });
  bytes += HeldByAll(plan.stages, [](const Stage& stage) {
    return Held(stage.operators) + Held(stage.replicas) + Held(stage.ring_order);
  });
  bytes += HeldByAll(plan.devices, [](const DeviceUsage& usage) { return Held(usage.stages); });
  bytes += Held(plan.links);
  bytes += HeldByAll(plan.tasks, [](const ScheduledTask& task) { return Held(task.operation) + Held(task.resource); });
  bytes += HeldByAll(plan.estimate.uncounted_memory, [](const UncountedMemory& memory) { return Held(memory.what); });
  bytes += HeldByAll(plan.baselines,
                     [](const Baseline& baseline) { return Held(baseline.algorithm) + Held(baseline.reason); });
  bytes += Held(plan.explanation.bottleneck);
  bytes += HeldByAll(plan.explanation.relief,
                     [](const Explanation::Relief& relief) { return Held(relief.resource) + Held(relief.amount); });
  bytes += Held(plan.provenance) + HeldByTexts(plan.warnings);
  return plan.joint.has_value() ? bytes + Held(*plan.joint) : bytes;
}

// A search with the first limit may go on where one with the second has ended. Unset limits are the algorithm's own:
// nothing is known about how they compare with a number.
bool IsNoSmaller(std::optional<int64_t> limit, std::optional<int64_t> wanted) {
  if (!limit.has_value() || !wanted.has_value()) return limit.has_value() == wanted.has_value();
  return *limit >= *wanted;
}

bool IsCutOff(StopReason reason) { return reason == StopReason::kTimeLimit || reason == StopReason::kCancelled; }

}  // namespace

int64_t BytesOf(const CachedPlan& cached) {
  return static_cast<int64_t>(sizeof(cached) + Held(cached.plan) + Held(cached.key) + HeldByTexts(cached.devices));
}

bool Satisfies(const CachedPlan& cached, const SearchEffort& wanted) {
  const Provenance& provenance = cached.plan.provenance;
  const double gap = RelativeGap(cached.plan.objective, cached.plan.lower_bound);
  if (provenance.proven_optimal || gap <= wanted.relative_gap) return true;
  if (cached.effort.relative_gap > wanted.relative_gap) return false;
  if (!IsNoSmaller(cached.effort.work_limit, wanted.work_limit)) return false;
  return !IsCutOff(provenance.stop_reason) || cached.effort.time >= wanted.time;
}

bool Replaces(const CachedPlan& fresh, const CachedPlan& kept) {
  if (fresh.plan.provenance.proven_optimal) return true;
  return fresh.plan.objective <= kept.plan.objective && !Satisfies(kept, fresh.effort);
}

void RenewTexts(const Plan& fresh, const std::string& bottleneck, Plan& plan) {
  plan.tasks = fresh.tasks;
  for (Baseline& baseline : plan.baselines) {
    if (!baseline.objective.has_value()) baseline.reason = "no plan was found";
  }
  if (!plan.explanation.bottleneck.empty()) plan.explanation.bottleneck = bottleneck;
  const std::size_t renewed = std::min(fresh.warnings.size(), plan.warnings.size());
  std::copy_n(fresh.warnings.begin(), renewed, plan.warnings.begin());
}

}  // namespace planwright::server
