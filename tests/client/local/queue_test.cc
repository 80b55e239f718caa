// A scheduler's day: 20 jobs on one cluster of 64 devices, each on the fewest free ones that meet its target.
//
// The cluster is one of the zoo, so its description is read once and never sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/library/error_details.h"
#include "client/local/local_planning_client.h"

namespace planwright::client {
namespace {

// Eight nodes of eight devices in one flat network.
constexpr char kCluster[] = "zoo:nodes:8?devices=8&inside_gb=24&between_us=5";

struct Job {
  std::string graph;
  // Of its target, over the time on one device.
  double speed_up = 1;
};

std::vector<Job> TwentyJobs() {
  const std::vector<std::string> graphs = {"zoo:bert-base", "zoo:bert-large", "zoo:gpt-350m"};
  const std::vector<double> speed_ups = {1, 1.9, 4.5, 2.7, 5.5};
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < 20; ++i) jobs.push_back({graphs[i % graphs.size()], speed_ups[i % speed_ups.size()]});
  return jobs;
}

class Scheduler {
 public:
  Scheduler() {
    v1::GetClusterRequest request;
    request.set_name(kCluster);
    const auto response = client_.GetCluster(request, CallOptions());
    EXPECT_TRUE(response.ok()) << response.status();
    for (const v1::Device& device : response->cluster().devices()) host_of_[device.name()] = device.host();
    EXPECT_EQ(host_of_.size(), 64U);
  }

  // Runs `job` on the fewest free devices; while there are none that meet its target, the oldest job ends first.
  void Start(const Job& job) {
    const double target_ms = TimeOnOneDevice(job.graph) / job.speed_up;
    while (true) {
      const auto plan = Ask(job.graph, target_ms);
      if (plan.ok()) return Take(job.graph, target_ms, plan->plan());
      ASSERT_EQ(ErrorDetailsOf(plan.status()).reason, "INFEASIBLE") << plan.status();
      ASSERT_FALSE(running_.empty()) << plan.status();
      for (const std::string& device : running_.front()) used_.erase(device);
      running_.pop_front();
      ++waits;
    }
  }

  int waits = 0;
  std::size_t most_used = 0;

 private:
  static v1::CreatePlanRequest RequestFor(const std::string& graph) {
    v1::CreatePlanRequest request;
    request.set_graph_reference(graph);
    request.set_cluster_reference(kCluster);
    return request;
  }

  double TimeOnOneDevice(const std::string& graph) {
    if (!times_.contains(graph)) {
      v1::CreatePlanRequest request = RequestFor(graph);
      request.mutable_problem()->mutable_devices_to_use()->set_max_devices(1);
      const auto response = client_.CreatePlan(request, CallOptions());
      EXPECT_TRUE(response.ok()) << response.status();
      times_[graph] = response->plan().objective_ms();
    }
    return times_[graph];
  }

  absl::StatusOr<v1::CreatePlanResponse> Ask(const std::string& graph, double target_ms) {
    v1::CreatePlanRequest request = RequestFor(graph);
    request.mutable_problem()->set_objective(v1::OBJECTIVE_MIN_DEVICES);
    request.mutable_problem()->set_target_period_ms(target_ms);
    std::set<std::string> free_hosts;
    for (const auto& [device, host] : host_of_) {
      if (!used_.contains(device)) free_hosts.insert(host);
    }
    v1::DeviceSelection& selection = *request.mutable_problem()->mutable_devices_to_use();
    selection.mutable_hosts()->Add(free_hosts.begin(), free_hosts.end());
    selection.mutable_excluded_devices()->Add(used_.begin(), used_.end());
    return client_.CreatePlan(request, CallOptions());
  }

  void Take(const std::string& graph, double target_ms, const v1::Plan& plan) {
    EXPECT_LE(plan.objective_ms(), target_ms);
    EXPECT_TRUE(plan.provenance().proven_optimal()) << graph << " in " << target_ms << " ms";
    Verify(graph, plan);
    std::vector<std::string> taken;
    for (const v1::Stage& stage : plan.stages()) taken.push_back(stage.replicas(0).device());
    for (const std::string& device : taken) EXPECT_TRUE(used_.insert(device).second) << device << " was not free";
    EXPECT_EQ(static_cast<int64_t>(taken.size()), plan.provenance().counters().at("devices_used"));
    most_used = std::max(most_used, used_.size());
    running_.push_back(std::move(taken));
  }

  void Verify(const std::string& graph, const v1::Plan& plan) {
    v1::EvaluatePlanRequest request;
    request.set_graph_reference(graph);
    request.set_cluster_reference(kCluster);
    *request.mutable_plan() = plan;
    const auto response = client_.EvaluatePlan(request, CallOptions());
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_TRUE(response->valid()) << response->violations(0).field() << ": " << response->violations(0).description();
  }

  LocalPlanningClient client_{server::EngineConfig()};
  std::map<std::string, std::string> host_of_;
  std::map<std::string, double> times_;
  std::set<std::string> used_;
  // The devices of each job, the oldest first.
  std::deque<std::vector<std::string>> running_;
};

TEST(QueueTest, TwentyJobsShareACluster) {
  Scheduler scheduler;
  for (const Job& job : TwentyJobs()) scheduler.Start(job);
  EXPECT_GT(scheduler.most_used, 48U);
  EXPECT_GT(scheduler.waits, 0);
}

}  // namespace
}  // namespace planwright::client
