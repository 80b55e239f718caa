// planwright_answers_judge: checks claims about answers (answers.h) on random instances of each mode, and prints for
// each claim and mode how often they held, the greatest excess, and the first misses with the numbers of their
// instances. Exit codes: 0, all held; 1, something was missed; 2, wrong flags.
//
//   planwright_answers_judge --claims=optimum --modes=topology,tight_memory --cases=2000 --first=100000
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_format.h"
#include "core/base/strings.h"
#include "tests/property/answers.h"

ABSL_FLAG(std::vector<std::string>, claims, {}, "names of claims; empty: all of them");
ABSL_FLAG(std::vector<std::string>, modes, {}, "names of modes; empty: all but periodic");
ABSL_FLAG(uint64_t, cases, 200, "instances of each mode and claim");
ABSL_FLAG(uint64_t, first, 0, "number of the first instance: other numbers, other problems");
ABSL_FLAG(int, operators, 0, "most operators of an instance; 0: as the claim can bear");
ABSL_FLAG(int64_t, work, 0, "work limit of each plan; 0: the default");
ABSL_FLAG(int64_t, time_limit_s, 60, "time limit of each plan");
ABSL_FLAG(double, most_placements, 1e7, "brute force is not asked beyond so many placements");
ABSL_FLAG(uint64_t, list, 5, "misses to print of each claim and mode");
ABSL_FLAG(bool, describe, false, "print the instances of these misses in full");
ABSL_FLAG(bool, unproven, true, "what is right but not proven is a miss");

namespace planwright {
namespace {

struct Tally {
  std::array<uint64_t, kNumOutcomes> counts{};
  double greatest_excess = 0;
  uint64_t listed = 0;

  uint64_t of(Outcome outcome) const { return counts.at(static_cast<std::size_t>(outcome)); }
};

bool IsChosen(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool IsMiss(const Finding& finding) {
  if (finding.outcome == Outcome::kUnproven) return absl::GetFlag(FLAGS_unproven);
  return finding.outcome > Outcome::kHeld;
}

JudgeSettings SettingsOfFlags() {
  JudgeSettings settings;
  if (absl::GetFlag(FLAGS_work) > 0) settings.work = absl::GetFlag(FLAGS_work);
  settings.time_limit = std::chrono::seconds(absl::GetFlag(FLAGS_time_limit_s));
  settings.most_placements = absl::GetFlag(FLAGS_most_placements);
  return settings;
}

// Whether nothing was missed.
bool Judge(const Claim& claim, InstanceMode mode) {
  const JudgeSettings settings = SettingsOfFlags();
  Tally tally;
  uint64_t misses = 0;
  const uint64_t first = absl::GetFlag(FLAGS_first);
  for (uint64_t seed = first; seed < first + absl::GetFlag(FLAGS_cases); ++seed) {
    const Instance instance = InstanceFor(claim, mode, seed, absl::GetFlag(FLAGS_operators));
    const Finding finding = CheckClaim(claim, instance, seed, settings);
    ++tally.counts.at(static_cast<std::size_t>(finding.outcome));
    tally.greatest_excess = std::max(tally.greatest_excess, finding.excess);
    if (!IsMiss(finding)) continue;
    ++misses;
    if (tally.listed++ >= absl::GetFlag(FLAGS_list)) continue;
    std::cout << absl::StrFormat("  %s %s %d: %s %.2f %% %s\n", ToAbsl(claim.name), ToAbsl(NameOf(mode)), seed,
                                 ToAbsl(NameOf(finding.outcome)), 100 * finding.excess, finding.text)
              << std::flush;
    if (absl::GetFlag(FLAGS_describe)) std::cout << Describe(instance);
  }
  std::cout << absl::StrFormat("%-16s %-16s", ToAbsl(claim.name), ToAbsl(NameOf(mode)));
  for (int i = 0; i < kNumOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    std::cout << absl::StrFormat("  %s %d", ToAbsl(NameOf(outcome)), tally.of(outcome));
  }
  std::cout << absl::StrFormat("  greatest excess %.2f %%\n", 100 * tally.greatest_excess) << std::flush;
  return misses == 0;
}

int Run() {
  bool all_held = true;
  bool any = false;
  for (const Claim& claim : AnswerClaims()) {
    if (!IsChosen(absl::GetFlag(FLAGS_claims), claim.name)) continue;
    for (const InstanceMode mode : AllInstanceModes()) {
      if (mode == InstanceMode::kPeriodic || !IsChosen(absl::GetFlag(FLAGS_modes), NameOf(mode))) continue;
      any = true;
      if (!Judge(claim, mode)) all_held = false;
    }
  }
  if (!any) std::cerr << "no claim or mode has such a name\n";
  if (!any) return 2;
  return all_held ? 0 : 1;
}

}  // namespace
}  // namespace planwright

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Checks claims about answers on random problems; see --helpshort.");
  absl::ParseCommandLine(argc, argv);
  return planwright::Run();
}
