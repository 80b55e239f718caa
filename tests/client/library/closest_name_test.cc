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

}  // namespace
}  // namespace planwright::client
