// The ideals of a graph: sets of operators that hold all that each of them waits for.
#ifndef PLANWRIGHT_CORE_JOINT_ROUNDROBIN_IDEAL_LIST_H_
#define PLANWRIGHT_CORE_JOINT_ROUNDROBIN_IDEAL_LIST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/joint/roundrobin/round_robin_instance.h"

namespace planwright {

// Sets of operators, one bit each.
class OperatorSet {
 public:
  explicit OperatorSet(std::size_t size) : words_((size + 63) / 64, 0) {}

  bool Has(int32_t op) const { return (words_[Word(op)] >> (op % 64) & 1) != 0; }
  void Add(int32_t op) { words_[Word(op)] |= uint64_t{1} << (op % 64); }
  bool Holds(const OperatorSet& other) const;
  bool operator==(const OperatorSet&) const = default;
  bool operator<(const OperatorSet& other) const { return words_ < other.words_; }

 private:
  static std::size_t Word(int32_t op) { return static_cast<std::size_t>(op) / 64; }

  std::vector<uint64_t> words_;
};

struct IdealList {
  // By the number of their operators; the first is empty, the last has all.
  std::vector<OperatorSet> ideals;
  // They are all that there are; else those of one linear order.
  bool is_complete = true;
};

// All ideals, `most` at most: where there are more, those of PiecesOf. REQUIRES: an acyclic graph, most >= 2.
// O(ideals x (operators + edges)).
IdealList IdealsOf(const RoundRobinInstance& instance, std::size_t most);

// The ideals of one linear order that divide its work into so many pieces alike, or into single operators where there
// are no more. REQUIRES: an acyclic graph, pieces >= 1. O(operators log operators + edges + pieces x operators).
IdealList PiecesOf(const RoundRobinInstance& instance, std::size_t pieces);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_ROUNDROBIN_IDEAL_LIST_H_
