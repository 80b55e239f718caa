// What a stage between two ideals takes and holds (docs/joint-search.md, section 9).
#ifndef PLANWRIGHT_CORE_JOINT_ROUNDROBIN_STAGE_LOADS_H_
#define PLANWRIGHT_CORE_JOINT_ROUNDROBIN_STAGE_LOADS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/joint/roundrobin/again_choice.h"
#include "core/joint/roundrobin/ideal_list.h"
#include "core/joint/roundrobin/round_robin_instance.h"

namespace planwright {

// The operators of one ideal that another does not have, at one tensor degree.
struct StageSpan {
  // Positions in IdealList::ideals.
  std::size_t before = 0;
  std::size_t behind = 0;
  // In RoundRobinInstance::tensor_degrees.
  std::size_t degree = 0;
};

struct StageSums {
  // Both passes, where nothing is computed again.
  int64_t time_ps = 0;
  int64_t transfer_ps = 0;
  int64_t parameter_bytes = 0;
  int64_t kept_bytes = 0;
  int64_t fixed_bytes = 0;
};

class StageLoads {
 public:
  // Both outlive it. O(ideals x (operators + edges) x degrees).
  StageLoads(const RoundRobinInstance& instance, const IdealList& list);

  // nullopt: an operator cannot be in a stage of the degree. REQUIRES: `behind` holds `before`.
  std::optional<StageSums> SumsOf(const StageSpan& span) const;

  // Load per micro-batch of one replica of `data`: what it does of its own ones, and its part of reducing gradients.
  int64_t LoadPs(const StageSums& sums, int64_t extra_ps, int32_t data) const;
  // The most that may be computed again with a load of at most `cap_ps`; below 0: nothing at all.
  int64_t SparePs(const StageSums& sums, int32_t data, int64_t cap_ps) const;
  int64_t ReducePs(const StageSums& sums, int32_t data) const;

  // Bytes beyond the memory of the number-th of RoundRobinInstance::memories; at most 0: it fits.
  int64_t MissingBytes(const StageSums& sums, int64_t in_flight, std::size_t number) const;
  // Operators whose computing again saves bytes, the cheapest for a byte first.
  std::vector<AgainItem> ItemsOf(const StageSpan& span, int64_t in_flight);

  enum class Greedy { kFits, kNeverFits, kOpen };
  // Takes the cheapest operators until they save `needed_bytes`, in at most `spare_ps`. kNeverFits: not even where the
  // last one counts in part. The same as ChooseAgain in fewer steps, but for kOpen.
  Greedy TakeCheapest(const StageSpan& span, int64_t in_flight, int64_t needed_bytes, int64_t spare_ps);

  // Device-time of all operators of an ideal, each at its best degree.
  int64_t LeastDeviceTime(std::size_t ideal) const { return device_time_[ideal]; }

 private:
  // Items of all operators at a degree, those that are cheapest for a byte first.
  const std::vector<AgainItem>& SortedItems(std::size_t degree, int64_t in_flight);
  bool IsIn(const StageSpan& span, int32_t op) const {
    return list_.ideals[span.behind].Has(op) && !list_.ideals[span.before].Has(op);
  }

  // Sums over the operators of an ideal.
  struct Prefix {
    StageSums sums;
    int64_t forbidden = 0;
    // Edges that leave the ideal: their bytes where they are read and where they are made.
    int64_t entering_bytes = 0;
    int64_t leaving_bytes = 0;
  };

  const RoundRobinInstance& instance_;
  const IdealList& list_;
  // By degree and ideal.
  std::vector<std::vector<Prefix>> prefixes_;
  // Edges that leave an ideal.
  std::vector<std::vector<uint32_t>> leaving_;
  std::vector<int64_t> device_time_;
  // By degree and micro-batches in flight.
  std::map<std::pair<std::size_t, int64_t>, std::vector<AgainItem>> items_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_ROUNDROBIN_STAGE_LOADS_H_
