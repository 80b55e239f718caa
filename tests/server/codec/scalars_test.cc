#include "server/codec/scalars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/wire.h"

namespace planwright::server {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(DecodeTimeTest, RoundsToPicoseconds) {
  Violations violations;
  EXPECT_EQ(DecodeTime(1.5, FieldPath("x"), violations), Picoseconds(1'500'000'000));
  EXPECT_EQ(DecodeTime(1e-9, FieldPath("x"), violations), Picoseconds(1));
  // Negative times can be expressed; the validator refuses them.
  EXPECT_EQ(DecodeTime(-1, FieldPath("x"), violations), Picoseconds(-1'000'000'000));
  EXPECT_THAT(Lines(violations), IsEmpty());
}

TEST(DecodeTimeTest, RefusesWhatIsNoTime) {
  Violations violations;
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 1e300, -1e300}) {
    EXPECT_EQ(DecodeTime(value, FieldPath("x"), violations), Picoseconds(0));
  }
  EXPECT_THAT(Lines(violations),
              ElementsAre("x: must be finite and >= 0, is nan", "x: must be finite and >= 0, is inf",
                          "x: must be finite and >= 0, is -inf", "x: must be at most 4611686018, is 1e+300",
                          "x: must be finite and >= 0, is -1e+300"));
}

nanoseconds Decode(int64_t seconds, int32_t nanos, Violations& violations) {
  google::protobuf::Duration duration;
  duration.set_seconds(seconds);
  duration.set_nanos(nanos);
  return DecodeDuration(duration, FieldPath("options"), violations);
}

TEST(DecodeDurationTest, TakesDurationsAndCutsLongOnes) {
  Violations violations;
  EXPECT_EQ(Decode(1, 500'000'000, violations), nanoseconds(1'500'000'000));
  EXPECT_EQ(Decode(0, 0, violations), nanoseconds(0));
  EXPECT_EQ(Decode(std::numeric_limits<int64_t>::max(), 0, violations), kMaxDuration);
  EXPECT_THAT(Lines(violations), IsEmpty());
}

TEST(DecodeDurationTest, RefusesNegativeAndInvalidOnes) {
  Violations violations;
  Decode(-1, 0, violations);
  Decode(0, -1, violations);
  Decode(1, 1'000'000'000, violations);
  EXPECT_THAT(Lines(violations), ElementsAre("options: must be a duration >= 0, is -1 s and 0 ns",
                                             "options: must be a duration >= 0, is 0 s and -1 ns",
                                             "options: must be a duration >= 0, is 1 s and 1000000000 ns"));
}

TEST(NameIndexTest, FirstOfEqualNamesCounts) {
  NameIndex<OperatorId> index(3);
  EXPECT_TRUE(index.Add("a"));
  EXPECT_TRUE(index.Add("b"));
  EXPECT_FALSE(index.Add("a"));
  EXPECT_TRUE(index.Add("c"));
  EXPECT_EQ(index.Find("a"), OperatorId(0));
  EXPECT_EQ(index.Find("c"), OperatorId(3));
  EXPECT_EQ(index.Find("d"), std::nullopt);
}

}  // namespace
}  // namespace planwright::server
