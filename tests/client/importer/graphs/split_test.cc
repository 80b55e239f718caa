#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/importer/graphs/device_placement.h"
#include "client/importer/importer.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

v1::Graph GraphOf(const std::vector<std::pair<std::string, std::string>>& operators) {
  v1::Graph graph;
  for (const auto& [name, group] : operators) {
    v1::Operator& op = *graph.add_operators();
    op.set_name(name);
    op.set_colocation_group(group);
  }
  return graph;
}

TEST(SplitTest, BecomesOneStageForEachDeviceInUse) {
  const auto plan = ImportPlan(
      R"({"maxLoad": 3.5, "fpgas": [{"load": -1, "nodes": [4, 5.0]}, {"load": 0, "nodes": []}, {"nodes": [6]}],
          "cpus": [{"load": 0.0, "nodes": [7]}]})",
      "split.json", nullptr);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_THAT(plan->stages(), SizeIs(3));
  EXPECT_THAT(plan->stages(0).operators(), ElementsAre("4", "5"));
  EXPECT_EQ(plan->stages(0).replicas(0).device(), "acc0");
  EXPECT_EQ(plan->stages(1).replicas(0).device(), "acc2");
  EXPECT_EQ(plan->stages(1).index(), 1);
  EXPECT_EQ(plan->stages(2).replicas(0).device(), "cpu0");
  // Loads of others are rounded or unknown: they are not ours to check.
  EXPECT_EQ(plan->objective_ms(), 0);
}

TEST(SplitTest, PlacesWhatIsLeftOutWithItsGroup) {
  const v1::Graph graph = GraphOf({{"1", "a"}, {"2", "b"}, {"3", "b"}, {"4", "a"}, {"5", "c"}, {"6", ""}});
  const auto plan = ImportPlan(R"({"fpgas": [{"nodes": [1]}, {"nodes": [2]}], "cpus": []})", "split.json", &graph);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_THAT(plan->stages(), SizeIs(2));
  EXPECT_THAT(plan->stages(0).operators(), ElementsAre("1", "4"));
  // 5 and 6 are in no group that is placed: evaluating the plan says so.
  EXPECT_THAT(plan->stages(1).operators(), ElementsAre("2", "3"));
}

TEST(SplitTest, NamesEveryViolation) {
  const auto plan = ImportPlan(R"({"fpgas": [{"nodes": ["a"]}, 5, {"load": 1}], "cpus": 7})", "split.json", nullptr);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      ErrorDetailsOf(plan.status()).violations,
      ElementsAre(FieldViolation{"fpgas[0].nodes", "must hold ids of nodes, holds \"a\""},
                  FieldViolation{"fpgas[1]", "must be an object, is 5"}, FieldViolation{"fpgas[2].nodes", "is missing"},
                  FieldViolation{"cpus", "must be a list, is 7"}));
}

}  // namespace
}  // namespace planwright::client
