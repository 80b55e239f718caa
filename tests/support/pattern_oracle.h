// Periodic patterns from first principles: oracles too simple to be wrong. Shares no code with core/schedule.
#ifndef PLANWRIGHT_TESTS_SUPPORT_PATTERN_ORACLE_H_
#define PLANWRIGHT_TESTS_SUPPORT_PATTERN_ORACLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/chain.h"
#include "core/model/periodic_pattern.h"

namespace planwright {

// What is wrong with the pattern, as a sentence; empty: nothing. Tasks missing, doubled or superfluous, dependencies,
// overlap on a device or link: found by unrolling as many periods as it takes.
std::string FaultOf(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
                    const PeriodicPattern& pattern);

// By device: the most bytes at any moment of the steady state, by going through all moments at which something starts
// or ends. A task that ends makes room before one that starts at the same moment takes it.
std::vector<int64_t> SweptPeaks(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
                                const PeriodicPattern& pattern);

// Whether a pattern of this period exists, by trying all starts. REQUIRES: times of a few picoseconds, few stages.
bool ExistsPattern(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation, int64_t period);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_PATTERN_ORACLE_H_
