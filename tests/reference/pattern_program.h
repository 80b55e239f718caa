// The integer program of the shortest periodic pattern of an allocation: the same problem as pattern_search.h, solved
// by somebody else.
//
// With all times divided by the period, rate = 1 / period is to be maximised, and everything is linear: starts s, index
// shifts k of the steps of one resource, and memory, which is linear in the shifts. No constant has to be large, no
// period to be guessed. MadPipe (section 4.3) uses an ILP that its text does not print.
#ifndef PLANWRIGHT_TESTS_REFERENCE_PATTERN_PROGRAM_H_
#define PLANWRIGHT_TESTS_REFERENCE_PATTERN_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/chain.h"
#include "core/partition/mip/integer_program.h"

namespace planwright {

struct PatternProgram {
  // Minimises minus the rate; the rate 1 stands for a period of `unit`.
  IntegerProgram program;
  Picoseconds unit{1};
  int32_t rate = 0;
};

// `unit` is the largest load of a device or link, at least 1 ps, so the rate is at most 1. O(steps^2).
// REQUIRES: the stages cover the chain in its order.
PatternProgram BuildPatternProgram(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_REFERENCE_PATTERN_PROGRAM_H_
