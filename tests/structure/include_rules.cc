#include "tests/structure/include_rules.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/structure/folder_rules.h"
#include "tests/structure/source_tree.h"

namespace planwright {
namespace {

// Folders of ours whose headers only the rules above open to others.
constexpr std::string_view kOwnFolders[] = {"core/", "server/", "client/", "tests/", "planwright/v1/"};

// The folders whose inner order the rules keep.
constexpr std::string_view kProductFolders[] = {"core/", "server/", "client/"};

// More than this and a reader looks for names instead of rooms.
constexpr int kMostFilesInAFolder = 30;

bool StartsWithAny(std::string_view text, const auto& prefixes) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

std::string_view FolderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

bool IsOurs(std::string_view path) { return StartsWithAny(path, kProductFolders); }

const FolderRule* RuleFor(std::string_view folder) {
  const auto found = std::find_if(FolderRules().begin(), FolderRules().end(),
                                  [folder](const FolderRule& rule) { return rule.folder == folder; });
  return found == FolderRules().end() ? nullptr : &*found;
}

bool MayInclude(const FolderRule& rule, std::string_view target) {
  if (StartsWithAny(target, rule.forbidden)) return false;
  if (!StartsWithAny(target, kOwnFolders)) return true;
  const std::string_view folder = FolderOf(target);
  return folder == rule.folder || std::any_of(rule.own.begin(), rule.own.end(),
                                              [folder](std::string_view entry) { return Covers(entry, folder); });
}

// Whether whoever may enter the folder of `target` may do so by this header.
bool IsDoor(std::string_view target) {
  const FolderRule* rule = RuleFor(FolderOf(target));
  if (rule == nullptr || rule->doors.empty()) return true;
  const std::string_view header = target.substr(rule->folder.size() + 1);
  return std::find(rule->doors.begin(), rule->doors.end(), header.substr(0, header.rfind('.'))) != rule->doors.end();
}

// Which folders each folder of ours includes.
using FolderGraph = std::map<std::string, std::set<std::string>>;

FolderGraph IncludesBetweenFolders(const std::vector<SourceFile>& files) {
  FolderGraph graph;
  for (const SourceFile& file : files) {
    if (!IsOurs(file.path)) continue;
    const std::string folder(FolderOf(file.path));
    for (const IncludeLine& include : IncludeLines(file.text)) {
      const std::string target(FolderOf(include.target));
      if (IsOurs(include.target) && target != folder) graph[folder].insert(target);
    }
  }
  return graph;
}

// Walks a graph of folders depth first.
class CircleSearch {
 public:
  explicit CircleSearch(const FolderGraph& graph) : graph_(graph) {}

  void Visit(const std::string& folder) {
    const auto open = std::find(way_.begin(), way_.end(), folder);
    if (open != way_.end()) circles_.push_back(Circle(open));
    if (open != way_.end() || !visited_.insert(folder).second) return;
    way_.push_back(folder);
    const auto next = graph_.find(folder);
    if (next != graph_.end()) {
      for (const std::string& target : next->second) Visit(target);
    }
    way_.pop_back();
  }

  const std::vector<std::string>& circles() const { return circles_; }

 private:
  std::string Circle(std::vector<std::string>::const_iterator begin) const {
    std::string text;
    for (auto folder = begin; folder != way_.end(); ++folder) text += *folder + " -> ";
    return text + *begin;
  }

  const FolderGraph& graph_;
  std::vector<std::string> way_;
  std::set<std::string> visited_;
  std::vector<std::string> circles_;
};

}  // namespace

std::vector<IncludeLine> IncludeLines(std::string_view text) {
  std::vector<IncludeLine> includes;
  std::istringstream lines{std::string(text)};
  std::string content;
  for (int line = 1; std::getline(lines, content); ++line) {
    const std::size_t hash = content.find_first_not_of(" \t");
    if (hash == std::string::npos || content[hash] != '#') continue;
    const std::size_t word = content.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || content.compare(word, 7, "include") != 0) continue;
    const std::size_t open = content.find_first_of("<\"", word);
    const std::size_t close = open == std::string::npos ? open : content.find_first_of(">\"", open + 1);
    if (close == std::string::npos) continue;
    includes.push_back({.line = line, .target = content.substr(open + 1, close - open - 1)});
  }
  return includes;
}

std::vector<std::string> IncludeViolations(std::string_view path, std::string_view text) {
  if (path.starts_with("tests/")) return {};
  const FolderRule* rule = RuleFor(FolderOf(path));
  if (rule == nullptr) return {std::string(path) + ": its folder has no row in tests/structure/folder_rules.cc"};
  std::vector<std::string> violations;
  for (const IncludeLine& include : IncludeLines(text)) {
    const std::string place = std::string(path) + ":" + std::to_string(include.line) + ": ";
    if (!MayInclude(*rule, include.target)) {
      violations.push_back(place + std::string(rule->folder) + " must not include " + include.target);
    } else if (FolderOf(include.target) != rule->folder && !IsDoor(include.target)) {
      violations.push_back(place + include.target + " is no door of " + std::string(FolderOf(include.target)));
    }
  }
  return violations;
}

std::vector<std::string> CrowdedFolders(const std::vector<SourceFile>& files) {
  std::map<std::string, int> counts;
  for (const SourceFile& file : files) {
    const bool is_source = file.path.ends_with(".h") || file.path.ends_with(".cc");
    if (IsOurs(file.path) && is_source) ++counts[std::string(FolderOf(file.path))];
  }
  std::vector<std::string> crowded;
  for (const auto& [folder, count] : counts) {
    if (count > kMostFilesInAFolder) crowded.push_back(folder + " holds " + std::to_string(count) + " files");
  }
  return crowded;
}

std::vector<std::string> FolderCircles(const std::vector<SourceFile>& files) {
  const FolderGraph graph = IncludesBetweenFolders(files);
  CircleSearch search(graph);
  for (const auto& [folder, targets] : graph) search.Visit(folder);
  return search.circles();
}

}  // namespace planwright
