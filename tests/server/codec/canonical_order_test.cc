#include "server/codec/canonical_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace planwright::server {
namespace {

// Things with codes, and a table of what joins them.
struct Things {
  std::vector<std::string> codes;
  std::vector<std::vector<double>> joints;

  // The same, numbered in another way.
  Things Renumbered(const std::vector<std::size_t>& order) const {
    Things other = *this;
    for (std::size_t a = 0; a < order.size(); ++a) {
      other.codes[a] = codes[order[a]];
      for (std::size_t b = 0; b < order.size(); ++b) other.joints[a][b] = joints[order[a]][order[b]];
    }
    return other;
  }
  std::optional<std::vector<std::size_t>> Order(int64_t most_steps = 10'000) const {
    return CanonicalOrder(
        codes, [this](std::size_t a, std::size_t b) { return JointKind(joints[a][b], 0); }, most_steps);
  }
  bool operator==(const Things&) const = default;
};

Things Alike(std::size_t count) {
  return {std::vector<std::string>(count, "gpu"), std::vector(count, std::vector<double>(count, 1))};
}

// Whether any numbering of the things leads to the same.
void ExpectCanonical(const Things& things, std::mt19937& random) {
  const Things form = things.Renumbered(things.Order().value());
  std::vector<std::size_t> order(things.codes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int i = 0; i < 50; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    const Things other = things.Renumbered(order);
    EXPECT_EQ(other.Renumbered(other.Order().value()), form);
  }
}

TEST(CanonicalOrderTest, TakesFewStepsWhereAllAreAlike) {
  EXPECT_TRUE(Alike(16).Order(/*most_steps=*/17).has_value());
  EXPECT_THAT(Alike(0).Order(), testing::Optional(testing::IsEmpty()));
}

TEST(CanonicalOrderTest, DoesNotDependOnNumbers) {
  std::mt19937 random(1);
  for (int i = 0; i < 30; ++i) {
    Things things = Alike(2 + random() % 7);
    for (std::size_t a = 0; a < things.codes.size(); ++a) {
      if (random() % 4 == 0) things.codes[a] = "cpu";
      for (std::size_t b = 0; b < a; ++b) things.joints[a][b] = things.joints[b][a] = static_cast<double>(random() % 2);
    }
    ExpectCanonical(things, random);
  }
  // A cube: regular, and nothing is a twin.
  Things cube = Alike(8);
  for (std::size_t a = 0; a < 8; ++a) {
    for (const std::size_t side : {1U, 2U, 4U}) cube.joints[a][a ^ side] = 2;
  }
  ExpectCanonical(cube, random);
}

TEST(CanonicalOrderTest, TellsDifferentThingsApart) {
  Things path = Alike(4);
  Things star = Alike(4);
  for (std::size_t i = 1; i < 4; ++i) {
    path.joints[i - 1][i] = path.joints[i][i - 1] = 2;
    star.joints[0][i] = star.joints[i][0] = 2;
  }
  EXPECT_NE(path.Renumbered(path.Order().value()), star.Renumbered(star.Order().value()));
}

TEST(CanonicalOrderTest, GivesUpWhenItTakesTooLong) { EXPECT_EQ(Alike(16).Order(/*most_steps=*/16), std::nullopt); }

}  // namespace
}  // namespace planwright::server
