// How to cut a row of units into consecutive pieces so that the slowest piece takes least: PipeDream's dynamic program
// (Narayanan et al.: PipeDream, SOSP 2019, section 3.1), whatever a piece takes.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_SLOWEST_PIECE_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_SLOWEST_PIECE_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"

namespace planwright {

class LeastSlowestCuts {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // What the piece of the units first .. next-1 takes with `behind` pieces behind it, at least 0; kNever: it cannot be.
  using PieceTime = absl::FunctionRef<int64_t(int32_t first, int32_t next, int32_t behind)>;

  // O(max_pieces x units^2) calls of `piece_time`. REQUIRES: units >= 1, max_pieces >= 0.
  LeastSlowestCuts(int32_t units, int32_t max_pieces, PieceTime piece_time);

  // What the slowest of so many pieces takes; kNever: there is no such cut. REQUIRES: at most max_pieces.
  int64_t Slowest(int32_t pieces) const;

  // Where each piece ends, ascending: behind its last unit. Of equally good cuts the one with the longest first piece,
  // then the longest second one, and so on. REQUIRES: Slowest(pieces) is not kNever.
  std::vector<int32_t> EndsOf(int32_t pieces) const;

 private:
  // The best way to cut the units from some unit on into some number of pieces.
  struct Tail {
    int64_t slowest = kNever;
    // Where the first of the pieces ends.
    int32_t end = 0;
  };

  // By number of pieces, then by first unit.
  std::vector<std::vector<Tail>> tails_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_SLOWEST_PIECE_H_
