#include "client/cli/commands/runnable_joint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/cli/terminal/errors.h"
#include "client/library/error_details.h"
#include "client/library/hint.h"
#include "google/rpc/status.pb.h"

namespace planwright::client {
namespace {

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::HasSubstr;

milliseconds LimitOfSearch(const v1::CreatePlanRequest& request) {
  const google::protobuf::Duration& limit = request.options().time_limit();
  return std::chrono::seconds(limit.seconds()) + milliseconds(limit.nanos() / 1'000'000);
}

// Searches that take all of their time; what they find has more than one choice of recomputation unless one is asked
// for, which the trainer refuses.
class FakeSearches {
 public:
  explicit FakeSearches(absl::Status in_form = absl::OkStatus()) : in_form_(std::move(in_form)) {}

  JointSearchCalls Calls() {
    return {.plan = [this](const v1::CreatePlanRequest& request) { return Plan(request); },
            .express =
                [](const v1::Plan& plan) {
                  return plan.objective_ms() > 100 ? absl::OkStatus() : absl::FailedPreconditionError("by layer");
                },
            .spent = [this] { return spent_; }};
  }

  milliseconds spent() const { return spent_; }
  int searches() const { return searches_; }

 private:
  absl::StatusOr<v1::CreatePlanResponse> Plan(const v1::CreatePlanRequest& request) {
    const bool is_free = searches_++ == 0;
    spent_ += LimitOfSearch(request);
    if (!is_free && !in_form_.ok()) return in_form_;
    v1::CreatePlanResponse response;
    const bool is_uniform = request.problem().joint().recomputation_size() == 1;
    response.mutable_plan()->set_objective_ms(is_uniform ? 110 : 100);
    response.mutable_plan()->mutable_provenance()->set_stop_reason(v1::STOP_REASON_TIME_LIMIT);
    return response;
  }

  absl::Status in_form_;
  milliseconds spent_{0};
  int searches_ = 0;
};

v1::CreatePlanRequest RequestWithin(std::optional<milliseconds> limit) {
  v1::CreatePlanRequest request;
  request.mutable_problem()->mutable_joint()->set_global_batch(8);
  if (limit.has_value()) {
    google::protobuf::Duration& own = *request.mutable_options()->mutable_time_limit();
    own.set_seconds(static_cast<int64_t>(limit->count() / 1'000));
    own.set_nanos(static_cast<int32_t>(limit->count() % 1'000) * 1'000'000);
  }
  return request;
}

// 33 searches of 2 seconds each took 28 seconds.
TEST(RunnableJointTest, AllSearchesTogetherKeepTheTimeLimit) {
  for (const int64_t limit_ms : {20, 2'000, 60'000}) {
    SCOPED_TRACE(limit_ms);
    const milliseconds limit(limit_ms);
    FakeSearches searches;
    const auto made = PlanJointlyFor("torchtitan", RequestWithin(limit), searches.Calls());
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_LE(searches.spent(), limit + limit / 10);
    EXPECT_GT(searches.searches(), 4);
    EXPECT_EQ(made->plan().objective_ms(), 110);
    EXPECT_EQ(made->plan().provenance().stop_reason(), v1::STOP_REASON_TIME_LIMIT);
    EXPECT_THAT(made->plan().warnings(), Contains(HasSubstr("costs 10 %")));
    EXPECT_THAT(made->plan().warnings(), Contains(HasSubstr("the time limit ended the search for plans")));
  }
}

TEST(RunnableJointTest, FormsThatProvablyDoNotFitAreAProof) {
  v1::InfeasibleDetail nothing;
  nothing.add_reasons()->set_description("no pipeline fits; neither does it on more nodes of them");
  google::rpc::Status wire;
  wire.add_details()->PackFrom(nothing);
  FakeSearches searches(WithErrorDetails(absl::FailedPreconditionError("no plan exists"), wire.SerializeAsString()));
  const absl::Status status = PlanJointlyFor("deepspeed", RequestWithin(std::nullopt), searches.Calls()).status();
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kInfeasible) << status;
  EXPECT_THAT(HintOf(status).value_or(""), HasSubstr("leave out --runnable_on, allow more choices, or"));
}

TEST(RunnableJointTest, NothingThatIsFoundInTimeIsNoProof) {
  FakeSearches searches(absl::DeadlineExceededError("no plan was found"));
  const absl::Status status =
      PlanJointlyFor("deepspeed", RequestWithin(milliseconds(1'000)), searches.Calls()).status();
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kNoPlan) << status;
}

}  // namespace
}  // namespace planwright::client
