// Changes of an instance whose effect on the optimum is known without solving it.
#ifndef PLANWRIGHT_TESTS_PROPERTY_METAMORPHOSIS_H_
#define PLANWRIGHT_TESTS_PROPERTY_METAMORPHOSIS_H_

#include <cstdint>
#include <optional>

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

// Operators, tensors and consumers have another order, and other names if `renames`: the same objective and bound.
Instance WithGraphShuffled(Instance instance, RandomStream& random, bool renames);

// Devices have another order; nullopt where that changes what they are (interconnects that count places).
std::optional<Instance> WithDevicesShuffled(Instance instance, RandomStream& random);

// Without the last device, or the last of the outermost groups: a cluster that the instance's contains, in which no
// pair of devices has more bandwidth or less latency than there. nullopt: there is none, or the problem speaks of those
// that have gone.
std::optional<Instance> WithFewerDevices(Instance instance);

// Transfers take half the time or less: no objective gets worse.
Instance WithMoreBandwidth(Instance instance);

// One more device like the first: no objective gets worse.
Instance WithOneMoreDevice(Instance instance);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_METAMORPHOSIS_H_
