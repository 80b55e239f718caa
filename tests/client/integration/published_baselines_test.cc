// The baselines that the device-placement paper prints in Table 1, on its published inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/integration/child.h"
#include "tests/support/shared_dir.h"

namespace planwright::client {
namespace {

using nlohmann::json;

struct Published {
  const char* name;
  // Rounded to hundredths.
  double pipedream_ms;
};

double Rounded(const json& value) { return std::round(value.get<double>() * 100) / 100; }

class PublishedBaselinesTest : public ::testing::TestWithParam<Published> {};

// docs/benchmarks.md says why two values differ from the printed ones (39.38 and 33.03).
TEST_P(PublishedBaselinesTest, PipedreamReachesThePublishedValue) {
  const auto file = SharedFile(absl::StrCat("workloads/device-placement/throughput/", GetParam().name, ".json"));
  if (!file.has_value()) GTEST_SKIP() << "the published workloads are not there";
  const Finished planned =
      Planwright({"plan", absl::StrCat("--graph=", *file), "--algorithm=pipedream", "--output=json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_EQ(Rounded(json::parse(planned.out)["objective_ms"]), GetParam().pipedream_ms);
}

INSTANTIATE_TEST_SUITE_P(
    Table1, PublishedBaselinesTest,
    ::testing::Values(Published{"layer_bert24_inference", 17.79}, Published{"layer_bert24_training", 41.75},
                      Published{"layer_resnet50_inference", 39.40}, Published{"layer_resnet50_training", 83.67},
                      Published{"layer_inceptionv3_inference", 60.42}, Published{"layer_gnmt_inference", 32.91}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(PublishedBaselinesTest, EvaluationGivesTheExpertsValue) {
  const auto graph = SharedFile("workloads/device-placement/throughput/layer_bert24_inference.json");
  const auto expert = SharedFile("workloads/device-placement/expert_bert24_inference.json");
  if (!graph.has_value() || !expert.has_value()) GTEST_SKIP() << "the published workloads are not there";
  const Finished evaluated =
      Planwright({"evaluate", absl::StrCat("--graph=", *graph), absl::StrCat("--plan=", *expert), "--output=json"});
  EXPECT_EQ(Rounded(json::parse(evaluated.out)["objective_ms"]), 20.08);
}

TEST(ExplainTest, SaysWhatReliefWouldBring) {
  const auto graph = SharedFile("workloads/device-placement/throughput/layer_bert24_inference.json");
  if (!graph.has_value()) GTEST_SKIP() << "the published workloads are not there";
  const Finished planned = Planwright({"plan", absl::StrCat("--graph=", *graph), "--explain", "--output=json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const json explanation = json::parse(planned.out)["explanation"];
  EXPECT_FALSE(explanation["bottleneck"].get<std::string>().empty());
  ASSERT_EQ(explanation["relief"].size(), 3U);
  EXPECT_EQ(explanation["relief"][0]["resource"], "device");
  // 24 equal layers on 7 accelerators and a CPU instead of 6: four on the fullest, as before.
  EXPECT_LE(explanation["relief"][0]["predicted_objective_ms"].get<double>(), 17.79);
  EXPECT_EQ(explanation["relief"][1]["resource"], "memory");
  EXPECT_EQ(explanation["relief"][2]["resource"], "bandwidth");
}

}  // namespace
}  // namespace planwright::client
