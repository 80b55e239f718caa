#include "server/codec/plan_key.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/wire.h"

namespace planwright::server {
namespace {

// The key of a problem in text form and of options.
std::string KeyOf(const std::string& problem, const SolverOptions& options = SolverOptions()) {
  const auto wire = Wire<v1::PlanningProblem>(problem);
  return PlanKey({.graph_digest = "graph",
                  .cluster_digest = "cluster",
                  .problem = wire,
                  .options = options,
                  .program_version = "1"});
}

TEST(PlanKeyTest, IsOfSixtyFourDigitsAndStable) {
  EXPECT_EQ(KeyOf("").size(), 64U);
  EXPECT_EQ(KeyOf("num_stages: 3"), KeyOf("num_stages: 3"));
}

TEST(PlanKeyTest, TheOrderOfListsWithoutOrderDoesNotCount) {
  EXPECT_EQ(KeyOf(R"pb(
              devices_to_use {
                hosts: "x"
                hosts: "y"
                excluded_devices: "d1"
                excluded_devices: "d2"
                match_labels { key: "a" value: "1" }
                match_labels { key: "b" value: "2" }
              }
              pinned { operator: "a" device: "d1" }
              pinned { operator: "b" device: "d2" }
              start_from { stages { operators: "a" operators: "b" } })pb"),
            KeyOf(R"pb(
              devices_to_use {
                hosts: "y"
                hosts: "x"
                excluded_devices: "d2"
                excluded_devices: "d1"
                match_labels { key: "b" value: "2" }
                match_labels { key: "a" value: "1" }
              }
              pinned { operator: "b" device: "d2" }
              pinned { operator: "a" device: "d1" }
              start_from { stages { operators: "b" operators: "a" } })pb"));
}

TEST(PlanKeyTest, EverySettingOfTheProblemCounts) {
  const std::set<std::string> keys = {KeyOf(""),
                                      KeyOf("num_stages: 2"),
                                      KeyOf("num_replicas: 2"),
                                      KeyOf("split: SPLIT_NON_CONTIGUOUS"),
                                      KeyOf(R"pb(devices_to_use { hosts: "x" })pb"),
                                      KeyOf(R"pb(devices_to_use { devices: "x" })pb"),
                                      KeyOf(R"pb(start_from {
                                                   stages { operators: "a" }
                                                   stages { operators: "b" }
                                                 })pb"),
                                      KeyOf(R"pb(start_from {
                                                   stages { operators: "b" }
                                                   stages { operators: "a" }
                                                 })pb")};
  EXPECT_EQ(keys.size(), 8U);
}

TEST(PlanKeyTest, OptionsThatChangeTheAnswerCount) {
  SolverOptions algorithm;
  algorithm.algorithm = Algorithm::kIdealDp;
  SolverOptions seed;
  seed.seed = 7;
  SolverOptions ideals;
  ideals.ideal_limit = 7;
  SolverOptions explain;
  explain.explain = true;
  SolverOptions clusters;
  clusters.clusters = 7;
  SolverOptions alpha;
  alpha.clustering_alpha = 7;
  SolverOptions steps;
  steps.refinement_steps = 7;
  const std::set<std::string> keys = {KeyOf(""),          KeyOf("", algorithm), KeyOf("", seed),  KeyOf("", ideals),
                                      KeyOf("", explain), KeyOf("", clusters),  KeyOf("", alpha), KeyOf("", steps)};
  EXPECT_EQ(keys.size(), 8U);
}

TEST(PlanKeyTest, WhatASearchMaySpendDoesNotCount) {
  SolverOptions spent;
  spent.threads = 3;
  spent.work_limit = 100;
  spent.relative_gap = 0.5;
  EXPECT_EQ(KeyOf("", spent), KeyOf(""));
}

TEST(PlanKeyTest, GraphClusterAndVersionCount) {
  const v1::PlanningProblem problem;
  const SolverOptions options;
  const auto key = [&](const char* graph, const char* cluster, const char* version) {
    return PlanKey({.graph_digest = graph,
                    .cluster_digest = cluster,
                    .problem = problem,
                    .options = options,
                    .program_version = version});
  };
  const std::set<std::string> keys = {key("a", "b", "c"), key("x", "b", "c"), key("a", "x", "c"), key("a", "b", "x"),
                                      key("ab", "", "c")};
  EXPECT_EQ(keys.size(), 5U);
}

}  // namespace
}  // namespace planwright::server
