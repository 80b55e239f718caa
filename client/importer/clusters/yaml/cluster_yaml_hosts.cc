#include "client/importer/clusters/yaml/cluster_yaml_hosts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace planwright::client {
namespace {

// More digits than any cluster has, and few enough for int64.
constexpr std::size_t kMaxDigits = 9;
constexpr std::ptrdiff_t kMaxBrackets = 4;

// "018-020": 18 to 20, at least 3 digits each.
struct Range {
  int64_t first = 0;
  int64_t last = 0;
  int width = 0;
};

absl::Status Refused(std::string_view reason) { return absl::InvalidArgumentError(std::string(reason)); }

absl::Status TooMany(std::size_t max_hosts) { return Refused(absl::StrCat("names more than ", max_hosts, " hosts")); }

bool IsHostLetter(char c) {
  return c == '.' || c == '-' || c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c));
}

// The parts of `text` between its commas outside of brackets.
std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool in_bracket = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') in_bracket = true;
    if (text[i] == ']') in_bracket = false;
    if (text[i] != ',' || in_bracket) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

bool IsNumber(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

bool ParseIndex(std::string_view text, int64_t& index) {
  return !text.empty() && text.size() <= kMaxDigits && IsNumber(text) && absl::SimpleAtoi(std::string(text), &index);
}

absl::StatusOr<Range> ParseRange(std::string_view text) {
  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::string_view first = text.substr(0, dash);
  Range range;
  const bool is_range = ParseIndex(first, range.first) &&
                        ParseIndex(dash == text.size() ? first : text.substr(dash + 1), range.last) &&
                        range.first <= range.last;
  if (!is_range) return Refused("has brackets that are no list of ranges, such as [0-3,12]");
  if (first.front() == '0') range.width = static_cast<int>(first.size());
  return range;
}

// The numbers of "0-3,12".
absl::StatusOr<std::vector<std::string>> ExpandNumbers(std::string_view ranges, std::size_t max_hosts) {
  std::vector<std::string> numbers;
  for (const std::string_view part : SplitAtCommas(ranges)) {
    const auto range = ParseRange(part);
    if (!range.ok()) return range.status();
    const auto count = static_cast<std::size_t>(range->last - range->first) + 1;
    if (numbers.size() + count > max_hosts) return TooMany(max_hosts);
    for (int64_t i = range->first; i <= range->last; ++i) numbers.push_back(absl::StrFormat("%0*d", range->width, i));
  }
  return numbers;
}

// Joins every name with every ending, the endings fastest.
std::vector<std::string> Combine(const std::vector<std::string>& names, const std::vector<std::string>& endings) {
  std::vector<std::string> combined;
  combined.reserve(names.size() * endings.size());
  for (const std::string& name : names) {
    for (const std::string& ending : endings) combined.push_back(name + ending);
  }
  return combined;
}

// What `item` begins with, text or a bracket, is cut off; returns the endings that it stands for.
absl::StatusOr<std::vector<std::string>> TakeEndings(std::string_view& item, std::size_t max_hosts) {
  if (item.front() == '[') {
    const std::size_t close = item.find(']');
    if (close == std::string_view::npos) return Refused(R"(has a "[" without its "]")");
    const std::string_view ranges = item.substr(1, close - 1);
    item.remove_prefix(close + 1);
    return ExpandNumbers(ranges, max_hosts);
  }
  const std::string_view text = item.substr(0, item.find('['));
  item.remove_prefix(text.size());
  return std::vector<std::string>{std::string(text)};
}

// The names of one item: text, "[ranges]", text, ...
absl::StatusOr<std::vector<std::string>> ExpandItem(std::string_view item, std::size_t max_hosts) {
  if (item.empty()) return Refused("has an empty name");
  if (std::count(item.begin(), item.end(), '[') > kMaxBrackets) {
    return Refused(absl::StrCat("has a name with more than ", kMaxBrackets, " brackets"));
  }
  std::vector<std::string> names = {""};
  while (!item.empty()) {
    const auto endings = TakeEndings(item, max_hosts);
    if (!endings.ok()) return endings.status();
    if (names.size() * endings->size() > max_hosts) return TooMany(max_hosts);
    names = Combine(names, *endings);
  }
  return names;
}

absl::Status CheckHostName(std::string_view name) {
  if (!std::all_of(name.begin(), name.end(), IsHostLetter)) {
    return Refused("has a character that no host's name has; those have letters, digits, '.', '-' and '_'");
  }
  if (IsNumber(name)) return Refused("has a name of digits alone; four hosts are called node[0-3], say");
  if (name.size() <= kMaxHostNameBytes) return absl::OkStatus();
  return Refused(absl::StrCat("has a name of more than ", kMaxHostNameBytes, " bytes"));
}

absl::Status RequireUnique(const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) return Refused(absl::StrCat("names host \"", name, "\" twice"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandNames(std::string_view list, std::size_t max_names) {
  std::vector<std::string> all;
  for (const std::string_view item : SplitAtCommas(list)) {
    auto names = ExpandItem(item, max_names);
    if (!names.ok()) return names.status();
    if (all.size() + names->size() > max_names) return TooMany(max_names);
    std::move(names->begin(), names->end(), std::back_inserter(all));
  }
  return all;
}

absl::StatusOr<std::vector<std::string>> ExpandHostList(std::string_view list, std::size_t max_hosts) {
  auto hosts = ExpandNames(list, max_hosts);
  if (!hosts.ok()) return hosts;
  for (const std::string& host : *hosts) {
    const absl::Status status = CheckHostName(host);
    if (!status.ok()) return status;
  }
  const absl::Status status = RequireUnique(*hosts);
  if (!status.ok()) return status;
  return hosts;
}

}  // namespace planwright::client
