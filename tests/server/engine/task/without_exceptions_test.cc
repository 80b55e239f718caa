#include "server/engine/task/without_exceptions.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "absl/status/statusor.h"

namespace planwright::server {
namespace {

TEST(WithoutExceptionsTest, ExceptionsBecomeStatuses) {
  EXPECT_TRUE(WithoutExceptions([] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(WithoutExceptions([] { return absl::NotFoundError("x"); }), absl::NotFoundError("x"));
  EXPECT_EQ(WithoutExceptions([]() -> absl::Status { throw std::bad_alloc(); }).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(WithoutExceptions([]() -> absl::Status { throw std::runtime_error("why"); }), absl::InternalError("why"));
}

TEST(WithoutExceptionsTest, ValuesPass) {
  const absl::StatusOr<int> value = WithoutExceptions([]() -> absl::StatusOr<int> { return 7; });
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 7);
}

}  // namespace
}  // namespace planwright::server
