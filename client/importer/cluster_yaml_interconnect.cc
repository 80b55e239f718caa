#include "client/importer/cluster_yaml_interconnect.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "client/importer/cluster_yaml_amount.h"

namespace planwright::client {
namespace {

constexpr std::string_view kInside = "inside";
constexpr std::string_view kBetween = "between";
constexpr std::string_view kThroughHost = "through_host";

// Latencies as in the zoo.
constexpr double kNvlinkLatencyMs = 0.005;
constexpr double kPcieLatencyMs = 0.010;

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

void AddLevel(std::size_t fan_out, double bytes_per_second, double latency_ms, v1::Interconnect& interconnect) {
  v1::Interconnect::Hierarchy::Level& level = *interconnect.mutable_hierarchy()->add_levels();
  level.set_fan_out(static_cast<int32_t>(fan_out));
  level.set_bandwidth_bytes_per_second(bytes_per_second);
  level.set_latency_ms(latency_ms);
}

}  // namespace

YamlInterconnect::YamlInterconnect(YamlFields& root, ViolationList& violations)
    : root_(root),
      inside_(ReadLink(kInside, violations)),
      between_(ReadLink(kBetween, violations)),
      through_host_(ReadLink(kThroughHost, violations)) {
  if (root_.Has(kThroughHost) && (root_.Has(kInside) || root_.Has(kBetween))) {
    root_.Report(kThroughHost, "must stand alone, without inside and between");
  }
}

// A bandwidth, or a map of bandwidth and latency. nullopt: missing or wrong.
std::optional<YamlInterconnect::Link> YamlInterconnect::ReadLink(std::string_view key, ViolationList& violations) {
  static const std::vector<std::string> plain = {"bandwidth", "latency"};
  static const std::vector<std::string> with_ports = {"bandwidth", "latency", "ports"};
  const std::vector<std::string>& keys = key == kBetween ? with_ports : plain;
  const YamlNode* node = root_.Find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind != YamlNode::Kind::kMap) return ReadBandwidth(root_, key);
  YamlFields fields(*node, root_.PathOf(key), keys, violations);
  const auto latency_ms = fields.Amount("latency", kTimeAmount);
  if (fields.Require("bandwidth") == nullptr) return std::nullopt;
  auto link = ReadBandwidth(fields, "bandwidth");
  const auto ports = fields.Amount("ports", kBandwidthAmount);
  if (link.has_value() && latency_ms.has_value()) link->latency_ms = *latency_ms;
  if (link.has_value()) link->port_bytes_per_second = ports;
  return link;
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
  return is_one_each ? MakeUniform(Resolve(kBetween, between_, hosts)) : MakeHierarchy(hosts);
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

v1::Interconnect YamlInterconnect::MakeHierarchy(const YamlHosts& hosts) {
  const YamlHosts::Host& first = hosts.hosts.front();
  const auto other = std::ranges::find_if(hosts.hosts, [&](const auto& host) { return host.devices != first.devices; });
  if (other != hosts.hosts.end()) {
    root_.Report("nodes", absl::StrCat("must give every host as many devices, gives ", first.name, " ", first.devices,
                                       " and ", other->name, " ", other->devices));
  }
  const Link inside = Resolve(kInside, inside_, hosts);
  const Link between = Resolve(kBetween, between_, hosts);
  v1::Interconnect interconnect;
  AddLevel(first.devices, inside.bytes_per_second, inside.latency_ms, interconnect);
  AddLevel(hosts.hosts.size(), between.bytes_per_second, between.latency_ms, interconnect);
  if (between.port_bytes_per_second.has_value()) {
    interconnect.mutable_hierarchy()->mutable_levels(1)->set_port_bandwidth_bytes_per_second(
        *between.port_bytes_per_second);
  }
  return interconnect;
}

v1::Interconnect YamlInterconnect::MakeUniform(const Link& link) {
  v1::Interconnect interconnect;
  interconnect.mutable_uniform()->set_bandwidth_bytes_per_second(link.bytes_per_second);
  interconnect.mutable_uniform()->set_latency_ms(link.latency_ms);
  return interconnect;
}

}  // namespace planwright::client
