#include "core/partition/parmesan/clustering.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/base/union_find.h"
#include "core/graph/contracting_dag.h"
#include "core/partition/search/load_windows.h"

namespace planwright {
namespace {

// Vertices that a check of convexity may visit each way. Longer ways around are rare, and such pairs stay apart.
constexpr std::size_t kMaxVisits = 2048;

// By edge of the precedence: the time of the tensors between its ends.
std::vector<int64_t> Transfers(const BlockInstance& instance) {
  std::map<Digraph::Edge, int64_t> between;
  const auto add = [&](int32_t a, int32_t b, int64_t weight) { between[std::minmax(a, b)] += weight; };
  for (const Net& net : instance.nets) {
    if (net.blocks.size() == 2) add(net.blocks[0], net.blocks[1], net.weight);
  }
  for (const FanOut& fan_out : instance.fan_outs) {
    for (const int32_t consumer : fan_out.consumers) add(fan_out.producer, consumer, fan_out.weight);
  }
  std::vector<int64_t> weights;
  for (const auto& [from, to] : instance.precedence.edges()) {
    const auto found = between.find(std::minmax(from, to));
    weights.push_back(found == between.end() ? 0 : found->second);
  }
  return weights;
}

// What hyper-operators are made of, under the number of one of their blocks.
class ClusterSums {
 public:
  ClusterSums(const BlockInstance& instance, const std::vector<DeviceSet>& allowed)
      : instance_(instance),
        times_(LoadWindows(instance).weights()),
        workspace_(instance.memory.workspace),
        allowed_(allowed) {
    allowed_.resize(times_.size());
    for (std::size_t block = 0; block < times_.size(); ++block) {
      memory_.push_back(MemorySums::Of(instance.memory, block));
    }
    for (const DevicePool& pool : instance.pools) supported_.push_back(pool.supported);
  }

  int64_t time(int32_t cluster) const { return times_[Index(cluster)]; }

  // Whether a pool can run and hold both together.
  bool FitTogether(int32_t a, int32_t b) const {
    DeviceSet common = allowed_[Index(a)];
    if (!Intersect(allowed_[Index(b)], common)) return false;
    MemorySums sums = memory_[Index(a)];
    sums.linear += memory_[Index(b)].linear;
    sums.parameters += memory_[Index(b)].parameters;
    const int64_t workspace = std::max(workspace_[Index(a)], workspace_[Index(b)]);
    const int64_t bytes = sums.Total(instance_.memory, /*buffers=*/0, workspace);
    for (std::size_t pool = 0; pool < supported_.size(); ++pool) {
      if (!supported_[pool][Index(a)] || !supported_[pool][Index(b)]) continue;
      if (bytes <= instance_.pools[pool].memory_bytes.value_or(bytes)) return true;
    }
    return false;
  }

  void Add(int32_t gone, int32_t kept) {
    times_[Index(kept)] += times_[Index(gone)];
    memory_[Index(kept)].linear += memory_[Index(gone)].linear;
    memory_[Index(kept)].parameters += memory_[Index(gone)].parameters;
    workspace_[Index(kept)] = std::max(workspace_[Index(kept)], workspace_[Index(gone)]);
    Intersect(allowed_[Index(gone)], allowed_[Index(kept)]);
    for (std::vector<bool>& supported : supported_) {
      supported[Index(kept)] = supported[Index(kept)] && supported[Index(gone)];
    }
  }

 private:
  const BlockInstance& instance_;
  std::vector<int64_t> times_;
  std::vector<MemorySums> memory_;
  std::vector<int64_t> workspace_;
  std::vector<DeviceSet> allowed_;
  // By pool.
  std::vector<std::vector<bool>> supported_;
};

// Vertices in both lists.
std::vector<int32_t> Common(const std::vector<ContractingDag::Arc>& a, const std::vector<ContractingDag::Arc>& b) {
  std::vector<int32_t> common;
  auto other = b.begin();
  for (const ContractingDag::Arc& arc : a) {
    while (other != b.end() && other->vertex < arc.vertex) ++other;
    if (other != b.end() && other->vertex == arc.vertex) common.push_back(arc.vertex);
  }
  return common;
}

class Clustering {
 public:
  Clustering(const BlockInstance& instance, const ClusteringOptions& options, const SolveLimits& limits,
             const std::vector<DeviceSet>& allowed)
      : options_(options),
        poller_(limits),
        sums_(instance, allowed),
        dag_(instance.precedence, Transfers(instance)),
        clusters_(instance.num_blocks()),
        unions_(instance.num_blocks()),
        vertex_of_(FirstNumbers(Index(instance.num_blocks()))),
        refused_with_(Index(instance.num_blocks())) {
    for (const auto& [from, to] : instance.precedence.edges()) Enqueue(from, to);
  }

  std::vector<int32_t> Run() {
    while (clusters_ > options_.max_clusters && !queue_.empty() && !poller_.ShouldStopNow()) {
      const Pair pair = queue_.top();
      queue_.pop();
      const int32_t from = VertexOf(pair.from);
      const int32_t to = VertexOf(pair.to);
      if (from == to || refused_.contains({from, to})) continue;
      if (Cost(from, to) > pair.cost) {
        Enqueue(from, to);
      } else if (sums_.FitTogether(from, to)) {
        Merge(from, to);
      }
    }
    return unions_.Labels();
  }

 private:
  struct Pair {
    double cost = 0;
    int32_t from = 0;
    int32_t to = 0;

    // For a queue whose top is the least.
    bool operator<(const Pair& other) const {
      return std::tie(cost, from, to) > std::tie(other.cost, other.from, other.to);
    }
  };

  // The vertex of the hyper-operator that holds `block`.
  int32_t VertexOf(int32_t block) { return vertex_of_[Index(unions_.Find(block))]; }

  double Cost(int32_t from, int32_t to) const {
    const auto compute = static_cast<double>(sums_.time(from) + sums_.time(to));
    return compute - options_.alpha * static_cast<double>(dag_.WeightOf(from, to));
  }

  void Enqueue(int32_t from, int32_t to) { queue_.push({Cost(from, to), from, to}); }

  void Merge(int32_t from, int32_t to) {
    // Two edges that become one have a greater weight: it may cost less than the queue knows.
    const std::vector<int32_t> both_lead_to = Common(dag_.successors(from), dag_.successors(to));
    const std::vector<int32_t> lead_to_both = Common(dag_.predecessors(from), dag_.predecessors(to));
    const int32_t kept = dag_.Contract(from, to, kMaxVisits);
    if (kept == ContractingDag::kNotConvex) return Refuse(from, to);
    const int32_t gone = kept == from ? to : from;
    sums_.Add(gone, kept);
    unions_.Unite(from, to);
    vertex_of_[Index(unions_.Find(kept))] = kept;
    --clusters_;
    LookAgain(gone);
    LookAgain(kept);
    for (const int32_t vertex : both_lead_to) Enqueue(kept, vertex);
    for (const int32_t vertex : lead_to_both) Enqueue(vertex, kept);
  }

  void Refuse(int32_t from, int32_t to) {
    refused_.insert({from, to});
    refused_with_[Index(from)].emplace_back(from, to);
    refused_with_[Index(to)].emplace_back(from, to);
  }

  // Pairs with a hyper-operator that has changed may have become convex.
  void LookAgain(int32_t vertex) {
    for (const Digraph::Edge& pair : std::exchange(refused_with_[Index(vertex)], {})) {
      if (refused_.erase(pair) == 0) continue;
      const int32_t from = VertexOf(pair.first);
      const int32_t to = VertexOf(pair.second);
      if (from != to) Enqueue(from, to);
    }
  }

  const ClusteringOptions options_;
  Poller poller_;
  ClusterSums sums_;
  ContractingDag dag_;
  int32_t clusters_;
  UnionFind unions_;
  // By representative of `unions_`.
  std::vector<int32_t> vertex_of_;
  std::priority_queue<Pair> queue_;
  std::set<Digraph::Edge> refused_;
  // By vertex: the refused pairs that it was part of.
  std::vector<std::vector<Digraph::Edge>> refused_with_;
};

}  // namespace

std::vector<int32_t> ClusterBlocks(const BlockInstance& instance, const ClusteringOptions& options,
                                   const SolveLimits& limits, const std::vector<DeviceSet>& allowed) {
  return Clustering(instance, options, limits, allowed).Run();
}

}  // namespace planwright
