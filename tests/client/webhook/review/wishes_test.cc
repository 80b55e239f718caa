#include "client/webhook/review/wishes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/webhook/review/objects.h"

namespace planwright::webhook {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ProblemError(const std::string& text) {
  v1::PlanningProblem problem;
  v1::SolverOptions options;
  return std::string(ReadProblem(text, problem, options).message());
}

TEST(WishesTest, ReadOwnAnnotationsOnly) {
  Json object = MakeJob(1, 1, Json::object());
  object["spec"]["template"]["metadata"]["annotations"][kGraphAnnotation] = "zoo:bert-base";
  EXPECT_THAT(ReadWishes(object, Mode::kAnnotate).graph, IsEmpty());
}

TEST(WishesTest, TheModeCanOnlyBeTightened) {
  const auto wished = [](const char* mode, Mode hook) {
    return ReadWishes(MakeJob(1, 1, {{kGraphAnnotation, "zoo:bert-base"}, {kModeAnnotation, mode}}), hook);
  };
  EXPECT_EQ(wished("enforce", Mode::kAnnotate).mode, Mode::kEnforce);
  EXPECT_EQ(wished("annotate", Mode::kOff).mode, Mode::kAnnotate);
  EXPECT_EQ(wished("off", Mode::kEnforce).mode, Mode::kEnforce);
  EXPECT_THAT(wished("off", Mode::kEnforce).warnings, ElementsAre(HasSubstr("can only tighten")));
  EXPECT_THAT(wished("loud", Mode::kAnnotate).warnings, ElementsAre(HasSubstr("must be annotate, enforce or off")));
}

TEST(WishesTest, KnowsNamesOfGraphs) {
  EXPECT_TRUE(IsGraphName("zoo:bert-base"));
  EXPECT_TRUE(IsGraphName("graphs/" + std::string(64, 'a')));
  EXPECT_FALSE(IsGraphName("graphs/" + std::string(63, 'a')));
  EXPECT_FALSE(IsGraphName("graphs/" + std::string(64, 'g')));
  EXPECT_FALSE(IsGraphName("zoo:"));
  EXPECT_FALSE(IsGraphName("/etc/passwd"));
  EXPECT_FALSE(IsGraphName("zoo:" + std::string(100'000, 'x')));
}

TEST(WishesTest, ReadsProblemsAsFlags) {
  v1::PlanningProblem problem;
  v1::SolverOptions options;
  ASSERT_TRUE(
      ReadProblem(" schedule=one_f_one_b\n micro_batches=64 memory_preset=adam_mixed gap=0.01 ", problem, options)
          .ok());
  EXPECT_EQ(problem.schedule(), v1::SCHEDULE_KIND_ONE_F_ONE_B);
  EXPECT_EQ(problem.micro_batches(), 64);
  EXPECT_EQ(problem.memory_model().preset(), "adam_mixed");
  EXPECT_EQ(options.relative_gap(), 0.01);
}

TEST(WishesTest, NamesEverySettingThatIsWrong) {
  EXPECT_THAT(ProblemError("schedule=fast micro_batches=x batch"),
              AllOf(HasSubstr("schedule=fast"), HasSubstr("micro_batches=x"), HasSubstr("must be NAME=VALUE")));
  EXPECT_THAT(ProblemError("hosts=a max_devices=2 threads=9 time_limit=1h"),
              AllOf(HasSubstr("hosts is decided by the hook"), HasSubstr("max_devices is decided by the hook"),
                    HasSubstr("threads is decided by the hook"), HasSubstr("time_limit is decided by the hook")));
  EXPECT_THAT(ProblemError(std::string(262'144, 'x')), HasSubstr("at most 4096 bytes"));
}

}  // namespace
}  // namespace planwright::webhook
