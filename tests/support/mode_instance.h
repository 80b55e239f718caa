// Random instances of every planning mode, made from those of random_instance.h.
#ifndef PLANWRIGHT_TESTS_SUPPORT_MODE_INSTANCE_H_
#define PLANWRIGHT_TESTS_SUPPORT_MODE_INSTANCE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/random.h"
#include "core/model/problem.h"
#include "tests/support/random_instance.h"

namespace planwright {

// Each with any overlap, GPIPE or another schedule (not with COMPONENTS memory), and sometimes whole layers, where the
// mode knows them.
enum class InstanceMode {
  // Contiguous stages.
  kContiguous,
  // Contiguous stages with replicas; the interconnect has a bandwidth.
  kReplicated,
  // Contiguous stages on at most four devices in one or two levels, half of the time with replicas.
  kHierarchy,
  // Contiguous stages on at most six devices of a grid, or joined by links, a matrix or nodes, half of the time with
  // replicas.
  kTopology,
  // Contiguous stages on at most six devices of any interconnect with a bandwidth, mostly with equal numbers of
  // replicas and a number of micro-batches, under the schedules that know one; rings in any order or in that of the
  // copies; pins and bans; sometimes so many stages, or so many replicas.
  kSteps,
  // Several stages per device; pins and bans, or replicas.
  kNonContiguous,
  // At most two accelerators; host-staged, serial; inference or explicit BACKWARD operators; one or two subgraphs per
  // device, or any number; pins
  // and bans; CPUs have no memory limit.
  kLatency,
  // PERIODIC: accelerators of one class, uniform; one stage per device or several, with or without a limit.
  kPeriodic,
  // Contiguous stages on at most four devices of any interconnect, whose memory is counted by COMPONENTS under
  // ONE_F_ONE_B or PIPEDREAM_ASYNC and just suffices for some pipeline; some devices reserve memory; mostly without
  // replicas.
  kTightMemory,
  // Contiguous stages with replicas of their own, in steps of a number of micro-batches, on at most four devices of any
  // interconnect.
  kPerStageSteps,
  // Contiguous stages on at most four devices of any interconnect, often of two classes, with pins, bans, a number of
  // stages and memory that some devices reserve; any replication.
  kConstrained
};

// All of them.
std::span<const InstanceMode> AllInstanceModes();

// "contiguous", "tight_memory", ...
std::string_view NameOf(InstanceMode mode);

// The instance number `seed` of the mode: the same on every machine. REQUIRES: max_operators >= 4.
Instance MakeModeInstance(InstanceMode mode, uint64_t seed, int max_operators);

// Restricts the instance to some of its devices, in one of the ways that a selection has; not where that contradicts
// a pin or tears the groups of a hierarchy.
Instance WithSelection(Instance instance, RandomStream& random);

// A placement as MakeRandomPlacement makes it, with replicas where the mode has them; where devices hold several stages
// or subgraphs, operators are assigned to devices at random and cut into stages along the order in which they are
// listed.
Placement MakeModePlacement(const Instance& instance, RandomStream& random);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_MODE_INSTANCE_H_
