// Training on machines whose devices are linked unevenly, through the real server.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/integration/caller.h"
#include "tests/integration/daemon_process.h"
#include "tests/support/wire.h"

namespace planwright {
namespace {

// Swin-L on four DGX-1 with the cube mesh, in steps of eight micro-batches.
constexpr char kTraining[] = R"pb(
  graph_reference: "zoo:swin-l"
  cluster_reference: "zoo:dgx1-mesh:4"
  problem { workload: WORKLOAD_TRAINING replication: REPLICATION_UNIFORM micro_batches: 8 }
  options { algorithm: ALGORITHM_PARMESAN work_limit: 400000 }
)pb";

std::set<std::string> DevicesOf(const v1::Stage& stage) {
  std::set<std::string> devices;
  for (const auto& replica : stage.replicas()) devices.insert(replica.device());
  return devices;
}

class ParmesanServingTest : public ::testing::Test {
 protected:
  v1::Plan MakePlan(const v1::CreatePlanRequest& request) {
    v1::Plan plan;
    const grpc::Status status = caller_.CreatePlan(request, plan);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return plan;
  }

  v1::EvaluatePlanResponse Evaluate(const v1::Plan& plan) {
    v1::EvaluatePlanRequest request;
    request.set_graph_reference("zoo:swin-l");
    request.set_cluster_reference("zoo:dgx1-mesh:4");
    *request.mutable_plan() = plan;
    v1::EvaluatePlanResponse response;
    const grpc::Status status = caller_(&Stub::EvaluatePlan, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  DaemonProcess daemon_;
  Caller caller_{daemon_.address()};
};

TEST_F(ParmesanServingTest, PlansSwinOnFourCubeMeshesAndVerifiesIt) {
  const v1::Plan plan = MakePlan(Wire<v1::CreatePlanRequest>(kTraining));
  ASSERT_GT(plan.stages_size(), 0);
  EXPECT_EQ(plan.provenance().algorithm(), "parmesan");
  EXPECT_GT(plan.estimate().step_time_ms(), 0);
  EXPECT_GT(plan.lower_bound_ms(), 0);
  EXPECT_LE(plan.lower_bound_ms(), plan.objective_ms());
  std::set<std::string> used;
  for (const v1::Stage& stage : plan.stages()) {
    EXPECT_EQ(stage.replicas_size(), plan.stages(0).replicas_size());
    const std::set<std::string> devices = DevicesOf(stage);
    for (const std::string& device : devices) EXPECT_TRUE(used.insert(device).second) << device;
    // A ring visits every replica once; one alone has none.
    const std::set<std::string> ring(stage.ring_order().begin(), stage.ring_order().end());
    EXPECT_EQ(ring, stage.replicas_size() > 1 ? devices : std::set<std::string>());
  }
  const v1::EvaluatePlanResponse evaluated = Evaluate(plan);
  EXPECT_TRUE(evaluated.valid()) << evaluated.ShortDebugString();
  EXPECT_EQ(evaluated.objective_ms(), plan.objective_ms());
}

TEST_F(ParmesanServingTest, MapsAGivenNumberOfStagesAndReplicasWithABoundOfItsOwn) {
  auto request = Wire<v1::CreatePlanRequest>(kTraining);
  request.mutable_problem()->set_num_stages(8);
  request.mutable_problem()->set_num_replicas(4);
  const v1::Plan plan = MakePlan(request);
  EXPECT_EQ(plan.stages_size(), 8);
  const auto of_mapping = std::ranges::find(plan.bounds(), v1::Bound::SCOPE_GIVEN_PARTITION, &v1::Bound::scope);
  ASSERT_NE(of_mapping, plan.bounds().end());
  EXPECT_LE(of_mapping->value_ms(), plan.objective_ms());
  EXPECT_TRUE(Evaluate(plan).valid());
}

// A ring of one replica is no ring: nothing is reduced, and nothing is said of an order.
TEST_F(ParmesanServingTest, OneReplicaHasNoRing) {
  auto request = Wire<v1::CreatePlanRequest>(kTraining);
  request.mutable_problem()->set_num_stages(4);
  request.mutable_problem()->set_num_replicas(1);
  const v1::Plan plan = MakePlan(request);
  ASSERT_EQ(plan.stages_size(), 4);
  for (const v1::Stage& stage : plan.stages()) {
    EXPECT_EQ(stage.ring_order_size(), 0);
    EXPECT_EQ(stage.allreduce_ms(), 0);
  }
  EXPECT_TRUE(Evaluate(plan).valid());
}

}  // namespace
}  // namespace planwright
