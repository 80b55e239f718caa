// The claims of answers.h on a few instances of each mode; planwright_answers_judge looks at thousands.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tests/property/answers.h"
#include "tests/property/cases.h"

namespace planwright {
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

std::vector<InstanceMode> Modes() {
  std::vector<InstanceMode> modes(AllInstanceModes().begin(), AllInstanceModes().end());
  std::erase(modes, InstanceMode::kPeriodic);
  return modes;
}

INSTANTIATE_TEST_SUITE_P(Claims, AnswersPropertyTest,
                         ::testing::Combine(::testing::ValuesIn(AnswerClaims().begin(), AnswerClaims().end()),
                                            ::testing::ValuesIn(Modes())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::string(NameOf(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace planwright
