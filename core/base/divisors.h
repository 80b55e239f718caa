// The divisors of a number.
#ifndef PLANWRIGHT_CORE_BASE_DIVISORS_H_
#define PLANWRIGHT_CORE_BASE_DIVISORS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace planwright {

// Ascending. O(sqrt(number)). REQUIRES: number >= 1.
inline std::vector<int64_t> DivisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t low = 1; low <= number / low; ++low) {
    if (number % low != 0) continue;
    divisors.push_back(low);
    if (low != number / low) divisors.push_back(number / low);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_DIVISORS_H_
