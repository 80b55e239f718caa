// Checks of the #include lines and of the folders against the rules of the house.
//
// The headers of every library are in /usr/include and all our folders share one include path, so the linker cannot
// enforce directions; this reads the #include lines instead. Tests may include everything.
#ifndef PLANWRIGHT_TESTS_STRUCTURE_INCLUDE_RULES_H_
#define PLANWRIGHT_TESTS_STRUCTURE_INCLUDE_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "tests/structure/source_tree.h"

namespace planwright {

// One #include line.
struct IncludeLine {
  // From 1.
  int line;
  // What stands between the quotes or angle brackets.
  std::string target;
};

// The #include lines of `text`, in their order. Linear in the length of the text.
std::vector<IncludeLine> IncludeLines(std::string_view text);

// What is wrong with the includes of the file at `path` (from the root of the repository, e.g.
// "core/base/units.cc"): "core/base/units.cc:7: core/base must not include core/model/graph.h", or "...: X is no door
// of core/model" where the folder may be entered, but not by this header. Empty: nothing. A folder that the rules do
// not know is wrong as well, so a new one cannot slip past.
std::vector<std::string> IncludeViolations(std::string_view path, std::string_view text);

// Folders of core, server and client that hold more than 30 of `files` directly, headers and sources counted alike:
// "core/partition holds 93 files". There are no exceptions.
std::vector<std::string> CrowdedFolders(const std::vector<SourceFile>& files);

// Folders of core, server and client that include each other in a circle, whatever the rules say: "core/a -> core/b ->
// core/a", one for each circle that a walk over all folders comes upon. Empty: there is none.
std::vector<std::string> FolderCircles(const std::vector<SourceFile>& files);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_STRUCTURE_INCLUDE_RULES_H_
