// What docs/cluster-yaml.md and docs/examples say is what the importer does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/yaml/cluster_yaml.h"
#include "client/importer/clusters/yaml/cluster_yaml_classes.h"
#include "client/importer/importer.h"
#include "core/text/amount.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The texts between "```LANGUAGE" and "```".
std::vector<std::string> Blocks(const std::string& page, const std::string& language) {
  std::vector<std::string> blocks;
  const std::string open = "\n```" + language + "\n";
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at + 1)) {
    const std::size_t begin = at + open.size();
    blocks.push_back(page.substr(begin, page.find("\n```", begin) + 1 - begin));
  }
  return blocks;
}

// The rows of a table with as many columns as `pattern` has groups.
std::vector<std::vector<std::string>> Rows(const std::string& page, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::vector<std::string>> rows;
  for (std::sregex_iterator it(page.begin(), page.end(), regex), end; it != end; ++it) {
    rows.emplace_back(std::next(it->begin()), it->end());
  }
  return rows;
}

std::string Page() { return ReadText("docs/cluster-yaml.md"); }

TEST(ClusterYamlDocsTest, EveryExampleIsRead) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("docs/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto cluster = ImportCluster(ReadText(entry.path()), entry.path().string());
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    ++count;
  }
  EXPECT_GE(count, 4);
}

TEST(ClusterYamlDocsTest, EveryBlockOfThePageIsRead) {
  const std::vector<std::string> blocks = Blocks(Page(), "yaml");
  ASSERT_THAT(blocks, SizeIs(3));
  for (const std::string& block : blocks) {
    const auto cluster = ImportCluster(block, "block");
    EXPECT_TRUE(cluster.ok()) << cluster.status();
  }
  const std::string example = ReadText("docs/examples/four-dgx-h100.yaml");
  EXPECT_EQ(example.substr(example.find('\n') + 1), blocks[0]) << "the page and its file differ";
}

TEST(ClusterYamlDocsTest, TheTableOfClassesIsThatOfTheProgram) {
  const auto rows = Rows(Page(), R"(\n\| `([a-z0-9-]+)` \| ([^|]+) \| ([^|]+FLOPS) \| ([^|]+) \| ([^|]+) \|)");
  ASSERT_THAT(rows, SizeIs(KnownDeviceClasses().size()));
  for (const auto& row : rows) {
    ASSERT_TRUE(KnownDeviceClasses().contains(row[0])) << row[0];
    const YamlDeviceClass& known = KnownDeviceClasses().find(row[0])->second;
    if (known.message.has_memory_bytes()) {
      EXPECT_EQ(ParseAmount(row[1], kMemoryAmount), static_cast<double>(known.message.memory_bytes())) << row[0];
    } else {
      EXPECT_EQ(row[1], "unlimited") << row[0];
    }
    EXPECT_DOUBLE_EQ(ParseAmount(row[2], kComputeSpeedAmount).value(), known.message.peak_flops()) << row[0];
    EXPECT_DOUBLE_EQ(ParseAmount(row[3], kBandwidthAmount).value(), known.message.memory_bandwidth_bytes_per_second())
        << row[0];
    EXPECT_EQ(ParseAmount(row[4], kBandwidthAmount).value_or(0), known.nvlink_bytes_per_second) << row[0];
  }
}

TEST(ClusterYamlDocsTest, TheTableOfLinksIsThatOfTheProgram) {
  const auto rows = Rows(Page(), R"(\n\| `(pcie[0-9])` \| ([^|]+) \| ([^|]+) \|)");
  ASSERT_THAT(rows, SizeIs(3));
  for (const auto& row : rows) {
    const auto cluster =
        ImportCluster(absl::StrCat("nodes: [{hosts: a, devices: 2, class: l4}]\ninside: ", row[0], "\n"), "link");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ(cluster->cluster.interconnect().uniform().bandwidth_bytes_per_second(),
              ParseAmount(row[1], kBandwidthAmount));
    EXPECT_EQ(cluster->cluster.interconnect().uniform().latency_ms(), ParseAmount(row[2], kTimeAmount));
  }
}

TEST(ClusterYamlDocsTest, EveryUnitOfTheTableIsRead) {
  const std::string page = Page();
  const std::size_t begin = page.find("| of | units |");
  const std::string table = page.substr(begin, page.find("\n\n", begin) - begin);
  const auto units = Rows(table, "`([^`]+)`");
  EXPECT_GE(units.size(), 28);
  for (const auto& unit : units) {
    const std::string text = "1 " + unit[0];
    EXPECT_TRUE(ParseAmount(text, kMemoryAmount).has_value() || ParseAmount(text, kBandwidthAmount).has_value() ||
                ParseAmount(text, kComputeSpeedAmount).has_value() || ParseAmount(text, kTimeAmount).has_value() ||
                unit[0].starts_with('/') || unit[0] == "bit/s")
        << unit[0];
  }
}

}  // namespace
}  // namespace planwright::client
