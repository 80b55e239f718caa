#include "client/importer/clusters/nccl_xml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/importer/clusters/pci_tree.h"
#include "client/importer/clusters/xml_text.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxNcclGpus = 1024;

struct LaneSpeed {
  std::string_view name;
  // Bytes per second of one lane.
  double bandwidth = 0;
};
// GT/s of PCIe 1 to 6. NCCL counts 15 to 480 hundreds of Mb/s of which 80 make a GB/s.
constexpr std::array<LaneSpeed, 6> kLaneSpeeds = {
    {{"2.5", 0.1875e9}, {"5", 0.375e9}, {"8", 0.75e9}, {"16", 1.5e9}, {"32", 3e9}, {"64", 6e9}}};

struct Generation {
  int sm = 0;
  std::string_view device_class;
  double nvlink = 0;
};
// The last one whose sm is not greater counts.
constexpr std::array<Generation, 9> kGenerations = {{{60, "", 18e9},
                                                     {70, "v100", 20e9},
                                                     {80, "a100", 20e9},
                                                     {86, "", 12e9},
                                                     {90, "h100", 20.6e9},
                                                     {100, "b200", 40.1e9},
                                                     {103, "b300", 40.1e9},
                                                     {110, "", 40.1e9},
                                                     {120, "", 12e9}}};

const Generation& GenerationOf(int sm) {
  const Generation* known = kGenerations.data();
  for (const Generation& each : kGenerations) {
    if (each.sm <= sm) known = &each;
  }
  return *known;
}

class SystemReader {
 public:
  explicit SystemReader(ViolationList& violations) : violations_(violations) {}

  void Read(const pugi::xml_node& system) {
    int cpu = 0;
    for (const pugi::xml_node& node : system.children("cpu")) {
      const std::string id = absl::StrCat("cpu", cpu++, " ", node.attribute("numaid").value());
      for (const pugi::xml_node& pci : node.children("pci")) ReadPci(pci, id, {}, 0);
    }
    const bool has_gpus = !gpus_.empty();
    devices_ = has_gpus ? std::move(gpus_) : std::move(displays_);
    if (devices_.size() > kMaxNcclGpus)
      violations_.Add("system", absl::StrCat("has more than ", kMaxNcclGpus, " accelerators"));
  }

  const std::vector<PciDevice>& devices() const { return devices_; }

  // What the SM version says; empty: it says nothing, or not everywhere the same.
  std::string Product() const { return is_mixed_ || sm_ == 0 ? "" : std::string(GenerationOf(sm_).device_class); }

 private:
  void ReadPci(const pugi::xml_node& pci, const std::string& cpu, std::vector<PciHop> path, int depth) {
    const std::string id = pci.attribute("busid").value();
    if (depth > kMaxXmlDepth) return violations_.Add(absl::StrCat("pci ", id), "is nested too deeply");
    path.push_back({id, PciBandwidth(pci, id)});
    const std::string_view kind = pci.attribute("class").value();
    for (const pugi::xml_node& gpu : pci.children("gpu")) AddGpu(gpu, {id, cpu, path, {}, 0});
    if (kind.starts_with("0x03")) displays_.push_back({id, cpu, path, {}, 0});
    for (const pugi::xml_node& child : pci.children("pci")) ReadPci(child, cpu, path, depth + 1);
  }

  // 0: not said.
  double PciBandwidth(const pugi::xml_node& pci, const std::string& id) {
    std::string_view speed = pci.attribute("link_speed").value();
    const std::string_view width = pci.attribute("link_width").value();
    speed = speed.substr(0, speed.find(' '));
    if (speed.ends_with(".0")) speed.remove_suffix(2);
    if (speed.empty() || width.empty()) return 0;
    const auto* const lane =
        std::find_if(kLaneSpeeds.begin(), kLaneSpeeds.end(), [&](const LaneSpeed& each) { return each.name == speed; });
    // "Unknown" stands in dumps of virtual machines.
    if (lane == kLaneSpeeds.end()) return 0;
    const auto lanes = WholeNumber(width, 0, 64);
    if (!lanes.has_value()) {
      violations_.Add(absl::StrCat("pci ", id, ": link_width"), absl::StrCat("must be 0 to 64, is ", ShownKey(width)));
    }
    return lanes.value_or(0) * lane->bandwidth;
  }

  void AddGpu(const pugi::xml_node& gpu, PciDevice device) {
    const auto sm = WholeNumber(gpu.attribute("sm").value(), 0, 1000);
    is_mixed_ |= sm_ != 0 && sm.value_or(0) != sm_;
    sm_ = sm.value_or(0);
    for (const pugi::xml_node& link : gpu.children("nvlink")) AddLink(link, device);
    gpus_.push_back(std::move(device));
  }

  // tclass 0x03*: another GPU; 0x068000: a switch; 0x068001: a CPU, which joins no GPUs.
  void AddLink(const pugi::xml_node& link, PciDevice& device) {
    const std::string_view count_text = link.attribute("count").value();
    const auto count = WholeNumber(count_text, 0, 1000);
    if (!count.has_value()) {
      return violations_.Add(absl::StrCat("gpu of pci ", device.id, ": nvlink count"),
                             absl::StrCat("must be 0 to 1000, is ", ShownKey(count_text)));
    }
    const double bandwidth = *count * GenerationOf(sm_).nvlink;
    const std::string_view kind = link.attribute("tclass").value();
    if (kind.starts_with("0x03")) device.direct[link.attribute("target").value()] += bandwidth;
    if (kind == "0x068000") device.to_switch += bandwidth;
  }

  static std::optional<int> WholeNumber(std::string_view text, int low, int high) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && number >= low && number <= high;
    return is_number ? std::optional(number) : std::nullopt;
  }

  ViolationList& violations_;
  std::vector<PciDevice> gpus_;
  // Devices of PCI class 0x03, for templates.
  std::vector<PciDevice> displays_;
  std::vector<PciDevice> devices_;
  int sm_ = 0;
  bool is_mixed_ = false;
};

}  // namespace

absl::StatusOr<ImportedCluster> ReadNcclXml(std::string_view text, std::string_view source,
                                            const ClusterOptions& options) {
  pugi::xml_document document;
  const absl::Status parsed = ParseXml(text, source, document);
  if (!parsed.ok()) return parsed;
  ViolationList violations;
  SystemReader reader(violations);
  const pugi::xml_node system = document.child("system");
  if (!system) violations.Add("", "must hold an element <system>");
  reader.Read(system);
  if (!violations.empty()) return violations.ToStatus(source);
  auto type = SettleDeviceType(options, reader.Product(), source);
  if (!type.ok()) return type.status();
  std::vector<std::string> assumed;
  const Machine machine = MachineOf(reader.devices(), *std::move(type), options, assumed);
  auto cluster = ClusterOfMachines(machine, options, source);
  if (!cluster.ok()) return cluster.status();
  ImportedCluster imported{*std::move(cluster), {}};
  AddAssumptions(reader.Product(), assumed, options, source, imported);
  return imported;
}

}  // namespace planwright::client
