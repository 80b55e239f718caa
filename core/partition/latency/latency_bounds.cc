#include "core/partition/latency/latency_bounds.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/graph/digraph.h"
#include "core/partition/latency/latency_feasibility.h"

namespace planwright {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A path is given up after so many steps: a second or so.
constexpr int64_t kMaxSteps = int64_t{1} << 28U;
// Steps of making a segment one vertex longer; adding it to one entry of the table is one.
constexpr int64_t kExtensionSteps = 16;
// Larger tables do not count segments.
constexpr int64_t kMaxEntries = int64_t{1} << 23U;

// Where the vertices are relative to the path v_0, v_1, ...
struct PathFrame {
  // By vertex x: the least m with x <= v_m (the length of the path: none), and the greatest m with v_m <= x (-1: none).
  std::vector<int32_t> first_after;
  std::vector<int32_t> last_before;
};

PathFrame FrameOf(const LatencyInstance& instance, const std::vector<int32_t>& order,
                  const std::vector<int32_t>& path) {
  PathFrame frame;
  const auto length = static_cast<int32_t>(path.size());
  frame.first_after.assign(instance.operators.size(), length);
  frame.last_before.assign(instance.operators.size(), -1);
  for (int32_t m = 0; m < length; ++m) {
    frame.first_after[Index(path[Index(m)])] = m;
    frame.last_before[Index(path[Index(m)])] = m;
  }
  for (const int32_t vertex : order) {
    for (const int32_t producer : instance.precedence.predecessors(vertex)) {
      frame.last_before[Index(vertex)] = std::max(frame.last_before[Index(vertex)], frame.last_before[Index(producer)]);
    }
  }
  for (auto vertex = order.rbegin(); vertex != order.rend(); ++vertex) {
    for (const int32_t consumer : instance.precedence.successors(*vertex)) {
      frame.first_after[Index(*vertex)] =
          std::min(frame.first_after[Index(*vertex)], frame.first_after[Index(consumer)]);
    }
  }
  return frame;
}

// Segments of the path that begin at one vertex, each one vertex longer than the one before.
class GrowingSegment {
 public:
  GrowingSegment(const LatencyInstance& instance, const std::vector<int32_t>& path, const PathFrame& frame)
      : instance_(instance), path_(path), frame_(frame), joins_at_(path.size()) {
    for (int32_t vertex = 0; vertex < instance.num_vertices(); ++vertex) {
      const int32_t first = frame.first_after[Index(vertex)];
      // Only what is between two vertices of the path is ever between the ends of a segment.
      if (Index(first) < path.size() && frame.last_before[Index(vertex)] >= 0)
        joins_at_[Index(first)].push_back(vertex);
    }
    group_begin_.assign(instance.groups.size(), -1);
    tensor_begin_.assign(instance.tensors.size(), -1);
    compute_.resize(instance.pools.size());
    leaves_at_.resize(path.size());
  }

  void Begin(int32_t begin) {
    begin_ = begin;
    std::fill(compute_.begin(), compute_.end(), 0);
    bytes_ = 0;
    incoming_ = 0;
    outgoing_ = 0;
    std::fill(leaves_at_.begin() + begin, leaves_at_.end(), 0);
    allowed_.assign(instance_.accelerators.size(), true);
  }

  // Makes v_end the last vertex. REQUIRES: it was v_(end - 1), or end == begin.
  void Extend(int32_t end) {
    // These transfers went to vertices >= v_end, which is inside now.
    if (end > begin_) outgoing_ -= leaves_at_[Index(end - 1)];
    for (const int32_t vertex : joins_at_[Index(end)]) {
      if (frame_.last_before[Index(vertex)] >= begin_) Join(vertex, end);
    }
  }

  // Least duration of a subgraph with the segment on any accelerator; kNever: none may hold it.
  int64_t LeastDuration() const {
    int64_t least = kNever;
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      const std::size_t pool = instance_.accelerators[i].pool;
      if (!allowed_[i] || bytes_ > instance_.pools[pool].memory_bytes.value_or(kNever)) continue;
      least = std::min(least, compute_[pool] + incoming_ + outgoing_);
    }
    return least;
  }

 private:
  void Join(int32_t vertex, int32_t end) {
    for (std::size_t i = 0; i < compute_.size(); ++i) compute_[i] += instance_.pools[i].time[Index(vertex)];
    const int32_t group = instance_.group_of[Index(vertex)];
    if (group_begin_[Index(group)] != begin_) {
      group_begin_[Index(group)] = begin_;
      bytes_ += LeastGroupBytes(instance_, group);
      for (std::size_t i = 0; i < allowed_.size(); ++i) allowed_[i] = allowed_[i] && instance_.allowed[Index(group)][i];
    }
    for (const int32_t position : instance_.tensors_of[Index(vertex)]) {
      const LatencyTensor& tensor = instance_.tensors[Index(position)];
      if (tensor.pins.front() == vertex) {
        Produce(tensor, end);
      } else if (frame_.first_after[Index(tensor.pins.front())] < begin_ && tensor_begin_[Index(position)] != begin_) {
        tensor_begin_[Index(position)] = begin_;
        incoming_ += tensor.transfer;
      }
    }
  }

  // The tensor leaves the segment while it ends before the last vertex of the path that is <= a consumer.
  void Produce(const LatencyTensor& tensor, int32_t end) {
    int32_t last = -1;
    for (std::size_t pin = 1; pin < tensor.pins.size(); ++pin) {
      last = std::max(last, frame_.last_before[Index(tensor.pins[pin])]);
    }
    if (last <= end) return;
    outgoing_ += tensor.transfer;
    leaves_at_[Index(last - 1)] += tensor.transfer;
  }

  const LatencyInstance& instance_;
  const std::vector<int32_t>& path_;
  const PathFrame& frame_;
  // By m: the vertices x with first_after(x) = m.
  std::vector<std::vector<int32_t>> joins_at_;
  // Begin of the last segment that the group joined, or that paid for the tensor to come in.
  std::vector<int32_t> group_begin_;
  std::vector<int32_t> tensor_begin_;

  int32_t begin_ = 0;
  // By class.
  std::vector<int64_t> compute_;
  int64_t bytes_ = 0;
  int64_t incoming_ = 0;
  int64_t outgoing_ = 0;
  // By end: transfers that go out for the last time when the segment ends there.
  std::vector<int64_t> leaves_at_;
  // By accelerator.
  std::vector<bool> allowed_;
};

// The dynamic program over (vertices of the path that are placed, segments).
class PathProgram {
 public:
  PathProgram(const LatencyInstance& instance, const std::vector<int32_t>& order, const std::vector<int32_t>& path,
              Poller& poller)
      : instance_(instance),
        path_(path),
        frame_(FrameOf(instance, order, path)),
        segment_(instance, path, frame_),
        poller_(poller) {}

  std::optional<int64_t> Run() {
    const auto length = static_cast<int64_t>(path_.size());
    ChooseLayers(length);
    best_.assign(static_cast<std::size_t>((length + 1) * num_layers_), kNever);
    best_.front() = 0;
    for (int32_t begin = 0; begin < length; ++begin) {
      PutOnCpu(begin);
      segment_.Begin(begin);
      const Pass pass = instance_.pass[Index(path_[Index(begin)])];
      for (int32_t end = begin; end < length && instance_.pass[Index(path_[Index(end)])] == pass; ++end) {
        if (poller_.ShouldStopNow()) return std::nullopt;
        steps_ += kExtensionSteps + num_layers_;
        if (steps_ > kMaxSteps) return 0;
        segment_.Extend(end);
        const int64_t duration = segment_.LeastDuration();
        // Longer segments hold more and may be on fewer accelerators.
        if (duration == kNever) break;
        Cut(begin, end, duration);
      }
    }
    const auto last = best_.end() - num_layers_;
    return *std::min_element(last, best_.end());
  }

 private:
  // With a segment for every vertex more are of no use; without a limit one layer is enough.
  void ChooseLayers(int64_t length) {
    if (!instance_.subgraph_limit.has_value()) return;
    const int64_t segments = std::min<int64_t>(
        length, int64_t{*instance_.subgraph_limit} * instance_.num_accelerators() * instance_.num_passes);
    if (SaturatingMultiply(length + 1, segments + 1) > kMaxEntries) return;
    counts_segments_ = true;
    num_layers_ = segments + 1;
  }

  int64_t& Best(int64_t position, int64_t layer) {
    return best_[static_cast<std::size_t>(position * num_layers_ + layer)];
  }

  void PutOnCpu(int32_t position) {
    const int32_t vertex = path_[Index(position)];
    if (!instance_.allowed_on_cpu[Index(instance_.group_of[Index(vertex)])]) return;
    for (int64_t layer = 0; layer < num_layers_; ++layer) {
      if (Best(position, layer) == kNever) continue;
      Best(position + 1, layer) =
          std::min(Best(position + 1, layer), Best(position, layer) + instance_.cpu_time[Index(vertex)]);
    }
  }

  void Cut(int32_t begin, int32_t end, int64_t duration) {
    const int64_t step = counts_segments_ ? 1 : 0;
    for (int64_t layer = 0; layer + step < num_layers_; ++layer) {
      if (Best(begin, layer) == kNever) continue;
      int64_t& after = Best(end + 1, layer + step);
      after = std::min(after, Best(begin, layer) + duration);
    }
  }

  const LatencyInstance& instance_;
  const std::vector<int32_t>& path_;
  const PathFrame frame_;
  GrowingSegment segment_;
  Poller& poller_;
  bool counts_segments_ = false;
  int64_t num_layers_ = 1;
  int64_t steps_ = 0;
  std::vector<int64_t> best_;
};

// The bound "path_cut" for one path in picoseconds; 0 where the path takes too many steps. nullopt: `poller` said stop.
// REQUIRES: `path` is a path of instance.precedence, not empty; `order` is a topological order of it.
std::optional<int64_t> PathCutBound(const LatencyInstance& instance, const std::vector<int32_t>& order,
                                    const std::vector<int32_t>& path, Poller& poller) {
  const std::optional<int64_t> bound = PathProgram(instance, order, path, poller).Run();
  // No cut at all proves that there is no plan, which is not for a bound to say.
  if (bound == kNever) return 0;
  return bound;
}

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
        if (!instance_.allowed[Index(instance_.group_of[vertex])][Index(accelerator)]) continue;
        accelerator_time_[vertex] = std::min(accelerator_time_[vertex], pool.time[vertex]);
      }
    }
    least_time_ = accelerator_time_;
    for (std::size_t vertex = 0; vertex < least_time_.size(); ++vertex) {
      if (MayBeOnCpu(vertex)) least_time_[vertex] = std::min(least_time_[vertex], instance_.cpu_time[vertex]);
    }
  }

  bool MayBeOnCpu(std::size_t vertex) const { return instance_.allowed_on_cpu[Index(instance_.group_of[vertex])]; }

  // Longest paths before and behind every vertex, its own time left out.
  void FindHeadsAndTails() {
    head_.assign(instance_.operators.size(), 0);
    tail_.assign(instance_.operators.size(), 0);
    for (const int32_t vertex : order_) {
      for (const int32_t producer : instance_.precedence.predecessors(vertex)) {
        head_[Index(vertex)] = std::max(head_[Index(vertex)], head_[Index(producer)] + least_time_[Index(producer)]);
      }
    }
    for (auto vertex = order_.rbegin(); vertex != order_.rend(); ++vertex) {
      for (const int32_t consumer : instance_.precedence.successors(*vertex)) {
        tail_[Index(*vertex)] = std::max(tail_[Index(*vertex)], tail_[Index(consumer)] + least_time_[Index(consumer)]);
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
        if (next[Index(*vertex)] >= 0 && sum[Index(consumer)] <= sum[Index(next[Index(*vertex)])]) continue;
        next[Index(*vertex)] = consumer;
      }
      sum[Index(*vertex)] = weight(*vertex) + (next[Index(*vertex)] < 0 ? 0 : sum[Index(next[Index(*vertex)])]);
      if (sum[Index(*vertex)] >= sum[Index(first)]) first = *vertex;
    }
    std::vector<int32_t> path;
    for (int32_t vertex = first; vertex >= 0; vertex = next[Index(vertex)]) path.push_back(vertex);
    return path;
  }

  // Paths that meet much time, memory or traffic, or many operators.
  std::vector<std::vector<int32_t>> Paths() const {
    std::vector<std::vector<int32_t>> paths;
    if (order_.empty()) return paths;
    const auto time = [&](int32_t vertex) { return static_cast<double>(least_time_[Index(vertex)]); };
    const auto bytes = [&](int32_t vertex) {
      return static_cast<double>(LeastGroupBytes(instance_, instance_.group_of[Index(vertex)]));
    };
    const auto traffic = [&](int32_t vertex) {
      double sum = 0;
      for (const int32_t tensor : instance_.tensors_of[Index(vertex)]) {
        sum += static_cast<double>(instance_.tensors[Index(tensor)].transfer);
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
