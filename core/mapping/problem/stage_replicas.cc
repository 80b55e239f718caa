#include "core/mapping/problem/stage_replicas.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace planwright {

StageReplicas::StageReplicas(std::vector<int32_t> of_stage) : of_stage_(std::move(of_stage)) {
  for (const int32_t replicas : of_stage_) {
    before_.push_back(vertices_.size());
    vertices_.resize(vertices_.size() + Index(replicas));
  }
  const int32_t most = of_stage_.empty() ? 0 : *std::ranges::max_element(of_stage_);
  for (int32_t replica = 0; replica < most; ++replica) {
    for (int32_t stage = 0; stage < num_stages(); ++stage) {
      if (replica >= Of(stage)) continue;
      vertices_[BeforeStage(stage) + Index(replica)] = stage_of_.size();
      stage_of_.push_back(stage);
      replica_of_.push_back(replica);
    }
  }
}

StageReplicas::StageReplicas(int32_t num_stages, int32_t of_each)
    : StageReplicas(std::vector<int32_t>(Index(num_stages), of_each)) {}

bool StageReplicas::are_equal() const {
  return std::ranges::adjacent_find(of_stage_, std::not_equal_to()) == of_stage_.end();
}

}  // namespace planwright
