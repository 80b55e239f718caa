// That the version of an algorithm changes when its plans do.
//
// Plans that are kept, in caches and stores, are taken for what a search would find today as long as the version of
// their algorithm is today's. So there is a digest of what each algorithm plans for a fixed set of problems, and it
// stands here beside the version. The problems are larger than what is proven at once and the work is little, so that
// most changes of a search change a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "core/partition/mip/mip_solver.h"
#include "core/planner/algorithms/algorithms.h"
#include "tests/property/planning.h"
#include "tests/support/digest.h"
#include "tests/support/mode_instance.h"

namespace planwright {

// What the framework prints for a parameter.
inline void PrintTo(const AlgorithmRow& info, std::ostream* out) { *out << info.name; }

namespace {

constexpr uint64_t kSeedsPerMode = 10;
constexpr int kMaxOperators = 40;
// An integer program takes seconds where others take milliseconds.
constexpr int kMaxOperatorsOfMip = 10;
constexpr int64_t kWork = 20'000;

void AddPlan(const Plan& plan, Digest& digest) {
  digest.Add(plan.objective.count());
  digest.Add(plan.lower_bound.count());
  for (const Stage& stage : plan.stages) {
    digest.Add(-1);
    for (const OperatorId op : stage.operators) digest.Add(static_cast<int64_t>(op.index()));
    for (const Replica& replica : stage.replicas) digest.Add(static_cast<int64_t>(replica.device.index()));
    for (const DeviceId device : stage.ring_order) digest.Add(static_cast<int64_t>(device.index()));
  }
  for (const ScheduledTask& task : plan.tasks) {
    digest.Add(task.start.count());
    digest.Add(task.index_shift);
  }
}

struct Planned {
  uint64_t digest = 0;
  int plans = 0;
};

Planned PlansOf(Algorithm algorithm) {
  Planned planned;
  Digest digest;
  const int max_operators = algorithm == Algorithm::kMip ? kMaxOperatorsOfMip : kMaxOperators;
  SolverOptions options;
  options.algorithm = algorithm;
  options.work_limit = kWork;
  for (const InstanceMode mode : AllInstanceModes()) {
    for (uint64_t seed = 1; seed <= kSeedsPerMode; ++seed) {
      const Instance instance = MakeModeInstance(mode, seed, max_operators);
      if (!IsSupported(instance, options)) continue;
      const absl::StatusOr<Plan> plan = MakePlanOf(instance, options);
      digest.Add(static_cast<int64_t>(seed));
      digest.Add(static_cast<int64_t>(plan.status().code()));
      if (!plan.ok()) continue;
      AddPlan(*plan, digest);
      ++planned.plans;
    }
  }
  planned.digest = digest.value();
  return planned;
}

struct Known {
  std::string_view name;
  std::string_view version;
  uint64_t digest;
};

constexpr std::array<Known, 21> kKnown = {{
    {"ideal_dp", "3", 0xf94e8838d211637e},        {"linearized_dp", "3", 0xac89cc3bb519bade},
    {"hierarchical_dp", "3", 0x1f0651b86d1e17c2}, {"latency_annealing", "2", 0x66659056991f1336},
    {"net_annealing", "2", 0xb4690e03f0917be8},   {"mip", "3", 0xdb8999d660e37548},
    {"single_device", "2", 0x4e54513906cfecd4},   {"data_parallel", "2", 0x646236e191096f82},
    {"greedy", "2", 0xa6fb12a1876a7283},          {"local_search", "2", 0x3b8b24860108803a},
    {"pipedream", "2", 0x38b1ba6ddab199bb},       {"scotch", "2", 0x27e4885d1ec6193a},
    {"max_load", "2", 0x917fc35bc15116db},        {"contiguous_periodic", "2", 0xd3d395fd0bd5c5b0},
    {"madpipe", "2", 0x8b2b686ceacd311c},         {"periodic_annealing", "2", 0x91e3eef8e3ff03df},
    {"parmesan", "3", 0xe4a9373c0c522600},        {"parmesan_paper", "2", 0x5ba011d51c6944f1},
    {"enumeration", "2", 0xd37b0f4df9aa1eb0},     {"sequence_dp", "1", 0x1fcb8fdefe1a3a1b},
    {"stage_annealing", "2", 0x883c38282a9ac7ad},
}};

class PlanDigestsTest : public testing::TestWithParam<AlgorithmRow> {};

TEST_P(PlanDigestsTest, ChangeTogetherWithTheVersion) {
  const AlgorithmRow& info = GetParam();
  if (info.algorithm == Algorithm::kMip && !HasMipSolver()) GTEST_SKIP() << "this build has no CBC";
  const Planned planned = PlansOf(info.algorithm);
  const std::string row = absl::StrFormat("{\"%s\", \"%s\", 0x%016x}", info.name, info.version, planned.digest);
  const auto* known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& one) { return one.name == info.name; });
  ASSERT_NE(known, kKnown.end()) << "add " << row;
  EXPECT_GE(planned.plans, 3) << "too few of the problems are planned by " << info.name;
  if (planned.digest != known->digest) {
    EXPECT_NE(info.version, known->version)
        << "plans of " << info.name << " have changed: raise the version in its row, beside the search";
  }
  EXPECT_TRUE(planned.digest == known->digest && info.version == known->version)
      << "with that version the row in this file is " << row;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PlanDigestsTest, testing::ValuesIn(Algorithms().begin(), Algorithms().end()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace planwright
