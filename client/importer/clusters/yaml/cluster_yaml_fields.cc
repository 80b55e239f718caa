#include "client/importer/clusters/yaml/cluster_yaml_fields.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/library/did_you_mean.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxShownLength = 40;

bool IsWordLetter(char c) {
  return c == '_' || c == '-' || c == '.' || absl::ascii_isalnum(static_cast<unsigned char>(c));
}

// Quotes and shortens it. A cut may split a character of several bytes: those become the replacement character.
std::string Quoted(std::string_view text) {
  const bool is_long = text.size() > kMaxShownLength;
  return nlohmann::json(absl::StrCat(std::string(text.substr(0, kMaxShownLength)), is_long ? "..." : ""))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string Shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "empty";
    case YamlNode::Kind::kText:
      return Quoted(node.text);
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

void ReportAt(int line, std::string path, std::string_view rule, ViolationList& violations) {
  violations.Add(std::move(path), absl::StrCat(std::string(rule), " (line ", line, ")"));
}

std::string Suggestion(std::string_view word, std::span<const std::string> names) {
  // The search is quadratic, and nobody mistypes a short word as a very long one.
  const std::string meant = word.size() > kMaxShownLength ? "" : DidYouMean(word, names);
  return meant.empty() ? absl::StrCat("; there are ", absl::StrJoin(names, ", ")) : meant;
}

std::string ShownKey(std::string_view key) {
  const bool is_word =
      !key.empty() && key.size() <= kMaxShownLength && std::all_of(key.begin(), key.end(), IsWordLetter);
  return is_word ? std::string(key) : Quoted(key);
}

YamlFields::YamlFields(const YamlNode& node, std::string path, std::span<const std::string> known,
                       ViolationList& violations)
    : path_(std::move(path)), line_(node.line), violations_(violations) {
  if (node.kind != YamlNode::Kind::kMap) {
    ReportAt(line_, path_, absl::StrCat("must be a map of keys and values, is ", Shown(node)), violations_);
    return;
  }
  map_ = &node;
  CheckKeys(known);
}

void YamlFields::CheckKeys(std::span<const std::string> known) {
  std::map<std::string_view, int> first_line;
  for (const YamlKey& key : map_->keys) {
    const auto [first, is_new] = first_line.emplace(key.text, key.line);
    if (!is_new) {
      ReportAt(key.line, PathOf(key.text), absl::StrCat("is given twice, first in line ", first->second), violations_);
    } else if (!known.empty() && std::ranges::find(known, key.text) == known.end()) {
      ReportAt(key.line, PathOf(key.text), "is not a key here" + Suggestion(key.text, known), violations_);
    }
  }
}

const YamlNode* YamlFields::Find(std::string_view key) const {
  if (map_ == nullptr) return nullptr;
  const auto found = std::ranges::find(map_->keys, key, &YamlKey::text);
  return found == map_->keys.end() ? nullptr : &map_->children[static_cast<std::size_t>(found - map_->keys.begin())];
}

const YamlNode* YamlFields::Require(std::string_view key) {
  const YamlNode* node = Find(key);
  if (node == nullptr && is_map()) Report(key, "is missing");
  return node;
}

std::optional<std::string> YamlFields::Text(std::string_view key) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind == YamlNode::Kind::kText && !node->text.empty()) return node->text;
  MustBe(key, "text");
  return std::nullopt;
}

std::optional<int64_t> YamlFields::WholeNumber(std::string_view key, int64_t low, int64_t high) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  int64_t number = 0;
  const bool is_number = node->kind == YamlNode::Kind::kText && absl::SimpleAtoi(node->text, &number);
  if (is_number && number >= low && number <= high) return number;
  MustBe(key, is_number && number > high ? absl::StrCat("a whole number <= ", high)
                                         : absl::StrCat("a whole number >= ", low));
  return std::nullopt;
}

std::optional<double> YamlFields::Share(std::string_view key) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const auto number = node->kind == YamlNode::Kind::kText ? ParseNumber(node->text) : std::nullopt;
  if (number.has_value() && *number > 0 && *number <= 1) return number;
  MustBe(key, "a number in (0, 1]");
  return std::nullopt;
}

std::optional<double> YamlFields::Number(std::string_view key) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const auto number = node->kind == YamlNode::Kind::kText ? ParseNumber(node->text) : std::nullopt;
  if (!number.has_value()) MustBe(key, "a number >= 0");
  return number;
}

std::optional<double> YamlFields::Amount(std::string_view key, const Dimension& dimension) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const auto amount = node->kind == YamlNode::Kind::kText ? ParseAmount(node->text, dimension) : std::nullopt;
  if (!amount.has_value()) MustBe(key, dimension.description);
  return amount;
}

std::optional<std::string> YamlFields::Choice(std::string_view key, std::span<const std::string> choices) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind == YamlNode::Kind::kText && std::ranges::find(choices, node->text) != choices.end()) return node->text;
  MustBe(key, absl::StrJoin(choices, " or "));
  return std::nullopt;
}

std::string YamlFields::PathOf(std::string_view key) const {
  return path_.empty() ? ShownKey(key) : absl::StrCat(path_, ".", ShownKey(key));
}

void YamlFields::Report(std::string_view key, std::string_view rule) {
  const YamlNode* node = Find(key);
  ReportAt(node == nullptr ? line_ : node->line, PathOf(key), rule, violations_);
}

void YamlFields::MustBe(std::string_view key, std::string_view rule) {
  Report(key, absl::StrCat("must be ", std::string(rule), ", is ", Shown(*Find(key))));
}

}  // namespace planwright::client
