// Where the blocks of a pipeline may lie: in its order, from the end of the row of devices, the last stage first. A
// block of at most a node lies inside one, a larger one takes whole nodes (scope ALIGNED_PLACES). A block of several
// nodes that lies in one rack, pod, ... runs at the speed of that.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_PLACES_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_PLACES_H_

#include <algorithm>
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
  // The class of the device that a block at `depth` takes first. REQUIRES: depth < size().
  int32_t ClassAt(int64_t depth) const { return class_[static_cast<std::size_t>(depth)]; }
  // Whether the devices on both sides of `depth` are in one node.
  bool IsInsideNode(int64_t depth) const {
    return depth > 0 && depth < size() && node_end_[static_cast<std::size_t>(depth - 1)] > depth;
  }
  // How far the devices of a block that ends at `end` are apart (TrainingCluster); of two such blocks, one of which
  // begins at `depth` before the other. REQUIRES: they lie there.
  int32_t TierOf(int64_t end, int64_t devices) const { return devices == 1 ? 0 : TierBetween(end - 1, end - devices); }
  int32_t TierOfBoth(int64_t end, int64_t devices, int64_t depth, int64_t next_end, int64_t next_devices) const {
    return std::max({TierOf(end, devices), TierOf(next_end, next_devices), TierBetween(end - 1, depth)});
  }
  // How far the devices at two depths are apart.
  int32_t TierBetween(int64_t a, int64_t b) const;
  // Whether what lies farther in front of a place is never closer to it: no two classes have the same devices.
  bool are_in_order() const { return are_in_order_; }
  int32_t num_tiers() const { return num_tiers_; }
  // The closest that a block of so many devices of a class can be.
  int32_t LeastTier(int32_t number, int64_t devices) const;
  // The closest that the first and the last stage can be, one of which is on so many devices of a class, where all
  // others take so many at least.
  int32_t LeastTierOfEnds(int32_t number, int64_t devices, int64_t others) const {
    return LeastTier(number, row_.num_classes() == 1 ? devices + others : devices);
  }
  // Places that are interchangeable for what comes before them: inside a node by what is left of it, in racks by what
  // is left of these, and by class.
  int64_t KindOf(int64_t depth) const { return kind_[static_cast<std::size_t>(depth)]; }
  // Moved by so many devices towards the front of its class, a block lies alike; 0: it does not.
  int64_t Period(int32_t number) const { return period_[static_cast<std::size_t>(number)]; }

  // What a block of so many devices takes on nodes of a class.
  struct Span {
    int64_t devices = 0;
    // More than a node, so whole ones.
    bool fills_nodes = false;
  };
  Span SpanOf(int32_t number, int64_t devices) const;
  // Where a block at `depth` ends; -1: it does not fit there. `span`: on the class there.
  int64_t EndOf(int64_t depth, const Span& span) const {
    const auto at = static_cast<std::size_t>(depth);
    const int64_t end = depth + span.devices;
    if (!span.fills_nodes) return end <= node_end_[at] ? end : -1;
    return end <= class_end_[at] && !IsInsideNode(depth) ? end : -1;
  }
  int64_t EndOf(int64_t depth, int64_t devices) const {
    return depth < size() ? EndOf(depth, SpanOf(ClassAt(depth), devices)) : -1;
  }
  // Where the first block may begin, ascending: behind each class, with the next rack, ..., and with each rack where
  // nodes are missing.
  const std::vector<int64_t>& starts() const { return starts_; }
  // Visits where the next block may begin: right there, with the next node, rack, ..., or with any of the starts.
  template <typename Visit>
  void ForEachNext(int64_t end, Visit visit) const {
    visit(end);
    int64_t last = end;
    if (IsInsideNode(end)) {
      last = node_end_[static_cast<std::size_t>(end - 1)];
      visit(last);
    }
    for (const std::vector<int64_t>& ends : group_ends_) {
      const int64_t next = ends[static_cast<std::size_t>(end - 1)];
      if (next <= last || next >= class_end_[static_cast<std::size_t>(end - 1)]) continue;
      last = next;
      visit(last);
    }
    for (const int64_t start : starts_) {
      if (start > last) visit(start);
    }
  }
  // The slot of the row where such a block begins.
  int64_t SlotOf(int64_t end) const { return size() - end; }

 private:
  void SetGroups();
  // Whether no other class has the same devices, which may lie in the same rack.
  bool IsAlone(int32_t number) const;
  // The depth from which on to the front the nodes of a class follow each other without a gap; of a class that is not
  // alone, its end.
  int64_t WholeFrom(int32_t number) const;
  // Devices of a class in the largest group; without groups in a node.
  int64_t SpanOfGroups(int32_t number) const;
  void SetKinds();
  void SetStarts();

  const DeviceRow& row_;
  int32_t num_tiers_;
  bool are_in_order_ = true;
  // By group, then by depth: which one the device is in, and where what the row has of it ends.
  std::vector<std::vector<int64_t>> groups_;
  std::vector<std::vector<int64_t>> group_ends_;
  // By class.
  std::vector<int64_t> period_;
  // By depth.
  std::vector<int32_t> class_;
  std::vector<int64_t> node_end_;
  std::vector<int64_t> class_end_;
  std::vector<int64_t> kind_;
  std::vector<int64_t> starts_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_PLACES_H_
