#include "server/observability/span_exporter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace planwright::server {
namespace {

using std::chrono::milliseconds;

Span Example() {
  const std::chrono::system_clock::time_point start{std::chrono::nanoseconds(1'700'000'000'123'456'789)};
  return {.trace_id = "0af7651916cd43dd8448eb211c80319c",
          .span_id = "b7ad6b7169203331",
          .parent_id = "00f067aa0ba902b7",
          .name = "service/Method",
          .is_server = true,
          .start = start,
          .end = start + std::chrono::seconds(1),
          .error = "NotFound: no \xC3 plan",
          .attributes = {{"rpc.method", "Method"}, {"empty", ""}}};
}

TEST(SpanExporterTest, WritesTheJsonOfOtlp) {
  const std::vector<Span> spans = {Example()};
  const auto json = nlohmann::json::parse(ToOtlpJson(spans, "1.2"));
  const auto& resource = json.at("resourceSpans").at(0);
  EXPECT_EQ(resource.at("resource").at("attributes").at(0).at("value").at("stringValue"), "planwrightd");
  const auto& span = resource.at("scopeSpans").at(0).at("spans").at(0);
  EXPECT_EQ(span.at("traceId"), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(span.at("parentSpanId"), "00f067aa0ba902b7");
  EXPECT_EQ(span.at("kind"), 2);
  EXPECT_EQ(span.at("startTimeUnixNano"), "1700000000123456789");
  EXPECT_EQ(span.at("endTimeUnixNano"), "1700000001123456789");
  EXPECT_EQ(span.at("status").at("code"), 2);
  ASSERT_EQ(span.at("attributes").size(), 1U);
  EXPECT_EQ(span.at("attributes").at(0).at("key"), "rpc.method");
}

TEST(SpanExporterTest, ARootHasNoParentAndASuccessNoCode) {
  Span span = Example();
  span.parent_id = "";
  span.error = "";
  const std::vector<Span> spans = {span};
  const auto json = nlohmann::json::parse(ToOtlpJson(spans, "1"))["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
  EXPECT_FALSE(json.contains("parentSpanId"));
  EXPECT_TRUE(json.at("status").empty());
}

TEST(SpanExporterTest, IdsAreHexadecimalAndDiffer) {
  EXPECT_EQ(RandomHexId(32).size(), 32U);
  EXPECT_EQ(RandomHexId(16).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(RandomHexId(16), RandomHexId(16));
}

TEST(SpanExporterTest, EndpointsAreHttp) {
  EXPECT_TRUE(CheckOtlpEndpoint("http://127.0.0.1:4318/v1/traces").ok());
  EXPECT_TRUE(CheckOtlpEndpoint("https://collector/v1/traces").ok());
  for (const char* wrong : {"", "collector:4318", "file:///etc/passwd", "http://"}) {
    EXPECT_FALSE(CheckOtlpEndpoint(wrong).ok()) << wrong;
  }
}

TEST(SpanExporterTest, CountsWhatNobodyTakesAndWhatFindsNoRoom) {
  // Port 9 of the loopback: nobody listens.
  SpanExporter exporter(
      {.endpoint = "http://127.0.0.1:9/v1/traces", .version = "1", .max_waiting = 2, .interval = milliseconds(1)});
  exporter.Add(std::vector<Span>(3, Example()));
  EXPECT_EQ(exporter.counts().dropped, 3);
  exporter.Add({Example()});
  while (exporter.counts().dropped < 4) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(exporter.counts().exported, 0);
}

}  // namespace
}  // namespace planwright::server
