#include "core/joint/search/labels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/base/limits.h"

namespace planwright {
namespace {

constexpr auto kOfOneKind = [](int64_t /*label*/) { return 0; };
constexpr auto kAsTheyAre = [](int64_t label) { return label; };

int64_t KeepLeast(std::vector<int64_t>& front) {
  return KeepUnbeaten(front, kOfOneKind, kAsTheyAre, [](int64_t a, int64_t b) { return a <= b; });
}

TEST(LabelsTest, BeatenLabelsLeaveNoRoomTaken) {
  std::vector<int64_t> front;
  for (int64_t label = 10'000; label > 0; --label) front.push_back(label);
  EXPECT_EQ(KeepLeast(front), 9'999);
  EXPECT_EQ(front, std::vector<int64_t>{1});
  EXPECT_LT(front.capacity(), 10);
}

TEST(LabelsTest, RoomThatIsTakenCountsWhetherLabelsAreThereOrNot) {
  SolveLimits limits;
  limits.memory_bytes = 100 * sizeof(int64_t);
  LabelRoom room(limits, sizeof(int64_t));
  std::vector<int64_t> front;
  front.reserve(60);
  EXPECT_TRUE(room.Holds(front));
  room.Keep(front);
  EXPECT_FALSE(room.Holds(front));
  room.Clear();
  EXPECT_TRUE(room.Holds(front));
}

}  // namespace
}  // namespace planwright
