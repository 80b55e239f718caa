#include "tests/benchmarks/chain_settings.h"

#include <cstdint>
#include <ctime>

#include "absl/strings/numbers.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/schedule/one_f_one_b_star.h"

namespace planwright::benchmarks {

std::vector<double> Numbers(const std::vector<std::string>& texts) {
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    double number = 0;
    if (absl::SimpleAtod(text, &number) && number >= 1) numbers.push_back(number);
  }
  return numbers;
}

ChainDevices DevicesOf(double count, double memory_gb) {
  return {static_cast<int32_t>(count), static_cast<int64_t>(memory_gb * 1e9), false};
}

double CpuMilliseconds() { return static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC; }

std::optional<Picoseconds> PipedreamPeriod(const Chain& chain, const ChainDevices& devices) {
  const auto partition = PipedreamPartition(chain, devices);
  if (!partition.has_value()) return std::nullopt;
  return SmallestPeriod(chain, partition->allocation, devices);
}

}  // namespace planwright::benchmarks
