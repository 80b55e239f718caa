// The values that the device-placement paper's own code reaches on its published inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/client/integration/child.h"
#include "tests/support/shared_dir.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Published {
  const char* name;
  // Rounded to hundredths.
  double objective_ms;
};

double Rounded(const json& value) { return std::round(value.get<double>() * 100) / 100; }

class PublishedFilesTest : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedFilesTest, IsPlannedToProvenOptimalityAndEvaluationAgrees) {
  const auto file = SharedFile(absl::StrCat("workloads/device-placement/throughput/", GetParam().name, ".json"));
  if (!file.has_value()) GTEST_SKIP() << "the published workloads are not there";
  const std::string graph = absl::StrCat("--graph=", *file);

  const Finished planned = Planwright({"plan", graph, "--output=json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const json plan = json::parse(planned.out);
  EXPECT_EQ(Rounded(plan["objective_ms"]), GetParam().objective_ms);
  EXPECT_EQ(plan["lower_bound_ms"], plan["objective_ms"]);
  EXPECT_EQ(plan["provenance"]["proven_optimal"], true);
  EXPECT_EQ(plan["provenance"]["stop_reason"], "STOP_REASON_OPTIMAL");

  const Finished evaluated = Planwright({"evaluate", graph, "--plan=-", "--output=json"}, planned.out);
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const json evaluation = json::parse(evaluated.out);
  EXPECT_EQ(evaluation["valid"], true);
  EXPECT_EQ(evaluation["objective_ms"], plan["objective_ms"]);
}

INSTANTIATE_TEST_SUITE_P(
    Throughput, PublishedFilesTest,
    ::testing::Values(Published{"operator_bert_l-3_inference", 27.92}, Published{"operator_bert_l-3_training", 65.30},
                      Published{"operator_bert_l-6_inference", 29.58}, Published{"layer_bert24_inference", 17.79},
                      Published{"layer_bert24_training", 41.75}, Published{"layer_resnet50_inference", 33.77},
                      Published{"layer_resnet50_training", 78.63}, Published{"layer_gnmt_inference", 32.91},
                      Published{"layer_inceptionv3_inference", 51.55}),
    [](const auto& instance) {
      std::string name = instance.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

class PublishedLatencyTest : public ::testing::TestWithParam<Published> {};

// Values of one hour of the paper's integer program, met by a small share of the default work.
TEST_P(PublishedLatencyTest, IsPlannedAsWellAsByTheIntegerProgramAndEvaluationAgrees) {
  const auto file = SharedFile(absl::StrCat("workloads/device-placement/latency/", GetParam().name, ".json"));
  if (!file.has_value()) GTEST_SKIP() << "the published workloads are not there";
  const std::string graph = absl::StrCat("--graph=", *file);

  const Finished planned = Planwright(
      {"plan", graph, "--objective=min_latency", "--work_limit=100000000", "--time_limit=300s", "--output=json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const json plan = json::parse(planned.out);
  EXPECT_EQ(Rounded(plan["objective_ms"]), GetParam().objective_ms);
  EXPECT_GT(plan["lower_bound_ms"].get<double>(), 0.97 * GetParam().objective_ms);

  const Finished evaluated = Planwright({"evaluate", graph, "--plan=-", "--output=json"}, planned.out);
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const json evaluation = json::parse(evaluated.out);
  EXPECT_EQ(evaluation["valid"], true);
  EXPECT_EQ(evaluation["objective_ms"], plan["objective_ms"]);
  EXPECT_FALSE(plan["schedule"]["tasks"].empty());
}

INSTANTIATE_TEST_SUITE_P(Latency, PublishedLatencyTest,
                         ::testing::Values(Published{"operator_bert_l-3_inference", 408.47},
                                           Published{"layer_bert24_inference", 100.22},
                                           Published{"layer_gnmt_inference", 225.65}),
                         [](const auto& instance) {
                           std::string name = instance.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(ExpertSplitTest, IsCostedAsPublished) {
  const auto graph = SharedFile("workloads/device-placement/throughput/layer_bert24_inference.json");
  const auto split = SharedFile("workloads/device-placement/expert_bert24_inference.json");
  if (!graph.has_value() || !split.has_value()) GTEST_SKIP() << "the published workloads are not there";
  const Finished evaluated =
      Planwright({"evaluate", absl::StrCat("--graph=", *graph), absl::StrCat("--plan=", *split), "--output=json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(Rounded(json::parse(evaluated.out)["objective_ms"]), 20.08);
}

TEST(OtherPlanTest, DoesNotPassForThisGraph) {
  const auto graph = SharedFile("workloads/device-placement/throughput/layer_bert24_inference.json");
  const auto other = SharedFile("workloads/device-placement/throughput/layer_gnmt_inference.json");
  if (!graph.has_value() || !other.has_value()) GTEST_SKIP() << "the published workloads are not there";
  const Finished planned = Planwright({"plan", absl::StrCat("--graph=", *other), "--output=json"});
  const Finished evaluated = Planwright({"evaluate", absl::StrCat("--graph=", *graph), "--plan=-"}, planned.out);
  EXPECT_EQ(evaluated.exit_code, 2);
  EXPECT_THAT(evaluated.err, HasSubstr("error: plan.graph_digest: the plan was made for another graph"));
}

}  // namespace
}  // namespace planwright::client
