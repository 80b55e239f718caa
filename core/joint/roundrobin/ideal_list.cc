#include "core/joint/roundrobin/ideal_list.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/base/interruption.h"

namespace planwright {
namespace {

class Enumeration {
 public:
  explicit Enumeration(const RoundRobinInstance& instance)
      : instance_(instance), size_(instance.size()), num_edges_(instance.edges.size()), before_(size_) {
    for (const RoundRobinEdge& edge : instance.edges) {
      before_[static_cast<std::size_t>(edge.to)].push_back(edge.from);
    }
  }

  IdealList Run(std::size_t most) const {
    IdealList list;
    std::set<OperatorSet> level = {OperatorSet(size_)};
    while (!level.empty()) {
      list.ideals.insert(list.ideals.end(), level.begin(), level.end());
      std::set<OperatorSet> next;
      for (const OperatorSet& ideal : level) {
        for (const int32_t op : ReadyAt(ideal)) {
          OperatorSet larger = ideal;
          larger.Add(op);
          next.insert(std::move(larger));
          if (list.ideals.size() + next.size() > most) return PiecesOf(instance_, most - 1);
        }
      }
      level = std::move(next);
    }
    return list;
  }

 private:
  std::vector<int32_t> ReadyAt(const OperatorSet& ideal) const {
    InterruptionPoint(size_ + num_edges_);
    std::vector<int32_t> ready;
    for (std::size_t i = 0; i < size_; ++i) {
      const auto op = static_cast<int32_t>(i);
      bool is_ready = !ideal.Has(op);
      for (const int32_t earlier : before_[i]) is_ready = is_ready && ideal.Has(earlier);
      if (is_ready) ready.push_back(op);
    }
    return ready;
  }

  const RoundRobinInstance& instance_;
  const std::size_t size_;
  const std::size_t num_edges_;
  std::vector<std::vector<int32_t>> before_;
};

// Goes along one branch after the other: what has become ready last comes first.
std::vector<int32_t> LinearOrder(const RoundRobinInstance& instance) {
  const std::size_t size = instance.size();
  std::vector<std::vector<int32_t>> readers(size);
  std::vector<std::size_t> waits_for(size, 0);
  for (const RoundRobinEdge& edge : instance.edges) {
    readers[static_cast<std::size_t>(edge.from)].push_back(edge.to);
    ++waits_for[static_cast<std::size_t>(edge.to)];
  }
  std::vector<int32_t> stack;
  for (std::size_t op = 0; op < size; ++op) {
    std::sort(readers[op].begin(), readers[op].end());
    if (waits_for[op] == 0) stack.push_back(static_cast<int32_t>(op));
  }
  std::vector<int32_t> order;
  order.reserve(size);
  while (!stack.empty()) {
    const int32_t op = stack.back();
    stack.pop_back();
    order.push_back(op);
    for (const int32_t reader : readers[static_cast<std::size_t>(op)]) {
      if (--waits_for[static_cast<std::size_t>(reader)] == 0) stack.push_back(reader);
    }
  }
  return order;
}

// Device-time at its best degree; 0: none runs it.
double WorkOf(const RoundRobinInstance& instance, std::size_t op) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t degree = 0; degree < instance.tensor_degrees.size(); ++degree) {
    const auto& priced = instance.operators[degree][op];
    if (!priced.has_value()) continue;
    least = std::min(least, instance.tensor_degrees[degree] * static_cast<double>(priced->time_ps()));
  }
  return std::isfinite(least) ? least : 0;
}

}  // namespace

bool OperatorSet::Holds(const OperatorSet& other) const {
  for (std::size_t word = 0; word < words_.size(); ++word) {
    if ((other.words_[word] & ~words_[word]) != 0) return false;
  }
  return true;
}

IdealList IdealsOf(const RoundRobinInstance& instance, std::size_t most) { return Enumeration(instance).Run(most); }

IdealList PiecesOf(const RoundRobinInstance& instance, std::size_t pieces) {
  const std::size_t size = instance.size();
  const bool takes_all = size <= pieces;
  double all = 0;
  for (std::size_t op = 0; op < size; ++op) all += WorkOf(instance, op);
  IdealList list{.ideals = {OperatorSet(size)}, .is_complete = false};
  OperatorSet taken(size);
  double work = 0;
  std::size_t placed = 0;
  for (const int32_t op : LinearOrder(instance)) {
    InterruptionPoint(/*units=*/1 + size / 64);
    taken.Add(op);
    work += WorkOf(instance, static_cast<std::size_t>(op));
    ++placed;
    const double share = static_cast<double>(list.ideals.size()) / static_cast<double>(pieces);
    const bool is_end = placed == size;
    if (takes_all || is_end || (list.ideals.size() < pieces && work >= share * all)) list.ideals.push_back(taken);
  }
  return list;
}

}  // namespace planwright
