// What people configure by hand: as many layers in every stage, one spread, one sharding and one recomputation for all
// (the grid that guides of Megatron-LM describe).
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_EQUAL_STAGES_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_EQUAL_STAGES_H_

#include <cstdint>
#include <vector>

#include "core/joint/search/families.h"
#include "core/joint/search/stage_pass.h"
#include "core/model/joint.h"

namespace planwright {

struct EqualStagePipeline {
  PipelineFamily family;
  int32_t num_stages = 1;
  // Wanted for all layers; and what most of them have then.
  LayerRecomputation recomputation = LayerRecomputation::kNone;
  LayerRecomputation most_have = LayerRecomputation::kNone;
  StagePipeline pipeline;
  int64_t step_ps = 0;
};

// The best `count` of them under `order` (not INTERLEAVED), best first. The first and the last layer of the chain (the
// embedding and the head) are not counted; the others divide by the number of stages. `families`: of one spread each,
// by bound.
std::vector<EqualStagePipeline> BestEqualStages(const JointSpace& space, PipelineOrder order,
                                                const std::vector<PipelineFamily>& families, std::size_t count,
                                                Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_EQUAL_STAGES_H_
