#include "client/importer/clusters/pci_tree.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"

namespace planwright::client {
namespace {

constexpr double kNcclBetweenCpus = 10e9;

class PairTimes {
 public:
  PairTimes(const DeviceType& type, const ClusterOptions& options) : type_(type), options_(options) {}

  double Bandwidth(const PciDevice& a, const PciDevice& b) {
    const double linked = std::min(Linked(a, b), Linked(b, a));
    if (linked > 0) return Given("NVLINK").value_or(linked);
    return a.cpu == b.cpu ? ThroughPci(a, b) : BetweenCpus(a, b);
  }

  std::vector<std::string> assumed() const { return {assumed_.begin(), assumed_.end()}; }

 private:
  std::optional<double> Given(const char* link) const {
    const auto given = options_.links.find(link);
    return given == options_.links.end() ? std::nullopt : std::optional(given->second);
  }

  static double Linked(const PciDevice& from, const PciDevice& to) {
    const auto direct = from.direct.find(to.id);
    return direct == from.direct.end() ? std::min(from.to_switch, to.to_switch) : direct->second;
  }

  // The slowest known link below where the two paths part; 0: none is known.
  static double SlowestHop(const PciDevice& a, const PciDevice& b) {
    std::size_t shared = 0;
    while (a.cpu == b.cpu && shared < std::min(a.path.size(), b.path.size()) &&
           a.path[shared].id == b.path[shared].id) {
      ++shared;
    }
    double slowest = 0;
    for (const PciDevice* device : {&a, &b}) {
      for (std::size_t hop = shared; hop < device->path.size(); ++hop) {
        const double bandwidth = device->path[hop].bandwidth;
        if (bandwidth > 0 && (slowest == 0 || bandwidth < slowest)) slowest = bandwidth;
      }
    }
    return slowest;
  }

  double ThroughPci(const PciDevice& a, const PciDevice& b) {
    if (const auto given = Given("PCIE")) return *given;
    const double slowest = SlowestHop(a, b);
    if (slowest > 0) return slowest;
    assumed_.insert(absl::StrFormat("PCIE = %.4g GB/s", type_.pcie_bytes_per_second / 1e9));
    return type_.pcie_bytes_per_second;
  }

  double BetweenCpus(const PciDevice& a, const PciDevice& b) {
    if (const auto given = Given("SYS")) return *given;
    const double slowest = SlowestHop(a, b);
    const double bandwidth = slowest > 0 ? std::min(slowest, kNcclBetweenCpus) : kNcclBetweenCpus;
    assumed_.insert(absl::StrFormat("SYS = %.4g GB/s", kNcclBetweenCpus / 1e9));
    return bandwidth;
  }

  const DeviceType& type_;
  const ClusterOptions& options_;
  std::set<std::string> assumed_;
};

}  // namespace

Machine MachineOf(const std::vector<PciDevice>& devices, DeviceType type, const ClusterOptions& options,
                  std::vector<std::string>& assumed) {
  Machine machine;
  machine.devices = devices.size();
  machine.type = std::move(type);
  PairTimes times(machine.type, options);
  for (const PciDevice& a : devices) {
    for (const PciDevice& b : devices) machine.bandwidth.push_back(&a == &b ? 0 : times.Bandwidth(a, b));
  }
  assumed = times.assumed();
  return machine;
}

}  // namespace planwright::client
