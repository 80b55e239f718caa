#include "server/pages/page_desk.h"

#include <gtest/gtest.h>

namespace planwright::server {
namespace {

TEST(PageDeskTest, OwnHostsAreThoseThatNobodyElseCanName) {
  for (const char* own : {"localhost", "LocalHost:9466", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:9466"}) {
    EXPECT_TRUE(IsOwnHost(own)) << own;
  }
  for (const char* other : {"", ":80", "evil.example", "127.evil.example", "localhost.evil.example:80", "10.0.0.1:80",
                            "[::2]:80", "::1", "0.0.0.0", "1127.0.0.1"}) {
    EXPECT_FALSE(IsOwnHost(other)) << other;
  }
}

}  // namespace
}  // namespace planwright::server
