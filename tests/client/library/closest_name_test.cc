#include "client/library/closest_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planwright::client {
namespace {

TEST(ClosestToTest, CountsSwapsAsOne) {
  const std::vector<std::string> names = {"plan", "models", "evaluate"};
  EXPECT_EQ(ClosestTo("paln", names), "plan");
  EXPECT_EQ(ClosestTo("evalute", names), "evaluate");
  EXPECT_EQ(ClosestTo("serve", names), "");
}

TEST(DidYouMeanTest, SaysSoOnlyWhereSomethingIsClose) {
  const std::vector<std::string> names = {"plan", "models"};
  EXPECT_EQ(DidYouMean("paln", names, "--"), "; did you mean --plan?");
  EXPECT_EQ(DidYouMean("serve", names), "");
}

}  // namespace
}  // namespace planwright::client
