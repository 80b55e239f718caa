// MadPipe-DP: one stage on every device but one, the special device, which may hold any number of them (Beaumont,
// Eyraud-Dubois, Shilova: MadPipe, 2020, section 4.2). Exact, without the grid of the paper.
//
// Problem: the least T at which every load is at most T and the memory of every device suffices. A normal device stores
// what 1F1B* would at period T. Of the special device a lower bound is counted, as its stages can be interleaved in
// many ways: each stores one micro-batch less than under 1F1B*. So the period is a lower bound for what allocations of
// this kind can reach on this chain, and the allocation a candidate that a pattern search has to schedule.
//
// Idea: the paper tabulates (stages used, special load, special memory, delay) on a grid. Here the states of a layer
// are kept as a frontier: of two states the one that is no worse in every number makes the other superfluous, because
// all steps are monotone. The search over the paper's target T^ collapses: min over T^ of max(MadPipe-DP(T^), T^) is
// the least T at which "all loads <= T and the memory suffices at T^ = T" is possible, which bisection finds.
//
// Where the text is at odds with itself: the delay in front of a stage k .. l includes the transfer before it, C(k -
// 1); the text prints C(k). Buffers count only where a neighbour exists. As in the paper, a cut between two stages that
// are both special costs what any cut does, and the link between the special device and a normal one between two
// special stages carries each of its cuts as if it were alone.
//
// A frontier has some hundred states at most in practice; a decision takes O(L x frontier x (longest stage +
// frontier)).
#ifndef PLANWRIGHT_CORE_PARTITION_PERIODIC_MADPIPE_H_
#define PLANWRIGHT_CORE_PARTITION_PERIODIC_MADPIPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/model/chain.h"
#include "core/partition/periodic/contiguous_optimum.h"

namespace planwright {

// A stage of an allocation with one special device: the layers first .. next - 1, on that device or on one of their
// own.
struct SpecialStage {
  int32_t first = 0;
  int32_t next = 0;
  bool is_special = false;
};

// Numbers devices in the order of their first stage. `stages`: in the order of the chain.
ChainAllocation NumberDevices(const std::vector<SpecialStage>& stages);

// What the special device is said to need at least.
enum class SpecialMemory {
  // One micro-batch less than 1F1B* for each of its stages, as in the paper.
  kPaper,
  // When the stage that stores most starts a forward task it holds one more. With one special stage this is exact.
  kTight
};

// The least period and an allocation that has it; devices are numbered as the chain meets them. nullopt: there is none
// at any period. limits.work: states; where the limits end the search, the best that it has found, which need not be
// the optimum. Deterministic. REQUIRES, here and below: at least one layer and one device.
std::optional<PeriodicAllocation> MadpipeOptimum(const Chain& chain, const ChainDevices& devices, SpecialMemory memory,
                                                 const SolveLimits& limits = {});

// An allocation whose loads and memory, counted like that, fit this period; nullopt: there is none, or none was found
// within the limits. REQUIRES: period > 0.
std::optional<ChainAllocation> MadpipeAllocation(const Chain& chain, const ChainDevices& devices, SpecialMemory memory,
                                                 Picoseconds period, const SolveLimits& limits = {});

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_PERIODIC_MADPIPE_H_
