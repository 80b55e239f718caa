#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <future>
#include <iostream>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "planwright/v1/planning_service.grpc.pb.h"
#include "tests/integration/daemon_process.h"
#include "tests/integration/requests.h"
#include "tests/support/wire.h"

namespace planwright {
namespace {

using std::chrono::seconds;

// Instrumented programs take far more time and memory.
#ifdef PLANWRIGHT_SANITIZED
constexpr bool kIsInstrumented = true;
#else
constexpr bool kIsInstrumented = false;
#endif

// A client of one server.
class Client {
 public:
  explicit Client(const std::string& address)
      : stub_(v1::PlanningService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  grpc::Status CreatePlan(const v1::CreatePlanRequest& request, v1::CreatePlanResponse& response,
                          seconds deadline = seconds(60)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    return stub_->CreatePlan(&context, request, &response);
  }

  v1::PlanningService::Stub& stub() { return *stub_; }

 private:
  std::unique_ptr<v1::PlanningService::Stub> stub_;
};

// A call in the background, which can be cancelled.
class Call {
 public:
  Call(Client& client, const v1::CreatePlanRequest& request)
      : status_(std::async(std::launch::async, [this, &client, request] {
          return client.stub().CreatePlan(&context_, request, &response_);
        })) {}

  void Cancel() { context_.TryCancel(); }
  grpc::Status Wait() { return status_.get(); }
  // Complete after Wait.
  const v1::CreatePlanResponse& response() const { return response_; }

 private:
  grpc::ClientContext context_;
  v1::CreatePlanResponse response_;
  std::future<grpc::Status> status_;
};

TEST(ServingTest, PlansAndEvaluatesASmallGraph) {
  DaemonProcess daemon;
  Client client(daemon.address());
  const v1::CreatePlanRequest request = SmallRequest();
  v1::CreatePlanResponse planned;
  ASSERT_TRUE(client.CreatePlan(request, planned).ok());
  EXPECT_EQ(planned.plan().objective_ms(), 4.5);
  EXPECT_TRUE(planned.plan().provenance().proven_optimal());

  v1::EvaluatePlanRequest evaluation;
  *evaluation.mutable_graph() = request.graph();
  *evaluation.mutable_cluster() = request.cluster();
  *evaluation.mutable_plan() = planned.plan();
  v1::EvaluatePlanResponse evaluated;
  grpc::ClientContext context;
  ASSERT_TRUE(client.stub().EvaluatePlan(&context, evaluation, &evaluated).ok());
  EXPECT_TRUE(evaluated.valid());
  EXPECT_EQ(evaluated.objective_ms(), 4.5);
}

TEST(ServingTest, PlansAModelOfTheZoo) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-large");
  request.set_cluster_reference("zoo:dgx1-v100:1");
  v1::CreatePlanResponse response;
  ASSERT_TRUE(client.CreatePlan(request, response).ok());
  EXPECT_TRUE(response.plan().provenance().proven_optimal());
}

TEST(ServingTest, ListsEveryViolation) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::CreatePlanRequest request = SmallRequest();
  request.mutable_graph()->mutable_operators(0)->mutable_costs(0)->set_forward_ms(-1);
  request.mutable_graph()->mutable_tensors(0)->set_size_bytes(-5);
  v1::CreatePlanResponse response;
  const grpc::Status status = client.CreatePlan(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
  const auto bad_request = DetailOf<google::rpc::BadRequest>(status);
  ASSERT_TRUE(bad_request.has_value());
  ASSERT_EQ(bad_request->field_violations_size(), 2);
  EXPECT_EQ(bad_request->field_violations(0).field(), "graph.operators[0].costs[0].forward_ms");
  EXPECT_EQ(bad_request->field_violations(1).field(), "graph.tensors[0].size_bytes");
}

TEST(ServingTest, ManyViolationsReachAnOrdinaryClient) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::CreatePlanRequest request = SmallRequest();
  for (int i = 0; i < 500; ++i) request.mutable_graph()->add_tensors()->set_producer(std::string(100, 'x'));
  v1::CreatePlanResponse response;
  const grpc::Status status = client.CreatePlan(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_GT(DetailOf<google::rpc::BadRequest>(status)->field_violations_size(), 10);
}

TEST(ServingTest, ProvesThatThereIsNoPlan) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::CreatePlanRequest request = SmallRequest();
  request.mutable_graph()->mutable_operators(0)->set_memory_bytes(100);
  v1::CreatePlanResponse response;
  const grpc::Status status = client.CreatePlan(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "INFEASIBLE");
  const auto detail = DetailOf<v1::InfeasibleDetail>(status);
  ASSERT_TRUE(detail.has_value());
  ASSERT_GT(detail->reasons_size(), 0);
  EXPECT_EQ(detail->reasons(0).resource(), "memory");
  EXPECT_EQ(detail->reasons(0).subject(), "a");
  EXPECT_GT(detail->reasons(0).needed_bytes(), detail->reasons(0).available_bytes());
  EXPECT_GT(detail->reasons(0).available_bytes(), 0);
}

TEST(ServingTest, RefusesMessagesAboveTheLimitAndServesOn) {
  DaemonProcess daemon({"--max_message_bytes=64KiB"});
  Client client(daemon.address());
  v1::CreatePlanRequest large = SmallRequest();
  large.mutable_graph()->set_display_name(std::string(100'000, 'x'));
  v1::CreatePlanResponse response;
  EXPECT_EQ(client.CreatePlan(large, response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(client.CreatePlan(SmallRequest(), response).ok());
}

TEST(ServingTest, ADeadlineIsAnsweredBeforeItPasses) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::CreatePlanResponse response;
  const grpc::Status status = client.CreatePlan(HardRequest(), response, seconds(kIsInstrumented ? 8 : 1));
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.plan().provenance().stop_reason(), v1::STOP_REASON_TIME_LIMIT);
  EXPECT_GT(response.plan().relative_gap(), 0);
  EXPECT_GT(response.plan().lower_bound_ms(), 0);
}

TEST(ServingTest, AFullServerRefusesAndACancelledSearchMakesRoom) {
  DaemonProcess daemon({"--max_running=1", "--max_waiting=0"});
  Client client(daemon.address());
  Call hard(client, HardRequest());
  daemon.WaitForLog("search started");

  v1::CreatePlanResponse response;
  const grpc::Status refused = client.CreatePlan(SmallRequest(), response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "SERVER_FULL");
  EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(refused).has_value());
  // What needs no search is answered all the same.
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(client.stub().GetServerInfo(&context, v1::GetServerInfoRequest(), &info).ok());
  EXPECT_EQ(info.limits().max_running(), 1);

  hard.Cancel();
  EXPECT_EQ(hard.Wait().error_code(), grpc::StatusCode::CANCELLED);
  const nlohmann::json stopped = daemon.WaitForLog("search cancelled");
  EXPECT_GE(stopped.value("stopped_after_ms", -1.0), 0);
  // Where it has not found a plan by then, it says so as a code.
  const nlohmann::json ended = daemon.WaitForLog("search ended");
  EXPECT_EQ(ended.value("stop_reason", ended.value("code", "")), ended.contains("code") ? "Canceled" : "cancelled");
  // The slot is free once the worker has let go of the call, a moment after the log line.
  grpc::Status status = client.CreatePlan(SmallRequest(), response);
  while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
    status = client.CreatePlan(SmallRequest(), response);
  }
  EXPECT_TRUE(status.ok()) << status.error_message();
}

v1::StreamPlanRequest StreamOf(const v1::CreatePlanRequest& request) {
  v1::StreamPlanRequest stream;
  // Fields 1 to 6 are the same.
  EXPECT_TRUE(stream.ParseFromString(request.SerializeAsString()));
  return stream;
}

// One StreamPlan that is read to the end.
class Stream {
 public:
  Stream(Client& client, const v1::StreamPlanRequest& request, seconds deadline = seconds(60)) {
    context_.set_deadline(std::chrono::system_clock::now() + deadline);
    reader_ = client.stub().StreamPlan(&context_, request);
  }

  // The next message; nullopt: the stream has ended.
  std::optional<v1::StreamPlanResponse> Read() {
    v1::StreamPlanResponse message;
    return reader_->Read(&message) ? std::optional(std::move(message)) : std::nullopt;
  }
  // Reads until a message of `event`; false: none came.
  bool ReadUntil(v1::StreamPlanResponse::EventCase event) {
    while (const auto message = Read()) {
      if (message->event_case() == event) return true;
    }
    return false;
  }
  std::vector<v1::StreamPlanResponse> ReadAll() {
    std::vector<v1::StreamPlanResponse> messages;
    while (auto message = Read()) messages.push_back(*std::move(message));
    return messages;
  }
  void Cancel() { context_.TryCancel(); }
  // REQUIRES: read to the end.
  grpc::Status Finish() { return reader_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::StreamPlanResponse>> reader_;
};

// `plan` without what differs from run to run.
std::string WithoutTimes(v1::Plan plan) {
  plan.mutable_provenance()->clear_wall_time_ms();
  plan.mutable_provenance()->clear_cpu_time_ms();
  for (auto& incumbent : *plan.mutable_provenance()->mutable_incumbents()) incumbent.clear_time_ms();
  return plan.DebugString();
}

TEST(StreamPlanTest, EndsWithThePlanThatCreatePlanMakes) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-large");
  request.set_cluster_reference("zoo:dgx1-v100:1");
  v1::CreatePlanResponse planned;
  ASSERT_TRUE(client.CreatePlan(request, planned).ok());

  v1::StreamPlanRequest stream_request = StreamOf(request);
  stream_request.set_include_incumbent_plans(true);
  stream_request.set_skip_cache(true);
  Stream stream(client, stream_request);
  const std::vector<v1::StreamPlanResponse> messages = stream.ReadAll();
  const grpc::Status status = stream.Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_FALSE(messages.empty());
  ASSERT_TRUE(messages.back().has_plan());
  EXPECT_EQ(WithoutTimes(messages.back().plan()), WithoutTimes(planned.plan()));
  EXPECT_EQ(std::count_if(messages.begin(), messages.end(), [](const auto& message) { return message.has_plan(); }), 1);
}

TEST(StreamPlanTest, IncumbentPlansAreValidAndOnlySentWhenAskedFor) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::StreamPlanRequest request = StreamOf(HardRequest());
  Stream terse(client, request);
  while (const auto message = terse.Read()) {
    if (!message->has_incumbent()) continue;
    EXPECT_FALSE(message->incumbent().has_plan());
    EXPECT_GT(message->incumbent().incumbent().objective_ms(), 0);
    break;
  }
  terse.Cancel();

  request.set_include_incumbent_plans(true);
  Stream stream(client, request);
  std::optional<v1::StreamPlanResponse> message = stream.Read();
  while (message.has_value() && !message->has_incumbent()) message = stream.Read();
  ASSERT_TRUE(message.has_value());
  const v1::Plan& plan = message->incumbent().plan();
  EXPECT_EQ(plan.objective_ms(), message->incumbent().incumbent().objective_ms());
  EXPECT_EQ(plan.provenance().stop_reason(), v1::STOP_REASON_CANCELLED);
  v1::EvaluatePlanRequest evaluation;
  *evaluation.mutable_graph() = request.graph();
  *evaluation.mutable_cluster() = request.cluster();
  *evaluation.mutable_plan() = plan;
  v1::EvaluatePlanResponse evaluated;
  grpc::ClientContext context;
  ASSERT_TRUE(client.stub().EvaluatePlan(&context, evaluation, &evaluated).ok());
  EXPECT_TRUE(evaluated.valid()) << evaluated.DebugString();
}

TEST(StreamPlanTest, AnInvalidRequestIsRefusedAsByCreatePlan) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::CreatePlanRequest request = SmallRequest();
  request.mutable_graph()->mutable_operators(0)->mutable_costs(0)->set_forward_ms(-1);
  v1::CreatePlanResponse response;
  const grpc::Status expected = client.CreatePlan(request, response);
  Stream stream(client, StreamOf(request));
  for (const auto& message : stream.ReadAll()) EXPECT_FALSE(message.has_plan());
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), expected.error_message());
  EXPECT_EQ(status.error_details(), expected.error_details());
}

TEST(StreamPlanTest, ADeadlineIsAnsweredBeforeItPasses) {
  DaemonProcess daemon;
  Client client(daemon.address());
  Stream stream(client, StreamOf(HardRequest()), seconds(1));
  const std::vector<v1::StreamPlanResponse> messages = stream.ReadAll();
  const grpc::Status status = stream.Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back().plan().provenance().stop_reason(), v1::STOP_REASON_TIME_LIMIT);
}

TEST(StreamPlanTest, ACancelledStreamStopsItsSearch) {
  DaemonProcess daemon;
  Client client(daemon.address());
  Stream stream(client, StreamOf(HardRequest()));
  ASSERT_TRUE(stream.ReadUntil(v1::StreamPlanResponse::kIncumbent));
  stream.Cancel();
  stream.ReadAll();
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_GE(daemon.WaitForLog("search cancelled").value("stopped_after_ms", -1.0), 0);
  EXPECT_EQ(daemon.WaitForLog("search ended").value("stop_reason", ""), "cancelled");
}

TEST(StreamPlanTest, AReaderThatDoesNotReadHoldsUpNeitherTheSearchNorTheWorker) {
  DaemonProcess daemon({"--max_running=1", "--max_waiting=0"});
  Client client(daemon.address());
  v1::StreamPlanRequest request = StreamOf(HardRequest());
  request.mutable_options()->mutable_time_limit()->set_seconds(1);
  request.set_include_incumbent_plans(true);
  // Whole plans with names this long fill the reader's window, so that the server cannot write all of them.
  for (auto& op : *request.mutable_graph()->mutable_operators()) {
    op.set_name(op.name() + std::string(200, 'x'));
  }
  for (auto& tensor : *request.mutable_graph()->mutable_tensors()) {
    tensor.set_producer(tensor.producer() + std::string(200, 'x'));
    for (auto& consumer : *tensor.mutable_consumers()) consumer += std::string(200, 'x');
  }
  Stream lazy(client, request);
  EXPECT_EQ(daemon.WaitForLog("search ended").value("stop_reason", ""), "time_limit");
  // The only worker is free again although nothing has been read.
  v1::CreatePlanResponse response;
  grpc::Status status = client.CreatePlan(SmallRequest(), response);
  while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
    status = client.CreatePlan(SmallRequest(), response);
  }
  EXPECT_TRUE(status.ok()) << status.error_message();
  const std::vector<v1::StreamPlanResponse> messages = lazy.ReadAll();
  EXPECT_TRUE(lazy.Finish().ok());
  ASSERT_FALSE(messages.empty());
  EXPECT_TRUE(messages.back().has_plan());
  std::cout << "a reader that does not read: sent 1 stream and 1 plan, answered both, messages of the stream "
            << messages.size() << "\n";
}

TEST(StreamPlanTest, DrainAnswersStreamsWithTheirBestPlan) {
  DaemonProcess daemon({"--drain_timeout=1ms"});
  Client client(daemon.address());
  Stream stream(client, StreamOf(HardRequest()));
  ASSERT_TRUE(stream.ReadUntil(v1::StreamPlanResponse::kIncumbent));
  daemon.Signal(SIGTERM);
  const std::vector<v1::StreamPlanResponse> messages = stream.ReadAll();
  const grpc::Status status = stream.Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back().plan().provenance().stop_reason(), v1::STOP_REASON_CANCELLED);
  EXPECT_EQ(daemon.WaitForExit(), 0);
}

TEST(StreamPlanTest, AFullServerRefuses) {
  DaemonProcess daemon({"--max_running=1", "--max_waiting=0"});
  Client client(daemon.address());
  Stream hard(client, StreamOf(HardRequest()));
  ASSERT_TRUE(hard.ReadUntil(v1::StreamPlanResponse::kIncumbent));
  Stream refused(client, StreamOf(SmallRequest()));
  EXPECT_TRUE(refused.ReadAll().empty());
  EXPECT_EQ(ReasonOf(refused.Finish()), "SERVER_FULL");
  hard.Cancel();
}

grpc::Status SendBatch(Client& client, const v1::BatchCreatePlansRequest& batch,
                       v1::BatchCreatePlansResponse& response) {
  grpc::ClientContext context;
  return client.stub().BatchCreatePlans(&context, batch, &response);
}

TEST(BatchTest, ProblemsShareSearchesWithOtherCalls) {
  DaemonProcess daemon;
  Client client(daemon.address());
  v1::CreatePlanRequest hard = HardRequest();
  hard.mutable_options()->mutable_time_limit()->set_seconds(2);
  Call call(client, hard);
  EXPECT_FALSE(daemon.WaitForLog("search started").empty());
  v1::BatchCreatePlansRequest batch;
  *batch.mutable_cluster() = hard.cluster();
  for (int i = 0; i < 2; ++i) {
    *batch.add_requests()->mutable_graph() = hard.graph();
    *batch.mutable_requests(i)->mutable_options() = hard.options();
  }
  v1::BatchCreatePlansResponse response;
  const grpc::Status status = SendBatch(client, batch, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(call.Wait().ok());
  ASSERT_EQ(response.results_size(), 2);
  for (const auto& result : response.results()) EXPECT_TRUE(result.plan().provenance().cached());
  const std::string log = daemon.log_text();
  const std::size_t first = log.find("search started");
  EXPECT_EQ(log.find("search started", first + 1), std::string::npos);
}

TEST(BatchTest, AFullServerRefuses) {
  DaemonProcess daemon({"--max_running=1", "--max_waiting=0"});
  Client client(daemon.address());
  Call hard(client, HardRequest());
  EXPECT_FALSE(daemon.WaitForLog("search started").empty());
  v1::BatchCreatePlansRequest batch;
  *batch.mutable_cluster() = SmallRequest().cluster();
  *batch.add_requests()->mutable_graph() = SmallRequest().graph();
  v1::BatchCreatePlansResponse response;
  const grpc::Status refused = SendBatch(client, batch, response);
  EXPECT_EQ(ReasonOf(refused), "SERVER_FULL");
  EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(refused).has_value());
  hard.Cancel();
}

// Problems that take a while to be read, and then are wrong.
v1::BatchCreatePlansRequest BrokenBatch() {
  v1::BatchCreatePlansRequest batch;
  batch.set_cluster_reference("zoo:pcie:2");
  for (int i = 0; i < 1000; ++i) {
    batch.add_requests()->set_graph_reference("zoo:transformer?layers=20000");
    batch.mutable_requests(i)->mutable_problem()->set_objective(static_cast<v1::Objective>(77));
  }
  return batch;
}

TEST(BatchTest, BrokenProblemsKeepNobodyWaitingWhoseCallerHasGone) {
  DaemonProcess daemon({"--drain_timeout=1s"});
  Client client(daemon.address());
  // One for each thread that reads.
  const unsigned threads = std::max(2U, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < threads; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    v1::BatchCreatePlansResponse response;
    EXPECT_FALSE(client.stub().BatchCreatePlans(&context, BrokenBatch(), &response).ok());
  }
  v1::CreatePlanResponse response;
  EXPECT_TRUE(client.CreatePlan(SmallRequest(), response).ok());
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.WaitForExit(), 0);
}

TEST(BatchTest, BrokenProblemsLetOthersHaveTheirTurn) {
  DaemonProcess daemon;
  Client client(daemon.address());
  std::vector<grpc::ClientContext> contexts(std::max(2U, std::thread::hardware_concurrency()));
  std::vector<std::future<grpc::Status>> batches;
  batches.reserve(contexts.size());
  for (grpc::ClientContext& context : contexts) {
    batches.push_back(std::async(std::launch::async, [&client, &context] {
      v1::BatchCreatePlansResponse response;
      return client.stub().BatchCreatePlans(&context, BrokenBatch(), &response);
    }));
  }
  for (int i = 0; i < 3; ++i) {
    v1::CreatePlanRequest request = SmallRequest();
    request.mutable_options()->set_seed(i);
    v1::CreatePlanResponse response;
    EXPECT_TRUE(client.CreatePlan(request, response).ok());
  }
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (auto& batch : batches) EXPECT_EQ(batch.get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST(BatchTest, ABatchThatIsAloneMayFillTheRoomForReading) {
  // Of which 512 KiB are for reading.
  DaemonProcess daemon({"--memory_budget=16MiB"});
  Client client(daemon.address());
  v1::BatchCreatePlansRequest batch;
  *batch.mutable_cluster() = SmallRequest().cluster();
  *batch.add_requests()->mutable_graph() = SmallRequest().graph();
  batch.mutable_requests(0)->mutable_graph()->set_display_name(std::string(std::size_t{400} << 10, 'x'));
  v1::BatchCreatePlansResponse response;
  const grpc::Status status = SendBatch(client, batch, response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(ServingTest, LargeSearchesDegradeBeforeTheBudgetIsSpent) {
  constexpr int64_t kBudget = int64_t{96} << 20;
  DaemonProcess daemon({"--memory_budget=96MiB", "--max_running=2"});
  Client client(daemon.address());
  v1::CreatePlanRequest request = RequestOf("tow_6x12_lo");
  request.mutable_options()->mutable_time_limit()->set_seconds(60);
  std::vector<std::unique_ptr<Call>> calls;
  for (int seed = 1; seed <= 3; ++seed) {
    request.mutable_options()->set_seed(seed);
    calls.push_back(std::make_unique<Call>(client, request));
  }
  for (const auto& call : calls) {
    const grpc::Status status = call->Wait();
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(call->response().plan().provenance().stop_reason(), v1::STOP_REASON_MEMORY_LIMIT);
  }
  std::cout << "memory: budget " << (kBudget >> 20) << " MiB, peak " << (daemon.PeakBytes() >> 20) << " MiB\n";
  EXPECT_TRUE(kIsInstrumented || daemon.PeakBytes() < kBudget);
}

TEST(ServingTest, GivesTheMemoryOfLargeRequestsBack) {
  if (kIsInstrumented) GTEST_SKIP() << "sanitizers keep memory that was freed";
  constexpr int64_t kOneRequest = int64_t{64} << 20;
  DaemonProcess daemon;
  Client client(daemon.address());
  const int64_t idle = daemon.ResidentBytes();
  // 210,000 operators each, read by one thread, searched for by another and dropped by a third.
  for (const char* hidden : {"768", "780", "792", "804"}) {
    v1::CreatePlanRequest large = SmallRequest();
    large.set_graph_reference(std::string("zoo:transformer?layers=15000&hidden=") + hidden);
    large.mutable_options()->mutable_time_limit()->set_nanos(1'000'000);
    v1::CreatePlanResponse response;
    const grpc::Status status = client.CreatePlan(large, response);
    EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  }
  EXPECT_GT(daemon.PeakBytes(), idle + kOneRequest);
  for (int attempt = 0; attempt < 600 && daemon.ResidentBytes() > idle + kOneRequest / 2; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(daemon.ResidentBytes(), idle + kOneRequest / 2);
}

TEST(ServingTest, RequestsThatWaitMayHoldAPartOfTheMemoryBudget) {
  // The hard search goes on for as long as the large request takes to be read.
  DaemonProcess daemon({"--max_running=1", "--max_waiting=9", "--memory_budget=16MiB", "--default_time_limit=10m"});
  Client client(daemon.address());
  Call hard(client, HardRequest());
  daemon.WaitForLog("search started");
  v1::CreatePlanRequest large = SmallRequest();
  large.set_graph_reference("zoo:transformer?layers=2000");
  v1::CreatePlanResponse response;
  const grpc::Status refused = client.CreatePlan(large, response);
  EXPECT_EQ(ReasonOf(refused), "SERVER_FULL");
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("--memory_budget"));
  Call small(client, SmallRequest());
  hard.Cancel();
  hard.Wait();
  grpc::Status answered = small.Wait();
  // The room of a refused request may be given back a moment after its answer.
  for (int attempt = 0; attempt < 100 && ReasonOf(answered) == "SERVER_FULL"; ++attempt) {
    answered = client.CreatePlan(SmallRequest(), response);
  }
  EXPECT_TRUE(answered.ok()) << answered.error_message();
}

TEST(ServingTest, EvaluationsAndSimulationsCountByWhatTheyTakeWhenTheyAreRead) {
  DaemonProcess daemon({"--max_running=1", "--max_waiting=9", "--memory_budget=16MiB"});
  Client client(daemon.address());
  Call hard(client, HardRequest());
  daemon.WaitForLog("search started");
  // A hundred kilobytes, which take megabytes.
  v1::EvaluatePlanRequest evaluation;
  *evaluation.mutable_cluster() = SmallRequest().cluster();
  evaluation.mutable_plan();
  for (int i = 0; i < 8000; ++i) evaluation.mutable_graph()->add_operators()->set_name("o" + std::to_string(i));
  ASSERT_LT(evaluation.ByteSizeLong(), std::size_t{128} << 10);
  v1::EvaluatePlanResponse verdict;
  grpc::ClientContext evaluating;
  const grpc::Status refused = client.stub().EvaluatePlan(&evaluating, evaluation, &verdict);
  EXPECT_EQ(ReasonOf(refused), "SERVER_FULL");
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("--memory_budget"));
  v1::SimulatePlanRequest simulation;
  *simulation.mutable_cluster() = evaluation.cluster();
  *simulation.mutable_graph() = evaluation.graph();
  simulation.mutable_plan();
  grpc::ClientContext simulating;
  v1::SimulatePlanResponse message;
  const auto reader = client.stub().SimulatePlan(&simulating, simulation);
  EXPECT_FALSE(reader->Read(&message));
  EXPECT_EQ(ReasonOf(reader->Finish()), "SERVER_FULL");
  hard.Cancel();
}

TEST(ServingTest, DrainStopsSearchesAndAnswersThemWithTheirBestPlan) {
  // Time for a first plan, on a machine that is busy as well.
  DaemonProcess daemon({"--drain_timeout=1s"});
  Client client(daemon.address());
  Call hard(client, HardRequest());
  daemon.WaitForLog("search started");
  daemon.Signal(SIGTERM);
  const grpc::Status status = hard.Wait();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(hard.response().plan().provenance().stop_reason(), v1::STOP_REASON_CANCELLED);
  EXPECT_EQ(daemon.WaitForExit(), 0);
}

TEST(ServingTest, DrainRefusesNewRequestsWhileOldOnesEnd) {
  DaemonProcess daemon({"--drain_timeout=60s"});
  Client client(daemon.address());
  Call hard(client, HardRequest());
  daemon.WaitForLog("search started");
  daemon.Signal(SIGTERM);
  daemon.WaitForLog("draining");
  v1::CreatePlanResponse response;
  grpc::Status status = client.CreatePlan(SmallRequest(), response);
  // The log line precedes the refusal by a moment.
  while (status.ok()) status = client.CreatePlan(SmallRequest(), response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "SHUTTING_DOWN");
  hard.Cancel();
  hard.Wait();
  EXPECT_EQ(daemon.WaitForExit(), 0);
}

TEST(ServingTest, RefusesCompressedMessagesWithoutUnpackingThem) {
  DaemonProcess daemon;
  const auto stub =
      v1::PlanningService::NewStub(grpc::CreateChannel(daemon.address(), grpc::InsecureChannelCredentials()));
  v1::CreatePlanRequest request = SmallRequest();
  request.mutable_graph()->set_display_name(std::string(32 << 20, 'a'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::CreatePlanResponse response;
  EXPECT_EQ(stub->CreatePlan(&context, request, &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  grpc::ClientContext plain;
  EXPECT_TRUE(stub->CreatePlan(&plain, SmallRequest(), &response).ok());
}

// A thousand connections, and on each a plan that is asked for by all.
TEST(ServingTest, AThousandClientsAtOnceAreAllAnswered) {
  constexpr std::size_t kClients = 1000;
  DaemonProcess daemon;
  const std::string address = daemon.address();
  struct One {
    std::unique_ptr<v1::PlanningService::Stub> stub;
    grpc::ClientContext context;
    v1::CreatePlanResponse response;
  };
  const v1::CreatePlanRequest request = SmallRequest();
  std::vector<std::unique_ptr<One>> clients;
  std::atomic<int> planned{0};
  std::latch answered(kClients);
  for (std::size_t i = 0; i < kClients; ++i) {
    One& client = *clients.emplace_back(std::make_unique<One>());
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    client.stub =
        v1::PlanningService::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    client.context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    client.context.set_wait_for_ready(true);
    client.stub->async()->CreatePlan(&client.context, &request, &client.response, [&](const grpc::Status& status) {
      if (status.ok() && client.response.plan().objective_ms() == 4.5) ++planned;
      answered.count_down();
    });
  }
  answered.wait();
  std::cout << "a thousand clients: sent " << kClients << ", answered with the plan " << planned << "\n";
  EXPECT_EQ(planned, static_cast<int>(kClients));
}

// What is sent before windows are opened again is no flood, however many calls begin at once.
TEST(ServingTest, SixtyCallsOfMegabytesAtOnceOnANewConnectionAreAllAnswered) {
  constexpr std::size_t kCalls = 60;
  DaemonProcess daemon;
  const auto stub =
      v1::PlanningService::NewStub(grpc::CreateChannel(daemon.address(), grpc::InsecureChannelCredentials()));
  struct One {
    grpc::ClientContext context;
    v1::CreatePlanResponse response;
  };
  v1::CreatePlanRequest request = SmallRequest();
  request.mutable_graph()->set_display_name(std::string(2 << 20, 'a'));
  std::vector<std::unique_ptr<One>> calls;
  std::array<grpc::StatusCode, kCalls> codes{};
  std::latch answered(kCalls);
  for (std::size_t i = 0; i < kCalls; ++i) {
    One& call = *calls.emplace_back(std::make_unique<One>());
    stub->async()->CreatePlan(&call.context, &request, &call.response,
                              [&codes, &answered, i](const grpc::Status& status) {
                                codes[i] = status.error_code();
                                answered.count_down();
                              });
  }
  answered.wait();
  // A name of 2 MiB is refused, once it has been read.
  EXPECT_THAT(codes, testing::Each(grpc::StatusCode::INVALID_ARGUMENT));
}

TEST(ServingTest, GarbageOnThePortDoesNoHarm) {
  DaemonProcess daemon;
  const std::string address = daemon.address();
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int stranger = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(stranger, 0);
  ASSERT_EQ(connect(stranger, reinterpret_cast<const sockaddr*>(&server), sizeof(server)), 0);
  const std::string garbage(10'000, '\x81');
  EXPECT_GT(send(stranger, garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
  Client client(address);
  v1::CreatePlanResponse response;
  EXPECT_TRUE(client.CreatePlan(SmallRequest(), response).ok());
  close(stranger);
}

}  // namespace
}  // namespace planwright
