#include "server/serving/admission/resources.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace planwright::server {
namespace {

using Path = std::filesystem::path;

std::string ReadText(const Path& file) {
  const std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The number in a file of one word; nullopt: no such file, or a word such as "max".
std::optional<int64_t> ReadNumber(const Path& file) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(ReadText(file), &number)) return std::nullopt;
  return number;
}

// The folders of this process's cgroups for `controller`, innermost first, up to the mount. Version 2 has one tree for
// all controllers, version 1 one for each; inside a container the path may be one that is not mounted, and the limits
// stand in the mount itself.
std::vector<Path> CgroupFolders(const Path& root, const std::string& controller) {
  std::vector<Path> folders;
  const Path mount = root / "sys/fs/cgroup";
  for (const absl::string_view line : absl::StrSplit(ReadText(root / "proc/self/cgroup"), '\n', absl::SkipEmpty())) {
    // hierarchy:controllers:path
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    const bool is_version_2 = fields[0] == "0" && fields[1].empty();
    if (!is_version_2 && std::find(controllers.begin(), controllers.end(), controller) == controllers.end()) continue;
    const Path top = is_version_2 ? mount : mount / fields[1];
    for (Path below = Path(fields[2]).relative_path(); !below.empty(); below = below.parent_path()) {
      folders.push_back(top / below);
    }
    folders.push_back(top);
  }
  return folders;
}

// CPUs that the quota of one cgroup allows; nullopt: no quota.
std::optional<double> CpuQuota(const Path& folder) {
  // Version 2: "quota period" or "max period".
  const std::vector<std::string> words = absl::StrSplit(ReadText(folder / "cpu.max"), ' ');
  double quota = 0;
  double period = 0;
  if (words.size() == 2 && absl::SimpleAtod(words[0], &quota) && absl::SimpleAtod(words[1], &period) && period > 0) {
    return quota / period;
  }
  const std::optional<int64_t> quota_us = ReadNumber(folder / "cpu.cfs_quota_us");
  const std::optional<int64_t> period_us = ReadNumber(folder / "cpu.cfs_period_us");
  if (!quota_us.has_value() || !period_us.has_value() || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<double>(*quota_us) / static_cast<double>(*period_us);
}

int AffinityCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

int64_t MachineMemoryBytes(const Path& root) {
  for (const absl::string_view line : absl::StrSplit(ReadText(root / "proc/meminfo"), '\n')) {
    if (!absl::StartsWith(line, "MemTotal:")) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t kibibytes = 0;
    if (words.size() >= 2 && absl::SimpleAtoi(words[1], &kibibytes)) return kibibytes * 1024;
  }
  return std::numeric_limits<int64_t>::max();
}

}  // namespace

int AvailableCpus(const Path& root) {
  int cpus = AffinityCount();
  for (const Path& folder : CgroupFolders(root, "cpu")) {
    const std::optional<double> quota = CpuQuota(folder);
    if (quota.has_value()) cpus = std::min(cpus, std::max(1, static_cast<int>(std::ceil(*quota))));
  }
  return cpus;
}

int64_t AvailableMemoryBytes(const Path& root) {
  int64_t bytes = MachineMemoryBytes(root);
  for (const Path& folder : CgroupFolders(root, "memory")) {
    for (const char* file : {"memory.max", "memory.limit_in_bytes"}) {
      bytes = std::min(bytes, ReadNumber(folder / file).value_or(bytes));
    }
  }
  return bytes;
}

int64_t DefaultMemoryBudget(const Path& root) { return AvailableMemoryBytes(root) / 5 * 4; }

}  // namespace planwright::server
