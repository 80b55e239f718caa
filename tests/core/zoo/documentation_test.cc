// The figures of docs/zoo.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/zoo/zoo.h"
#include "tests/core/zoo/graph_totals.h"

namespace planwright {
namespace {

using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

// Cells of the rows below the header row that starts with `columns`, without backquotes.
std::vector<std::vector<std::string>> Table(const std::string& columns) {
  std::ifstream page("docs/zoo.md");
  std::vector<std::vector<std::string>> rows;
  std::string line;
  while (std::getline(page, line) && !line.starts_with(columns)) {
  }
  std::getline(page, line);
  while (std::getline(page, line) && line.starts_with("| ")) {
    std::istringstream cells(line.substr(2));
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '|');) {
      std::erase(cell, '`');
      row.push_back(cell.substr(cell.starts_with(" ") ? 1 : 0));
      while (row.back().ends_with(" ")) row.back().pop_back();
    }
  }
  return rows;
}

std::vector<std::string> FirstCells(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> cells;
  cells.reserve(rows.size());
  for (const std::vector<std::string>& row : rows) cells.push_back(row.front());
  return cells;
}

std::vector<std::string> Names(std::span<const ZooEntry> entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const ZooEntry& entry : entries) names.push_back(entry.name);
  return names;
}

std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

TEST(ZooDocumentationTest, ListsEveryModelWithItsSize) {
  const std::vector<std::vector<std::string>> rows = Table("| name | operators | parameters |");
  EXPECT_THAT(FirstCells(rows), ElementsAreArray(Names(ZooModels())));
  for (const std::vector<std::string>& row : rows) {
    ASSERT_GE(row.size(), 3U);
    const OperatorGraph graph = MakeZooModel(row[0]).value();
    EXPECT_EQ(row[1], Grouped(static_cast<int64_t>(graph.operators.size()))) << row[0];
    EXPECT_EQ(row[2], Grouped(TotalParameters(graph, 2))) << row[0];
  }
}

TEST(ZooDocumentationTest, ListsEveryCluster) {
  // A row may describe several.
  std::vector<std::string> names;
  for (const std::string& cell : FirstCells(Table("| name | devices | interconnect |"))) {
    std::istringstream words(cell);
    for (std::string name; std::getline(words >> std::ws, name, ',');) names.push_back(name);
  }
  EXPECT_THAT(names, ElementsAreArray(Names(ZooClusters())));
}

TEST(ZooDocumentationTest, ListsEveryDeviceClass) {
  std::set<std::string> names;
  for (const ZooEntry& entry : ZooClusters()) {
    const std::string one = entry.name.substr(0, entry.name.size() - 1) + "1";
    const Cluster cluster = MakeZooCluster(one).value();
    for (const DeviceClass& device_class : cluster.device_classes) names.insert(device_class.name);
  }
  EXPECT_THAT(FirstCells(Table("| class | memory |")), UnorderedElementsAreArray(names));
}

}  // namespace
}  // namespace planwright
