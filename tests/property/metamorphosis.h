// Changes of an instance whose effect on the optimum is known without solving it.
#ifndef PLANWRIGHT_TESTS_PROPERTY_METAMORPHOSIS_H_
#define PLANWRIGHT_TESTS_PROPERTY_METAMORPHOSIS_H_

#include <cstdint>

#include "core/base/random.h"
#include "tests/support/random_instance.h"

namespace planwright {

// Every time is `factor` times as long: so is every objective.
// REQUIRES: every tensor has a transfer time; those from a bandwidth are rounded.
Instance Slowed(Instance instance, int64_t factor);

// Whether Slowed may be applied.
bool HasTransferTimes(const Instance& instance);

// Operators, tensors, consumers, device classes and devices have other names and another order: the same objective.
Instance Shuffled(const Instance& instance, RandomStream& random);

// Transfers take half the time or less: no objective gets worse.
Instance WithMoreBandwidth(Instance instance);

// One more device like the first: no objective gets worse.
Instance WithOneMoreDevice(Instance instance);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_METAMORPHOSIS_H_
