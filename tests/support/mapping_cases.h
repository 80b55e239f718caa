// Seeded device mapping problems of a few devices, and their best values by trying everything.
#ifndef PLANWRIGHT_TESTS_SUPPORT_MAPPING_CASES_H_
#define PLANWRIGHT_TESTS_SUPPORT_MAPPING_CASES_H_

#include <cstdint>
#include <optional>

#include "core/base/random.h"
#include "core/mapping/problem/mapping_instance.h"

namespace planwright {

// 1 .. max_devices devices, some of which may take no part, of one or two kinds, and as many replicas as fit or fewer.
// Every interconnect, objective, overlap, both ring orders, asymmetric links, latencies, stages without traffic. Some
// have no mapping.
MappingInstance MakeRandomMappingInstance(int32_t max_devices, RandomStream& random);

// The same, but every stage has a number of replicas of its own.
MappingInstance MakeUnevenMappingInstance(int32_t max_devices, RandomStream& random);

// A random mapping; nullopt: there is none.
std::optional<Mapping> MakeRandomMapping(const MappingInstance& instance, RandomStream& random);

// The least value of all mappings; nullopt: there is none. For up to 8 devices.
std::optional<double> BestValueByBruteForce(const MappingInstance& instance);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_MAPPING_CASES_H_
