// YAML written by strangers, read without trusting it: a small tree with the line of every node.
//
// The tree takes of YAML 1.2 maps with text keys, lists, text and null. Anchors, aliases, tags and further documents
// are refused, so nothing can multiply; size, depth, length of texts and keys of a map are limited.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_TREE_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_TREE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::client {

inline constexpr std::size_t kMaxYamlBytes = std::size_t{256} << 10;
inline constexpr std::size_t kMaxYamlDepth = 16;
inline constexpr std::size_t kMaxYamlTextBytes = 4096;
inline constexpr std::size_t kMaxYamlKeys = 1024;

struct YamlKey {
  std::string text;
  // Counted from 1, here and below.
  int line = 0;
};

struct YamlNode {
  // Numbers are text: who reads them knows their unit.
  enum class Kind { kNull, kText, kList, kMap };

  Kind kind = Kind::kNull;
  int line = 0;
  // What a kText says.
  std::string text;
  // The keys of a kMap, in the order of the file, equal ones included: keys[i] belongs to children[i].
  std::vector<YamlKey> keys;
  // The members of a kList or kMap.
  std::vector<YamlNode> children;
};

// The only document of `text`; null when there is none.
// Errors: INVALID_ARGUMENT that begins with `source`, and with the place where there is one ("line 3, column 7"), for
// anything that is not YAML, for what the tree does not take, and for control characters and text that is not UTF-8.
absl::StatusOr<YamlNode> ParseYaml(std::string_view text, std::string_view source);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_TREE_H_
