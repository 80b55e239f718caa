// Requests that the integration tests send, and what they read of errors.
#ifndef PLANWRIGHT_TESTS_INTEGRATION_REQUESTS_H_
#define PLANWRIGHT_TESTS_INTEGRATION_REQUESTS_H_

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "tests/support/lattices.h"
#include "tests/support/wire.h"

namespace planwright {

inline constexpr char kSmallRequest[] = R"pb(
  graph {
    operators {
      name: "a"
      costs { device_class: "gpu" forward_ms: 3 }
      memory_bytes: 10
    }
    operators {
      name: "b"
      costs { device_class: "gpu" forward_ms: 4 }
      memory_bytes: 10
    }
    tensors { name: "t" producer: "a" consumers: "b" transfer_ms: 0.5 }
  }
  cluster {
    device_classes { name: "gpu" memory_bytes: 15 }
    device_groups { name_prefix: "g" device_class: "gpu" count: 2 }
    interconnect { host_staged {} }
  }
)pb";

inline v1::CreatePlanRequest SmallRequest() { return Wire<v1::CreatePlanRequest>(kSmallRequest); }

// The same, whose plan is to be kept under a name.
inline v1::CreatePlanRequest StoredRequest(const std::string& plan_id) {
  v1::CreatePlanRequest request = SmallRequest();
  request.set_plan_id(plan_id);
  return request;
}

// The lattice called `name` (tests/support/lattices.h).
inline v1::CreatePlanRequest RequestOf(std::string_view name) {
  const Lattice lattice = MakeLattice(name).value();
  v1::CreatePlanRequest request;
  *request.mutable_graph() = server::EncodeGraph(lattice.graph);
  *request.mutable_cluster() = server::EncodeCluster(lattice.cluster);
  return request;
}

// Needs far longer than any test.
inline v1::CreatePlanRequest HardRequest() { return RequestOf("tow_9x12_hi"); }

// The detail of one type in an error; nullopt: it carries none.
template <typename Detail>
std::optional<Detail> DetailOf(const grpc::Status& status) {
  google::rpc::Status rpc_status;
  EXPECT_TRUE(rpc_status.ParseFromString(status.error_details()));
  for (const auto& any : rpc_status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

inline std::string ReasonOf(const grpc::Status& status) {
  const auto info = DetailOf<google::rpc::ErrorInfo>(status);
  return info.has_value() ? info->reason() : "";
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_INTEGRATION_REQUESTS_H_
