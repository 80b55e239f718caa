#include "core/zoo/keys/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace planwright {
namespace {

enum class Colour { kRed, kBlue };

class ZooKeysTest : public ::testing::Test {
 protected:
  ZooKeysTest() {
    keys_.AddWhole("layers", 1, 100, layers_);
    keys_.AddWhole("groups", 1, 8, groups_, "heads");
    keys_.AddReal("speed", 0.5, 1e6, speed_);
    keys_.AddChoice<Colour>("colour", {{"red", Colour::kRed}, {"blue", Colour::kBlue}}, colour_);
    AddDtypeKey(bytes_per_element_, keys_);
  }

  std::string ErrorOf(std::string_view query) {
    const absl::Status status = keys_.Assign("model \"m\" of the zoo", query);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << query;
    return std::string(status.message());
  }

  int64_t layers_ = 12;
  std::optional<int64_t> groups_;
  double speed_ = 989.5;
  Colour colour_ = Colour::kBlue;
  int64_t bytes_per_element_ = 2;
  ZooKeys keys_;
};

TEST_F(ZooKeysTest, DescribesKeysAndDefaults) {
  EXPECT_EQ(keys_.Describe(), "layers=12 groups=heads speed=989.5 colour=blue dtype=bf16");
}

TEST_F(ZooKeysTest, SetsWhatIsNamedAndNothingElse) {
  ASSERT_TRUE(keys_.Assign("m", "speed=1e3&groups=2&dtype=fp32").ok());
  EXPECT_EQ(layers_, 12);
  EXPECT_EQ(groups_, 2);
  EXPECT_EQ(speed_, 1'000);
  EXPECT_EQ(colour_, Colour::kBlue);
  EXPECT_EQ(bytes_per_element_, 4);
  ASSERT_TRUE(keys_.Assign("m", "layers=100&colour=red").ok());
  EXPECT_EQ(layers_, 100);
  EXPECT_EQ(colour_, Colour::kRed);
}

TEST_F(ZooKeysTest, NamesTheClosestKey) {
  EXPECT_EQ(ErrorOf("layer=3"),
            "model \"m\" of the zoo has no key \"layer\"; the closest is \"layers\" of: layers, groups, speed, colour, "
            "dtype");
  EXPECT_EQ(ErrorOf("=3"),
            "model \"m\" of the zoo has no key \"\"; the closest is \"speed\" of: layers, groups, speed, colour, "
            "dtype");
}

TEST_F(ZooKeysTest, SaysTheDomainOfABadValue) {
  EXPECT_EQ(ErrorOf("layers=0"), "model \"m\" of the zoo: layers must be a whole number from 1 to 100, is \"0\"");
  EXPECT_EQ(ErrorOf("speed=0.4"), "model \"m\" of the zoo: speed must be a number from 0.5 to 1e+06, is \"0.4\"");
  EXPECT_EQ(ErrorOf("colour=green"), "model \"m\" of the zoo: colour must be one of red, blue, is \"green\"");
  EXPECT_EQ(ErrorOf("dtype=fp8"), "model \"m\" of the zoo: dtype must be one of bf16, fp16, fp32, is \"fp8\"");
}

TEST_F(ZooKeysTest, RefusesWhatIsNotOneNumberInTheDomain) {
  for (const char* query : {"layers=", "layers=101", "layers=-1", "layers=1.5", "layers=2x", "layers= 2", "layers=1=2",
                            "layers=99999999999999999999", "groups=9", "speed=nan", "speed=inf", "speed=1e7",
                            "speed=1,5", "speed=", "colour=", "colour=RED"}) {
    EXPECT_THAT(ErrorOf(query), ::testing::HasSubstr(" must be ")) << query;
  }
}

TEST_F(ZooKeysTest, RefusesAKeyThatComesTwice) {
  EXPECT_EQ(ErrorOf("layers=3&speed=1&layers=3"), "model \"m\" of the zoo: layers is set twice");
}

TEST_F(ZooKeysTest, RefusesWhatIsNotASetting) {
  EXPECT_EQ(ErrorOf(""), "model \"m\" of the zoo: \"\" must have the form key=value");
  EXPECT_EQ(ErrorOf("layers"), "model \"m\" of the zoo: \"layers\" must have the form key=value");
  EXPECT_EQ(ErrorOf("layers=3&"), "model \"m\" of the zoo: \"\" must have the form key=value");
  EXPECT_EQ(ErrorOf("layers=3&&speed=1"), "model \"m\" of the zoo: \"\" must have the form key=value");
}

}  // namespace
}  // namespace planwright
