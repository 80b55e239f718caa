#include "server/engine/library/page_token.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace planwright::server {
namespace {

constexpr int64_t kTokenTime = 1'700'000'000;
constexpr int64_t kDay = int64_t{24} * 3600;
constexpr char kQuery[] = "plans/tenant";

TEST(PageTokenTest, ContinuesBehindTheLastRow) {
  const std::string token = NextPageToken({1234, "my,plan"}, kQuery, kTokenTime);
  const auto page = ReadPage({.size = 7, .token = token}, kQuery, kTokenTime + 3600);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->size, 7);
  EXPECT_EQ(page->after->time, 1234);
  EXPECT_EQ(page->after->id, "my,plan");
}

TEST(PageTokenTest, BoundsTheSize) {
  EXPECT_EQ(ReadPage({.size = 0, .token = ""}, kQuery, kTokenTime)->size, 100);
  EXPECT_EQ(ReadPage({.size = 5000, .token = ""}, kQuery, kTokenTime)->size, 1000);
  EXPECT_FALSE(ReadPage({.size = 5000, .token = ""}, kQuery, kTokenTime)->after.has_value());
  EXPECT_EQ(ReadPage({.size = -1, .token = ""}, kQuery, kTokenTime).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PageTokenTest, RefusesWhatIsNoTokenOfTheList) {
  const std::string token = NextPageToken({1234, "id"}, kQuery, kTokenTime);
  const auto refused = [](const std::string& text, const char* query, int64_t now) {
    return ReadPage({.size = 1, .token = text}, query, now).status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(token, "plans/other", kTokenTime));
  EXPECT_TRUE(refused(token, kQuery, kTokenTime + kDay + 1));
  EXPECT_FALSE(refused(token, kQuery, kTokenTime + kDay));
  EXPECT_TRUE(refused("nonsense", kQuery, kTokenTime));
  EXPECT_TRUE(refused("!", kQuery, kTokenTime));
  // What somebody has made who knows how.
  EXPECT_TRUE(refused(NextPageToken({1234, "id\xff"}, kQuery, kTokenTime), kQuery, kTokenTime));
  EXPECT_TRUE(refused(NextPageToken({1234, "id"}, kQuery, std::numeric_limits<int64_t>::min()), kQuery, kTokenTime));
  for (std::size_t i = 0; i + 2 < token.size(); ++i) {
    std::string damaged = token;
    damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
    EXPECT_TRUE(damaged == token || refused(damaged, kQuery, kTokenTime)) << i;
  }
}

}  // namespace
}  // namespace planwright::server
