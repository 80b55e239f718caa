// The dependency directions of the architecture, as data, and a check of one file against them.
//
// The headers of every library are in /usr/include and all our folders share one include path, so the linker cannot
// enforce directions; this reads the #include lines instead. Tests may include everything.
#ifndef PLANWRIGHT_TESTS_STRUCTURE_INCLUDE_RULES_H_
#define PLANWRIGHT_TESTS_STRUCTURE_INCLUDE_RULES_H_

#include <string>
#include <string_view>
#include <vector>

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
// "core/base/units.cc"): "core/base/units.cc:7: core/base must not include core/model/graph.h". Empty: nothing.
// A folder below core/ that the rules do not know is wrong as well, so a new one cannot slip past.
std::vector<std::string> IncludeViolations(std::string_view path, std::string_view text);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_STRUCTURE_INCLUDE_RULES_H_
