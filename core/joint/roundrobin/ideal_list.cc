#include "core/joint/roundrobin/ideal_list.h"

#include <set>
#include <utility>

#include "core/base/interruption.h"

namespace planwright {
namespace {

class Enumeration {
 public:
  explicit Enumeration(const RoundRobinInstance& instance)
      : size_(instance.size()), num_edges_(instance.edges.size()), before_(size_) {
    for (const RoundRobinEdge& edge : instance.edges) {
      before_[static_cast<std::size_t>(edge.to)].push_back(edge.from);
    }
  }

  IdealList Run(std::size_t most) const {
    IdealList list;
    std::set<OperatorSet> level = {OperatorSet(size_)};
    for (std::size_t count = 0; !level.empty(); ++count) {
      list.ideals.insert(list.ideals.end(), level.begin(), level.end());
      std::set<OperatorSet> next;
      for (const OperatorSet& ideal : level) {
        for (const int32_t op : ReadyAt(ideal)) {
          OperatorSet larger = ideal;
          larger.Add(op);
          next.insert(std::move(larger));
          if (list.ideals.size() + next.size() > most) return OfOneOrder();
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

  // One branch after the other: what has become ready last comes first.
  IdealList OfOneOrder() const {
    IdealList list{.ideals = {OperatorSet(size_)}, .is_complete = false};
    std::vector<int32_t> stack = ReadyAt(list.ideals.back());
    OperatorSet taken(size_);
    OperatorSet seen(size_);
    for (const int32_t op : stack) seen.Add(op);
    while (!stack.empty()) {
      const int32_t op = stack.back();
      stack.pop_back();
      taken.Add(op);
      list.ideals.push_back(taken);
      for (const int32_t next : ReadyAt(taken)) {
        if (seen.Has(next)) continue;
        seen.Add(next);
        stack.push_back(next);
      }
    }
    return list;
  }

  const std::size_t size_;
  const std::size_t num_edges_;
  std::vector<std::vector<int32_t>> before_;
};

}  // namespace

bool OperatorSet::Holds(const OperatorSet& other) const {
  for (std::size_t word = 0; word < words_.size(); ++word) {
    if ((other.words_[word] & ~words_[word]) != 0) return false;
  }
  return true;
}

IdealList IdealsOf(const RoundRobinInstance& instance, std::size_t most) { return Enumeration(instance).Run(most); }

}  // namespace planwright
