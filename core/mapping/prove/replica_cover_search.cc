#include "core/mapping/prove/replica_cover_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace planwright {
namespace {

// Remembered sets take about 48 bytes each.
constexpr std::size_t kMostFailedSets = std::size_t{1} << 21U;
// Pruning by matching and by transfer times take turns that often; most of it is done by then.
constexpr int32_t kRoundsOfMatching = 4;

}  // namespace

ReplicaCoverSearch::ReplicaCoverSearch(const ReplicaModel& model, const DeviceSymmetry& symmetry)
    : model_(model), symmetry_(symmetry), domains_(model), matching_(model) {}

ReplicaCoverAnswer ReplicaCoverSearch::Ask(const ReplicaCoverQuestion& question, Poller& poller) {
  question_ = &question;
  poller_ = &poller;
  random_ = RandomStream(question.seed);
  replicas_.clear();
  left_ = question.work;
  if (question.target_ms > failed_target_ms_ || failed_.size() >= kMostFailedSets) failed_.clear();
  failed_target_ms_ = question.target_ms;
  const ReplicaCoverAnswer answer = Enter() ? Explore(0) : ReplicaCoverAnswer::kNone;
  work_ += question.work - left_;
  return answer;
}

// False: refuted at once.
bool ReplicaCoverSearch::Enter() {
  if (!domains_.Reset(question_->devices, question_->replicas, question_->target_ms, question_->surcharge_ms,
                      *poller_)) {
    return false;
  }
  if (question_->allowed.empty()) return true;
  for (const int32_t device : question_->devices) domains_.Keep(device, question_->allowed[Index(device)]);
  return domains_.Propagate(*poller_);
}

void ReplicaCoverSearch::Charge() {
  const int64_t all = domains_.work() + matching_.work();
  left_ -= all - std::exchange(charged_, all);
}

FreeSetKey ReplicaCoverSearch::Key() const {
  const auto keys = symmetry_.BlockKeys([this](int32_t device) { return domains_.IsFree(device); });
  return symmetry_.KeyOf(keys, domains_.replicas_left());
}

// What is refuted after an interruption is not: the domains may be half done, but never too small.
ReplicaCoverAnswer ReplicaCoverSearch::Explore(std::size_t depth) {
  Charge();
  if (poller_->ShouldStop()) return ReplicaCoverAnswer::kUnknown;
  if (domains_.replicas_left() == 0) return ReplicaCoverAnswer::kFound;
  if (left_ < 0) return ReplicaCoverAnswer::kUnknown;
  ++nodes_;
  left_ -= model_.num_devices();
  // Free sets alike up to symmetry have the same answer; what failed for a larger target fails for this one.
  const FreeSetKey key = Key();
  if (failed_.contains(key)) return ReplicaCoverAnswer::kNone;
  const ReplicaCoverAnswer answer = PruneByMatching() ? Branch(depth) : ReplicaCoverAnswer::kNone;
  if (answer == ReplicaCoverAnswer::kNone && failed_.size() < kMostFailedSets) failed_.insert(key);
  return answer;
}

// Drops places that no way to give every stage its devices uses, and then those that have lost all partners, in turn.
// False: nothing is left.
bool ReplicaCoverSearch::PruneByMatching() {
  for (int32_t round = 0; round < kRoundsOfMatching; ++round) {
    const std::size_t before = domains_.Mark();
    if (!matching_.Prune(domains_)) return false;
    if (domains_.Mark() == before) return true;
    if (!domains_.Propagate(*poller_)) return false;
  }
  return true;
}

// Every cover gives the device to a stage or leaves it idle: where all of that is refuted, there is none.
ReplicaCoverAnswer ReplicaCoverSearch::Branch(std::size_t depth) {
  std::vector<int32_t> stages;
  const int32_t device = HardestDevice(stages);
  bool is_complete = true;
  for (const int32_t stage : stages) {
    const ReplicaCoverAnswer answer = PlaceReplica(depth, stage, device);
    if (answer == ReplicaCoverAnswer::kFound) return answer;
    is_complete = is_complete && answer == ReplicaCoverAnswer::kNone;
    if (left_ < 0) return ReplicaCoverAnswer::kUnknown;
  }
  if (domains_.num_spare() > 0) {
    const ReplicaCoverAnswer answer = Idle(depth, device);
    if (answer == ReplicaCoverAnswer::kFound) return answer;
    is_complete = is_complete && answer == ReplicaCoverAnswer::kNone;
  }
  return is_complete ? ReplicaCoverAnswer::kNone : ReplicaCoverAnswer::kUnknown;
}

ReplicaCoverAnswer ReplicaCoverSearch::PlaceReplica(std::size_t depth, int32_t stage, int32_t device) {
  bool is_complete = true;
  bool is_found = false;
  const auto visit = [&](const std::vector<int32_t>& devices) {
    const std::size_t mark = domains_.Mark();
    replicas_.push_back(devices);
    const ReplicaCoverAnswer answer =
        domains_.TakeReplica(devices, *poller_) ? Explore(depth + 1) : ReplicaCoverAnswer::kNone;
    domains_.UndoTo(mark);
    is_found = answer == ReplicaCoverAnswer::kFound;
    is_complete = is_complete && answer == ReplicaCoverAnswer::kNone;
    if (!is_found) replicas_.pop_back();
    return is_found || left_ < 0;
  };
  RandomStream* const shuffle = question_->is_shuffled ? &random_ : nullptr;
  const EmbeddingEnd end = EmbedderAt(depth).Enumerate(stage, device, left_, shuffle, *poller_, visit);
  if (is_found) return ReplicaCoverAnswer::kFound;
  return end == EmbeddingEnd::kExhausted && is_complete ? ReplicaCoverAnswer::kNone : ReplicaCoverAnswer::kUnknown;
}

ReplicaCoverAnswer ReplicaCoverSearch::Idle(std::size_t depth, int32_t device) {
  const std::size_t mark = domains_.Mark();
  const ReplicaCoverAnswer answer =
      domains_.LeaveIdle(device, *poller_) ? Explore(depth + 1) : ReplicaCoverAnswer::kNone;
  domains_.UndoTo(mark);
  return answer;
}

ReplicaEmbedder& ReplicaCoverSearch::EmbedderAt(std::size_t depth) {
  while (embedders_.size() <= depth) {
    embedders_.push_back(std::make_unique<ReplicaEmbedder>(model_, domains_, symmetry_));
  }
  return *embedders_[depth];
}

// The device with the fewest ways to be used, by the supports of its places; its stages, the fewest ways first.
int32_t ReplicaCoverSearch::HardestDevice(std::vector<int32_t>& stages) {
  int32_t hardest = -1;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  std::vector<std::pair<int64_t, int32_t>> ways;
  std::vector<std::pair<int64_t, int32_t>> best;
  for (int32_t device = 0; device < model_.num_devices(); ++device) {
    if (!domains_.IsFree(device)) continue;
    ways.clear();
    int64_t sum = domains_.num_spare() > 0 ? 1 : 0;
    for (uint64_t left = domains_.StagesOf(device); left != 0 && sum < fewest; left &= left - 1) {
      const int32_t stage = std::countr_zero(left);
      ways.emplace_back(Supports(stage, device, fewest - sum), stage);
      sum += ways.back().first;
    }
    if (sum >= fewest) continue;
    fewest = sum;
    hardest = device;
    best.swap(ways);
  }
  std::sort(best.begin(), best.end());
  stages.clear();
  for (const auto& [count, stage] : best) stages.push_back(stage);
  return hardest;
}

// The least number of supports of any link of the place, at most `most`; 1 for a stage without links.
int64_t ReplicaCoverSearch::Supports(int32_t stage, int32_t device, int64_t most) {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const StageLink& link : model_.LinksOf(stage)) {
    int64_t count = 0;
    for (const NearDevice& near : model_.NearOf(device)) {
      --left_;
      // Nearest first: those beyond the room are no supports, and more than `most` need not be told apart.
      if (count >= std::min(most, fewest) ||
          model_.LeastTimeOf(link, near.ms_per_byte) > domains_.Room(stage, device)) {
        break;
      }
      if (domains_.Has(link.other, near.device) &&
          domains_.Supports(link, device, near.device, model_.TimeOf(link, device, near.device))) {
        ++count;
      }
    }
    fewest = std::min(fewest, count);
  }
  return fewest == std::numeric_limits<int64_t>::max() ? 1 : fewest;
}

}  // namespace planwright
