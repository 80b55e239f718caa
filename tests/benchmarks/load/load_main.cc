// planwright_load_benchmark: what answers from the cache cost beside an echo of the same size, idle and on a busy
// machine, what a server does that is asked for ten times as much as it can, or for everything at once, and how soon it
// answers after a restart (docs/benchmarks.md). Exits with 1 where a call of the mixed load was lost.
//
// Server and clients share this process and the loopback interface; authentication and access log are on.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <latch>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/library/remote_planning_client.h"
#include "echo.pb.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "server/serving/admission/resources.h"
#include "tests/benchmarks/load/mixed_load.h"
#include "tests/benchmarks/load/raw_client.h"
#include "tests/benchmarks/load/test_server.h"
#include "tests/benchmarks/table.h"
#include "tests/support/lattices.h"

ABSL_FLAG(int, rounds, 500, "calls of each kind");
ABSL_FLAG(double, seconds, 5, "of overload, and of mixed load");
ABSL_FLAG(double, rate, 100, "calls a second of mixed load");

namespace planwright::benchmarks {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr char kCreatePlan[] = "/planwright.v1.PlanningService/CreatePlan";
constexpr char kEcho[] = "/planwright.benchmarks.EchoService/Echo";
constexpr char kEchoRequest[] = "/planwright.benchmarks.EchoService/EchoPlanRequest";

std::string Milliseconds(double value) { return absl::StrFormat("%.3f", value); }

grpc::ByteBuffer MustCall(RawClient& client, const std::string& method, const grpc::ByteBuffer& request) {
  const CallResult result = client.Call(method, request);
  if (result.code != grpc::StatusCode::OK) throw std::runtime_error(absl::StrCat(method, ": code ", result.code));
  return result.reply;
}

// ---- Answers from the cache

v1::CreatePlanRequest ByReference(const std::string& graph) {
  v1::CreatePlanRequest request;
  request.set_graph_reference(graph);
  request.set_cluster_reference("zoo:pcie:8");
  return request;
}

v1::CreatePlanRequest SpelledOut(RawClient& client, const std::string& name) {
  v1::GetGraphRequest get;
  get.set_name(name);
  v1::GetGraphResponse got;
  const grpc::ByteBuffer reply = MustCall(client, "/planwright.v1.PlanningService/GetGraph", Encode(get));
  grpc::Slice slice;
  if (!reply.DumpToSingleSlice(&slice).ok() || !got.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    throw std::runtime_error("no graph came");
  }
  v1::CreatePlanRequest request = ByReference(name);
  *request.mutable_graph() = got.graph();
  return request;
}

grpc::ByteBuffer EchoOf(std::size_t request_bytes, std::size_t reply_bytes) {
  EchoRequest request;
  request.set_payload(std::string(request_bytes, 'x'));
  request.set_reply_bytes(static_cast<int64_t>(reply_bytes));
  return Encode(request);
}

// The same by the digests of graph and cluster, which are registered for that.
v1::CreatePlanRequest ByDigest(const std::string& address, const v1::CreatePlanRequest& full) {
  client::RemotePlanningClient registrar({.address = address, .token = TestServer::token()});
  const client::CallOptions options;
  v1::GetClusterRequest get;
  get.set_name(full.cluster_reference());
  v1::RegisterClusterRequest registration;
  *registration.mutable_cluster() = registrar.GetCluster(get, options).value().cluster();
  v1::CreatePlanRequest request;
  request.set_graph_reference(registrar.store()->RegisterGraph(full.graph(), options).value().graph().name());
  request.set_cluster_reference(registrar.store()->RegisterCluster(registration, options).value().cluster().name());
  return request;
}

// One kind of call, against the echo that it is compared with; they take turns. `target`: of both ratios; 0: none.
// Returns the p99 of the calls.
double Compare(RawClient& client, const std::string& title, const grpc::ByteBuffer& request,
               const std::string& yardstick, const grpc::ByteBuffer& echo, double target, Table& table) {
  std::vector<double> cached;
  std::vector<double> echoed;
  const std::size_t reply_bytes = MustCall(client, kCreatePlan, request).Length();
  MustCall(client, kCreatePlan, request);
  for (int i = 0; i < absl::GetFlag(FLAGS_rounds); ++i) {
    cached.push_back(client.Call(kCreatePlan, request).milliseconds);
    echoed.push_back(client.Call(yardstick, echo).milliseconds);
  }
  const auto ratio = [&](double share) { return Percentile(cached, share) / Percentile(echoed, share); };
  table.AddRow({title, absl::StrCat(request.Length()), absl::StrCat(reply_bytes), Milliseconds(Percentile(cached, 0.5)),
                Milliseconds(Percentile(echoed, 0.5)), absl::StrFormat("%.2f", ratio(0.5)),
                Milliseconds(Percentile(cached, 0.99)), Milliseconds(Percentile(echoed, 0.99)),
                absl::StrFormat("%.2f", ratio(0.99)), target == 0 ? "" : absl::StrFormat("<= %.0f", target)});
  return Percentile(cached, 0.99);
}

// Searches that keep every core busy while they live, where the server runs one for each core.
class Searches {
 public:
  explicit Searches(RawClient& client) {
    const Lattice lattice = MakeLattice("tow_9x12_hi").value();
    for (int seed = 1; seed <= count_; ++seed) {
      v1::CreatePlanRequest request;
      *request.mutable_graph() = server::EncodeGraph(lattice.graph);
      *request.mutable_cluster() = server::EncodeCluster(lattice.cluster);
      request.mutable_options()->set_seed(seed);
      request.mutable_options()->mutable_time_limit()->set_seconds(kSeconds);
      client.Start(kCreatePlan, Encode(request), std::chrono::minutes(2),
                   [this](const CallResult&) { done_.count_down(); });
    }
  }
  // Waits for their ends.
  ~Searches() { done_.wait(); }
  Searches(const Searches&) = delete;
  Searches& operator=(const Searches&) = delete;

 private:
  static constexpr int kSeconds = 10;
  const int count_ = server::AvailableCpus();
  std::latch done_{count_};
};

void MeasureCache() {
  const TemporaryFolder folder;
  TestServer server({.max_running = server::AvailableCpus(), .store = folder.SqliteStore()});
  RawClient client(server.address(), TestServer::token());
  const v1::CreatePlanRequest large = SpelledOut(client, "zoo:transformer?layers=460&hidden=64&heads=4&vocab=1000");
  const v1::CreatePlanRequest full = SpelledOut(client, "zoo:bert-large");
  const grpc::ByteBuffer by_digest = Encode(ByDigest(server.address(), full));
  const grpc::ByteBuffer by_name = Encode(ByReference("zoo:bert-large"));
  const std::size_t plan_bytes = MustCall(client, kCreatePlan, by_digest).Length();
  const auto echo_of = [&](const grpc::ByteBuffer& request) { return EchoOf(request.Length(), plan_bytes); };
  std::cout << "cached CreatePlan beside an echo on the same server, ms\n\n";
  Table table({{"request", 36},
               {"bytes", 9},
               {"reply", 7},
               {"p50", 7},
               {"echo", 7},
               {"ratio", 6},
               {"p99", 7},
               {"echo", 7},
               {"ratio", 6},
               {"target", 6}},
              std::cout);
  const double idle = Compare(client, "bert-large by digest", by_digest, kEcho, echo_of(by_digest), 2, table);
  Compare(client, "bert-large by name", by_name, kEcho, echo_of(by_name), 2, table);
  Compare(client, "bert-large in full", Encode(full), kEchoRequest, Encode(full), 3, table);
  Compare(client, "460 layers in full", Encode(large), kEchoRequest, Encode(large), 3, table);
  const Searches searches(client);
  std::this_thread::sleep_for(milliseconds(200));
  const double busy =
      Compare(client, "by digest, every core searching", by_digest, kEcho, echo_of(by_digest), 0, table);
  std::cout << absl::StrFormat("\nevery core searching: p99 %.2f times the idle one (target: at most 5)\n",
                               busy / idle);
}

// ---- Overload

// A search that ends by the clock after kSearchTime, different for each `seed`.
constexpr milliseconds kSearchTime{50};

grpc::ByteBuffer TimedSearch(const Lattice& lattice, int seed) {
  v1::CreatePlanRequest request;
  *request.mutable_graph() = server::EncodeGraph(lattice.graph);
  *request.mutable_cluster() = server::EncodeCluster(lattice.cluster);
  request.mutable_options()->set_seed(seed);
  request.mutable_options()->mutable_time_limit()->set_nanos(static_cast<int32_t>(kSearchTime.count()) * 1'000'000);
  return Encode(request);
}

// Plans a second that so many callers get who ask again as soon as they are answered.
double Capacity(RawClient& client, const Lattice& lattice, int callers, double seconds) {
  std::atomic<int> seed{1'000'000};
  std::atomic<int> answered{0};
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&] {
      while (Clock::now() < end) {
        if (client.Call(kCreatePlan, TimedSearch(lattice, ++seed)).code == grpc::StatusCode::OK) ++answered;
      }
    });
  }
  threads.clear();
  return answered / seconds;
}

struct Outcomes {
  std::mutex mutex;
  std::map<grpc::StatusCode, std::vector<double>> milliseconds_by_code;
};

// Sends `rate` requests a second, whatever becomes of them, and waits for all answers.
void Flood(RawClient& client, const Lattice& lattice, double rate, double seconds, milliseconds deadline,
           Outcomes& outcomes) {
  const auto count = static_cast<int>(rate * seconds);
  std::vector<grpc::ByteBuffer> requests;
  for (int i = 0; i < count; ++i) requests.push_back(TimedSearch(lattice, i + 1));
  std::latch answered(count);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_until(start +
                                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(i / rate)));
    client.Start(kCreatePlan, requests[static_cast<std::size_t>(i)], deadline, [&](const CallResult& result) {
      {
        const std::lock_guard lock(outcomes.mutex);
        outcomes.milliseconds_by_code[result.code].push_back(result.milliseconds);
      }
      answered.count_down();
    });
  }
  answered.wait();
}

// VmHWM of this process, clients included.
int64_t PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kibibytes = 0;
  while (status >> word) {
    if (word == "VmHWM:") status >> kibibytes;
  }
  return kibibytes * 1024;
}

void MeasureOverload() {
  const ServerSize size{.max_running = 2, .max_waiting = 8};
  TestServer server(size);
  RawClient client(server.address(), TestServer::token());
  const Lattice lattice = MakeLattice("tow_9x12_hi").value();
  const double seconds = absl::GetFlag(FLAGS_seconds);
  const milliseconds deadline{1000};
  // As many callers as are not refused: no worker waits for one.
  const double capacity = Capacity(client, lattice, size.max_running + size.max_waiting, seconds);
  Outcomes outcomes;
  Flood(client, lattice, 10 * capacity, seconds, deadline, outcomes);
  const std::vector<double>& accepted = outcomes.milliseconds_by_code[grpc::StatusCode::OK];
  const std::vector<double>& refused = outcomes.milliseconds_by_code[grpc::StatusCode::RESOURCE_EXHAUSTED];
  std::size_t sent = 0;
  for (const auto& [code, times] : outcomes.milliseconds_by_code) sent += times.size();
  const double goodput = static_cast<double>(accepted.size()) / seconds;
  std::cout << absl::StrFormat(
      "\noverload: searches of %d ms, deadline %d ms, max_running %d, max_waiting %d\n"
      "capacity %.1f plans/s; sent %.1f/s for %.0f s: %d\n"
      "accepted %d: goodput %.1f/s, %.0f %% of capacity (target: at least 80); p99 %.0f ms, max %.0f ms\n"
      "refused %d: p50 %.2f ms, p99 %.2f ms (target: at most 10)\n"
      "neither (missed their deadline or worse): %d (target: 0)\n"
      "peak resident memory, clients included: %.0f MiB; budget %.0f MiB\n",
      kSearchTime.count(), deadline.count(), size.max_running, size.max_waiting, capacity, 10 * capacity, seconds, sent,
      accepted.size(), goodput, 100 * goodput / capacity, Percentile(accepted, 0.99), Percentile(accepted, 1),
      refused.size(), Percentile(refused, 0.5), Percentile(refused, 0.99), sent - accepted.size() - refused.size(),
      static_cast<double>(PeakResidentBytes()) / (1 << 20), static_cast<double>(size.memory_budget_bytes) / (1 << 20));
}

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("measures answers from the cache and overload; see docs/benchmarks.md");
  absl::ParseCommandLine(argc, argv);
  planwright::benchmarks::MeasureCache();
  planwright::benchmarks::MeasureOverload();
  planwright::benchmarks::MeasureRestart();
  const double seconds = absl::GetFlag(FLAGS_seconds);
  return planwright::benchmarks::MeasureMixedLoad(absl::GetFlag(FLAGS_rate), seconds) == 0 ? 0 : 1;
}
