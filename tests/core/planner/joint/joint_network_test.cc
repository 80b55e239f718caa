// Joint requests on grids, explicit links and matrices: every plan that comes back has passed the verifier, whose links
// are its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/random.h"
#include "core/topology/routing.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {
namespace {

using ::testing::Contains;

JointTestRequest RequestOn(const Interconnect& interconnect, const std::string& cluster = "dgx-h100:1") {
  JointTestRequest request = RequestOf("llama3-8b", cluster, 32);
  request.cluster.interconnect = interconnect;
  return request;
}

GridInterconnect Grid(std::vector<int32_t> dimensions, bool divides, bool wraps = false) {
  return {.dimensions = std::move(dimensions),
          .wrap_around = wraps,
          .link_bandwidth_bytes_per_second = 50e9,
          .latency = Picoseconds(1'000'000),
          .non_adjacent =
              divides ? GridInterconnect::NonAdjacent::kDividedByHops : GridInterconnect::NonAdjacent::kLinkBandwidth};
}

// Of 8 devices, every pair of a bandwidth of its own.
MatrixInterconnect RandomMatrix(uint64_t seed) {
  RandomStream random(seed);
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(64, 0), .latency = Picoseconds(500'000)};
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const double bandwidth = 1e9 * static_cast<double>(random.Between(2, 100));
      matrix.bandwidth_bytes_per_second[8 * a + b] = matrix.bandwidth_bytes_per_second[8 * b + a] = bandwidth;
    }
  }
  return matrix;
}

TEST(JointNetworkTest, GridsWhosePairsAreAlikeAreUniform) {
  for (const bool has_experts : {false, true}) {
    JointTestRequest uniform = RequestOn(
        UniformInterconnect{.bandwidth_bytes_per_second = 50e9, .latency = Picoseconds(1'000'000)}, "dgx-h100:8");
    if (has_experts) {
      uniform = RequestOf("mixtral-8x7b", "dgx-h100:8", 64);
      uniform.cluster.interconnect =
          UniformInterconnect{.bandwidth_bytes_per_second = 50e9, .latency = Picoseconds(1'000'000)};
    }
    // The default of grids.
    uniform.problem.joint->context_degrees = {1};
    JointTestRequest grid = uniform;
    grid.cluster.interconnect = Grid({8, 8}, false);
    const absl::StatusOr<Plan> on_uniform = Make(uniform);
    const absl::StatusOr<Plan> on_grid = Make(grid);
    ASSERT_TRUE(on_uniform.ok()) << on_uniform.status();
    ASSERT_TRUE(on_grid.ok()) << on_grid.status();
    EXPECT_LE(on_grid->lower_bound, on_uniform->objective);
    EXPECT_LE(on_uniform->lower_bound, on_grid->objective);
    EXPECT_LE(RelativeGap(on_grid->objective, on_uniform->objective), 2e-4);
    EXPECT_FALSE(on_grid->joint->uniform_configurations.empty());
  }
}

TEST(JointNetworkTest, FartherIsNeverFaster) {
  const absl::StatusOr<Plan> alike = Make(RequestOn(Grid({8, 4}, false), "dgx-h100:4"));
  const absl::StatusOr<Plan> torus = Make(RequestOn(Grid({8, 4}, true, true), "dgx-h100:4"));
  const absl::StatusOr<Plan> mesh = Make(RequestOn(Grid({8, 4}, true), "dgx-h100:4"));
  const absl::StatusOr<Plan> line = Make(RequestOn(Grid({32, 1}, true), "dgx-h100:4"));
  ASSERT_TRUE(alike.ok() && torus.ok() && mesh.ok() && line.ok())
      << alike.status() << torus.status() << mesh.status() << line.status();
  const double tolerance = 1 + 2e-4;
  EXPECT_LE(ToMilliseconds(alike->objective), ToMilliseconds(torus->objective) * tolerance);
  EXPECT_LE(ToMilliseconds(torus->objective), ToMilliseconds(mesh->objective) * tolerance);
  EXPECT_LE(ToMilliseconds(mesh->objective), ToMilliseconds(line->objective) * tolerance);
  EXPECT_LE(RelativeGap(torus->objective, torus->lower_bound), 0.05);
  for (const auto* plan : {&alike, &torus, &mesh, &line}) {
    EXPECT_LE((*plan)->lower_bound, (*plan)->objective);
    EXPECT_LE((*plan)->joint->simulated_bound, (*plan)->joint->simulated_step);
    EXPECT_GT((*plan)->provenance.counters.at("placed_plans"), 0);
  }
}

TEST(JointNetworkTest, GraphsThatAreNoTransformersArePlacedAsWell) {
  JointTestRequest request = RequestOf("resnet50", "dgx-h100:1", 64);
  request.problem.joint->num_stages = 2;
  request.cluster.interconnect =
      UniformInterconnect{.bandwidth_bytes_per_second = 50e9, .latency = Picoseconds(1'000'000)};
  const absl::StatusOr<Plan> uniform = Make(request);
  request.cluster.interconnect = Grid({4, 2}, false);
  const absl::StatusOr<Plan> alike = Make(request);
  request.cluster.interconnect = Grid({4, 2}, true);
  const absl::StatusOr<Plan> grid = Make(request);
  ASSERT_TRUE(uniform.ok() && alike.ok() && grid.ok()) << uniform.status() << alike.status() << grid.status();
  EXPECT_LE(RelativeGap(alike->objective, uniform->objective), 2e-4);
  EXPECT_LE(uniform->lower_bound, grid->objective);
  EXPECT_LE(grid->lower_bound, grid->objective);
}

TEST(JointNetworkTest, LinksAreTheMatrixThatTheyMake) {
  LinksInterconnect ring{.links = {}, .routing = LinksInterconnect::Routing::kShortestPath};
  for (std::size_t d = 0; d < 8; ++d) {
    ring.links.push_back({.device_a = DeviceId(d),
                          .device_b = DeviceId((d + 1) % 8),
                          .bandwidth_bytes_per_second = d % 2 == 0 ? 200e9 : 40e9,
                          .latency = Picoseconds(0)});
  }
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(64, 0), .latency = Picoseconds(0)};
  const Router router(ring, 8);
  for (std::size_t a = 0; a < 8; ++a) {
    const std::vector<Route> routes = router.RoutesFrom(DeviceId(a));
    for (std::size_t b = 0; b < 8; ++b) {
      if (a != b) matrix.bandwidth_bytes_per_second[8 * a + b] = routes[b].bandwidth_bytes_per_second;
    }
  }
  const absl::StatusOr<Plan> by_links = Make(RequestOn(ring));
  const absl::StatusOr<Plan> by_matrix = Make(RequestOn(matrix));
  ASSERT_TRUE(by_links.ok()) << by_links.status();
  ASSERT_TRUE(by_matrix.ok()) << by_matrix.status();
  EXPECT_EQ(by_links->objective, by_matrix->objective);
  EXPECT_EQ(by_links->lower_bound, by_matrix->lower_bound);
}

// The bound holds for whatever may be chosen and wherever it lies; a choice fixed beforehand is no better.
TEST(JointNetworkTest, NoChoiceIsBelowTheBoundNorMuchBetter) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    JointTestRequest request = RequestOn(RandomMatrix(seed));
    const absl::StatusOr<Plan> best = Make(request);
    ASSERT_TRUE(best.ok()) << best.status();
    for (const int32_t tensor : {1, 2, 4, 8}) {
      for (const int32_t stages : {1, 2, 4, 8}) {
        request.problem.joint->tensor_degrees = {tensor};
        request.problem.joint->num_stages = stages;
        const absl::StatusOr<Plan> pinned = Make(request);
        if (!pinned.ok()) {
          EXPECT_TRUE(InfeasibilityOf(pinned.status()).has_value()) << pinned.status();
          continue;
        }
        EXPECT_GE(pinned->objective, best->lower_bound) << tensor << ", " << stages;
        EXPECT_GE(ToMilliseconds(pinned->objective) * 1.05, ToMilliseconds(best->objective))
            << tensor << ", " << stages;
      }
    }
  }
}

// One sample cannot be shared out, so tensor ranks it is, as far as links are fast.
TEST(JointNetworkTest, FewFastDevicesAreFound) {
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(64, 1e8), .latency = Picoseconds(0)};
  const std::vector<std::size_t> fast = {1, 3, 4, 6};
  for (std::size_t d = 0; d < 8; ++d) matrix.bandwidth_bytes_per_second[9 * d] = 0;
  for (const std::size_t a : fast) {
    for (const std::size_t b : fast) {
      if (a != b) matrix.bandwidth_bytes_per_second[8 * a + b] = 400e9;
    }
  }
  JointTestRequest request = RequestOn(matrix);
  request.problem.joint->global_batch = 1;
  request.problem.joint->num_stages = 1;
  // So that one device would do.
  request.cluster.device_classes.front().memory_bytes = int64_t{400} << 30;
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::size_t> used;
  for (const Replica& replica : plan->stages.front().replicas) used.push_back(replica.device.index());
  EXPECT_THAT(used, testing::UnorderedElementsAreArray(fast));
  EXPECT_EQ(plan->joint->stages.front().degrees.tensor, 4);
}

// Other places of the same choices, as the verifier costs them, are no better than the found ones, and never below the
// bound.
TEST(JointNetworkTest, OtherPlacesAreNoBetter) {
  JointTestRequest request = RequestOn(RandomMatrix(7));
  request.cluster.devices.resize(6);
  std::get<MatrixInterconnect>(request.cluster.interconnect).bandwidth_bytes_per_second.resize(36);
  for (std::size_t d = 0; d < 6; ++d) {
    std::get<MatrixInterconnect>(request.cluster.interconnect).bandwidth_bytes_per_second[7 * d] = 0;
  }
  auto& bandwidths = std::get<MatrixInterconnect>(request.cluster.interconnect).bandwidth_bytes_per_second;
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t b = 0; b < a; ++b)
      bandwidths[6 * a + b] = bandwidths[6 * b + a] = 1e9 * static_cast<double>(1 + (a * b + a) % 7);
  }
  const absl::StatusOr<Plan> plan = Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  Placement placement = PlacementOf(*plan);
  std::vector<DeviceId> devices;
  for (const Placement::Stage& stage : placement.stages) {
    devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
  }
  std::sort(devices.begin(), devices.end());
  bool has_worse = false;
  do {
    auto next = devices.begin();
    for (Placement::Stage& stage : placement.stages) {
      for (DeviceId& device : stage.devices) device = *next++;
    }
    const absl::StatusOr<Verdict> verdict = Judge(request, placement);
    ASSERT_TRUE(verdict.ok() && verdict->costed.has_value()) << verdict.status();
    ASSERT_GE(verdict->costed->objective, plan->objective);
    has_worse = has_worse || verdict->costed->objective > plan->objective;
  } while (std::next_permutation(devices.begin(), devices.end()));
  EXPECT_TRUE(has_worse);
}

TEST(JointNetworkTest, TheSamePlanEveryTimeAndFromAStoredOne) {
  JointTestRequest request = RequestOn(Grid({4, 4}, true), "dgx-h100:2");
  const absl::StatusOr<Plan> first = Make(request);
  const absl::StatusOr<Plan> second = Make(request);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status();
  EXPECT_EQ(first->objective, second->objective);
  for (std::size_t s = 0; s < first->stages.size(); ++s) {
    ASSERT_EQ(first->stages[s].replicas.size(), second->stages[s].replicas.size());
    for (std::size_t r = 0; r < first->stages[s].replicas.size(); ++r) {
      EXPECT_EQ(first->stages[s].replicas[r].device, second->stages[s].replicas[r].device);
    }
  }
  request.problem.start_from = PlacementOf(*first);
  const absl::StatusOr<Plan> again = Make(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_LE(ToMilliseconds(again->objective), ToMilliseconds(first->objective) * 1.001);
}

// A row of devices of one class, of which each has so much memory.
JointTestRequest RowOf(const std::string& model, int64_t global_batch, const std::vector<int64_t>& memory_gb) {
  JointTestRequest request = RequestOf(model, "dgx-h100:1", global_batch);
  request.cluster.devices.resize(memory_gb.size());
  request.cluster.interconnect = Grid({static_cast<int32_t>(memory_gb.size())}, false);
  const int64_t whole = request.cluster.class_of(DeviceId(0)).memory_bytes.value();
  for (std::size_t d = 0; d < memory_gb.size(); ++d) {
    request.cluster.devices[d].reserved_memory_bytes = whole - memory_gb[d] * 1'000'000'000;
  }
  return request;
}

// Before, what the device with the least memory holds was taken for proven of all.
TEST(JointNetworkTest, NothingIsProvenOfDevicesThatHaveMoreMemory) {
  struct Case {
    std::string model;
    int64_t global_batch;
    std::vector<int64_t> memory_gb;
  };
  const std::vector<Case> cases = {{"gpt-1.3b", 16, {80, 1}},
                                   {"gpt-1.3b", 16, {20, 80}},
                                   {"gpt-2.7b", 24, {80, 80, 80, 20}},
                                   {"gpt-1.3b", 12, {8, 80, 30, 60, 25, 70}}};
  for (const Case& each : cases) {
    SCOPED_TRACE(testing::PrintToString(each.memory_gb));
    JointTestRequest request = RowOf(each.model, each.global_batch, each.memory_gb);
    const absl::StatusOr<Plan> plan = Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(plan->lower_bound, plan->objective);
    // On those alone that have so much.
    for (const int64_t least : each.memory_gb) {
      JointTestRequest fewer = request;
      for (std::size_t d = 0; d < each.memory_gb.size(); ++d) {
        if (each.memory_gb[d] < least) fewer.problem.devices_to_use.excluded_devices.emplace_back(d);
      }
      const absl::StatusOr<Plan> on_fewer = Make(fewer);
      if (!on_fewer.ok()) continue;
      EXPECT_LE(plan->lower_bound, on_fewer->objective);
      EXPECT_LE(plan->joint->simulated_bound, on_fewer->joint->simulated_step);
      EXPECT_LE(ToMilliseconds(plan->objective), ToMilliseconds(on_fewer->objective) * 1.0001);
    }
    request.problem.objective = Objective::kMinDevices;
    const absl::StatusOr<Plan> fewest = Make(request);
    ASSERT_TRUE(fewest.ok()) << fewest.status();
    EXPECT_EQ(fewest->stages.size(), 1);
    EXPECT_EQ(fewest->stages.front().replicas.size(), 1);
  }
}

TEST(JointNetworkTest, SaysThatNothingFitsWhereTheMostMemoryIsTooLittle) {
  JointTestRequest request = RowOf("gpt-1.3b", 16, {2, 3});
  const absl::Status status = Make(request).status();
  EXPECT_TRUE(InfeasibilityOf(status).has_value()) << status;
}

TEST(JointNetworkTest, TwoClassesAndStagesOfTheirOwnSpread) {
  JointTestRequest request = RequestOn(Grid({4, 4}, true, true), "dgx-h100:2");
  DeviceClass slower = request.cluster.class_of(DeviceId(0));
  slower.name = "slower";
  slower.peak_flops /= 2;
  request.cluster.device_classes.push_back(slower);
  for (std::size_t d = 8; d < 16; ++d) {
    request.cluster.devices[d].device_class = DeviceClassId(request.cluster.device_classes.size() - 1);
  }
  request.problem.joint->orders = {PipelineOrder::kOneFOneB};
  const absl::StatusOr<Plan> uniform = Make(request);
  ASSERT_TRUE(uniform.ok()) << uniform.status();
  request.problem.joint->per_stage = true;
  const absl::StatusOr<Plan> by_stage = Make(request);
  ASSERT_TRUE(by_stage.ok()) << by_stage.status();
  EXPECT_LE(by_stage->lower_bound, uniform->objective);
}

// How many devices hold a model does not depend on their links.
TEST(JointNetworkTest, AsFewDevicesHoldTheModelAsWhereAllAreAlike) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:2", 32);
  request.problem.objective = Objective::kMinDevices;
  request.cluster.interconnect =
      UniformInterconnect{.bandwidth_bytes_per_second = 50e9, .latency = Picoseconds(1'000'000)};
  const absl::StatusOr<Plan> uniform = Make(request);
  request.cluster.interconnect = Grid({4, 4}, true);
  const absl::StatusOr<Plan> grid = Make(request);
  ASSERT_TRUE(uniform.ok() && grid.ok()) << uniform.status() << grid.status();
  EXPECT_EQ(grid->provenance.counters.at("devices_needed"), uniform->provenance.counters.at("devices_needed"));
  EXPECT_EQ(grid->provenance.counters.at("devices_allowed"), uniform->provenance.counters.at("devices_allowed"));
  EXPECT_LE(uniform->lower_bound, grid->objective);
}

// The fewest devices that are as fast as the best plan on so many: fewer are refuted by their bound or left open, and
// what is planned on fewer devices alone misses the target.
TEST(JointNetworkTest, TheFewestDevicesReachTheTarget) {
  JointTestRequest request = RequestOn(RandomMatrix(3));
  const absl::StatusOr<Plan> all = Make(request);
  ASSERT_TRUE(all.ok()) << all.status();
  for (const double share : {0.35, 0.6, 0.99}) {
    SCOPED_TRACE(share);
    JointTestRequest fewest = request;
    fewest.problem.objective = Objective::kMinDevices;
    fewest.problem.joint->target_tokens_per_second = share * all->joint->tokens_per_second;
    const absl::StatusOr<Plan> plan = Make(fewest);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GE(plan->joint->tokens_per_second, *fewest.problem.joint->target_tokens_per_second);
    const int64_t allowed = plan->provenance.counters.at("devices_allowed");
    const int64_t needed = plan->provenance.counters.at("devices_needed");
    EXPECT_LE(needed, allowed);
    EXPECT_GE(static_cast<double>(allowed), share * 8 * 0.9);
    int64_t used = 0;
    for (const Stage& stage : plan->stages) used += static_cast<int64_t>(stage.replicas.size());
    EXPECT_LE(used, allowed);
  }
  request.problem.objective = Objective::kMinDevices;
  request.problem.joint->target_tokens_per_second = 3 * all->joint->tokens_per_second;
  const absl::Status missed = Make(request).status();
  EXPECT_TRUE(InfeasibilityOf(missed).has_value()) << missed;
  EXPECT_THAT(std::string(missed.message()), testing::HasSubstr("the best plan on all 8 devices"));
}

TEST(JointNetworkTest, BadInputIsSaidSo) {
  JointTestRequest request =
      RequestOn(HostStagedInterconnect{.bandwidth_bytes_per_second = 1e9, .latency = Picoseconds(0)});
  EXPECT_THAT(PathsOf(Make(request).status()), Contains("cluster.interconnect"));
  request = RequestOn(Grid({4, 2}, true));
  request.problem.joint->tensor_degrees = {1};
  request.problem.joint->num_stages = 1;
  request.problem.joint->data_degrees = {1};
  const absl::Status infeasible = Make(request).status();
  EXPECT_TRUE(InfeasibilityOf(infeasible).has_value()) << infeasible;
}

TEST(JointNetworkTest, LinksOnWhichGroupsTakeDaysEndInAnAnswer) {
  int answers = 0;
  int refusals = 0;
  for (const std::string model : {"gpt-1.3b", "gnmt", "vgg16"}) {
    for (const double slow : {20.0, 1e4, 1e6}) {
      SCOPED_TRACE(absl::StrCat(model, ", ", slow, " bytes/s"));
      JointTestRequest request = RequestOf(model, "random-uniform:3", 9);
      request.cluster.interconnect =
          MatrixInterconnect{.bandwidth_bytes_per_second = {0, 1e10, slow, 1e10, 0, slow, slow, slow, 0}};
      const absl::StatusOr<Plan> plan = Make(request);
      (plan.ok() ? answers : refusals) += 1;
      if (!plan.ok()) {
        EXPECT_THAT(PathsOf(plan.status()), Contains("problem.joint.global_batch")) << plan.status();
      }
    }
  }
  EXPECT_GT(answers, 0);
  EXPECT_LT(refusals, 9);
}

}  // namespace
}  // namespace planwright
