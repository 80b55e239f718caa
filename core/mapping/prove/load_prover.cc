#include "core/mapping/prove/load_prover.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/mapping/problem/target_precision.h"

namespace planwright {
namespace {

constexpr double kFirstStride = 1e-6;
constexpr double kStrideGrowth = 4;
constexpr double kLeastAmbition = 1.0 / 64;

}  // namespace

LoadProver::LoadProver(const ReplicaModel& model, const DeviceSymmetry& symmetry, std::span<const double> surcharge_ms,
                       const std::vector<double>& star_loads)
    : model_(model),
      surcharge_ms_(surcharge_ms),
      refuter_(model, symmetry, surcharge_ms, star_loads),
      cover_(model, symmetry),
      devices_(Index(model.num_devices())),
      stride_(kFirstStride) {
  std::iota(devices_.begin(), devices_.end(), 0);
}

void LoadProver::Raise(double value_ms, const std::string& method) {
  if (value_ms <= bound_ms_) return;
  bound_ms_ = value_ms;
  method_ = method;
}

std::optional<ReplicaPlaces> LoadProver::Step(double value_ms, int64_t work, Poller& poller) {
  if (phase_ == Phase::kCover) return Search(value_ms, work, poller);
  const int64_t before = refuter_.work();
  while (phase_ != Phase::kCover && bound_ms_ < value_ms * kJustBelowValue && refuter_.work() - before < work &&
         !poller.ShouldStopNow()) {
    Filter(value_ms, work - (refuter_.work() - before), poller);
  }
  return std::nullopt;
}

double LoadProver::NextTarget(double value_ms) const {
  const double gallop = bound_ms_ * (1 + stride_);
  const double next = std::isinf(open_ms_) ? gallop : std::sqrt(bound_ms_ * open_ms_);
  return std::min(next, value_ms * kJustBelowValue);
}

void LoadProver::Filter(double value_ms, int64_t work, Poller& poller) {
  const double target = NextTarget(value_ms);
  const bool by_matching = phase_ == Phase::kMatching;
  const bool is_refuted =
      by_matching ? refuter_.RefutesByMatching(target, poller) : refuter_.RefutesByEmbedding(target, work, poller);
  if (is_refuted) {
    Raise(target, by_matching ? "matching" : "embedding");
    stride_ *= kStrideGrowth;
  } else {
    open_ms_ = target;
    allowed_ = refuter_.Allowed();
  }
  if (open_ms_ <= bound_ms_ * kTargetsMeet) EndPhase();
}

void LoadProver::EndPhase() {
  if (phase_ == Phase::kMatching) {
    phase_ = Phase::kEmbedding;
    stride_ = kFirstStride;
    open_ms_ = std::numeric_limits<double>::infinity();
    return;
  }
  phase_ = Phase::kCover;
}

std::optional<ReplicaPlaces> LoadProver::Search(double value_ms, int64_t work, Poller& poller) {
  const double target = std::min(bound_ms_ + (value_ms - bound_ms_) * ambition_, value_ms * kJustBelowValue);
  if (target <= bound_ms_) return std::nullopt;
  if (refuter_.RefutesByEmbedding(target, work / 4, poller)) {
    Raise(target, "embedding");
    return std::nullopt;
  }
  const std::vector<uint64_t> allowed = refuter_.Allowed();
  const ReplicaCoverAnswer answer = cover_.Ask({.devices = devices_,
                                                .replicas = model_.num_replicas(),
                                                .target_ms = target,
                                                .surcharge_ms = surcharge_ms_,
                                                .allowed = allowed,
                                                .work = work},
                                               poller);
  if (answer == ReplicaCoverAnswer::kFound) return cover_.replicas();
  if (answer == ReplicaCoverAnswer::kNone) {
    Raise(target, "cover_search");
    ambition_ = std::min(1.0, 2 * ambition_);
  } else {
    ambition_ = ambition_ <= kLeastAmbition ? 1 : ambition_ / 2;
  }
  return std::nullopt;
}

}  // namespace planwright
