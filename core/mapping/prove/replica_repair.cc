#include "core/mapping/prove/replica_repair.h"

#include <algorithm>

namespace planwright {
namespace {

// Enough to search two replicas of some stages completely; most attempts fail long before.
constexpr int64_t kWorkOfAttempt = 1'000'000;
constexpr uint64_t kMostFreed = 6;
// Idle devices that a repair may use beside those it frees.
constexpr std::size_t kMostIdle = 4;
// How far below the largest load repaired replicas have to come.
constexpr double kJustBelow = 1 - 1e-6;

}  // namespace

ReplicaRepair::ReplicaRepair(const ReplicaModel& model, const DeviceSymmetry& symmetry)
    : model_(model), cover_(model, symmetry) {}

double ReplicaRepair::LoadOf(const std::vector<int32_t>& devices) const {
  double largest = 0;
  for (int32_t stage = 0; stage < model_.num_stages(); ++stage) {
    const int32_t device = devices[Index(stage)];
    double transfers = 0;
    for (const StageLink& link : model_.LinksOf(stage)) {
      transfers += model_.TimeOf(link, device, devices[Index(link.other)]);
    }
    const double compute = model_.instance().ComputeMs(stage, model_.device(device));
    largest = std::max(largest, model_.WeightedLoad(compute, transfers, 0));
  }
  return largest;
}

bool ReplicaRepair::Improve(ReplicaPlaces& replicas, double bound_ms, int64_t work, RandomStream& random,
                            Poller& poller) {
  loads_.clear();
  for (const std::vector<int32_t>& replica : replicas) loads_.push_back(LoadOf(replica));
  const double first = *std::max_element(loads_.begin(), loads_.end());
  while (work > 0 && !poller.ShouldStopNow()) {
    const auto worst = static_cast<std::size_t>(std::max_element(loads_.begin(), loads_.end()) - loads_.begin());
    const double target = std::max(bound_ms, loads_[worst] * kJustBelow);
    if (target >= loads_[worst]) break;
    Choose(replicas, worst, random);
    Free(replicas, random);
    const int64_t before = cover_.work();
    const ReplicaCoverAnswer answer = cover_.Ask({.devices = freed_,
                                                  .replicas = static_cast<int32_t>(chosen_.size()),
                                                  .target_ms = target,
                                                  .work = std::min(work, kWorkOfAttempt),
                                                  .is_shuffled = true,
                                                  .seed = random.Next()},
                                                 poller);
    work -= cover_.work() - before + model_.num_devices();
    if (answer != ReplicaCoverAnswer::kFound) continue;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      replicas[chosen_[i]] = cover_.replicas()[i];
      loads_[chosen_[i]] = LoadOf(replicas[chosen_[i]]);
    }
  }
  return *std::max_element(loads_.begin(), loads_.end()) < first;
}

// The worst replica and some others: mostly such as hold devices near to its own.
void ReplicaRepair::Choose(const ReplicaPlaces& replicas, std::size_t worst, RandomStream& random) {
  std::vector<std::size_t> replica_on(Index(model_.num_devices()), replicas.size());
  for (std::size_t replica = 0; replica < replicas.size(); ++replica) {
    for (const int32_t device : replicas[replica]) replica_on[Index(device)] = replica;
  }
  chosen_ = {worst};
  const std::size_t count = std::min(replicas.size(), static_cast<std::size_t>(2 + random.Below(kMostFreed - 1)));
  while (chosen_.size() < count) {
    auto other = static_cast<std::size_t>(random.Below(replicas.size()));
    if (random.Below(4) != 0) {
      const int32_t device = replicas[worst][static_cast<std::size_t>(random.Below(replicas[worst].size()))];
      const auto near = model_.NearOf(device);
      const std::size_t reach = std::min(near.size(), 4 * Index(model_.num_stages()));
      other = replica_on[Index(near[static_cast<std::size_t>(random.Below(reach))].device)];
    }
    if (other == replicas.size() || std::find(chosen_.begin(), chosen_.end(), other) != chosen_.end()) {
      other = static_cast<std::size_t>(random.Below(replicas.size()));
    }
    if (std::find(chosen_.begin(), chosen_.end(), other) == chosen_.end()) chosen_.push_back(other);
  }
}

void ReplicaRepair::Free(const ReplicaPlaces& replicas, RandomStream& random) {
  freed_.clear();
  for (const std::size_t replica : chosen_)
    freed_.insert(freed_.end(), replicas[replica].begin(), replicas[replica].end());
  std::vector<uint8_t> is_used(Index(model_.num_devices()), 0);
  for (const std::vector<int32_t>& replica : replicas) {
    for (const int32_t device : replica) is_used[Index(device)] = 1;
  }
  std::vector<int32_t> idle;
  for (int32_t device = 0; device < model_.num_devices(); ++device) {
    if (is_used[Index(device)] == 0) idle.push_back(device);
  }
  for (std::size_t i = 0; i < kMostIdle && !idle.empty(); ++i) {
    const auto at = static_cast<std::size_t>(random.Below(idle.size()));
    freed_.push_back(idle[at]);
    idle[at] = idle.back();
    idle.pop_back();
  }
  std::sort(freed_.begin(), freed_.end());
}

}  // namespace planwright
