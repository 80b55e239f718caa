#include "core/partition/search/slowest_piece.h"

#include <algorithm>

#include "core/base/index.h"

namespace planwright {

LeastSlowestCuts::LeastSlowestCuts(int32_t units, int32_t max_pieces, PieceTime piece_time)
    : tails_(Index(max_pieces) + 1, std::vector<Tail>(Index(units) + 1)) {
  tails_[0].back().slowest = 0;
  for (int32_t pieces = 1; pieces <= max_pieces; ++pieces) {
    const std::vector<Tail>& behind = tails_[Index(pieces) - 1];
    std::vector<Tail>& tails = tails_[Index(pieces)];
    // The furthest end comes first, so that it is what equally good cuts keep.
    for (int32_t end = units; end > 0; --end) {
      if (behind[Index(end)].slowest == kNever) continue;
      for (int32_t first = end - 1; first >= 0; --first) {
        const int64_t slowest = std::max(behind[Index(end)].slowest, piece_time(first, end, pieces - 1));
        if (slowest < tails[Index(first)].slowest) tails[Index(first)] = {slowest, end};
      }
    }
  }
}

int64_t LeastSlowestCuts::Slowest(int32_t pieces) const { return tails_[Index(pieces)].front().slowest; }

std::vector<int32_t> LeastSlowestCuts::EndsOf(int32_t pieces) const {
  std::vector<int32_t> ends;
  for (int32_t first = 0; pieces > 0; --pieces) {
    first = tails_[Index(pieces)][Index(first)].end;
    ends.push_back(first);
  }
  return ends;
}

}  // namespace planwright
