#include "client/exporter/hostfile.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/exporter/cannot_express.h"

namespace planwright::client {
namespace {

// No name that would end the word or its quotes, or start a comment.
bool IsWritable(std::string_view host) {
  return !host.empty() && host.find_first_of(" \t\r\n#\"'\\=") == std::string_view::npos;
}

struct HostSlots {
  std::string host;
  // In the order of the ranks.
  std::vector<int> slots;
};

// Where each rank runs: the replicas of the first stage, then those of the next. `target` names the format in messages.
absl::StatusOr<std::vector<Seat>> SeatsInRankOrder(const ExportInput& input, const char* target) {
  const auto seats = SeatsOf(*input.cluster);
  std::vector<Seat> ranks;
  std::set<std::string> used;
  for (const v1::Stage& stage : input.plan.stages()) {
    for (const v1::Replica& replica : stage.replicas()) {
      const auto seat = seats.find(replica.device());
      if (seat == seats.end()) {
        return absl::InvalidArgumentError(absl::StrCat("the cluster has no device \"", replica.device(),
                                                       "\"; give the cluster that the plan was made for"));
      }
      if (!used.insert(replica.device()).second) {
        return CannotExpress(target, absl::StrCat("device ", replica.device(), " holds several stages"));
      }
      if (seat->second.is_cpu) {
        return CannotExpress(target, absl::StrCat("stage ", stage.index(), " is on ", replica.device(),
                                                  ", a CPU, and slots are accelerators"));
      }
      if (!IsWritable(seat->second.host)) {
        return CannotExpress(target,
                             absl::StrCat("device ", replica.device(), " has no host, or one whose name is no word"));
      }
      ranks.push_back(seat->second);
    }
  }
  return ranks;
}

absl::StatusOr<std::vector<HostSlots>> SlotsInRankOrder(const ExportInput& input) {
  const auto ranks = SeatsInRankOrder(input, "hostfile");
  if (!ranks.ok()) return ranks.status();
  std::vector<HostSlots> hosts;
  std::set<std::string> closed;
  for (const Seat& seat : *ranks) {
    if (hosts.empty() || hosts.back().host != seat.host) {
      if (!closed.insert(seat.host).second) {
        return CannotExpress("hostfile", absl::StrCat("the ranks on host ", seat.host, " are not consecutive: the ",
                                                      "pipeline leaves it and comes back; rankfile can say that"));
      }
      hosts.push_back({seat.host, {}});
    }
    hosts.back().slots.push_back(seat.slot);
  }
  return hosts;
}

// Hosts in the order in which ranks come to them, each once.
std::vector<std::string> HostsOf(const std::vector<Seat>& ranks) {
  std::vector<std::string> hosts;
  for (const Seat& seat : ranks) {
    if (std::find(hosts.begin(), hosts.end(), seat.host) == hosts.end()) hosts.push_back(seat.host);
  }
  return hosts;
}

// The local rank of a process is its device only where the slots are 0, 1, 2, ...
bool AreInOrder(const std::vector<int>& slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] != static_cast<int>(i)) return false;
  }
  return true;
}

// What processes of hosts must see for their local ranks to be the devices of the plan, of a few hosts; empty: all are.
std::string VisibleDevices(const std::vector<Seat>& ranks) {
  constexpr int kMostNamed = 8;
  std::map<std::string, std::vector<int>> slots;
  for (const Seat& seat : ranks) slots[seat.host].push_back(seat.slot);
  std::erase_if(slots, [](const auto& host) { return AreInOrder(host.second); });
  std::string text;
  int named = 0;
  for (const auto& [host, own] : slots) {
    if (named++ == kMostNamed) return absl::StrCat(text, "; and so on: --to=rankfile says all");
    absl::StrAppend(&text, "; on ", host, " with CUDA_VISIBLE_DEVICES=", absl::StrJoin(own, ","));
  }
  return text;
}

}  // namespace

std::unordered_map<std::string, Seat> SeatsOf(const v1::Cluster& cluster) {
  std::unordered_map<std::string, Seat> seats;
  std::map<std::string, int> next_slot;
  std::set<std::string> cpu_classes;
  for (const v1::DeviceClass& device_class : cluster.device_classes()) {
    if (device_class.kind() == v1::DEVICE_KIND_CPU) cpu_classes.insert(device_class.name());
  }
  const auto add = [&](const std::string& device, const std::string& host, const std::string& device_class) {
    const bool is_cpu = cpu_classes.contains(device_class);
    seats.emplace(device, Seat{host, is_cpu ? 0 : next_slot[host]++, is_cpu});
  };
  for (const v1::Device& device : cluster.devices()) add(device.name(), device.host(), device.device_class());
  for (const v1::DeviceGroup& group : cluster.device_groups()) {
    for (int64_t i = 0; i < group.count(); ++i) {
      const int64_t host = i * group.hosts_size() / group.count();
      add(absl::StrCat(group.name_prefix(), i), group.hosts_size() == 0 ? "" : group.hosts(static_cast<int>(host)),
          group.device_class());
    }
  }
  return seats;
}

absl::StatusOr<Exported> ExportHostfile(const ExportInput& input) {
  const auto hosts = SlotsInRankOrder(input);
  if (!hosts.ok()) return hosts.status();
  Exported exported;
  for (const HostSlots& host : *hosts) {
    if (!AreInOrder(host.slots)) {
      absl::StrAppend(&exported.text, "# on ", host.host, ": CUDA_VISIBLE_DEVICES=", absl::StrJoin(host.slots, ","),
                      "\n");
    }
    absl::StrAppend(&exported.text, host.host, " slots=", host.slots.size(), "\n");
  }
  exported.advice = "pass it as --hostfile; rank 0 is the first replica of the first stage";
  return exported;
}

absl::StatusOr<Exported> ExportRankfile(const ExportInput& input) {
  const auto ranks = SeatsInRankOrder(input, "rankfile");
  if (!ranks.ok()) return ranks.status();
  Exported exported;
  for (std::size_t rank = 0; rank < ranks->size(); ++rank) {
    absl::StrAppend(&exported.text, "rank ", rank, "=", (*ranks)[rank].host, " slot=", (*ranks)[rank].slot, "\n");
  }
  exported.advice =
      "pass it as --map-by rankfile:file=FILE (Open MPI 5) or --rankfile; slots number the accelerators of a host, one "
      "core "
      "each";
  return exported;
}

absl::StatusOr<Exported> ExportSlurmHostfile(const ExportInput& input) {
  const auto ranks = SeatsInRankOrder(input, "slurm_hostfile");
  if (!ranks.ok()) return ranks.status();
  Exported exported;
  for (const Seat& seat : *ranks) absl::StrAppend(&exported.text, seat.host, "\n");
  exported.advice = absl::StrCat("set SLURM_HOSTFILE to it, and run srun --ntasks=", ranks->size(),
                                 " --distribution=arbitrary", VisibleDevices(*ranks));
  return exported;
}

absl::StatusOr<Exported> ExportKubernetes(const ExportInput& input) {
  const auto ranks = SeatsInRankOrder(input, "kubernetes");
  if (!ranks.ok()) return ranks.status();
  const std::vector<std::string> hosts = HostsOf(*ranks);
  Exported exported;
  exported.text =
      "# Strategic patch for a pod template. Order of the ranks:\n"
      "# one host for each, by ascending rank.\n";
  for (const Seat& seat : *ranks) absl::StrAppend(&exported.text, "#   ", seat.host, " gpu ", seat.slot, "\n");
  absl::StrAppend(&exported.text,
                  "spec:\n  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
                  "        nodeSelectorTerms:\n          - matchExpressions:\n"
                  "              - key: kubernetes.io/hostname\n                operator: In\n"
                  "                values:\n");
  for (const std::string& host : hosts) absl::StrAppend(&exported.text, "                  - \"", host, "\"\n");
  exported.advice = "apply it to the template of the pods: kubectl patch --type=strategic --patch-file=FILE";
  return exported;
}

}  // namespace planwright::client
