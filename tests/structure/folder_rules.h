// The folders of core, server and client, and which of them may include which: the architecture as data.
#ifndef PLANWRIGHT_TESTS_STRUCTURE_FOLDER_RULES_H_
#define PLANWRIGHT_TESTS_STRUCTURE_FOLDER_RULES_H_

#include <string>
#include <string_view>
#include <vector>

namespace planwright {

// What the files that stand directly in one folder may include. A room is a folder inside another one; it has a rule of
// its own.
struct FolderRule {
  std::string_view folder;
  // Folders of ours whose headers it may include beside its own; one that ends with '/' stands for all below it, and
  // itself.
  std::vector<std::string_view> own;
  // Prefixes of headers from outside that it must not include.
  std::vector<std::string_view> forbidden;
  // The names of its headers that other folders may include, without ".h". Empty: all of them.
  std::vector<std::string_view> doors;
};

// The rule of every folder, each below those that may include it.
const std::vector<FolderRule>& FolderRules();

// Whether `entry` of FolderRule::own stands for `folder`.
bool Covers(std::string_view entry, std::string_view folder);

// Rules that name a folder which stands at or behind their own, or which has no rule: "core/base must not be above
// core/model". Empty: whoever keeps the rules includes only what is below, and never in a circle.
std::vector<std::string> UpwardRules(const std::vector<FolderRule>& rules);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_STRUCTURE_FOLDER_RULES_H_
