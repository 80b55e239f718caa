// The memory of operators that share a device, in the form that searches keep sums of (docs/cost-model.md section 7):
//   DECLARED    sum of memory_bytes
//   COMPONENTS  ceil(sum of parameter_bytes x copies) + in_flight x sum of stored bytes + largest workspace
//               + 2 x bytes of the tensors across the border + reserved_bytes
// TRAINING stores activation_bytes; recomputation FULL stores nothing of an operator, and its activations are part of
// the workspace in which they are made again. The verifier has a form of its own.
#ifndef PLANWRIGHT_CORE_COST_TERMS_MEMORY_FORM_H_
#define PLANWRIGHT_CORE_COST_TERMS_MEMORY_FORM_H_

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// What operators add to the memory of a device, whatever else is there. Bytes; 0 where the model counts them not.
struct MemoryParts {
  int64_t declared = 0;
  int64_t parameters = 0;
  // For each micro-batch in flight.
  int64_t stored = 0;
  // The scratch memory of the operator that needs the most.
  int64_t workspace = 0;

  void Add(const MemoryParts& other);
};

// ceil(parameter_bytes x copies): parameters, their versions, gradients and optimizer state.
int64_t ParameterStateBytes(int64_t parameter_bytes, double copies);

// A value: one resolved problem's way to count.
class MemoryForm {
 public:
  explicit MemoryForm(const ResolvedProblem& problem);

  bool is_declared() const { return is_declared_; }
  // Bytes kept for each byte of parameters: weight_versions + gradient_copies + optimizer; DECLARED: 0.
  double copies() const { return copies_; }
  // DECLARED: 0.
  int64_t reserved_bytes() const { return reserved_bytes_; }

  MemoryParts PartsOf(const Operator& op) const;
  MemoryParts PartsOf(const OperatorGraph& graph, const std::vector<OperatorId>& operators) const;

  // Two buffers for what crosses the border of a stage. `boundary_bytes`: its tensors, in or out, once. DECLARED: 0.
  int64_t BufferBytes(int64_t boundary_bytes) const { return is_declared_ ? 0 : 2 * boundary_bytes; }

  // All of a device whose operators add up to `parts`. Saturates at kMaxQuantity.
  int64_t TotalBytes(const MemoryParts& parts, int64_t boundary_bytes, int32_t in_flight) const;

 private:
  bool is_declared_;
  bool stores_activations_;
  bool makes_activations_again_;
  double copies_ = 0;
  int64_t reserved_bytes_ = 0;
};

// Memory of operators that share a device as one stage, under the resolved memory model (memory_form.h).
// `operators`: those that the workload keeps. `boundary_bytes`: sum of the sizes of the tensors that cross the border
// of the stage, in or out, each tensor once. Complexity O(operators).
int64_t StageMemoryBytes(const OperatorGraph& graph, const ResolvedProblem& problem,
                         const std::vector<OperatorId>& operators, int64_t boundary_bytes, int32_t in_flight);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_TERMS_MEMORY_FORM_H_
