// Branch and bound over all allocations of a chain: proves that none has a shorter period, or finds one.
//
// For a period T the layers are given to devices from the last to the first, each as a stage of its own: a stage cut in
// two on its device never needs a longer period, so what no such map of layers reaches no allocation reaches. Devices
// are alike, so a layer goes to one in use or to the next one. Going this way the delay behind a layer is known, hence
// what every stage stores at least (allocation_annealer.h). A branch ends where a device has too much to do or to keep,
// or where the layers that are left do not fit: their work into what devices in use can still take, their average and
// their least memory, at the delay reached so far and with the cheapest ends of runs, into that of all devices
// (allocation_bound.h). Complete maps are judged by the exact pattern search. Exponential: good for chains of some
// twenty layers, and otherwise for raising a bound as far as the work goes. The papers do not prove anything here.
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_TREE_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_TREE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/cost/chain/chain_costs.h"
#include "core/model/chain.h"
#include "core/partition/periodic/allocation_annealer.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/delay.h"
#include "core/schedule/pattern_search.h"

namespace planwright {

// Keeps its memory between questions; not thread-safe. What it is given outlives it.
class AllocationTree {
 public:
  enum class Answer {
    // No allocation has a pattern of this period.
    kRefuted,
    // found() is one.
    kFound,
    // The limits ended the search, or a map of layers was possible that has too many stages.
    kUnknown
  };

  // REQUIRES: stages receive nothing (StagesReceive).
  AllocationTree(const Chain& chain, const ChainSums& sums, const ChainDevices& devices, int32_t max_stages_per_device);

  // limits.work: units (AnnealingWork::units), one for every node. REQUIRES: period > 0.
  Answer Decide(Picoseconds period, const SolveLimits& limits);

  const std::optional<ScheduledAllocation>& found() const { return found_; }
  // Over all questions.
  const AnnealingWork& work() const { return work_; }

 private:
  // What a device needs that holds some of the layers.
  struct Load {
    LeastDeviceUse need;
    // Static bytes, buffers and what is stored on average.
    double average_bytes = 0;
  };

  void Prepare();
  void Extend(int32_t left, Delay delay);
  void Place(int32_t layer, int32_t device, Delay delay);
  bool AddLinkLoad(const ChainCut& cut, int32_t from, int32_t to);
  void RemoveLinkLoad(const ChainCut& cut, int32_t from, int32_t to);
  bool AddLayer(int32_t layer, Delay delay, Load& load) const;
  bool Fits(const Load& load) const;
  bool RestMayFit(int32_t left, Delay delay) const;
  void JudgeMap();
  bool Schedule(const ChainAllocation& allocation);
  ChainAllocation Stages(bool are_merged) const;
  bool HasFewStages(const ChainAllocation& allocation) const;
  Picoseconds& LinkLoad(int32_t from, int32_t to);
  double Periods(Picoseconds time) const {
    return static_cast<double>(time.count()) / static_cast<double>(period_.count());
  }

  const Chain& chain_;
  const ChainSums& sums_;
  const ChainDevices& devices_;
  const int32_t max_stages_per_device_;
  PatternSearcher searcher_;
  // By number of layers from the first on: static bytes, stored bytes, stored bytes times the work from there to the
  // end of these layers, the shortest layer.
  std::vector<double> static_bytes_;
  std::vector<double> stored_bytes_;
  std::vector<double> stored_work_;
  std::vector<Picoseconds> shortest_;
  // Cheapest ends of runs between these layers at the period.
  std::vector<double> end_bytes_;

  Picoseconds period_{1};
  const SolveLimits* limits_ = nullptr;
  int64_t last_unit_ = 0;
  int64_t next_look_ = 0;
  bool is_unknown_ = false;
  // By layer; loads by device, devices in use come first.
  std::vector<int32_t> device_of_;
  std::vector<Load> loads_;
  std::vector<Picoseconds> link_loads_;
  int32_t num_used_ = 0;
  std::optional<ScheduledAllocation> found_;
  AnnealingWork work_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_ALLOCATION_TREE_H_
