// Rules of the house that a reader would otherwise have to check by eye.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/structure/include_rules.h"
#include "tests/structure/source_tree.h"

namespace planwright {
namespace {

using ::testing::IsEmpty;

// All matches of the first group of `pattern` in `text`.
std::vector<std::string> Matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> matches;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) matches.push_back((*it)[1]);
  return matches;
}

std::string GuardOf(const std::string& path) {
  std::string guard = "PLANWRIGHT_" + path + "_";
  std::transform(guard.begin(), guard.end(), guard.begin(),
                 [](unsigned char c) { return std::isalnum(c) != 0 ? static_cast<char>(std::toupper(c)) : '_'; });
  return guard;
}

TEST(HygieneTest, HeaderGuardsSpellTheirPath) {
  for (const SourceFile& file : SourceFiles({".h"})) {
    const std::string guard = GuardOf(file.path);
    EXPECT_NE(file.text.find(absl::StrCat("#ifndef ", guard, "\n#define ", guard, "\n")), std::string::npos)
        << file.path;
    EXPECT_TRUE(file.text.ends_with(absl::StrCat("#endif  // ", guard, "\n"))) << file.path;
  }
}

// A source includes its own header first, so every such header is known to compile alone; the others are compiled
// alone by tests/structure/CMakeLists.txt.
TEST(HygieneTest, SourcesIncludeTheirOwnHeaderFirst) {
  for (const SourceFile& file : SourceFiles({".cc"})) {
    const std::string header = file.path.substr(0, file.path.size() - 3) + ".h";
    if (!std::filesystem::exists(header)) continue;
    const std::vector<IncludeLine> includes = IncludeLines(file.text);
    ASSERT_FALSE(includes.empty()) << file.path;
    EXPECT_EQ(includes.front().target, header) << file.path;
  }
}

TEST(HygieneTest, EverySourceIsCompiled) {
  for (const SourceFile& file : SourceFiles({".cc"})) {
    const std::filesystem::path path(file.path);
    const std::string name = path.filename().string();
    bool listed = false;
    for (auto folder = path.parent_path(); !folder.empty() && !listed; folder = folder.parent_path()) {
      listed = !Matches(ReadText((folder / "CMakeLists.txt").string()), "[\\s/(](" + name + ")").empty();
    }
    EXPECT_TRUE(listed || name == "replay_main.cc") << file.path << " is in no CMakeLists.txt";
  }
}

// Whoever reads standard error may stop: a thread that writes there by itself, not by the log's own, stops as well.
TEST(HygieneTest, OnlyTheProgramAndItsLogWriteToStandardErrorAndOutput) {
  for (const SourceFile& file : SourceFiles({".h", ".cc"})) {
    if (!file.path.starts_with("server/") && !file.path.starts_with("core/")) continue;
    if (file.path == "server/main/planwrightd.cc") continue;
    EXPECT_THAT(Matches(file.text, "(std::cerr|std::cout|std::clog|\\bstderr\\b|\\bstdout\\b|\\bprintf\\(|\\bputs\\()"),
                IsEmpty())
        << file.path << ": hand the line to the Logger";
  }
}

// gRPC takes in values that it cannot send, and ends the process that tries to: what goes into metadata is looked at in
// one place of the server, and in one of the client.
TEST(HygieneTest, MetadataIsWrittenWhereItIsChecked) {
  for (const SourceFile& file : SourceFiles({".h", ".cc"})) {
    if (!file.path.starts_with("server/") && !file.path.starts_with("client/")) continue;
    if (file.path == "server/service/planning_service.cc" || file.path == "client/library/remote_planning_client.cc") {
      continue;
    }
    EXPECT_THAT(
        Matches(file.text, "(AddInitialMetadata|AddTrailingMetadata|[.>]AddMetadata\\(|GetSendInitialMetadata)"),
        IsEmpty())
        << file.path;
  }
}

// Two types of one name in one namespace break the one-definition rule: the linker keeps one of the two functions that
// a template makes for them, and nobody is told.
TEST(HygieneTest, NoTwoHeadersDefineTheSameName) {
  const std::string definition =
      "\n(?:(?:struct|class|enum class|union) |inline constexpr [^\n=({]*\\b)(\\w+)(?: final)?(?: :[^;{]*)?(?: \\{| = "
      ")";
  std::map<std::string, std::string> first_headers;
  for (const SourceFile& file : SourceFiles({".h"})) {
    const std::vector<std::string> namespaces = Matches(file.text, "\nnamespace (\\w[\\w:]*) \\{\n");
    if (namespaces.empty()) continue;
    for (const std::string& name : Matches(file.text, definition)) {
      const auto [first, is_new] = first_headers.emplace(absl::StrCat(namespaces.front(), "::", name), file.path);
      EXPECT_TRUE(is_new) << first->first << " is defined in " << first->second << " and in " << file.path;
    }
  }
  EXPECT_GT(first_headers.size(), 300);
}

TEST(HygieneTest, NothingIsLeftForLater) {
  const std::string words = std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X)\\b";
  for (const SourceFile& file : SourceFiles({".h", ".cc", ".proto", ".sh", ".cmake", "CMakeLists.txt", ".md"})) {
    EXPECT_THAT(Matches(file.text, words), IsEmpty()) << file.path;
  }
}

// planwright_ctest gives every test its label and its TIMEOUT, so nothing else may register one.
TEST(HygieneTest, TestsAreRegisteredInOnePlace) {
  for (const SourceFile& file : SourceFiles({"CMakeLists.txt", ".cmake"})) {
    if (file.path == "cmake/PlanwrightTargets.cmake") continue;
    EXPECT_THAT(Matches(file.text, "\\b(add_test|gtest_discover_tests|gtest_add_tests)\\s*\\("), IsEmpty())
        << file.path;
  }
}

TEST(HygieneTest, ScriptsAreExecutableAndStopAtTheFirstError) {
  const std::vector<SourceFile> scripts = SourceFiles({".sh"});
  EXPECT_GT(scripts.size(), 5U);
  for (const SourceFile& script : scripts) {
    const auto mode = std::filesystem::status(script.path).permissions();
    EXPECT_NE(mode & std::filesystem::perms::owner_exec, std::filesystem::perms::none) << script.path;
    EXPECT_TRUE(script.text.starts_with("#!/usr/bin/env bash\n#")) << script.path << " does not say what it does";
    EXPECT_NE(script.text.find("\nset -euo pipefail\n"), std::string::npos) << script.path;
  }
}

TEST(HygieneTest, EveryDisabledTidyCheckHasItsReason) {
  const std::string config = ReadText(".clang-tidy");
  const std::vector<std::string> disabled = Matches(config, "\n  -([a-z][a-zA-Z.-]*)");
  EXPECT_FALSE(disabled.empty());
  for (const std::string& check : disabled) {
    EXPECT_TRUE(std::regex_search(config, std::regex("(^|\n)#[^:]*\\b" + check + "\\b[^:]*:"))) << check;
  }
}

TEST(HygieneTest, LinksOfTheDocsLeadSomewhere) {
  for (const SourceFile& page : SourceFiles({".md"})) {
    const std::filesystem::path folder = std::filesystem::path(page.path).parent_path();
    for (const std::string& target : Matches(page.text, R"(\]\(([^)#: ]+)(#[^)]*)?\))")) {
      EXPECT_TRUE(std::filesystem::exists(folder / target)) << page.path << " links to " << target;
    }
  }
}

// The pages that `file` cites by a path from the root, from docs/ or from its own folder, and that are not there.
std::vector<std::string> UnknownPages(const SourceFile& file) {
  const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
  std::vector<std::string> unknown;
  for (const std::string& page : Matches(file.text, R"((?:^|[^\w/.*-])([A-Za-z][\w/-]*\.md)\b)")) {
    const std::vector<std::filesystem::path> places = {page, "docs" / std::filesystem::path(page), folder / page};
    const auto exists = [](const std::filesystem::path& place) { return std::filesystem::exists(place); };
    if (std::none_of(places.begin(), places.end(), exists)) unknown.push_back(page);
  }
  return unknown;
}

TEST(HygieneTest, PagesThatSourcesCiteExist) {
  for (const SourceFile& file : SourceFiles({".h", ".cc", ".proto", ".py", ".sh", ".cmake", "CMakeLists.txt"})) {
    EXPECT_THAT(UnknownPages(file), IsEmpty()) << file.path;
  }
  const std::string absent = std::string("no-such-page") + ".md";
  const SourceFile citing{"core/mapping/mapping.h",
                          "// README.md, docs/mapping.md, mapping.md; " + absent + " section 2"};
  EXPECT_THAT(UnknownPages(citing), testing::ElementsAre(absent));
}

// "PAGE section N" for each numbered section that `text` cites, as in "docs/PAGE section 3" and "sections 3, 7 and 20".
std::vector<std::string> CitedSections(const std::string& text) {
  // Comments of several lines are one text.
  static const std::regex comment_break(R"(\n\s*(//|#)\s*)");
  static const std::regex citation(R"((docs/[\w-]+\.md),? sections? (\d+(?:(?:, | and | to )\d+)*))");
  static const std::regex number(R"(\d+)");
  const std::string joined = std::regex_replace(text, comment_break, " ");
  std::vector<std::string> cited;
  for (std::sregex_iterator it(joined.begin(), joined.end(), citation), end; it != end; ++it) {
    const std::string numbers = (*it)[2];
    for (std::sregex_iterator one(numbers.begin(), numbers.end(), number); one != end; ++one) {
      cited.push_back((*it)[1].str() + " section " + one->str());
    }
  }
  return cited;
}

TEST(HygieneTest, SectionsThatSourcesCiteExist) {
  EXPECT_THAT(CitedSections("// (docs/mapping.md, sections 3, 7\n// and 20; docs/cost-model.md section 4). section 5"),
              testing::ElementsAre("docs/mapping.md section 3", "docs/mapping.md section 7",
                                   "docs/mapping.md section 20", "docs/cost-model.md section 4"));
  std::set<std::string> sections;
  for (const SourceFile& page : SourceFiles({".md"})) {
    for (const std::string& number : Matches(page.text, R"(\n## (\d+)\. )")) {
      sections.insert(page.path + " section " + number);
    }
  }
  int count = 0;
  for (const SourceFile& file : SourceFiles({".h", ".cc", ".proto", ".py"})) {
    if (file.path == "tests/structure/hygiene_test.cc") continue;
    for (const std::string& cited : CitedSections(file.text)) {
      EXPECT_TRUE(sections.contains(cited)) << file.path << " cites " << cited;
      ++count;
    }
  }
  EXPECT_GT(count, 0);
}

TEST(HygieneTest, ScriptsThatTheDocsNameExist) {
  for (const SourceFile& page : SourceFiles({".md"})) {
    for (const std::string& script : Matches(page.text, R"(\b((deploy|tests|cmake)/[a-z_/-]+\.(sh|cmake))\b)")) {
      EXPECT_TRUE(std::filesystem::exists(script)) << page.path << " names " << script;
    }
  }
}

}  // namespace
}  // namespace planwright
