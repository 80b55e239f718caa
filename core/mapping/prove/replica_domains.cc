#include "core/mapping/prove/replica_domains.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace planwright {

ReplicaDomains::ReplicaDomains(const ReplicaModel& model) : model_(model) {
  const std::size_t devices = Index(model.num_devices());
  const std::size_t places = Index(model.num_stages()) * devices;
  const std::size_t supports = model.links().size() * devices;
  stages_of_.resize(devices);
  is_free_.resize(devices);
  count_.resize(Index(model.num_stages()));
  room_.resize(places);
  total_.resize(places);
  is_queued_.resize(places);
  least_.resize(supports);
  first_.resize(supports);
  supporter_.resize(supports);
}

bool ReplicaDomains::Reset(std::span<const int32_t> devices, int32_t replicas, double target_ms,
                           std::span<const double> surcharge_ms, Poller& poller) {
  Clear();
  replicas_left_ = replicas;
  for (const int32_t device : devices) {
    SetFree(device, true);
    uint64_t stages = 0;
    for (int32_t stage = 0; stage < model_.num_stages(); ++stage) {
      const double surcharge = surcharge_ms.empty() ? 0 : surcharge_ms[At(stage, device)];
      room_[At(stage, device)] = model_.Room(stage, device, target_ms, surcharge);
      if (Room(stage, device) >= 0) stages |= BitOfStage(stage);
    }
    ChangeStages(device, stages);
  }
  for (int32_t link = 0; link < static_cast<int32_t>(model_.links().size()); ++link) {
    for (const int32_t device : devices) {
      if (MustStop(poller)) return true;
      const int32_t stage = model_.links()[Index(link)].stage;
      if (Has(stage, device) && !FindSupport(link, device)) Remove(stage, device);
    }
  }
  for (const int32_t device : devices) {
    for (int32_t stage = 0; stage < model_.num_stages(); ++stage) Touch(stage, device);
  }
  const bool is_possible = Propagate(poller);
  trail_.clear();
  return is_possible;
}

void ReplicaDomains::Clear() {
  ClearQueue();
  trail_.clear();
  num_free_ = 0;
  num_dead_ = 0;
  std::fill(stages_of_.begin(), stages_of_.end(), 0);
  std::fill(is_free_.begin(), is_free_.end(), 0);
  std::fill(count_.begin(), count_.end(), 0);
  std::fill(least_.begin(), least_.end(), 0);
  std::fill(total_.begin(), total_.end(), 0);
  std::fill(first_.begin(), first_.end(), 0);
}

bool ReplicaDomains::TakeReplica(std::span<const int32_t> devices, Poller& poller) {
  trail_.push_back({.what = Saved::What::kReplicas, .at = 0, .first = replicas_left_});
  --replicas_left_;
  for (const int32_t device : devices) TakeAway(device);
  return Propagate(poller);
}

bool ReplicaDomains::LeaveIdle(int32_t device, Poller& poller) {
  TakeAway(device);
  return Propagate(poller);
}

void ReplicaDomains::TakeAway(int32_t device) {
  uint64_t stages = StagesOf(device);
  SetStages(device, 0);
  trail_.push_back({.what = Saved::What::kFree, .at = Index(device)});
  SetFree(device, false);
  for (; stages != 0; stages &= stages - 1) Touch(std::countr_zero(stages), device);
}

void ReplicaDomains::UndoTo(std::size_t mark) {
  ClearQueue();
  for (; trail_.size() > mark; trail_.pop_back()) {
    const Saved& saved = trail_.back();
    switch (saved.what) {
      case Saved::What::kStages:
        ChangeStages(static_cast<int32_t>(saved.at), saved.stages);
        break;
      case Saved::What::kTotal:
        total_[saved.at] = saved.value;
        break;
      case Saved::What::kSupport:
        least_[saved.at] = saved.value;
        first_[saved.at] = saved.first;
        supporter_[saved.at] = saved.device;
        break;
      case Saved::What::kFree:
        SetFree(static_cast<int32_t>(saved.at), true);
        break;
      case Saved::What::kReplicas:
        replicas_left_ = saved.first;
        break;
    }
  }
}

void ReplicaDomains::ClearQueue() {
  for (const std::size_t place : queue_) is_queued_[place] = 0;
  queue_.clear();
}

// REQUIRES: the device has no stages.
void ReplicaDomains::SetFree(int32_t device, bool is_free) {
  is_free_[Index(device)] = is_free ? 1 : 0;
  num_free_ += is_free ? 1 : -1;
  num_dead_ += is_free ? 1 : -1;
}

void ReplicaDomains::Keep(int32_t device, uint64_t stages) {
  uint64_t removed = StagesOf(device) & ~stages;
  for (; removed != 0; removed &= removed - 1) Remove(std::countr_zero(removed), device);
}

bool ReplicaDomains::IsPossible() const {
  if (num_spare() < num_dead_) return false;
  return std::all_of(count_.begin(), count_.end(), [this](int32_t count) { return count >= replicas_left_; });
}

bool ReplicaDomains::Propagate(Poller& poller) {
  while (!queue_.empty()) {
    if (MustStop(poller)) return true;
    const std::size_t place = queue_.back();
    queue_.pop_back();
    is_queued_[place] = 0;
    const auto devices = Index(model_.num_devices());
    Recheck(static_cast<int32_t>(place / devices), static_cast<int32_t>(place % devices));
    if (!IsPossible()) return false;
  }
  return IsPossible();
}

// A step takes microseconds on a large machine.
bool ReplicaDomains::MustStop(Poller& poller) {
  constexpr uint32_t kStepsPerLook = 64;
  return ++steps_ % kStepsPerLook == 0 ? poller.ShouldStopNow() : poller.ShouldStop();
}

// The place was removed or became costlier: whoever it supports may need another supporter.
void ReplicaDomains::Recheck(int32_t stage, int32_t device) {
  for (const StageLink& link : model_.LinksOf(stage)) {
    const int32_t reverse = link.reverse;
    const int32_t* supporters = &supporter_[At(reverse, 0)];
    work_ += model_.num_devices() / 8 + 1;
    for (int32_t other = 0; other < model_.num_devices(); ++other) {
      if (supporters[other] != device || !Has(link.other, other)) continue;
      const double least = Least(reverse, other);
      if (Has(stage, device) && Supports(model_.links()[Index(reverse)], other, device, least)) continue;
      if (!FindSupport(reverse, other)) Remove(link.other, other);
    }
  }
}

bool ReplicaDomains::Supports(const StageLink& link, int32_t device, int32_t other, double time_ms) const {
  const auto position = static_cast<int32_t>(&link - model_.links().data());
  return Total(link.stage, device) - Least(position, device) + time_ms <= Room(link.stage, device) &&
         Total(link.other, other) - Least(link.reverse, other) + time_ms <= Room(link.other, other);
}

bool ReplicaDomains::IsSupport(const StageLink& link, int32_t device, const NearDevice& near) const {
  return Has(link.other, near.device) && Supports(link, device, near.device, model_.TimeOf(link, device, near.device));
}

int32_t ReplicaDomains::Advance(const StageLink& link, int32_t device, int32_t first) const {
  const std::span<const NearDevice> near = model_.NearOf(device);
  const double most = Room(link.stage, device);
  while (Index(first) < near.size()) {
    const NearDevice& candidate = near[Index(first)];
    if (model_.LeastTimeOf(link, candidate.ms_per_byte) > most) return static_cast<int32_t>(near.size());
    if (IsSupport(link, device, candidate)) return first;
    ++first;
  }
  return first;
}

// Finds the least supporter of the link from where it last was. False: there is none, or the place has no room for it.
bool ReplicaDomains::FindSupport(int32_t link, int32_t device) {
  const StageLink& traffic = model_.links()[Index(link)];
  const std::span<const NearDevice> near = model_.NearOf(device);
  const int32_t start = first_[At(link, device)];
  const int32_t first = Advance(traffic, device, start);
  int32_t supporter = -1;
  double least = std::numeric_limits<double>::infinity();
  int32_t position = first;
  for (; Index(position) < near.size(); ++position) {
    const NearDevice& candidate = near[Index(position)];
    if (model_.LeastTimeOf(traffic, candidate.ms_per_byte) >= least) break;
    const double time = model_.TimeOf(traffic, device, candidate.device);
    if (time >= least || !IsSupport(traffic, device, candidate)) continue;
    least = time;
    supporter = candidate.device;
  }
  work_ += position - start + 1;
  // What lies beyond the list may be nearer than what was found, too: links have latencies and two directions.
  const bool looks_beyond = Index(position) == near.size() && !near.empty() && !model_.ListsAll();
  if (looks_beyond && model_.LeastTimeOf(traffic, near.back().ms_per_byte) < least) {
    least = model_.LeastTimeOf(traffic, near.back().ms_per_byte);
    supporter = -1;
  }
  if (least > Room(traffic.stage, device)) return false;
  SetSupport(link, device, first, supporter, least);
  return Total(traffic.stage, device) <= Room(traffic.stage, device);
}

void ReplicaDomains::SetSupport(int32_t link, int32_t device, int32_t first, int32_t supporter, double least) {
  const std::size_t at = At(link, device);
  trail_.push_back(
      {.what = Saved::What::kSupport, .at = at, .value = least_[at], .first = first_[at], .device = supporter_[at]});
  first_[at] = first;
  supporter_[at] = supporter;
  if (least == least_[at]) return;
  least_[at] = least;
  const int32_t stage = model_.links()[Index(link)].stage;
  double total = 0;
  for (int32_t own = model_.first_link(stage); own < model_.first_link(stage + 1); ++own) total += Least(own, device);
  trail_.push_back({.what = Saved::What::kTotal, .at = At(stage, device), .value = Total(stage, device)});
  total_[At(stage, device)] = total;
  Touch(stage, device);
}

void ReplicaDomains::SetStages(int32_t device, uint64_t stages) {
  if (StagesOf(device) == stages) return;
  trail_.push_back({.what = Saved::What::kStages, .at = Index(device), .stages = StagesOf(device)});
  ChangeStages(device, stages);
}

// REQUIRES: the device is free.
void ReplicaDomains::ChangeStages(int32_t device, uint64_t stages) {
  uint64_t& now = stages_of_[Index(device)];
  for (uint64_t changed = now ^ stages; changed != 0; changed &= changed - 1) {
    const auto stage = static_cast<unsigned>(std::countr_zero(changed));
    count_[stage] += (stages >> stage & 1U) != 0 ? 1 : -1;
  }
  num_dead_ += (stages == 0 ? 1 : 0) - (now == 0 ? 1 : 0);
  now = stages;
}

void ReplicaDomains::Remove(int32_t stage, int32_t device) {
  SetStages(device, StagesOf(device) & ~BitOfStage(stage));
  Touch(stage, device);
}

void ReplicaDomains::Touch(int32_t stage, int32_t device) {
  const std::size_t place = At(stage, device);
  if (is_queued_[place] != 0) return;
  is_queued_[place] = 1;
  queue_.push_back(place);
}

}  // namespace planwright
