#include "server/engine/plans/plan_reuse.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/strings.h"
#include "server/codec/plan.h"

namespace planwright::server {
namespace {

// The position of each name in a list.
template <typename Element>
class Positions {
 public:
  explicit Positions(const std::vector<Element>& elements) {
    positions_.reserve(elements.size());
    for (const Element& element : elements) positions_.emplace(element.name, positions_.size());
  }

  std::size_t operator()(const std::string& name) const { return positions_.at(name); }

 private:
  absl::flat_hash_map<std::string, std::size_t> positions_;
};

// Sorts a repeated field by the key of its elements.
template <typename Repeated, typename Key>
void SortByKey(Repeated& elements, Key key) {
  std::sort(elements.begin(), elements.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

// A search with the first limit may go on where one with the second has ended. Unset limits are the algorithm's own:
// nothing is known about how they compare with a number.
bool IsNoSmaller(std::optional<int64_t> limit, std::optional<int64_t> wanted) {
  if (!limit.has_value() || !wanted.has_value()) return limit.has_value() == wanted.has_value();
  return *limit >= *wanted;
}

bool IsCutOff(v1::StopReason reason) {
  return reason == v1::STOP_REASON_TIME_LIMIT || reason == v1::STOP_REASON_CANCELLED;
}

// New names for old ones.
class Renaming {
 public:
  Renaming(const std::vector<std::string>& from, const std::vector<std::string>& to) {
    names_.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) names_.emplace(from[i], to[i]);
  }

  void Apply(std::string& name) const {
    const auto found = names_.find(name);
    if (found != names_.end()) name = found->second;
  }

 private:
  absl::flat_hash_map<std::string, std::string> names_;
};

}  // namespace

bool Satisfies(const CachedPlan& cached, const SearchEffort& wanted) {
  const v1::Provenance& provenance = cached.plan.provenance();
  if (provenance.proven_optimal() || cached.plan.relative_gap() <= wanted.relative_gap) return true;
  if (cached.effort.relative_gap > wanted.relative_gap) return false;
  if (!IsNoSmaller(cached.effort.work_limit, wanted.work_limit)) return false;
  return !IsCutOff(provenance.stop_reason()) || cached.effort.time >= wanted.time;
}

bool Replaces(const CachedPlan& fresh, const CachedPlan& kept) {
  if (fresh.plan.provenance().proven_optimal()) return true;
  return fresh.plan.objective_ms() <= kept.plan.objective_ms() && !Satisfies(kept, fresh.effort);
}

v1::Plan InOrderOf(const OperatorGraph& graph, const Cluster& cluster, const v1::PlanningProblem& problem,
                   v1::Plan plan) {
  const Positions operators(graph.operators);
  const Positions devices(cluster.devices);
  for (v1::Stage& stage : *plan.mutable_stages()) SortByKey(*stage.mutable_operators(), operators);
  SortByKey(*plan.mutable_devices(), [&](const v1::DeviceUsage& usage) { return devices(usage.device()); });
  const bool is_directed = HasDirectedLinks(problem);
  for (v1::LinkUsage& link : *plan.mutable_links()) {
    const bool is_reversed = !is_directed && devices(link.device_a()) > devices(link.device_b());
    if (is_reversed) link.mutable_device_a()->swap(*link.mutable_device_b());
  }
  SortByKey(*plan.mutable_links(),
            [&](const v1::LinkUsage& link) { return std::pair(devices(link.device_a()), devices(link.device_b())); });
  *plan.mutable_problem() = problem;
  return plan;
}

void RenameDevices(const std::vector<std::string>& from, const std::vector<std::string>& to, v1::Plan& plan) {
  if (from == to) return;
  const Renaming renaming(from, to);
  for (v1::Stage& stage : *plan.mutable_stages()) {
    for (v1::Replica& replica : *stage.mutable_replicas()) renaming.Apply(*replica.mutable_device());
    for (std::string& device : *stage.mutable_ring_order()) renaming.Apply(device);
  }
  for (v1::DeviceUsage& usage : *plan.mutable_devices()) renaming.Apply(*usage.mutable_device());
  for (v1::LinkUsage& link : *plan.mutable_links()) {
    renaming.Apply(*link.mutable_device_a());
    renaming.Apply(*link.mutable_device_b());
  }
  for (auto& task : *plan.mutable_schedule()->mutable_tasks()) task.clear_resource();
}

void RenewTexts(const v1::Plan& fresh, const std::string& bottleneck, v1::Plan& plan) {
  *plan.mutable_schedule()->mutable_tasks() = fresh.schedule().tasks();
  for (v1::Baseline& baseline : *plan.mutable_baselines()) {
    if (!baseline.has_objective_ms()) baseline.set_reason("no plan was found");
  }
  if (plan.has_explanation()) plan.mutable_explanation()->set_bottleneck(bottleneck);
  auto& warnings = *plan.mutable_warnings();
  std::copy_n(fresh.warnings().begin(), std::min(fresh.warnings_size(), warnings.size()), warnings.begin());
}

}  // namespace planwright::server
