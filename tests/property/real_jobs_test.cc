// Jobs of real size that once got no plan, or a worse one on more machines (issue 14, A.1 and A.2). They take minutes:
// only in long runs ($PLANWRIGHT_PROPERTY_FACTOR).
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "core/zoo/zoo.h"
#include "tests/property/cases.h"
#include "tests/property/planning.h"

namespace planwright {
namespace {

// Training in steps of 64 micro-batches, layer by layer, with Adam in mixed precision.
Instance JobOf(const std::string& model, const std::string& cluster) {
  absl::StatusOr<OperatorGraph> graph = MakeZooModel(model);
  absl::StatusOr<Cluster> machines = MakeZooCluster(cluster);
  EXPECT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(machines.ok()) << machines.status();
  Instance job;
  if (!graph.ok() || !machines.ok()) return job;
  job.graph = *std::move(graph);
  job.cluster = *std::move(machines);
  job.problem.granularity = Granularity::kLayer;
  job.problem.schedule = ScheduleKind::kOneFOneB;
  job.problem.replication = Replication::kUniform;
  job.problem.micro_batches = 64;
  job.problem.memory_model.preset = "adam_mixed";
  return job;
}

class RealJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (CasesFactor() <= 1) GTEST_SKIP() << "only in long runs";
  }
};

TEST_F(RealJobsTest, LargeModelsHavePlans) {
  const std::pair<const char*, const char*> jobs[] = {{"llama2-70b?sequence=2048", "dgx-h100:4"},
                                                      {"llama3-70b?sequence=4096", "dgx-h100:8"},
                                                      {"gpt-175b", "dgx-a100:11"},
                                                      {"gpt-175b", "dgx-a100:12"}};
  for (const auto& [model, cluster] : jobs) {
    const absl::StatusOr<Plan> plan = MakePlanOf(JobOf(model, cluster));
    EXPECT_TRUE(plan.ok()) << model << " on " << cluster << ": " << plan.status();
  }
}

TEST_F(RealJobsTest, MoreMachinesAreNeverWorse) {
  std::optional<Picoseconds> before;
  for (const int machines : {13, 16, 32, 40, 43, 44, 48, 64}) {
    const absl::StatusOr<Plan> plan = MakePlanOf(JobOf("gpt-175b", "dgx-a100:" + std::to_string(machines)));
    ASSERT_TRUE(plan.ok()) << machines << " machines: " << plan.status();
    if (before.has_value()) {
      EXPECT_LE(plan->objective, *before) << machines << " machines";
    }
    before = plan->objective;
  }
}

TEST_F(RealJobsTest, TwoMachinesWithSlowLinksAreNoWorseThanOne) {
  Instance both = JobOf("inception-v3", "dgx-a100:2?devices=4&between_gb=1");
  both.problem = {};
  Instance one = both;
  one.problem.devices_to_use.hosts = {one.cluster.devices.front().host};
  const absl::StatusOr<Plan> on_both = MakePlanOf(both);
  const absl::StatusOr<Plan> on_one = MakePlanOf(one);
  ASSERT_TRUE(on_both.ok() && on_one.ok());
  EXPECT_LE(on_both->objective, on_one->objective);
}

}  // namespace
}  // namespace planwright
