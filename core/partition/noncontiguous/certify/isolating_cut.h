// The least load of a device that holds some groups and not others: a minimum cut.
//
// A set S of groups costs the times of its groups and the weight of the nets that lie partly in it. A net is an arc of
// its weight between two vertices that its groups reach freely (for two groups: one arc in both directions), the time
// of a group is an arc to the sink, and the least cost is a maximum flow (Dinic), which stops as soon as it is known to
// reach a limit.
#ifndef PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_ISOLATING_CUT_H_
#define PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_ISOLATING_CUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/polling.h"
#include "core/partition/noncontiguous/certify/load_relaxation.h"

namespace planwright {

enum class Side : uint8_t { kFree, kInside, kOutside };
enum class CutCost { kNetsOnly, kNetsAndTimes };

// One thread; owns what it needs of the relaxation.
class IsolatingCut {
 public:
  explicit IsolatingCut(const LoadRelaxation& relaxation);

  // The least cost of a set with all groups that are kInside and none that is kOutside; at least `limit`, which says
  // nothing more, as soon as that is certain. Groups that no payer can run count as outside. When `poller` says stop,
  // what the flow has reached by then: a lower bound. REQUIRES: one side for each group.
  int64_t Minimum(std::span<const Side> sides, CutCost cost, int64_t limit, Poller& poller);

  // Whether the smallest of the cheapest sets holds `group`. REQUIRES: the last Minimum was below its limit.
  bool holds(int32_t group) const { return level_[static_cast<std::size_t>(group)] >= 0; }

  // Vertices and arcs looked at so far: what the work is counted in.
  int64_t steps() const { return steps_; }

 private:
  struct Arc {
    int32_t head;
    // Position of the arc in the opposite direction.
    int32_t reverse;
  };

  static void AddNet(const Net& net, int32_t& next_vertex, std::vector<std::vector<Arc>>& arcs,
                     std::vector<std::vector<int64_t>>& capacities);
  int64_t Prepare(std::span<const Side> sides, CutCost cost);
  // Whether a vertex with a way out is reachable.
  bool SetLevels();
  int64_t AugmentFrom(int32_t source, int64_t limit);
  // Moves along one path that ends at the sink; false: there is none any more. `path_`: its arcs.
  bool FindPath(int32_t source);

  std::vector<int64_t> payer_time_;
  // Arcs by tail: first_arc_[v] .. first_arc_[v + 1].
  std::vector<int32_t> first_arc_;
  std::vector<Arc> arcs_;
  std::vector<int64_t> capacity_;

  // What the flow under way leaves of the capacities, in both directions.
  std::vector<int64_t> residual_;
  // By vertex: what can leave to the sink.
  std::vector<int64_t> to_sink_;
  std::vector<int32_t> sources_;
  std::vector<int32_t> level_;
  std::vector<int32_t> next_arc_;
  std::vector<int32_t> queue_;
  std::vector<int32_t> path_;
  int32_t path_end_ = 0;
  int64_t steps_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_NONCONTIGUOUS_CERTIFY_ISOLATING_CUT_H_
