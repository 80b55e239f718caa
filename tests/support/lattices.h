// Synthetic instances whose number of ideals is known by formula, for benchmarks and for searches that must take long.
//
// Shapes, where `a` x `b` is in the name:
//   inc_AxB   11 blocks in series, each of A parallel chains of length B that a join ends:  11 (B + 1)^A + 1 ideals
//   grid_AxB  recurrent layers unrolled: A layers x B steps, each fed by its layer and its step:  binomial(A + B, A)
//   tow_AxB   A parallel towers of length B:  (B + 1)^A
// followed by "_lo" or "_hi": the mean transfer time is 0.02 or 0.5 of the mean time of an operator.
//
// Times are lognormal with deviation 0.5 of the logarithm, mean 1 ms on an accelerator; CPUs take ten times as long.
// Inference on six accelerators and one CPU, host-staged, without memory limits. The same name gives the same instance
// everywhere (seed 1). They are not the very instances of the prototype, whose random numbers are not recorded.
#ifndef PLANWRIGHT_TESTS_SUPPORT_LATTICES_H_
#define PLANWRIGHT_TESTS_SUPPORT_LATTICES_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/model/cluster.h"
#include "core/model/graph.h"

namespace planwright {

struct Lattice {
  OperatorGraph graph;
  Cluster cluster;
  int64_t num_ideals = 0;
};

// The instance called `name`, e.g. "inc_5x8_lo", for any A and B from 1 to 999 with fewer than 2^53 ideals;
// nullopt: no such name.
std::optional<Lattice> MakeLattice(std::string_view name);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_LATTICES_H_
