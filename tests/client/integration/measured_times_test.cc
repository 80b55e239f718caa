// Files of measured times and of what `nvidia-smi` printed, from the flags that name them to the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/integration/child.h"
#include "tests/integration/daemon_process.h"
#include "tests/support/unwrapped.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class MeasuredTimesTest : public testing::Test {
 protected:
  ~MeasuredTimesTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  // The plan, or an empty object where there is none.
  static json PlanOf(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"plan", "--output=json"});
    const Finished planned = Planwright(std::move(flags));
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    return planned.exit_code == 0 ? json::parse(planned.out) : json::object();
  }

  // What is said where the input is wrong.
  static std::string ErrorOf(std::vector<std::string> flags) {
    flags.insert(flags.begin(), "plan");
    const Finished refused = Planwright(std::move(flags));
    EXPECT_EQ(refused.exit_code, 2) << refused.out;
    EXPECT_EQ(refused.out, "");
    return Unwrapped(refused.err);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("measured-times-" + std::to_string(getpid()));
};

TEST_F(MeasuredTimesTest, AProfileTakesThePlaceOfEstimates) {
  const std::string profile =
      "--profile=" + Write("times.csv", "name,forward_ms,backward_ms\nembeddings/word,100,200\nnobody,1,1\n");
  const std::vector<std::string> problem = {"--graph=zoo:bert-base", "--cluster=zoo:dgx1-v100:1"};
  std::vector<std::string> measured = problem;
  measured.push_back(profile);
  const json estimated_plan = PlanOf(problem);
  const json plan = PlanOf(measured);
  EXPECT_LT(estimated_plan["objective_ms"], 100);
  EXPECT_GE(plan["objective_ms"], 300);
  EXPECT_LT(plan["objective_ms"], 400);
  EXPECT_THAT(plan["warnings"].dump(), HasSubstr("1 operators have measured times; 1 rows name no operator (nobody)"));

  const Finished imported = Planwright({"import", problem[0], problem[1], profile});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  int measured_operators = 0;
  const json graph_file = json::parse(imported.out);
  for (const json& one : graph_file["graph"]["operators"]) {
    if (!one.contains("costs")) continue;
    ++measured_operators;
    EXPECT_EQ(one["name"], "embeddings/word");
    EXPECT_EQ(one["costs"][0]["forward_ms"], 100);
    EXPECT_EQ(one["costs"][0]["backward_ms"], 200);
  }
  EXPECT_EQ(measured_operators, 1);
  // A graph that a server knows by its name is asked for, since its times go with it.
  DaemonProcess daemon;
  measured.push_back("--server=" + daemon.address());
  EXPECT_EQ(PlanOf(measured)["objective_ms"], plan["objective_ms"]);
}

TEST_F(MeasuredTimesTest, ATraceOfAProfilerIsAProfile) {
  // A run on a CPU: the named stretch, without kernels.
  const std::string trace = Write("trace.json", R"json({"traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "embeddings/word", "pid": 1, "tid": 1, "ts": 0, "dur": 100000}]})json");
  const json plan = PlanOf({"--graph=zoo:bert-base", "--cluster=zoo:dgx1-v100:1", "--profile=" + trace});
  EXPECT_GE(plan["objective_ms"], 100);
  EXPECT_LT(plan["objective_ms"], 200);
  EXPECT_THAT(plan["warnings"].dump(), HasSubstr("1 operators have measured times"));
}

TEST_F(MeasuredTimesTest, SaysWhatIsWrongWithAProfile) {
  const auto error_of = [](const std::string& path) {
    return ErrorOf({"--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--profile=" + path});
  };
  EXPECT_THAT(error_of(folder_ / "none.csv"), HasSubstr("none.csv: No such file or directory"));
  EXPECT_THAT(error_of(Write("wrong.csv", "name,forward_ms\na,1\n")), HasSubstr("line 1: must name the columns"));
  EXPECT_THAT(error_of(Write("other.csv", "name,forward_ms,backward_ms\na,1,2\nb,1,2\n")),
              HasSubstr("none of its 2 rows names an operator"));
  EXPECT_THAT(error_of(Write("empty.json", "{\"traceEvents\": []}")), HasSubstr("empty.json"));
}

// Two micro-batches of one sample on each of eight devices.
const std::vector<std::string>& JointProblem() {
  static const std::vector<std::string> kFlags = {"--graph=zoo:gpt-1.3b", "--cluster=zoo:dgx-h100:1",
                                                  "--global_batch=16", "--samples=1", "--tensor_degrees=1"};
  return kFlags;
}

TEST_F(MeasuredTimesTest, TimesOfLayersTakeThePlaceOfComputedOnes) {
  const std::vector<std::string>& problem = JointProblem();
  std::vector<std::string> measured = problem;
  measured.push_back("--layer_times=" + Write("layers.csv",
                                              "layer,tensor_degree,micro_batch,forward_ms,backward_ms\n"
                                              "layer,1,1,30,60\nhead,1,1,6.5,13\n"));
  const json computed_plan = PlanOf(problem);
  const json plan = PlanOf(measured);
  EXPECT_EQ(computed_plan["stages"][0]["joint"]["measured_layers"], 0);
  // All but the embedding.
  EXPECT_EQ(plan["stages"][0]["joint"]["measured_layers"], 25);
  EXPECT_LT(computed_plan["objective_ms"], 1000);
  const double layers_ms = 2 * (24 * 90 + 19.5);
  EXPECT_GE(plan["objective_ms"], layers_ms);
  EXPECT_LT(plan["objective_ms"], layers_ms + 100);
  EXPECT_GE(plan["joint"]["simulated_step_ms"], layers_ms);
  // What was measured is part of the graph that the plan is for.
  const std::string saved = "--plan=" + Write("plan.json", plan.dump());
  const Finished evaluated = Planwright({"evaluate", problem[0], problem[1], measured.back(), saved});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.out << evaluated.err;
  const Finished simulated = Planwright({"simulate", problem[0], problem[1], measured.back(), saved});
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  const Finished without_times = Planwright({"evaluate", problem[0], problem[1], saved});
  EXPECT_EQ(without_times.exit_code, 2);
  EXPECT_THAT(without_times.err, HasSubstr("the plan was made for another graph"));
}

// On a grid as well, from the file to the plan and to those who judge and run it.
TEST_F(MeasuredTimesTest, TimesOfLayersCountOnAGrid) {
  const std::vector<std::string> problem = {"--graph=zoo:gpt-1.3b", "--cluster=zoo:torus2d:2", "--global_batch=16",
                                            "--samples=1", "--tensor_degrees=1"};
  std::vector<std::string> measured = problem;
  measured.push_back("--layer_times=" + Write("layers.csv",
                                              "layer,tensor_degree,micro_batch,forward_ms,backward_ms\n"
                                              "layer,1,1,30,60\nhead,1,1,6.5,13\n"));
  const json plan = PlanOf(measured);
  int measured_layers = 0;
  for (const json& stage : plan["stages"]) measured_layers += static_cast<int>(stage["joint"]["measured_layers"]);
  EXPECT_EQ(measured_layers, 25);
  // Sixteen samples on four devices.
  EXPECT_GE(plan["objective_ms"], 4 * (24 * 90 + 19.5));
  EXPECT_FALSE(plan["joint"]["worth"].empty());
  const std::string saved = "--plan=" + Write("plan.json", plan.dump());
  for (const char* command : {"evaluate", "simulate"}) {
    const Finished done = Planwright({command, problem[0], problem[1], measured.back(), saved});
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  }
}

TEST_F(MeasuredTimesTest, SaysWhatIsWrongWithTimesOfLayers) {
  const auto error_of = [](std::vector<std::string> flags, const std::string& path) {
    flags.push_back("--layer_times=" + path);
    return ErrorOf(std::move(flags));
  };
  EXPECT_THAT(error_of(JointProblem(), folder_ / "none.csv"), HasSubstr("none.csv: No such file or directory"));
  EXPECT_THAT(error_of(JointProblem(), Write("wrong.csv", "layer,x\n1,2\n")),
              HasSubstr("line 1: knows no column \"x\""));
  EXPECT_THAT(error_of({"--graph=zoo:resnet50", "--cluster=zoo:pcie:4"},
                       Write("layers.csv", "layer,micro_batch,forward_ms,backward_ms\nlayer,1,1,2\n")),
              HasSubstr("--layer_times needs a graph with the shape of its transformer"));
}

TEST_F(MeasuredTimesTest, AGpuQuerySaysWhichDevicesATopologyJoins) {
  const std::string cluster = "--cluster=" + Write("topology.txt", "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n");
  const std::string query = "--gpu_query=" + Write("query.csv",
                                                   "name, memory.total [MiB]\n"
                                                   "NVIDIA H100 80GB HBM3, 81559 MiB\n"
                                                   "NVIDIA H100 80GB HBM3, 81559 MiB\n");
  const Finished imported = Planwright({"import", cluster, query});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const json read = json::parse(imported.out)["cluster"];
  ASSERT_EQ(read["device_classes"].size(), 1U);
  EXPECT_EQ(read["device_classes"][0]["name"], "h100");
  EXPECT_EQ(read["device_classes"][0]["memory_bytes"], "85520809984");
  EXPECT_EQ(read["devices"].size(), 2U);
  const json plan = PlanOf({"--graph=zoo:bert-base", cluster, query});
  EXPECT_THAT(plan.dump(), HasSubstr("host0/gpu1"));

  EXPECT_THAT(ErrorOf({"--graph=zoo:bert-base", cluster}), HasSubstr("or give --gpu_query=FILE"));
  EXPECT_THAT(ErrorOf({"--graph=zoo:bert-base", cluster, "--gpu_query=" + (folder_ / "none.csv").string()}),
              HasSubstr("--gpu_query: cannot read "));
  EXPECT_THAT(ErrorOf({"--graph=zoo:bert-base", cluster, "--gpu_query=" + Write("empty.csv", "")}),
              HasSubstr("--gpu_query: must not be empty"));
  EXPECT_THAT(
      ErrorOf({"--graph=zoo:bert-base", cluster, "--gpu_query=" + Write("unknown.csv", "Quadro FX, 256 MiB\n")}),
      HasSubstr("of no known class"));
}

}  // namespace
}  // namespace planwright::client
