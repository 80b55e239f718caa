#include "core/cost/terms/backward_contiguity.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace planwright {
namespace {

// Edges between BACKWARD operators that are in stages, by tail.
class BackwardEdges {
 public:
  BackwardEdges(const OperatorGraph& graph, const StageMap& stage_of) : begin_(graph.operators.size() + 1, 0) {
    const auto for_each_edge = [&](auto visit) {
      for (const Tensor& tensor : graph.tensors) {
        if (!IsBackward(graph, stage_of, tensor.producer)) continue;
        for (const OperatorId consumer : tensor.consumers) {
          if (IsBackward(graph, stage_of, consumer)) visit(tensor.producer, consumer);
        }
      }
    };
    for_each_edge([&](OperatorId tail, OperatorId /*head*/) { ++begin_[tail.index() + 1]; });
    for (std::size_t op = 1; op < begin_.size(); ++op) begin_[op] += begin_[op - 1];
    heads_.resize(begin_.back());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for_each_edge([&](OperatorId tail, OperatorId head) { heads_[next[tail.index()]++] = head; });
  }

  template <typename Visit>
  void ForEachHead(OperatorId tail, Visit visit) const {
    for (std::size_t i = begin_[tail.index()]; i < begin_[tail.index() + 1]; ++i) visit(heads_[i]);
  }

  bool empty() const { return heads_.empty(); }

 private:
  static bool IsBackward(const OperatorGraph& graph, const StageMap& stage_of, OperatorId op) {
    return graph.operators[op.index()].pass == Pass::kBackward && stage_of[op] != StageMap::kNone;
  }

  std::vector<std::size_t> begin_;
  std::vector<OperatorId> heads_;
};

class ContiguityCheck {
 public:
  ContiguityCheck(const OperatorGraph& graph, const std::vector<Stage>& stages, const StageMap& stage_of)
      : stages_(stages), stage_of_(stage_of), edges_(graph, stage_of), visited_by_(graph.operators.size(), kNobody) {}

  std::vector<bool> Run() {
    std::vector<bool> contiguous(stages_.size(), true);
    if (edges_.empty()) return contiguous;
    for (const std::size_t stage : StagesWithoutOrder()) contiguous[stage] = !IsReentered(stage);
    return contiguous;
  }

 private:
  static constexpr int32_t kNobody = -1;

  // Visits the backward edges that leave `stage`, with the stage each enters.
  template <typename Visit>
  void ForEachExit(std::size_t stage, Visit visit) const {
    for (const OperatorId op : stages_[stage].operators) {
      edges_.ForEachHead(op, [&](OperatorId head) {
        const auto entered = static_cast<std::size_t>(stage_of_[head]);
        if (entered != stage) visit(head, entered);
      });
    }
  }

  // The stages that are on a cycle of stages or behind one: Kahn's algorithm does not reach them.
  std::vector<std::size_t> StagesWithoutOrder() const {
    std::vector<std::size_t> entries(stages_.size(), 0);
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      ForEachExit(stage, [&](OperatorId, std::size_t entered) { ++entries[entered]; });
    }
    std::vector<std::size_t> ready;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (entries[stage] == 0) ready.push_back(stage);
    }
    while (!ready.empty()) {
      const std::size_t stage = ready.back();
      ready.pop_back();
      ForEachExit(stage, [&](OperatorId, std::size_t entered) {
        if (--entries[entered] == 0) ready.push_back(entered);
      });
    }
    std::vector<std::size_t> rest;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (entries[stage] > 0) rest.push_back(stage);
    }
    return rest;
  }

  // Whether a path that leaves `stage` enters it again.
  bool IsReentered(std::size_t stage) {
    const auto searched = static_cast<int32_t>(stage);
    std::vector<OperatorId> open;
    bool reentered = false;
    const auto reach = [&](OperatorId op) {
      if (stage_of_[op] == searched) reentered = true;
      if (std::exchange(visited_by_[op.index()], searched) != searched) open.push_back(op);
    };
    ForEachExit(stage, [&](OperatorId head, std::size_t) { reach(head); });
    while (!open.empty() && !reentered) {
      const OperatorId op = open.back();
      open.pop_back();
      edges_.ForEachHead(op, reach);
    }
    return reentered;
  }

  const std::vector<Stage>& stages_;
  const StageMap& stage_of_;
  const BackwardEdges edges_;
  // The stage whose search reached the operator last.
  std::vector<int32_t> visited_by_;
};

}  // namespace

std::vector<bool> BackwardContiguity(const OperatorGraph& graph, const std::vector<Stage>& stages,
                                     const StageMap& stage_of) {
  return ContiguityCheck(graph, stages, stage_of).Run();
}

}  // namespace planwright
