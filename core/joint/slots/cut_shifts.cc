#include "core/joint/slots/cut_shifts.h"

#include <cstddef>
#include <utility>

#include "core/base/units.h"

namespace planwright {
namespace {

// A few hundredths of a second for a hundred chunks.
constexpr int64_t kMostMoves = 20'000;

class CutShifts {
 public:
  CutShifts(const LayerChain& chain, std::vector<int32_t> cuts, const SlotShape& shape, Poller& poller)
      : chain_(chain), cuts_(std::move(cuts)), shape_(shape), poller_(poller) {
    for (const LayerPasses& layer : chain.layers) {
      forward_before_.push_back(forward_before_.back() + layer.forward);
      backward_before_.push_back(backward_before_.back() + layer.backward);
    }
    forward_.resize(cuts_.size() - 1);
    backward_.resize(cuts_.size() - 1);
    for (std::size_t chunk = 0; chunk < forward_.size(); ++chunk) Sum(chunk);
    slots_ = SlotsOfBothPs();
  }

  std::vector<int32_t> Run() {
    while (ShiftAll()) {
    }
    return std::move(cuts_);
  }

 private:
  // Tries each move once; whether one was made.
  bool ShiftAll() {
    bool is_better = false;
    for (std::size_t count = 1; count + 1 < cuts_.size(); count *= 2) {
      for (std::size_t first = 1; first + count < cuts_.size(); ++first) {
        for (const int32_t step : {-1, 1}) {
          if (++moves_ > kMostMoves || poller_.ShouldStop(4 * static_cast<int64_t>(cuts_.size()))) return false;
          is_better = Shift(first, count, step) || is_better;
        }
      }
    }
    return is_better;
  }

  // Whether `count` cuts from `first` on are better a layer further; else they stay.
  bool Shift(std::size_t first, std::size_t count, int32_t step) {
    const std::size_t last = first + count - 1;
    const bool is_room = step < 0 ? cuts_[first] - cuts_[first - 1] > 1 : cuts_[last + 1] - cuts_[last] > 1;
    if (!is_room) return false;
    Move(first, last, step);
    const int64_t slots = SlotsOfBothPs();
    if (slots < slots_) {
      slots_ = slots;
      return true;
    }
    Move(first, last, -step);
    return false;
  }

  void Move(std::size_t first, std::size_t last, int32_t step) {
    for (std::size_t cut = first; cut <= last; ++cut) cuts_[cut] += step;
    for (std::size_t chunk = first - 1; chunk <= last; ++chunk) Sum(chunk);
  }

  void Sum(std::size_t chunk) {
    const auto begin = static_cast<std::size_t>(cuts_[chunk]);
    const auto end = static_cast<std::size_t>(cuts_[chunk + 1]);
    const int64_t transfers = (chain_.cut[begin] + chain_.cut[end]) / 2;
    forward_[chunk] = forward_before_[end] - forward_before_[begin] + transfers;
    backward_[chunk] = backward_before_[end] - backward_before_[begin] + transfers;
  }

  int64_t SlotsOfBothPs() const { return SaturatingAdd(SlotsPs(forward_, shape_), SlotsPs(backward_, shape_)); }

  const LayerChain& chain_;
  std::vector<int32_t> cuts_;
  SlotShape shape_;
  Poller& poller_;
  // Of the layers before each.
  std::vector<int64_t> forward_before_{0};
  std::vector<int64_t> backward_before_{0};
  // By chunk.
  std::vector<int64_t> forward_;
  std::vector<int64_t> backward_;
  int64_t slots_ = 0;
  int64_t moves_ = 0;
};

}  // namespace

std::vector<int32_t> WithCutsShifted(const LayerChain& chain, std::vector<int32_t> cuts, const SlotShape& shape,
                                     Poller& poller) {
  if (cuts.size() < 3) return cuts;
  return CutShifts(chain, std::move(cuts), shape, poller).Run();
}

}  // namespace planwright
