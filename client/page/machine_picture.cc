#include "client/page/machine_picture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/quantities.h"

namespace planwright::client {
namespace {

constexpr int kMostDevices = 200;
constexpr std::size_t kMostHosts = 200;
constexpr std::size_t kMostLinks = 400;
constexpr double kMachineWidth = 1200;
constexpr double kHostGap = 34;
constexpr double kPadding = 14;
constexpr double kHostTitle = 22;
constexpr double kDeviceHeight = 30;
constexpr std::size_t kHostsInARow = 4;

// Host and class of each device; groups are expanded as the service does.
struct Seat {
  std::string host;
  std::string device_class;
};

std::unordered_map<std::string, Seat> SeatsOf(const v1::Cluster& cluster) {
  std::unordered_map<std::string, Seat> seats;
  for (const v1::Device& device : cluster.devices()) {
    seats.emplace(device.name(), Seat{device.host(), device.device_class()});
  }
  for (const v1::DeviceGroup& group : cluster.device_groups()) {
    for (int64_t i = 0; i < group.count(); ++i) {
      const int host = static_cast<int>(i * group.hosts_size() / group.count());
      seats.emplace(absl::StrCat(group.name_prefix(), i),
                    Seat{group.hosts().empty() ? "" : group.hosts(host), group.device_class()});
    }
  }
  return seats;
}

struct Host {
  std::string name;
  std::vector<const v1::DeviceUsage*> devices;
};

bool IsInUse(const Host& host) {
  return std::any_of(host.devices.begin(), host.devices.end(),
                     [](const auto* usage) { return !usage->stages().empty(); });
}

// Returns the hosts in the order of their first devices.
std::vector<Host> HostsOf(const v1::Plan& plan, const std::unordered_map<std::string, Seat>& seats) {
  std::vector<Host> hosts;
  std::map<std::string, std::size_t> place;
  for (const v1::DeviceUsage& usage : plan.devices()) {
    const auto seat = seats.find(usage.device());
    const std::string name = seat == seats.end() ? "" : seat->second.host;
    const auto [found, is_new] = place.emplace(name, hosts.size());
    if (is_new) hosts.push_back({name, {}});
    hosts[found->second].devices.push_back(&usage);
  }
  return hosts;
}

// "host0/gpu3" on host0 is "gpu3".
std::string ShortName(const std::string& device, const std::string& host) {
  return !host.empty() && device.starts_with(host + "/") ? device.substr(host.size() + 1) : device;
}

std::string StagesText(const v1::DeviceUsage& usage) {
  if (usage.stages().empty()) return "idle";
  return absl::StrCat(usage.stages_size() == 1 ? "stage " : "stages ", absl::StrJoin(usage.stages(), ", "));
}

class MachineDrawing {
 public:
  MachineDrawing(const v1::Plan& plan, const v1::Cluster& cluster, const Traffic& traffic)
      : plan_(plan), traffic_(traffic), seats_(SeatsOf(cluster)), has_devices_(plan.devices_size() <= kMostDevices) {}

  Picture Draw() && {
    picture_.width = kMachineWidth;
    std::vector<Host> hosts = HostsOf(plan_, seats_);
    if (hosts.size() > kMostHosts) {
      const std::size_t all = hosts.size();
      std::erase_if(hosts, [](const Host& host) { return !IsInUse(host); });
      hosts.resize(std::min(hosts.size(), kMostHosts));
      picture_.notes.push_back(absl::StrCat("Of ", all, " hosts ", hosts.size(), " that are in use are drawn."));
    }
    if (!has_devices_) {
      picture_.notes.push_back(absl::StrCat(CountedText(plan_.devices_size(), "device", "devices"),
                                            " are too many to draw: each box is a host."));
    }
    PlaceHosts(hosts);
    Connect();
    return std::move(picture_);
  }

 private:
  // Devices of a host stand in rows of at most four, of at most sixteen where it is alone.
  static std::size_t DevicesInARow(std::size_t hosts) {
    if (hosts == 1) return 8;
    return hosts == 2 ? 4 : 2;
  }

  double HostHeight(const Host& host, std::size_t in_a_row) const {
    const std::size_t rows = has_devices_ ? (host.devices.size() + in_a_row - 1) / in_a_row : 0;
    return kHostTitle + static_cast<double>(rows) * (kDeviceHeight + kPadding) + kPadding / 2;
  }

  void PlaceHosts(const std::vector<Host>& hosts) {
    const std::size_t columns = std::max<std::size_t>(1, std::min(hosts.size(), kHostsInARow));
    const double width = (kMachineWidth - kHostGap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    double y = 0;
    for (std::size_t first = 0; first < hosts.size(); first += columns) {
      double tallest = 0;
      for (std::size_t i = first; i < std::min(first + columns, hosts.size()); ++i) {
        const double x = static_cast<double>(i - first) * (width + kHostGap);
        tallest = std::max(tallest, PlaceHost(hosts[i], DevicesInARow(hosts.size()), {.x = x, .y = y, .width = width}));
      }
      y += tallest + kHostGap;
    }
    // Lines pass below the last row as well.
    picture_.height = std::max(y, kHostTitle);
  }

  // Returns its height.
  double PlaceHost(const Host& host, std::size_t in_a_row, Box box) {
    box.height = HostHeight(host, in_a_row);
    box.label = host.name.empty() ? "devices" : host.name;
    std::size_t used = 0;
    for (const v1::DeviceUsage* usage : host.devices) used += usage->stages().empty() ? 0 : 1;
    box.tip = absl::StrCat(box.label, "\n", used, " of ",
                           CountedText(static_cast<int64_t>(host.devices.size()), "device", "devices"), " in use");
    box.outline = has_devices_;
    if (!has_devices_) box.label = absl::StrCat(box.label, " (", host.devices.size(), ")");
    picture_.boxes.push_back(box);
    for (std::size_t i = 0; i < host.devices.size(); ++i) {
      place_[host.devices[i]->device()] = picture_.boxes.size();
      if (has_devices_) {
        PlaceDevice(*host.devices[i], host, box, i, in_a_row);
      } else {
        place_[host.devices[i]->device()] = picture_.boxes.size() - 1;
      }
    }
    return box.height;
  }

  void PlaceDevice(const v1::DeviceUsage& usage, const Host& host, const Box& around, std::size_t number,
                   std::size_t in_a_row) {
    const double slot = (around.width - kPadding) / static_cast<double>(std::min(in_a_row, host.devices.size()));
    const std::string name = ShortName(usage.device(), host.name);
    const auto seat = seats_.find(usage.device());
    const std::string kind = seat == seats_.end() ? "" : absl::StrCat(", ", seat->second.device_class);
    std::string memory = BytesText(usage.memory_bytes());
    if (usage.has_memory_limit_bytes()) absl::StrAppend(&memory, " of ", BytesText(usage.memory_limit_bytes()));
    const std::size_t row = number / in_a_row;
    picture_.boxes.push_back({.x = around.x + kPadding + slot * static_cast<double>(number % in_a_row),
                              .y = around.y + kHostTitle + static_cast<double>(row) * (kDeviceHeight + kPadding),
                              .width = slot - kPadding,
                              .height = kDeviceHeight,
                              .label = absl::StrCat(name, ": ", StagesText(usage)),
                              .tip = absl::StrCat(usage.device(), kind, "\n", StagesText(usage), "\nload ",
                                                  DurationText(usage.load_ms()), ", memory ", memory),
                              .colour = usage.stages().empty() ? -1 : usage.stages(0)});
  }

  // Bytes between boxes, of all pairs of replicas that talk to each other.
  void Connect() {
    std::map<std::pair<std::size_t, std::size_t>, int64_t> bytes;
    for (const Flow& flow : traffic_.between_stages) {
      const v1::Stage& from = plan_.stages(flow.from);
      const v1::Stage& to = plan_.stages(flow.to);
      if (from.replicas().empty() || to.replicas().empty()) continue;
      const int pairs = std::max(from.replicas_size(), to.replicas_size());
      for (int i = 0; i < pairs; ++i) {
        Count(bytes, from.replicas(i * from.replicas_size() / pairs).device(),
              to.replicas(i * to.replicas_size() / pairs).device(), flow.bytes);
      }
    }
    std::vector<std::pair<std::pair<std::size_t, std::size_t>, int64_t>> lines(bytes.begin(), bytes.end());
    std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    if (lines.size() > kMostLinks) {
      picture_.notes.push_back(
          absl::StrCat("Only the ", kMostLinks, " busiest of ", lines.size(), " pairs are joined."));
      lines.resize(kMostLinks);
    }
    const double most = lines.empty() ? 1 : std::cbrt(static_cast<double>(lines.front().second));
    for (const auto& [ends, amount] : lines) Join(ends.first, ends.second, amount, most);
  }

  void Count(std::map<std::pair<std::size_t, std::size_t>, int64_t>& bytes, const std::string& from,
             const std::string& to, int64_t amount) const {
    const auto a = place_.find(from);
    const auto b = place_.find(to);
    if (a == place_.end() || b == place_.end() || a->second == b->second) return;
    bytes[{a->second, b->second}] += amount;
  }

  void Join(std::size_t from, std::size_t to, int64_t bytes, double most) {
    const Box& a = picture_.boxes[from];
    const Box& b = picture_.boxes[to];
    Line line{.strength = most > 0 ? std::cbrt(static_cast<double>(bytes)) / most : 0};
    line.x1 = a.x + a.width / 2;
    line.x2 = b.x + b.width / 2;
    const bool is_below = b.y > a.y + a.height;
    const bool is_above = a.y > b.y + b.height;
    line.y1 = is_above ? a.y : a.y + a.height;
    line.y2 = is_below ? b.y : b.y + b.height;
    // Past what stands between two of one row.
    if (!is_below && !is_above) line.bend = std::min(kHostGap - 4, 10 + std::abs(line.x2 - line.x1) / 30);
    line.tip = absl::StrCat(a.label, " to ", b.label, "\n", BytesText(bytes), " for each micro-batch");
    picture_.lines.push_back(std::move(line));
  }

  const v1::Plan& plan_;
  const Traffic& traffic_;
  const std::unordered_map<std::string, Seat> seats_;
  const bool has_devices_;
  // Box of each device, or of its host.
  std::unordered_map<std::string, std::size_t> place_;
  Picture picture_;
};

}  // namespace

Picture MachinePicture(const v1::Plan& plan, const v1::Cluster& cluster, const Traffic& traffic) {
  return MachineDrawing(plan, cluster, traffic).Draw();
}

}  // namespace planwright::client
