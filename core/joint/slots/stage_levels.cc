#include "core/joint/slots/stage_levels.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/units.h"

namespace planwright {
namespace {

// More times of chunks take too long to look through.
constexpr std::size_t kMostValues = 2'000;
// A unit takes some nanoseconds.
constexpr int64_t kMostWorkOfLevels = 50'000'000;

__extension__ using Wide = __int128;

// Values below, and on the lower hull of, those of a table; kCannotBe in front of its first and behind its last entry.
// Rounded down. O(size).
std::vector<int64_t> HullBelow(const std::vector<int64_t>& table) {
  std::vector<std::size_t> corners;
  const auto height = [&](std::size_t at) { return table[at]; };
  for (std::size_t at = 0; at < table.size(); ++at) {
    if (table[at] >= kCannotBe) continue;
    while (corners.size() >= 2) {
      const std::size_t last = corners.back();
      const std::size_t before = corners[corners.size() - 2];
      const Wide left = Wide{height(last) - height(before)} * static_cast<int64_t>(at - last);
      const Wide right = Wide{height(at) - height(last)} * static_cast<int64_t>(last - before);
      if (left <= right) break;
      corners.pop_back();
    }
    corners.push_back(at);
  }
  std::vector<int64_t> hull(table.size(), kCannotBe);
  for (std::size_t i = 0; i < corners.size(); ++i) {
    hull[corners[i]] = height(corners[i]);
    if (i + 1 == corners.size()) break;
    const auto width = static_cast<int64_t>(corners[i + 1] - corners[i]);
    const int64_t rise = height(corners[i + 1]) - height(corners[i]);
    for (int64_t step = 1; step < width; ++step) {
      // Of a fall, too, no more than what lies between.
      const int64_t share =
          rise >= 0 ? rise / width * step + rise % width * step / width : -CeilDivide(-rise, width) * step;
      hull[corners[i] + static_cast<std::size_t>(step)] = height(corners[i]) + share;
    }
  }
  return hull;
}

class DealtSlots {
 public:
  DealtSlots(const std::vector<std::vector<StageOption>>& stages, int32_t num_layers, const SlotShape& shape,
             int64_t needed, Poller& poller)
      : stages_(stages), num_layers_(num_layers), shape_(shape), least_(needed), poller_(poller) {}

  int64_t Run() {
    const std::vector<int64_t> values = Values();
    if (values.size() > kMostValues) return 0;
    for (std::size_t first = 0; first < values.size(); ++first) {
      // More for each that is longer.
      if (OfLevels(values[first], values[first]) >= least_) break;
      const int64_t free = LeastTerms(values[first], kCannotBe);
      for (std::size_t last = first; last < values.size(); ++last) {
        if (poller_.ShouldStop() || work_ > kMostWorkOfLevels) return 0;
        const int64_t base = OfLevels(values[first], values[last]);
        if (SaturatingAdd(base, free) >= least_) break;
        least_ = std::min(least_, SaturatingAdd(base, LeastTerms(values[first], values[last])));
      }
    }
    return least_;
  }

 private:
  std::vector<int64_t> Values() const {
    std::vector<int64_t> values;
    const auto add = [&](const std::vector<int64_t>& times) {
      for (const int64_t time : times) {
        if (time < kCannotBe) values.push_back(time);
      }
    };
    for (const std::vector<StageOption>& options : stages_) {
      for (const StageOption& option : options) {
        add(option.chunk);
        add(option.end_chunk);
      }
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  // All but the terms of the chunks, where N slots of each group have some chunk that takes longer than any time up to
  // `first`, and none takes longer than `last`.
  int64_t OfLevels(int64_t first, int64_t last) const {
    const int64_t ahead = shape_.num_stages - 1;
    const int64_t levels =
        SaturatingAdd(SaturatingMultiply(shape_.num_chunks(), first), SaturatingMultiply(ahead, last - first));
    return SaturatingAdd(SaturatingMultiply(shape_.groups() - 1, levels), SaturatingMultiply(ahead, last));
  }

  int64_t TermOf(int64_t time, int64_t first, int64_t last) const {
    if (time > last) return kCannotBe;
    return SaturatingAdd(time, SaturatingMultiply(shape_.groups() - 1, std::max<int64_t>(0, time - first)));
  }

  std::vector<int64_t> TermsOf(const std::vector<int64_t>& times, int64_t first, int64_t last) const {
    std::vector<int64_t> terms;
    terms.reserve(times.size());
    for (const int64_t time : times) terms.push_back(time >= kCannotBe ? kCannotBe : TermOf(time, first, last));
    return HullBelow(terms);
  }

  // The least sum over all deals.
  int64_t LeastTerms(int64_t first, int64_t last) {
    const auto all = static_cast<std::size_t>(num_layers_);
    std::vector<int64_t> least(all + 1, kCannotBe);
    least[0] = 0;
    for (const std::vector<StageOption>& options : stages_) {
      std::vector<int64_t> next(all + 1, kCannotBe);
      for (const StageOption& option : options) {
        const auto units = static_cast<int64_t>(all + 8 * option.chunk.size() + 8 * option.end_chunk.size());
        work_ += units;
        if (poller_.ShouldStop(units)) return kCannotBe;
        const int64_t terms = TermsOfStage(option, first, last);
        if (terms >= kCannotBe) continue;
        for (std::size_t before = 0; before + static_cast<std::size_t>(option.layers) <= all; ++before) {
          int64_t& known = next[before + static_cast<std::size_t>(option.layers)];
          known = std::min(known, SaturatingAdd(least[before], terms));
        }
      }
      least = std::move(next);
    }
    return least[all];
  }

  // Of all ways to divide its layers among its chunks.
  int64_t TermsOfStage(const StageOption& option, int64_t first, int64_t last) const {
    const std::vector<int64_t> terms = TermsOf(option.chunk, first, last);
    if (option.end_chunk.empty()) return Evenly(terms, option.layers, shape_.chunks);
    const std::vector<int64_t> end_terms = TermsOf(option.end_chunk, first, last);
    int64_t least = kCannotBe;
    for (int32_t beside = 0; beside <= option.layers && beside < static_cast<int32_t>(end_terms.size()); ++beside) {
      const int64_t own = end_terms[static_cast<std::size_t>(beside)];
      least = std::min(least, SaturatingAdd(own, Evenly(terms, option.layers - beside, shape_.chunks - 1)));
    }
    return least;
  }

  // Terms on a hull are least in sum where chunks have as many layers, or one more.
  static int64_t Evenly(const std::vector<int64_t>& terms, int64_t layers, int64_t chunks) {
    const int64_t each = layers / chunks;
    const int64_t larger = layers % chunks;
    const auto at = static_cast<std::size_t>(each);
    if (at + (larger > 0 ? 1 : 0) >= terms.size()) return kCannotBe;
    const int64_t smaller = SaturatingMultiply(chunks - larger, terms[at]);
    return larger == 0 ? smaller : SaturatingAdd(smaller, SaturatingMultiply(larger, terms[at + 1]));
  }

  const std::vector<std::vector<StageOption>>& stages_;
  int32_t num_layers_;
  SlotShape shape_;
  int64_t least_;
  Poller& poller_;
  int64_t work_ = 0;
};

}  // namespace

int64_t LeastDealtSlotsPs(const std::vector<std::vector<StageOption>>& stages, int32_t num_layers,
                          const SlotShape& shape, int64_t needed_ps, Poller& poller) {
  return DealtSlots(stages, num_layers, shape, needed_ps, poller).Run();
}

}  // namespace planwright
