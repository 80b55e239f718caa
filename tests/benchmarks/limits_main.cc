// planwright_limits_benchmark: how late searches end after their time limit, and after they were cancelled
// (docs/benchmarks.md).
//
// Draws searches at random (limit_searches.h). Each runs once in this process, with a time limit or with a stop request
// at a random moment. Lateness is measured on the clock and, because a busy machine is late by itself, in processor
// time of the searching thread.
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/planner/planner.h"
#include "tests/benchmarks/limit_searches.h"
#include "tests/benchmarks/program.h"
#include "tests/benchmarks/table.h"

ABSL_FLAG(int, cases, 1600, "searches of each kind");
ABSL_FLAG(int, seed, 1, "which searches");
ABSL_FLAG(int, only, -1, "run this case alone");
ABSL_FLAG(int, threads, 1, "threads of each search");
ABSL_FLAG(std::string, kind, "", "\"limited\" or \"cancelled\" alone");
ABSL_FLAG(std::string, family, "", "\"joint\", or \"others\": all but joint searches; default: both");
ABSL_FLAG(int, worst, 15, "how many of the worst searches are named");
ABSL_FLAG(double, stacks_ms, 0, "write the stack of every search that is so late, in ms; 0: none");

namespace planwright::benchmarks {
namespace {

using Clock = SolveLimits::Clock;

constexpr std::chrono::milliseconds kTimeLimit(50);
constexpr int64_t kLatestCancellationMs = 300;

double ProcessorMs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void WriteStack(int /*signal*/) {
  std::array<void*, 64> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

// Waits beside a search for the moment from which on it is late.
class Watch {
 public:
  // REQUIRES: called on the thread of the search.
  Watch(Clock::time_point late_from, std::stop_source* stop) : late_from_(late_from), stop_(stop) {
    pthread_getcpuclockid(pthread_self(), &processor_);
    searcher_ = pthread_self();
    thread_ = std::thread([this] { Run(); });
  }
  ~Watch() { End(); }

  // Processor time of the search since it is late; 0 when it is not.
  double End() {
    if (!thread_.joinable()) return late_ms_;
    const double now_ms = ProcessorMs(processor_);
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
    }
    ended_.notify_one();
    thread_.join();
    late_ms_ = start_ms_.has_value() ? now_ms - *start_ms_ : 0;
    return late_ms_;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    const auto has_ended = [this] { return has_ended_; };
    if (ended_.wait_until(lock, late_from_, has_ended)) return;
    if (stop_ != nullptr) stop_->request_stop();
    start_ms_ = ProcessorMs(processor_);
    const double patience_ms = absl::GetFlag(FLAGS_stacks_ms);
    if (patience_ms <= 0) return;
    for (int i = 0; i < 3; ++i) {
      if (ended_.wait_for(lock, std::chrono::duration<double, std::milli>(patience_ms), has_ended)) return;
      std::cerr << "--- late by " << patience_ms * (i + 1) << " ms, processor " << ProcessorMs(processor_) - *start_ms_
                << '\n';
      pthread_kill(searcher_, SIGUSR1);
    }
  }

  const Clock::time_point late_from_;
  std::stop_source* const stop_;
  clockid_t processor_{};
  pthread_t searcher_{};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::optional<double> start_ms_;
  double late_ms_ = 0;
  std::thread thread_;
};

struct Lateness {
  std::string algorithm;
  std::string name;
  double wall_ms = 0;
  double processor_ms = 0;
};

// The value that `share` of the ascending ones do not exceed.
double Quantile(const std::vector<double>& ascending, double share) {
  const auto rank = static_cast<std::size_t>(std::lround(share * static_cast<double>(ascending.size() - 1)));
  return ascending[rank];
}

void AddRow(std::string name, const std::vector<const Lateness*>& rows, Table& table) {
  std::vector<double> wall;
  std::vector<double> processor;
  for (const Lateness* row : rows) {
    wall.push_back(row->wall_ms);
    processor.push_back(row->processor_ms);
  }
  std::sort(wall.begin(), wall.end());
  std::sort(processor.begin(), processor.end());
  const auto above = [&](double limit) {
    return absl::StrCat(wall.end() - std::upper_bound(wall.begin(), wall.end(), limit));
  };
  table.AddRow({std::move(name), absl::StrCat(rows.size()), Fixed(Quantile(wall, 0.5), 1),
                Fixed(Quantile(wall, 0.95), 1), Fixed(Quantile(wall, 0.99), 1), Fixed(wall.back(), 1), above(25),
                above(100), Fixed(Quantile(processor, 0.99), 1), Fixed(processor.back(), 1)});
}

void Report(std::vector<Lateness>& rows) {
  Table table({{"late by, ms", 20},
               {"searches", 8},
               {"p50", 8},
               {"p95", 8},
               {"p99", 8},
               {"max", 8},
               {"> 25", 5},
               {"> 100", 5},
               {"CPU p99", 8},
               {"CPU max", 8}},
              std::cout);
  std::map<std::string, std::vector<const Lateness*>> by_algorithm;
  std::vector<const Lateness*> all;
  for (const Lateness& row : rows) {
    by_algorithm[row.algorithm].push_back(&row);
    all.push_back(&row);
  }
  for (const auto& [algorithm, of_algorithm] : by_algorithm) AddRow(algorithm, of_algorithm, table);
  AddRow("all", all, table);
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.wall_ms > b.wall_ms; });
  const auto count = std::min(rows.size(), static_cast<std::size_t>(absl::GetFlag(FLAGS_worst)));
  std::cout << "\nWorst, on the clock and of the processor:\n";
  for (std::size_t i = 0; i < count; ++i) {
    std::cout << absl::StrFormat("%9.1f %9.1f  %s\n", rows[i].wall_ms, rows[i].processor_ms, rows[i].name);
  }
}

class Benchmark {
 public:
  void Run(bool is_cancelled, bool is_joint) {
    std::vector<Lateness> rows;
    const int only = absl::GetFlag(FLAGS_only);
    const int cases = absl::GetFlag(FLAGS_cases);
    for (int i = 0; i < cases || only >= cases; ++i) {
      if (only >= 0 && i != only) continue;
      if (std::optional<Lateness> row = RunCase(i, is_cancelled, is_joint); row.has_value()) {
        rows.push_back(*std::move(row));
      }
      if (i == only) break;
    }
    std::cout << "\n"
              << (is_joint ? "Joint searches" : "Searches")
              << (is_cancelled ? ", cancelled at a random moment\n\n" : ", time limit of 50 ms\n\n");
    if (!rows.empty()) Report(rows);
  }

 private:
  // nullopt: not selected, or it was over before it could be late.
  std::optional<Lateness> RunCase(int number, bool is_cancelled, bool is_joint) {
    RandomStream random(static_cast<uint64_t>(absl::GetFlag(FLAGS_seed)), static_cast<uint64_t>(number));
    const LimitSearch search = is_joint ? searches_.DrawJoint(random) : searches_.Draw(random);
    Lateness row{search.group, absl::StrCat("case ", number, " ", search.name)};
    if (!IsSelected(row.name)) return std::nullopt;
    const std::chrono::milliseconds until =
        is_cancelled ? std::chrono::milliseconds(random.Below(kLatestCancellationMs)) : kTimeLimit;
    if (!Measure(search.request(), until, is_cancelled, row)) return std::nullopt;
    return row;
  }

  static bool Measure(const PlanRequest& request, std::chrono::milliseconds until, bool is_cancelled, Lateness& row) {
    TaskArena arena(absl::GetFlag(FLAGS_threads));
    PlannerObserver observer;
    std::stop_source stop;
    SolveLimits limits;
    limits.stop = stop.get_token();
    const Clock::time_point end = Clock::now() + until;
    if (!is_cancelled) limits.deadline = end;
    if (absl::GetFlag(FLAGS_stacks_ms) > 0) std::cerr << "=== " << row.name << '\n';
    Watch watch(end, is_cancelled ? &stop : nullptr);
    const absl::StatusOr<Plan> plan = MakePlan(request, ModelLimits(), limits, arena, observer);
    const std::chrono::duration<double, std::milli> late = Clock::now() - end;
    row.processor_ms = watch.End();
    row.wall_ms = std::max(0.0, late.count());
    row.name +=
        ": " + (plan.ok() ? "a plan of " + plan->provenance.algorithm : absl::StatusCodeToString(plan.status().code()));
    return !is_cancelled || late.count() > 0;
  }

  LimitSearches searches_;
};

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  planwright::benchmarks::ParseFlags(argc, argv, "limits_main",
                                     "measures how late searches end after a time limit or a cancellation");
  signal(SIGUSR1, planwright::benchmarks::WriteStack);
  planwright::benchmarks::Benchmark benchmark;
  const std::string kind = absl::GetFlag(FLAGS_kind);
  const std::string family = absl::GetFlag(FLAGS_family);
  for (const bool is_joint : {false, true}) {
    if (!family.empty() && is_joint != (family == "joint")) continue;
    if (kind != "cancelled") benchmark.Run(false, is_joint);
    if (kind != "limited") benchmark.Run(true, is_joint);
  }
  return 0;
}
