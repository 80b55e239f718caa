// Disjoint sets with path halving; the representative of a set is its smallest element.
#ifndef PLANWRIGHT_CORE_BASE_UNION_FIND_H_
#define PLANWRIGHT_CORE_BASE_UNION_FIND_H_

#include <cstdint>
#include <vector>

namespace planwright {

class UnionFind {
 public:
  explicit UnionFind(int32_t size);

  int32_t Find(int32_t element);
  void Unite(int32_t a, int32_t b);

  // For every element the number of its set, sets numbered 0, 1, ... by their smallest element.
  std::vector<int32_t> Labels();

 private:
  std::vector<int32_t> parent_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_UNION_FIND_H_
