#include "core/mapping/prove/load_prover.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/index.h"
#include "core/mapping/prove/replica_model.h"

namespace planwright {
namespace {

// For one place: what takes longer is taken as part of a replica.
constexpr int64_t kWorkOfPlace = 200'000;

constexpr double kFirstStride = 1e-6;
constexpr double kStrideGrowth = 4;
constexpr double kLeastAmbition = 1.0 / 64;

}  // namespace

LoadRefuter::LoadRefuter(const ReplicaModel& model, const DeviceSymmetry& symmetry,
                         std::span<const double> surcharge_ms, const std::vector<double>& star_loads)
    : model_(model),
      surcharge_ms_(surcharge_ms),
      star_loads_(star_loads),
      domains_(model),
      matching_(model),
      embedder_(model, domains_, symmetry),
      devices_(FirstNumbers(Index(model.num_devices()))) {}

bool LoadRefuter::RefutesByMatching(double target_ms, Poller& poller) {
  return !(Reset(target_ms, poller) && Settle(poller));
}

bool LoadRefuter::RefutesByEmbedding(double target_ms, int64_t work, Poller& poller) {
  if (RefutesByMatching(target_ms, poller)) return true;
  witnesses_.clear();
  witness_of_.assign(star_loads_.size(), -1);
  const int64_t before = work;
  bool has_changed = true;
  bool is_possible = true;
  while (is_possible && has_changed && work > 0 && !poller.ShouldStopNow()) {
    has_changed = false;
    is_possible = FilterOnce(work, has_changed, poller) && Settle(poller);
  }
  work_ += before - work;
  return !is_possible;
}

std::vector<uint64_t> LoadRefuter::Allowed() const {
  return Mapped(devices_, [&](const int32_t device) { return domains_.StagesOf(device); });
}

bool LoadRefuter::Reset(double target_ms, Poller& poller) {
  if (!domains_.Reset(devices_, model_.num_replicas(), target_ms, surcharge_ms_, poller)) return false;
  for (const int32_t device : devices_) {
    uint64_t kept = 0;
    for (uint64_t stages = domains_.StagesOf(device); stages != 0; stages &= stages - 1) {
      const auto stage = static_cast<std::size_t>(std::countr_zero(stages));
      if (star_loads_[stage * devices_.size() + Index(device)] <= target_ms) kept |= uint64_t{1} << stage;
    }
    domains_.Keep(device, kept);
  }
  return domains_.Propagate(poller);
}

// Nothing is undone here, so the trail only tells whether anything changed.
bool LoadRefuter::Settle(Poller& poller) {
  while (!poller.ShouldStop()) {
    const std::size_t before = domains_.Mark();
    if (!matching_.Prune(domains_)) return false;
    if (domains_.Mark() == before) return true;
    if (!domains_.Propagate(poller)) return false;
  }
  return true;
}

// Each place without a witness is searched for once. False: refuted.
bool LoadRefuter::FilterOnce(int64_t& work, bool& has_changed, Poller& poller) {
  for (const int32_t device : devices_) {
    for (uint64_t stages = domains_.StagesOf(device); stages != 0; stages &= stages - 1) {
      const int32_t stage = std::countr_zero(stages);
      if (!domains_.Has(stage, device) || HasWitness(Index(stage) * devices_.size() + Index(device))) continue;
      if (work <= 0 || poller.ShouldStop()) return true;
      const int64_t share = std::min(work, kWorkOfPlace);
      int64_t left = share;
      const EmbeddingEnd end = embedder_.Enumerate(stage, device, left, nullptr, poller, [this](const auto& devices) {
        KeepWitness(devices);
        return true;
      });
      work -= share - left;
      if (end != EmbeddingEnd::kExhausted) continue;
      has_changed = true;
      domains_.Keep(device, domains_.StagesOf(device) & ~(uint64_t{1} << static_cast<unsigned>(stage)));
      if (!domains_.Propagate(poller)) return false;
    }
  }
  return true;
}

// Whether the replica that the place was last found in still fits.
bool LoadRefuter::HasWitness(std::size_t place) const {
  if (witness_of_[place] < 0) return false;
  const std::vector<int32_t>& replica = witnesses_[Index(witness_of_[place])];
  for (int32_t stage = 0; stage < model_.num_stages(); ++stage) {
    if (!domains_.Has(stage, replica[Index(stage)])) return false;
  }
  return true;
}

void LoadRefuter::KeepWitness(const std::vector<int32_t>& devices) {
  for (std::size_t stage = 0; stage < devices.size(); ++stage) {
    witness_of_[stage * devices_.size() + Index(devices[stage])] = static_cast<int32_t>(witnesses_.size());
  }
  witnesses_.push_back(devices);
}

LoadProver::LoadProver(const ReplicaModel& model, const DeviceSymmetry& symmetry, std::span<const double> surcharge_ms,
                       const std::vector<double>& star_loads)
    : model_(model),
      surcharge_ms_(surcharge_ms),
      refuter_(model, symmetry, surcharge_ms, star_loads),
      cover_(model, symmetry),
      devices_(FirstNumbers(Index(model.num_devices()))),
      stride_(kFirstStride) {}

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
