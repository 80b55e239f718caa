#include "client/report/timeline/timeline_svg.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Simulation Parsed(const std::string& summary, const std::string& timeline) {
  Simulation simulation;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(summary, &simulation.summary));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(timeline, &simulation.timeline));
  return simulation;
}

TEST(TimelineSvgTest, DrawsEachTaskWithItsMicroBatch) {
  const std::string svg = TimelineSvg(Parsed(R"pb(micro_batches: 1
                                                  step_time_ms: 10
                                                  resources { name: "gpu<0>" kind: KIND_DEVICE })pb",
                                             R"pb(tasks { operation: "forward" micro_batch: 7 end_ms: 4 }
                                                  tasks { operation: "send" start_ms: 4 end_ms: 5 }
                                                  tasks { operation: "backward" start_ms: 6 end_ms: 9 micro_batch: 8 }
                                                  tasks { operation: "allreduce" start_ms: 9 end_ms: 10 })pb"),
                                      "a & b");
  EXPECT_THAT(svg, HasSubstr("a &amp; b: 10.000 ms, a step of 1 micro-batch"));
  EXPECT_THAT(svg, HasSubstr(">gpu&lt;0&gt;<"));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"170\" y=\"84\" width=\"400\" height=\"20\" fill=\"#9ecae1\"/>"));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"570\" y=\"84\" width=\"100\" height=\"20\" fill=\"#fdae6b\"/>"));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"770\" y=\"84\" width=\"300\" height=\"20\" fill=\"#2b5c8a\"/>"));
  EXPECT_THAT(svg, HasSubstr(">7</text>"));
  EXPECT_THAT(svg, HasSubstr(">8</text>"));
}

TEST(TimelineSvgTest, TasksThatAreTooShortToSeeLeaveIdleTime) {
  const std::string svg = TimelineSvg(Parsed(R"pb(micro_batches: 1
                                                  step_time_ms: 1000
                                                  resources { name: "gpu0" kind: KIND_DEVICE })pb",
                                             R"pb(tasks { operation: "forward" end_ms: 0.1 })pb"),
                                      "short");
  EXPECT_THAT(svg, Not(HasSubstr("height=\"20\"")));
}

TEST(TimelineSvgTest, StepsWithoutTimeOrRowsAreDrawn) {
  EXPECT_THAT(TimelineSvg(Parsed("", ""), "nothing"), HasSubstr("nothing: 0"));
  std::string resources;
  for (int i = 0; i < 70; ++i) resources += "resources { name: \"gpu\" kind: KIND_DEVICE }\n";
  EXPECT_THAT(TimelineSvg(Parsed(resources, ""), "many"), HasSubstr("and 6 more"));
}

TEST(TimelineSvgTest, ShortTasksOfOnePassAreDrawnTogether) {
  std::string tasks;
  for (int layer = 0; layer < 1'000; ++layer) {
    tasks += "tasks { operation: \"forward\" start_ms: " + std::to_string(layer) + " end_ms: " + std::to_string(layer) +
             ".8 }\n" + "tasks { operation: \"tensor_exchange\" links: 1 start_ms: " + std::to_string(layer) +
             ".8 end_ms: " + std::to_string(layer + 1) + " }\n";
  }
  const std::string svg = TimelineSvg(Parsed(R"pb(micro_batches: 1
                                                  step_time_ms: 10000
                                                  resources { name: "gpu0" kind: KIND_DEVICE }
                                                  resources { name: "port" kind: KIND_LINK })pb",
                                             tasks),
                                      "layers");
  EXPECT_THAT(svg, HasSubstr("<rect x=\"170\" y=\"84\" width=\"100\" height=\"20\" fill=\"#9ecae1\"/>"));
  EXPECT_THAT(svg, HasSubstr(">exchange</text>"));
  // Too little of the link to see.
  EXPECT_THAT(svg, Not(HasSubstr("y=\"108\" width")));
}

TEST(TimelineSvgTest, LegendsSayNothingOfExchangesThatAreNotThere) {
  EXPECT_THAT(TimelineSvg(Parsed("", ""), "nothing"), Not(HasSubstr(">exchange</text>")));
}

}  // namespace
}  // namespace planwright::client
