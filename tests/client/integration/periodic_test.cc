// PERIODIC as the command line shows it, in this process and through a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/client/integration/child.h"
#include "tests/integration/daemon_process.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kGraph = "--graph=zoo:resnet50?image=1000&batch=8";
const std::string kCluster =
    "--cluster=zoo:nodes:1?devices=4&memory_gib=8&peak_tflops=9&memory_bandwidth_gb=700&compute_efficiency=1&"
    "kernel_overhead_us=10&inside_gb=12&inside_us=0";

Finished PlanPeriodic(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {
      "plan", kGraph, kCluster, "--schedule=periodic", "--granularity=layer", "--memory_preset=madpipe"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return Planwright(std::move(arguments));
}

json PlanAsJson(std::vector<std::string> flags) {
  flags.emplace_back("--output=json");
  const Finished planned = PlanPeriodic(flags);
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  return json::parse(planned.out, nullptr, false);
}

Finished Evaluate(const json& plan, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> arguments = {"evaluate", kGraph, kCluster, "--plan=-"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return Planwright(std::move(arguments), plan.dump());
}

TEST(PeriodicTest, ThePlanCarriesItsPattern) {
  const json plan = PlanAsJson({});
  EXPECT_EQ(plan["schedule"]["kind"], "SCHEDULE_KIND_PERIODIC");
  EXPECT_EQ(plan["schedule"]["period_ms"], plan["objective_ms"]);
  // A forward and a backward task of each stage, and two transfers for each cut.
  EXPECT_EQ(plan["schedule"]["tasks"].size(), 4 * plan["stages"].size() - 2);
  EXPECT_EQ(plan["problem"]["overlap"], "OVERLAP_OVERLAPPED");
}

TEST(PeriodicTest, SeveralStagesPerDeviceTakeLess) {
  const json one_stage = PlanAsJson({});
  const json several = PlanAsJson({"--split=non_contiguous"});
  EXPECT_LT(several["objective_ms"].get<double>(), one_stage["objective_ms"].get<double>());
  EXPECT_GT(several["stages"].size(), 4U);
}

TEST(PeriodicTest, APlanReadsBack) {
  const json plan = PlanAsJson({"--split=non_contiguous"});
  const Finished evaluated = Evaluate(plan);
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.out << evaluated.err;
  EXPECT_THAT(evaluated.out, StartsWith("The plan is valid.\n"));
}

TEST(PeriodicTest, StagesWithoutAPatternGetOne) {
  json plan = PlanAsJson({});
  const json objective = plan["objective_ms"];
  plan["schedule"].erase("tasks");
  const Finished evaluated = Evaluate(plan, {"--output=json"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.out;
  EXPECT_EQ(json::parse(evaluated.out)["plan"]["objective_ms"], objective);
}

TEST(PeriodicTest, ABrokenPatternIsCaughtWhereItIsBroken) {
  json plan = PlanAsJson({});
  plan["schedule"]["tasks"][0]["start_ms"] = 1;
  plan["schedule"]["tasks"][1]["resource"] = "host0/gpu3";
  const Finished evaluated = Evaluate(plan);
  EXPECT_EQ(evaluated.exit_code, 3);
  EXPECT_THAT(evaluated.out, HasSubstr("plan.schedule.tasks["));
  EXPECT_THAT(evaluated.out, HasSubstr("send_forward of stage 0 starts"));
}

TEST(PeriodicTest, TheReportSaysWhatIsInFlight) {
  const Finished planned = PlanPeriodic({});
  EXPECT_THAT(planned.out, HasSubstr("in flight"));
  EXPECT_THAT(planned.out, HasSubstr("\nPattern\n"));
}

TEST(PeriodicTest, AServerMakesTheSamePlan) {
  DaemonProcess daemon;
  const std::string server = "--server=" + daemon.address();
  for (const char* split : {"--split=contiguous", "--split=non_contiguous"}) {
    json there = PlanAsJson({split, server});
    json here = PlanAsJson({split});
    for (json* plan : {&there, &here}) {
      for (const char* field : {"wall_time_ms", "cpu_time_ms", "incumbents"}) (*plan)["provenance"].erase(field);
    }
    EXPECT_EQ(there, here);
    EXPECT_EQ(Evaluate(here, {server}).exit_code, 0);
  }
}

TEST(PeriodicTest, SaysWhatDoesNotGoWithIt) {
  const Finished serial = PlanPeriodic({"--overlap=serial"});
  EXPECT_EQ(serial.exit_code, 2);
  EXPECT_THAT(serial.err, HasSubstr("problem.overlap (--overlap): SERIAL does not go with problem.schedule PERIODIC"));
  const Finished small = PlanPeriodic({"--reserved_bytes=8000000000"});
  EXPECT_THAT(small.err, HasSubstr("(178,066,176 bytes) are missing"));
}

}  // namespace
}  // namespace planwright::client
