// Which stage every operator is in.
#ifndef PLANWRIGHT_CORE_COST_TERMS_STAGE_MAP_H_
#define PLANWRIGHT_CORE_COST_TERMS_STAGE_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/plan.h"

namespace planwright {

// Immutable.
class StageMap {
 public:
  static constexpr int32_t kNone = -1;

  // REQUIRES: every operator is in at most one stage.
  StageMap(std::size_t num_operators, const std::vector<Stage>& stages) : stage_(num_operators, kNone) {
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      for (const OperatorId op : stages[stage].operators) stage_[op.index()] = static_cast<int32_t>(stage);
    }
  }

  // Position of the operator's stage; kNone: the workload drops the operator.
  int32_t operator[](OperatorId op) const { return stage_[op.index()]; }

 private:
  std::vector<int32_t> stage_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_STAGE_MAP_H_
