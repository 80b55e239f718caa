#include "core/mapping/prove/replica_embedder.h"

#include <algorithm>
#include <limits>

namespace planwright {
namespace {

// A step takes microseconds on a large machine.
constexpr uint32_t kStepsPerLook = 64;

}  // namespace

ReplicaEmbedder::ReplicaEmbedder(const ReplicaModel& model, const ReplicaDomains& domains,
                                 const DeviceSymmetry& symmetry)
    : model_(model),
      domains_(domains),
      symmetry_(symmetry),
      device_of_(Index(model.num_stages()), kNowhere),
      slack_(Index(model.num_stages())),
      is_used_(Index(model.num_devices()), 0),
      used_of_block_(Index(symmetry.num_blocks()), 0),
      candidates_(Index(model.num_stages()) + 1) {}

EmbeddingEnd ReplicaEmbedder::Enumerate(int32_t stage, int32_t device, int64_t& work, RandomStream* shuffle,
                                        Poller& poller, const Visitor& visitor) {
  work_ = &work;
  shuffle_ = shuffle;
  poller_ = &poller;
  visitor_ = &visitor;
  Start();
  if (!Fits(stage, device)) return EmbeddingEnd::kExhausted;
  Place(stage, device);
  const EmbeddingEnd end = Extend(1);
  Unplace(stage);
  return end;
}

void ReplicaEmbedder::Start() {
  if (symmetry_.num_blocks() == 1) return;
  block_keys_ = symmetry_.BlockKeys([this](int32_t device) { return domains_.IsFree(device); });
  *work_ -= model_.num_devices();
}

EmbeddingEnd ReplicaEmbedder::Extend(int32_t placed) {
  if (placed == model_.num_stages())
    return (*visitor_)(device_of_) ? EmbeddingEnd::kAccepted : EmbeddingEnd::kExhausted;
  if (*work_ < 0 || (++steps_ % kStepsPerLook == 0 ? poller_->ShouldStopNow() : poller_->ShouldStop())) {
    return EmbeddingEnd::kCut;
  }
  std::vector<Candidate>& candidates = candidates_[Index(placed)];
  const int32_t stage = ChooseStage(candidates);
  if (shuffle_ != nullptr) {
    for (Candidate& candidate : candidates) candidate.order = shuffle_->Unit();
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.order < b.order; });
  }
  for (const Candidate& candidate : candidates) {
    Place(stage, candidate.device);
    const EmbeddingEnd end = Extend(placed + 1);
    Unplace(stage);
    if (end != EmbeddingEnd::kExhausted) return end;
  }
  return EmbeddingEnd::kExhausted;
}

// Leaves the candidates of the chosen stage; none where some stage has none.
int32_t ReplicaEmbedder::ChooseStage(std::vector<Candidate>& candidates) {
  int32_t best = kNowhere;
  int32_t apart = kNowhere;
  candidates.clear();
  for (int32_t stage = 0; stage < model_.num_stages(); ++stage) {
    if (device_of_[Index(stage)] != kNowhere) continue;
    const StageLink* const anchor = AnchorOf(stage);
    if (anchor == nullptr) {
      apart = stage;
      continue;
    }
    trial_.clear();
    CollectNear(stage, *anchor, best == kNowhere ? std::numeric_limits<std::size_t>::max() : candidates.size(), trial_);
    if (best != kNowhere && trial_.size() >= candidates.size()) continue;
    best = stage;
    candidates.swap(trial_);
    if (candidates.empty()) return best;
  }
  if (best != kNowhere) return best;
  CollectAll(apart, std::numeric_limits<std::size_t>::max(), candidates);
  return apart;
}

// Returns the link to the placed neighbour whose room for it reaches least far; nullptr: no neighbour is placed.
const StageLink* ReplicaEmbedder::AnchorOf(int32_t stage) const {
  const StageLink* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const StageLink& own : model_.LinksOf(stage)) {
    const int32_t device = device_of_[Index(own.other)];
    if (device == kNowhere) continue;
    const double room = slack_[Index(own.other)] + domains_.Least(own.reverse, device);
    const double reach = (room - own.transfers() * model_.least_latency_ms()) / std::max(own.bytes(), 1e-9);
    if (best != nullptr && reach >= least) continue;
    least = reach;
    best = &model_.links()[Index(own.reverse)];
  }
  return best;
}

// Stops when `most` are there. `anchor`: owned by the placed neighbour.
void ReplicaEmbedder::CollectNear(int32_t stage, const StageLink& anchor, std::size_t most,
                                  std::vector<Candidate>& candidates) {
  const int32_t device = device_of_[Index(anchor.stage)];
  const auto position = static_cast<int32_t>(&anchor - model_.links().data());
  const double room = slack_[Index(anchor.stage)] + domains_.Least(position, device);
  for (const NearDevice& near : model_.NearOf(device)) {
    --*work_;
    if (candidates.size() >= most || model_.LeastTimeOf(anchor, near.ms_per_byte) > room) return;
    if (Fits(stage, near.device) && !IsRepeated(near.device)) candidates.push_back({.device = near.device});
  }
  if (model_.ListsAll()) return;
  candidates.clear();
  CollectAll(stage, most, candidates);
}

void ReplicaEmbedder::CollectAll(int32_t stage, std::size_t most, std::vector<Candidate>& candidates) {
  for (int32_t device = 0; device < model_.num_devices() && candidates.size() < most; ++device) {
    --*work_;
    if (Fits(stage, device) && !IsRepeated(device)) candidates.push_back({.device = device});
  }
}

double ReplicaEmbedder::Excess(const StageLink& link, int32_t device, double time_ms) const {
  return time_ms - domains_.Least(static_cast<int32_t>(&link - model_.links().data()), device);
}

bool ReplicaEmbedder::Fits(int32_t stage, int32_t device) {
  if (!domains_.Has(stage, device) || is_used_[Index(device)] != 0) return false;
  double slack = domains_.Room(stage, device) - domains_.Total(stage, device);
  for (const StageLink& link : model_.LinksOf(stage)) {
    const int32_t other = device_of_[Index(link.other)];
    if (other == kNowhere) continue;
    --*work_;
    const double time = model_.TimeOf(link, device, other);
    slack -= Excess(link, device, time);
    if (slack < 0 || slack_[Index(link.other)] < Excess(model_.links()[Index(link.reverse)], other, time)) return false;
  }
  return true;
}

// Whether a lower device can change places with this one while the replica stays as it is.
bool ReplicaEmbedder::IsRepeated(int32_t device) const {
  for (const int32_t twin : symmetry_.TwinGroup(symmetry_.TwinsOf(device))) {
    if (twin >= device) break;
    if (domains_.IsFree(twin) && is_used_[Index(twin)] == 0) return true;
  }
  const int32_t own = symmetry_.BlockOf(device);
  if (block_keys_.empty() || used_of_block_[Index(own)] != 0) return false;
  for (int32_t block = symmetry_.KindOfBlock(own); block < own; ++block) {
    if (symmetry_.KindOfBlock(block) == symmetry_.KindOfBlock(own) && used_of_block_[Index(block)] == 0 &&
        block_keys_[Index(block)] == block_keys_[Index(own)]) {
      return true;
    }
  }
  return false;
}

void ReplicaEmbedder::Place(int32_t stage, int32_t device) {
  double slack = domains_.Room(stage, device) - domains_.Total(stage, device);
  for (const StageLink& link : model_.LinksOf(stage)) {
    const int32_t other = device_of_[Index(link.other)];
    if (other == kNowhere) continue;
    const double time = model_.TimeOf(link, device, other);
    slack -= Excess(link, device, time);
    slack_before_.push_back(slack_[Index(link.other)]);
    slack_[Index(link.other)] -= Excess(model_.links()[Index(link.reverse)], other, time);
  }
  slack_[Index(stage)] = slack;
  device_of_[Index(stage)] = device;
  is_used_[Index(device)] = 1;
  ++used_of_block_[Index(symmetry_.BlockOf(device))];
}

void ReplicaEmbedder::Unplace(int32_t stage) {
  const int32_t device = device_of_[Index(stage)];
  device_of_[Index(stage)] = kNowhere;
  is_used_[Index(device)] = 0;
  --used_of_block_[Index(symmetry_.BlockOf(device))];
  const std::span<const StageLink> links = model_.LinksOf(stage);
  for (auto link = links.rbegin(); link != links.rend(); ++link) {
    if (device_of_[Index(link->other)] == kNowhere) continue;
    slack_[Index(link->other)] = slack_before_.back();
    slack_before_.pop_back();
  }
}

}  // namespace planwright
