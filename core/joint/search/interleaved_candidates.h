// Which forms an interleaved pipeline of a family may have, and where its stages may lie.
#ifndef PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_CANDIDATES_H_
#define PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/dealing/interleaving.h"
#include "core/joint/search/families.h"
#include "core/joint/slots/chunk_slots.h"
#include "core/joint/stages/stage_table.h"
#include "core/model/joint.h"

namespace planwright {

// A family, of one spread, on one class with its number of stages and chunks, and a bound.
struct InterleavedCandidate {
  const PipelineFamily* family = nullptr;
  // Among all families.
  std::size_t family_number = 0;
  int32_t class_number = 0;
  int32_t num_stages = 1;
  int32_t chunks = 1;
  int64_t bound_ps = 0;

  SlotShape shape() const { return {num_stages, chunks, family->micro_batches}; }
  // Of one stage.
  int64_t devices() const { return family->degrees.front().devices(); }
};

using BoundOfForm = absl::FunctionRef<int64_t(const StageTable& table, int32_t num_stages, int32_t chunks)>;

// Adds every number of stages and chunks that the family may have on each class, if its bound is below `sought`.
// O(classes x devices x chunks).
void ListCandidates(const JointSpace& space, const std::vector<PipelineFamily>& families, std::size_t family,
                    BoundOfForm bound_of, int64_t sought, std::vector<InterleavedCandidate>& candidates);

// In an order that depends on nothing else.
void SortByBound(std::vector<InterleavedCandidate>& candidates);

// The fastest link on which so many stages of the candidate can be together.
const TrainingLink& LinkOfStages(const JointSpace& space, const InterleavedCandidate& candidate, int64_t stages);

// With the cheapest boundaries on the fastest links. O(layers).
Interleaving InterleavingOf(const JointSpace& space, const InterleavedCandidate& candidate, const StageTable& table);

// What all boundaries between chunks take at least, at both of their ends.
int64_t CutsOf(const Interleaving& interleaving);

// No stage's end of the step is the longest with less.
int64_t StepEndOf(const JointSpace& space, const Interleaving& interleaving, const StageTable& table);

// What layers that are computed again take at least of a micro-batch, so that all fit; nullopt: they do not. O(layers).
std::optional<int64_t> LeastAgainPs(const JointSpace& space, const InterleavedCandidate& candidate,
                                    const StageTable& table);

// Where the stages begin: one after the other, and, if that is otherwise, each as close as it can be, which leaves
// nodes between them idle. O(devices).
std::vector<std::vector<int64_t>> LayoutsOf(const JointSpace& space, const InterleavedCandidate& candidate);

// Without recomputation and costs. `cuts`: where chunks begin, and behind the last one; `slots`: where stages begin.
JointPlan PlanOf(const InterleavedCandidate& candidate, const std::vector<int32_t>& cuts,
                 const std::vector<int64_t>& slots);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_SEARCH_INTERLEAVED_CANDIDATES_H_
