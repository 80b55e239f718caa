#include "core/joint/slots/chunk_slots.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "core/base/units.h"

namespace planwright {

// The slot whose window begins r chunks into a round of all stages has the rest of that round and the first r chunks of
// the next one; behind the last round comes the first. Of every slot there is one for each group of micro-batches, but
// the windows over the end: one less, and their two parts once each, where the pipeline fills and where it drains.
int64_t SlotsPs(std::span<const int64_t> passes, const SlotShape& shape) {
  if (shape.num_stages < 1) return 0;
  const auto round = static_cast<std::size_t>(shape.num_stages);
  int64_t windows = 0;
  int64_t ramps = 0;
  std::vector<int64_t> rest(round + 1, 0);
  for (std::size_t first = 0; first < passes.size(); first += round) {
    for (std::size_t r = round; r-- > 0;) rest[r] = std::max(rest[r + 1], passes[first + r]);
    const bool is_last = first + round == passes.size();
    const std::size_t next = is_last ? 0 : first + round;
    int64_t ahead = 0;
    for (std::size_t r = 0; r < round; ++r) {
      windows = SaturatingAdd(windows, std::max(rest[r], ahead));
      if (is_last) ramps = SaturatingAdd(ramps, std::min(rest[r], ahead));
      ahead = std::max(ahead, passes[next + r]);
    }
  }
  const int64_t over = shape.micro_batches % shape.num_stages;
  const int64_t part = CeilDivide(SaturatingMultiply(over, windows), shape.num_stages);
  return SaturatingAdd(SaturatingMultiply(shape.groups(), windows), SaturatingAdd(part, ramps));
}

namespace {

// What one picosecond of the slots in which some of `count` chunks is longer takes at least: of N windows in a circle
// as many have one of them as if the chunks followed each other, count + S - 1. `has_both_ends`: the first and the last
// chunk are among them, so that one is in every slot that fills and drains.
int64_t SlotsOfLevel(int64_t count, bool has_both_ends, const SlotShape& shape) {
  const int64_t reached = count + shape.num_stages - 1;
  const int64_t ramps = has_both_ends ? shape.num_stages - 1 : std::max<int64_t>(0, reached - shape.num_chunks());
  return shape.groups() * std::min(reached, shape.num_chunks()) + ramps;
}

}  // namespace

// By levels of time: that of which r chunks are longer takes SlotsOfLevel(r), which is concave in r, so that it is
// least where as much as can be lies below the mean and the rest in one chunk.
int64_t LeastSlotsPs(int64_t work_ps, int64_t longest_ps, const SlotShape& shape) {
  const int64_t chunks = shape.num_chunks();
  const int64_t of_all = SlotsOfLevel(chunks, true, shape);
  // Rounded so that it is no more: what is shared evenly takes a whole group for each of its picoseconds.
  const int64_t even =
      SaturatingAdd(SaturatingMultiply(shape.groups(), work_ps), work_ps / chunks * (shape.num_stages - 1));
  if (longest_ps <= work_ps / chunks) return even;
  const int64_t shared = std::max<int64_t>(0, work_ps - longest_ps) / (chunks - 1);
  const int64_t alone = SaturatingMultiply(SlotsOfLevel(1, false, shape), longest_ps - std::min(shared, longest_ps));
  return std::max(even, SaturatingAdd(SaturatingMultiply(of_all, std::min(shared, longest_ps)), alone));
}

int64_t LeastEvenSlotsPs(const EvenPasses& passes, const SlotShape& shape) {
  struct Chunks {
    int64_t passes = 0;
    int64_t count = 0;
    bool is_end = false;
  };
  std::array<Chunks, 4> chunks{{{passes.first_ps, 1, true},
                                {passes.last_ps, 1, true},
                                {passes.larger_ps, passes.num_larger, false},
                                {passes.smaller_ps, shape.num_chunks() - 2 - passes.num_larger, false}}};
  std::sort(chunks.begin(), chunks.end(), [](const Chunks& a, const Chunks& b) { return a.passes > b.passes; });
  int64_t slots = 0;
  int64_t longer = 0;
  int ends = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    longer += chunks[i].count;
    ends += chunks[i].is_end ? 1 : 0;
    const int64_t height = chunks[i].passes - (i + 1 < chunks.size() ? chunks[i + 1].passes : 0);
    if (longer == 0 || height == 0) continue;
    slots = SaturatingAdd(slots, SaturatingMultiply(SlotsOfLevel(longer, ends == 2, shape), height));
  }
  return slots;
}

}  // namespace planwright
