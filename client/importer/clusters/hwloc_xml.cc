#include "client/importer/clusters/hwloc_xml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/pci_tree.h"
#include "client/importer/clusters/xml_text.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"
#include "client/importer/reading/cells.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxHwlocGpus = 1024;
constexpr std::size_t kMaxDistances = 4096;
// A bit of `kind`: the values are bandwidths.
constexpr int kBandwidthKind = 8;
// A pair of nothing with itself.
constexpr double kMegabyte = 1e6;

// What lies on the way to an object.
struct Way {
  std::string package;
  std::vector<PciHop> path;
  // The PCI device that encloses it, as an index of devices; -1: none.
  int device = -1;
};

// The words of all <tag> elements, which have ten each.
std::vector<std::string> WordsOfElements(const pugi::xml_node& parent, const char* tag) {
  std::vector<std::string> words;
  for (const pugi::xml_node& node : parent.children(tag)) {
    std::string_view text = node.text().get();
    while (words.size() <= kMaxDistances * kMaxDistances) {
      const std::size_t begin = text.find_first_not_of(" \t\r\n");
      if (begin == std::string_view::npos) break;
      text.remove_prefix(begin);
      const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n"));
      words.emplace_back(word);
      text.remove_prefix(word.size());
    }
  }
  return words;
}

bool IsAcceleratorName(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"nvml", "cuda", "rsmi", "ze", "opencl"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view each) { return name.starts_with(each); });
}

class HwlocReader {
 public:
  explicit HwlocReader(ViolationList& violations) : violations_(violations) {}

  void Read(const pugi::xml_node& topology) {
    for (const pugi::xml_node& object : topology.children("object")) ReadObject(object, {}, 0);
    // hwloc writes them inside the topology.
    for (const pugi::xml_node& distances : topology.children("distances2hetero")) ReadDistances(distances);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (is_accelerator_[i]) devices_.push_back(std::move(candidates_[i]));
    }
    if (devices_.size() > kMaxHwlocGpus)
      violations_.Add("topology", absl::StrCat("has more than ", kMaxHwlocGpus, " accelerators"));
  }

  const std::vector<PciDevice>& devices() const { return devices_; }
  const std::string& product() const { return product_; }

 private:
  void ReadObject(const pugi::xml_node& object, Way way, int depth) {
    const std::string_view type = object.attribute("type").value();
    const std::string index = object.attribute("gp_index").value();
    if (depth > kMaxXmlDepth) return violations_.Add(absl::StrCat("object ", index), "is nested too deeply");
    if (type == "Package") way.package = index;
    if (type == "PCIDev" || type == "Bridge") way.path.push_back({index, LinkSpeed(object, index)});
    if (type == "PCIDev") EnterPciDevice(object, index, way);
    if (type == "OSDev") EnterOsDevice(object, index, way);
    for (const pugi::xml_node& child : object.children("object")) ReadObject(child, way, depth + 1);
  }

  // GB/s; 0: not said.
  double LinkSpeed(const pugi::xml_node& object, const std::string& index) {
    const std::string_view text = object.attribute("pci_link_speed").value();
    if (text.empty()) return 0;
    const auto speed = NumberOf(text);
    if (!speed.has_value()) {
      violations_.Add(absl::StrCat("object ", index, ": pci_link_speed"),
                      absl::StrCat("must be a number >= 0, is ", ShownKey(text)));
    }
    constexpr double kGigabyte = 1e9;
    return speed.value_or(0) * kGigabyte;
  }

  void EnterPciDevice(const pugi::xml_node& object, const std::string& index, Way& way) {
    const std::string_view kind = object.attribute("pci_type").value();
    if (!kind.starts_with("0302") && !kind.starts_with("0300")) return;
    way.device = static_cast<int>(candidates_.size());
    candidates_.push_back({index, way.package, way.path, {}, 0});
    is_accelerator_.push_back(false);
    device_of_.emplace(index, way.device);
  }

  void EnterOsDevice(const pugi::xml_node& object, const std::string& index, const Way& way) {
    if (way.device < 0 || !IsAcceleratorName(object.attribute("name").value())) return;
    is_accelerator_[static_cast<std::size_t>(way.device)] = true;
    device_of_.emplace(index, way.device);
    for (const pugi::xml_node& info : object.children("info")) {
      if (std::string_view(info.attribute("name").value()) != "GPUModel") continue;
      const std::string model = info.attribute("value").value();
      if (product_.empty()) product_ = model;
    }
  }

  // Row-major MB/s between "OSDev:802 PCIDev:449 ...". What is no accelerator is a port of a switch.
  void ReadDistances(const pugi::xml_node& distances) {
    const std::string_view name = distances.attribute("name").value();
    int kind = 0;
    const std::string_view kind_text = distances.attribute("kind").value();
    std::from_chars(kind_text.data(), kind_text.data() + kind_text.size(), kind);
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth") return;
    if ((kind & kBandwidthKind) == 0) return;
    const std::vector<std::string> indexes = WordsOfElements(distances, "indexes");
    const std::vector<std::string> values = WordsOfElements(distances, "u64values");
    const std::string path = absl::StrCat("distances2hetero ", std::string(name));
    if (indexes.size() > kMaxDistances || values.size() != indexes.size() * indexes.size()) {
      return violations_.Add(path, absl::StrCat("must have a value for each pair, has ", values.size(), " of ",
                                                indexes.size(), " objects"));
    }
    for (std::size_t row = 0; row < indexes.size(); ++row) {
      for (std::size_t column = 0; column < indexes.size(); ++column) {
        const auto value = NumberOf(values[row * indexes.size() + column]);
        if (!value.has_value()) {
          return violations_.Add(
              path, absl::StrCat("must hold numbers, holds ", ShownKey(values[row * indexes.size() + column])));
        }
        if (row != column) AddLink(indexes[row], indexes[column], *value * kMegabyte);
      }
    }
  }

  // nullptr: no accelerator.
  PciDevice* DeviceOf(const std::string& index) {
    const auto device = device_of_.find(index.substr(index.find(':') + 1));
    return device == device_of_.end() ? nullptr : &candidates_[static_cast<std::size_t>(device->second)];
  }

  void AddLink(const std::string& from, const std::string& to, double bandwidth) {
    PciDevice* a = DeviceOf(from);
    const PciDevice* b = DeviceOf(to);
    if (a == nullptr || bandwidth == 0 || a == b) return;
    if (b != nullptr) {
      a->direct[b->id] = bandwidth;
    } else {
      a->to_switch += bandwidth;
    }
  }

  ViolationList& violations_;
  std::vector<PciDevice> candidates_;
  std::vector<bool> is_accelerator_;
  // By gp_index, of PCI and OS devices.
  std::map<std::string, int> device_of_;
  std::vector<PciDevice> devices_;
  std::string product_;
};

}  // namespace

absl::StatusOr<ImportedCluster> ReadHwlocXml(std::string_view text, std::string_view source,
                                             const ClusterOptions& options) {
  pugi::xml_document document;
  const absl::Status parsed = ParseXml(text, source, document);
  if (!parsed.ok()) return parsed;
  ViolationList violations;
  HwlocReader reader(violations);
  const pugi::xml_node topology = document.child("topology");
  if (!topology) violations.Add("", "must hold an element <topology>");
  reader.Read(topology);
  if (!violations.empty()) return violations.ToStatus(source);
  if (reader.devices().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": names no accelerator"));
  }
  auto type = SettleDeviceType(options, reader.product(), source);
  if (!type.ok()) return type.status();
  std::vector<std::string> assumed;
  const Machine machine = MachineOf(reader.devices(), *std::move(type), options, assumed);
  auto cluster = ClusterOfMachines(machine, options, source);
  if (!cluster.ok()) return cluster.status();
  ImportedCluster imported{*std::move(cluster), {}};
  AddAssumptions(reader.product(), assumed, options, source, imported);
  return imported;
}

}  // namespace planwright::client
