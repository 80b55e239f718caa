#include "core/verify/linear_order.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/model/colocation.h"

namespace planwright {
namespace {

// A FORWARD tensor that a BACKWARD operator reads may go either way: it travels in the pass that goes there.
bool GoesAgainstItsPass(Pass producer, std::size_t from, Pass consumer, std::size_t to, bool gradients_listed_forward) {
  if (consumer == Pass::kForward) return to < from;
  return producer == Pass::kBackward && (gradients_listed_forward ? to < from : from < to);
}

}  // namespace

bool CheckLinearOrder(const OperatorGraph& graph, const ResolvedProblem& problem, const Assignment& assignment,
                      Violations& violations) {
  const bool gradients_listed_forward = ListsGradientsForward(graph, ColocationUnions(graph, problem));
  const std::size_t violations_before = violations.count();
  for (const Tensor& tensor : graph.tensors) {
    if (!assignment.places(tensor.producer)) continue;
    const std::size_t from = assignment.stage_index(tensor.producer);
    const Pass pass = graph.operators[tensor.producer.index()].pass;
    for (const OperatorId consumer : tensor.consumers) {
      if (!assignment.places(consumer)) continue;
      const std::size_t to = assignment.stage_index(consumer);
      if (!GoesAgainstItsPass(pass, from, graph.operators[consumer.index()].pass, to, gradients_listed_forward))
        continue;
      violations.Add(assignment.OperatorPath(consumer),
                     absl::StrCat("tensor '", tensor.name, "' of the ", pass == Pass::kForward ? "forward" : "backward",
                                  " pass comes from stage ", assignment.stages[from].given_index, " to stage ",
                                  assignment.stages[to].given_index, "; PERIODIC takes stages in the order given"));
    }
  }
  return violations.count() == violations_before;
}

}  // namespace planwright
