#include "core/partition/noncontiguous/virtual_devices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/base/index.h"
#include "core/graph/digraph.h"
#include "core/graph/operator_unions.h"

namespace planwright {
namespace {

std::vector<Digraph::Edge> Reversed(std::span<const Digraph::Edge> edges) {
  std::vector<Digraph::Edge> reversed;
  reversed.reserve(edges.size());
  for (const auto& [from, to] : edges) reversed.emplace_back(to, from);
  return reversed;
}

// The stage of every atom, stages numbered in a topological order of `order`.
class GreedyCut {
 public:
  GreedyCut(const Digraph& order, const std::vector<int32_t>& device_of)
      : order_(order), device_of_(device_of), missing_(device_of.size()), stage_of_(device_of.size(), kDropped) {
    for (int32_t atom = 0; atom < order.num_vertices(); ++atom) {
      missing_[Index(atom)] = static_cast<int32_t>(order.predecessors(atom).size());
      if (missing_[Index(atom)] == 0) ready_[device_of[Index(atom)]].push_back(atom);
    }
  }

  std::vector<int32_t> Run() {
    for (int32_t stage = 0; !ready_.empty(); ++stage) {
      const std::vector<int32_t> turn = LongestTurn();
      ready_.erase(device_of_[Index(turn.front())]);
      for (const int32_t atom : turn) stage_of_[Index(atom)] = stage;
      for (const int32_t atom : turn) Free(atom);
    }
    return std::move(stage_of_);
  }

 private:
  // Everything that a device can run next without waiting for another one; ties go to the smaller device.
  std::vector<int32_t> LongestTurn() {
    std::vector<int32_t> longest;
    for (const auto& [device, ready] : ready_) {
      std::vector<int32_t> turn = Turn(device, ready);
      if (turn.size() > longest.size()) longest = std::move(turn);
    }
    return longest;
  }

  std::vector<int32_t> Turn(int32_t device, std::vector<int32_t> turn) {
    for (std::size_t next = 0; next < turn.size(); ++next) {
      for (const int32_t successor : order_.successors(turn[next])) {
        if (--missing_[Index(successor)] == 0 && device_of_[Index(successor)] == device) turn.push_back(successor);
      }
    }
    for (const int32_t atom : turn) {
      for (const int32_t successor : order_.successors(atom)) ++missing_[Index(successor)];
    }
    return turn;
  }

  void Free(int32_t atom) {
    for (const int32_t successor : order_.successors(atom)) {
      if (--missing_[Index(successor)] > 0 || stage_of_[Index(successor)] != kDropped) continue;
      ready_[device_of_[Index(successor)]].push_back(successor);
    }
  }

  const Digraph& order_;
  const std::vector<int32_t>& device_of_;
  // Predecessors that have not run.
  std::vector<int32_t> missing_;
  std::vector<int32_t> stage_of_;
  // By device: atoms that can run.
  std::map<int32_t, std::vector<int32_t>> ready_;
};

// Labels 0, 1, ... in the order in which they appear.
void NumberBySmallest(std::vector<int32_t>& labels) {
  std::vector<int32_t> number_of(Index(CountLabels(labels)), kDropped);
  int32_t next = 0;
  for (int32_t& label : labels) {
    if (label == kDropped) continue;
    int32_t& number = number_of[Index(label)];
    if (number == kDropped) number = next++;
    label = number;
  }
}

int32_t CountStages(const std::vector<int32_t>& stage_of) { return CountLabels(stage_of); }

// Merges stages of one device that no path through a third keeps apart.
class StageMerger {
 public:
  // `stage_of` by atom; `device_of` by stage.
  StageMerger(const Digraph& order, std::vector<int32_t> stage_of, std::vector<int32_t> device_of)
      : stage_of_(std::move(stage_of)), device_of_(std::move(device_of)) {
    const std::vector<Digraph::Edge> edges(order.edges().begin(), order.edges().end());
    stages_ = Digraph(static_cast<int32_t>(device_of_.size()), MapEdges(edges, stage_of_));
    Sort();
  }

  std::vector<int32_t> Run() {
    while (stages_.num_vertices() <= VirtualDevices::kMaxMergedStages && MergeOnePair()) Sort();
    return std::move(stage_of_);
  }

 private:
  void Relabel(const std::vector<int32_t>& label_of) {
    std::vector<int32_t> devices(Index(CountLabels(label_of)));
    for (std::size_t stage = 0; stage < label_of.size(); ++stage) {
      devices[Index(label_of[stage])] = device_of_[stage];
    }
    device_of_ = std::move(devices);
    for (int32_t& stage : stage_of_) stage = label_of[Index(stage)];
    const std::vector<Digraph::Edge> edges(stages_.edges().begin(), stages_.edges().end());
    stages_ = Digraph(static_cast<int32_t>(device_of_.size()), MapEdges(edges, label_of));
  }

  // Numbers the stages in topological order, those that came first first where there is a choice.
  void Sort() {
    const std::vector<int32_t> order = AnyTopologicalOrder(stages_);
    std::vector<int32_t> position(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) position[Index(order[i])] = static_cast<int32_t>(i);
    Relabel(position);
  }

  bool MergeOnePair() {
    std::vector<int32_t> order = FirstNumbers(device_of_.size());
    const ReachabilityMatrix reach(stages_, order);
    for (int32_t first = 0; first < stages_.num_vertices(); ++first) {
      for (int32_t second = first + 1; second < stages_.num_vertices(); ++second) {
        if (device_of_[Index(first)] != device_of_[Index(second)] || HasDetour(reach, first, second)) continue;
        for (int32_t& label : order) label -= static_cast<int32_t>(label > second);
        order[Index(second)] = first;
        Relabel(order);
        return true;
      }
    }
    return false;
  }

  bool HasDetour(const ReachabilityMatrix& reach, int32_t first, int32_t second) const {
    const auto successors = stages_.successors(first);
    return std::any_of(successors.begin(), successors.end(),
                       [&](int32_t next) { return next != second && reach.Reaches(next, second); });
  }

  std::vector<int32_t> stage_of_;
  std::vector<int32_t> device_of_;
  Digraph stages_;
};

// An atom of backward operators whose place in the order is free joins that of the forward operator of its first
// operator, or else of the first forward operator of its union: the stage that runs one runs the other.
void FollowForwardOperators(const OperatorGraph& graph, const std::vector<int32_t>& union_of,
                            const std::vector<Digraph::Edge>& ordered, std::vector<int32_t>& atom_of) {
  std::vector<bool> is_free(Index(CountLabels(atom_of)), true);
  for (const auto& [from, to] : ordered) {
    is_free[Index(atom_of[Index(from)])] = false;
    is_free[Index(atom_of[Index(to)])] = false;
  }
  std::vector<int32_t> first_forward(Index(CountLabels(union_of)), kDropped);
  for (std::size_t op = union_of.size(); op-- > 0;) {
    if (union_of[op] == kDropped) continue;
    if (graph.operators[op].pass == Pass::kForward) {
      first_forward[Index(union_of[op])] = static_cast<int32_t>(op);
      is_free[Index(atom_of[op])] = false;
    }
  }
  std::vector<int32_t> atom_followed(is_free.size(), kDropped);
  for (std::size_t op = 0; op < union_of.size(); ++op) {
    if (union_of[op] == kDropped || !is_free[Index(atom_of[op])]) continue;
    const int32_t first = first_forward[Index(union_of[op])];
    if (first == kDropped) continue;
    const std::optional<OperatorId>& own = graph.operators[op].forward_operator;
    int32_t& followed = atom_followed[Index(atom_of[op])];
    if (followed == kDropped) followed = atom_of[own.has_value() ? own->index() : Index(first)];
    atom_of[op] = followed;
  }
  NumberBySmallest(atom_of);
}

}  // namespace

VirtualDevices::VirtualDevices(const OperatorGraph& graph, const ResolvedProblem& problem) {
  const std::vector<int32_t> union_of = ColocationUnions(graph, problem);
  const std::vector<Digraph::Edge> ordered = OrderedOperators(graph, union_of);
  std::vector<int32_t> atom_of = StageAtoms(graph, problem);
  FollowForwardOperators(graph, union_of, ordered, atom_of);
  atoms_.resize(Index(CountLabels(atom_of)));
  for (std::size_t op = 0; op < atom_of.size(); ++op) {
    if (atom_of[op] != kDropped) atoms_[Index(atom_of[op])].emplace_back(op);
  }
  order_ = Digraph(static_cast<int32_t>(atoms_.size()), MapEdges(ordered, atom_of));
  reverse_order_ = Digraph(order_.num_vertices(), Reversed(order_.edges()));
}

Placement VirtualDevices::Cut(const std::vector<DeviceId>& device_of) const {
  std::vector<int32_t> device_of_atom =
      Mapped(atoms_, [&](const auto& atom) { return static_cast<int32_t>(device_of[atom.front().index()].index()); });
  std::vector<int32_t> stage_of = GreedyCut(order_, device_of_atom).Run();
  std::vector<int32_t> from_the_back = GreedyCut(reverse_order_, device_of_atom).Run();
  if (CountStages(from_the_back) < CountStages(stage_of)) {
    const int32_t last = CountStages(from_the_back) - 1;
    for (int32_t& stage : from_the_back) stage = last - stage;
    stage_of = std::move(from_the_back);
  }
  std::vector<int32_t> device_of_stage(Index(CountStages(stage_of)));
  for (std::size_t atom = 0; atom < stage_of.size(); ++atom) {
    device_of_stage[Index(stage_of[atom])] = device_of_atom[atom];
  }
  stage_of = StageMerger(order_, std::move(stage_of), std::move(device_of_stage)).Run();

  Placement placement;
  placement.stages.resize(Index(CountStages(stage_of)));
  for (std::size_t atom = 0; atom < stage_of.size(); ++atom) {
    Placement::Stage& stage = placement.stages[Index(stage_of[atom])];
    stage.operators.insert(stage.operators.end(), atoms_[atom].begin(), atoms_[atom].end());
    stage.devices = {device_of[atoms_[atom].front().index()]};
  }
  for (Placement::Stage& stage : placement.stages) std::sort(stage.operators.begin(), stage.operators.end());
  return placement;
}

}  // namespace planwright
