#include "core/base/known.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "gtest/gtest.h"

namespace planwright {
namespace {

TEST(KnownTest, RefersToTheValue) {
  std::optional<int> value = 3;
  Known(value) = 4;
  EXPECT_EQ(&Known(std::as_const(value)), &*value);
  EXPECT_EQ(*value, 4);
}

TEST(KnownTest, MovesOutOfWhatEnds) {
  const std::unique_ptr<int> value = Known(std::optional(std::make_unique<int>(5)));
  EXPECT_EQ(*value, 5);
}

TEST(KnownTest, ThrowsWhereThePromiseIsBroken) {
  std::optional<int> nothing;
  EXPECT_THROW(Known(nothing), std::logic_error);
  EXPECT_THROW(Known(std::as_const(nothing)), std::logic_error);
  EXPECT_THROW(Known(std::optional<int>()), std::logic_error);
}

}  // namespace
}  // namespace planwright
