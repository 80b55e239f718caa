// Regular layouts of a pipeline on a grid: tensor groups, copies of them and stages each have a box of it, one inside
// the other in any order, and go around their boxes so that neighbours are neighbours.
#ifndef PLANWRIGHT_CORE_JOINT_PLACE_GRID_LAYOUTS_H_
#define PLANWRIGHT_CORE_JOINT_PLACE_GRID_LAYOUTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/cluster.h"

namespace planwright {

// A pipeline whose stages are all alike.
struct RegularPipeline {
  // Ranks of a tensor group, tensor groups of a stage, and stages.
  int64_t tensor = 1;
  int64_t copies = 1;
  int64_t stages = 1;
};

// Places of a box, the first dimension fastest, one after the other and back to the first: each step a neighbour, where
// a box has such a way; a line goes up in twos and comes back in twos.
std::vector<std::vector<int32_t>> WayAround(const std::vector<int32_t>& box);

// Devices of a grid in the order of the ranks, stage by stage, by layout: at most `most`, spread evenly over all that
// there are. Empty: the numbers do not divide the grid. O(layouts x devices).
std::vector<std::vector<std::size_t>> GridLayouts(const GridInterconnect& grid, const RegularPipeline& pipeline,
                                                  std::size_t most);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLACE_GRID_LAYOUTS_H_
