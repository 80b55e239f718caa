// Operations on a real planwrightd: submitting, waiting, cancelling, sweeping, and servers that die.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "planwright/v1/planning_service.grpc.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/daemon_process.h"
#include "tests/integration/requests.h"
#include "tests/integration/store_fixture.h"
#include "tests/support/private_postgres.h"

namespace planwright {
namespace {

using ::testing::HasSubstr;

using State = v1::Operation;

// Calls about operations; each expects to succeed.
class Desk {
 public:
  explicit Desk(const std::string& address) : caller_(address) {}

  v1::Operation Submit(const v1::CreatePlanRequest& plan, const std::string& request_id = "") {
    v1::SubmitPlanRequest request;
    *request.mutable_plan_request() = plan;
    request.set_request_id(request_id);
    return Call<v1::SubmitPlanResponse>(&Stub::SubmitPlan, request);
  }
  v1::Operation Get(const std::string& name) {
    v1::GetOperationRequest request;
    request.set_name(name);
    return Call<v1::GetOperationResponse>(&Stub::GetOperation, request);
  }
  v1::Operation Wait(const std::string& name) {
    v1::WaitOperationRequest request;
    request.set_name(name);
    return Call<v1::WaitOperationResponse>(&Stub::WaitOperation, request);
  }
  v1::Operation Cancel(const std::string& name) {
    v1::CancelOperationRequest request;
    request.set_name(name);
    return Call<v1::CancelOperationResponse>(&Stub::CancelOperation, request);
  }

  // Waits until a server works on it and has saved a plan.
  v1::Operation WaitForIncumbent(const std::string& name) {
    v1::Operation operation = Get(name);
    for (int i = 0; i < 600 && !operation.metadata().has_objective_ms(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      operation = Get(name);
    }
    EXPECT_TRUE(operation.metadata().has_objective_ms());
    return operation;
  }

  Caller& caller() { return caller_; }

 private:
  template <typename Response, typename Request>
  v1::Operation Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const Request& request) {
    Response response;
    const grpc::Status status = caller_(method, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.operation();
  }

  Caller caller_;
};

// Searches for `milliseconds`, finding a plan soon.
v1::CreatePlanRequest LongRequest(int milliseconds) {
  v1::CreatePlanRequest request = HardRequest();
  request.set_skip_cache(true);
  request.mutable_options()->mutable_time_limit()->set_seconds(milliseconds / 1000);
  request.mutable_options()->mutable_time_limit()->set_nanos(milliseconds % 1000 * 1'000'000);
  return request;
}

class OperationsTest : public StoreFixture {
 protected:
  std::unique_ptr<DaemonProcess> Start() const {
    return std::make_unique<DaemonProcess>(std::vector<std::string>{"--cpus=1", "--operation_lease=3s", store()});
  }
};

TEST_P(OperationsTest, PlansInTheBackground) {
  const auto daemon = Start();
  Desk desk(daemon->address());
  v1::CreatePlanRequest request = SmallRequest();
  request.set_plan_id("my-plan");
  const v1::Operation submitted = desk.Submit(request, "job-1");
  EXPECT_THAT(submitted.name(), HasSubstr("operations/"));
  EXPECT_EQ(submitted.metadata().request_id(), "job-1");
  const v1::Operation ended = desk.Wait(submitted.name());
  EXPECT_EQ(ended.state(), State::STATE_SUCCEEDED);
  EXPECT_EQ(ended.plan().objective_ms(), 4.5);
  EXPECT_EQ(ended.plan().name(), "plans/my-plan");
  EXPECT_EQ(ended.metadata().attempts(), 1);
  EXPECT_TRUE(ended.metadata().has_start_time());
  EXPECT_TRUE(ended.metadata().has_end_time());
  // The same name is the same operation, even when it has ended.
  EXPECT_EQ(desk.Submit(request, "job-1").name(), submitted.name());
  v1::Plan stored;
  EXPECT_TRUE(desk.caller().GetPlan("plans/my-plan", stored).ok());
  v1::ListOperationsResponse list;
  ASSERT_TRUE(desk.caller()(&Stub::ListOperations, v1::ListOperationsRequest(), list).ok());
  ASSERT_EQ(list.operations_size(), 1);
  EXPECT_EQ(list.operations(0).name(), submitted.name());
  EXPECT_EQ(list.operations(0).metadata().objective_ms(), 4.5);
  EXPECT_FALSE(list.operations(0).has_plan());
}

TEST_P(OperationsTest, RefusesWhatCannotBePlanned) {
  const auto daemon = Start();
  Desk desk(daemon->address());
  const auto refused = [&desk](const v1::CreatePlanRequest& plan, const std::string& request_id = "") {
    v1::SubmitPlanRequest request;
    *request.mutable_plan_request() = plan;
    request.set_request_id(request_id);
    v1::SubmitPlanResponse response;
    return desk.caller()(&Stub::SubmitPlan, request, response);
  };
  v1::CreatePlanRequest broken = SmallRequest();
  broken.mutable_graph()->mutable_operators(1)->set_name("a");
  EXPECT_THAT(refused(broken).error_message(), HasSubstr("graph.operators[1].name"));
  EXPECT_THAT(refused(SmallRequest(), "not a name").error_message(), HasSubstr("request_id: must be"));
  desk.Submit(SmallRequest(), "taken");
  v1::CreatePlanRequest other = SmallRequest();
  other.mutable_problem()->set_overlap(v1::OVERLAP_OVERLAPPED);
  EXPECT_EQ(refused(other, "taken").error_code(), grpc::StatusCode::ALREADY_EXISTS);

  v1::GetOperationRequest unknown;
  unknown.set_name("operations/nobody");
  v1::GetOperationResponse response;
  EXPECT_EQ(desk.caller()(&Stub::GetOperation, unknown, response).error_code(), grpc::StatusCode::NOT_FOUND);
  unknown.set_name("nobody");
  EXPECT_EQ(desk.caller()(&Stub::GetOperation, unknown, response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_P(OperationsTest, EndsWithTheErrorOfCreatePlan) {
  const auto daemon = Start();
  Desk desk(daemon->address());
  v1::CreatePlanRequest infeasible = SmallRequest();
  infeasible.mutable_graph()->mutable_operators(0)->set_memory_bytes(100);
  const v1::Operation ended = desk.Wait(desk.Submit(infeasible).name());
  EXPECT_EQ(ended.state(), State::STATE_FAILED);
  EXPECT_EQ(ended.error().code(), static_cast<int>(grpc::StatusCode::FAILED_PRECONDITION));
  EXPECT_GE(ended.error().details_size(), 2);
}

TEST_P(OperationsTest, CancelsWithTheBestPlanSoFar) {
  const auto daemon = Start();
  Desk desk(daemon->address());
  const std::string running = desk.Submit(LongRequest(60'000)).name();
  const std::string waiting = desk.Submit(LongRequest(60'000)).name();
  desk.WaitForIncumbent(running);
  EXPECT_EQ(desk.Get(waiting).state(), State::STATE_QUEUED);
  EXPECT_EQ(desk.Cancel(waiting).state(), State::STATE_CANCELLED);
  desk.Cancel(running);
  const v1::Operation cancelled = desk.Wait(running);
  EXPECT_EQ(cancelled.state(), State::STATE_CANCELLED);
  EXPECT_GT(cancelled.plan().objective_ms(), 0);
  EXPECT_EQ(cancelled.plan().provenance().stop_reason(), v1::STOP_REASON_CANCELLED);
  // Again: nothing changes.
  EXPECT_EQ(desk.Cancel(running).state(), State::STATE_CANCELLED);
}

TEST_P(OperationsTest, TakesThePlanOfASearchThatSomebodyElseCancelled) {
  const auto daemon = Start();
  Desk desk(daemon->address());
  const std::string first = desk.Submit(LongRequest(60'000)).name();
  desk.WaitForIncumbent(first);
  desk.Cancel(first);
  EXPECT_EQ(desk.Wait(first).state(), State::STATE_CANCELLED);
  v1::CreatePlanRequest shorter = LongRequest(10);
  shorter.clear_skip_cache();
  const v1::Operation ended = desk.Wait(desk.Submit(shorter).name());
  EXPECT_EQ(ended.state(), State::STATE_SUCCEEDED) << ended.error().message();
  EXPECT_TRUE(ended.plan().provenance().cached());
  EXPECT_EQ(ended.metadata().attempts(), 1);
}

TEST_P(OperationsTest, ServersSearchOnceForTheSame) {
  const auto one = Start();
  const auto other = Start();
  Desk desk(one->address());
  v1::CreatePlanRequest request = LongRequest(2000);
  request.set_skip_cache(false);
  const std::string first = desk.Submit(request, "first").name();
  const std::string second = desk.Submit(request, "second").name();
  const v1::Operation ended = desk.Wait(first);
  const v1::Operation also = desk.Wait(second);
  EXPECT_EQ(ended.state(), State::STATE_SUCCEEDED);
  EXPECT_EQ(also.state(), State::STATE_SUCCEEDED);
  EXPECT_EQ(ended.plan().objective_ms(), also.plan().objective_ms());
  EXPECT_NE(ended.plan().provenance().cached(), also.plan().provenance().cached());
}

TEST_P(OperationsTest, WaitsForNoLongerThanItTakesWhateverTheTimeout) {
  const auto daemon = Start();
  Desk desk(daemon->address());
  v1::WaitOperationRequest request;
  request.set_name(desk.Submit(SmallRequest()).name());
  // More nanoseconds than 64 bits hold.
  request.mutable_timeout()->set_seconds(10'000'000'000);
  v1::WaitOperationResponse response;
  const grpc::Status status = desk.caller()(&Stub::WaitOperation, request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.operation().state(), State::STATE_SUCCEEDED);
}

TEST_P(OperationsTest, RanksTheRowsOfASweep) {
  const auto daemon = Start();
  Desk desk(daemon->address());
  v1::SweepPlansRequest request;
  *request.mutable_plan_request() = SmallRequest();
  request.add_device_sets()->add_excluded_devices("g1");
  request.add_device_sets();
  for (const int devices : {1, 2}) request.add_max_devices(devices);
  v1::SweepPlansResponse response;
  ASSERT_TRUE(desk.caller()(&Stub::SweepPlans, request, response).ok());
  EXPECT_EQ(response.operation().sweep().rows_size(), 4);
  const v1::Operation ended = desk.Wait(response.operation().name());
  EXPECT_EQ(ended.state(), State::STATE_SUCCEEDED);
  EXPECT_EQ(ended.sweep().ended(), 4);
  ASSERT_EQ(ended.sweep().rows_size(), 4);
  // Only two devices have the memory.
  const v1::SweepResult::Row& best = ended.sweep().rows(0);
  EXPECT_EQ(best.rank(), 1);
  EXPECT_EQ(best.objective_ms(), 4.5);
  EXPECT_EQ(best.settings().device_set().excluded_devices_size(), 0);
  EXPECT_EQ(best.settings().max_devices(), 2);
  EXPECT_EQ(desk.Get(best.operation()).plan().objective_ms(), 4.5);
  EXPECT_EQ(desk.Get(best.operation()).metadata().sweep(), ended.name());
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(ended.sweep().rows(i).rank(), 0);
    EXPECT_EQ(ended.sweep().rows(i).state(), State::STATE_FAILED);
    EXPECT_EQ(ended.sweep().rows(i).error().code(), static_cast<int>(grpc::StatusCode::FAILED_PRECONDITION));
  }
}

TEST_P(OperationsTest, CheckpointsWhatRunsWhenItIsToldToEnd) {
  auto daemon = Start();
  std::string name;
  {
    Desk desk(daemon->address());
    name = desk.Submit(LongRequest(3'000)).name();
    desk.WaitForIncumbent(name);
  }
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->WaitForExit(), 0);
  daemon = Start();
  Desk desk(daemon->address());
  const v1::Operation ended = desk.Wait(name);
  EXPECT_EQ(ended.state(), State::STATE_SUCCEEDED);
  EXPECT_EQ(ended.metadata().attempts(), 2);
}

// How many servers are to die: $PLANWRIGHT_KILL_CYCLES (deploy/check-faults.sh), else `usual`.
int KillCycles(int usual) {
  const char* cycles = std::getenv("PLANWRIGHT_KILL_CYCLES");
  return cycles != nullptr ? std::atoi(cycles) : usual;
}

// Two servers on one store; the one that works is killed, the other one takes its work over; and so on. Three
// operations a cycle: one that runs, one that waits, one that is submitted to the survivor.
TEST_P(OperationsTest, LosesNothingWhenServersDie) {
  const int cycles = KillCycles(GetParam() == "sqlite" ? 1 : 2);
  std::vector<std::string> names;
  int taken_over = 0;
  auto working = Start();
  std::string address = working->address();
  for (int cycle = 0; cycle < cycles; ++cycle) {
    Desk desk(address);
    const std::string running = desk.Submit(LongRequest(4'000), "running-" + std::to_string(cycle)).name();
    const std::string waiting = desk.Submit(SmallRequest(), "waiting-" + std::to_string(cycle)).name();
    const v1::Operation saved = desk.WaitForIncumbent(running);
    ASSERT_EQ(saved.state(), State::STATE_RUNNING);
    auto survivor = Start();
    address = survivor->address();
    working->Signal(SIGKILL);
    working->WaitForExit();
    working = std::move(survivor);
    Desk other(address);
    const std::string late = other.Submit(SmallRequest(), "late-" + std::to_string(cycle)).name();
    const v1::Operation ended = other.Wait(running);
    EXPECT_EQ(ended.state(), State::STATE_SUCCEEDED);
    EXPECT_LE(ended.plan().objective_ms(), saved.metadata().objective_ms());
    taken_over += ended.metadata().attempts() == 2 ? 1 : 0;
    names.insert(names.end(), {running, waiting, late});
  }
  Desk desk(address);
  int succeeded = 0;
  for (const std::string& name : names) {
    const v1::Operation ended = desk.Wait(name);
    succeeded += ended.state() == State::STATE_SUCCEEDED ? 1 : 0;
  }
  v1::ListOperationsRequest all;
  all.set_page_size(1000);
  v1::ListOperationsResponse list;
  ASSERT_TRUE(desk.caller()(&Stub::ListOperations, all, list).ok());
  std::cout << GetParam() << ": killed " << cycles << " servers; submitted " << names.size() << " operations, "
            << succeeded << " succeeded, " << names.size() - static_cast<std::size_t>(succeeded) << " lost, "
            << list.operations_size() - static_cast<int>(names.size()) << " too many; " << taken_over
            << " were taken over while they ran\n";
  EXPECT_EQ(succeeded, static_cast<int>(names.size()));
  EXPECT_EQ(list.operations_size(), static_cast<int>(names.size()));
  EXPECT_EQ(taken_over, cycles);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, OperationsTest, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgresql, OperationsTest, testing::Values("postgresql"));

TEST(OperationFaultTest, EndsItsWorkWhenItsPostgresqlIsBack) {
  if (!PrivatePostgres::IsInstalled()) GTEST_SKIP() << PrivatePostgres::kMissing;
  PrivatePostgres postgres;
  DaemonProcess daemon({"--cpus=1", "--operation_lease=3s", "--store=postgresql:" + postgres.conninfo()});
  Desk desk(daemon.address());
  const std::string name = desk.Submit(LongRequest(4'000)).name();
  desk.WaitForIncumbent(name);
  postgres.Stop();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  postgres.Start();
  const v1::Operation ended = desk.Wait(name);
  EXPECT_EQ(ended.state(), State::STATE_SUCCEEDED);
}

}  // namespace
}  // namespace planwright
