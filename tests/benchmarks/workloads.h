// The named workloads of the benchmark, with the figures that others measured on them.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_WORKLOADS_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_WORKLOADS_H_

#include <optional>
#include <span>
#include <string_view>

namespace planwright::benchmarks {

// Where the graph comes from.
enum class Source {
  // A published file: `name` below workloads/device-placement/throughput of the shared directory.
  kPublished,
  // tests/support/lattices.h.
  kLattice,
  // "{model}@{cluster}" of the zoo.
  kZoo
};

// Figures of others, on one pinned core of another machine.
struct Reference {
  // Published files: user and system time of the reference program (dp.cpp of device-placement). Lattices:
  // solve time of the prototype of this algorithm, on another instance of the same shape.
  std::optional<double> cpu_s;
  // Published files: peak resident set of the reference program, 13.7 being the least that was measurable. Lattices:
  // the prototype's stored ideals.
  std::optional<double> memory_mb;
};

struct Workload {
  std::string_view name;
  Source source = Source::kPublished;
  Reference reference;
  // Large enough that a second thread can pay: measured again with one and two threads.
  bool measures_threads = false;
};

std::span<const Workload> Workloads();

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_WORKLOADS_H_
