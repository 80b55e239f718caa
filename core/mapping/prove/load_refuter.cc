#include "core/mapping/prove/load_refuter.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace planwright {
namespace {

// For one place: what takes longer is taken as part of a replica.
constexpr int64_t kWorkOfPlace = 200'000;

}  // namespace

LoadRefuter::LoadRefuter(const ReplicaModel& model, const DeviceSymmetry& symmetry,
                         std::span<const double> surcharge_ms, const std::vector<double>& star_loads)
    : model_(model),
      surcharge_ms_(surcharge_ms),
      star_loads_(star_loads),
      domains_(model),
      matching_(model),
      embedder_(model, domains_, symmetry),
      devices_(Index(model.num_devices())) {
  std::iota(devices_.begin(), devices_.end(), 0);
}

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
  std::vector<uint64_t> allowed;
  allowed.reserve(devices_.size());
  for (const int32_t device : devices_) allowed.push_back(domains_.StagesOf(device));
  return allowed;
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

}  // namespace planwright
