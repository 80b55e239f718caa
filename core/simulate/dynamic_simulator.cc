#include "core/simulate/dynamic_simulator.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/simulate/task_graph.h"

namespace planwright {
namespace {

// The next event of each of a fixed number of sources: a tournament tree over them. Setting a time replays
// log2(sources) matches, the winner is at the root. Of equal times the first source wins, so the order of events does
// not depend on that of insertion.
class EventQueue {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  explicit EventQueue(std::size_t sources)
      : leaves_(std::bit_ceil(std::max<std::size_t>(sources, 1))), times_(leaves_, kNever), winners_(2 * leaves_) {
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) winners_[leaves_ + leaf] = static_cast<uint32_t>(leaf);
    for (std::size_t node = leaves_ - 1; node > 0; --node) winners_[node] = winners_[2 * node];
  }

  // When `source` has its next event; kNever: it has none.
  void Set(std::size_t source, int64_t time) {
    times_[source] = time;
    for (std::size_t node = (leaves_ + source) / 2; node > 0; node /= 2) {
      const uint32_t left = winners_[2 * node];
      const uint32_t right = winners_[2 * node + 1];
      winners_[node] = times_[right] < times_[left] ? right : left;
    }
  }

  // The source with the earliest event, and its time.
  std::size_t next() const { return winners_[1]; }
  int64_t next_time() const { return times_[next()]; }

 private:
  std::size_t leaves_;
  std::vector<int64_t> times_;
  // [node]: the source with the earliest event below it; node 1 is the root, leaves begin at leaves_.
  std::vector<uint32_t> winners_;
};

// A link whose transfers share its bandwidth equally.
//
// With n transfers under way each proceeds at 1/n of the speed of the link. The virtual time of the link advances at
// that rate, so a transfer that would take d alone ends when virtual time has advanced by d since its start, whatever
// joins or leaves meanwhile: the next end is the least of a heap, and arrivals and departures cost O(log n) instead of
// a scan. (The idea of virtual time: Zhang, Virtual Clock, 1990; Parekh, Gallager, generalized processor sharing,
// 1993.) Virtual time is whole picoseconds; what a division leaves over is carried on, so that an end is late or early
// by less than a picosecond for each transfer that came or went, and exact for a transfer that has the link to itself.
// Times are picoseconds.
class FairLink {
 public:
  // `transfer` begins at `now` and would take `duration` alone. REQUIRES: now is not before an earlier call's.
  void Begin(int32_t transfer, int64_t duration, int64_t now) {
    Advance(now);
    transfers_.emplace_back(virtual_time_ + duration, transfer);
    std::push_heap(transfers_.begin(), transfers_.end(), std::greater<>());
  }

  bool is_idle() const { return transfers_.empty(); }

  // When the next transfer ends if none begins before. REQUIRES: !is_idle().
  int64_t NextEnd() const {
    return updated_ + (transfers_.front().first - virtual_time_) * static_cast<int64_t>(transfers_.size());
  }

  // Ends the next transfer, at `now`; transfers that end together, by ascending number. REQUIRES: now >= NextEnd().
  int32_t End(int64_t now) {
    std::pop_heap(transfers_.begin(), transfers_.end(), std::greater<>());
    const auto [end, transfer] = transfers_.back();
    transfers_.pop_back();
    virtual_time_ = end;
    updated_ = now;
    return transfer;
  }

 private:
  void Advance(int64_t now) {
    if (transfers_.empty()) {
      virtual_time_ = 0;
      updated_ = now;
      return;
    }
    const auto sharing = static_cast<int64_t>(transfers_.size());
    virtual_time_ += (now - updated_) / sharing;
    updated_ = now - (now - updated_) % sharing;
  }

  int64_t virtual_time_ = 0;
  // The real time that virtual_time_ belongs to.
  int64_t updated_ = 0;
  // A heap by virtual end, then number.
  std::vector<std::pair<int64_t, int32_t>> transfers_;
};

class DynamicSimulator {
 public:
  DynamicSimulator(const TaskList& list, Contention contention)
      : list_(list),
        graph_(list.tasks.size(), list.precedences),
        work_(list.tasks.size()),
        resources_(list.resources.size()),
        waiting_(list.resources.size()),
        links_(list.resources.size()),
        events_(list.resources.size()) {
    for (std::size_t task = 0; task < list.tasks.size(); ++task) {
      work_[task].duration = list.tasks[task].duration.count();
      work_[task].waits_for = graph_.num_predecessors()[task];
      const int32_t resource = list.tasks[task].resource;
      work_[task].resource = list.order[Index(resource)].empty() ? resource : kNoResource;
    }
    for (std::size_t i = 0; i < list.order.size(); ++i) {
      for (const int32_t task : list.order[i]) work_[Index(task)].resource = static_cast<int32_t>(i);
    }
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      const bool is_shared =
          contention == Contention::kFairShare && list.resources[i].kind == TaskResource::Kind::kLink;
      if (!list.order[i].empty()) {
        resources_[i].discipline = Discipline::kOrdered;
      } else if (is_shared) {
        resources_[i].discipline = Discipline::kShared;
      }
    }
  }

  Timeline Run() {
    timeline_.starts.resize(work_.size());
    timeline_.ends.resize(work_.size());
    timeline_.sequence.reserve(work_.size());
    // Whatever has an order starts with its first task, which may be ready before anything has ended.
    for (std::size_t i = 0; i < resources_.size(); ++i) Touch(static_cast<int32_t>(i));
    for (std::size_t task = 0; task < work_.size(); ++task) {
      if (graph_.num_predecessors()[task] == 0) MakeReady(static_cast<int32_t>(task));
    }
    while (true) {
      for (const int32_t resource : touched_) Dispatch(resource);
      touched_.clear();
      now_ = events_.next_time();
      if (now_ == EventQueue::kNever) return std::move(timeline_);
      EndDue();
    }
  }

 private:
  // First come, first served: when a task became ready, and which.
  using Waiting = std::pair<int64_t, int32_t>;

  static constexpr int32_t kNoResource = -1;

  enum class Discipline : uint8_t { kOrdered, kFirstCome, kShared };

  struct Resource {
    Discipline discipline = Discipline::kFirstCome;
    bool is_busy = false;
    // Whether it is among touched_.
    bool is_touched = false;
    int32_t running = 0;
    // kOrdered: how many of its tasks have been started.
    uint32_t started = 0;
  };

  void Touch(int32_t resource) {
    if (std::exchange(resources_[Index(resource)].is_touched, true)) return;
    touched_.push_back(resource);
  }

  void MakeReady(int32_t task) {
    const int32_t resource = work_[Index(task)].resource;
    if (resource == kNoResource) return RunAtOnce(task);
    if (resources_[Index(resource)].discipline != Discipline::kOrdered) {
      std::vector<Waiting>& waiting = waiting_[Index(resource)];
      waiting.emplace_back(now_, task);
      std::push_heap(waiting.begin(), waiting.end(), std::greater<>());
    }
    Touch(resource);
  }

  // Ends everything that ends at `now_`.
  void EndDue() {
    while (events_.next_time() == now_) {
      const std::size_t source = events_.next();
      Resource& resource = resources_[source];
      Touch(static_cast<int32_t>(source));
      if (resource.discipline != Discipline::kShared) {
        events_.Set(source, EventQueue::kNever);
        resource.is_busy = false;
        End(resource.running);
        continue;
      }
      FairLink& link = links_[source];
      while (!link.is_idle() && link.NextEnd() <= now_) End(link.End(now_));
      events_.Set(source, link.is_idle() ? EventQueue::kNever : link.NextEnd());
    }
  }

  void End(int32_t task) {
    timeline_.ends[Index(task)] = Picoseconds(now_);
    for (const int32_t successor : graph_.SuccessorsOf(task)) {
      if (--work_[Index(successor)].waits_for == 0) MakeReady(successor);
    }
  }

  // Starts what the resource may start now.
  void Dispatch(int32_t resource) {
    resources_[Index(resource)].is_touched = false;
    switch (resources_[Index(resource)].discipline) {
      case Discipline::kOrdered:
        DispatchOrdered(resource);
        break;
      case Discipline::kFirstCome:
        DispatchFirstCome(resource);
        break;
      case Discipline::kShared:
        DispatchShared(resource);
        break;
    }
  }

  void Start(int32_t task, int32_t resource) {
    Resource& state = resources_[Index(resource)];
    state.is_busy = true;
    state.running = task;
    timeline_.starts[Index(task)] = Picoseconds(now_);
    timeline_.sequence.push_back(task);
    events_.Set(Index(resource), now_ + work_[Index(task)].duration);
  }

  // A task that takes no time and waits for no resource.
  void RunAtOnce(int32_t task) {
    timeline_.starts[Index(task)] = Picoseconds(now_);
    timeline_.sequence.push_back(task);
    End(task);
  }

  void DispatchOrdered(int32_t resource) {
    Resource& state = resources_[Index(resource)];
    const std::vector<int32_t>& order = list_.order[Index(resource)];
    if (state.is_busy || state.started == order.size() || work_[Index(order[state.started])].waits_for > 0) return;
    Start(order[state.started++], resource);
  }

  void DispatchFirstCome(int32_t resource) {
    std::vector<Waiting>& waiting = waiting_[Index(resource)];
    if (resources_[Index(resource)].is_busy || waiting.empty()) return;
    std::pop_heap(waiting.begin(), waiting.end(), std::greater<>());
    const int32_t task = waiting.back().second;
    waiting.pop_back();
    Start(task, resource);
  }

  void DispatchShared(int32_t resource) {
    std::vector<Waiting>& waiting = waiting_[Index(resource)];
    FairLink& link = links_[Index(resource)];
    if (waiting.empty()) return;
    std::sort(waiting.begin(), waiting.end());
    for (const auto& [ready, task] : waiting) {
      timeline_.starts[Index(task)] = Picoseconds(now_);
      timeline_.sequence.push_back(task);
      link.Begin(task, work_[Index(task)].duration, now_);
    }
    waiting.clear();
    events_.Set(Index(resource), std::max(now_, link.NextEnd()));
  }

  const TaskList& list_;
  const TaskGraph graph_;
  // Resource and duration of each task, side by side.
  struct Work {
    int64_t duration = 0;
    // kNoResource: it runs at once.
    int32_t resource = 0;
    int32_t waits_for = 0;
  };
  std::vector<Work> work_;
  std::vector<Resource> resources_;
  std::vector<std::vector<Waiting>> waiting_;
  std::vector<FairLink> links_;
  EventQueue events_;
  std::vector<int32_t> touched_;
  int64_t now_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline SimulateTasks(const TaskList& list, Contention contention) { return DynamicSimulator(list, contention).Run(); }

}  // namespace planwright
