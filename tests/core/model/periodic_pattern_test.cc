#include "core/model/periodic_pattern.h"

#include <gtest/gtest.h>

#include <optional>

namespace planwright {
namespace {

TEST(PeriodicPatternTest, NamesOfOperationsLeadBack) {
  for (const PatternOperation operation : {PatternOperation::kForward, PatternOperation::kBackward,
                                           PatternOperation::kSendForward, PatternOperation::kSendBackward}) {
    EXPECT_EQ(PatternOperationOf(NameOf(operation)), operation) << NameOf(operation);
  }
  EXPECT_EQ(NameOf(PatternOperation::kSendBackward), "send_backward");
  EXPECT_EQ(PatternOperationOf("subgraph"), std::nullopt);
  EXPECT_EQ(PatternOperationOf(""), std::nullopt);
}

TEST(PeriodicPatternTest, TransfersArePartOfThePassThatTheyServe) {
  EXPECT_EQ(PassOf(PatternOperation::kForward), Pass::kForward);
  EXPECT_EQ(PassOf(PatternOperation::kSendForward), Pass::kForward);
  EXPECT_EQ(PassOf(PatternOperation::kBackward), Pass::kBackward);
  EXPECT_EQ(PassOf(PatternOperation::kSendBackward), Pass::kBackward);
}

}  // namespace
}  // namespace planwright
