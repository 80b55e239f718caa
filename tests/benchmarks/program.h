// What the programs share that measure the CLI on named workloads: flags, where programs are, files of their own,
// seeds.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_PROGRAM_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_PROGRAM_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::benchmarks {

// Reads the flags of the program and these:
//   --filter      only workloads whose name contains this text
//   --planwright  the CLI; by default the one beside the program
// --help shows both kinds and `usage`. `source` is the name of the file that declares the program's own.
void ParseFlags(int argc, char** argv, std::string_view source, std::string_view usage);

// REQUIRES of the two: ParseFlags.
bool IsSelected(std::string_view workload);
std::string PlanwrightPath();

// The directory of this program.
std::filesystem::path ProgramFolder();

// "12.50" for 12.5 and 2 digits; "-" for nothing.
std::string Fixed(double value, int digits);
std::string Fixed(const std::optional<double>& value, int digits);

// A directory of our own, gone at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs `command` with --seed=1 .. `seeds` and answers with cells: the median of the process CPU in s; best, median and
// worst objective and the best bound in ms with `digits`; the gap between the best ones. INTERNAL: a run failed.
// REQUIRES: seeds >= 1.
absl::StatusOr<std::vector<std::string>> MeasureSeeds(const std::vector<std::string>& command, int seeds, int digits);

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_PROGRAM_H_
