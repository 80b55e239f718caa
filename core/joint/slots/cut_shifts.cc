#include "core/joint/slots/cut_shifts.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/base/units.h"

namespace planwright {
namespace {

constexpr int64_t kNeverHeld = std::numeric_limits<int64_t>::max();

// How many cuts may move together, and how often one or several do.
struct ShiftLimits {
  std::size_t cuts = 1;
  int64_t moves = 0;
};

struct ChunkPasses {
  // By chunk.
  std::vector<int64_t> forward;
  std::vector<int64_t> backward;
};

// Passes of chunks from those of their layers.
class LayerSums {
 public:
  explicit LayerSums(const LayerChain& chain) : chain_(chain) {
    for (const LayerPasses& layer : chain.layers) {
      forward_before_.push_back(forward_before_.back() + layer.forward);
      backward_before_.push_back(backward_before_.back() + layer.backward);
    }
  }

  bool Refresh(const std::vector<int32_t>& cuts, std::size_t first, std::size_t last, ChunkPasses& passes) const {
    for (std::size_t chunk = first; chunk <= last; ++chunk) {
      const auto begin = static_cast<std::size_t>(cuts[chunk]);
      const auto end = static_cast<std::size_t>(cuts[chunk + 1]);
      const int64_t transfers = (chain_.cut[begin] + chain_.cut[end]) / 2;
      passes.forward[chunk] = forward_before_[end] - forward_before_[begin] + transfers;
      passes.backward[chunk] = backward_before_[end] - backward_before_[begin] + transfers;
    }
    return true;
  }

 private:
  const LayerChain& chain_;
  // Of the layers before each.
  std::vector<int64_t> forward_before_{0};
  std::vector<int64_t> backward_before_{0};
};

// Passes of chunks by stage.
class StageSums {
 public:
  StageSums(const PassesOfRuns& passes_of, int64_t num_stages)
      : passes_of_(passes_of), num_stages_(static_cast<std::size_t>(num_stages)) {}

  bool Refresh(const std::vector<int32_t>& cuts, std::size_t first, std::size_t last, ChunkPasses& passes) const {
    for (std::size_t chunk = first; chunk <= last && chunk < first + num_stages_; ++chunk) {
      const std::size_t stage = chunk % num_stages_;
      std::vector<LayerRun> runs;
      for (std::size_t own = stage; own + 1 < cuts.size(); own += num_stages_) {
        runs.push_back({cuts[own], cuts[own + 1]});
      }
      const std::vector<LayerPasses> of_runs = passes_of_(static_cast<int32_t>(stage), runs);
      if (of_runs.empty()) return false;
      for (std::size_t i = 0; i < of_runs.size(); ++i) {
        passes.forward[stage + i * num_stages_] = of_runs[i].forward;
        passes.backward[stage + i * num_stages_] = of_runs[i].backward;
      }
    }
    return true;
  }

 private:
  const PassesOfRuns& passes_of_;
  std::size_t num_stages_;
};

template <typename Sums>
class CutShifts {
 public:
  CutShifts(const Sums& sums, std::vector<int32_t> cuts, const SlotShape& shape, const ShiftLimits& limits,
            Poller& poller)
      : sums_(sums), cuts_(std::move(cuts)), shape_(shape), limits_(limits), poller_(poller) {
    passes_.forward.resize(cuts_.size() - 1);
    passes_.backward.resize(cuts_.size() - 1);
    if (sums_.Refresh(cuts_, 0, cuts_.size() - 2, passes_)) slots_ = SlotsOfBothPs();
  }

  std::vector<int32_t> Run() {
    while (slots_ < kNeverHeld && ShiftAll()) {
    }
    return std::move(cuts_);
  }

 private:
  // Tries each move once; whether one was made.
  bool ShiftAll() {
    bool is_better = false;
    for (std::size_t count = 1; count <= limits_.cuts && count + 1 < cuts_.size(); count *= 2) {
      for (std::size_t first = 1; first + count < cuts_.size(); ++first) {
        for (const int32_t step : {-1, 1}) {
          if (++moves_ > limits_.moves || poller_.ShouldStop(4 * static_cast<int64_t>(cuts_.size()))) return false;
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
    const ChunkPasses before = passes_;
    for (std::size_t cut = first; cut <= last; ++cut) cuts_[cut] += step;
    if (sums_.Refresh(cuts_, first - 1, last, passes_)) {
      const int64_t slots = SlotsOfBothPs();
      if (slots < slots_) {
        slots_ = slots;
        return true;
      }
    }
    for (std::size_t cut = first; cut <= last; ++cut) cuts_[cut] -= step;
    passes_ = before;
    return false;
  }

  int64_t SlotsOfBothPs() const {
    return SaturatingAdd(SlotsPs(passes_.forward, shape_), SlotsPs(passes_.backward, shape_));
  }

  const Sums& sums_;
  std::vector<int32_t> cuts_;
  SlotShape shape_;
  ShiftLimits limits_;
  Poller& poller_;
  ChunkPasses passes_;
  int64_t slots_ = kNeverHeld;
  int64_t moves_ = 0;
};

}  // namespace

std::vector<int32_t> WithCutsShifted(const LayerChain& chain, std::vector<int32_t> cuts, const SlotShape& shape,
                                     Poller& poller) {
  if (cuts.size() < 3) return cuts;
  // A few hundredths of a second for a hundred chunks.
  const ShiftLimits limits{.cuts = cuts.size(), .moves = 20'000};
  const LayerSums sums(chain);
  return CutShifts<LayerSums>(sums, std::move(cuts), shape, limits, poller).Run();
}

std::vector<int32_t> WithCutsShifted(const PassesOfRuns& passes_of, std::vector<int32_t> cuts, const SlotShape& shape,
                                     Poller& poller) {
  if (cuts.size() < 3) return cuts;
  // What a stage keeps takes some hundred microseconds to choose.
  const ShiftLimits limits{.cuts = 16, .moves = 4'000};
  const StageSums sums(passes_of, shape.num_stages);
  return CutShifts<StageSums>(sums, std::move(cuts), shape, limits, poller).Run();
}

}  // namespace planwright
