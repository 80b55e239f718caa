// The files of the repository, as the structure tests see them.
#ifndef PLANWRIGHT_TESTS_STRUCTURE_SOURCE_TREE_H_
#define PLANWRIGHT_TESTS_STRUCTURE_SOURCE_TREE_H_

#include <string>
#include <string_view>
#include <vector>

namespace planwright {

struct SourceFile {
  // From the root of the repository, with '/'.
  std::string path;
  std::string text;
};

// The files below the folders that hold our own code (core, server, client, tests, deploy, cmake, proto, docs) and the
// files in the root, whose name ends with one of `endings`; sorted by path. Build folders are not looked at.
// REQUIRES: the working directory is the root of the repository.
std::vector<SourceFile> SourceFiles(const std::vector<std::string_view>& endings);

// The text of the file at `path`; empty where there is none.
std::string ReadText(const std::string& path);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_STRUCTURE_SOURCE_TREE_H_
