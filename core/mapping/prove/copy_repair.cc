#include "core/mapping/prove/copy_repair.h"

#include <algorithm>

namespace planwright {
namespace {

// Enough to search two copies of some stages completely; most attempts fail long before.
constexpr int64_t kWorkOfAttempt = 1'000'000;
constexpr uint64_t kMostFreed = 6;
// Idle devices that a repair may use beside those it frees.
constexpr std::size_t kMostIdle = 4;
// How far below the largest load repaired copies have to come.
constexpr double kJustBelow = 1 - 1e-6;

}  // namespace

CopyRepair::CopyRepair(const CopyModel& model, const DeviceSymmetry& symmetry)
    : model_(model), cover_(model, symmetry) {}

double CopyRepair::LoadOf(const std::vector<int32_t>& devices) const {
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

bool CopyRepair::Improve(CopyPlaces& copies, double bound_ms, int64_t work, RandomStream& random, Poller& poller) {
  loads_.clear();
  for (const std::vector<int32_t>& copy : copies) loads_.push_back(LoadOf(copy));
  const double first = *std::max_element(loads_.begin(), loads_.end());
  while (work > 0 && !poller.ShouldStopNow()) {
    const auto worst = static_cast<std::size_t>(std::max_element(loads_.begin(), loads_.end()) - loads_.begin());
    const double target = std::max(bound_ms, loads_[worst] * kJustBelow);
    if (target >= loads_[worst]) break;
    Choose(copies, worst, random);
    Free(copies, random);
    const int64_t before = cover_.work();
    const CoverAnswer answer = cover_.Ask({.devices = freed_,
                                           .copies = static_cast<int32_t>(chosen_.size()),
                                           .target_ms = target,
                                           .work = std::min(work, kWorkOfAttempt),
                                           .is_shuffled = true,
                                           .seed = random.Next()},
                                          poller);
    work -= cover_.work() - before + model_.num_devices();
    if (answer != CoverAnswer::kFound) continue;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      copies[chosen_[i]] = cover_.copies()[i];
      loads_[chosen_[i]] = LoadOf(copies[chosen_[i]]);
    }
  }
  return *std::max_element(loads_.begin(), loads_.end()) < first;
}

// The worst copy and some others: mostly such as hold devices near to its own.
void CopyRepair::Choose(const CopyPlaces& copies, std::size_t worst, RandomStream& random) {
  std::vector<std::size_t> copy_on(Index(model_.num_devices()), copies.size());
  for (std::size_t copy = 0; copy < copies.size(); ++copy) {
    for (const int32_t device : copies[copy]) copy_on[Index(device)] = copy;
  }
  chosen_ = {worst};
  const std::size_t count = std::min(copies.size(), static_cast<std::size_t>(2 + random.Below(kMostFreed - 1)));
  while (chosen_.size() < count) {
    std::size_t other = static_cast<std::size_t>(random.Below(copies.size()));
    if (random.Below(4) != 0) {
      const int32_t device = copies[worst][static_cast<std::size_t>(random.Below(copies[worst].size()))];
      const auto near = model_.NearOf(device);
      const std::size_t reach = std::min(near.size(), 4 * Index(model_.num_stages()));
      other = copy_on[Index(near[static_cast<std::size_t>(random.Below(reach))].device)];
    }
    if (other == copies.size() || std::find(chosen_.begin(), chosen_.end(), other) != chosen_.end()) {
      other = static_cast<std::size_t>(random.Below(copies.size()));
    }
    if (std::find(chosen_.begin(), chosen_.end(), other) == chosen_.end()) chosen_.push_back(other);
  }
}

void CopyRepair::Free(const CopyPlaces& copies, RandomStream& random) {
  freed_.clear();
  for (const std::size_t copy : chosen_) freed_.insert(freed_.end(), copies[copy].begin(), copies[copy].end());
  std::vector<uint8_t> is_used(Index(model_.num_devices()), 0);
  for (const std::vector<int32_t>& copy : copies) {
    for (const int32_t device : copy) is_used[Index(device)] = 1;
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
