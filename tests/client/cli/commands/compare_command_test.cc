// `planwright compare` against a service that answers as the test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

#include "client/cli/program.h"
#include "client/library/error_details.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Status Infeasible() {
  google::rpc::ErrorInfo info;
  info.set_reason("INFEASIBLE");
  google::rpc::Status wire;
  wire.add_details()->PackFrom(info);
  return WithErrorDetails(absl::FailedPreconditionError("too large"), wire.SerializeAsString());
}

// Has the algorithms that the test names.
class FakeComparer final : public PlanningClient {
 public:
  using Answer = std::function<absl::StatusOr<v1::CreatePlanResponse>(v1::Algorithm)>;

  FakeComparer(std::vector<v1::Algorithm>& asked, Answer answer) : asked_(asked), answer_(std::move(answer)) {}

  absl::StatusOr<v1::CreatePlanResponse> CreatePlan(const v1::CreatePlanRequest& request, const CallOptions&) override {
    asked_.push_back(request.options().algorithm());
    return answer_(request.options().algorithm());
  }
  absl::StatusOr<v1::BatchCreatePlansResponse> BatchCreatePlans(const v1::BatchCreatePlansRequest&,
                                                                const CallOptions&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::EvaluatePlanResponse> EvaluatePlan(const v1::EvaluatePlanRequest&, const CallOptions&) override {
    return absl::UnimplementedError("");
  }
  absl::Status SimulatePlan(const v1::SimulatePlanRequest& /*request*/, const CallOptions& /*options*/,
                            const SimulationListener& /*listener*/) override {
    return absl::UnimplementedError("not faked");
  }
  absl::StatusOr<v1::GetGraphResponse> GetGraph(const v1::GetGraphRequest&, const CallOptions&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::GetClusterResponse> GetCluster(const v1::GetClusterRequest&, const CallOptions&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const v1::GetServerInfoRequest&,
                                                          const CallOptions&) override {
    v1::GetServerInfoResponse info;
    const auto add = [&info](const char* name, v1::Algorithm algorithm) {
      info.add_algorithms()->set_name(name);
      info.mutable_algorithms()->rbegin()->set_algorithm(algorithm);
    };
    add("ideal_dp", v1::ALGORITHM_IDEAL_DP);
    add("greedy", v1::ALGORITHM_GREEDY);
    return info;
  }

 private:
  std::vector<v1::Algorithm>& asked_;
  Answer answer_;
};

v1::CreatePlanResponse PlanOf(double objective_ms, double lower_bound_ms) {
  v1::CreatePlanResponse response;
  response.mutable_plan()->set_objective_ms(objective_ms);
  response.mutable_plan()->set_lower_bound_ms(lower_bound_ms);
  response.mutable_plan()->mutable_provenance()->set_stop_reason(v1::STOP_REASON_EXHAUSTED);
  response.mutable_plan()->add_stages();
  return response;
}

class CompareCommandTest : public ::testing::Test {
 protected:
  CompareCommandTest() {
    environment_.connect = [this](const ServerConnection&) { return std::make_unique<FakeComparer>(asked_, answer_); };
  }

  ExitCode Compare(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"compare", "--graph=zoo:g", "--cluster=zoo:c"});
    return RunProgram(flags, environment_);
  }

  FakeComparer::Answer answer_ = [](v1::Algorithm algorithm) {
    return algorithm == v1::ALGORITHM_GREEDY ? PlanOf(15, 0) : PlanOf(12, 12);
  };
  std::vector<v1::Algorithm> asked_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  Environment environment_{
      .in = in_, .out = out_, .err = err_, .default_connection = {}, .interrupt = {}, .connect = {}};
};

TEST_F(CompareCommandTest, RunsEveryAlgorithmAndAuto) {
  EXPECT_EQ(Compare({}), ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre(v1::ALGORITHM_AUTO, v1::ALGORITHM_IDEAL_DP, v1::ALGORITHM_GREEDY));
  EXPECT_THAT(out_.str(), HasSubstr("greedy"));
  EXPECT_THAT(out_.str(), HasSubstr("15.000"));
  EXPECT_THAT(out_.str(), HasSubstr("1.250x"));
}

TEST_F(CompareCommandTest, RunsThoseNamedOnceInTheirOrder) {
  EXPECT_EQ(Compare({"--algorithms=greedy,auto,greedy"}), ExitCode::kOk);
  EXPECT_THAT(asked_, ElementsAre(v1::ALGORITHM_GREEDY, v1::ALGORITHM_AUTO));
}

TEST_F(CompareCommandTest, RefusesUnknownNames) {
  EXPECT_EQ(Compare({"--algorithms=greedy,idealdp"}), ExitCode::kUsage);
  EXPECT_THAT(asked_, ElementsAre());
  EXPECT_THAT(err_.str(), HasSubstr("\"idealdp\" is no algorithm; did you mean ideal_dp?"));
}

TEST_F(CompareCommandTest, SaysWhyOneMadeNoPlan) {
  answer_ = [](v1::Algorithm algorithm) -> absl::StatusOr<v1::CreatePlanResponse> {
    if (algorithm == v1::ALGORITHM_GREEDY) return absl::DeadlineExceededError("it does not fit");
    if (algorithm == v1::ALGORITHM_IDEAL_DP) return absl::InvalidArgumentError("not supported");
    return PlanOf(12, 12);
  };
  EXPECT_EQ(Compare({}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("it does not fit"));
  EXPECT_THAT(out_.str(), HasSubstr("not for this problem"));
}

TEST_F(CompareCommandTest, WritesJson) {
  answer_ = [](v1::Algorithm algorithm) -> absl::StatusOr<v1::CreatePlanResponse> {
    if (algorithm == v1::ALGORITHM_GREEDY) return absl::DeadlineExceededError("it does not fit");
    return PlanOf(12, 12);
  };
  EXPECT_EQ(Compare({"--output=json", "--algorithms=auto,greedy"}), ExitCode::kOk);
  const json parsed = json::parse(out_.str());
  ASSERT_EQ(parsed["rows"].size(), 2U);
  EXPECT_EQ(parsed["rows"][0]["objective_ms"], 12);
  EXPECT_EQ(parsed["rows"][0]["error"], nullptr);
  EXPECT_EQ(parsed["rows"][1]["objective_ms"], nullptr);
  EXPECT_EQ(parsed["rows"][1]["error"], "it does not fit");
}

TEST_F(CompareCommandTest, DrawsThePlansAndSaysWhyThereIsNone) {
  answer_ = [](v1::Algorithm algorithm) -> absl::StatusOr<v1::CreatePlanResponse> {
    if (algorithm == v1::ALGORITHM_GREEDY) return absl::DeadlineExceededError("more than < 5 devices");
    return PlanOf(12, 6);
  };
  EXPECT_EQ(Compare({"--output=svg", "--algorithms=auto,greedy"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), ::testing::StartsWith("<svg "));
  EXPECT_THAT(out_.str(), ::testing::EndsWith("</svg>\n"));
  // The longest bar is 470 wide; its bound is in the middle.
  EXPECT_THAT(out_.str(), HasSubstr("width=\"470.00\""));
  EXPECT_THAT(out_.str(), HasSubstr("<line x1=\"405.00\""));
  EXPECT_THAT(out_.str(), HasSubstr("12.000 ms, bound 6.000 ms"));
  EXPECT_THAT(out_.str(), HasSubstr("more than &lt; 5 devices"));
}

TEST_F(CompareCommandTest, DrawsNeitherBoundsThatThereAreNotNorLongReasons) {
  answer_ = [](v1::Algorithm algorithm) -> absl::StatusOr<v1::CreatePlanResponse> {
    if (algorithm == v1::ALGORITHM_GREEDY) return absl::InvalidArgumentError("is not supported by this version");
    if (algorithm == v1::ALGORITHM_IDEAL_DP) return absl::DeadlineExceededError(std::string(200, 'x'));
    return PlanOf(12, 0);
  };
  EXPECT_EQ(Compare({"--output=svg", "--algorithms=auto,greedy,ideal_dp"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("12.000 ms, no bound"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("greedy"))) << "it was not for this problem";
  EXPECT_THAT(out_.str(), HasSubstr(">" + std::string(114, 'x') + "…<"));
}

TEST_F(CompareCommandTest, ExitCodesFollowTheContract) {
  const auto always = [this](const absl::Status& status) {
    answer_ = [status](v1::Algorithm) { return status; };
    return Compare({});
  };
  EXPECT_EQ(always(Infeasible()), ExitCode::kInfeasible);
  EXPECT_EQ(always(absl::DeadlineExceededError("none found")), ExitCode::kNoPlan);
  EXPECT_EQ(always(absl::InvalidArgumentError("bad graph")), ExitCode::kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("bad graph"));
  EXPECT_EQ(always(absl::InternalError("defect")), ExitCode::kInternal);
}

TEST_F(CompareCommandTest, EndsAtOnceWhereTheServerIsNotThere) {
  answer_ = [](v1::Algorithm) { return absl::UnavailableError("nobody listens"); };
  EXPECT_EQ(Compare({}), ExitCode::kServer);
  EXPECT_EQ(asked_.size(), 1U);
  EXPECT_THAT(out_.str(), Not(HasSubstr("greedy")));
}

}  // namespace
}  // namespace planwright::client
