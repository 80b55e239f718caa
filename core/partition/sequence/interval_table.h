// What a stage of consecutive units of one linear order would take: work, traffic with what lies before and behind it,
// memory.
//
// A unit is a set of operators that stay together. A stage is [begin, end). Its transfers go over two links, one to the
// stages before it and one to those behind: a tensor that skips a stage is counted on the link to its nearest
// neighbour, and one that several stages on one side read is counted once there. For chains this is exact.
#ifndef PLANWRIGHT_CORE_PARTITION_SEQUENCE_INTERVAL_TABLE_H_
#define PLANWRIGHT_CORE_PARTITION_SEQUENCE_INTERVAL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/cost/device_load.h"
#include "core/cost/terms/memory_form.h"
#include "core/model/graph.h"
#include "core/partition/search/search.h"

namespace planwright {

// Operators of each unit, in a topological order of the units.
using UnitOrder = std::vector<std::vector<OperatorId>>;

// Immutable; any thread. Memory: about 300 bytes for each pair of units.
class IntervalTable {
 public:
  // Operators that are in no unit are dropped ones. O(units^2 x (classes + 1) + tensors x units). The request outlives
  // the object.
  IntervalTable(const SearchRequest& request, UnitOrder units);

  std::size_t size() const { return units_.size(); }
  const UnitOrder& units() const { return units_; }

  // Members below: REQUIRES begin < end <= size(). Times in picoseconds, O(1).

  // What one micro-batch makes a device of the class do. `link_before`, `link_behind`: classes of the links (Network);
  // nothing is exchanged where begin is 0, or end is size().
  MicroBatchWork Work(std::size_t begin, std::size_t end, DeviceClassId device_class, std::size_t link_before,
                      std::size_t link_behind) const;
  // The time of everything that crosses from one unit to the next ones over links of the class, to compare classes.
  int64_t TimeOverLink(std::size_t link_class) const;
  int64_t ComputeTime(std::size_t begin, std::size_t end, DeviceClassId device_class) const;
  // Where the longest stage begins that ends at `end` and whose operators the class can run.
  std::size_t FirstBegin(DeviceClassId device_class, std::size_t end) const {
    return first_begin_[device_class.index()][end];
  }
  // The memory of a device that keeps what `in_flight` micro-batches store.
  int64_t MemoryBytes(std::size_t begin, std::size_t end, int32_t in_flight) const;
  // MemoryBytes without transfer buffers: grows with the stage.
  int64_t LeastMemoryBytes(std::size_t begin, std::size_t end, int32_t in_flight) const;
  // What all stages of a pipeline hold together at least.
  int64_t SharedMemoryBytes() const;
  int64_t ParameterBytes(std::size_t begin, std::size_t end) const {
    return parameters_before_[end] - parameters_before_[begin];
  }

 private:
  // Transfers over one link: what their time grows with, and how many there are.
  struct Flow {
    int64_t amount = 0;
    int64_t transfers = 0;

    void operator+=(const Flow& other) {
      amount += other.amount;
      transfers += other.transfers;
    }
  };
  // With the stages on one side, by the pass of the producer.
  struct Exchange {
    Flow forward_in;
    Flow forward_out;
    Flow backward_in;
    Flow backward_out;
    // Sizes of these tensors.
    int64_t bytes = 0;

    void operator+=(const Exchange& other);
  };
  struct Cell {
    Exchange before;
    Exchange behind;
    int64_t workspace = 0;
  };
  // How long a flow takes over links of a class: latency x transfers + amount x rate.
  struct Speed {
    int64_t latency = 0;
    double rate = 0;
  };

  std::size_t CellOf(std::size_t begin, std::size_t end) const { return begin * (units_.size() + 1) + end; }
  void AddUnits();
  void AddWorkspace();
  void AddTensors();
  void AddTensor(const Tensor& tensor, const std::vector<int32_t>& unit_of);
  void SumUp();
  Flow FlowOf(const Tensor& tensor) const;
  static Picoseconds TimeOf(const Flow& flow, const Speed& speed);
  MemoryParts MemoryPartsOf(std::size_t begin, std::size_t end) const;
  void AddExchange(const Exchange& exchange, const Speed& speed, MicroBatchWork& work) const;

  const SearchRequest& request_;
  const UnitOrder units_;
  const bool gradients_follow_;
  // Transfers take what they take over the only class of links.
  const bool has_one_speed_;
  const bool cpus_pay_;
  const MemoryForm form_;
  // By link class.
  std::vector<Speed> speeds_;
  // By class, before each unit.
  std::vector<std::vector<int64_t>> forward_before_;
  std::vector<std::vector<int64_t>> backward_before_;
  std::vector<std::vector<std::size_t>> first_begin_;
  // Before each unit.
  std::vector<int64_t> parameters_before_;
  std::vector<int64_t> stored_before_;
  std::vector<int64_t> declared_before_;
  std::vector<Cell> cells_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEQUENCE_INTERVAL_TABLE_H_
