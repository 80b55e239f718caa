// Where the blocks of a pipeline may lie: in its order, from the end of the row of devices, the last stage first. A
// block of at most a node lies inside one, a larger one takes whole nodes (scope ALIGNED_PLACES).
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_PLACES_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/joint/cost/stage_cost.h"

namespace planwright {

// Depth: how many devices from the end of the row are behind a place, left idle or not. Immutable.
class Places {
 public:
  // `row` outlives the object.
  explicit Places(const DeviceRow& row);

  const DeviceRow& row() const { return row_; }
  int64_t size() const { return row_.size(); }
  // Of the device that a block at `depth` takes first. REQUIRES: depth < size().
  int32_t ClassAt(int64_t depth) const { return class_[static_cast<std::size_t>(depth)]; }
  // Whether the devices on both sides of `depth` are in one node.
  bool IsInsideNode(int64_t depth) const {
    return depth > 0 && depth < size() && node_end_[static_cast<std::size_t>(depth - 1)] > depth;
  }
  // The link between the blocks before and behind `depth`.
  const TrainingLink& LinkAt(int64_t depth) const {
    return IsInsideNode(depth) ? row_.cluster().inside : row_.cluster().between;
  }
  // Places that are interchangeable for what comes before them: inside a node by what is left of it, and by class.
  int64_t KindOf(int64_t depth) const { return kind_[static_cast<std::size_t>(depth)]; }
  int64_t num_kinds() const { return num_kinds_; }

  // Where a block of `devices` at `depth` ends; -1: it does not fit there.
  int64_t EndOf(int64_t depth, int64_t devices) const;
  // Where the first block may begin: at the front of each class.
  const std::vector<int64_t>& class_starts() const { return class_starts_; }
  // Visits where the next block may begin: right there, with the next node, or with any class behind.
  template <typename Visit>
  void ForEachNext(int64_t end, Visit visit) const {
    visit(end);
    int64_t last = end;
    if (IsInsideNode(end)) {
      last = node_end_[static_cast<std::size_t>(end - 1)];
      visit(last);
    }
    for (const int64_t start : class_starts_) {
      if (start > last) visit(start);
    }
  }
  // The slot of the row where such a block begins.
  int64_t SlotOf(int64_t end) const { return size() - end; }

 private:
  const DeviceRow& row_;
  // By depth.
  std::vector<int32_t> class_;
  std::vector<int64_t> node_end_;
  std::vector<int64_t> class_end_;
  std::vector<int64_t> kind_;
  std::vector<int64_t> class_starts_;
  int64_t num_kinds_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_PLACES_H_
