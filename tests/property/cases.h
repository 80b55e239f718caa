// How many cases a property test looks at.
#ifndef PLANWRIGHT_TESTS_PROPERTY_CASES_H_
#define PLANWRIGHT_TESTS_PROPERTY_CASES_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace planwright {

// `usual` times $PLANWRIGHT_PROPERTY_FACTOR, for long runs: 10 looks at ten times as many. Unset: 1.
inline uint64_t NumCases(uint64_t usual) {
  const char* factor = std::getenv("PLANWRIGHT_PROPERTY_FACTOR");
  return factor == nullptr ? usual : usual * std::max<uint64_t>(1, std::strtoull(factor, nullptr, 10));
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_CASES_H_
