#include "server/service/call/answer_cache.h"

#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <set>
#include <string>

namespace planwright::server {
namespace {

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

TEST(AnswerCacheTest, KeysAreOfTenantAndBytes) {
  const std::string key = AnswerCache::KeyOf("a", {}, Bytes("request"));
  EXPECT_EQ(AnswerCache::KeyOf("a", {}, Bytes("request")), key);
  EXPECT_NE(AnswerCache::KeyOf("b", {}, Bytes("request")), key);
  EXPECT_NE(AnswerCache::KeyOf("a", {}, Bytes("Request")), key);
  EXPECT_NE(AnswerCache::KeyOf("ar", {}, Bytes("equest")), key);
}

TEST(AnswerCacheTest, KeysAreOfTheLimitsThatHold) {
  const ModelLimits usual;
  std::set<std::string> keys = {AnswerCache::KeyOf("a", usual, Bytes("request"))};
  for (const auto limit : {&ModelLimits::max_operators, &ModelLimits::max_tensors, &ModelLimits::max_devices,
                           &ModelLimits::max_name_bytes}) {
    ModelLimits lower;
    lower.*limit = 1;
    keys.insert(AnswerCache::KeyOf("a", lower, Bytes("request")));
  }
  EXPECT_EQ(keys.size(), 5U);
}

TEST(AnswerCacheTest, HowTheBytesAreSlicedDoesNotMatter) {
  const std::array<grpc::Slice, 2> parts = {grpc::Slice("requ"), grpc::Slice("est")};
  EXPECT_EQ(AnswerCache::KeyOf("a", {}, grpc::ByteBuffer(parts.data(), parts.size())),
            AnswerCache::KeyOf("a", {}, Bytes("request")));
}

// An answer about `name` of tenant "a", asked for `age` ago.
AnswerCache::Answer AnswerAbout(const std::string& name, AnswerCache::Clock::duration age = {}) {
  return {.bytes = Bytes("answer"),
          .plan_key = "p",
          .references = {.tenant = "a", .names = {name}},
          .asked = AnswerCache::Clock::now() - age};
}

TEST(AnswerCacheTest, FindsWhatItKeeps) {
  AnswerCache cache(1000);
  cache.Keep("k", {.bytes = Bytes("answer"), .plan_key = "p"});
  ASSERT_NE(cache.Find("k"), nullptr);
  EXPECT_EQ(cache.Find("k")->plan_key, "p");
  EXPECT_EQ(cache.Find("k")->bytes.Length(), 6U);
  EXPECT_EQ(cache.Find("other"), nullptr);
  EXPECT_EQ(cache.stats().hits, 3);
}

TEST(AnswerCacheTest, AnswersAboutWhatIsRegisteredLiveShortly) {
  AnswerCache cache(10'000);
  cache.Keep("new", AnswerAbout("graphs/1"));
  cache.Keep("old", AnswerAbout("graphs/1", AnswerCache::kShortLife));
  EXPECT_NE(cache.Find("new"), nullptr);
  EXPECT_EQ(cache.Find("old"), nullptr);
}

TEST(AnswerCacheTest, ADeletionTakesTheAnswersAboutThatAndNoOthers) {
  AnswerCache cache(10'000);
  cache.Keep("it", AnswerAbout("graphs/1"));
  cache.Keep("other", AnswerAbout("graphs/2"));
  cache.Keep("nothing", {.bytes = Bytes("answer"), .plan_key = "p"});
  cache.Forget("b", "graphs/1");
  EXPECT_NE(cache.Find("it"), nullptr);
  cache.Forget("a", "graphs/1");
  EXPECT_EQ(cache.Find("it"), nullptr);
  EXPECT_NE(cache.Find("other"), nullptr);
  EXPECT_NE(cache.Find("nothing"), nullptr);
}

TEST(AnswerCacheTest, AnAnswerThatWasBeingMadeWhenItsGraphWasDeletedIsNotGiven) {
  AnswerCache cache(10'000);
  cache.Forget("a", "graphs/1");
  cache.Keep("before", AnswerAbout("graphs/1", std::chrono::milliseconds(5)));
  EXPECT_EQ(cache.Find("before"), nullptr);
  cache.Keep("after", AnswerAbout("graphs/1", -std::chrono::milliseconds(5)));
  EXPECT_NE(cache.Find("after"), nullptr);
}

}  // namespace
}  // namespace planwright::server
