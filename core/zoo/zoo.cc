#include "core/zoo/zoo.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/text/closest_name.h"
#include "core/zoo/families.h"

namespace planwright {
namespace {

// Bounds the work of finding the closest name.
constexpr std::size_t kMaxNameBytes = 1'024;

// "{name}:{number}?{query}" taken apart; a part that is not there is nullopt.
struct Reference {
  std::string_view name;
  std::optional<std::string_view> number;
  std::optional<std::string_view> query;
};

// Cuts `text` at the first `separator` and returns what follows it.
std::optional<std::string_view> CutAt(char separator, std::string_view& text) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

absl::StatusOr<Reference> Parse(std::string_view text) {
  if (text.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("names of the zoo have at most ", kMaxNameBytes, " bytes, this one has ", text.size()));
  }
  Reference reference;
  reference.name = text;
  reference.query = CutAt('?', reference.name);
  reference.number = CutAt(':', reference.name);
  return reference;
}

// "model \"gnmt\" of the zoo", with which messages start.
std::string Subject(std::string_view kind, std::string_view name) {
  return absl::StrCat(ToAbsl(kind), " \"", ToAbsl(name), "\" of the zoo");
}

absl::Status UnknownName(std::string_view kind, std::string_view name, std::span<const ZooEntry> entries) {
  std::vector<std::string_view> families;
  families.reserve(entries.size());
  for (const ZooEntry& entry : entries)
    families.push_back(std::string_view(entry.name).substr(0, entry.name.find(':')));
  std::string_view family = name;
  CutAt(':', family);
  const std::optional<std::size_t> likely = LikelyName(family, families);
  const std::string names =
      absl::StrJoin(entries, ", ", [](std::string* out, const ZooEntry& entry) { out->append(entry.name); });
  return absl::NotFoundError(absl::StrCat(
      "the zoo has no ", ToAbsl(kind), " \"", ToAbsl(name), "\"; ",
      likely.has_value() ? absl::StrCat("the closest is \"", entries[*likely].name, "\" of: ") : "it has: ", names));
}

template <typename Config>
std::vector<ZooEntry> Describe(const std::vector<Family<Config>>& families, std::string_view suffix) {
  std::vector<ZooEntry> entries;
  entries.reserve(families.size());
  for (const Family<Config>& family : families) {
    const std::string keys = std::visit([](auto config) { return KeysOf(config).Describe(); }, family.config);
    entries.push_back(
        {absl::StrCat(ToAbsl(family.name), ToAbsl(suffix)), absl::StrCat(ToAbsl(family.summary), "; keys: ", keys)});
  }
  return entries;
}

// nullptr: there is none.
template <typename Config>
const Family<Config>* FindFamily(const std::vector<Family<Config>>& families, std::string_view name) {
  const auto family = std::ranges::find(families, name, &Family<Config>::name);
  return family == families.end() ? nullptr : &*family;
}

template <typename Config>
absl::Status Configure(const std::string& subject, std::optional<std::string_view> query, Config& config) {
  if (query.has_value()) RETURN_IF_ERROR(KeysOf(config).Assign(subject, *query));
  if constexpr (requires { CheckConfig(subject, config); }) return CheckConfig(subject, config);
  return absl::OkStatus();
}

// The N of "{family}:N"; nullopt: not a whole number from 1 to `limit`.
std::optional<int> ParseNumber(std::optional<std::string_view> digits, int64_t limit) {
  if (!digits.has_value()) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), number);
  const bool whole = error == std::errc() && end == digits->data() + digits->size();
  if (!whole || number < 1 || number > limit) return std::nullopt;
  return number;
}

// The largest N that makes no more devices than allowed. REQUIRES: more make more devices.
template <typename Config>
int64_t LargestN(const Config& config) {
  int64_t n = 0;
  while (NumDevices(config, n + 1) <= kMaxZooDevices) ++n;
  return n;
}

template <typename Config>
absl::StatusOr<Cluster> BuildCluster(std::string_view text, const Reference& reference, Config config) {
  std::string_view shown = text;
  CutAt('?', shown);
  const std::string subject = Subject("cluster", shown);
  RETURN_IF_ERROR(Configure(subject, reference.query, config));
  const int64_t limit = LargestN(config);
  const std::optional<int> number = ParseNumber(reference.number, limit);
  if (number.has_value()) return MakeCluster(std::string(text), *number, config);
  if (limit == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": must have at most ", kMaxZooDevices, " devices, has more whatever N is"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(subject, ": N in \"", ToAbsl(reference.name), ":N\" must be a whole number from 1 to ", limit));
}

}  // namespace

std::span<const ZooEntry> ZooModels() {
  static const auto& entries = *new std::vector<ZooEntry>(Describe(ModelFamilies(), ""));
  return entries;
}

std::span<const ZooEntry> ZooClusters() {
  static const auto& entries = *new std::vector<ZooEntry>(Describe(ClusterFamilies(), ":N"));
  return entries;
}

absl::StatusOr<OperatorGraph> MakeZooModel(std::string_view name) {
  ASSIGN_OR_RETURN(const Reference reference, Parse(name));
  const Family<ModelConfig>* family = FindFamily(ModelFamilies(), reference.name);
  if (family == nullptr || reference.number.has_value()) {
    CutAt('?', name);
    return UnknownName("model", name, ZooModels());
  }
  const auto build = [&name, &reference](auto config) -> absl::StatusOr<OperatorGraph> {
    RETURN_IF_ERROR(Configure(Subject("model", reference.name), reference.query, config));
    return MakeModel(std::string(name), config);
  };
  return std::visit(build, family->config);
}

std::optional<TransformerShape> TransformerShapeOf(std::string_view name) {
  const absl::StatusOr<Reference> reference = Parse(name);
  if (!reference.ok() || reference->number.has_value()) return std::nullopt;
  const Family<ModelConfig>* family = FindFamily(ModelFamilies(), reference->name);
  const auto* preset = family == nullptr ? nullptr : std::get_if<TransformerConfig>(&family->config);
  if (preset == nullptr) return std::nullopt;
  TransformerConfig config = *preset;
  if (!Configure(Subject("model", reference->name), reference->query, config).ok()) return std::nullopt;
  return ShapeOf(config);
}

absl::StatusOr<Cluster> MakeZooCluster(std::string_view name) {
  ASSIGN_OR_RETURN(const Reference reference, Parse(name));
  const Family<ClusterConfig>* family = FindFamily(ClusterFamilies(), reference.name);
  if (family == nullptr) {
    CutAt('?', name);
    return UnknownName("cluster", name, ZooClusters());
  }
  const auto build = [&name, &reference](const auto& config) { return BuildCluster(name, reference, config); };
  return std::visit(build, family->config);
}

}  // namespace planwright
