// What layers cost a rank whose passes a profile has measured, straight from docs/importing.md: a second implementation
// of what core/joint/cost says.
#ifndef PLANWRIGHT_CORE_VERIFY_JOINT_MEASURED_COSTS_H_
#define PLANWRIGHT_CORE_VERIFY_JOINT_MEASURED_COSTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/joint/cost/layer_price.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/transformer_shape.h"
#include "core/verify/joint/rank_costs.h"

namespace planwright::verify {

// The rows of a profile, by what they were measured of.
class MeasuredRows {
 public:
  // The graph outlives the object.
  explicit MeasuredRows(const OperatorGraph& graph);

  // The row that holds for a layer: its own before that of all layers, that of the class before that of all classes;
  // nullptr: none does.
  const MeasuredLayer* Of(const std::string& label, const std::string& device_class, const RankSpread& spread) const;

 private:
  // Layer, class, degrees, samples.
  using Case = std::tuple<std::string, std::string, int32_t, int32_t, int32_t, int64_t>;

  std::map<Case, const MeasuredLayer*> rows_;
};

// `spread` without what a profile of single ranks leaves out, on its own links and on ones that take no time. What is
// not measured itself is the same share of what is as on links in between; `are_known`: as on its own ones.
struct ProfiledSpreads {
  RankSpread slowest;
  RankSpread fastest;
};
ProfiledSpreads SpreadsOfProfile(RankSpread spread, bool are_known);

// As DifferenceOf, of a layer that `row` says the passes of. `costs`: as if nothing were measured; `slowest`,
// `fastest`: likewise, on the spreads above.
std::string DifferenceOfMeasured(const LayerPrice& price, const MeasuredLayer& row, const RankCosts& costs,
                                 const RankCosts& slowest, const RankCosts& fastest);

}  // namespace planwright::verify

#endif  // PLANWRIGHT_CORE_VERIFY_JOINT_MEASURED_COSTS_H_
