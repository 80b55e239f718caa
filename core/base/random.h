// Random numbers that are the same on every machine.
//
// The distributions of <random> are implementation-defined, so plans and generated instances draw from these functions
// only. Independent streams come from (seed, stream) pairs, so parallel work draws the same numbers for any number of
// threads.
#ifndef PLANWRIGHT_CORE_BASE_RANDOM_H_
#define PLANWRIGHT_CORE_BASE_RANDOM_H_

#include <cstdint>

namespace planwright {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Not thread-safe.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed, uint64_t stream = 0);

  // Uniform over all 64-bit values.
  uint64_t Next();
  // Uniform over 0 .. bound - 1, without bias. REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform over low .. high. REQUIRES: low <= high.
  int64_t Between(int64_t low, int64_t high);
  // Uniform over [0, 1) with 53 bits.
  double Unit();
  // Normal with mean 0 and deviation 1 (Box-Muller). Its last bits may depend on the machine's log and cos.
  double Normal();

 private:
  uint64_t state_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_RANDOM_H_
