#include "client/report/timeline/trace.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One micro-batch through two devices, then two transfers that share the link.
constexpr char kSummary[] = R"pb(
  micro_batches: 1
  step_time_ms: 12
  resources { name: "gpu\"0" kind: KIND_DEVICE initial_memory_bytes: 100 }
  resources { name: "gpu1" kind: KIND_DEVICE }
  resources { name: "gpu\"0 - gpu1" kind: KIND_LINK }
)pb";
constexpr char kTimeline[] = R"pb(
  tasks { id: 0 name: "0F0" operation: "forward" end_ms: 4 memory_at_start_bytes: 10 memory_at_end_bytes: -10 }
  tasks { id: 1 name: "0SEND_F0" operation: "send" resource: 2 start_ms: 4 end_ms: 8 waits_for: 0 }
  tasks { id: 2 name: "0SEND_F0" operation: "send" resource: 2 start_ms: 5 end_ms: 9 waits_for: 0 }
  tasks { id: 3 name: "1F0" operation: "forward" resource: 1 stage: 1 start_ms: 9 end_ms: 12 waits_for: 1 waits_for: 2 }
)pb";

Simulation Sample() {
  Simulation simulation;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kSummary, &simulation.summary));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kTimeline, &simulation.timeline));
  return simulation;
}

std::vector<json> Events(const Simulation& simulation, const std::string& phase) {
  std::vector<json> events;
  const json trace = json::parse(TraceText(simulation));
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) events.push_back(event);
  }
  return events;
}

std::pair<int, int> ThreadOf(const json& event) { return {event.at("pid").get<int>(), event.at("tid").get<int>()}; }

TEST(TraceTest, EveryTaskIsACompleteEventInMicroseconds) {
  const std::vector<json> events = Events(Sample(), "X");
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[1].at("name"), "0SEND_F0");
  EXPECT_EQ(events[1].at("ts"), 4000);
  EXPECT_EQ(events[1].at("dur"), 4000);
  EXPECT_EQ(events[3].at("args").at("stage"), 1);
  EXPECT_EQ(events[3].at("pid"), events[0].at("pid"));
  EXPECT_NE(events[1].at("pid"), events[0].at("pid"));
}

TEST(TraceTest, EventsOfOneThreadNeverOverlap) {
  std::map<std::pair<int, int>, double> ends;
  for (const json& event : Events(Sample(), "X")) {
    double& end = ends[ThreadOf(event)];
    EXPECT_GE(event.at("ts").get<double>(), end);
    end = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  // Two devices, and a link on two threads.
  EXPECT_EQ(ends.size(), 4U);
}

TEST(TraceTest, EveryThreadHasAName) {
  std::set<std::pair<int, int>> named;
  std::vector<std::string> names;
  for (const json& event : Events(Sample(), "M")) {
    if (event.at("name") != "thread_name") continue;
    named.insert(ThreadOf(event));
    names.push_back(event.at("args").at("name"));
  }
  EXPECT_THAT(names, ElementsAre("gpu\"0", "gpu\"0 - gpu1", "gpu\"0 - gpu1 #2", "gpu1"));
  for (const json& event : Events(Sample(), "X")) EXPECT_TRUE(named.contains(ThreadOf(event)));
}

TEST(TraceTest, FlowsGoInPairsFromTaskToTask) {
  const std::vector<json> starts = Events(Sample(), "s");
  const std::vector<json> finishes = Events(Sample(), "f");
  ASSERT_EQ(starts.size(), 4U);
  ASSERT_EQ(finishes.size(), 4U);
  std::set<int> ids;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(starts[i].at("id"), finishes[i].at("id"));
    EXPECT_TRUE(ids.insert(starts[i].at("id").get<int>()).second);
    EXPECT_LE(starts[i].at("ts"), finishes[i].at("ts"));
    EXPECT_EQ(finishes[i].at("bp"), "e");
  }
}

TEST(TraceTest, MemoryIsACounterOfEachDeviceInTheOrderOfTime) {
  std::map<std::string, double> times;
  std::vector<int64_t> first_device;
  for (const json& event : Events(Sample(), "C")) {
    double& time = times[event.at("name")];
    EXPECT_GE(event.at("ts").get<double>(), time);
    time = event.at("ts");
    if (event.at("name") == "memory gpu\"0") first_device.push_back(event.at("args").at("bytes"));
  }
  EXPECT_EQ(times.size(), 2U);
  EXPECT_THAT(first_device, ElementsAre(100, 110, 100));
}

TEST(TraceTest, WithoutATimelineItIsStillATrace) {
  Simulation simulation = Sample();
  simulation.timeline.clear_tasks();
  EXPECT_THAT(Events(simulation, "X"), IsEmpty());
}

TEST(TraceTest, ExchangesAreOnAllTheirLinks) {
  Simulation simulation = Sample();
  simulation.timeline.mutable_tasks(0)->add_links(2);
  simulation.timeline.mutable_tasks(1)->add_links(2);
  std::map<std::string, int> slices;
  for (const json& event : Events(simulation, "X")) {
    slices[event.at("name").get<std::string>() + (event.at("pid") == 1 ? " on a device" : " on a link")] += 1;
  }
  EXPECT_EQ(slices["0F0 on a device"], 1);
  EXPECT_EQ(slices["0F0 on a link"], 1);
  // A link that is its resource is not counted again.
  EXPECT_EQ(slices["0SEND_F0 on a link"], 2);
}

}  // namespace
}  // namespace planwright::client
