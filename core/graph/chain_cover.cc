#include "core/graph/chain_cover.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include "core/graph/digraph.h"

namespace planwright {
namespace {

constexpr int32_t kNone = -1;

// next[v]: the vertex after v on its chain.
using Links = std::vector<int32_t>;

// Kuhn's augmenting paths with a bitset of unvisited right vertices, without recursion.
class Matching {
 public:
  Matching(const ReachabilityMatrix& reachable, Links next, Links previous)
      : reachable_(reachable),
        next_(std::move(next)),
        previous_(std::move(previous)),
        unvisited_((next_.size() + 63) / 64) {}

  Links Run() {
    for (std::size_t v = 0; v < next_.size(); ++v) {
      if (next_[v] == kNone) Augment(static_cast<int32_t>(v));
    }
    return std::move(next_);
  }

 private:
  struct Step {
    int32_t left;
    int32_t right;
  };

  // Takes the first unvisited right vertex that `left` reaches; kNone: none.
  int32_t TakeUnvisited(int32_t left) {
    const std::span<const uint64_t> row = reachable_.Row(left);
    for (std::size_t w = 0; w < unvisited_.size(); ++w) {
      const uint64_t choices = row[w] & unvisited_[w];
      if (choices == 0) continue;
      unvisited_[w] &= ~(choices & (~choices + 1));
      return static_cast<int32_t>(w * 64) + std::countr_zero(choices);
    }
    return kNone;
  }

  void Augment(int32_t root) {
    std::fill(unvisited_.begin(), unvisited_.end(), ~uint64_t{0});
    path_.assign(1, {root, kNone});
    while (!path_.empty()) {
      Step& step = path_.back();
      step.right = TakeUnvisited(step.left);
      if (step.right == kNone) {
        path_.pop_back();
        continue;
      }
      const int32_t owner = previous_[static_cast<std::size_t>(step.right)];
      if (owner == kNone) {
        Flip();
        return;
      }
      path_.push_back({owner, kNone});
    }
  }

  void Flip() {
    for (const Step& step : path_) {
      next_[static_cast<std::size_t>(step.left)] = step.right;
      previous_[static_cast<std::size_t>(step.right)] = step.left;
    }
  }

  const ReachabilityMatrix& reachable_;
  Links next_;
  Links previous_;
  std::vector<uint64_t> unvisited_;
  std::vector<Step> path_;
};

std::vector<std::vector<int32_t>> Collect(const Links& next, const std::vector<int32_t>& order) {
  std::vector<bool> has_previous(next.size(), false);
  for (const int32_t v : next) {
    if (v != kNone) has_previous[static_cast<std::size_t>(v)] = true;
  }
  std::vector<std::vector<int32_t>> chains;
  for (const int32_t head : order) {
    if (has_previous[static_cast<std::size_t>(head)]) continue;
    auto& chain = chains.emplace_back();
    for (int32_t v = head; v != kNone; v = next[static_cast<std::size_t>(v)]) chain.push_back(v);
  }
  return chains;
}

}  // namespace

std::vector<std::vector<int32_t>> ChainCover(const Digraph& graph, const std::vector<int32_t>& order) {
  const auto n = static_cast<std::size_t>(graph.num_vertices());
  Links next(n, kNone);
  Links previous(n, kNone);
  // Edges first: most vertices of a DNN continue a path.
  for (const int32_t v : order) {
    for (const int32_t successor : graph.successors(v)) {
      if (previous[static_cast<std::size_t>(successor)] != kNone) continue;
      next[static_cast<std::size_t>(v)] = successor;
      previous[static_cast<std::size_t>(successor)] = v;
      break;
    }
  }
  if (graph.num_vertices() > kMaxMinimumCover) return Collect(next, order);
  const ReachabilityMatrix reachable(graph, order);
  return Collect(Matching(reachable, std::move(next), std::move(previous)).Run(), order);
}

}  // namespace planwright
