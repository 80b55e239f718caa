// The worked example of PERIODIC (docs/cost-model-examples.md): three operators in two stages, and patterns for them by
// hand.
#ifndef PLANWRIGHT_TESTS_SUPPORT_PERIODIC_EXAMPLE_H_
#define PLANWRIGHT_TESTS_SUPPORT_PERIODIC_EXAMPLE_H_

#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/problem.h"

namespace planwright {

// a -> b -> c and a -> c. Passes of a take 10 and 20 ps, of b 20 and 40, of c 30 and 60. Across the cut before c go 5
// ps and 50 bytes from b, 2 ps and 20 bytes from a. Micro-batches store 100, 200 and 400 bytes, parameters are 10, 20
// and 40 bytes, of which MadPipe keeps three copies; workspaces are 1, 2 and 3 bytes.
struct PeriodicExample {
  PeriodicExample();

  // {a, b} and {c} on two devices, with the pattern of the shortest period, 90 ps: the first stage stores 3
  // micro-batches at a time.
  static Placement Fastest();
  // These stages in 104 ps, which the first one needs to store no more than 2.
  Placement Smaller() const;
  // a and c on the first device, b on the second, one micro-batch after the other in 204 ps.
  static Placement OneAfterTheOther();

  OperatorGraph graph;
  // Two accelerators and a CPU, uniform.
  Cluster cluster;
  // TRAINING, COMPONENTS with the preset madpipe, PERIODIC, OVERLAPPED. Not resolved.
  PlanningProblem problem;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_PERIODIC_EXAMPLE_H_
