#include "core/schedule/task_list_builder.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "core/schedule/device_orders.h"
#include "core/schedule/task_numbers.h"

namespace planwright {
namespace {

bool IsReceive(TaskKind kind) { return kind == TaskKind::kReceiveForward || kind == TaskKind::kReceiveBackward; }

ScheduleExtent ExtentOf(const PipelineWork& work, const TaskNumbers& numbers) {
  ScheduleExtent extent{.tasks = numbers.per_micro_batch(),
                        .precedences = static_cast<int64_t>(work.precedences.size() + 4 * work.stages.size())};
  for (const StageWork& stage : work.stages) {
    // All-reduces: each copy has one for each of its micro-batches at most, and waits for as many as there are copies.
    if (stage.devices.size() > 1) ++extent.tasks;
    extent.precedences += static_cast<int64_t>(stage.devices.size());
    // Twice forward: recomputation.
    for (const Picoseconds time : {stage.forward, stage.forward, stage.backward, stage.allreduce}) extent.AddTime(time);
    for (const int64_t bytes : {stage.stored_bytes, stage.received_bytes, stage.largest_stored_bytes}) {
      extent.AddStored(bytes);
    }
  }
  for (const TransferWork& transfer : work.transfers) extent.AddTime(transfer.LongestTime());
  return extent;
}

constexpr int32_t kNone = -1;

// Orders of passes as orders of tasks: puts the transfers that occupy a device between its passes, what a pass receives
// before the first pass that needs it, what passes send after the last of them. `work` and `list` outlive the object.
class OrderExpansion {
 public:
  // REQUIRES: the list has the tasks of all micro-batches.
  OrderExpansion(const PipelineWork& work, const TaskNumbers& numbers, const TaskList& list)
      : work_(work),
        numbers_(numbers),
        list_(list),
        before_(2 * work.stages.size() + work.transfers.size()),
        after_(before_.size()),
        placed_(list.tasks.size()) {
    for (const Precedence& edge : work.precedences) {
      before_[Index(edge.after)].push_back(edge.before);
      after_[Index(edge.before)].push_back(edge.after);
    }
  }

  // `followers`: tasks that the device runs right after a pass and its sends, by pass. REQUIRES: each order once.
  std::vector<int32_t> Expand(const PassOrder& passes, const absl::flat_hash_map<int32_t, int32_t>& followers) {
    std::vector<int32_t> order;
    for (const PassTask& pass : passes) {
      const int32_t task = numbers_.OfPass(pass);
      const int32_t device = list_.tasks[Index(task)].resource;
      const int32_t piece = PieceOf(pass);
      if (piece != kNone) {
        for (const int32_t other : before_[Index(piece)]) {
          if (IsOnDevice(other, pass.micro_batch, device)) PlaceReceive(other, pass.micro_batch, order);
        }
      }
      order.push_back(task);
      placed_[Index(task)] = true;
      if (piece != kNone) {
        for (const int32_t other : after_[Index(piece)]) {
          if (IsOnDevice(other, pass.micro_batch, device)) PlaceSend(other, pass.micro_batch, order);
        }
      }
      const auto follower = followers.find(task);
      if (follower != followers.end()) order.push_back(follower->second);
    }
    return order;
  }

 private:
  int32_t PieceOf(const PassTask& pass) const {
    switch (pass.kind) {
      case TaskKind::kForward:
        return pass.stage;
      case TaskKind::kBackward:
      case TaskKind::kBackwardInput:
        return static_cast<int32_t>(work_.stages.size()) + pass.stage;
      default:
        return kNone;
    }
  }

  void PlaceReceive(int32_t transfer, int32_t micro_batch, std::vector<int32_t>& order) {
    const int32_t task = numbers_.OfPiece(transfer, micro_batch);
    if (placed_[Index(task)]) return;
    placed_[Index(task)] = true;
    order.push_back(task);
  }

  void PlaceSend(int32_t transfer, int32_t micro_batch, std::vector<int32_t>& order) {
    const std::vector<int32_t>& passes = before_[Index(transfer)];
    const bool is_complete = std::all_of(passes.begin(), passes.end(), [&](int32_t pass) {
      return placed_[Index(numbers_.OfPiece(pass, micro_batch))];
    });
    if (is_complete) order.push_back(numbers_.OfPiece(transfer, micro_batch));
  }

  bool IsOnDevice(int32_t piece, int32_t micro_batch, int32_t device) const {
    if (Index(piece) < 2 * work_.stages.size()) return false;
    return list_.tasks[Index(numbers_.OfPiece(piece, micro_batch))].resource == device;
  }

  const PipelineWork& work_;
  const TaskNumbers& numbers_;
  const TaskList& list_;
  // Of each piece of work, the pieces that it waits for and those that wait for it.
  std::vector<std::vector<int32_t>> before_;
  std::vector<std::vector<int32_t>> after_;
  // By task.
  std::vector<bool> placed_;
};

class TaskListBuilder {
 public:
  TaskListBuilder(const PipelineWork& work, const ScheduleSettings& settings, const TaskNumbers& numbers,
                  std::vector<std::optional<PassOrder>> orders)
      : work_(work), settings_(settings), numbers_(numbers), orders_(std::move(orders)) {}

  TaskList Build() && {
    for (const PipelineDevice& device : work_.devices) {
      list_.resources.push_back({device.name, TaskResource::Kind::kDevice, device.static_bytes});
    }
    list_.tasks.resize(Index(settings_.micro_batches * numbers_.per_micro_batch()));
    for (int32_t micro_batch = 0; micro_batch < settings_.micro_batches; ++micro_batch) AddMicroBatch(micro_batch);
    if (work_.training) AddAllReduces();
    ExpandOrders();
    LimitSharedDevices();
    AlternateLinks();
    return std::move(list_);
  }

 private:
  int32_t DeviceOf(int32_t stage, int32_t micro_batch) const {
    const int32_t copy = CopyOf(work_, settings_.kind, stage, micro_batch);
    return work_.stages[Index(stage)].devices[Index(copy)];
  }

  void Wait(int32_t after, int32_t before) { list_.precedences.push_back({before, after}); }

  void AddMicroBatch(int32_t micro_batch) {
    for (std::size_t stage = 0; stage < work_.stages.size(); ++stage) {
      AddPasses(static_cast<int32_t>(stage), micro_batch);
    }
    for (std::size_t i = 0; i < work_.transfers.size(); ++i) AddTransfer(static_cast<int32_t>(i), micro_batch);
    for (const Precedence& edge : work_.precedences) {
      Wait(numbers_.OfPiece(edge.after, micro_batch), numbers_.OfPiece(edge.before, micro_batch));
    }
  }

  Task& AddPass(TaskKind kind, int32_t stage, int32_t micro_batch, Picoseconds duration) {
    Task& task = list_.tasks[Index(numbers_.OfPass({kind, stage, micro_batch}))];
    task = {.kind = kind,
            .stage = stage,
            .micro_batch = micro_batch,
            .resource = DeviceOf(stage, micro_batch),
            .duration = duration};
    return task;
  }

  // The passes of a stage, each after the one before.
  void AddPasses(int32_t stage, int32_t micro_batch) {
    const StageWork& work = work_.stages[Index(stage)];
    Task& forward = AddPass(TaskKind::kForward, stage, micro_batch, work.forward);
    if (!numbers_.training()) return;
    std::vector<TaskKind> kinds = {TaskKind::kForward};
    int64_t stored_bytes = work.stored_bytes;
    if (numbers_.recompute()) {
      kinds.push_back(TaskKind::kRecompute);
      AddPass(TaskKind::kRecompute, stage, micro_batch, work.forward).memory_at_start_bytes = work.largest_stored_bytes;
      stored_bytes = work.received_bytes;
    }
    forward.memory_at_start_bytes = stored_bytes;
    if (numbers_.split()) {
      kinds.push_back(TaskKind::kBackwardInput);
      AddPass(kinds.back(), stage, micro_batch, work.backward - work.backward_weight);
    }
    kinds.push_back(numbers_.LastBackward());
    Task& last = AddPass(kinds.back(), stage, micro_batch, numbers_.split() ? work.backward_weight : work.backward);
    last.memory_at_end_bytes = -stored_bytes - (numbers_.recompute() ? work.largest_stored_bytes : 0);
    for (std::size_t i = 1; i < kinds.size(); ++i) {
      Wait(numbers_.OfPass({kinds[i], stage, micro_batch}), numbers_.OfPass({kinds[i - 1], stage, micro_batch}));
    }
  }

  void AddTransfer(int32_t transfer, int32_t micro_batch) {
    const TransferWork& work = work_.transfers[Index(transfer)];
    const int32_t device = DeviceOf(work.stage, micro_batch);
    const int32_t peer = work.peer == TransferWork::kHost ? work.peer : DeviceOf(work.peer, micro_batch);
    const std::size_t link_class =
        peer == TransferWork::kHost
            ? 0
            : work_.network.LinkClassOf(work_.devices[Index(device)].id, work_.devices[Index(peer)].id);
    list_.tasks[Index(numbers_.OfTransfer(transfer, micro_batch))] = {
        .kind = work.kind,
        .stage = work.stage,
        .micro_batch = micro_batch,
        .resource = work_.overlap == Overlap::kSerial ? device : LinkBetween(device, peer, IsReceive(work.kind)),
        .duration = work.TimeOver(link_class)};
  }

  // The link of a transfer between two devices, or a device and host memory, made on first use.
  int32_t LinkBetween(int32_t device, int32_t peer, bool receives) {
    const bool directed = work_.overlap == Overlap::kFullDuplex;
    std::pair<int32_t, int32_t> ends = receives ? std::pair(peer, device) : std::pair(device, peer);
    // The first of the cluster first; host memory last.
    const auto rank = [](int32_t end) { return static_cast<uint32_t>(end); };
    if (!directed && rank(ends.second) < rank(ends.first)) std::swap(ends.first, ends.second);
    const auto [found, is_new] = links_.try_emplace(ends, static_cast<int32_t>(list_.resources.size()));
    if (is_new) {
      const auto name = [this](int32_t end) {
        return end == TransferWork::kHost ? std::string("host") : work_.devices[Index(end)].name;
      };
      list_.resources.push_back(
          {LinkName(name(ends.first), name(ends.second), directed), TaskResource::Kind::kLink, 0});
    }
    return found->second;
  }

  void ExpandOrders() {
    list_.order.resize(list_.resources.size());
    OrderExpansion expansion(work_, numbers_, list_);
    for (std::size_t device = 0; device < orders_.size(); ++device) {
      const auto& order = orders_[device];
      if (order.has_value()) list_.order[device] = expansion.Expand(*order, reductions_after_);
    }
    for (const int32_t task : reductions_at_end_) {
      list_.order[Index(list_.tasks[Index(task)].resource)].push_back(task);
    }
  }

  // Devices without an order do not run ahead of the schedule.
  void LimitSharedDevices() {
    const std::vector<std::vector<int32_t>> stages = StagesOfDevices(work_);
    for (std::size_t device = 0; device < stages.size(); ++device) {
      if (orders_[device].has_value() || !work_.training) continue;
      for (const int32_t stage : stages[device]) LimitStage(stage, stages[device].back());
    }
  }

  void LimitStage(int32_t stage, int32_t last_stage) {
    const int32_t micro_batches = settings_.micro_batches;
    const bool phases = settings_.kind == ScheduleKind::kGpipe;
    const int32_t lag = InFlightLimit(work_, stage);
    for (int32_t i = phases ? 0 : lag; i < micro_batches; ++i) {
      if (phases) {
        Wait(numbers_.OfPass({TaskKind::kBackward, stage, i}),
             numbers_.OfPass({TaskKind::kForward, last_stage, micro_batches - 1}));
      } else {
        Wait(numbers_.OfPass({TaskKind::kForward, stage, i}), numbers_.OfPass({TaskKind::kBackward, stage, i - lag}));
      }
    }
  }

  // A transfer and when a pipeline at its pace has a turn for it.
  struct LinkTurn {
    int64_t time = 0;
    bool is_forward = false;
    int32_t task = 0;
  };

  bool AlternatesLinks() const {
    const bool is_1f1b = settings_.kind == ScheduleKind::kOneFOneB || settings_.kind == ScheduleKind::kPipedreamAsync;
    const bool shares_links = work_.overlap == Overlap::kOverlapped && !work_.through_host && work_.training;
    const std::vector<std::vector<int32_t>> stages = StagesOfDevices(work_);
    return settings_.alternates_links && settings_.order.empty() && is_1f1b && shares_links &&
           std::all_of(stages.begin(), stages.end(), [](const auto& held) { return held.size() == 1; });
  }

  // The order in which the turns of core/cost/pipeline_fill.h leave room on a link for both ways: a gradient right
  // before the backward pass that needs it, and after that the tensor of the forward pass that ends then.
  void AlternateLinks() {
    if (!AlternatesLinks()) return;
    std::vector<std::vector<LinkTurn>> turns(list_.resources.size());
    std::vector<bool> is_plain(list_.resources.size(), true);
    for (std::size_t i = 0; i < work_.transfers.size(); ++i) {
      const TransferWork& transfer = work_.transfers[i];
      const bool is_forward = transfer.kind == TaskKind::kSendForward;
      const int32_t upstream = is_forward ? transfer.stage : transfer.peer;
      const int64_t copies = std::ssize(work_.stages[Index(upstream)].devices);
      const int64_t ahead = is_forward ? 0 : copies * (InFlightLimit(work_, upstream) - 1);
      for (int32_t micro_batch = 0; micro_batch < settings_.micro_batches; ++micro_batch) {
        const int32_t task = numbers_.OfTransfer(static_cast<int32_t>(i), micro_batch);
        const std::size_t link = Index(list_.tasks[Index(task)].resource);
        turns[link].push_back({micro_batch + ahead, is_forward, task});
        if (upstream > transfer.stage + transfer.peer - upstream) is_plain[link] = false;
      }
    }
    for (std::size_t link = 0; link < turns.size(); ++link) {
      if (!is_plain[link]) continue;
      std::sort(turns[link].begin(), turns[link].end(), [](const LinkTurn& a, const LinkTurn& b) {
        return std::tie(a.time, a.is_forward, a.task) < std::tie(b.time, b.is_forward, b.task);
      });
      for (const LinkTurn& turn : turns[link]) list_.order[link].push_back(turn.task);
    }
  }

  void AddAllReduces() {
    const bool has_end = settings_.kind != ScheduleKind::kPipedreamAsync;
    for (std::size_t stage = 0; stage < work_.stages.size(); ++stage) {
      const auto copies = static_cast<int32_t>(work_.stages[stage].devices.size());
      if (copies == 1) continue;
      const int32_t round = has_end ? settings_.micro_batches : copies;
      for (int32_t first = 0; first < settings_.micro_batches; first += round) {
        AddRound(static_cast<int32_t>(stage), first, std::min(first + round, settings_.micro_batches));
      }
    }
  }

  // The reduction of the gradients of the micro-batches first .. end - 1.
  void AddRound(int32_t stage, int32_t first, int32_t end) {
    if (work_.overlap != Overlap::kSerial) {
      AddAllReduce(stage, first, end, RingOf(stage));
      return;
    }
    const std::vector<int32_t>& devices = work_.stages[Index(stage)].devices;
    const bool is_whole_step = end - first == settings_.micro_batches;
    for (std::size_t copy = 0; copy < devices.size(); ++copy) {
      const int32_t task = AddAllReduce(stage, first, end, devices[copy]);
      // The other copies are up to a round behind: reducing at once would make the device wait for them.
      const auto next = static_cast<int32_t>(first + std::ssize(devices) + static_cast<int32_t>(copy));
      if (is_whole_step || next >= settings_.micro_batches) {
        reductions_at_end_.push_back(task);
      } else {
        reductions_after_.emplace(numbers_.OfPass({numbers_.LastBackward(), stage, next}), task);
      }
    }
  }

  // Waits for the last backward passes of the micro-batches first .. end - 1.
  int32_t AddAllReduce(int32_t stage, int32_t first, int32_t end, int32_t resource) {
    const auto task = static_cast<int32_t>(list_.tasks.size());
    list_.tasks.push_back({.kind = TaskKind::kAllReduce,
                           .stage = stage,
                           .micro_batch = first,
                           .resource = resource,
                           .duration = work_.stages[Index(stage)].allreduce});
    for (int32_t micro_batch = first; micro_batch < end; ++micro_batch) {
      Wait(task, numbers_.OfPass({numbers_.LastBackward(), stage, micro_batch}));
    }
    return task;
  }

  int32_t RingOf(int32_t stage) {
    const auto [found, is_new] = rings_.try_emplace(stage, static_cast<int32_t>(list_.resources.size()));
    if (is_new) list_.resources.push_back({absl::StrCat("ring of stage ", stage), TaskResource::Kind::kLink, 0});
    return found->second;
  }

  const PipelineWork& work_;
  const ScheduleSettings& settings_;
  const TaskNumbers numbers_;
  const std::vector<std::optional<PassOrder>> orders_;
  TaskList list_;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> links_;
  absl::flat_hash_map<int32_t, int32_t> rings_;
  // All-reduces that occupy a device: after which of its passes, or after all.
  absl::flat_hash_map<int32_t, int32_t> reductions_after_;
  std::vector<int32_t> reductions_at_end_;
};

}  // namespace

absl::StatusOr<TaskList> BuildTaskList(const PipelineWork& work, const ScheduleSettings& settings) {
  const TaskNumbers numbers(work, settings.recompute, settings.kind == ScheduleKind::kZeroBubbleH1);
  Violations violations;
  CheckExtent(ExtentOf(work, numbers), settings.micro_batches, violations);
  RETURN_IF_ERROR(violations.ToStatus());
  CheckFitsSchedule(work, settings, violations);
  RETURN_IF_ERROR(violations.ToStatus());
  std::vector<std::optional<PassOrder>> orders =
      settings.order.empty() ? OrdersOfSchedule(work, settings) : GivenOrders(work, settings, numbers, violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return TaskListBuilder(work, settings, numbers, std::move(orders)).Build();
}

}  // namespace planwright
