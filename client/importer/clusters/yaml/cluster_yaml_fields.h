// Typed access to a map of a YAML tree that collects what is wrong, with its line, instead of stopping at it.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_FIELDS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_FIELDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "client/importer/clusters/yaml/cluster_yaml_tree.h"
#include "client/library/error_details.h"
#include "core/text/amount.h"

namespace planwright::client {

// `node` as a sentence shows it: short, texts in quotes, structures by their kind.
std::string Shown(const YamlNode& node);

// Adds "PATH: RULE (line LINE)".
void ReportAt(int line, std::string path, std::string_view rule, ViolationList& violations);

// "; did you mean h100?", or the names there are where none is close: "; there are a, b".
std::string Suggestion(std::string_view word, std::span<const std::string> names);

// `key` as a path shows it: in quotes where it is no plain word, and short.
std::string ShownKey(std::string_view key);

// Reads one map. Every getter returns nullopt when the field is missing, or when it is wrong, which it reports: a key
// with nothing behind it is wrong. The node and the list outlive the reader.
class YamlFields {
 public:
  // Reports keys that are not in `known` (no `known`: all are), keys given twice, and a node that is no map. `path` is
  // put before the name of a field: "nodes[3]", or "" for the top level.
  YamlFields(const YamlNode& node, std::string path, std::span<const std::string> known, ViolationList& violations);

  bool is_map() const { return map_ != nullptr; }
  // nullptr when it is missing. Of equal keys the first counts.
  const YamlNode* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // Find, and reports the field when it is missing.
  const YamlNode* Require(std::string_view key);

  std::optional<std::string> Text(std::string_view key);
  std::optional<int64_t> WholeNumber(std::string_view key, int64_t low, int64_t high);
  // A number in (0, 1].
  std::optional<double> Share(std::string_view key);
  // A number >= 0.
  std::optional<double> Number(std::string_view key);
  // A number with its unit, in the base unit of its dimension.
  std::optional<double> Amount(std::string_view key, const Dimension& dimension);
  // Text that is one of `choices`.
  std::optional<std::string> Choice(std::string_view key, std::span<const std::string> choices);

  std::string PathOf(std::string_view key) const;
  // At the line of the field, or of the map where the field is missing.
  void Report(std::string_view key, std::string_view rule);

 private:
  void CheckKeys(std::span<const std::string> known);
  void MustBe(std::string_view key, std::string_view rule);

  // nullptr: no map.
  const YamlNode* map_ = nullptr;
  std::string path_;
  int line_ = 0;
  ViolationList& violations_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_FIELDS_H_
