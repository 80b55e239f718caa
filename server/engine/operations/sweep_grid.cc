#include "server/engine/operations/sweep_grid.h"

#include <algorithm>

#include "core/base/units.h"

namespace planwright::server {
namespace {

// Takes an index apart, one list after the other.
class MixedRadix {
 public:
  explicit MixedRadix(int64_t index) : rest_(index) {}

  // The element of `list` that the index says, handed to `set`; nothing where the list is empty. To be called for the
  // last list first.
  template <typename List, typename Set>
  void Take(const List& list, Set set) {
    if (list.empty()) return;
    set(list.Get(static_cast<int>(rest_ % list.size())));
    rest_ /= list.size();
  }

 private:
  int64_t rest_;
};

// Milliseconds of a sample where batches differ, else of the objective.
double TimePerSample(const v1::SweepResult::Row& row) {
  return row.settings().has_global_batch() ? row.objective_ms() / static_cast<double>(row.settings().global_batch())
                                           : row.objective_ms();
}

}  // namespace

int64_t GridSize(const v1::SweepPlansRequest& request) {
  int64_t size = 1;
  for (const int64_t list :
       {request.num_stages_size(), request.num_replicas_size(), request.micro_batches_size(), request.schedules_size(),
        request.device_sets_size(), request.max_devices_size(), request.global_batches_size()}) {
    size = SaturatingMultiply(size, std::max<int64_t>(list, 1));
  }
  return size;
}

v1::SweepResult::Settings GridSettings(const v1::SweepPlansRequest& request, int64_t index) {
  v1::SweepResult::Settings settings;
  MixedRadix digits(index);
  digits.Take(request.max_devices(), [&](int32_t value) { settings.set_max_devices(value); });
  digits.Take(request.device_sets(), [&](const v1::DeviceSelection& set) { *settings.mutable_device_set() = set; });
  digits.Take(request.schedules(), [&](int value) { settings.set_schedule(static_cast<v1::ScheduleKind>(value)); });
  digits.Take(request.micro_batches(), [&](int32_t value) { settings.set_micro_batches(value); });
  digits.Take(request.num_replicas(), [&](int32_t value) { settings.set_num_replicas(value); });
  digits.Take(request.num_stages(), [&](int32_t value) { settings.set_num_stages(value); });
  digits.Take(request.global_batches(), [&](int64_t value) { settings.set_global_batch(value); });
  return settings;
}

void ApplySettings(const v1::SweepResult::Settings& settings, v1::PlanningProblem& problem) {
  if (settings.has_num_stages()) problem.set_num_stages(settings.num_stages());
  if (settings.has_num_replicas()) problem.set_num_replicas(settings.num_replicas());
  if (settings.has_micro_batches()) problem.set_micro_batches(settings.micro_batches());
  if (settings.has_schedule()) problem.set_schedule(settings.schedule());
  if (settings.has_device_set()) *problem.mutable_devices_to_use() = settings.device_set();
  if (settings.has_max_devices()) problem.mutable_devices_to_use()->set_max_devices(settings.max_devices());
  if (settings.has_global_batch()) problem.mutable_joint()->set_global_batch(settings.global_batch());
}

void RankRows(v1::SweepResult& sweep) {
  std::stable_sort(sweep.mutable_rows()->begin(), sweep.mutable_rows()->end(), [](const auto& a, const auto& b) {
    if (a.has_objective_ms() != b.has_objective_ms()) return a.has_objective_ms();
    return a.has_objective_ms() && TimePerSample(a) < TimePerSample(b);
  });
  int rank = 0;
  for (v1::SweepResult::Row& row : *sweep.mutable_rows()) row.set_rank(row.has_objective_ms() ? ++rank : 0);
}

}  // namespace planwright::server
