// Predicts training runs that somebody measured, and prints what was measured, what is said of it and how far the two
// are apart, as the pages of docs/results have it:
//
//   planwright_published_runs_benchmark --runs=FILE
//
// First with the built-in classes and a factor for each source, then held out: by fits to the runs of other groups that
// begin with the defaults, and, for the order of layouts, by fits to the runs of other sources. Last, the published
// layouts beside the plans that the joint search makes for the same model, devices and batch, by the same costs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/units.h"
#include "core/joint/calibration/accelerators.h"
#include "core/joint/calibration/efficiency_fit.h"
#include "core/joint/calibration/fit_errors.h"
#include "core/joint/calibration/read_runs.h"
#include "tests/support/planned_runs.h"
#include "tests/support/shared_dir.h"

ABSL_FLAG(std::string, runs, "", "measured runs, comma-separated values; none: the shared ones");

namespace planwright {
namespace {

constexpr int kFolds = 5;
constexpr int kRounds = 20;

// Core rows in 16 bits, of which the headline errors speak.
bool IsTypical(const JudgedRun& judged) { return judged.run->is_core && !judged.run->shape.eight_bit_products; }

std::string Layout(const Degrees& degrees, std::size_t num_stages, int32_t chunks) {
  std::string text = absl::StrCat("t", degrees.tensor, " d", degrees.data);
  if (num_stages > 1) absl::StrAppend(&text, " p", num_stages);
  if (chunks > 1) absl::StrAppend(&text, " v", chunks);
  if (degrees.context > 1) absl::StrAppend(&text, " c", degrees.context);
  if (degrees.expert > 1) absl::StrAppend(&text, " e", degrees.expert);
  return text;
}

std::string Layout(const TrainingRun& run) {
  return Layout(run.degrees, static_cast<std::size_t>(run.num_stages), run.chunks);
}

std::string_view WordOf(LayerRecomputation recomputation) {
  if (recomputation == LayerRecomputation::kNone) return "none";
  return recomputation == LayerRecomputation::kSelective ? "selective" : "full";
}

// In brackets what the record does not say.
std::string Setting(const JudgedRun& judged) {
  const std::string size = absl::StrCat(judged.setting.micro_batch);
  const std::string mode(WordOf(judged.setting.recomputation));
  const bool says_mode = judged.run->recomputation == judged.setting.recomputation;
  return absl::StrCat(judged.run->micro_batch.has_value() ? size : "(" + size + ")", " ",
                      says_mode ? mode : "(" + mode + ")");
}

std::string Percent(const std::optional<double>& error) {
  return error.has_value() ? absl::StrFormat("%+.1f %%", 100 * *error) : "";
}

std::string Memory(const JudgedRun& judged) {
  const double predicted = static_cast<double>(judged.prediction->memory_bytes) / kGiB;
  const char* verdict = judged.prediction->fits ? "" : ", too much";
  if (!judged.run->peak_memory_bytes.has_value()) return absl::StrFormat("%.0f%s", predicted, verdict);
  return absl::StrFormat("%.0f (%.0f)%s", predicted, static_cast<double>(*judged.run->peak_memory_bytes) / kGiB,
                         verdict);
}

void PrintRuns(const std::vector<JudgedRun>& judged) {
  std::cout
      << "| run | devices | layout | micro-batch, recomputation | measured s | class alone s | error | with factor s "
         "| error | GiB (published) |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const JudgedRun& each : judged) {
    const TrainingRun& run = *each.run;
    std::cout << absl::StrFormat("| %s%s | %d %s | %s | %s |", run.id, IsTypical(each) ? "" : " *", run.devices,
                                 run.device.name, Layout(run), Setting(each));
    if (!each.prediction.has_value()) {
      std::cout << " the layout cannot be priced | | | | | |\n";
      continue;
    }
    const double alone = each.prediction->step_seconds;
    std::optional<double> error;
    if (run.step_seconds.has_value()) error = alone / *run.step_seconds - 1;
    const std::string measured =
        run.step_seconds.has_value() ? absl::StrFormat("%.3f", *run.step_seconds) : "out of memory";
    std::cout << absl::StrFormat(" %s | %.3f | %s | %.3f | %s | %s |\n", measured, alone, Percent(error),
                                 each.step_seconds, Percent(each.StepError()), Memory(each));
  }
}

// How many layers compute anything again.
std::string Again(const JointPlan& plan) {
  int64_t again = 0;
  int64_t all = 0;
  for (const JointStage& stage : plan.stages) {
    for (const JointChunk& chunk : stage.chunks) {
      all += std::ssize(chunk.recomputation);
      again += std::ssize(chunk.recomputation) -
               std::count(chunk.recomputation.begin(), chunk.recomputation.end(), LayerRecomputation::kNone);
    }
  }
  if (again == 0) return "none";
  return again == all ? "all" : absl::StrCat(again, " of ", all);
}

void PrintPlans(const std::vector<JudgedRun>& judged, const EfficiencyFit& fit) {
  std::cout << "\n| run | published layout | class alone s | planned layout | micro-batch, layers that compute again | "
               "planned s | published takes more |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  std::vector<double> gains;
  for (const JudgedRun& each : judged) {
    if (!each.prediction.has_value() || !each.prediction->fits) continue;
    const std::optional<JointPlan> plan = PlanInPlaceOf(*each.run, fit.classes.at(each.run->family));
    if (!plan.has_value()) continue;
    const double planned = static_cast<double>(plan->step.count()) / kPicosecondsPerSecond;
    gains.push_back(each.prediction->step_seconds / planned - 1);
    std::cout << absl::StrFormat("| %s | %s | %.3f | %s | %d %s | %.3f | %s |\n", each.run->id, Layout(*each.run),
                                 each.prediction->step_seconds,
                                 Layout(plan->stages.front().degrees, plan->stages.size(), plan->chunks),
                                 plan->micro_batch_samples, Again(*plan), planned, Percent(gains.back()));
  }
  const auto slower = std::count_if(gains.begin(), gains.end(), [](double gain) { return gain < -2e-4; });
  std::cout << absl::StrFormat(
      "\nOf %d plans %d take longer than what was published; in the median that takes %.1f %% more.\n", gains.size(),
      slower, 100 * Summarise(gains).median);
}

void PrintErrors(const std::string& what, const std::vector<JudgedRun>& judged) {
  std::vector<double> with_factor;
  std::vector<double> alone;
  std::vector<double> memory;
  int ran = 0;
  int misjudged = 0;
  for (const JudgedRun& each : judged) {
    if (each.MemoryError().has_value()) memory.push_back(*each.MemoryError());
    if (each.prediction.has_value()) {
      ++ran;
      if (each.prediction->fits == each.run->ran_out_of_memory) ++misjudged;
    }
    if (!IsTypical(each) || !each.StepError().has_value()) continue;
    with_factor.push_back(*each.StepError());
    alone.push_back(each.prediction->step_seconds / *each.run->step_seconds - 1);
  }
  const ErrorSummary factor = Summarise(with_factor);
  const ErrorSummary plain = Summarise(alone);
  const ErrorSummary peak = Summarise(memory);
  std::cout << absl::StrFormat("| %s | %d | %.1f %% | %.0f %% | %.1f %% | %.0f %% | %.1f %% of %d | %d of %d |\n", what,
                               factor.runs, 100 * factor.median, 100 * factor.within_20_percent, 100 * plain.median,
                               100 * plain.within_20_percent, 100 * peak.median, peak.runs, ran - misjudged, ran);
}

// Pairs of each source by a fit to all others.
PairSummary ComparePairsHeldOut(const std::vector<TrainingRun>& runs) {
  std::set<std::string> sources;
  for (const TrainingRun& run : runs) sources.insert(run.source);
  PairSummary sum;
  for (const std::string& source : sources) {
    std::vector<TrainingRun> others;
    std::vector<TrainingRun> own;
    for (const TrainingRun& run : runs) (run.source == source ? own : others).push_back(run);
    const EfficiencyFit start = DefaultEfficiency(runs);
    const PairSummary pairs = ComparePairs(JudgeRuns(own, FitEfficiency(others, start)));
    sum.pairs += pairs.pairs;
    sum.ranked_right += pairs.ranked_right;
  }
  return sum;
}

// Two groups of five left out at random, again and again: order and times of the runs left out.
void PrintLeftOutAtRandom(const std::vector<TrainingRun>& runs) {
  std::mt19937 random(1);
  PairSummary pairs;
  std::vector<double> errors;
  for (int round = 0; round < kRounds; ++round) {
    std::map<std::string, bool> is_left_out;
    std::vector<TrainingRun> kept;
    std::vector<TrainingRun> left_out;
    for (const TrainingRun& run : runs) {
      const auto [group, is_new] = is_left_out.try_emplace(run.group);
      if (is_new) group->second = random() % 5 < 2;
      (group->second ? left_out : kept).push_back(run);
    }
    const std::vector<JudgedRun> judged = JudgeRuns(left_out, FitEfficiency(kept, DefaultEfficiency(runs)));
    const PairSummary ranked = ComparePairs(judged);
    pairs.pairs += ranked.pairs;
    pairs.ranked_right += ranked.ranked_right;
    for (const JudgedRun& each : judged) {
      if (IsTypical(each) && each.StepError().has_value()) errors.push_back(*each.StepError());
    }
  }
  const ErrorSummary summary = Summarise(errors);
  std::cout << absl::StrFormat(
      "With two groups of five left out at random, %d times: median error %.1f %%, %.0f %% within 20 %%, %d of %d "
      "pairs of runs "
      "left out ranked right.\n\n",
      kRounds, 100 * summary.median, 100 * summary.within_20_percent, pairs.ranked_right, pairs.pairs);
}

int Main() {
  std::string path = absl::GetFlag(FLAGS_runs);
  if (path.empty()) path = SharedFile("workloads/published-runs/runs.csv").value_or("workloads/published-runs");
  const std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const auto runs = ReadTrainingRuns(text.str());
  if (!file || !runs.ok()) {
    std::cerr << path << ": " << (file ? runs.status().ToString() : "cannot be read") << "\n";
    return 2;
  }
  EfficiencyFit built_in = EfficiencyInForce(*runs);
  built_in.slowness = SlownessOfSources(*runs, built_in);
  const std::vector<JudgedRun> judged = JudgeRuns(*runs, built_in);
  const std::vector<JudgedRun> held_out = JudgeHeldOut(*runs, DefaultEfficiency(*runs), kFolds);
  std::cout
      << "| | core runs in 16 bits | median error with the source's factor | within 20 % | median error of the class "
         "alone | within 20 % | median error of memory | judged right to fit |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  PrintErrors("built-in classes", judged);
  PrintErrors("held out", held_out);
  const PairSummary pairs = ComparePairs(judged);
  const PairSummary pairs_held_out = ComparePairsHeldOut(*runs);
  std::cout << absl::StrFormat(
      "\nPairs of layouts ranked right: %d of %d; by fits to other sources alone: %d of %d.\n\n", pairs.ranked_right,
      pairs.pairs, pairs_held_out.ranked_right, pairs_held_out.pairs);
  PrintLeftOutAtRandom(*runs);
  std::cout << "| source | measured over predicted |\n| --- | --- |\n";
  for (const auto& [source, slowness] : built_in.slowness)
    std::cout << absl::StrFormat("| %s | %.3f |\n", source, slowness);
  std::cout << "\n";
  PrintRuns(judged);
  PrintPlans(judged, built_in);
  return 0;
}

}  // namespace
}  // namespace planwright

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("predicts measured training runs: planwright_published_runs_benchmark --runs=FILE");
  absl::ParseCommandLine(argc, argv);
  return planwright::Main();
}
