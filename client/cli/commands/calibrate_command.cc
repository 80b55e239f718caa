#include <memory>
#include <string>
#include <vector>

#include "client/cli/commands/commands.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/library/error_details.h"
#include "core/base/violations.h"
#include "core/joint/calibration/calibrated_cluster.h"
#include "core/joint/calibration/efficiency_fit.h"
#include "core/joint/calibration/example_runs.h"
#include "core/joint/calibration/read_runs.h"

namespace planwright::client {
namespace {

// Returns the error with its violations as the client shows them.
absl::Status ForClient(const absl::Status& status, const std::string& source) {
  ViolationList violations;
  for (const Violation& violation : ViolationsOf(status)) violations.Add(violation.path, violation.rule);
  return violations.empty() ? status : violations.ToStatus(source);
}

class CalibrateCommand final : public Command {
 public:
  std::string_view name() const override { return "calibrate"; }
  std::string_view summary() const override { return "fit what devices reach when they train to measured runs"; }
  std::string_view usage() const override {
    return "planwright calibrate --runs=FILE [--output_file=FILE]\n"
           "\n"
           "Reads training runs from comma-separated values (docs/training-costs.md has the columns), predicts their "
           "step\n"
           "times, and fits few numbers of each class of devices to them, with one factor for each source. What comes\n"
           "out is a cluster in YAML with these classes: change its nodes to yours and give it to --cluster.\n"
           "\n"
           "Examples:\n"
           "  planwright calibrate --example --output_file=runs.csv\n"
           "  planwright calibrate --runs=runs.csv --output_file=cluster.yaml\n"
           "  planwright topologies --show=cluster.yaml\n";
  }

  std::vector<FlagGroup> Flags() override {
    return {{"Input",
             {SwitchFlag("example", "write a table of published runs to begin with, and fit nothing", example_),
              StringFlag("runs", "FILE", "measured runs, comma-separated values; - is standard input", runs_),
              SwitchFlag("from_defaults", "begin with the defaults instead of the built-in classes", from_defaults_)}},
            {"Output", {StringFlag("output_file", "FILE", "write there instead of standard output", output_file_)}}};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    if (example_) {
      const absl::Status written = WriteOutput(ExampleRuns(), output_file_, environment.out);
      if (!written.ok()) return written;
      return ExitCode::kOk;
    }
    if (runs_.empty())
      return UsageError("--runs is missing", "Give a table of measured runs: --runs=FILE; --example writes one.");
    const auto text = ReadInput(runs_, environment.in);
    if (!text.ok()) return text.status();
    const auto runs = ReadTrainingRuns(*text);
    if (!runs.ok()) return ForClient(runs.status(), InputName(runs_));
    if (runs->empty()) return UsageError(InputName(runs_) + " has no runs", "Give a line for each run.");
    const EfficiencyFit fit =
        FitEfficiency(*runs, from_defaults_ ? DefaultEfficiency(*runs) : EfficiencyInForce(*runs));
    if (fit.slowness.empty()) {
      return UsageError("no run of " + InputName(runs_) + " has a step time and degrees that divide it",
                        "Give step_seconds, tp, pp and micro_batch as they were.");
    }
    const absl::Status written = WriteOutput(CalibratedClusterYaml(*runs, fit), output_file_, environment.out);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  bool example_ = false;
  std::string runs_;
  bool from_defaults_ = false;
  std::string output_file_;
};

}  // namespace

std::unique_ptr<Command> MakeCalibrateCommand() { return std::make_unique<CalibrateCommand>(); }

}  // namespace planwright::client
