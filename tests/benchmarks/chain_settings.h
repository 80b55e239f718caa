// What the benchmarks on the chains of MadPipe's evaluation share: lists of settings, CPU time, PipeDream's period.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_CHAIN_SETTINGS_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_CHAIN_SETTINGS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/model/chain.h"
#include "tests/benchmarks/measurement.h"

namespace planwright::benchmarks {

// The numbers >= 1 among `texts`.
std::vector<double> Numbers(const std::vector<std::string>& texts);

// `count` devices with `memory_gb` x 10^9 bytes.
ChainDevices DevicesOf(double count, double memory_gb);

// Of this process.
double CpuMilliseconds();

template <typename Value>
struct Timed {
  Value value;
  double cpu_ms = 0;
};

// The value of the last of `runs` calls and the median of their CPU times. REQUIRES: runs >= 1.
template <typename Function>
auto Measure(int runs, const Function& function) {
  std::vector<double> times;
  for (int run = 1;; ++run) {
    const double start = CpuMilliseconds();
    auto value = function();
    times.push_back(CpuMilliseconds() - start);
    if (run >= runs) return Timed<decltype(value)>{std::move(value), Median(times)};
  }
}

// PipeDream's partition by the kinder memory rule, as 1F1B* can run it; nullopt: there is none that can be run.
std::optional<Picoseconds> PipedreamPeriod(const Chain& chain, const ChainDevices& devices);

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_CHAIN_SETTINGS_H_
