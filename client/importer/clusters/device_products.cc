#include "client/importer/clusters/device_products.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/yaml/cluster_yaml_classes.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"

namespace planwright::client {
namespace {

struct Product {
  // Words that a name has, in this order.
  std::string_view words;
  std::string_view device_class;
};

// The first that fits counts, so the narrower ones stand first.
constexpr std::array<Product, 20> kProducts = {{{"gb200", "gb200"},
                                                {"gb300", "gb300"},
                                                {"b200", "b200"},
                                                {"b300", "b300"},
                                                {"h200", "h200"},
                                                {"h100 pcie", "h100-pcie"},
                                                {"h100", "h100"},
                                                {"h800", "h100"},
                                                {"a100 40gb", "a100-40gb"},
                                                {"a100 80gb", "a100"},
                                                {"a100", "a100-40gb"},
                                                {"a800", "a100"},
                                                {"v100 pcie", "v100-pcie"},
                                                {"v100", "v100"},
                                                {"l40s", "l40s"},
                                                {"l4", "l4"},
                                                {"a10g", "a10"},
                                                {"a10", "a10"},
                                                {"mi300x", "mi300x"},
                                                {"mi300", "mi300x"}}};

// How NCCL counts on what a class has: links of NVLink (18 to 40 GB/s) and 16 lanes of PCIe.
struct Speed {
  std::string_view device_class;
  double nvlink_lane = 0;
  double pcie = 0;
};
constexpr std::array<Speed, 8> kSpeeds = {{{"v100", 20e9, 12e9},
                                           {"a100", 20e9, 24e9},
                                           {"h100", 20.6e9, 48e9},
                                           {"h200", 20.6e9, 48e9},
                                           {"b200", 40.1e9, 48e9},
                                           {"b300", 40.1e9, 48e9},
                                           {"gb200", 40.1e9, 48e9},
                                           {"gb300", 40.1e9, 48e9}}};
constexpr Speed kUsualSpeed = {"", 20e9, 24e9};

// Small letters, digits and single blanks.
std::string Normalised(std::string_view text) {
  std::string words;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  return absl::StrCat(" ", words, " ");
}

bool HasWords(std::string_view name, std::string_view words) {
  std::size_t from = 0;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    const std::size_t at = name.find(absl::StrCat(" ", std::string(word)), from);
    if (at == std::string_view::npos) return false;
    const std::size_t end = at + 1 + word.size();
    // "a10" is not "a100", but "v100s" is a "v100" and "h100 80gb" an "h100".
    if (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) return false;
    from = end;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return true;
}

std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

struct QueriedGpu {
  std::string product;
  int64_t memory_bytes = 0;

  auto operator<=>(const QueriedGpu&) const = default;
};

// "NVIDIA A100-SXM4-40GB, 40960 MiB".
std::optional<QueriedGpu> ReadQueryLine(std::string_view line) {
  const std::size_t comma = line.rfind(',');
  if (comma == std::string_view::npos) return std::nullopt;
  std::string_view memory = line.substr(comma + 1);
  memory.remove_prefix(std::min(memory.size(), memory.find_first_not_of(' ')));
  constexpr int64_t kMostMib = int64_t{1} << 30;
  int64_t mib = 0;
  const auto [end, error] = std::from_chars(memory.data(), memory.data() + memory.size(), mib);
  if (error != std::errc() || mib < 0 || mib > kMostMib) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(memory.data() + memory.size() - end));
  if (unit != " MiB" && !unit.empty()) return std::nullopt;
  return QueriedGpu{std::string(line.substr(0, comma)), mib << 20};
}

// The product of a query, the same on every line. The first line names the columns.
absl::StatusOr<QueriedGpu> ReadQuery(std::string_view text) {
  constexpr char kSource[] = "--gpu_query";
  std::set<QueriedGpu> gpus;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = TakeLine(text);
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.starts_with("name,")) continue;
    auto gpu = ReadQueryLine(line);
    if (!gpu.has_value()) {
      return Refused(kSource, absl::StrCat("line ", line_number,
                                           " must be a name and an amount of memory, as `nvidia-smi "
                                           "--query-gpu=name,memory.total --format=csv` prints them"));
    }
    gpus.insert(*std::move(gpu));
  }
  if (gpus.size() == 1) return *gpus.begin();
  return Refused(kSource, gpus.empty() ? "names no device" : "names devices of several kinds; describe them in YAML");
}

}  // namespace

absl::Status Refused(std::string_view source, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", std::string(reason)));
}

std::optional<std::string> ClassOfProduct(std::string_view product) {
  const std::string name = Normalised(product);
  const auto* const found =
      std::find_if(kProducts.begin(), kProducts.end(), [&](const Product& each) { return HasWords(name, each.words); });
  return found == kProducts.end() ? std::nullopt : std::optional<std::string>(found->device_class);
}

absl::StatusOr<DeviceType> FindDeviceType(std::string_view name) {
  const YamlDeviceClasses& classes = KnownDeviceClasses();
  const auto found = classes.find(name);
  if (found == classes.end()) {
    std::vector<std::string> names;
    for (const auto& [known, unused] : classes) names.push_back(known);
    return absl::InvalidArgumentError(absl::StrCat("there is no class ", ShownKey(name), Suggestion(name, names)));
  }
  // "a100-40gb" is as fast as "a100" outside of its memory.
  const std::string_view family = name.substr(0, name.find('-'));
  const auto* const speed =
      std::find_if(kSpeeds.begin(), kSpeeds.end(), [&](const Speed& each) { return each.device_class == family; });
  const Speed& known = speed == kSpeeds.end() ? kUsualSpeed : *speed;
  return DeviceType{found->second.message, found->second.nvlink_bytes_per_second, known.nvlink_lane, known.pcie};
}

absl::StatusOr<DeviceType> SettleDeviceType(const ClusterOptions& options, std::string_view product,
                                            std::string_view source) {
  std::optional<QueriedGpu> queried;
  if (!options.gpu_query.empty()) {
    auto query = ReadQuery(options.gpu_query);
    if (!query.ok()) return query.status();
    queried = *std::move(query);
    product = queried->product;
  }
  std::string name = options.device_class;
  if (name.empty() && product.empty()) {
    return Refused(source,
                   "does not say which accelerators there are: name their class with --class=h100, or give "
                   "--gpu_query=FILE with what `nvidia-smi --query-gpu=name,memory.total --format=csv` prints");
  }
  if (name.empty()) {
    const auto known = ClassOfProduct(product);
    if (!known.has_value()) {
      return Refused(source, absl::StrCat("has accelerators of no known class, ", ShownKey(product),
                                          ": name the class that is nearest with --class"));
    }
    name = *known;
  }
  auto type = FindDeviceType(name);
  if (!type.ok()) return Refused("--class", std::string(type.status().message()));
  if (queried.has_value() && queried->memory_bytes > 0) type->device_class.set_memory_bytes(queried->memory_bytes);
  return type;
}

}  // namespace planwright::client
