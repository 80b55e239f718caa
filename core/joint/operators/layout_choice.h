// In which layouts the operators of a layer run: those that take the least time together.
//
// A dynamic program along the layer: a state is the choice of every operator whose tensors are still to be read. Exact
// where at most kMostLayoutStates combinations are alive at any place; else every operator has its first choice.
#ifndef PLANWRIGHT_CORE_JOINT_OPERATORS_LAYOUT_CHOICE_H_
#define PLANWRIGHT_CORE_JOINT_OPERATORS_LAYOUT_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace planwright {

inline constexpr std::size_t kMostLayoutStates = 4'096;

struct LayoutProblem {
  // A tensor and one of its readers in the layer. `change_ps`: by choice of the maker and choice of the reader.
  struct Edge {
    std::size_t from = 0;
    std::size_t to = 0;
    std::vector<std::vector<int64_t>> change_ps;
  };

  // In an order in which tensors go forward: by choice, what an operator takes, with what tensors that enter or leave
  // the layer take to change.
  std::vector<std::vector<int64_t>> operators;
  std::vector<Edge> edges;
};

// By operator its choice; of several that take the least time, the first by the order of operators and choices.
// O(states x choices x edges).
std::vector<std::size_t> ChooseLayouts(const LayoutProblem& problem);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_LAYOUT_CHOICE_H_
