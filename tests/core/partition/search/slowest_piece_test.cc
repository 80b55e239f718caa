#include "core/partition/search/slowest_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace planwright {
namespace {

using testing::ElementsAre;

LeastSlowestCuts CutsOf(const std::vector<int64_t>& times, int32_t max_pieces) {
  return {static_cast<int32_t>(times.size()), max_pieces, [&](int32_t first, int32_t next, int32_t /*behind*/) {
            return std::accumulate(times.begin() + first, times.begin() + next, int64_t{0});
          }};
}

TEST(LeastSlowestCutsTest, BalancesThePieces) {
  const LeastSlowestCuts cuts = CutsOf({4, 1, 1, 2, 3, 1}, 3);
  EXPECT_EQ(cuts.Slowest(1), 12);
  EXPECT_EQ(cuts.Slowest(2), 6);
  EXPECT_EQ(cuts.Slowest(3), 4);
  EXPECT_THAT(cuts.EndsOf(1), ElementsAre(6));
  EXPECT_THAT(cuts.EndsOf(2), ElementsAre(3, 6));
  EXPECT_THAT(cuts.EndsOf(3), ElementsAre(1, 4, 6));
}

TEST(LeastSlowestCutsTest, OfEqualCutsTheFirstPiecesAreLongest) {
  EXPECT_THAT(CutsOf({1, 0, 0, 1}, 2).EndsOf(2), ElementsAre(3, 4));
}

TEST(LeastSlowestCutsTest, KnowsWhatCannotBe) {
  // Only pieces of two units that end the row, or have one piece behind them.
  const LeastSlowestCuts cuts(4, 4, [](int32_t first, int32_t next, int32_t behind) {
    return next - first == 2 && behind < 2 ? int64_t{behind} : LeastSlowestCuts::kNever;
  });
  EXPECT_EQ(cuts.Slowest(0), LeastSlowestCuts::kNever);
  EXPECT_EQ(cuts.Slowest(1), LeastSlowestCuts::kNever);
  EXPECT_EQ(cuts.Slowest(2), 1);
  EXPECT_THAT(cuts.EndsOf(2), ElementsAre(2, 4));
  EXPECT_EQ(cuts.Slowest(3), LeastSlowestCuts::kNever);
}

}  // namespace
}  // namespace planwright
