#include "client/importer/clusters/yaml/cluster_yaml_interconnect.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "core/text/amount.h"

namespace planwright::client {
namespace {

constexpr std::string_view kInside = "inside";
constexpr std::string_view kBetween = "between";
constexpr std::string_view kThroughHost = "through_host";

// Latencies as in the zoo.
constexpr double kNvlinkLatencyMs = 0.005;
constexpr double kPcieLatencyMs = 0.010;

constexpr std::size_t kMaxLevels = 8;
constexpr int64_t kMaxHostsOfALevel = 1'000'000;
// The most devices of a matrix (cluster.proto).
constexpr std::size_t kMaxMatrixDevices = 2048;

struct Pcie {
  std::string_view name;
  double bytes_per_second = 0;
};
// 16 lanes, as NCCL counts on them.
constexpr auto kPcie = std::to_array<Pcie>({{"pcie3", 12e9}, {"pcie4", 24e9}, {"pcie5", 48e9}});

const Dimension& LinkAmount() {
  static const Dimension amount = {R"(a bandwidth such as "400 Gb/s", or nvlink, pcie3, pcie4 or pcie5)",
                                   kBandwidthAmount.units, kBandwidthAmount.may_be_zero, kBandwidthAmount.maximum};
  return amount;
}

void AddLevel(std::size_t fan_out, double bytes_per_second, double latency_ms, v1::Interconnect& interconnect,
              std::optional<double> port_bytes_per_second = std::nullopt) {
  v1::Interconnect::Hierarchy::Level& level = *interconnect.mutable_hierarchy()->add_levels();
  level.set_fan_out(static_cast<int32_t>(fan_out));
  level.set_bandwidth_bytes_per_second(bytes_per_second);
  level.set_latency_ms(latency_ms);
  if (port_bytes_per_second.has_value()) level.set_port_bandwidth_bytes_per_second(*port_bytes_per_second);
}

}  // namespace

YamlInterconnect::YamlInterconnect(YamlFields& root, ViolationList& violations)
    : root_(root), inside_(ReadLink(kInside, violations)), through_host_(ReadLink(kThroughHost, violations)) {
  ReadBetween(violations);
  if (root_.Has(kThroughHost) && (root_.Has(kInside) || root_.Has(kBetween))) {
    root_.Report(kThroughHost, "must stand alone, without inside and between");
  }
}

// A bandwidth, or a map of bandwidth and latency. nullopt: missing or wrong.
std::optional<YamlInterconnect::Link> YamlInterconnect::ReadLink(std::string_view key, ViolationList& violations) {
  static const std::vector<std::string> plain = {"bandwidth", "latency"};
  static const std::vector<std::string> with_ports = {"bandwidth", "latency", "ports"};
  const YamlNode* node = root_.Find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind != YamlNode::Kind::kMap) return ReadBandwidth(root_, key);
  YamlFields fields(*node, root_.PathOf(key), key == kBetween ? with_ports : plain, violations);
  return ReadLinkFields(fields);
}

std::optional<YamlInterconnect::Link> YamlInterconnect::ReadLinkFields(YamlFields& fields) {
  const auto latency_ms = fields.Amount("latency", kTimeAmount);
  if (fields.Require("bandwidth") == nullptr) return std::nullopt;
  auto link = ReadBandwidth(fields, "bandwidth");
  const auto ports = fields.Amount("ports", kBandwidthAmount);
  if (link.has_value() && latency_ms.has_value()) link->latency_ms = *latency_ms;
  if (link.has_value()) link->port_bytes_per_second = ports;
  return link;
}

// One link, or a list of levels.
void YamlInterconnect::ReadBetween(ViolationList& violations) {
  static const std::vector<std::string> keys = {"hosts", "bandwidth", "latency", "ports"};
  const YamlNode* node = root_.Find(kBetween);
  if (node == nullptr || node->kind != YamlNode::Kind::kList) {
    const auto link = ReadLink(kBetween, violations);
    if (link.has_value()) between_.push_back({std::nullopt, *link});
    return;
  }
  if (node->children.empty() || node->children.size() > kMaxLevels) {
    root_.Report(kBetween, absl::StrCat("must have 1 to ", kMaxLevels, " levels, has ", node->children.size()));
  }
  for (std::size_t i = 0; i < node->children.size(); ++i) {
    YamlFields fields(node->children[i], absl::StrCat(std::string(kBetween), "[", i, "]"), keys, violations);
    if (!fields.is_map()) continue;
    const bool is_last = i + 1 == node->children.size();
    if (!is_last) fields.Require("hosts");
    const auto hosts = fields.WholeNumber("hosts", 2, kMaxHostsOfALevel);
    const auto link = ReadLinkFields(fields);
    if (!link.has_value() || (!is_last && !hosts.has_value())) continue;
    const std::size_t below = between_.empty() ? 1 : between_.back().hosts.value_or(1);
    if (hosts.has_value() && static_cast<std::size_t>(*hosts) % below != 0) {
      fields.Report("hosts",
                    absl::StrCat("must be a multiple of the ", below, " hosts of the level before, is ", *hosts));
    }
    between_.push_back({hosts.has_value() ? std::optional(static_cast<std::size_t>(*hosts)) : std::nullopt, *link});
  }
}

// A number with its unit, or the name of a link, which brings its latency.
std::optional<YamlInterconnect::Link> YamlInterconnect::ReadBandwidth(YamlFields& fields, std::string_view key) {
  const std::string& text = fields.Find(key)->text;
  if (text == "nvlink") return Link{.latency_ms = kNvlinkLatencyMs, .is_nvlink = true};
  const auto* pcie = std::ranges::find(kPcie, text, &Pcie::name);
  if (pcie != kPcie.end()) return Link{.bytes_per_second = pcie->bytes_per_second, .latency_ms = kPcieLatencyMs};
  const auto bandwidth = fields.Amount(key, LinkAmount());
  if (!bandwidth.has_value()) return std::nullopt;
  return Link{.bytes_per_second = *bandwidth};
}

// The link with its bandwidth. Reports a link that is missing, and NVLink where a class has none.
YamlInterconnect::Link YamlInterconnect::Resolve(std::string_view key, const std::optional<Link>& link,
                                                 const YamlHosts& hosts) {
  root_.Require(key);
  Link resolved = link.value_or(Link());
  if (!resolved.is_nvlink) return resolved;
  resolved.bytes_per_second = hosts.nvlink_bytes_per_second;
  if (resolved.bytes_per_second == 0) {
    root_.Report(key, absl::StrCat("class ", ShownKey(hosts.class_without_nvlink),
                                   " has no NVLink; give a bandwidth such as \"50 GB/s\""));
  }
  return resolved;
}

v1::Interconnect YamlInterconnect::Make(const YamlHosts& hosts) {
  if (through_host_.has_value()) return MakeHostStaged(hosts);
  if (hosts.hosts.size() == 1) return MakeOneHost(hosts);
  const bool is_one_each = std::ranges::all_of(hosts.hosts, [](const auto& host) { return host.devices == 1; });
  if (!is_one_each || between_.size() > 1) return MakeTree(hosts);
  const std::vector<Level> between = ResolveBetween(hosts);
  return MakeUniform(between.back().link);
}

v1::Interconnect YamlInterconnect::MakeHostStaged(const YamlHosts& hosts) {
  if (hosts.hosts.size() > 1) {
    root_.Report(kThroughHost,
                 absl::StrCat("is for the devices of one host, there are ", hosts.hosts.size(), " hosts"));
  }
  const Link link = Resolve(kThroughHost, through_host_, hosts);
  v1::Interconnect interconnect;
  interconnect.mutable_host_staged()->set_bandwidth_bytes_per_second(link.bytes_per_second);
  interconnect.mutable_host_staged()->set_latency_ms(link.latency_ms);
  return interconnect;
}

v1::Interconnect YamlInterconnect::MakeOneHost(const YamlHosts& hosts) {
  if (inside_.has_value()) return MakeUniform(Resolve(kInside, inside_, hosts));
  if (hosts.hosts.front().devices > 1) {
    root_.Report(kInside, "is missing; or give through_host, where devices exchange through the memory of their host");
  }
  v1::Interconnect nothing_to_connect;
  nothing_to_connect.mutable_uniform();
  return nothing_to_connect;
}

std::vector<YamlInterconnect::Level> YamlInterconnect::ResolveBetween(const YamlHosts& hosts) {
  std::vector<Level> levels = between_;
  if (levels.empty()) levels.push_back({std::nullopt, Link()});
  for (Level& level : levels) level.link = Resolve(kBetween, level.link, hosts);
  const std::size_t outermost = levels.back().hosts.value_or(hosts.hosts.size());
  if (outermost < hosts.hosts.size()) {
    root_.Report(kBetween, absl::StrCat("must end with a level for all ", hosts.hosts.size(),
                                        " hosts, ends with one for ", outermost));
  }
  // What encloses all hosts is the last level that counts.
  const auto top = std::ranges::find_if(
      levels, [&](const Level& level) { return level.hosts.value_or(hosts.hosts.size()) >= hosts.hosts.size(); });
  if (top != levels.end()) {
    top->hosts = hosts.hosts.size();
    levels.erase(top + 1, levels.end());
  }
  return levels;
}

// A hierarchy where hosts and groups are alike, else a matrix.
v1::Interconnect YamlInterconnect::MakeTree(const YamlHosts& hosts) {
  const YamlHosts::Host& first = hosts.hosts.front();
  const bool is_one_each = std::ranges::all_of(hosts.hosts, [](const auto& host) { return host.devices == 1; });
  const Link inside = is_one_each ? Link() : Resolve(kInside, inside_, hosts);
  const std::vector<Level> between = ResolveBetween(hosts);
  const bool is_even =
      std::ranges::all_of(hosts.hosts, [&](const auto& host) { return host.devices == first.devices; }) &&
      std::ranges::all_of(between, [&](const Level& level) {
        return hosts.hosts.size() % level.hosts.value_or(hosts.hosts.size()) == 0;
      });
  return is_even ? MakeHierarchy(hosts, inside, between) : MakeMatrix(hosts, inside, between);
}

v1::Interconnect YamlInterconnect::MakeHierarchy(const YamlHosts& hosts, const Link& inside,
                                                 const std::vector<Level>& between) {
  v1::Interconnect interconnect;
  const std::size_t devices = hosts.hosts.front().devices;
  if (devices > 1) AddLevel(devices, inside.bytes_per_second, inside.latency_ms, interconnect);
  std::size_t below = 1;
  for (const Level& level : between) {
    const std::size_t group = level.hosts.value_or(hosts.hosts.size());
    if (group > below) {
      AddLevel(group / below, level.link.bytes_per_second, level.link.latency_ms, interconnect,
               level.link.port_bytes_per_second);
    }
    below = group;
  }
  return interconnect;
}

// Every pair over the innermost level that holds both; all pairs with the greatest latency, which is all that a matrix
// can say.
v1::Interconnect YamlInterconnect::MakeMatrix(const YamlHosts& hosts, const Link& inside,
                                              const std::vector<Level>& between) {
  std::vector<std::size_t> host_of;
  for (std::size_t host = 0; host < hosts.hosts.size(); ++host) {
    host_of.insert(host_of.end(), hosts.hosts[host].devices, host);
  }
  v1::Interconnect interconnect;
  if (host_of.size() > kMaxMatrixDevices) {
    const YamlHosts::Host& first = hosts.hosts.front();
    const auto other =
        std::ranges::find_if(hosts.hosts, [&](const auto& host) { return host.devices != first.devices; });
    root_.Report("nodes",
                 absl::StrCat("must give hosts as many devices and levels as many hosts, where there are more than ",
                              kMaxMatrixDevices, " devices",
                              other == hosts.hosts.end() ? ""
                                                         : absl::StrCat("; gives ", first.name, " ", first.devices,
                                                                        " and ", other->name, " ", other->devices)));
    return interconnect;
  }
  v1::Interconnect::Matrix& matrix = *interconnect.mutable_matrix();
  matrix.mutable_bandwidth_bytes_per_second()->Reserve(static_cast<int>(host_of.size() * host_of.size()));
  for (const std::size_t a : host_of) {
    for (const std::size_t b : host_of) {
      const auto level = std::ranges::find_if(between, [&](const Level& each) {
        const std::size_t group = each.hosts.value_or(hosts.hosts.size());
        return a / group == b / group;
      });
      const Link& link = a == b || level == between.end() ? inside : level->link;
      matrix.add_bandwidth_bytes_per_second(link.bytes_per_second);
    }
  }
  double latency_ms = inside.latency_ms;
  for (const Level& level : between) latency_ms = std::max(latency_ms, level.link.latency_ms);
  matrix.set_latency_ms(latency_ms);
  return interconnect;
}

v1::Interconnect YamlInterconnect::MakeUniform(const Link& link) {
  v1::Interconnect interconnect;
  interconnect.mutable_uniform()->set_bandwidth_bytes_per_second(link.bytes_per_second);
  interconnect.mutable_uniform()->set_latency_ms(link.latency_ms);
  return interconnect;
}

}  // namespace planwright::client
