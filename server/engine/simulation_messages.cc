#include "server/engine/simulation_messages.h"

#include <utility>

#include "core/base/index.h"
#include "server/codec/simulation.h"

namespace planwright::server {
namespace {

// The most bytes of one message, and what a task needs in it beside its own bytes.
constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 20;
constexpr std::size_t kTaskFrameBytes = 6;
constexpr std::size_t kMessageFrameBytes = 64;

TaskGraph Reversed(const TaskList& list, bool wanted) {
  if (!wanted) return {0, {}};
  std::vector<Precedence> reversed;
  reversed.reserve(list.precedences.size());
  for (const auto& [before, after] : list.precedences) reversed.push_back({after, before});
  return {list.tasks.size(), reversed};
}

}  // namespace

SimulationMessages::SimulationMessages(PlanSimulation simulation, int64_t samples_per_micro_batch, bool with_timeline)
    : simulation_(std::move(simulation)),
      samples_per_micro_batch_(samples_per_micro_batch),
      with_timeline_(with_timeline),
      waits_for_(Reversed(simulation_.list, with_timeline)),
      ids_(simulation_.list.tasks.size()) {
  const std::vector<int32_t>& sequence = simulation_.timeline.sequence;
  for (std::size_t i = 0; i < sequence.size(); ++i) ids_[Index(sequence[i])] = static_cast<int32_t>(i);
}

int64_t SimulationMessages::bytes() const {
  const TaskList& list = simulation_.list;
  // The tasks with their times, places in the timeline and precedences, which are there twice.
  constexpr std::size_t kBytesPerTask = sizeof(Task) + 2 * sizeof(Picoseconds) + 4 * sizeof(int32_t);
  constexpr std::size_t kBytesPerPrecedence = sizeof(Precedence) + sizeof(int32_t);
  constexpr std::size_t kBytesPerResource = 256;
  std::size_t uses = 0;
  for (const std::vector<LinkUse>& of_task : list.link_uses) uses += of_task.size();
  return static_cast<int64_t>(list.tasks.size() * kBytesPerTask + list.precedences.size() * kBytesPerPrecedence +
                              list.resources.size() * kBytesPerResource + uses * sizeof(LinkUse) + kMaxMessageBytes);
}

std::optional<v1::SimulatePlanResponse> SimulationMessages::Next() {
  v1::SimulatePlanResponse response;
  if (!std::exchange(has_summary_, true)) {
    *response.mutable_summary() = EncodeSummary(simulation_, samples_per_micro_batch_);
    return response;
  }
  const std::size_t tasks = with_timeline_ ? simulation_.timeline.sequence.size() : 0;
  if (next_ == tasks) return std::nullopt;
  v1::TimelineChunk& chunk = *response.mutable_timeline();
  std::size_t bytes = kMessageFrameBytes;
  while (next_ < tasks) {
    v1::SimulatedTask task = TaskAt(next_);
    bytes += task.ByteSizeLong() + kTaskFrameBytes;
    if (bytes > kMaxMessageBytes && !chunk.tasks().empty()) break;
    *chunk.add_tasks() = std::move(task);
    ++next_;
  }
  return response;
}

v1::SimulatedTask SimulationMessages::TaskAt(std::size_t position) const {
  const int32_t task = simulation_.timeline.sequence[position];
  v1::SimulatedTask wire;
  wire.set_id(static_cast<int32_t>(position));
  EncodeTask(simulation_, task, wire);
  for (const int32_t before : waits_for_.SuccessorsOf(task)) wire.add_waits_for(ids_[Index(before)]);
  return wire;
}

}  // namespace planwright::server
