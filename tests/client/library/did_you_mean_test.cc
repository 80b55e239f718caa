#include "client/library/did_you_mean.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planwright::client {
namespace {

TEST(DidYouMeanTest, SaysSoOnlyWhereSomethingIsClose) {
  const std::vector<std::string> names = {"plan", "models"};
  EXPECT_EQ(DidYouMean("paln", names, "--"), "; did you mean --plan?");
  EXPECT_EQ(DidYouMean("serve", names), "");
}

}  // namespace
}  // namespace planwright::client
