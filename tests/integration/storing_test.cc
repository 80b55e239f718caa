// What planwrightd keeps: plans, graphs and clusters, on both stores.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "planwright/v1/planning_service.grpc.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/daemon_process.h"
#include "tests/integration/requests.h"
#include "tests/integration/store_fixture.h"

namespace planwright {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The graph of the small request, as header and one fragment for each operator and the tensors.
std::vector<v1::RegisterGraphRequest> Fragments(const std::string& expected_digest = "") {
  const v1::Graph graph = SmallRequest().graph();
  std::vector<v1::RegisterGraphRequest> messages(1);
  messages[0].mutable_header()->set_expected_digest(expected_digest);
  for (const v1::Operator& one : graph.operators()) {
    *messages.emplace_back().mutable_fragment()->add_operators() = one;
  }
  *messages.emplace_back().mutable_fragment()->mutable_tensors() = graph.tensors();
  return messages;
}

class StoringTest : public StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (!IsSkipped()) Start();
  }

  void Start(std::vector<std::string> flags = {}) {
    flags.push_back(store());
    daemon_ = std::make_unique<DaemonProcess>(flags);
    address_ = daemon_->address();
  }

  std::unique_ptr<DaemonProcess> daemon_;
  std::string address_;
};

TEST_P(StoringTest, KeepsPlansThroughACrash) {
  v1::Plan planned;
  ASSERT_TRUE(Caller(address_).CreatePlan(StoredRequest("my-plan"), planned).ok());
  EXPECT_EQ(planned.name(), "plans/my-plan");
  daemon_->Signal(SIGKILL);
  daemon_->WaitForExit();
  Start();
  Caller caller(address_);
  v1::Plan found;
  ASSERT_TRUE(caller.GetPlan("plans/my-plan", found).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(found, planned));
  // The same again is the same plan; another problem needs another name.
  v1::Plan again;
  ASSERT_TRUE(caller.CreatePlan(StoredRequest("my-plan"), again).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(again, planned));
  v1::CreatePlanRequest other = StoredRequest("my-plan");
  other.mutable_problem()->set_num_stages(2);
  EXPECT_EQ(caller.CreatePlan(other, again).error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_P(StoringTest, SweepsPlansThatAreTooMany) {
  v1::Plan plan;
  for (const char* id : {"plan-a", "plan-b", "plan-c"}) {
    ASSERT_TRUE(Caller(address_).CreatePlan(StoredRequest(id), plan).ok());
  }
  daemon_->Signal(SIGTERM);
  daemon_->WaitForExit();
  Start({"--retention_items=2"});
  EXPECT_EQ(daemon_->WaitForLog("swept the store").value("rows", 0), 1);
  Caller caller(address_);
  EXPECT_EQ(caller.GetPlan("plans/plan-a", plan).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(caller.GetPlan("plans/plan-b", plan).ok());
  EXPECT_TRUE(caller.GetPlan("plans/plan-c", plan).ok());
}

TEST_P(StoringTest, ListsAndForgetsPlans) {
  Caller caller(address_);
  v1::Plan plan;
  for (const char* id : {"plan-a", "plan-b", "plan-c"}) ASSERT_TRUE(caller.CreatePlan(StoredRequest(id), plan).ok());
  v1::ListPlansRequest request;
  request.set_page_size(2);
  v1::ListPlansResponse first;
  ASSERT_TRUE(caller(&Stub::ListPlans, request, first).ok());
  ASSERT_EQ(first.plans_size(), 2);
  EXPECT_EQ(first.plans(0).name(), "plans/plan-c");
  EXPECT_EQ(first.plans(0).objective_ms(), 4.5);
  EXPECT_GT(first.plans(0).create_time().seconds(), 0);
  request.set_page_token(first.next_page_token());
  v1::ListPlansResponse second;
  ASSERT_TRUE(caller(&Stub::ListPlans, request, second).ok());
  ASSERT_EQ(second.plans_size(), 1);
  EXPECT_EQ(second.plans(0).name(), "plans/plan-a");
  EXPECT_EQ(second.next_page_token(), "");

  v1::DeletePlanRequest deletion;
  deletion.set_name("plans/plan-b");
  v1::DeletePlanResponse deleted;
  EXPECT_TRUE(caller(&Stub::DeletePlan, deletion, deleted).ok());
  EXPECT_EQ(caller(&Stub::DeletePlan, deletion, deleted).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(caller.GetPlan("plans/plan-b", plan).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_P(StoringTest, HidesWhatOthersKeep) {
  Caller alice(address_, "alice");
  Caller bob(address_, "bob");
  v1::Plan plan;
  ASSERT_TRUE(alice.CreatePlan(StoredRequest("my-plan"), plan).ok());
  v1::RegisterGraphResponse graph;
  ASSERT_TRUE(alice.RegisterGraph(Fragments(), graph).ok());
  EXPECT_EQ(bob.GetPlan("plans/my-plan", plan).error_code(), grpc::StatusCode::NOT_FOUND);
  v1::ListPlansResponse plans;
  ASSERT_TRUE(bob(&Stub::ListPlans, v1::ListPlansRequest(), plans).ok());
  EXPECT_THAT(plans.plans(), IsEmpty());
  v1::CreatePlanRequest request = SmallRequest();
  request.set_graph_reference(graph.graph().name());
  EXPECT_EQ(bob.CreatePlan(request, plan).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(alice.CreatePlan(request, plan).ok());
}

TEST_P(StoringTest, PlansByDigestsAlone) {
  Caller caller(address_);
  v1::Plan by_message;
  ASSERT_TRUE(caller.CreatePlan(SmallRequest(), by_message).ok());
  v1::RegisterGraphResponse graph;
  ASSERT_TRUE(caller.RegisterGraph(Fragments(by_message.graph_digest()), graph).ok());
  EXPECT_EQ(graph.graph().name(), "graphs/" + by_message.graph_digest());
  EXPECT_EQ(graph.graph().operators(), 2);
  v1::RegisterClusterRequest registration;
  *registration.mutable_cluster() = SmallRequest().cluster();
  v1::RegisterClusterResponse cluster;
  ASSERT_TRUE(caller(&Stub::RegisterCluster, registration, cluster).ok());
  EXPECT_EQ(cluster.cluster().name(), "clusters/" + by_message.cluster_digest());
  // Said twice, stored once.
  ASSERT_TRUE(caller(&Stub::RegisterCluster, registration, cluster).ok());
  v1::ListClustersResponse clusters;
  ASSERT_TRUE(caller(&Stub::ListClusters, v1::ListClustersRequest(), clusters).ok());
  EXPECT_EQ(clusters.clusters_size(), 1);

  v1::CreatePlanRequest request;
  request.set_graph_reference(graph.graph().name());
  request.set_cluster_reference(cluster.cluster().name());
  v1::Plan by_digest;
  ASSERT_TRUE(caller.CreatePlan(request, by_digest).ok());
  EXPECT_EQ(by_digest.graph_digest(), by_message.graph_digest());
  EXPECT_EQ(by_digest.objective_ms(), by_message.objective_ms());

  v1::GetGraphRequest get;
  get.set_name(graph.graph().name());
  v1::GetGraphResponse got;
  ASSERT_TRUE(caller(&Stub::GetGraph, get, got).ok());
  EXPECT_EQ(got.graph().operators_size(), 2);
  // From now on by its bytes.
  ASSERT_TRUE(caller.CreatePlan(request, by_digest).ok());
  v1::DeleteGraphRequest deletion;
  deletion.set_name(graph.graph().name());
  v1::DeleteGraphResponse deleted;
  // Somebody else's deletion of what only we have is nothing to us.
  EXPECT_EQ(Caller(address_, "b")(&Stub::DeleteGraph, deletion, deleted).error_code(), grpc::StatusCode::NOT_FOUND);
  ASSERT_TRUE(caller.CreatePlan(request, by_digest).ok());
  ASSERT_TRUE(caller(&Stub::DeleteGraph, deletion, deleted).ok());
  EXPECT_EQ(caller.CreatePlan(request, by_digest).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_P(StoringTest, SaysWhatIsWrongWithAStreamedGraph) {
  Caller caller(address_);
  const auto error_of = [&caller](const std::vector<v1::RegisterGraphRequest>& messages) {
    v1::RegisterGraphResponse response;
    const grpc::Status status = caller.RegisterGraph(messages, response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  std::vector<v1::RegisterGraphRequest> messages = Fragments();
  EXPECT_THAT(error_of({}), HasSubstr("header: must be in the first message"));
  EXPECT_THAT(error_of({messages[1]}), HasSubstr("header: must be in the first message"));
  EXPECT_THAT(error_of({messages[0]}), HasSubstr("fragment: must be set"));
  EXPECT_THAT(error_of({messages[0], messages[1], messages[0]}), HasSubstr("in the first message only"));
  EXPECT_THAT(error_of(Fragments("0123")), HasSubstr("header.expected_digest: must be "));
  messages.push_back(messages[1]);
  EXPECT_THAT(error_of(messages), HasSubstr("graph.operators[2].name"));
}

TEST_P(StoringTest, BoundsTheStreamsThatClientsKeepOpen) {
  const auto stub = v1::PlanningService::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  struct Open {
    grpc::ClientContext context;
    v1::RegisterGraphResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::RegisterGraphRequest>> writer;
  };
  std::vector<std::unique_ptr<Open>> streams;
  for (int i = 0; i < 100; ++i) {
    Open& open = *streams.emplace_back(std::make_unique<Open>());
    open.writer = stub->RegisterGraph(&open.context, &open.response);
    open.writer->Write(Fragments()[0]);
  }
  Caller caller(address_);
  v1::RegisterGraphResponse response;
  // The last of them may be on their way.
  grpc::Status refused = caller.RegisterGraph(Fragments(), response);
  for (int i = 0; i < 600 && refused.ok(); ++i) refused = caller.RegisterGraph(Fragments(), response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(refused).has_value());
  for (const auto& open : streams) {
    open->context.TryCancel();
    open->writer->Finish();
  }
  grpc::Status taken = caller.RegisterGraph(Fragments(), response);
  for (int i = 0; i < 600 && !taken.ok(); ++i) taken = caller.RegisterGraph(Fragments(), response);
  EXPECT_TRUE(taken.ok()) << taken.error_message();
}

TEST_P(StoringTest, SaysWhatIsWrongWithNamesAndPages) {
  Caller caller(address_);
  v1::Plan plan;
  EXPECT_THAT(caller.CreatePlan(StoredRequest("My plan!"), plan).error_message(),
              HasSubstr("plan_id: must be 4 to 63"));
  EXPECT_THAT(caller.GetPlan("my-plan", plan).error_message(), HasSubstr("name: must be \"plans/{id}\""));
  ASSERT_TRUE(caller.CreatePlan(StoredRequest("plan-a"), plan).ok());
  ASSERT_TRUE(caller.CreatePlan(StoredRequest("plan-b"), plan).ok());
  v1::ListPlansRequest request;
  request.set_page_size(1);
  v1::ListPlansResponse page;
  ASSERT_TRUE(caller(&Stub::ListPlans, request, page).ok());
  v1::ListGraphsRequest other;
  other.set_page_token(page.next_page_token());
  v1::ListGraphsResponse graphs;
  EXPECT_THAT(caller(&Stub::ListGraphs, other, graphs).error_message(),
              HasSubstr("page_token: is not a token of this list"));
  request.set_page_size(-1);
  EXPECT_THAT(caller(&Stub::ListPlans, request, page).error_message(), HasSubstr("page_size: must be >= 0"));
}

TEST_P(StoringTest, KeepsToTheQuota) {
  Start({"--max_stored_items=1"});
  Caller caller(address_);
  v1::Plan plan;
  ASSERT_TRUE(caller.CreatePlan(StoredRequest("plan-a"), plan).ok());
  const grpc::Status full = caller.CreatePlan(StoredRequest("plan-b"), plan);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(full), "LIMIT_EXCEEDED");
  EXPECT_TRUE(caller.CreatePlan(SmallRequest(), plan).ok());
}

TEST_P(StoringTest, StoringTwiceIsStoringOnce) {
  Caller caller(address_);
  v1::CreatePlanRequest request = SmallRequest();
  request.set_store(true);
  v1::Plan first;
  v1::Plan again;
  ASSERT_TRUE(caller.CreatePlan(request, first).ok());
  ASSERT_TRUE(caller.CreatePlan(request, again).ok());
  EXPECT_EQ(again.name(), first.name());
  request.set_skip_cache(true);
  ASSERT_TRUE(caller.CreatePlan(request, first).ok());
  ASSERT_TRUE(caller.CreatePlan(request, again).ok());
  EXPECT_EQ(again.name(), first.name());
  // A search with other limits is another one.
  request.set_skip_cache(false);
  request.mutable_options()->mutable_time_limit()->set_seconds(7);
  ASSERT_TRUE(caller.CreatePlan(request, again).ok());
  v1::ListPlansResponse plans;
  ASSERT_TRUE(caller(&Stub::ListPlans, v1::ListPlansRequest(), plans).ok());
  EXPECT_EQ(plans.plans_size(), 3);
}

// A hard search that is asked for on a thread of its own.
struct Asking {
  Asking(const std::string& address, int time_limit_s)
      : caller([this, address, time_limit_s] {
          v1::CreatePlanRequest request = HardRequest();
          request.mutable_options()->mutable_time_limit()->set_seconds(time_limit_s);
          status = Caller(address).CreatePlan(request, plan);
        }) {}

  // What came back; waits for it.
  const v1::Plan& Answer() {
    if (caller.joinable()) caller.join();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return plan;
  }

  v1::Plan plan;
  grpc::Status status;
  // Last: writes the above.
  std::jthread caller;
};

// Two servers of one store that are asked for the same, one after the other.
class SharedSearchTest : public StoringTest {
 protected:
  void AskBoth(int time_limit_s) {
    other_ = std::make_unique<DaemonProcess>(std::vector<std::string>{store(), "--drain_timeout=1s"});
    const std::string other_address = other_->address();
    here_ = std::make_unique<Asking>(address_, time_limit_s);
    EXPECT_FALSE(daemon_->WaitForLog("search started").empty());
    there_ = std::make_unique<Asking>(other_address, time_limit_s);
  }
  bool OtherSearches() { return other_->log_text().find("search started") != std::string::npos; }

  std::unique_ptr<DaemonProcess> other_;
  std::unique_ptr<Asking> here_;
  std::unique_ptr<Asking> there_;
};

TEST_P(SharedSearchTest, ServersOfOneStoreSearchOnce) {
  AskBoth(2);
  EXPECT_FALSE(here_->Answer().provenance().cached());
  EXPECT_TRUE(there_->Answer().provenance().cached());
  EXPECT_EQ(here_->plan.objective_ms(), there_->plan.objective_ms());
  EXPECT_FALSE(OtherSearches());
}

TEST_P(SharedSearchTest, ASearchOfADeadServerIsTakenOver) {
  AskBoth(20);
  // Not before the other one has asked and waits.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(OtherSearches());
  daemon_->Signal(SIGKILL);
  EXPECT_FALSE(other_->WaitForLog("search started").empty());
  // What follows is a search like any other.
  other_->Signal(SIGTERM);
  EXPECT_FALSE(there_->Answer().provenance().cached());
  here_->caller.join();
  EXPECT_EQ(here_->status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, SharedSearchTest, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgresql, SharedSearchTest, testing::Values("postgresql"));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoringTest, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgresql, StoringTest, testing::Values("postgresql"));

}  // namespace
}  // namespace planwright
