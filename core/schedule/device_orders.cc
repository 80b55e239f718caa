#include "core/schedule/device_orders.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/cost/pipeline_fill.h"

namespace planwright {
namespace {

int32_t CopiesOf(const PipelineWork& work, int32_t stage) {
  return static_cast<int32_t>(work.stages[Index(stage)].devices.size());
}

bool IsReplicated(const PipelineWork& work) {
  return std::any_of(work.stages.begin(), work.stages.end(),
                     [](const StageWork& stage) { return stage.devices.size() > 1; });
}

// Whether device i holds the stages i, i + devices, ..., at least two, where devices are numbered by the first stages.
bool IsInterleaved(const PipelineWork& work) {
  const std::size_t devices = work.devices.size();
  const std::size_t stages = work.stages.size();
  if (IsReplicated(work) || stages % devices != 0 || stages == devices) return false;
  for (std::size_t stage = devices; stage < stages; ++stage) {
    if (work.stages[stage].devices != work.stages[stage - devices].devices) return false;
  }
  return true;
}

void CheckInterleaved(const PipelineWork& work, int32_t micro_batches, Violations& violations) {
  const std::size_t devices = work.devices.size();
  if (!IsInterleaved(work)) {
    violations.Add("schedule",
                   "INTERLEAVED needs a plan without replicas that deals its stages out to the devices in turn, at "
                   "least two for each; give such a plan, or choose ONE_F_ONE_B");
  } else if (Index(micro_batches) % devices != 0) {
    violations.Add("micro_batches", absl::StrCat("must be a multiple of the ", devices,
                                                 " devices under INTERLEAVED, is ", micro_batches));
  }
}

std::vector<int32_t> MicroBatchesOf(int32_t copy, int32_t copies, int32_t micro_batches) {
  std::vector<int32_t> own;
  for (int32_t micro_batch = copy; micro_batch < micro_batches; micro_batch += copies) own.push_back(micro_batch);
  return own;
}

// How far weights lag behind so that every stage keeps as much as the one that keeps most.
int32_t WeightLag(const PipelineWork& work, int32_t stage) {
  int32_t most = 0;
  for (std::size_t s = 0; s < work.stages.size(); ++s) {
    most = std::max(most, InFlightLimit(work, static_cast<int32_t>(s)));
  }
  return most - InFlightLimit(work, stage);
}

// Returns the order of passes of a device whose only stage is this copy of `stage`.
PassOrder OrderOfCopy(const PipelineWork& work, const ScheduleSettings& settings, int32_t stage, int32_t copy) {
  const std::vector<int32_t> own = MicroBatchesOf(copy, CopiesOf(work, stage), settings.micro_batches);
  const int32_t limit = InFlightLimit(work, stage);
  switch (settings.kind) {
    case ScheduleKind::kGpipe:
      return GpipeOrder(stage, own, work.training);
    case ScheduleKind::kZeroBubbleH1:
      if (work.training) return ZeroBubbleOrder(stage, own, limit, WeightLag(work, stage));
      break;
    default:
      break;
  }
  return OneFOneBOrder(stage, own, limit, work.training);
}

PassOrder WithRecomputations(const PassOrder& order) {
  PassOrder with;
  for (const PassTask& pass : order) {
    if (pass.kind == TaskKind::kBackward || pass.kind == TaskKind::kBackwardInput) {
      with.push_back({TaskKind::kRecompute, pass.stage, pass.micro_batch});
    }
    with.push_back(pass);
  }
  return with;
}

// The passes of each device, whatever their order.
std::vector<int64_t> CountPasses(const PipelineWork& work, const ScheduleSettings& settings,
                                 const TaskNumbers& numbers) {
  const int64_t kinds = 1 + (numbers.training() ? 1 : 0) + (numbers.recompute() ? 1 : 0) + (numbers.split() ? 1 : 0);
  std::vector<int64_t> counts(work.devices.size());
  for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
    for (int32_t micro_batch = 0; micro_batch < settings.micro_batches; ++micro_batch) {
      const int32_t copy = CopyOf(work, settings.kind, static_cast<int32_t>(stage), micro_batch);
      counts[Index(work.stages[stage].devices[Index(copy)])] += kinds;
    }
  }
  return counts;
}

std::string NameOfPass(const PassTask& pass) {
  return TaskName({.kind = pass.kind, .stage = pass.stage, .micro_batch = pass.micro_batch});
}

// Why `pass` cannot be in the order of `device`; empty: it can.
std::string ObjectionTo(const PassTask& pass, int32_t device, const PipelineWork& work,
                        const ScheduleSettings& settings, const TaskNumbers& numbers) {
  const bool in_range = pass.stage >= 0 && Index(pass.stage) < work.stages.size() && pass.micro_batch >= 0 &&
                        pass.micro_batch < settings.micro_batches;
  if (!in_range || !numbers.Exists(pass.kind)) {
    return absl::StrCat(NameOfPass(pass), " is no task of this schedule (", work.stages.size(), " stages, ",
                        settings.micro_batches, " micro-batches)");
  }
  const int32_t copy = CopyOf(work, settings.kind, pass.stage, pass.micro_batch);
  const int32_t runs_on = work.stages[Index(pass.stage)].devices[Index(copy)];
  if (runs_on == device) return "";
  return absl::StrCat(NameOfPass(pass), " runs on ", work.devices[Index(runs_on)].name);
}

}  // namespace

int32_t CopyOf(const PipelineWork& work, ScheduleKind kind, int32_t stage, int32_t micro_batch) {
  if (kind == ScheduleKind::kChimera) return ChimeraCopy(static_cast<int32_t>(work.stages.size()), micro_batch);
  return micro_batch % CopiesOf(work, stage);
}

int32_t InFlightLimit(const PipelineWork& work, int32_t stage) {
  FillFromEnd fill({work.overlap, /*has_phases=*/false, work.through_host});
  for (std::size_t s = work.stages.size(); s-- > Index(stage) + 1;) {
    fill.Add({CopiesOf(work, static_cast<int32_t>(s)), work.stages[s].transfer_slots});
  }
  return static_cast<int32_t>(fill.HeldBy(CopiesOf(work, stage)));
}

std::vector<std::vector<int32_t>> StagesOfDevices(const PipelineWork& work) {
  std::vector<std::vector<int32_t>> stages(work.devices.size());
  for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
    for (const int32_t device : work.stages[stage].devices)
      stages[Index(device)].push_back(static_cast<int32_t>(stage));
  }
  return stages;
}

void CheckFitsSchedule(const PipelineWork& work, const ScheduleSettings& settings, Violations& violations) {
  if (settings.kind == ScheduleKind::kInterleaved) CheckInterleaved(work, settings.micro_batches, violations);
  if (settings.kind != ScheduleKind::kZeroBubbleH1) return;
  const auto stages = StagesOfDevices(work);
  if (std::any_of(stages.begin(), stages.end(), [](const auto& held) { return held.size() > 1; })) {
    violations.Add("schedule", "ZERO_BUBBLE_H1 needs a plan with one stage on each device; choose ONE_F_ONE_B");
  }
}

std::vector<std::optional<PassOrder>> OrdersOfSchedule(const PipelineWork& work, const ScheduleSettings& settings) {
  std::vector<std::optional<PassOrder>> orders(work.devices.size());
  const auto num_devices = static_cast<int32_t>(work.devices.size());
  const auto num_stages = static_cast<int32_t>(work.stages.size());
  const std::vector<std::vector<int32_t>> stages = StagesOfDevices(work);
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    const std::vector<int32_t>& devices = work.stages[Index(stage)].devices;
    for (std::size_t copy = 0; copy < devices.size(); ++copy) {
      std::optional<PassOrder>& order = orders[Index(devices[copy])];
      if (settings.kind == ScheduleKind::kChimera) {
        const int32_t down = stage;
        if (copy == 0) order = ChimeraOrder(down, num_stages, settings.micro_batches, work.training);
      } else if (settings.kind == ScheduleKind::kInterleaved) {
        if (stage < num_devices) {
          order = InterleavedOrder(stage, num_devices, num_stages / num_devices, settings.micro_batches, work.training);
        }
      } else if (stages[Index(devices[copy])].size() == 1) {
        order = OrderOfCopy(work, settings, stage, static_cast<int32_t>(copy));
      }
    }
  }
  if (!settings.recompute || !work.training) return orders;
  for (std::optional<PassOrder>& order : orders) {
    if (order.has_value()) order = WithRecomputations(*order);
  }
  return orders;
}

std::vector<std::optional<PassOrder>> GivenOrders(const PipelineWork& work, const ScheduleSettings& settings,
                                                  const TaskNumbers& numbers, Violations& violations) {
  std::vector<std::optional<PassOrder>> orders(work.devices.size());
  std::vector<bool> seen(Index(settings.micro_batches * numbers.per_micro_batch()));
  std::vector<int64_t> missing = CountPasses(work, settings, numbers);
  for (std::size_t i = 0; i < settings.order.size(); ++i) {
    const auto& [device, passes] = settings.order[i];
    const std::string path = absl::StrCat("order[", i, "]");
    if (orders[Index(device)].has_value()) {
      violations.Add(path + ".device", absl::StrCat(work.devices[Index(device)].name, " has an order already"));
    }
    orders[Index(device)] = passes;
    for (std::size_t j = 0; j < passes.size(); ++j) {
      std::string objection = ObjectionTo(passes[j], device, work, settings, numbers);
      if (objection.empty() && seen[Index(numbers.OfPass(passes[j]))]) {
        objection = absl::StrCat(NameOfPass(passes[j]), " is there twice");
      }
      if (!objection.empty()) {
        violations.Add(absl::StrCat(path, ".tasks[", j, "]"), std::move(objection));
        continue;
      }
      seen[Index(numbers.OfPass(passes[j]))] = true;
      --missing[Index(device)];
    }
  }
  for (std::size_t device = 0; device < missing.size(); ++device) {
    if (missing[device] == 0) continue;
    violations.Add("order", absl::StrCat(missing[device], " tasks of ", work.devices[device].name,
                                         " are missing: every pass of a device must be in its order"));
  }
  return orders;
}

}  // namespace planwright
