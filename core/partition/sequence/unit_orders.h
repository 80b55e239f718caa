// Linear orders of the operators, cut into units that stay together.
#ifndef PLANWRIGHT_CORE_PARTITION_SEQUENCE_UNIT_ORDERS_H_
#define PLANWRIGHT_CORE_PARTITION_SEQUENCE_UNIT_ORDERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/partition/search/block_instance.h"
#include "core/partition/search/search.h"
#include "core/partition/sequence/interval_table.h"

namespace planwright {

// Immutable; any thread. Its orders have at most `max_units` units: blocks (block_instance.h), or runs of them
// (block_merging.h) where there are more.
class UnitOrders {
 public:
  UnitOrders(const SearchRequest& request, std::size_t max_units);

  // Blocks in the order of the operators, as far as precedence allows.
  UnitOrder Plain() const;
  // Whole layers, where operators have layers that may be parted and there are at most `max_units`.
  std::optional<UnitOrder> Layers() const;
  // Stage after stage of a contiguous placement, in single blocks around its borders and whole runs between;
  // Plain() where there are too many stages for that.
  UnitOrder Around(const Placement& placement) const;
  // Returns any other order.
  UnitOrder Random(RandomStream& random) const;
  // Whether blocks are joined to runs.
  bool is_coarse() const { return blocks_.operators.size() > max_units_; }
  // Whether there is another order.
  bool has_choice() const { return has_choice_; }

  const BlockInstance& blocks() const { return blocks_; }

 private:
  UnitOrder InOrder(const std::vector<int32_t>& order) const;

  const SearchRequest& request_;
  const std::size_t max_units_;
  const BlockInstance blocks_;
  const bool has_choice_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEQUENCE_UNIT_ORDERS_H_
