#include "core/joint/calibration/calibrated_cluster.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/strings.h"
#include "core/base/units.h"
#include "core/joint/calibration/accelerators.h"
#include "core/joint/calibration/fit_errors.h"

namespace planwright {
namespace {

constexpr double kMicrosecondsPerMillisecond = 1'000;

std::string Comments(const std::vector<TrainingRun>& runs, const EfficiencyFit& fit) {
  std::vector<double> errors;
  for (const JudgedRun& judged : JudgeRuns(runs, fit)) {
    if (const auto error = judged.StepError(); error.has_value()) errors.push_back(*error);
  }
  const ErrorSummary summary = Summarise(errors);
  std::string text = absl::StrFormat(
      "# What classes of devices reach when they train: fitted by planwright calibrate to %d step times.\n"
      "# With the factor of each source their median error is %.1f %%, and %.0f %% of them lie within 20 %%.\n"
      "# Measured over predicted time by source:\n",
      summary.runs, 100 * summary.median, 100 * summary.within_20_percent);
  for (const auto& [source, slowness] : fit.slowness) {
    // A comment is one line.
    std::string name = source;
    std::ranges::replace_if(
        name, [](unsigned char letter) { return letter < ' '; }, ' ');
    absl::StrAppendFormat(&text, "#   %.3f %s\n", slowness, name);
  }
  return text;
}

std::string Training(const TrainingEfficiency& efficiency) {
  return absl::StrFormat(
      "      products: %.3f\n"
      "      half_extent: %.0f\n"
      "      attention: %.3f\n"
      "      eight_bit_gain: %.2f\n"
      "      memory: %.3f\n"
      "      network: %.3f\n"
      "      hidden_in_layers: %.2f\n"
      "      hidden_among_data: %.2f\n"
      "      hidden_at_step_end: %.2f\n"
      "      launch: %.2f us\n",
      efficiency.products, efficiency.half_extent, efficiency.attention, efficiency.eight_bit_gain, efficiency.memory,
      efficiency.network, efficiency.hidden_in_layers, efficiency.hidden_among_data, efficiency.hidden_at_step_end,
      ToMilliseconds(efficiency.launch) * kMicrosecondsPerMillisecond);
}

// The class that most runs have.
std::string MostUsedClass(const std::vector<TrainingRun>& runs) {
  std::map<std::string, int> counts;
  for (const TrainingRun& run : runs) ++counts[run.device.name];
  return std::ranges::max_element(counts, {}, &std::pair<const std::string, int>::second)->first;
}

}  // namespace

std::string CalibratedClusterYaml(const std::vector<TrainingRun>& runs, const EfficiencyFit& fit) {
  std::string text = absl::StrCat(Comments(runs, fit), "classes:\n");
  for (const Accelerator& accelerator : Accelerators()) {
    const auto found = fit.classes.find(std::string(accelerator.family));
    if (found == fit.classes.end()) continue;
    absl::StrAppend(&text, "  ", ToAbsl(accelerator.yaml_class), ":\n    training:\n", Training(found->second));
  }
  absl::StrAppend(&text, "nodes:\n  - hosts: node0\n    devices: 8\n    class: ", MostUsedClass(runs),
                  "\ninside: nvlink\n");
  return text;
}

}  // namespace planwright
