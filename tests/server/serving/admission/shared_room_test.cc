#include "server/serving/admission/shared_room.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace planwright::server {
namespace {

TEST(SharedRoomTest, OneAloneMayHaveAllOfIt) {
  SharedRoom room({.count = 3, .bytes = 100});
  EXPECT_TRUE(room.Fits({1, 1000}));
  room.Add("a", {3, 100});
  EXPECT_FALSE(room.Fits({1, 0}));
  room.Remove("a", {2, 60});
  EXPECT_TRUE(room.Fits({2, 60}));
  EXPECT_FALSE(room.Fits({1, 61}));
}

TEST(SharedRoomTest, SharesArePartsByWeightOfThoseWhoHaveSome) {
  SharedRoom room({.count = 8, .bytes = 1000});
  room.SetTenants({.named = {{"heavy", {.weight = 3}}}, .others = {}});
  room.Add("heavy", {8, 0});
  // Six are its own, two are the newcomer's.
  EXPECT_DOUBLE_EQ(room.TimesItsShare("heavy", "new", {1, 0}), 8.0 / 6);
  EXPECT_TRUE(room.IsWithinShare("new", {1, 0}));
  room.Remove("heavy", {2, 0});
  room.Add("new", {2, 0});
  EXPECT_FALSE(room.IsWithinShare("new", {1, 0}));
  EXPECT_DOUBLE_EQ(room.TimesItsShare("heavy", "new", {1, 0}), 1);
}

TEST(SharedRoomTest, OnlyWhatIsShortCounts) {
  SharedRoom room({.count = 4, .bytes = 100});
  room.Add("many", {2, 2});
  room.Add("large", {1, 98});
  // There are places, but no bytes.
  EXPECT_LT(room.TimesItsShare("many", "new", {1, 10}), 1);
  EXPECT_GT(room.TimesItsShare("large", "new", {1, 10}), 1);
  EXPECT_TRUE(room.IsWithinShare("new", {1, 33}));
  EXPECT_FALSE(room.IsWithinShare("new", {1, 34}));
}

TEST(SharedRoomTest, ATenantWithNothingIsWithinItsShareHoweverManyThereAre) {
  SharedRoom room({.count = 4, .bytes = 100});
  for (const char* tenant : {"a", "b", "c", "d"}) room.Add(tenant, {1, 0});
  EXPECT_TRUE(room.IsWithinShare("e", {1, 0}));
  // Nobody has more than one, so nobody has to go.
  EXPECT_LE(room.TimesItsShare("a", "e", {1, 0}), 1);
}

// Whatever comes: a tenant whose place was taken cannot take it back.
TEST(SharedRoomTest, NobodyTakesPlacesInTurn) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const int places = std::uniform_int_distribution(1, 9)(random);
    SharedRoom room({.count = places, .bytes = 1});
    TenantTable weights;
    for (const char* tenant : {"a", "b", "c"}) {
      weights.named[tenant].weight = std::uniform_int_distribution(1, 5)(random);
    }
    room.SetTenants(weights);
    for (int i = 0; i < places; ++i) room.Add(std::string(1, "abc"[random() % 3]), {1, 0});
    const std::string newcomer(1, "abc"[random() % 3]);
    const std::string other(1, "abc"[random() % 3]);
    if (other == newcomer || room.UsedBy(other).count == 0) continue;
    if (!room.IsWithinShare(newcomer, {1, 0}) || room.TimesItsShare(other, newcomer, {1, 0}) <= 1) continue;
    room.Remove(other, {1, 0});
    room.Add(newcomer, {1, 0});
    const bool takes_back = room.IsWithinShare(other, {1, 0}) && room.TimesItsShare(newcomer, other, {1, 0}) > 1;
    EXPECT_FALSE(takes_back) << round;
  }
}

}  // namespace
}  // namespace planwright::server
