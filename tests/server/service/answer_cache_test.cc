#include "server/service/answer_cache.h"

#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

namespace planwright::server {
namespace {

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

TEST(AnswerCacheTest, KeysAreOfTenantAndBytes) {
  const std::string key = AnswerCache::KeyOf("a", Bytes("request"));
  EXPECT_EQ(AnswerCache::KeyOf("a", Bytes("request")), key);
  EXPECT_NE(AnswerCache::KeyOf("b", Bytes("request")), key);
  EXPECT_NE(AnswerCache::KeyOf("a", Bytes("Request")), key);
  EXPECT_NE(AnswerCache::KeyOf("ar", Bytes("equest")), key);
}

TEST(AnswerCacheTest, HowTheBytesAreSlicedDoesNotMatter) {
  const std::array<grpc::Slice, 2> parts = {grpc::Slice("requ"), grpc::Slice("est")};
  EXPECT_EQ(AnswerCache::KeyOf("a", grpc::ByteBuffer(parts.data(), parts.size())),
            AnswerCache::KeyOf("a", Bytes("request")));
}

TEST(AnswerCacheTest, FindsWhatItKeepsUntilThatExpires) {
  AnswerCache cache(1000);
  cache.Keep("k", {.bytes = Bytes("answer"), .plan_key = "p"});
  cache.Keep("old", {.bytes = Bytes("answer"), .plan_key = "p", .expires = AnswerCache::Clock::now()});
  ASSERT_NE(cache.Find("k"), nullptr);
  EXPECT_EQ(cache.Find("k")->plan_key, "p");
  EXPECT_EQ(cache.Find("k")->bytes.Length(), 6U);
  EXPECT_EQ(cache.Find("old"), nullptr);
  EXPECT_EQ(cache.Find("other"), nullptr);
  EXPECT_EQ(cache.stats().hits, 3);
}

}  // namespace
}  // namespace planwright::server
