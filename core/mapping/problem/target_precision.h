// How closely the proofs of bounds tell targets apart.
#ifndef PLANWRIGHT_CORE_MAPPING_PROBLEM_TARGET_PRECISION_H_
#define PLANWRIGHT_CORE_MAPPING_PROBLEM_TARGET_PRECISION_H_

namespace planwright {

// Times a value: just below it, closer than mappings that differ, further than rounding.
inline constexpr double kJustBelowValue = 1 - 5e-10;
// What is refuted and what is not are as close as that before the next means is used.
inline constexpr double kTargetsMeet = 1 + 1e-7;

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROBLEM_TARGET_PRECISION_H_
