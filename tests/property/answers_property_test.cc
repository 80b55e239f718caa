// The claims of answers.h on a few instances of each mode; planwright_answers_judge looks at thousands.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/property/answers.h"
#include "tests/property/cases.h"

namespace planwright {

void PrintTo(const Claim& claim, std::ostream* out) { *out << claim.text; }
void PrintTo(InstanceMode mode, std::ostream* out) { *out << NameOf(mode); }

namespace {

constexpr uint64_t kInstances = 12;
// Enough for instances of this size; a search that proves nothing ends by it.
constexpr int64_t kWork = 50'000;

using ClaimAndMode = std::tuple<Claim, InstanceMode>;

class AnswersPropertyTest : public ::testing::TestWithParam<ClaimAndMode> {};

TEST_P(AnswersPropertyTest, Holds) {
  const auto& [claim, mode] = GetParam();
  JudgeSettings settings;
  settings.work = kWork;
  settings.most_placements = 200'000;
  for (uint64_t seed = 0; seed < NumCases(kInstances); ++seed) {
    const Instance instance = InstanceFor(claim, mode, seed);
    const Finding finding = CheckClaim(claim, instance, seed, settings);
    EXPECT_LE(finding.outcome, Outcome::kHeld) << "seed " << seed << ": " << NameOf(finding.outcome) << " by "
                                               << 100 * finding.excess << " %: " << finding.text;
  }
}

std::vector<InstanceMode> AskedModes() {
  std::vector<InstanceMode> modes(AllInstanceModes().begin(), AllInstanceModes().end());
  std::erase(modes, InstanceMode::kPeriodic);
  return modes;
}

bool IsRanking(const Claim& claim) { return claim.name.starts_with("ranking_"); }

std::vector<Claim> ClaimsThat(bool rank) {
  std::vector<Claim> claims(AnswerClaims().begin(), AnswerClaims().end());
  std::erase_if(claims, [rank](const Claim& claim) { return IsRanking(claim) != rank; });
  return claims;
}

// A closed form is above what the simulator finds, and for some plans further than for others.
class RankingTest : public ::testing::TestWithParam<Claim> {};

TEST_P(RankingTest, TheObjectiveMostlyRanksAsTheSimulatorDoes) {
  constexpr uint64_t kPairs = 200;
  constexpr uint64_t kMostInstances = 4000;
  uint64_t pairs = 0;
  uint64_t held = 0;
  std::string disagreements;
  const std::vector<InstanceMode> modes = AskedModes();
  for (uint64_t i = 0; i < NumCases(kMostInstances) && pairs < NumCases(kPairs); ++i) {
    const InstanceMode mode = modes[i % modes.size()];
    const uint64_t seed = i / modes.size();
    const Finding finding = CheckClaim(GetParam(), InstanceFor(GetParam(), mode, seed), seed, JudgeSettings());
    ASSERT_NE(finding.outcome, Outcome::kUntrue) << NameOf(mode) << " " << seed << ": " << finding.text;
    if (finding.outcome == Outcome::kSkipped) continue;
    ++pairs;
    if (finding.outcome == Outcome::kHeld) ++held;
    if (finding.outcome == Outcome::kHeld) continue;
    disagreements += "\n" + std::string(NameOf(mode)) + " " + std::to_string(seed) + ": " + finding.text;
  }
  std::cout << held << " of " << pairs << " pairs are ranked alike; not these:" << disagreements << "\n";
  EXPECT_EQ(pairs, NumCases(kPairs));
  EXPECT_GE(static_cast<double>(held), 0.95 * static_cast<double>(pairs));
}

INSTANTIATE_TEST_SUITE_P(Schedules, RankingTest, ::testing::ValuesIn(ClaimsThat(/*rank=*/true)),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

INSTANTIATE_TEST_SUITE_P(Claims, AnswersPropertyTest,
                         ::testing::Combine(::testing::ValuesIn(ClaimsThat(/*rank=*/false)),
                                            ::testing::ValuesIn(AskedModes())),
                         [](const auto& chosen) {
                           return std::string(std::get<0>(chosen.param).name) + "_" +
                                  std::string(NameOf(std::get<1>(chosen.param)));
                         });

}  // namespace
}  // namespace planwright
