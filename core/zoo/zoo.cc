#include "core/zoo/zoo.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/strings.h"
#include "core/zoo/bert.h"
#include "core/zoo/closest_name.h"
#include "core/zoo/clusters.h"
#include "core/zoo/resnet.h"

namespace planwright {
namespace {

constexpr int kMaxDevices = 16'384;

constexpr std::array kModels = {
    ZooEntry{"bert-base",
             "BERT-Base (110 M parameters, 12 layers) with a classification head; 8 sequences of 512 tokens a "
             "micro-batch, 2-byte elements; training"},
    ZooEntry{"bert-large",
             "BERT-Large (340 M parameters, 24 layers) with a classification head; 8 sequences of 512 tokens a "
             "micro-batch, 2-byte elements; training"},
    ZooEntry{"resnet50",
             "ResNet-50 v1.5 (25.6 M parameters); 32 images of 224 x 224 a micro-batch, 2-byte elements; training"},
};

constexpr std::array kClusters = {
    ZooEntry{"dgx1-v100:N",
             "N DGX-1 of 8 V100 32 GB; one: uniform, one NVLink for every pair (the cube mesh is not uniform); more: a "
             "hierarchy, not planned by this version"},
    ZooEntry{"dgx-a100:N",
             "N DGX A100 of 8 A100 80 GB; one: uniform over NVSwitch; more: a hierarchy, not planned by this version"},
    ZooEntry{"pcie:N", "one host with a CPU and N V100 16 GB on PCI Express 3.0 x16, staged through host memory"},
};

// "dgx-a100" of "dgx-a100:N".
std::string_view Family(std::string_view name) { return name.substr(0, name.find(':')); }

absl::Status UnknownName(std::string_view kind, std::string_view name, std::span<const ZooEntry> entries) {
  std::vector<std::string_view> families;
  for (const ZooEntry& entry : entries) families.push_back(Family(entry.name));
  const auto closest =
      static_cast<std::size_t>(std::ranges::find(families, ClosestName(Family(name), families)) - families.begin());
  const std::string names =
      absl::StrJoin(entries, ", ", [](std::string* out, const ZooEntry& entry) { out->append(entry.name); });
  return absl::NotFoundError(absl::StrCat("the zoo has no ", ToAbsl(kind), " \"", ToAbsl(name), "\"; the closest is \"",
                                          ToAbsl(entries[closest].name), "\" of: ", names));
}

// A family of clusters and how its members grow with N.
struct ClusterFamily {
  std::string_view name;
  Cluster (*make)(int n);
  // Devices of one cluster: fixed + n x per_n.
  int fixed_devices;
  int devices_per_n;
};

constexpr std::array kFamilies = {
    ClusterFamily{"dgx1-v100", MakeDgx1V100, 0, 8},
    ClusterFamily{"dgx-a100", MakeDgxA100, 0, 8},
    ClusterFamily{"pcie", MakePcie, 1, 1},
};

// The N of "{family}:N"; nullopt: not a whole number from 1 to `limit`.
std::optional<int> ParseNumber(std::string_view name, int limit) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(colon + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || number < 1 || number > limit) return std::nullopt;
  return number;
}

}  // namespace

std::span<const ZooEntry> ZooModels() { return kModels; }
std::span<const ZooEntry> ZooClusters() { return kClusters; }

absl::StatusOr<OperatorGraph> MakeZooModel(std::string_view name) {
  if (name == "bert-base") return MakeBert({.display_name = "bert-base", .layers = 12, .hidden = 768, .heads = 12});
  if (name == "bert-large") return MakeBert({.display_name = "bert-large", .layers = 24, .hidden = 1'024, .heads = 16});
  if (name == "resnet50") return MakeResNet50({});
  return UnknownName("model", name, kModels);
}

absl::StatusOr<Cluster> MakeZooCluster(std::string_view name) {
  const auto* family = std::ranges::find(kFamilies, Family(name), &ClusterFamily::name);
  if (family == kFamilies.end()) return UnknownName("cluster", name, kClusters);
  const int limit = (kMaxDevices - family->fixed_devices) / family->devices_per_n;
  const std::optional<int> number = ParseNumber(name, limit);
  if (!number.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("cluster \"", ToAbsl(name), "\" of the zoo: N in \"",
                                                   ToAbsl(family->name), ":N\" must be a whole number from 1 to ",
                                                   limit));
  }
  return family->make(*number);
}

}  // namespace planwright
