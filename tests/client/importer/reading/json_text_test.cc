#include "client/importer/reading/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;

std::string ErrorInOutline(const std::string& text) {
  const auto outline = OutlineOf(text, "f.json");
  EXPECT_EQ(outline.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(outline.status().message());
}

TEST(JsonTextTest, ListsTheKeysOfTheFirstLevelOnly) {
  const auto outline = OutlineOf(R"({"b": {"x": [1]}, "a": "text", "c": null})", "f.json");
  ASSERT_TRUE(outline.ok()) << outline.status();
  EXPECT_TRUE(outline->is_object);
  EXPECT_THAT(outline->keys, ElementsAre("a", "b", "c"));
  EXPECT_FALSE(outline->Has("x"));
}

TEST(JsonTextTest, TellsArraysFromObjects) {
  const auto outline = OutlineOf(R"([{"a": 1}])", "f.json");
  ASSERT_TRUE(outline.ok()) << outline.status();
  EXPECT_FALSE(outline->is_object);
}

TEST(JsonTextTest, SaysWhereTheTextIsNoJson) {
  EXPECT_EQ(ErrorInOutline("{\n  \"nodes\": [1, 2"),
            "f.json: line 2, column 16: array - unexpected end of input; expected ']'");
  EXPECT_EQ(ErrorInOutline(R"({"cpuLatency": NaN})"),
            "f.json: line 1, column 16: value - invalid literal; last read: '\"cpuLatency\": N'");
  EXPECT_EQ(ErrorInOutline(R"({"cpuLatency": 1e999})"), "f.json: line 1, column 20: number overflow parsing '1e999'");
  EXPECT_EQ(ErrorInOutline("{} x"),
            "f.json: line 1, column 4: value - invalid literal; last read: '{} x'; expected end of input");
  EXPECT_EQ(ErrorInOutline("{\"a\": \"\xff\"}"),
            "f.json: line 1, column 8: value - invalid string: ill-formed UTF-8 byte; last read: '\"\xff'");
}

TEST(JsonTextTest, RefusesDeepNesting) {
  const std::string hostile(200'000, '[');
  EXPECT_EQ(ErrorInOutline(hostile), "f.json: is nested deeper than 100 levels");
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += R"({"a":)";
  EXPECT_EQ(ErrorInOutline(objects), "f.json: is nested deeper than 100 levels");
}

TEST(JsonTextTest, AcceptsTheDeepestNesting) {
  const std::string deepest = std::string(100, '[') + std::string(100, ']');
  EXPECT_TRUE(OutlineOf(deepest, "f.json").ok());
  EXPECT_FALSE(OutlineOf(absl::StrCat("[", deepest, "]"), "f.json").ok());
}

}  // namespace
}  // namespace planwright::client
