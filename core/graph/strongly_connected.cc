#include "core/graph/strongly_connected.h"

#include <algorithm>

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

}  // namespace

std::vector<int32_t> StronglyConnectedComponents(const Digraph& graph) { return Tarjan(graph).Run(); }

}  // namespace planwright
