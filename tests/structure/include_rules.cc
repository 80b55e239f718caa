#include "tests/structure/include_rules.h"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace planwright {
namespace {

struct FolderRule {
  std::string_view folder;
  // Prefixes of our own headers that it may include, beside its own.
  std::vector<std::string_view> own;
  // Prefixes of headers from outside that it must not include.
  std::vector<std::string_view> forbidden;
};

// Longest folder wins: server/serving before server.
const std::vector<FolderRule>& Rules() {
  static const std::vector<std::string_view> kNotInCore = {
      "grpc",     "google/",  "prometheus/", "nlohmann/", "httplib", "yaml-cpp/", "sqlite", "pqxx/",
      "openssl/", "civetweb", "microhttpd",  "Cbc",       "Cgl",     "Clp",       "Coin",   "Osi"};
  // The one folder that knows the solver of integer programs.
  static const std::vector<std::string_view> kNotInMip = {"grpc",     "google/",   "prometheus/", "nlohmann/",
                                                          "httplib",  "yaml-cpp/", "sqlite",      "pqxx/",
                                                          "openssl/", "civetweb",  "microhttpd"};
  static const std::vector<std::string_view> kSolver = {"core/base/", "core/model/", "core/topology/", "core/cost/",
                                                        "core/graph/"};
  static const std::vector<FolderRule> kRules = {
      {"core/base", {}, kNotInCore},
      {"core/model", {"core/base/"}, kNotInCore},
      {"core/cost", {"core/base/", "core/model/", "core/topology/"}, kNotInCore},
      {"core/graph", {"core/base/", "core/model/"}, kNotInCore},
      {"core/topology", {"core/base/", "core/model/"}, kNotInCore},
      {"core/verify", {"core/base/", "core/model/"}, kNotInCore},
      {"core/zoo", {"core/base/", "core/model/", "core/cost/", "core/topology/"}, kNotInCore},
      {"core/partition", kSolver, kNotInCore},
      {"core/partition/mip",
       {"core/base/", "core/model/", "core/cost/", "core/graph/", "core/partition/", "core/schedule/"},
       kNotInMip},
      // Allocations whose quality only a schedule tells.
      {"core/partition/periodic",
       {"core/base/", "core/model/", "core/cost/", "core/graph/", "core/schedule/", "core/partition/"},
       kNotInCore},
      // Every mode, so those of patterns too.
      {"core/partition/enumeration",
       {"core/base/", "core/model/", "core/cost/", "core/graph/", "core/schedule/", "core/partition/"},
       kNotInCore},
      // Ends in device mapping.
      {"core/partition/parmesan",
       {"core/base/", "core/model/", "core/cost/", "core/graph/", "core/mapping/", "core/partition/"},
       kNotInCore},
      {"core/mapping", kSolver, kNotInCore},
      {"core/schedule", kSolver, kNotInCore},
      {"core/simulate", kSolver, kNotInCore},
      {"core/planner",
       {"core/base/", "core/model/", "core/cost/", "core/graph/", "core/partition/", "core/mapping/", "core/schedule/",
        "core/simulate/", "core/verify/"},
       kNotInCore},
      {"server", {"server/", "core/", "planwright/v1/"}, {}},
      {"server/connections", {"core/"}, {"grpc", "google/", "prometheus/"}},
      {"server/store", {"core/"}, {"grpc", "google/", "prometheus/"}},
      {"server/serving", {"core/", "server/store/"}, {"grpc", "google/", "prometheus/"}},
      {"server/codec", {"core/", "planwright/v1/"}, {"grpc", "prometheus/"}},
      {"server/engine",
       {"server/codec/", "server/serving/", "server/store/", "server/observability/", "core/", "planwright/v1/"},
       {"grpc"}},
      {"server/observability", {"core/"}, {"grpc", "google/"}},
      {"client", {"client/", "planwright/v1/"}, {"prometheus/"}},
      {"docs/examples", {"client/"}, {"server/", "prometheus/"}},
      {"client/local", {"client/", "server/", "core/", "planwright/v1/"}, {"prometheus/"}},
  };
  return kRules;
}

// Folders of ours whose headers only the rules above open to others.
constexpr std::string_view kOwnFolders[] = {"core/", "server/", "client/", "tests/", "planwright/v1/"};

bool StartsWithAny(std::string_view text, const auto& prefixes) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

bool IsInFolder(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

const FolderRule* RuleFor(std::string_view path) {
  const FolderRule* found = nullptr;
  for (const FolderRule& rule : Rules()) {
    if (IsInFolder(path, rule.folder) && (found == nullptr || rule.folder.size() > found->folder.size())) {
      found = &rule;
    }
  }
  return found;
}

bool MayInclude(const FolderRule& rule, std::string_view target) {
  if (StartsWithAny(target, rule.forbidden)) return false;
  if (!StartsWithAny(target, kOwnFolders)) return true;
  return IsInFolder(target, rule.folder) || StartsWithAny(target, rule.own);
}

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
  const FolderRule* rule = RuleFor(path);
  if (rule == nullptr) return {std::string(path) + ": its folder has no row in tests/structure/include_rules.cc"};
  std::vector<std::string> violations;
  for (const IncludeLine& include : IncludeLines(text)) {
    if (MayInclude(*rule, include.target)) continue;
    violations.push_back(std::string(path) + ":" + std::to_string(include.line) + ": " + std::string(rule->folder) +
                         " must not include " + include.target);
  }
  return violations;
}

}  // namespace planwright
