#include "tests/support/lattices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/violations.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxOperators = 512;
using Ideal = std::bitset<kMaxOperators>;

std::vector<Ideal> PredecessorsOf(const OperatorGraph& graph) {
  std::vector<Ideal> predecessors(graph.operators.size());
  for (const Tensor& tensor : graph.tensors) {
    for (const OperatorId consumer : tensor.consumers) predecessors[consumer.index()].set(tensor.producer.index());
  }
  return predecessors;
}

// How many sets of operators hold every predecessor of their members, by listing them all, smaller ones first.
// REQUIRES: at most kMaxOperators operators.
int64_t CountIdeals(const OperatorGraph& graph) {
  const std::vector<Ideal> predecessors = PredecessorsOf(graph);
  std::unordered_set<Ideal> level = {Ideal()};
  int64_t count = 0;
  while (!level.empty()) {
    count += static_cast<int64_t>(level.size());
    std::unordered_set<Ideal> next;
    for (const Ideal& ideal : level) {
      for (std::size_t op = 0; op < predecessors.size(); ++op) {
        const bool enabled = !ideal[op] && (predecessors[op] & ~ideal).none();
        if (enabled) next.insert(Ideal(ideal).set(op));
      }
    }
    level = std::move(next);
  }
  return count;
}

TEST(LatticesTest, HaveAsManyIdealsAsTheirFormulasSay) {
  for (const char* name : {"inc_1x1_lo", "inc_2x3_hi", "inc_3x4_lo", "grid_1x7_lo", "grid_3x4_lo", "grid_5x5_hi",
                           "grid_8x12_lo", "tow_1x9_lo", "tow_2x5_hi", "tow_3x20_lo", "tow_4x6_lo"}) {
    const std::optional<Lattice> lattice = MakeLattice(name);
    ASSERT_TRUE(lattice.has_value()) << name;
    EXPECT_EQ(CountIdeals(lattice->graph), lattice->num_ideals) << name;
  }
}

// The sizes that the prototype was measured on, rounded.
TEST(LatticesTest, HaveThePublishedSizes) {
  const std::vector<std::pair<const char*, double>> published = {
      {"inc_5x8_lo", 0.65e6},   {"inc_6x8_hi", 5.8e6},    {"inc_6x10_lo", 19.5e6}, {"inc_7x9_lo", 110e6},
      {"grid_8x12_lo", 126e3},  {"grid_8x16_hi", 735e3},  {"grid_8x20_lo", 3.1e6}, {"grid_8x30_lo", 48.9e6},
      {"grid_6x60_lo", 90.9e6}, {"tow_3x100_lo", 1.03e6}, {"tow_4x64_hi", 17.9e6}, {"tow_5x40_lo", 116e6}};
  for (const auto& [name, num_ideals] : published) {
    const std::optional<Lattice> lattice = MakeLattice(name);
    ASSERT_TRUE(lattice.has_value()) << name;
    EXPECT_NEAR(static_cast<double>(lattice->num_ideals), num_ideals, 0.01 * num_ideals) << name;
  }
}

TEST(LatticesTest, AreValid) {
  for (const char* name : {"inc_5x8_lo", "grid_8x12_hi", "tow_3x100_lo"}) {
    const Lattice lattice = MakeLattice(name).value();
    Violations violations;
    ValidateGraph(lattice.graph, {}, violations);
    ValidateCluster(lattice.cluster, {}, violations);
    ValidateProblem(lattice.graph, lattice.cluster, {}, {}, violations);
    EXPECT_TRUE(violations.empty()) << violations.ToStatus();
    EXPECT_EQ(lattice.cluster.devices.size(), 7U);
  }
}

double MeanTime(const OperatorGraph& graph) {
  double sum = 0;
  for (const Operator& op : graph.operators) sum += ToMilliseconds(op.costs[0].forward);
  return sum / static_cast<double>(graph.operators.size());
}

double MeanTransfer(const OperatorGraph& graph) {
  double sum = 0;
  for (const Tensor& tensor : graph.tensors) sum += ToMilliseconds(*tensor.transfer);
  return sum / static_cast<double>(graph.tensors.size());
}

// Over 451 draws the mean of the lognormal deviates by 2.5 %, one standard error.
TEST(LatticesTest, HaveTheMeanTimesOfTheirNames) {
  const Lattice low = MakeLattice("inc_5x8_lo").value();
  const Lattice high = MakeLattice("inc_5x8_hi").value();
  EXPECT_NEAR(MeanTime(low.graph), 1, 0.1);
  EXPECT_NEAR(MeanTransfer(low.graph), 0.02, 0.002);
  EXPECT_NEAR(MeanTransfer(high.graph), 0.5, 0.05);
  EXPECT_EQ(MeanTime(low.graph), MeanTime(high.graph));
}

TEST(LatticesTest, AreTheSameEachTime) {
  const Lattice first = MakeLattice("grid_4x5_hi").value();
  const Lattice second = MakeLattice("grid_4x5_hi").value();
  ASSERT_EQ(first.graph.operators.size(), 20U);
  for (std::size_t op = 0; op < first.graph.operators.size(); ++op) {
    EXPECT_EQ(first.graph.operators[op].costs[0].forward, second.graph.operators[op].costs[0].forward);
  }
}

TEST(LatticesTest, RefusesOtherNames) {
  for (const char* name : {"", "inc", "inc_5x8", "inc_5x8_mid", "inc_0x8_lo", "inc_-1x8_lo", "inc_5_lo", "cube_5x8_lo",
                           "tow_9x999_lo", "grid_1000x2_lo", "inc_5x8_lo ", "5x8_lo"}) {
    EXPECT_FALSE(MakeLattice(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace planwright
