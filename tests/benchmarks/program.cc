#include "tests/benchmarks/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/benchmarks/measurement.h"

ABSL_FLAG(std::string, filter, "", "only workloads whose name contains this text");
ABSL_FLAG(std::string, planwright, "", "the CLI; by default the one beside this program");

namespace planwright::benchmarks {

namespace fs = std::filesystem;

void ParseFlags(int argc, char** argv, std::string_view source, std::string_view usage) {
  // --help shows the flags of files named after the program unless told otherwise.
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [source = std::string(source)](absl::string_view file) {
    return absl::StrContains(file, source) || absl::StrContains(file, "benchmarks/program");
  };
  absl::SetFlagsUsageConfig(config);
  absl::SetProgramUsageMessage(std::string(usage));
  absl::ParseCommandLine(argc, argv);
}

bool IsSelected(std::string_view workload) {
  return workload.find(absl::GetFlag(FLAGS_filter)) != std::string_view::npos;
}

std::string PlanwrightPath() {
  const std::string path = absl::GetFlag(FLAGS_planwright);
  return path.empty() ? (ProgramFolder() / "planwright").string() : path;
}

fs::path ProgramFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::string Fixed(double value, int digits) { return absl::StrFormat("%.*f", digits, value); }
std::string Fixed(const std::optional<double>& value, int digits) { return value ? Fixed(*value, digits) : "-"; }

ScratchDirectory::ScratchDirectory() {
  std::string pattern = (fs::temp_directory_path() / "planwright_benchmark.XXXXXX").string();
  if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

absl::StatusOr<std::vector<std::string>> MeasureSeeds(const std::vector<std::string>& command, int seeds, int digits) {
  std::vector<double> objectives;
  std::vector<double> cpu_ms;
  double bound_ms = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    std::vector<std::string> seeded = command;
    seeded.push_back(absl::StrCat("--seed=", seed));
    const absl::StatusOr<Measurement> measured = MeasureOnce(seeded);
    if (!measured.ok()) return measured.status();
    objectives.push_back(measured->plan.objective_ms);
    cpu_ms.push_back(measured->process_cpu_ms);
    bound_ms = std::max(bound_ms, measured->plan.lower_bound_ms);
  }
  const auto [best, worst] = std::ranges::minmax(objectives);
  return std::vector<std::string>{Fixed(Median(cpu_ms) / 1e3, 2),    Fixed(best, digits),
                                  Fixed(Median(objectives), digits), Fixed(worst, digits),
                                  Fixed(bound_ms, digits),           Fixed(100 * (best - bound_ms) / best, 2) + " %"};
}

}  // namespace planwright::benchmarks
