#include "server/service/record/search_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/infeasibility.h"

namespace planwright::server {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class SearchLogTest : public testing::Test {
 protected:
  std::string log_text_;
  Logger log_{LogFormat::kText, [this](const std::string& line) { log_text_ += line; }};
  Metrics metrics_{"1"};
  SearchLog search_{{"id-1", "t"}, metrics_, log_};
};

Plan SomePlan(StopReason reason) {
  Plan plan;
  plan.provenance.algorithm = "ideal_dp";
  plan.provenance.stop_reason = reason;
  return plan;
}

TEST_F(SearchLogTest, TellsStartAndEnd) {
  search_.OnSearchStart({.operators = 5, .tensors = 4, .devices = 3, .time_limit = milliseconds(100)});
  search_.OnSearchEnd(SomePlan(StopReason::kOptimal), milliseconds(7));
  EXPECT_THAT(log_text_, HasSubstr("search started request_id=id-1 operators=5 tensors=4 devices=3 time_limit_ms=100"));
  EXPECT_THAT(log_text_, HasSubstr("search ended request_id=id-1 stop_reason=optimal algorithm=ideal_dp"));
  EXPECT_THAT(log_text_, Not(HasSubstr("cancelled")));
  EXPECT_THAT(metrics_.Text(), HasSubstr(R"({algorithm="ideal_dp",stop_reason="optimal"} 1)"));
}

TEST_F(SearchLogTest, TellsHowLongACancelledSearchWentOn) {
  search_.OnStopRequested();
  search_.OnSearchEnd(SomePlan(StopReason::kCancelled), milliseconds(7));
  EXPECT_THAT(log_text_, HasSubstr("search cancelled request_id=id-1 stopped_after_ms="));
}

TEST_F(SearchLogTest, SlowSearchesAreWarnedOf) {
  SearchLog log({"id-2", "t"}, metrics_, log_, milliseconds(10));
  log.OnSearchStart({.operators = 5, .tensors = 4, .devices = 3, .time_limit = milliseconds(100)});
  log.OnSearchEnd(SomePlan(StopReason::kOptimal), milliseconds(9));
  EXPECT_THAT(log_text_, Not(HasSubstr("slow search")));
  log.OnSearchEnd(SomePlan(StopReason::kOptimal), milliseconds(10));
  EXPECT_THAT(log_text_, HasSubstr("WARNING slow search request_id=id-2 wall_ms=10.0 operators=5 tensors=4 devices=3"));
}

TEST_F(SearchLogTest, FailuresAreCountedByCodeAndRejectedPlansApart) {
  search_.OnSearchEnd(absl::FailedPreconditionError("infeasible"), milliseconds(1));
  EXPECT_THAT(metrics_.Text(), HasSubstr("planwright_verifier_rejections_total 0"));
  search_.OnSearchEnd(absl::InternalError("an exception"), milliseconds(1));
  EXPECT_THAT(metrics_.Text(), HasSubstr("planwright_verifier_rejections_total 0"));
  search_.OnSearchEnd(RejectedPlanError("rejected"), milliseconds(1));
  EXPECT_THAT(log_text_, HasSubstr("code=FailedPrecondition"));
  EXPECT_THAT(metrics_.Text(), HasSubstr(R"(planwright_failed_searches_total{code="FailedPrecondition"} 1)"));
  EXPECT_THAT(metrics_.Text(), HasSubstr("planwright_verifier_rejections_total 1"));
}

}  // namespace
}  // namespace planwright::server
