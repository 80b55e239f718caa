// Simulations as the command line shows them, in this process and through a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/integration/child.h"
#include "tests/integration/daemon_process.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kSource = {"--graph=zoo:bert-base", "--cluster=zoo:dgx1-v100:1"};

Finished Command(std::vector<std::string> arguments, const std::vector<std::string>& flags,
                 const std::string& input = "") {
  arguments.insert(arguments.end(), kSource.begin(), kSource.end());
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return Planwright(std::move(arguments), input);
}

// On four of the devices.
const std::string& PlanText() {
  static const std::string text =
      Command({"plan"}, {"--workload=training", "--memory_preset=adam_mixed", "--max_devices=4", "--output=json"}).out;
  return text;
}

Finished Simulate(const std::vector<std::string>& flags) {
  return Command({"simulate", "--plan=-"}, flags, PlanText());
}

TEST(SimulateTest, DrawsATimelineForTheTerminal) {
  const Finished simulated = Simulate({"--micro_batches=8"});
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_THAT(simulated.out, StartsWith("zoo:bert-base on zoo:dgx1-v100:1: a step of 8 micro-batches takes "));
  for (const char* part : {"\nTimeline\n  host0/gpu0  0", "\nDevices\n", "one_f_one_b"}) {
    EXPECT_THAT(simulated.out, HasSubstr(part));
  }
}

TEST(SimulateTest, AServerFindsTheSame) {
  DaemonProcess daemon;
  const std::string server = "--server=" + daemon.address();
  for (const char* schedule : {"gpipe", "chimera", "pipedream_async"}) {
    const std::vector<std::string> flags = {std::string("--schedule=") + schedule, "--output=json",
                                            "--contention=fair_share", "--recomputation=full"};
    const Finished here = Simulate(flags);
    EXPECT_EQ(here.exit_code, 0) << here.err;
    std::vector<std::string> remote = flags;
    remote.push_back(server);
    const Finished there = Simulate(remote);
    EXPECT_TRUE(there.out == here.out) << schedule << there.err;
    const json answer = json::parse(here.out);
    EXPECT_EQ(answer["timeline"]["tasks"].size(), std::stoul(answer["summary"]["tasks"].get<std::string>()));
  }
}

// Exchanges of a joint plan as tasks, in this process and through a server.
TEST(SimulateTest, RunsCollectivesOnLinks) {
  const std::vector<std::string> source = {"--graph=zoo:llama3-8b", "--cluster=zoo:dgx-h100:2"};
  const auto run = [&](std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.end(), source.begin(), source.end());
    return Planwright(std::move(arguments), input);
  };
  const std::string plan = run({"plan", "--global_batch=64", "--tensor_degrees=4", "--output=json"}).out;
  const Finished here = run({"simulate", "--plan=-", "--collectives=on_links", "--output=json"}, plan);
  ASSERT_EQ(here.exit_code, 0) << here.err;
  const json answer = json::parse(here.out);
  const json& summary = answer["summary"];
  EXPECT_EQ(summary["collectives"], "COLLECTIVES_ON_LINKS");
  EXPECT_EQ(summary["step_time_without_contention_ms"], json::parse(plan)["joint"]["simulated_step_ms"]);
  EXPECT_GE(summary["step_time_ms"], summary["step_time_without_contention_ms"]);
  std::map<std::string, int> operations;
  for (const json& task : answer["timeline"]["tasks"]) ++operations[task["operation"]];
  EXPECT_GT(operations["tensor_exchange"], 0);
  DaemonProcess daemon;
  const Finished there =
      run({"simulate", "--plan=-", "--collectives=on_links", "--output=json", "--server=" + daemon.address()}, plan);
  EXPECT_TRUE(there.out == here.out) << there.err;
  const Finished report = run({"simulate", "--plan=-", "--collectives=on_links"}, plan);
  EXPECT_THAT(report.out, HasSubstr("Shares of the step"));
  const Finished refused = Simulate({"--collectives=on_links"});
  EXPECT_THAT(refused.err, HasSubstr("collectives: must be IN_PASSES"));
}

// More than one message of the stream: the whole timeline arrives.
TEST(SimulateTest, ALongTimelineArrivesWhole) {
  DaemonProcess daemon;
  const Finished simulated = Simulate({"--micro_batches=1000", "--output=json", "--server=" + daemon.address()});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  const json answer = json::parse(simulated.out);
  const json& tasks = answer["timeline"]["tasks"];
  EXPECT_GT(simulated.out.size(), std::size_t{4} << 20);
  ASSERT_EQ(tasks.size(), std::stoul(answer["summary"]["tasks"].get<std::string>()));
  for (std::size_t i = 0; i < tasks.size(); ++i) ASSERT_EQ(tasks[i]["id"], i);
}

TEST(SimulateTest, TheTraceOfAPlanIsThatOfItsSimulation) {
  const Finished planned =
      Command({"plan"}, {"--workload=training", "--memory_preset=adam_mixed", "--max_devices=4", "--output=trace"});
  const Finished simulated = Simulate({"--output=trace"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_EQ(planned.out, simulated.out);
  const json trace = json::parse(simulated.out);
  std::map<std::string, int> phases;
  for (const json& event : trace["traceEvents"]) ++phases[event["ph"]];
  EXPECT_GT(phases["X"], 100);
  EXPECT_EQ(phases["s"], phases["f"]);
  EXPECT_GT(phases["s"], 0);
  EXPECT_GT(phases["C"], 100);
}

// The order of GPIPE for a plan of `stages` stages and two micro-batches, one line for each device.
std::string GpipeOrder(const json& plan, bool reversed_stage_0) {
  std::string order;
  for (const json& stage : plan["stages"]) {
    const std::string number = std::to_string(stage["index"].get<int>());
    const bool is_wrong = reversed_stage_0 && number == "0";
    order += stage["replicas"][0]["device"].get<std::string>();
    for (const char* pass : {"F0", "F1"}) order += "," + number + (is_wrong ? std::string("B") + pass[1] : pass);
    // An empty cell is a slot in which the device idles.
    order += ",";
    for (const char* pass : {"F0", "F1"}) order += "," + number + (is_wrong ? pass : std::string("B") + pass[1]);
    order += "\n";
  }
  return order;
}

TEST(SimulateTest, AnOrderFromAFileIsKeptOrRefused) {
  const std::string path = testing::TempDir() + "/order.csv";
  const auto simulate = [&](const std::string& order) {
    std::ofstream(path) << order;
    return Simulate({"--micro_batches=2", "--order=" + path});
  };
  const json plan = json::parse(PlanText());
  EXPECT_EQ(simulate(GpipeOrder(plan, false)).exit_code, 0);
  const Finished deadlock = simulate(GpipeOrder(plan, true));
  EXPECT_EQ(deadlock.exit_code, 2);
  EXPECT_THAT(deadlock.err, HasSubstr("order: cannot run: "));
  EXPECT_THAT(deadlock.err, HasSubstr("0F0"));
  EXPECT_THAT(simulate("host0/gpu0,0X0\n").err, HasSubstr("order[0].tasks[0]: must be a stage, an operation"));
  EXPECT_THAT(simulate("nobody,0F0\n").err, HasSubstr("order[0].device: must name"));
  EXPECT_EQ(Simulate({"--order=/nowhere"}).exit_code, 2);
  std::remove(path.c_str());
}

TEST(SimulateTest, BadInputIsNamed) {
  const Finished few = Simulate({"--micro_batches=0"});
  EXPECT_EQ(few.exit_code, 2);
  EXPECT_THAT(few.err, HasSubstr("micro_batches: must be >= 1, is 0"));
  EXPECT_THAT(Simulate({"--micro_batches=2000000000"}).err, HasSubstr("micro_batches: must be at most "));
  EXPECT_THAT(Simulate({"--schedule=interleaved"}).err, HasSubstr("schedule: INTERLEAVED needs a plan"));
  EXPECT_THAT(Simulate({"--schedule=fastest"}).err, HasSubstr("--schedule"));
  EXPECT_EQ(Command({"simulate"}, {}).exit_code, 2);
}

}  // namespace
}  // namespace planwright::client
