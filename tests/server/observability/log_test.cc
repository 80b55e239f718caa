#include "server/observability/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace planwright::server {
namespace {

constexpr std::chrono::system_clock::time_point kTime{std::chrono::milliseconds(1'700'000'000'123)};

std::string Line(LogFormat format, std::initializer_list<LogField> fields) {
  return FormatLogLine(format, kTime, Severity::kInfo, "search ended", fields);
}

TEST(LogTest, TextIsOneLineOfWords) {
  EXPECT_EQ(Line(LogFormat::kText, {{"id", "a-1"}, {"wall_ms", 12.5}, {"count", int64_t{3}}, {"ok", true}}),
            "2023-11-14T22:13:20.123Z INFO search ended id=a-1 wall_ms=12.5 count=3 ok=true\n");
}

TEST(LogTest, TextQuotesWhatIsNoWord) {
  EXPECT_EQ(Line(LogFormat::kText, {{"error", "two words\nand \"more\""}}),
            "2023-11-14T22:13:20.123Z INFO search ended error=\"two words\\nand \\\"more\\\"\"\n");
}

TEST(LogTest, JsonIsOneObjectOnOneLine) {
  const std::string line = Line(LogFormat::kJson, {{"error", "two\nlines"}, {"count", int64_t{3}}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json.at("time"), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(json.at("severity"), "INFO");
  EXPECT_EQ(json.at("message"), "search ended");
  EXPECT_EQ(json.at("error"), "two\nlines");
  EXPECT_EQ(json.at("count"), 3);
}

TEST(LogTest, EmptyTextsAreLeftOut) {
  EXPECT_EQ(Line(LogFormat::kText, {{"error", ""}}), "2023-11-14T22:13:20.123Z INFO search ended\n");
  EXPECT_FALSE(nlohmann::json::parse(Line(LogFormat::kJson, {{"error", ""}})).contains("error"));
}

TEST(LogTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_NO_THROW(nlohmann::json::parse(Line(LogFormat::kJson, {{"name", "\xC3("}})));
  EXPECT_NO_THROW(Line(LogFormat::kText, {{"name", "\xC3("}}));
}

TEST(LoggerTest, HandsWholeLinesToItsSink) {
  std::string written;
  const Logger log(LogFormat::kText, [&written](const std::string& line) { written += line; });
  log.Warning("first");
  log.Error("second");
  EXPECT_NE(written.find(" WARNING first\n"), std::string::npos);
  EXPECT_NE(written.find(" ERROR second\n"), std::string::npos);
}

TEST(LoggerTest, LinesOfLessWeightThanTheLevelAreNotWritten) {
  std::string written;
  Logger log(LogFormat::kText, [&written](const std::string& line) { written += line; });
  log.Debug("one");
  log.SetLevel(Severity::kDebug);
  log.Debug("two");
  log.SetLevel(Severity::kError);
  log.Warning("three");
  log.Announce("four", {});
  EXPECT_EQ(written.find(" one"), std::string::npos);
  EXPECT_NE(written.find(" DEBUG two\n"), std::string::npos);
  EXPECT_EQ(written.find(" three"), std::string::npos);
  EXPECT_NE(written.find(" INFO four\n"), std::string::npos);
}

}  // namespace
}  // namespace planwright::server
