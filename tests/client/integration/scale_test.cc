// A graph of a hundred thousand operators: read, planned, verified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/client/integration/child.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

// 7,142 layers of 14 operators, and 7 more.
constexpr char kHugeModel[] = "zoo:transformer?layers=7142&hidden=512&heads=8&vocab=1000&sequence=128";

TEST(ScaleTest, PlansAHundredThousandOperatorsWithinTwoGigabytes) {
  const std::string graph = ::testing::TempDir() + "/scale_test_graph.json";
  const std::string plan = ::testing::TempDir() + "/scale_test_plan.json";
  const Finished imported =
      Planwright({"import", std::string("--graph=") + kHugeModel, "--cluster=zoo:pcie:8", "--output_file=" + graph});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const Finished planned = Planwright({"plan", "--graph=" + graph, "--output=json", "--output_file=" + plan});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  const Finished judged = Planwright({"evaluate", "--graph=" + graph, "--plan=" + plan});
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_THAT(judged.out, HasSubstr("The plan is valid."));
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
  // Of the largest child, in KiB. Sanitizers take several times as much.
#ifndef PLANWRIGHT_SANITIZED
  EXPECT_LT(usage.ru_maxrss, int64_t{2} << 20);
#endif
  std::filesystem::remove(graph);
  std::filesystem::remove(plan);
}

}  // namespace
}  // namespace planwright::client
