#include "client/importer/clusters/yaml/cluster_yaml_classes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/importer/clusters/yaml/cluster_yaml.h"
#include "client/importer/clusters/yaml/cluster_yaml_fields.h"
#include "core/text/amount.h"

namespace planwright::client {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
// As in the zoo: the share of the peak that matrix kernels reach, and what starting a kernel costs.
constexpr double kComputeEfficiency = 0.5;
constexpr double kKernelOverheadMs = 0.005;
constexpr double kCpuKernelOverheadMs = 0.001;

struct Gpu {
  const char* name;
  int64_t memory_gib;
  double peak_teraflops;
  double memory_gigabytes_per_second;
  // What NCCL counts on: 20 GB/s of the 25 of a link up to NVLink 3, 20.6 of NVLink 4, 40.1 of the 50 of NVLink 5. A
  // V100 reaches another over one link in the hybrid cube mesh of a DGX-1, later ones over all of theirs through a
  // switch.
  double nvlink_gigabytes_per_second;
};

constexpr auto kGpus = std::to_array<Gpu>({{"v100", 32, 125, 900, 20},
                                           {"v100-pcie", 16, 112, 900, 0},
                                           {"a10", 24, 125, 600, 0},
                                           {"a100", 80, 312, 2'039, 240},
                                           {"a100-40gb", 40, 312, 1'555, 240},
                                           {"l4", 24, 121, 300, 0},
                                           {"l40s", 48, 362, 864, 0},
                                           {"h100", 80, 989, 3'350, 370},
                                           {"h100-pcie", 80, 756, 2'000, 0},
                                           {"h200", 141, 989, 4'800, 370},
                                           {"b200", 180, 2'250, 8'000, 721},
                                           {"b300", 268, 2'250, 8'000, 721},
                                           {"gb200", 173, 2'500, 8'000, 721},
                                           {"gb300", 268, 2'450, 8'000, 721},
                                           {"mi300x", 192, 1'307, 5'300, 0}});

YamlDeviceClass MakeGpu(const Gpu& gpu) {
  YamlDeviceClass made;
  made.message.set_name(gpu.name);
  made.message.set_kind(v1::DEVICE_KIND_ACCELERATOR);
  made.message.set_memory_bytes(gpu.memory_gib * kGiB);
  made.message.set_peak_flops(gpu.peak_teraflops * 1e12);
  made.message.set_compute_efficiency(kComputeEfficiency);
  made.message.set_memory_bandwidth_bytes_per_second(gpu.memory_gigabytes_per_second * 1e9);
  made.message.set_kernel_overhead_ms(kKernelOverheadMs);
  made.nvlink_bytes_per_second = gpu.nvlink_gigabytes_per_second * 1e9;
  return made;
}

// The Xeon Gold 6248 of the zoo, with memory without end.
YamlDeviceClass MakeCpu() {
  YamlDeviceClass made;
  made.message.set_name("cpu");
  made.message.set_kind(v1::DEVICE_KIND_CPU);
  made.message.set_peak_flops(3.2e12);
  made.message.set_compute_efficiency(kComputeEfficiency);
  made.message.set_memory_bandwidth_bytes_per_second(140.8e9);
  made.message.set_kernel_overhead_ms(kCpuKernelOverheadMs);
  return made;
}

YamlDeviceClasses MakeKnown() {
  YamlDeviceClasses known;
  for (const Gpu& gpu : kGpus) known.emplace(gpu.name, MakeGpu(gpu));
  known.emplace("cpu", MakeCpu());
  return known;
}

const std::vector<std::string>& ClassKeys() {
  static const std::vector<std::string> keys = {
      "kind",   "memory",  "peak_flops", "compute_efficiency", "memory_bandwidth", "kernel_overhead",
      "nvlink", "training"};
  return keys;
}

void ReadKind(YamlFields& fields, v1::DeviceClass& message) {
  static const std::vector<std::string> kinds = {"accelerator", "cpu"};
  const auto kind = fields.Choice("kind", kinds);
  if (kind.has_value()) {
    message.set_kind(*kind == "cpu" ? v1::DEVICE_KIND_CPU : v1::DEVICE_KIND_ACCELERATOR);
  }
}

// An accelerator whose memory was forgotten would take anything, so "unlimited" has to be said.
void ReadMemory(YamlFields& fields, bool is_new, v1::DeviceClass& message) {
  const YamlNode* memory = fields.Find("memory");
  if (memory == nullptr) {
    if (is_new && message.kind() != v1::DEVICE_KIND_CPU) {
      fields.Report("memory", "is missing; write unlimited where it does not matter");
    }
  } else if (memory->text == "unlimited") {
    message.clear_memory_bytes();
  } else if (const auto bytes = fields.Amount("memory", kMemoryAmount)) {
    message.set_memory_bytes(std::llround(*bytes));
  }
}

void ReadSpeeds(YamlFields& fields, YamlDeviceClass& made) {
  v1::DeviceClass& message = made.message;
  if (const auto flops = fields.Amount("peak_flops", kComputeSpeedAmount)) message.set_peak_flops(*flops);
  if (const auto share = fields.Share("compute_efficiency")) message.set_compute_efficiency(*share);
  if (const auto bandwidth = fields.Amount("memory_bandwidth", kBandwidthAmount)) {
    message.set_memory_bandwidth_bytes_per_second(*bandwidth);
  }
  if (const auto overhead = fields.Amount("kernel_overhead", kTimeAmount)) message.set_kernel_overhead_ms(*overhead);
  if (const auto nvlink = fields.Amount("nvlink", kBandwidthAmount)) made.nvlink_bytes_per_second = *nvlink;
}

// Numbers by the names of the message's fields; whether they make sense is for the service to say.
void ReadTraining(YamlFields& fields, v1::DeviceClass& message, ViolationList& violations) {
  const YamlNode* node = fields.Find("training");
  if (node == nullptr) return;
  const google::protobuf::Descriptor& descriptor = *v1::TrainingEfficiency::descriptor();
  std::vector<std::string> keys = {"launch"};
  for (int i = 0; i < descriptor.field_count(); ++i) {
    if (descriptor.field(i)->name() != "launch_ms") keys.push_back(descriptor.field(i)->name());
  }
  YamlFields numbers(*node, fields.PathOf("training"), keys, violations);
  if (!numbers.is_map()) return;
  v1::TrainingEfficiency& training = *message.mutable_training();
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (const auto number = numbers.Number(keys[i])) {
      v1::TrainingEfficiency::GetReflection()->SetDouble(&training, descriptor.FindFieldByName(keys[i]), *number);
    }
  }
  if (const auto launch = numbers.Amount("launch", kTimeAmount)) training.set_launch_ms(*launch);
}

}  // namespace

const YamlDeviceClasses& KnownDeviceClasses() {
  static const YamlDeviceClasses known = MakeKnown();
  return known;
}

YamlDeviceClasses ReadDeviceClasses(const YamlNode& classes, ViolationList& violations) {
  YamlDeviceClasses all = KnownDeviceClasses();
  YamlFields by_name(classes, "classes", {}, violations);
  if (!by_name.is_map()) return all;
  if (classes.keys.size() > kMaxYamlClasses) {
    ReportAt(classes.line, "classes",
             absl::StrCat("must have at most ", kMaxYamlClasses, " entries, has ", classes.keys.size()), violations);
    return all;
  }
  for (const YamlKey& key : classes.keys) {
    if (key.text.empty() || key.text.size() > kMaxYamlNameBytes) {
      by_name.Report(key.text, absl::StrCat("must have a name of 1 to ", kMaxYamlNameBytes, " bytes"));
      continue;
    }
    const auto [named, is_new] = all.try_emplace(key.text);
    YamlDeviceClass& made = named->second;
    made.message.set_name(key.text);
    if (is_new) made.message.set_kind(v1::DEVICE_KIND_ACCELERATOR);
    YamlFields fields(*by_name.Find(key.text), by_name.PathOf(key.text), ClassKeys(), violations);
    if (!fields.is_map()) continue;
    ReadKind(fields, made.message);
    ReadMemory(fields, is_new, made.message);
    ReadSpeeds(fields, made);
    ReadTraining(fields, made.message, violations);
  }
  return all;
}

}  // namespace planwright::client
