#include "server/serving/cache/lru_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

using Cache = LruCache<int>;

std::shared_ptr<const int> Value(int value) { return std::make_shared<const int>(value); }

TEST(LruCacheTest, FindsWhatWasInserted) {
  Cache cache(100);
  cache.Insert("a", Value(1), 10);
  ASSERT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(*cache.Find("a"), 1);
  EXPECT_EQ(cache.Find("b"), nullptr);
}

TEST(LruCacheTest, MakesRoomByTheValueUsedLeastRecently) {
  Cache cache(30);
  cache.Insert("a", Value(1), 10);
  cache.Insert("b", Value(2), 10);
  cache.Insert("c", Value(3), 10);
  cache.Find("a");
  cache.Insert("d", Value(4), 10);
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_NE(cache.Find("a"), nullptr);
  EXPECT_NE(cache.Find("c"), nullptr);
  EXPECT_NE(cache.Find("d"), nullptr);
  EXPECT_EQ(cache.usage().evictions, 1);
  EXPECT_EQ(cache.usage().bytes, 30);
  EXPECT_EQ(cache.usage().entries, 3);
}

TEST(LruCacheTest, ReplacingAValueReplacesItsBytes) {
  Cache cache(30);
  cache.Insert("a", Value(1), 20);
  cache.Insert("a", Value(2), 5);
  EXPECT_EQ(*cache.Find("a"), 2);
  EXPECT_EQ(cache.usage().bytes, 5);
  EXPECT_EQ(cache.usage().entries, 1);
  EXPECT_EQ(cache.usage().evictions, 0);
}

TEST(LruCacheTest, DoesNotKeepWhatIsLargerThanAllOfIt) {
  Cache cache(30);
  cache.Insert("a", Value(1), 10);
  cache.Insert("b", Value(2), 31);
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_NE(cache.Find("a"), nullptr);
}

TEST(LruCacheTest, AValueThatIsHeldOutlivesItsEviction) {
  Cache cache(10);
  cache.Insert("a", Value(7), 10);
  const std::shared_ptr<const int> held = cache.Find("a");
  cache.Insert("b", Value(8), 10);
  EXPECT_EQ(cache.Find("a"), nullptr);
  EXPECT_EQ(*held, 7);
}

TEST(LruCacheTest, Erases) {
  Cache cache(30);
  cache.Insert("a", Value(1), 10);
  cache.Insert("b", Value(2), 10);
  cache.Erase("a");
  EXPECT_EQ(cache.Find("a"), nullptr);
  EXPECT_NE(cache.Find("b"), nullptr);
  EXPECT_EQ(cache.usage().bytes, 10);
  EXPECT_EQ(cache.usage().entries, 1);
}

TEST(LruCacheTest, StaysWithinItsBytesUnderThreads) {
  Cache cache(500);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cache, thread] {
      for (int i = 0; i < 500; ++i) {
        const std::string key = absl::StrCat((i * 7 + thread) % 40);
        const std::shared_ptr<const int> found = cache.Find(key);
        if (found == nullptr) cache.Insert(key, Value(i), 20 + i % 13);
        if (i % 50 == 0) cache.Erase(key);
        EXPECT_LE(cache.usage().bytes, 500);
      }
    });
  }
}

}  // namespace
}  // namespace planwright::server
