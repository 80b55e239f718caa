// Matchers for what a validator found.
#ifndef PLANWRIGHT_TESTS_CORE_MODEL_VIOLATION_MATCHERS_H_
#define PLANWRIGHT_TESTS_CORE_MODEL_VIOLATION_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "core/base/violations.h"

namespace planwright {

// A violation of exactly this path and rule.
inline Violation Breaks(const std::string& path, const std::string& rule) { return {path, rule}; }

inline void PrintTo(const Violation& violation, std::ostream* out) { *out << violation.path << ": " << violation.rule; }

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_MODEL_VIOLATION_MATCHERS_H_
