#include "core/joint/slots/layer_dealing.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/units.h"

namespace planwright {
namespace {

constexpr int64_t kNotHeld = std::numeric_limits<int64_t>::max();
// For each start; a few hundredths of a second for a hundred chunks.
constexpr int64_t kMostLayerMoves = 20'000;
// Units of some nanoseconds of dealing out layer by layer.
constexpr int64_t kMostWorkOneByOne = 50'000'000;
// How many starts are improved.
constexpr std::size_t kMostImproved = 3;

class Dealing {
 public:
  Dealing(const DealQuestion& question, std::vector<int32_t> layers, Poller& poller)
      : question_(&question),
        poller_(&poller),
        layers_(std::move(layers)),
        forward_(layers_.size()),
        backward_(layers_.size()) {
    bool is_held = true;
    for (std::size_t stage = 0; stage < num_stages() && is_held; ++stage) is_held = Refresh(stage);
    if (is_held) slots_ = SlotsOfBothPs();
  }

  // kNotHeld.
  int64_t slots() const { return slots_; }
  const std::vector<int32_t>& layers() const { return layers_; }

  // Whether some chunk takes a layer more.
  bool Add() {
    std::optional<std::size_t> best;
    int64_t least = kNotHeld;
    for (std::size_t chunk = 0; chunk < layers_.size(); ++chunk) {
      if (poller_->ShouldStop(Work())) return false;
      const int64_t slots = SlotsAfter(chunk, 1);
      if (slots == kNotHeld || slots > least) continue;
      least = slots;
      best = chunk;
    }
    if (!best.has_value()) return false;
    Change(*best, 1);
    slots_ = least;
    return true;
  }

  void Improve() {
    while (MoveAll()) {
    }
  }

 private:
  std::size_t num_stages() const { return static_cast<std::size_t>(question_->shape.num_stages); }
  int64_t Work() const { return 4 * static_cast<int64_t>(layers_.size()); }

  // Tries each move once; whether one was made.
  bool MoveAll() {
    bool is_better = false;
    for (std::size_t from = 0; from < layers_.size(); ++from) {
      for (std::size_t to = 0; to < layers_.size(); ++to) {
        if (to == from || layers_[from] == question_->fewest[from]) continue;
        if (++moves_ > kMostLayerMoves || poller_->ShouldStop(Work())) return false;
        is_better = MoveOne(from, to) || is_better;
      }
    }
    return is_better;
  }

  // Whether a layer has moved.
  bool MoveOne(std::size_t from, std::size_t to) {
    if (!Change(from, -1)) return false;
    if (Change(to, 1)) {
      const int64_t slots = SlotsOfBothPs();
      if (slots < slots_) {
        slots_ = slots;
        return true;
      }
      Change(to, -1);
    }
    Change(from, 1);
    return false;
  }

  int64_t SlotsAfter(std::size_t chunk, int32_t more) {
    const bool is_held = Change(chunk, more);
    const int64_t slots = is_held ? SlotsOfBothPs() : kNotHeld;
    if (is_held) Change(chunk, -more);
    return slots;
  }

  // False, and nothing is changed: its stage would not hold it.
  bool Change(std::size_t chunk, int32_t more) {
    layers_[chunk] += more;
    if (Refresh(StageOf(chunk))) return true;
    layers_[chunk] -= more;
    return false;
  }

  std::size_t StageOf(std::size_t chunk) const { return chunk % num_stages(); }

  bool Refresh(std::size_t stage) {
    own_.clear();
    for (std::size_t chunk = stage; chunk < layers_.size(); chunk += num_stages()) own_.push_back(layers_[chunk]);
    const std::vector<LayerPasses> passes = question_->passes_of(static_cast<int32_t>(stage), own_);
    if (passes.empty()) return false;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      forward_[stage + i * num_stages()] = passes[i].forward;
      backward_[stage + i * num_stages()] = passes[i].backward;
    }
    return true;
  }

  int64_t SlotsOfBothPs() const {
    return SaturatingAdd(SlotsPs(forward_, question_->shape), SlotsPs(backward_, question_->shape));
  }

  // Pointers, so that dealings can be sorted.
  const DealQuestion* question_;
  Poller* poller_;
  // By chunk.
  std::vector<int32_t> layers_;
  std::vector<int64_t> forward_;
  std::vector<int64_t> backward_;
  std::vector<int32_t> own_;
  int64_t slots_ = kNotHeld;
  int64_t moves_ = 0;
};

// Layer by layer, from the fewest on.
std::optional<Dealing> OneByOne(const DealQuestion& question, Poller& poller) {
  const int64_t chunks = question.shape.num_chunks();
  if (question.num_layers * chunks * chunks > kMostWorkOneByOne) return std::nullopt;
  Dealing dealing(question, question.fewest, poller);
  if (dealing.slots() == kNotHeld) return std::nullopt;
  const int32_t dealt = std::accumulate(question.fewest.begin(), question.fewest.end(), 0);
  for (int32_t left = question.num_layers - dealt; left > 0; --left) {
    if (!dealing.Add()) return std::nullopt;
  }
  return dealing;
}

}  // namespace

std::vector<int32_t> DealLayers(const DealQuestion& question, std::vector<std::vector<int32_t>> starts,
                                Poller& poller) {
  // The best ones so far, no two alike.
  std::vector<Dealing> best;
  const auto by_slots = [](const Dealing& a, const Dealing& b) { return a.slots() < b.slots(); };
  const auto note = [&](Dealing dealing) {
    const bool is_known =
        std::any_of(best.begin(), best.end(), [&](const Dealing& other) { return other.layers() == dealing.layers(); });
    if (dealing.slots() == kNotHeld || is_known) return;
    best.insert(std::upper_bound(best.begin(), best.end(), dealing, by_slots), std::move(dealing));
    if (best.size() > kMostImproved) best.pop_back();
  };
  if (std::optional<Dealing> made = OneByOne(question, poller)) note(*std::move(made));
  for (std::vector<int32_t>& start : starts) {
    if (poller.ShouldStop(4 * static_cast<int64_t>(start.size()))) return {};
    note(Dealing(question, std::move(start), poller));
  }
  for (Dealing& dealing : best) dealing.Improve();
  const auto found = std::min_element(best.begin(), best.end(), by_slots);
  return found == best.end() ? std::vector<int32_t>() : found->layers();
}

}  // namespace planwright
