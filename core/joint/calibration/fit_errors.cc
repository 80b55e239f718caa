#include "core/joint/calibration/fit_errors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>

#include "core/base/known.h"

namespace planwright {
namespace {

constexpr double kWorthComparing = 1.05;

JudgedRun Judge(const TrainingRun& run, const EfficiencyFit& fit) {
  const TrainingEfficiency& efficiency = fit.classes.at(run.family);
  JudgedRun judged{.run = &run, .setting = AssumedSetting(run, efficiency), .prediction = {}};
  judged.prediction = PredictRun(run, efficiency, judged.setting);
  if (judged.prediction.has_value()) judged.step_seconds = judged.prediction->step_seconds * fit.SlownessOf(run.source);
  return judged;
}

bool AreLaidOutAlike(const JudgedRun& a, const JudgedRun& b) {
  return a.run->degrees == b.run->degrees && a.run->num_stages == b.run->num_stages && a.run->chunks == b.run->chunks &&
         a.run->sharding == b.run->sharding && a.setting.micro_batch == b.setting.micro_batch &&
         a.run->recomputation == b.run->recomputation &&
         a.run->options.sequence_parallel == b.run->options.sequence_parallel;
}

// Seconds per sample.
double Measured(const JudgedRun& judged) {
  return Known(judged.run->step_seconds) / static_cast<double>(judged.run->global_batch);
}
double Predicted(const JudgedRun& judged) {
  return Known(judged.prediction).step_seconds / static_cast<double>(judged.run->global_batch);
}

}  // namespace

std::optional<double> JudgedRun::StepError() const {
  if (!prediction.has_value() || !run->step_seconds.has_value()) return std::nullopt;
  return step_seconds / *run->step_seconds - 1;
}

std::optional<double> JudgedRun::MemoryError() const {
  if (!prediction.has_value() || !run->peak_memory_bytes.has_value()) return std::nullopt;
  return static_cast<double>(prediction->memory_bytes) / static_cast<double>(*run->peak_memory_bytes) - 1;
}

std::vector<JudgedRun> JudgeRuns(const std::vector<TrainingRun>& runs, const EfficiencyFit& fit) {
  std::vector<JudgedRun> judged;
  judged.reserve(runs.size());
  for (const TrainingRun& run : runs) judged.push_back(Judge(run, fit));
  return judged;
}

std::vector<JudgedRun> JudgeHeldOut(const std::vector<TrainingRun>& runs, const EfficiencyFit& start, int folds) {
  std::set<std::string> names;
  for (const TrainingRun& run : runs) names.insert(run.group);
  std::vector<JudgedRun> judged(runs.size());
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<TrainingRun> kept;
    std::vector<std::size_t> held_out;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto number = std::distance(names.begin(), names.find(runs[i].group));
      if (number % folds == fold) {
        held_out.push_back(i);
      } else {
        kept.push_back(runs[i]);
      }
    }
    const EfficiencyFit fit = FitEfficiency(kept, start);
    for (const std::size_t i : held_out) judged[i] = Judge(runs[i], fit);
  }
  return judged;
}

ErrorSummary Summarise(std::vector<double> errors) {
  ErrorSummary summary{.runs = static_cast<int>(errors.size())};
  if (errors.empty()) return summary;
  for (double& error : errors) error = std::abs(error);
  std::ranges::sort(errors);
  const std::size_t middle = errors.size() / 2;
  summary.median = errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
  const auto near = std::ranges::count_if(errors, [](double error) { return error <= 0.2; });
  summary.within_20_percent = static_cast<double>(near) / static_cast<double>(errors.size());
  return summary;
}

PairSummary ComparePairs(const std::vector<JudgedRun>& judged) {
  PairSummary summary;
  for (std::size_t a = 0; a < judged.size(); ++a) {
    for (std::size_t b = a + 1; b < judged.size(); ++b) {
      if (judged[a].run->series != judged[b].run->series || AreLaidOutAlike(judged[a], judged[b])) continue;
      if (!judged[a].StepError().has_value() || !judged[b].StepError().has_value()) continue;
      const double ratio = Measured(judged[a]) / Measured(judged[b]);
      if (std::max(ratio, 1 / ratio) < kWorthComparing) continue;
      ++summary.pairs;
      if ((ratio > 1) == (Predicted(judged[a]) > Predicted(judged[b]))) ++summary.ranked_right;
    }
  }
  return summary;
}

}  // namespace planwright
