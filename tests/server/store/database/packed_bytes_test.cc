#include "server/store/database/packed_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace planwright::server {
namespace {

TEST(PackedBytesTest, UnpacksWhatWasPacked) {
  for (const std::string& bytes :
       {std::string(), std::string("a"), std::string("\0\xff\0", 3), std::string(100'000, 'x')}) {
    const auto unpacked = Unpack(Pack(bytes));
    ASSERT_TRUE(unpacked.ok()) << unpacked.status();
    EXPECT_EQ(*unpacked, bytes);
  }
  EXPECT_LT(Pack(std::string(100'000, 'x')).size(), 1000U);
}

// A bit that means nothing may change unseen.
TEST(PackedBytesTest, NeverReturnsOtherBytes) {
  const std::string bytes = "the quick brown fox jumps over the lazy dog";
  const std::string packed = Pack(bytes);
  int found = 0;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    const auto unpacked = Unpack(damaged);
    if (unpacked.status().code() == absl::StatusCode::kDataLoss)
      ++found;
    else
      EXPECT_EQ(unpacked.value(), bytes) << i;
  }
  EXPECT_GT(found, 50);
}

TEST(PackedBytesTest, FindsWhatIsCutOff) {
  const std::string packed = Pack("some text");
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(Unpack(packed.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(PackedBytesTest, TakesNoMemoryForALengthThatCannotBe) {
  std::string packed = Pack("some text");
  packed[6] = '\x7f';
  EXPECT_EQ(Unpack(packed).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace planwright::server
