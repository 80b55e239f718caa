// Changes of a request whose effect on the answer is known: to the optimum, or none at all.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/property/metamorphosis.h"
#include "tests/property/planning.h"
#include "tests/support/random_instance.h"

namespace planwright {
namespace {

// Beyond brute force, and with some thousands of ideals at most.
constexpr int kMaxOperators = 24;
constexpr uint64_t kMetamorphicInstances = 500;
constexpr int64_t kFactor = 7;

// Checks compare(before, after) for each pair of proven optima, and that `change` keeps feasible what was.
template <typename Change, typename Compare>
void ExpectMetamorphosis(const Change& change, const Compare& compare) {
  int compared = 0;
  ForEachInstance(kMetamorphicInstances, kMaxOperators, [&](const Instance& instance, uint64_t seed) {
    RandomStream random(seed, 2);
    const std::optional<Instance> changed = change(instance, random);
    if (!changed.has_value()) return;
    const absl::StatusOr<Plan> before = MakePlanOf(instance);
    const absl::StatusOr<Plan> after = MakePlanOf(*changed);
    if (!before.ok()) return;
    ASSERT_TRUE(after.ok()) << after.status() << "\nafter the change:\n" << Describe(*changed);
    if (!before->provenance.proven_optimal || !after->provenance.proven_optimal) return;
    ++compared;
    EXPECT_TRUE(compare(before->objective, after->objective))
        << "before " << before->objective.count() << " after " << after->objective.count() << "\nafter the change:\n"
        << Describe(*changed);
  });
  EXPECT_GT(compared, 100);
}

using MaybeInstance = std::optional<Instance>;

TEST(MetamorphicTest, LongerTimesScaleTheOptimum) {
  ExpectMetamorphosis(
      [](const Instance& instance, RandomStream&) {
        return HasTransferTimes(instance) ? MaybeInstance(Slowed(instance, kFactor)) : std::nullopt;
      },
      [](Picoseconds before, Picoseconds after) { return after == kFactor * before; });
}

TEST(MetamorphicTest, NamesAndOrderChangeNothing) {
  ExpectMetamorphosis(
      [](const Instance& instance, RandomStream& random) { return MaybeInstance(Shuffled(instance, random)); },
      [](Picoseconds before, Picoseconds after) { return after == before; });
}

TEST(MetamorphicTest, MoreBandwidthNeverHurts) {
  ExpectMetamorphosis(
      [](const Instance& instance, RandomStream&) { return MaybeInstance(WithMoreBandwidth(instance)); },
      [](Picoseconds before, Picoseconds after) { return after <= before; });
}

TEST(MetamorphicTest, OneMoreDeviceNeverHurts) {
  ExpectMetamorphosis(
      [](const Instance& instance, RandomStream&) { return MaybeInstance(WithOneMoreDevice(instance)); },
      [](Picoseconds before, Picoseconds after) { return after <= before; });
}

TEST(MetamorphicTest, ThreadsChangeNothing) {
  ForEachInstance(kMetamorphicInstances, kMaxOperators, [](const Instance& instance, uint64_t) {
    const absl::StatusOr<Plan> alone = MakePlanOf(instance);
    const absl::StatusOr<Plan> together = MakePlanOf(instance, SolverOptions(), SolveLimits(), 3);
    ASSERT_EQ(alone.status(), together.status());
    if (!alone.ok()) return;
    EXPECT_EQ(alone->objective, together->objective);
    EXPECT_EQ(alone->lower_bound, together->lower_bound);
    ASSERT_EQ(alone->stages.size(), together->stages.size());
    for (std::size_t i = 0; i < alone->stages.size(); ++i) {
      EXPECT_EQ(alone->stages[i].operators, together->stages[i].operators);
      EXPECT_EQ(alone->stages[i].replicas[0].device, together->stages[i].replicas[0].device);
    }
  });
}

TEST(MetamorphicTest, TheExactSearchIsNeverWorseThanOneLinearOrder) {
  ForEachInstance(kMetamorphicInstances, kMaxOperators, [](const Instance& instance, uint64_t) {
    SolverOptions linearized;
    linearized.algorithm = Algorithm::kLinearizedDp;
    const absl::StatusOr<Plan> exact = MakePlanOf(instance);
    const absl::StatusOr<Plan> simple = MakePlanOf(instance, linearized);
    if (!simple.ok()) return;
    ASSERT_TRUE(exact.ok()) << exact.status();
    EXPECT_LE(exact->objective, simple->objective);
    EXPECT_LE(simple->lower_bound, exact->objective);
  });
}

}  // namespace
}  // namespace planwright
