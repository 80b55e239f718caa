#include "core/base/union_find.h"

#include <numeric>
#include <utility>

namespace planwright {

UnionFind::UnionFind(int32_t size) : parent_(static_cast<std::size_t>(size)) {
  std::iota(parent_.begin(), parent_.end(), 0);
}

int32_t UnionFind::Find(int32_t element) {
  auto at = [this](int32_t x) -> int32_t& { return parent_[static_cast<std::size_t>(x)]; };
  while (at(element) != element) {
    at(element) = at(at(element));
    element = at(element);
  }
  return element;
}

void UnionFind::Unite(int32_t a, int32_t b) {
  a = Find(a);
  b = Find(b);
  if (b < a) std::swap(a, b);
  parent_[static_cast<std::size_t>(b)] = a;
}

std::vector<int32_t> UnionFind::Labels() {
  std::vector<int32_t> labels(parent_.size());
  int32_t next = 0;
  for (std::size_t i = 0; i < parent_.size(); ++i) {
    const auto root = static_cast<std::size_t>(Find(static_cast<int32_t>(i)));
    labels[i] = root == i ? next++ : labels[root];
  }
  return labels;
}

}  // namespace planwright
