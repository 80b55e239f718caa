#include "core/mapping/prove/replica_domains.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/limits.h"
#include "core/base/polling.h"
#include "core/mapping/problem/mapping_tables.h"
#include "core/mapping/prove/replica_model.h"

namespace planwright {
namespace {

// A stage that exchanges as much with each of four others, and devices in a circle. The nearest ones are fast one way
// and slow back: 1 ms there and 4 ms back. The farther ones take 2 ms each way.
MappingInstance OneWayCircle(std::size_t devices, std::size_t near_on_either_side) {
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(devices * devices, 0), .latency = {}};
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t ahead = 1; ahead < devices; ++ahead) {
      double& bandwidth = matrix.bandwidth_bytes_per_second[from * devices + (from + ahead) % devices];
      bandwidth = ahead <= near_on_either_side ? 1e9 : 5e8;
      if (devices - ahead <= near_on_either_side) bandwidth = 2.5e8;
    }
  }
  MappingInstance instance{.replicas = StageReplicas(5, 1),
                           .device_kind = std::vector<int32_t>(devices, 0),
                           .compute_ms = std::vector<double>(5, 0),
                           .allreduce_bytes = std::vector<double>(5, 0),
                           .network = Network(matrix)};
  for (int32_t stage = 1; stage < instance.num_stages(); ++stage) {
    instance.traffic.push_back({.from = 0, .to = stage, .forward_bytes = 1e6, .backward_bytes = 1e6});
  }
  return instance;
}

TEST(ReplicaDomainsTest, LeavesRoomForDevicesBeyondTheList) {
  constexpr std::size_t kDevices = ReplicaModel::kMostListed + 100;
  const MappingInstance instance = OneWayCircle(kDevices, ReplicaModel::kMostListed / 2 + 20);
  const LinkTimes links(instance.network, kDevices);
  const ReplicaModel model(instance, links);
  ASSERT_FALSE(model.ListsAll());
  std::vector<int32_t> devices(kDevices);
  std::iota(devices.begin(), devices.end(), 0);
  ReplicaDomains domains(model);
  const SolveLimits limits;
  Poller poller(limits);
  // The others on devices that are not near: only near ones are listed.
  EXPECT_TRUE(domains.Reset(devices, 1, /*target_ms=*/16.001, {}, poller));
  // Less than the fast way of near devices there and back.
  EXPECT_FALSE(domains.Reset(devices, 1, /*target_ms=*/7.999, {}, poller));
}

}  // namespace
}  // namespace planwright
