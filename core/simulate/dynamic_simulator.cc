#include "core/simulate/dynamic_simulator.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/index.h"

namespace planwright {

DynamicSimulator::DynamicSimulator(const TaskList& list, Contention contention)
    : list_(list),
      graph_(list.tasks.size(), list.precedences),
      work_(list.tasks.size()),
      resources_(list.resources.size()),
      waiting_(list.resources.size()),
      links_(list.resources.size()),
      events_(list.resources.size()) {
  for (std::size_t task = 0; task < list.tasks.size(); ++task) {
    work_[task].duration = list.tasks[task].duration.count();
    const int32_t resource = list.tasks[task].resource;
    work_[task].resource = list.order[Index(resource)].empty() ? resource : kNoResource;
  }
  for (std::size_t i = 0; i < list.order.size(); ++i) {
    for (const int32_t task : list.order[i]) work_[Index(task)].resource = static_cast<int32_t>(i);
  }
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    const bool is_shared = contention == Contention::kFairShare && list.resources[i].kind == TaskResource::Kind::kLink;
    if (!list.order[i].empty()) {
      resources_[i].discipline = Discipline::kOrdered;
    } else if (is_shared) {
      resources_[i].discipline = Discipline::kShared;
    }
  }
}

Timeline DynamicSimulator::Run() {
  Reset();
  for (std::size_t task = 0; task < work_.size(); ++task) {
    if (graph_.num_predecessors()[task] == 0) MakeReady(static_cast<int32_t>(task));
  }
  while (true) {
    for (const int32_t resource : touched_) Dispatch(resource);
    touched_.clear();
    now_ = events_.next_time();
    if (now_ == EventQueue::kNever) return std::exchange(timeline_, {});
    EndDue();
  }
}

void DynamicSimulator::Reset() {
  for (std::size_t task = 0; task < work_.size(); ++task) work_[task].waits_for = graph_.num_predecessors()[task];
  for (Resource& resource : resources_) resource.started = 0;
  now_ = 0;
  timeline_.starts.resize(work_.size());
  timeline_.ends.resize(work_.size());
  timeline_.sequence.reserve(work_.size());
  // Whatever has an order starts with its first task, which may be ready before anything has ended.
  for (std::size_t i = 0; i < resources_.size(); ++i) Touch(static_cast<int32_t>(i));
}

void DynamicSimulator::Touch(int32_t resource) {
  if (std::exchange(resources_[Index(resource)].is_touched, true)) return;
  touched_.push_back(resource);
}

void DynamicSimulator::MakeReady(int32_t task) {
  const int32_t resource = work_[Index(task)].resource;
  if (resource == kNoResource) return RunAtOnce(task);
  if (resources_[Index(resource)].discipline != Discipline::kOrdered) {
    std::vector<Waiting>& waiting = waiting_[Index(resource)];
    waiting.emplace_back(now_, task);
    std::push_heap(waiting.begin(), waiting.end(), std::greater<>());
  }
  Touch(resource);
}

void DynamicSimulator::EndDue() {
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

void DynamicSimulator::End(int32_t task) {
  timeline_.ends[Index(task)] = Picoseconds(now_);
  for (const int32_t successor : graph_.SuccessorsOf(task)) {
    if (--work_[Index(successor)].waits_for == 0) MakeReady(successor);
  }
}

void DynamicSimulator::Dispatch(int32_t resource) {
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

void DynamicSimulator::Start(int32_t task, int32_t resource) {
  Resource& state = resources_[Index(resource)];
  state.is_busy = true;
  state.running = task;
  timeline_.starts[Index(task)] = Picoseconds(now_);
  timeline_.sequence.push_back(task);
  events_.Set(Index(resource), now_ + work_[Index(task)].duration);
}

void DynamicSimulator::RunAtOnce(int32_t task) {
  timeline_.starts[Index(task)] = Picoseconds(now_);
  timeline_.sequence.push_back(task);
  End(task);
}

void DynamicSimulator::DispatchOrdered(int32_t resource) {
  Resource& state = resources_[Index(resource)];
  const std::vector<int32_t>& order = list_.order[Index(resource)];
  if (state.is_busy || state.started == order.size() || work_[Index(order[state.started])].waits_for > 0) return;
  Start(order[state.started++], resource);
}

void DynamicSimulator::DispatchFirstCome(int32_t resource) {
  std::vector<Waiting>& waiting = waiting_[Index(resource)];
  if (resources_[Index(resource)].is_busy || waiting.empty()) return;
  std::pop_heap(waiting.begin(), waiting.end(), std::greater<>());
  const int32_t task = waiting.back().second;
  waiting.pop_back();
  Start(task, resource);
}

void DynamicSimulator::DispatchShared(int32_t resource) {
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

}  // namespace planwright
