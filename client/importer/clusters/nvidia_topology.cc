#include "client/importer/clusters/nvidia_topology.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"
#include "client/importer/reading/native.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

// Between two CPUs of a machine, as NCCL counts on those of Intel.
constexpr double kBetweenCpus = 10e9;
constexpr std::size_t kMaxMatrixGpus = 1024;

// Returns the text without the sequences that colour terminals.
std::string WithoutColours(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
      continue;
    }
    while (i < text.size() && text[i] != 'm' && text[i] != '\n') ++i;
  }
  return plain;
}

std::vector<std::string_view> CellsOfRow(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    words.push_back(word);
    line.remove_prefix(word.size());
  }
}

// 3 of "GPU3"; nullopt: no GPU.
std::optional<std::size_t> GpuOf(std::string_view word) {
  constexpr std::string_view kPrefix = "GPU";
  if (!word.starts_with(kPrefix)) return std::nullopt;
  word.remove_prefix(kPrefix.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

class MatrixReader {
 public:
  MatrixReader(const ClusterOptions& options, DeviceType type, ViolationList& violations)
      : options_(options), violations_(violations) {
    machine_.type = std::move(type);
  }

  Machine Read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      const std::vector<std::string_view> words = CellsOfRow(line);
      if (words.empty()) continue;
      if (machine_.devices == 0) {
        ReadHeadings(words);
      } else if (const auto gpu = GpuOf(words.front())) {
        ReadRow(*gpu, words);
      }
    }
    if (machine_.devices == 0) violations_.Add("", "has no line of headings: GPU0 GPU1 ...");
    for (std::size_t gpu = 0; gpu < machine_.devices; ++gpu) {
      if (!rows_.contains(gpu)) violations_.Add("", absl::StrCat("has no row for GPU", gpu));
    }
    return std::move(machine_);
  }

  // "NV12 = 240 GB/s, SYS = 10 GB/s": the classes in use and what they were taken for.
  std::string Assumed() const {
    return absl::StrJoin(used_, ", ", [](std::string* out, const auto& entry) {
      absl::StrAppendFormat(out, "%s = %.4g GB/s", entry.first, entry.second / 1e9);
    });
  }

 private:
  void Report(std::string rule) { violations_.Add(absl::StrCat("line ", line_), std::move(rule)); }

  // The GPUs stand first; "GPU NUMA ID" behind them is none.
  void ReadHeadings(const std::vector<std::string_view>& words) {
    std::size_t count = 0;
    while (count < words.size() && GpuOf(words[count]) == count) ++count;
    if (count > kMaxMatrixGpus) return Report(absl::StrCat("must have at most ", kMaxMatrixGpus, " GPUs, has ", count));
    machine_.devices = count;
    machine_.bandwidth.assign(count * count, 0);
  }

  void ReadRow(std::size_t gpu, const std::vector<std::string_view>& words) {
    if (gpu >= machine_.devices) return Report(absl::StrCat("GPU", gpu, " has no column"));
    if (!rows_.insert(gpu).second) return Report(absl::StrCat("GPU", gpu, " has a row before"));
    if (words.size() < machine_.devices + 1) {
      return Report(
          absl::StrCat("must have a cell for each of the ", machine_.devices, " GPUs, has ", words.size() - 1));
    }
    for (std::size_t other = 0; other < machine_.devices; ++other) {
      const std::string_view cell = words[other + 1];
      if ((cell == "X") != (other == gpu)) {
        Report(absl::StrCat("GPU", gpu, " must meet itself, and nobody else, in X"));
      } else if (other != gpu) {
        machine_.bandwidth[gpu * machine_.devices + other] = BandwidthOf(cell);
      }
    }
  }

  double BandwidthOf(std::string_view cell) {
    const auto given = options_.links.find(cell);
    const double bandwidth = given != options_.links.end() ? given->second : UsualBandwidth(cell).value_or(0);
    if (bandwidth > 0) {
      used_.emplace(cell, bandwidth);
    } else {
      Report(absl::StrCat("there is no class of links ", ShownKey(cell),
                          "; say how fast it is with --link=CLASS=BANDWIDTH"));
    }
    return bandwidth;
  }

  std::optional<double> UsualBandwidth(std::string_view cell) const {
    if (cell == "PIX" || cell == "PXB" || cell == "PHB" || cell == "NODE") return machine_.type.pcie_bytes_per_second;
    if (cell == "SYS" || cell == "SOC") return std::min(kBetweenCpus, machine_.type.pcie_bytes_per_second);
    if (!cell.starts_with("NV")) return std::nullopt;
    cell.remove_prefix(2);
    constexpr int kMaxLinks = 1000;
    int links = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), links);
    const bool is_count = error == std::errc() && end == cell.data() + cell.size() && links > 0 && links < kMaxLinks;
    return is_count ? std::optional(links * machine_.type.nvlink_lane_bytes_per_second) : std::nullopt;
  }

  const ClusterOptions& options_;
  ViolationList& violations_;
  std::size_t line_ = 0;
  Machine machine_;
  std::set<std::size_t> rows_;
  std::map<std::string, double, std::less<>> used_;
};

}  // namespace

absl::StatusOr<ImportedCluster> ReadNvidiaTopology(std::string_view text, std::string_view source,
                                                   const ClusterOptions& options) {
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": is not valid UTF-8"));
  auto type = SettleDeviceType(options, "", source);
  if (!type.ok()) return type.status();
  ViolationList violations;
  MatrixReader reader(options, *std::move(type), violations);
  const Machine machine = reader.Read(WithoutColours(text));
  if (!violations.empty()) return violations.ToStatus(source);
  auto cluster = ClusterOfMachines(machine, options, source);
  if (!cluster.ok()) return cluster.status();
  ImportedCluster imported{*std::move(cluster), {}};
  if (machine.devices > 1) {
    imported.warnings.push_back(absl::StrCat(std::string(source), ": pairs are taken to reach ", reader.Assumed(),
                                             "; --link=CLASS=BANDWIDTH says otherwise"));
  }
  return imported;
}

}  // namespace planwright::client
