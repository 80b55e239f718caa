// What this process may use of the machine: CPU affinity, cgroup quotas (v1 and v2), memory.
//
// oneTBB and malloc see the machine, not the container; a planner that starts 64 threads on a quota of 2 CPUs is
// throttled, and one that takes the machine's memory is killed.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_RESOURCES_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_RESOURCES_H_

#include <cstdint>
#include <filesystem>

namespace planwright::server {

// CPUs that this process may keep busy: the least of its affinity and the CPU quotas of its cgroup and their parents,
// rounded up. At least 1. `root`: where /proc and /sys are found; tests put their own there.
int AvailableCpus(const std::filesystem::path& root = "/");

// Bytes of memory that this process may use: the least of the machine's and the limits of its cgroup and their parents.
int64_t AvailableMemoryBytes(const std::filesystem::path& root = "/");

// What searches may take of it unless somebody says otherwise: 80 %, which leaves room for requests and answers.
int64_t DefaultMemoryBudget(const std::filesystem::path& root = "/");

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_RESOURCES_H_
