// How many cases a property test looks at.
#ifndef PLANWRIGHT_TESTS_PROPERTY_CASES_H_
#define PLANWRIGHT_TESTS_PROPERTY_CASES_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace planwright {

// $PLANWRIGHT_PROPERTY_FACTOR: 10 looks at ten times as many cases, in long runs, 0.2 at a fifth, in slow
// builds. Unset: 1.
inline double CasesFactor() {
  const char* factor = std::getenv("PLANWRIGHT_PROPERTY_FACTOR");
  return factor == nullptr ? 1 : std::strtod(factor, nullptr);
}

inline uint64_t NumCases(uint64_t usual) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(usual) * CasesFactor()));
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_CASES_H_
