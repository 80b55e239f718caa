#include "core/partition/latency/latency_bounds.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "core/base/polling.h"
#include "core/graph/topological_order.h"
#include "core/partition/latency/latency_feasibility.h"
#include "core/partition/latency/latency_path.h"

namespace planwright {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::size_t At(int32_t value) { return static_cast<std::size_t>(value); }

class Bounds {
 public:
  Bounds(const LatencyInstance& instance, const SolveLimits& limits, Picoseconds enough)
      : instance_(instance),
        enough_(enough.count()),
        poller_(limits),
        order_(DepthFirstTopologicalOrder(instance.precedence, std::vector<int64_t>(instance.operators.size(), 0))) {
    FindLeastTimes();
    FindHeadsAndTails();
  }

  std::vector<Bound> Find() {
    std::vector<Bound> bounds;
    const auto add = [&](const char* method, int64_t value) {
      bounds.push_back({.value = Picoseconds(value), .method = method, .scope = BoundScope::kProblem});
    };
    add("accelerator_work", AcceleratorWork());
    add("critical_path", CriticalPath());
    if (std::max(bounds[0].value, bounds[1].value).count() >= enough_) return bounds;
    int64_t path_cut = 0;
    for (const std::vector<int32_t>& path : Paths()) {
      const std::optional<int64_t> bound = PathCutBound(instance_, order_, path, poller_);
      if (!bound.has_value()) return bounds;
      path_cut = std::max(path_cut, *bound);
      if (path_cut >= enough_) break;
    }
    add("path_cut", path_cut);
    return bounds;
  }

 private:
  // Finds the least times on accelerators, and anywhere.
  void FindLeastTimes() {
    accelerator_time_.assign(instance_.operators.size(), kNever);
    for (int32_t accelerator = 0; accelerator < instance_.num_accelerators(); ++accelerator) {
      const DevicePool& pool = instance_.pool_of(accelerator);
      for (std::size_t vertex = 0; vertex < accelerator_time_.size(); ++vertex) {
        if (!instance_.allowed[At(instance_.group_of[vertex])][At(accelerator)]) continue;
        accelerator_time_[vertex] = std::min(accelerator_time_[vertex], pool.time[vertex]);
      }
    }
    least_time_ = accelerator_time_;
    for (std::size_t vertex = 0; vertex < least_time_.size(); ++vertex) {
      if (MayBeOnCpu(vertex)) least_time_[vertex] = std::min(least_time_[vertex], instance_.cpu_time[vertex]);
    }
  }

  bool MayBeOnCpu(std::size_t vertex) const { return instance_.allowed_on_cpu[At(instance_.group_of[vertex])]; }

  // Longest paths before and behind every vertex, its own time left out.
  void FindHeadsAndTails() {
    head_.assign(instance_.operators.size(), 0);
    tail_.assign(instance_.operators.size(), 0);
    for (const int32_t vertex : order_) {
      for (const int32_t producer : instance_.precedence.predecessors(vertex)) {
        head_[At(vertex)] = std::max(head_[At(vertex)], head_[At(producer)] + least_time_[At(producer)]);
      }
    }
    for (auto vertex = order_.rbegin(); vertex != order_.rend(); ++vertex) {
      for (const int32_t consumer : instance_.precedence.successors(*vertex)) {
        tail_[At(*vertex)] = std::max(tail_[At(*vertex)], tail_[At(consumer)] + least_time_[At(consumer)]);
      }
    }
  }

  int64_t CriticalPath() const {
    int64_t longest = 0;
    for (std::size_t vertex = 0; vertex < head_.size(); ++vertex) {
      longest = std::max(longest, head_[vertex] + least_time_[vertex] + tail_[vertex]);
    }
    return longest;
  }

  // The vertices leave the CPUs in this order as T falls.
  int64_t AcceleratorWork() const {
    struct Barred {
      // The least T at which the vertex may be on a CPU.
      int64_t until;
      std::size_t vertex;
    };
    std::vector<Barred> barred;
    for (std::size_t vertex = 0; vertex < head_.size(); ++vertex) {
      const bool may_be = MayBeOnCpu(vertex);
      barred.push_back({may_be ? head_[vertex] + instance_.cpu_time[vertex] + tail_[vertex] : kNever, vertex});
    }
    std::sort(barred.begin(), barred.end(), [](const Barred& a, const Barred& b) { return a.until > b.until; });
    int64_t work = 0;
    int64_t head = kNever;
    int64_t tail = kNever;
    int64_t bound = 0;
    for (const Barred& entry : barred) {
      if (accelerator_time_[entry.vertex] == kNever) continue;
      work += accelerator_time_[entry.vertex];
      head = std::min(head, head_[entry.vertex]);
      tail = std::min(tail, tail_[entry.vertex]);
      // Any T below entry.until bars all vertices up to here.
      const int64_t needed = head + CeilDivide(work, instance_.num_accelerators()) + tail;
      bound = std::max(bound, std::min(needed, entry.until));
    }
    return bound;
  }

  // A path from a source to a sink of the greatest sum of `weight`.
  std::vector<int32_t> HeaviestPath(const std::function<double(int32_t)>& weight) const {
    std::vector<double> sum(order_.size(), 0);
    std::vector<int32_t> next(order_.size(), -1);
    int32_t first = order_.front();
    for (auto vertex = order_.rbegin(); vertex != order_.rend(); ++vertex) {
      for (const int32_t consumer : instance_.precedence.successors(*vertex)) {
        if (next[At(*vertex)] >= 0 && sum[At(consumer)] <= sum[At(next[At(*vertex)])]) continue;
        next[At(*vertex)] = consumer;
      }
      sum[At(*vertex)] = weight(*vertex) + (next[At(*vertex)] < 0 ? 0 : sum[At(next[At(*vertex)])]);
      if (sum[At(*vertex)] >= sum[At(first)]) first = *vertex;
    }
    std::vector<int32_t> path;
    for (int32_t vertex = first; vertex >= 0; vertex = next[At(vertex)]) path.push_back(vertex);
    return path;
  }

  // Paths that meet much time, memory or traffic, or many operators.
  std::vector<std::vector<int32_t>> Paths() const {
    std::vector<std::vector<int32_t>> paths;
    if (order_.empty()) return paths;
    const auto time = [&](int32_t vertex) { return static_cast<double>(least_time_[At(vertex)]); };
    const auto bytes = [&](int32_t vertex) {
      return static_cast<double>(LeastGroupBytes(instance_, instance_.group_of[At(vertex)]));
    };
    const auto traffic = [&](int32_t vertex) {
      double sum = 0;
      for (const int32_t tensor : instance_.tensors_of[At(vertex)]) {
        sum += static_cast<double>(instance_.tensors[At(tensor)].transfer);
      }
      return sum;
    };
    paths.push_back(HeaviestPath(time));
    paths.push_back(HeaviestPath(bytes));
    paths.push_back(HeaviestPath(traffic));
    paths.push_back(HeaviestPath([&](int32_t vertex) { return time(vertex) + traffic(vertex); }));
    paths.push_back(HeaviestPath([](int32_t) { return 1.0; }));
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    return paths;
  }

  const LatencyInstance& instance_;
  const int64_t enough_;
  Poller poller_;
  const std::vector<int32_t> order_;
  // By vertex; kNever: no accelerator may run it.
  std::vector<int64_t> accelerator_time_;
  std::vector<int64_t> least_time_;
  std::vector<int64_t> head_;
  std::vector<int64_t> tail_;
};

}  // namespace

std::vector<Bound> LatencyBounds(const LatencyInstance& instance, const SolveLimits& limits, Picoseconds enough) {
  return Bounds(instance, limits, enough).Find();
}

}  // namespace planwright
