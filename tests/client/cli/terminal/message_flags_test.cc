#include "client/cli/terminal/message_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "planwright/v1/problem.pb.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(MessageFlagTest, EnumsTakeTheirNamesInLowerCase) {
  v1::PlanningProblem problem;
  const Flag objective = MessageFlag("objective", "objective", "", problem);
  EXPECT_EQ(objective.value, "max_throughput|min_latency|min_devices");
  ASSERT_TRUE(objective.set("min_devices").ok());
  EXPECT_EQ(problem.objective(), v1::OBJECTIVE_MIN_DEVICES);
  EXPECT_EQ(objective.set("fastest").message(),
            "must be one of max_throughput, min_latency, min_devices, is \"fastest\"");
  EXPECT_FALSE(objective.set("unspecified").ok());
  EXPECT_EQ(objective.set("max_troughput").message(),
            "must be one of max_throughput, min_latency, min_devices, is \"max_troughput\"; did you mean "
            "max_throughput?");
  v1::SolverOptions options;
  EXPECT_THAT(std::string(MessageFlag("algorithm", "algorithm", "", options).set("parmezan").message()),
              EndsWith("; did you mean parmesan?"));
}

TEST(MessageFlagTest, EnumsTakeTheSpellingsThatUsersTry) {
  v1::PlanningProblem problem;
  ASSERT_TRUE(MessageFlag("objective", "objective", "", problem).set("latency").ok());
  EXPECT_EQ(problem.objective(), v1::OBJECTIVE_MIN_LATENCY);
  ASSERT_TRUE(MessageFlag("objective", "objective", "", problem).set("throughput").ok());
  EXPECT_EQ(problem.objective(), v1::OBJECTIVE_MAX_THROUGHPUT);
  ASSERT_TRUE(MessageFlag("split", "split", "", problem).set("noncontiguous").ok());
  EXPECT_EQ(problem.split(), v1::SPLIT_NON_CONTIGUOUS);
  ASSERT_TRUE(MessageFlag("schedule", "schedule", "", problem).set("1f1b").ok());
  EXPECT_EQ(problem.schedule(), v1::SCHEDULE_KIND_ONE_F_ONE_B);
}

TEST(MessageFlagTest, ReachesIntoMessages) {
  v1::PlanningProblem problem;
  const Flag kind = MessageFlag("memory_model", "memory_model.kind", "", problem);
  EXPECT_FALSE(problem.has_memory_model());
  ASSERT_TRUE(kind.set("components").ok());
  EXPECT_EQ(problem.memory_model().kind(), v1::MemoryModel::KIND_COMPONENTS);
}

TEST(MessageFlagTest, NumbersMustBeWhole) {
  v1::PlanningProblem problem;
  v1::SolverOptions options;
  const Flag micro_batches = MessageFlag("micro_batches", "micro_batches", "", problem);
  ASSERT_TRUE(micro_batches.set("-4").ok());
  EXPECT_EQ(problem.micro_batches(), -4) << "whether that makes sense is for the service to say";
  for (const char* text : {"", "4x", "4.0", "99999999999", " 4"}) EXPECT_FALSE(micro_batches.set(text).ok()) << text;
  const Flag seed = MessageFlag("seed", "seed", "", options);
  ASSERT_TRUE(seed.set("9223372036854775807").ok());
  EXPECT_EQ(options.seed(), INT64_MAX);
  const Flag gap = MessageFlag("gap", "relative_gap", "", options);
  ASSERT_TRUE(gap.set("1e-3").ok());
  EXPECT_EQ(options.relative_gap(), 1e-3);
  EXPECT_EQ(gap.set("1%").message(), "must be a number, is \"1%\"");
}

TEST(MessageFlagTest, ListsTakeCommas) {
  v1::PlanningProblem problem;
  ASSERT_TRUE(MessageFlag("hosts", "devices_to_use.hosts", "", problem).set("a,b").ok());
  EXPECT_THAT(problem.devices_to_use().hosts(), ElementsAre("a", "b"));
}

TEST(MessageFlagTest, ListsTakeTheRangesOfSlurm) {
  v1::PlanningProblem problem;
  ASSERT_TRUE(MessageFlag("hosts", "devices_to_use.hosts", "", problem).set("node[01-03],login").ok());
  EXPECT_THAT(problem.devices_to_use().hosts(), ElementsAre("node01", "node02", "node03", "login"));
  const Flag exclude = MessageFlag("exclude", "devices_to_use.excluded_devices", "", problem);
  ASSERT_TRUE(exclude.set("host0/gpu[6-7]").ok());
  EXPECT_THAT(problem.devices_to_use().excluded_devices(), ElementsAre("host0/gpu6", "host0/gpu7"));
  EXPECT_EQ(exclude.set("gpu[3-").message(), "has a \"[\" without its \"]\"");
}

TEST(MessageFlagTest, BytesTakeUnits) {
  v1::PlanningProblem problem;
  const Flag reserved = MessageFlag("reserved_bytes", "memory_model.reserved_bytes", "", problem);
  EXPECT_EQ(reserved.value, "SIZE");
  ASSERT_TRUE(reserved.set("2GiB").ok());
  EXPECT_EQ(problem.memory_model().reserved_bytes(), int64_t{2} << 30);
  ASSERT_TRUE(reserved.set("1.5 GB").ok());
  EXPECT_EQ(problem.memory_model().reserved_bytes(), 1'500'000'000);
  ASSERT_TRUE(reserved.set("4096").ok());
  EXPECT_EQ(problem.memory_model().reserved_bytes(), 4096);
  EXPECT_EQ(reserved.set("2 gigs").message(),
            "must be a number of bytes, or an amount of memory such as \"2 GB\" or \"512 MiB\", is \"2 gigs\"");
}

TEST(MessageFlagTest, ManyChoicesStandInTheText) {
  v1::SolverOptions options;
  const Flag algorithm = MessageFlag("algorithm", "algorithm", "which one", options);
  EXPECT_EQ(algorithm.value, "NAME");
  EXPECT_THAT(algorithm.help, StartsWith("which one: auto, ideal_dp, "));
}

TEST(MessageFlagTest, AnySeedIsOne) {
  v1::SolverOptions options;
  ASSERT_TRUE(MessageFlag("seed", "seed", "", options).set("-1").ok());
  EXPECT_EQ(options.seed(), -1);
}

TEST(MessageFlagTest, SwitchesNeedNoValue) {
  v1::PlanningProblem problem;
  const Flag flag = MessageFlag("require_contiguous_backward", "require_contiguous_backward", "", problem);
  EXPECT_EQ(flag.value, "");
  ASSERT_TRUE(flag.set("true").ok());
  EXPECT_TRUE(problem.require_contiguous_backward());
}

std::string Seconds(const std::string& text) {
  google::protobuf::Duration duration;
  const absl::Status status = ParseDuration(text, duration);
  if (!status.ok()) return "refused";
  return std::to_string(duration.seconds()) + " s " + std::to_string(duration.nanos()) + " ns";
}

TEST(ParseDurationTest, TakesUnitsAndBareSeconds) {
  EXPECT_EQ(Seconds("500ms"), "0 s 500000000 ns");
  EXPECT_EQ(Seconds("10s"), "10 s 0 ns");
  EXPECT_EQ(Seconds("2m"), "120 s 0 ns");
  EXPECT_EQ(Seconds("1.5h"), "5400 s 0 ns");
  EXPECT_EQ(Seconds("3d"), "259200 s 0 ns");
  EXPECT_EQ(Seconds("7"), "7 s 0 ns");
  EXPECT_EQ(Seconds("0.29"), "0 s 290000000 ns");
  EXPECT_EQ(Seconds("0"), "0 s 0 ns");
}

TEST(ParseDurationTest, RefusesTheRest) {
  for (const char* text : {"", "s", "soon", "-1s", "1w", "nan", "inf", "1e300h", "10 s", "9000h"}) {
    EXPECT_EQ(Seconds(text), "refused") << text;
  }
}

}  // namespace
}  // namespace planwright::client
