#include "core/mapping/prove/stage_matching.h"

#include <bit>

namespace planwright {

StageMatching::StageMatching(const ReplicaModel& model) : model_(model), match_(Index(model.num_devices())) {}

uint64_t StageMatching::AllowedOf(const ReplicaDomains& domains, int32_t device) const {
  return domains.StagesOf(device) | (domains.num_spare() > 0 ? BitOfStage(idle_) : 0);
}

void StageMatching::Gather(const ReplicaDomains& domains) {
  idle_ = model_.num_stages();
  devices_.clear();
  for (int32_t device = 0; device < model_.num_devices(); ++device) {
    if (domains.IsFree(device)) devices_.push_back(device);
    match_[Index(device)] = -1;
  }
  room_.fill(domains.replicas_left());
  room_[Index(idle_)] = domains.num_spare();
  for (auto& row : exchanges_) row.fill(0);
}

bool StageMatching::Prune(ReplicaDomains& domains) {
  Gather(domains);
  work_ += static_cast<int64_t>(devices_.size()) * 4;
  for (const int32_t device : devices_) {
    // Whoever has most room left, the stages before idleness.
    int32_t best = -1;
    for (uint64_t stages = domains.StagesOf(device); stages != 0; stages &= stages - 1) {
      const int32_t stage = std::countr_zero(stages);
      if (room_[Index(stage)] > (best < 0 ? 0 : room_[Index(best)])) best = stage;
    }
    if (best >= 0) Match(domains, device, best);
  }
  for (const int32_t device : devices_) {
    if (match_[Index(device)] < 0 && !Augment(domains, device)) return false;
  }
  const std::array<uint64_t, kNodes> reachable = Reachable();
  for (const int32_t device : devices_) {
    const int32_t own = match_[Index(device)];
    uint64_t kept = 0;
    for (uint64_t stages = domains.StagesOf(device); stages != 0; stages &= stages - 1) {
      const int32_t stage = std::countr_zero(stages);
      if (stage == own || (reachable[Index(stage)] & BitOfStage(own)) != 0) kept |= BitOfStage(stage);
    }
    domains.Keep(device, kept);
  }
  return true;
}

void StageMatching::Match(const ReplicaDomains& domains, int32_t device, int32_t stage) {
  match_[Index(device)] = stage;
  --room_[Index(stage)];
  for (uint64_t others = AllowedOf(domains, device); others != 0; others &= others - 1) {
    ++exchanges_[Index(stage)][static_cast<std::size_t>(std::countr_zero(others))];
  }
}

void StageMatching::Unmatch(const ReplicaDomains& domains, int32_t device) {
  const int32_t stage = match_[Index(device)];
  match_[Index(device)] = -1;
  ++room_[Index(stage)];
  for (uint64_t others = AllowedOf(domains, device); others != 0; others &= others - 1) {
    --exchanges_[Index(stage)][static_cast<std::size_t>(std::countr_zero(others))];
  }
}

// Searches breadth first for a stage with room, from those that the device allows.
bool StageMatching::Augment(const ReplicaDomains& domains, int32_t device) {
  std::array<int32_t, kNodes> from{};
  std::vector<int32_t> queue;
  uint64_t seen = AllowedOf(domains, device);
  for (uint64_t stages = seen; stages != 0; stages &= stages - 1) {
    queue.push_back(std::countr_zero(stages));
    from[Index(queue.back())] = -1;
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    int32_t stage = queue[head];
    if (room_[Index(stage)] > 0) {
      for (; from[Index(stage)] >= 0; stage = from[Index(stage)]) {
        Match(domains, PassOn(domains, from[Index(stage)], stage), stage);
      }
      Match(domains, device, stage);
      return true;
    }
    for (int32_t next = 0; next <= idle_; ++next) {
      if ((seen & BitOfStage(next)) != 0 || exchanges_[Index(stage)][Index(next)] == 0) continue;
      seen |= BitOfStage(next);
      from[Index(next)] = stage;
      queue.push_back(next);
    }
  }
  return false;
}

// Frees a device matched to `from` that allows `to`. REQUIRES: there is one.
int32_t StageMatching::PassOn(const ReplicaDomains& domains, int32_t from, int32_t to) {
  work_ += static_cast<int64_t>(devices_.size());
  for (const int32_t device : devices_) {
    if (match_[Index(device)] != from || (AllowedOf(domains, device) & BitOfStage(to)) == 0) continue;
    Unmatch(domains, device);
    return device;
  }
  return -1;
}

std::array<uint64_t, StageMatching::kNodes> StageMatching::Reachable() const {
  std::array<uint64_t, kNodes> reachable{};
  for (int32_t stage = 0; stage <= idle_; ++stage) {
    for (int32_t next = 0; next <= idle_; ++next) {
      if (exchanges_[Index(stage)][Index(next)] > 0) reachable[Index(stage)] |= BitOfStage(next);
    }
  }
  for (int32_t via = 0; via <= idle_; ++via) {
    for (int32_t stage = 0; stage <= idle_; ++stage) {
      if ((reachable[Index(stage)] & BitOfStage(via)) != 0) reachable[Index(stage)] |= reachable[Index(via)];
    }
  }
  return reachable;
}

}  // namespace planwright
