#include "tests/structure/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace planwright {
namespace {

constexpr std::string_view kFolders[] = {"core", "server", "client", "tests", "deploy", "cmake", "proto", "docs"};

bool EndsWithAny(std::string_view path, const std::vector<std::string_view>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [path](std::string_view ending) { return path.ends_with(ending); });
}

}  // namespace

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<SourceFile> SourceFiles(const std::vector<std::string_view>& endings) {
  std::vector<SourceFile> files;
  const auto add = [&](const std::filesystem::directory_entry& entry) {
    const std::string path = entry.path().lexically_normal().generic_string();
    if (entry.is_regular_file() && EndsWithAny(path, endings)) files.push_back({.path = path, .text = ReadText(path)});
  };
  for (const auto& entry : std::filesystem::directory_iterator(".")) add(entry);
  for (const std::string_view folder : kFolders) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) add(entry);
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace planwright
