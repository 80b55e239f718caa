#include "client/importer/clusters/nccl_tests.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/importer/clusters/host_tree.h"
#include "client/importer/reading/cells.h"
#include "client/importer/reading/native.h"

namespace planwright::client {
namespace {

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find_first_of(" \t\r")));
    line.remove_prefix(words.back().size());
  }
}

class OutputReader {
 public:
  void ReadLine(std::string_view line) {
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty()) return;
    if (words.front() == "#") return ReadComment(line, words);
    ReadMeasurement(words);
  }

  HostTree& tree() { return tree_; }
  // Bytes per second; 0: none was measured.
  double best() const { return best_; }

 private:
  // "#  Rank  0 Group  0 Pid  71 on   node1 device  0 [0x07] NVIDIA A100-SXM4-80GB"; without "Group 0" of older
  // versions.
  // "# size count type redop root time algbw busbw #wrong ..." says which column is which.
  void ReadComment(std::string_view line, const std::vector<std::string_view>& words) {
    if (words.size() > 1 && words[1] == "Rank") return ReadRank(line, words);
    const auto bus = std::find(words.begin(), words.end(), "busbw");
    // The columns of measurements have no '#' before them.
    if (bus != words.end()) bus_column_ = static_cast<std::size_t>(bus - words.begin()) - 1;
  }

  void ReadRank(std::string_view line, const std::vector<std::string_view>& words) {
    const auto on = std::find(words.begin(), words.end(), "on");
    if (on == words.end() || on + 1 == words.end()) return;
    const std::string host(on[1]);
    const auto known =
        std::find_if(tree_.hosts.begin(), tree_.hosts.end(), [&](const TreeHost& each) { return each.name == host; });
    TreeHost& found = known == tree_.hosts.end() ? tree_.hosts.emplace_back() : *known;
    found.name = host;
    ++found.devices;
    const std::size_t bracket = line.find(']');
    if (bracket == std::string_view::npos) return;
    const std::string_view product = line.substr(bracket + 1);
    const std::size_t begin = product.find_first_not_of(" \t");
    if (begin != std::string_view::npos)
      found.product = std::string(product.substr(begin, product.find_last_not_of(" \t\r") + 1 - begin));
  }

  void ReadMeasurement(const std::vector<std::string_view>& words) {
    constexpr double kGigabyte = 1e9;
    if (bus_column_ == 0 || words.size() <= bus_column_ || !NumberOf(words.front()).has_value()) return;
    const auto bandwidth = NumberOf(words[bus_column_]);
    if (bandwidth.has_value()) best_ = std::max(best_, *bandwidth * kGigabyte);
  }

  HostTree tree_;
  std::size_t bus_column_ = 0;
  double best_ = 0;
};

}  // namespace

absl::StatusOr<ImportedCluster> ReadNcclTests(std::string_view text, std::string_view source,
                                              const ClusterOptions& asked) {
  const std::string name(source);
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(name, ": is not valid UTF-8"));
  OutputReader reader;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    reader.ReadLine(line);
  }
  if (reader.tree().hosts.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": names no rank: lines \"#  Rank  0 ... on HOST device 0\""));
  }
  if (reader.best() <= 0) return absl::InvalidArgumentError(absl::StrCat(name, ": has no measured bus bandwidth"));
  ClusterOptions options = asked;
  const bool is_one_host = reader.tree().hosts.size() == 1;
  if (is_one_host) {
    options.links.try_emplace("inside", reader.best());
  } else if (!options.between.has_value()) {
    options.between = reader.best();
  }
  auto imported = ClusterOfHosts(std::move(reader.tree()), options, source);
  if (!imported.ok()) return imported;
  imported->warnings.push_back(absl::StrFormat("%s: %s are taken to reach the measured bus bandwidth, %.4g GB/s", name,
                                               is_one_host ? "all pairs" : "devices of different hosts",
                                               reader.best() / 1e9));
  return imported;
}

}  // namespace planwright::client
