#include "server/main/configuration/byte_size.h"

#include <gtest/gtest.h>

#include <optional>

namespace planwright::server {
namespace {

std::optional<int64_t> Parse(absl::string_view text) {
  ByteSize size;
  std::string error;
  if (AbslParseFlag(text, &size, &error)) return size.bytes;
  EXPECT_FALSE(error.empty());
  return std::nullopt;
}

TEST(ByteSizeTest, TakesBytesAndUnits) {
  EXPECT_EQ(Parse("0"), 0);
  EXPECT_EQ(Parse("1000"), 1000);
  EXPECT_EQ(Parse("3KiB"), 3 * 1024);
  EXPECT_EQ(Parse("64MiB"), int64_t{64} << 20);
  EXPECT_EQ(Parse("8GiB"), int64_t{8} << 30);
  EXPECT_EQ(Parse("1.5 GB"), 1'500'000'000);
}

TEST(ByteSizeTest, RefusesEverythingElse) {
  for (const char* text : {"", "GiB", "-1", "1.5", "9223372036854775807KiB", "1 MiB GiB", "8 Gb"}) {
    EXPECT_EQ(Parse(text), std::nullopt) << text;
  }
}

TEST(ByteSizeTest, IsShownInTheLargestUnitThatDividesIt) {
  EXPECT_EQ(AbslUnparseFlag(ByteSize{0}), "0");
  EXPECT_EQ(AbslUnparseFlag(ByteSize{1025}), "1025");
  EXPECT_EQ(AbslUnparseFlag(ByteSize{int64_t{64} << 20}), "64MiB");
  EXPECT_EQ(AbslUnparseFlag(ByteSize{int64_t{2} << 30}), "2GiB");
}

}  // namespace
}  // namespace planwright::server
