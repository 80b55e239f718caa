// How many replicas each stage has, how all of them are numbered, and which of them meet.
//
// Micro-batch n runs on replica n mod R of a stage, so replicas r and q of two stages with R and Q replicas meet where
// r and q are equal modulo gcd(R, Q), in one micro-batch out of lcm(R, Q) (docs/cost-model.md sections 14 and 15). With
// equal numbers they pair off.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_STAGE_REPLICAS_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_STAGE_REPLICAS_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/index.h"

namespace planwright {

// A vertex is a replica of a stage. Vertices are numbered replica by replica, and of each replica by stage.
class StageReplicas {
 public:
  StageReplicas() = default;
  // By stage. REQUIRES: each at least 1.
  explicit StageReplicas(std::vector<int32_t> of_stage);
  // Of each stage equally many.
  StageReplicas(int32_t num_stages, int32_t of_each);

  int32_t num_stages() const { return static_cast<int32_t>(of_stage_.size()); }
  std::size_t num_vertices() const { return stage_of_.size(); }
  int32_t Of(int32_t stage) const { return of_stage_[Index(stage)]; }
  bool are_equal() const;
  // Replicas of the stages before this one.
  std::size_t BeforeStage(int32_t stage) const { return before_[Index(stage)]; }
  std::size_t VertexOf(int32_t stage, int32_t replica) const { return vertices_[BeforeStage(stage) + Index(replica)]; }
  int32_t StageOf(std::size_t vertex) const { return stage_of_[vertex]; }
  int32_t ReplicaOf(std::size_t vertex) const { return replica_of_[vertex]; }

  // Calls visit(vertex of a, vertex of b) for all replicas of the two stages that meet.
  template <typename Visit>
  void ForEachMeeting(int32_t a, int32_t b, Visit visit) const {
    const int32_t common = std::gcd(Of(a), Of(b));
    for (int32_t replica = 0; replica < Of(a); ++replica) {
      for (int32_t other = replica % common; other < Of(b); other += common) {
        visit(VertexOf(a, replica), VertexOf(b, other));
      }
    }
  }

 private:
  std::vector<int32_t> of_stage_;
  std::vector<std::size_t> before_;
  // Stage by stage.
  std::vector<std::size_t> vertices_;
  // By vertex.
  std::vector<int32_t> stage_of_;
  std::vector<int32_t> replica_of_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_STAGE_REPLICAS_H_
