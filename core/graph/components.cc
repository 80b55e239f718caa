#include "core/graph/components.h"

#include <algorithm>
#include <cstddef>

#include "core/base/index.h"
#include "core/base/union_find.h"

namespace planwright {
namespace {

class Tarjan {
 public:
  explicit Tarjan(const Digraph& graph)
      : graph_(graph),
        index_(static_cast<std::size_t>(graph.num_vertices()), kUnseen),
        low_(index_.size(), 0),
        on_stack_(index_.size(), false),
        components_(graph.num_vertices()) {}

  std::vector<int32_t> Run() {
    for (int32_t root = 0; root < graph_.num_vertices(); ++root) {
      if (At(index_, root) == kUnseen) Explore(root);
    }
    return components_.Labels();
  }

 private:
  static constexpr int32_t kUnseen = -1;
  struct Frame {
    int32_t vertex;
    std::size_t next_successor;
  };

  template <typename T>
  static typename std::vector<T>::reference At(std::vector<T>& values, int32_t vertex) {
    return values[static_cast<std::size_t>(vertex)];
  }

  void Enter(int32_t vertex) {
    At(index_, vertex) = At(low_, vertex) = counter_++;
    stack_.push_back(vertex);
    At(on_stack_, vertex) = true;
    frames_.push_back({vertex, 0});
  }

  void Explore(int32_t root) {
    Enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const int32_t vertex = frame.vertex;
      const auto successors = graph_.successors(vertex);
      if (frame.next_successor == successors.size()) {
        Leave(vertex);
        continue;
      }
      const int32_t successor = successors[frame.next_successor++];
      if (At(index_, successor) == kUnseen) {
        Enter(successor);
      } else if (At(on_stack_, successor)) {
        At(low_, vertex) = std::min(At(low_, vertex), At(index_, successor));
      }
    }
  }

  void Leave(int32_t vertex) {
    frames_.pop_back();
    if (!frames_.empty()) {
      int32_t& parent_low = At(low_, frames_.back().vertex);
      parent_low = std::min(parent_low, At(low_, vertex));
    }
    if (At(low_, vertex) != At(index_, vertex)) return;
    int32_t member = kUnseen;
    do {
      member = stack_.back();
      stack_.pop_back();
      At(on_stack_, member) = false;
      components_.Unite(vertex, member);
    } while (member != vertex);
  }

  const Digraph& graph_;
  std::vector<int32_t> index_;
  std::vector<int32_t> low_;
  std::vector<bool> on_stack_;
  std::vector<int32_t> stack_;
  std::vector<Frame> frames_;
  int32_t counter_ = 0;
  UnionFind components_;
};

class HopcroftTarjan {
 public:
  explicit HopcroftTarjan(const Digraph& graph)
      : ends_(Index(graph.num_vertices())),
        depth_(ends_.size(), kUnseen),
        low_(ends_.size(), 0),
        labels_(graph.edges().size(), kUnseen) {
    for (std::size_t edge = 0; edge < graph.edges().size(); ++edge) {
      const auto& [from, to] = graph.edges()[edge];
      ends_[Index(from)].push_back({to, edge});
      ends_[Index(to)].push_back({from, edge});
    }
  }

  std::vector<int32_t> Run() {
    for (std::size_t root = 0; root < ends_.size(); ++root) {
      if (depth_[root] != kUnseen) continue;
      Enter(static_cast<int32_t>(root), kNoEdge, 0);
      while (!frames_.empty()) Step();
    }
    return labels_;
  }

 private:
  static constexpr int32_t kUnseen = -1;
  static constexpr std::size_t kNoEdge = SIZE_MAX;
  struct End {
    int32_t neighbour;
    std::size_t edge;
  };
  struct Frame {
    int32_t vertex;
    // The edge by which the vertex was entered, and its position among the edges that were open then.
    std::size_t entry;
    std::size_t first_open;
    std::size_t next_end;
  };

  void Enter(int32_t vertex, std::size_t entry, int32_t depth) {
    depth_[Index(vertex)] = low_[Index(vertex)] = depth;
    frames_.push_back({vertex, entry, open_.size(), 0});
    if (entry != kNoEdge) open_.push_back(entry);
  }

  void Step() {
    Frame& frame = frames_.back();
    const auto vertex = Index(frame.vertex);
    if (frame.next_end == ends_[vertex].size()) {
      Leave();
      return;
    }
    const End end = ends_[vertex][frame.next_end++];
    if (end.edge == frame.entry) return;
    const int32_t depth = depth_[Index(end.neighbour)];
    if (depth == kUnseen) {
      Enter(end.neighbour, end.edge, depth_[vertex] + 1);
      return;
    }
    if (depth >= depth_[vertex]) return;  // seen from its other end
    open_.push_back(end.edge);
    low_[vertex] = std::min(low_[vertex], depth);
  }

  void Leave() {
    const Frame left = frames_.back();
    frames_.pop_back();
    if (frames_.empty()) return;
    const auto parent = Index(frames_.back().vertex);
    const int32_t low = low_[Index(left.vertex)];
    low_[parent] = std::min(low_[parent], low);
    if (low < depth_[parent]) return;
    for (std::size_t i = left.first_open; i < open_.size(); ++i) labels_[open_[i]] = next_label_;
    open_.resize(left.first_open);
    ++next_label_;
  }

  std::vector<std::vector<End>> ends_;
  std::vector<int32_t> depth_;
  // The least depth that the vertices below reach by one edge.
  std::vector<int32_t> low_;
  std::vector<Frame> frames_;
  // Edges seen whose component is not complete.
  std::vector<std::size_t> open_;
  std::vector<int32_t> labels_;
  int32_t next_label_ = 0;
};

}  // namespace

std::vector<int32_t> StronglyConnectedComponents(const Digraph& graph) { return Tarjan(graph).Run(); }

std::vector<int32_t> BiconnectedComponents(const Digraph& graph) { return HopcroftTarjan(graph).Run(); }

}  // namespace planwright
