// Asks a planwrightd for a plan of BERT-large on four accelerators, and prints which device holds how many operators.
//
//   build/release/bin/planwright_example [HOST:PORT]    # built with the tests
#include <chrono>
#include <iostream>

#include "client/library/remote_planning_client.h"

int main(int argc, char** argv) {
  namespace v1 = planwright::v1;
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-large");
  request.set_cluster_reference("zoo:pcie:4");
  request.mutable_options()->mutable_time_limit()->set_seconds(10);

  planwright::client::RemotePlanningClient client({.address = argc > 1 ? argv[1] : "127.0.0.1:50051"});
  planwright::client::CallOptions call;
  call.deadline = planwright::client::DeadlineFor(std::chrono::seconds(10));
  const auto response = client.CreatePlan(request, call);
  if (!response.ok()) {
    std::cerr << response.status() << "\n";
    return 1;
  }
  const v1::Plan& plan = response->plan();
  std::cout << plan.objective_ms() << " ms per micro-batch, at least " << plan.lower_bound_ms() << " ms\n";
  for (const v1::Stage& stage : plan.stages()) {
    std::cout << "  " << stage.replicas(0).device() << ": " << stage.operators_size() << " operators\n";
  }
}
