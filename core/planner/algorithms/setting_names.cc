#include "core/planner/algorithms/setting_names.h"

#include <array>
#include <cstddef>
#include <utility>

namespace planwright {
namespace {

template <typename Value, std::size_t kSize>
using Names = std::array<std::pair<Value, std::string_view>, kSize>;

constexpr Names<Objective, 3> kObjectives = {{{Objective::kMaxThroughput, "MAX_THROUGHPUT"},
                                              {Objective::kMinLatency, "MIN_LATENCY"},
                                              {Objective::kMinDevices, "MIN_DEVICES"}}};

constexpr Names<ScheduleKind, 8> kSchedules = {{{ScheduleKind::kSteadyState, "unspecified"},
                                                {ScheduleKind::kGpipe, "GPIPE"},
                                                {ScheduleKind::kOneFOneB, "ONE_F_ONE_B"},
                                                {ScheduleKind::kPipedreamAsync, "PIPEDREAM_ASYNC"},
                                                {ScheduleKind::kPeriodic, "PERIODIC"},
                                                {ScheduleKind::kInterleaved, "INTERLEAVED"},
                                                {ScheduleKind::kChimera, "CHIMERA"},
                                                {ScheduleKind::kZeroBubbleH1, "ZERO_BUBBLE_H1"}}};

constexpr Names<Replication, 3> kReplications = {
    {{Replication::kNone, "NONE"}, {Replication::kUniform, "UNIFORM"}, {Replication::kPerStage, "PER_STAGE"}}};

constexpr Names<Split, 2> kSplits = {{{Split::kContiguous, "CONTIGUOUS"}, {Split::kNonContiguous, "NON_CONTIGUOUS"}}};

constexpr Names<Overlap, 3> kOverlaps = {
    {{Overlap::kSerial, "SERIAL"}, {Overlap::kOverlapped, "OVERLAPPED"}, {Overlap::kFullDuplex, "FULL_DUPLEX"}}};

template <typename Value, std::size_t kSize>
std::string_view Find(const Names<Value, kSize>& names, Value value) {
  for (const auto& [one, name] : names) {
    if (one == value) return name;
  }
  return "";
}

}  // namespace

std::string_view NameOf(Objective value) { return Find(kObjectives, value); }
std::string_view NameOf(ScheduleKind value) { return Find(kSchedules, value); }
std::string_view NameOf(Replication value) { return Find(kReplications, value); }
std::string_view NameOf(Split value) { return Find(kSplits, value); }
std::string_view NameOf(Overlap value) { return Find(kOverlaps, value); }

}  // namespace planwright
