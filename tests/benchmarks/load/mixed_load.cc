#include "tests/benchmarks/load/mixed_load.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "server/serving/callers/caller.h"
#include "server/store/open_store.h"
#include "tests/benchmarks/load/raw_client.h"
#include "tests/benchmarks/load/test_server.h"
#include "tests/benchmarks/table.h"
#include "tests/support/lattices.h"

namespace planwright::benchmarks {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using grpc::StatusCode;

constexpr char kCreatePlanCall[] = "/planwright.v1.PlanningService/CreatePlan";
constexpr int64_t kMaxMessageBytes = int64_t{1} << 20;
constexpr int kStoredPlans = 10'000;
constexpr milliseconds kPatience{10'000};

// Calls that should all end in one of a few ways.
struct Kind {
  std::string name;
  std::set<StatusCode> expected;
  // The request of the n-th call.
  std::function<grpc::ByteBuffer(int)> request;
  // Each is cancelled when the next one is sent.
  bool is_cancelled = false;
  std::function<void()> cancel = [] {};
  int sent = 0;
  int lost = 0;
  int refused = 0;
  std::vector<double> times = {};
};

v1::CreatePlanRequest ZooRequest() {
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-base");
  request.set_cluster_reference("zoo:pcie:2");
  return request;
}

// A search of its own for each `seed`.
v1::CreatePlanRequest SearchOf(const v1::CreatePlanRequest& hard, int seed, milliseconds time) {
  v1::CreatePlanRequest request = hard;
  request.mutable_options()->set_seed(seed);
  request.mutable_options()->mutable_time_limit()->set_nanos(static_cast<int32_t>(time.count()) * 1'000'000);
  return request;
}

std::vector<Kind> Kinds() {
  const Lattice lattice = MakeLattice("tow_9x12_hi").value();
  v1::CreatePlanRequest hard;
  *hard.mutable_graph() = server::EncodeGraph(lattice.graph);
  *hard.mutable_cluster() = server::EncodeCluster(lattice.cluster);
  v1::CreatePlanRequest large = ZooRequest();
  large.mutable_graph()->set_display_name(std::string(kMaxMessageBytes + 1, 'x'));
  const std::string garbage(1000, '\xff');
  const grpc::Slice slice(garbage);
  const auto always = [](const grpc::ByteBuffer& bytes) { return [bytes](int) { return bytes; }; };
  return {{"cached", {StatusCode::OK}, always(Encode(ZooRequest()))},
          {"searched",
           {StatusCode::OK, StatusCode::RESOURCE_EXHAUSTED},
           [hard](int n) { return Encode(SearchOf(hard, n + 1, milliseconds(50))); }},
          {"cancelled",
           {StatusCode::CANCELLED, StatusCode::RESOURCE_EXHAUSTED},
           [hard](int n) { return Encode(SearchOf(hard, n + 1'000'000, milliseconds(900))); },
           /*is_cancelled=*/true},
          {"too large", {StatusCode::RESOURCE_EXHAUSTED}, always(Encode(large))},
          {"malformed", {StatusCode::INVALID_ARGUMENT}, always(grpc::ByteBuffer(&slice, 1))}};
}

// A request for the plan that is stored under `id`.
v1::CreatePlanRequest StoredRequest(const std::string& id) {
  v1::CreatePlanRequest request = ZooRequest();
  request.set_plan_id(id);
  return request;
}

// Has a server make a plan, and stores it under many names.
void FillStore(const std::string& store_name) {
  {
    TestServer server({.store = store_name});
    RawClient client(server.address(), TestServer::token());
    if (client.Call(kCreatePlanCall, Encode(StoredRequest("plan-0"))).code != StatusCode::OK) {
      throw std::runtime_error("the first plan cannot be stored");
    }
  }
  const auto store = server::OpenStore(store_name, /*migrate=*/false).value();
  server::Document plan = store->FindDocument(server::kDefaultTenant, server::DocumentKind::kPlan, "plan-0").value();
  for (int i = 1; i < kStoredPlans; ++i) {
    plan.id = absl::StrCat("plan-", i);
    const auto put = store->PutDocument(server::kDefaultTenant, server::DocumentKind::kPlan, plan, server::Quota());
    if (!put.ok()) throw std::runtime_error(put.status().ToString());
  }
}

}  // namespace

int MeasureMixedLoad(double rate, double seconds) {
  TestServer server({.max_running = 2, .max_waiting = 8, .max_message_bytes = kMaxMessageBytes});
  RawClient client(server.address(), TestServer::token());
  std::vector<Kind> kinds = Kinds();
  const auto count = static_cast<int>(rate * seconds);
  std::mutex mutex;
  std::latch answered(count);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < count; ++i) {
    Kind& kind = kinds[static_cast<std::size_t>(i) % kinds.size()];
    const grpc::ByteBuffer request = kind.request(kind.sent++);
    std::this_thread::sleep_until(start +
                                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(i / rate)));
    if (kind.is_cancelled) kind.cancel();
    kind.cancel = client.Start(kCreatePlanCall, request, kPatience, [&](const CallResult& result) {
      {
        const std::lock_guard lock(mutex);
        kind.times.push_back(result.milliseconds);
        if (!kind.expected.contains(result.code)) ++kind.lost;
        if (result.code == StatusCode::RESOURCE_EXHAUSTED) ++kind.refused;
      }
      answered.count_down();
    });
  }
  for (const Kind& kind : kinds) {
    if (kind.is_cancelled) kind.cancel();
  }
  answered.wait();
  std::cout << absl::StrFormat("\nmixed load, %.0f calls a second for %.0f s, ms\n\n", rate, seconds);
  Table table({{"calls", 10}, {"sent", 6}, {"ended", 6}, {"refused", 8}, {"lost", 5}, {"p50", 8}, {"p99", 8}},
              std::cout);
  int lost = 0;
  for (const Kind& kind : kinds) {
    table.AddRow({kind.name, absl::StrCat(kind.sent), absl::StrCat(kind.times.size()), absl::StrCat(kind.refused),
                  absl::StrCat(kind.lost), absl::StrFormat("%.2f", Percentile(kind.times, 0.5)),
                  absl::StrFormat("%.2f", Percentile(kind.times, 0.99))});
    lost += kind.lost;
  }
  return lost;
}

void MeasureRestart() {
  const TemporaryFolder folder;
  const std::string store = folder.SqliteStore();
  FillStore(store);
  const Clock::time_point start = Clock::now();
  TestServer server({.store = store});
  RawClient client(server.address(), TestServer::token());
  const CallResult first = client.Call(kCreatePlanCall, Encode(StoredRequest(absl::StrCat("plan-", kStoredPlans / 2))));
  const double elapsed = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  std::cout << absl::StrFormat("\nrestart with %d stored plans: %s after %.0f ms (target: 1000)\n", kStoredPlans,
                               first.code == StatusCode::OK ? "the first answer" : "AN ERROR", elapsed);
}

}  // namespace planwright::benchmarks
