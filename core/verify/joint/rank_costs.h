// What a layer of a transformer costs one rank, straight from docs/training-costs.md: a second implementation of what
// core/joint/cost computes, which shares no code with it.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_RANK_COSTS_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_RANK_COSTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/ids.h"
#include "core/joint/cost/layer_price.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/model/cluster.h"
#include "core/model/joint.h"
#include "core/model/transformer_shape.h"
#include "core/verify/joint/machines.h"

namespace planwright::verify {

// How the stage of a layer is spread.
struct RankSpread {
  Degrees degrees;
  // Samples of a micro-batch on one rank of the data degree.
  int64_t samples = 1;
  Sharding sharding = Sharding::kNone;
  // Devices of a node that the class has; where pairs have links of their own, of a tensor group.
  int64_t node_size = 1;
  // Inside such, and between those of the stage.
  MachineLink inside = {};
  MachineLink between = {};
};

// Of all groups of `ranks` ranks, each `apart` from the next, how many of one group a node has that has any.
struct RanksTogether {
  int64_t fewest = 0;
  int64_t most = 0;
};

// Counted rank by rank: O(devices of the stage). REQUIRES: ranks >= 1.
RanksTogether RanksTogetherIn(int64_t ranks, int64_t apart, const RankSpread& spread);

// What is asked of those whose prices are looked at.
PriceQuery QueryOf(DeviceClassId device_class, const RankSpread& spread);

// Picoseconds and bytes before they are rounded.
struct RankCosts {
  struct Mode {
    double extra = 0;
    double kept = 0;
  };
  double forward = 0;
  double backward = 0;
  // The parts of both that exchanges among data ranks show.
  double forward_among_data = 0;
  double backward_among_data = 0;
  // These exchanges whole, and which share of them runs beside a pass.
  double forward_exchanges = 0;
  double backward_exchanges = 0;
  double hidden_share = 0;
  // The part of `backward` that makes the gradients of weights, and the bytes that these need of a micro-batch.
  double weights = 0;
  double kept_for_weights = 0;
  std::array<std::optional<Mode>, kNumRecomputations> modes;
  double recomputed = 0;
  double workspace = 0;
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double gathered = 0;
  double step_end = 0;
  // What both ends of the pipeline add up, as if links were used fully.
  double ends = 0;
  // Of the head, what it counts of a table that the embedding has as well.
  double tied_parameters = 0;
  double tied_gradients = 0;
  double tied_optimizer = 0;
  double tied_step_end = 0;
  double output = 0;
};

// The costs of the layer at `position`: 0 is the embedding, shape.layers + 1 the head. `efficiency`: of the class.
RankCosts CostsOfRank(const TransformerShape& shape, int32_t position, const DeviceClass& device,
                      const TrainingEfficiency& efficiency, const RankSpread& spread);

// The first number of `price` that is not one of `costs`, but for the rounding up to whole numbers, with both; empty:
// none. Times are not compared where they were measured (measured_costs.h).
std::string DifferenceOf(const LayerPrice& price, const RankCosts& costs);

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_RANK_COSTS_H_
