#include "core/joint/calibration/accelerators.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <regex>
#include <string>

namespace planwright {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kBytesPerSecondOfGigabit = 12.0 / 100 * kGiga;
// As in the zoo.
constexpr auto kInsideLatency = std::chrono::microseconds(5);
constexpr auto kBetweenLatency = std::chrono::microseconds(10);
constexpr double kOmniPathGigabits = 100;

// Data sheets of NVIDIA; 16-bit matrix arithmetic without sparsity.
constexpr auto kAccelerators = std::to_array<Accelerator>({
    {"v100", "v100", "v100", 32, 125, 900, 120, 50},
    {"a100-40", "a100", "a100-40gb", 40, 312, 1'555, 240, 200},
    {"a100-80", "a100", "a100", 80, 312, 2'039, 240, 200},
    {"h100", "h100", "h100", 80, 989, 3'350, 370, 400},
    {"h200", "h100", "h200", 141, 989, 4'800, 370, 400},
    {"b200", "b200", "b200", 180, 2'250, 8'000, 721, 400},
    {"b300", "b200", "b300", 268, 2'250, 8'000, 721, 800},
    {"gb200", "b200", "gb200", 173, 2'450, 8'000, 721, 400},
    {"gb300", "b200", "gb300", 268, 2'450, 8'000, 721, 800},
});

Picoseconds Latency(std::chrono::microseconds time) { return std::chrono::duration_cast<Picoseconds>(time); }

}  // namespace

std::span<const Accelerator> Accelerators() { return kAccelerators; }

const Accelerator* FindAccelerator(std::string_view name) {
  const auto* found = std::ranges::find(kAccelerators, name, &Accelerator::name);
  return found == kAccelerators.end() ? nullptr : found;
}

std::vector<std::string> AcceleratorNames() {
  std::vector<std::string> names;
  names.reserve(kAccelerators.size());
  for (const Accelerator& accelerator : kAccelerators) names.emplace_back(accelerator.name);
  return names;
}

DeviceClass ClassOf(const Accelerator& accelerator) {
  DeviceClass device_class;
  device_class.name = accelerator.yaml_class;
  device_class.memory_bytes = std::llround(accelerator.memory_gib * kGiB);
  device_class.peak_flops = accelerator.peak_tflops * kTera;
  device_class.memory_bandwidth_bytes_per_second = accelerator.memory_bandwidth_gb * kGiga;
  return device_class;
}

TrainingLink InsideLink(const Accelerator& accelerator) {
  return {accelerator.inside_gb * kGiga, Latency(kInsideLatency).count()};
}

TrainingLink BetweenLink(double node_gigabits, int32_t devices_per_node) {
  return {node_gigabits * kBytesPerSecondOfGigabit / devices_per_node, Latency(kBetweenLatency).count()};
}

std::optional<double> NodeGigabits(std::string_view text, int32_t devices_per_node) {
  static const std::regex ports(R"((\d+)x(\d+) Gb/s)");
  static const std::regex rate(R"((\d+) Gb/s)");
  static const std::regex omni_path(R"((\d+) Omni-Path links)");
  const std::string line(text);
  std::smatch found;
  if (std::regex_search(line, found, ports)) return std::stod(found[1]) * std::stod(found[2]);
  if (std::regex_search(line, found, omni_path)) return std::stod(found[1]) * kOmniPathGigabits;
  if (!std::regex_search(line, found, rate)) return std::nullopt;
  if (line.find("per node") != std::string::npos) return std::stod(found[1]);
  if (line.find("per GPU") != std::string::npos) return std::stod(found[1]) * devices_per_node;
  return std::nullopt;
}

}  // namespace planwright
