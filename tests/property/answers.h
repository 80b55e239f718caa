// What answers shall be, as claims that are checked on one random instance after the other: by tests with a few of
// them, by planwright_answers_judge with thousands.
#ifndef PLANWRIGHT_TESTS_PROPERTY_ANSWERS_H_
#define PLANWRIGHT_TESTS_PROPERTY_ANSWERS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/random.h"
#include "tests/support/mode_instance.h"
#include "tests/support/random_instance.h"

namespace planwright {

enum class Outcome {
  // The claim does not speak of this instance: this version refuses it, brute force would take too long, ...
  kSkipped,
  kHeld,
  // The plan is best, or there is none, and nothing proves it.
  kUnproven,
  // The plan, or the other of two plans, is not as good as it shall be.
  kWorse,
  // There is a plan, and none was found.
  kNoPlan,
  // A wrong number, a bound or proof that is refuted, an error, an end without a reason.
  kUntrue
};
inline constexpr int kNumOutcomes = 6;

std::string_view NameOf(Outcome outcome);

struct Finding {
  Outcome outcome = Outcome::kSkipped;
  // How much longer it takes than it shall, as a share of that: 0.02 for 51 instead of 50.
  double excess = 0;
  // What was found; empty where the claim held.
  std::string text = {};
};

struct JudgeSettings {
  // nullopt: the algorithm's default.
  std::optional<int64_t> work;
  // Of one plan; the clock is a safety stop.
  std::chrono::seconds time_limit{60};
  // Beyond that full enumeration is not asked.
  double most_placements = 1e7;
};

struct Claim {
  std::string_view name;
  std::string_view text;
  // The instances are small enough for brute force.
  bool is_small = false;
  Finding (*check)(const Instance& instance, RandomStream& random, const JudgeSettings& settings);
};

// "optimum", "growing_cluster", "named_algorithm", "input_order", "granularity", "explained_end"; "bound_SCHEDULE" and
// "ranking_SCHEDULE" (simulation_claims.h).
std::span<const Claim> AnswerClaims();

// Instance number `seed` of the mode for the claim: with at most `operators` operators, 0 for as many as the claim can
// bear.
Instance InstanceFor(const Claim& claim, InstanceMode mode, uint64_t seed, int operators = 0);

// REQUIRES: the mode is none of PERIODIC.
Finding CheckClaim(const Claim& claim, const Instance& instance, uint64_t seed, const JudgeSettings& settings);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_PROPERTY_ANSWERS_H_
