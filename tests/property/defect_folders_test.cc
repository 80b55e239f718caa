// The inputs that showed defects (../shared/defects), as far as a folder holds a whole request, by the claims of
// answers.h: brute force tells what each answer shall be, not the notes.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/violations.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "server/codec/problem.h"
#include "tests/property/answers.h"
#include "tests/support/shared_dir.h"

namespace planwright {
namespace {

constexpr int64_t kMostDevices = 64;

std::string TextOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// nullopt: the folder speaks of built-in models.
std::optional<Instance> InstanceOf(const std::filesystem::path& folder) {
  for (const char* name : {"graph.json", "cluster.json", "problem.json"}) {
    if (!std::filesystem::exists(folder / name)) return std::nullopt;
  }
  v1::CreatePlanRequest request;
  const auto read = [&](const char* name, google::protobuf::Message& message) {
    const std::string text = TextOf(folder / name);
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &message).ok()) << folder / name;
  };
  read("problem.json", request);
  read("graph.json", *request.mutable_graph());
  read("cluster.json", *request.mutable_cluster());
  Violations violations;
  Instance instance;
  instance.graph = server::DecodeGraph(request.graph(), violations);
  instance.cluster = server::DecodeCluster(request.cluster(), kMostDevices, violations);
  instance.problem = server::DecodeProblem(request.problem(), instance.graph, instance.cluster,
                                           server::FieldPath("problem"), violations);
  EXPECT_TRUE(violations.empty()) << folder << ": " << violations.ToStatus();
  return instance;
}

TEST(DefectFoldersTest, EveryAnswerIsWhatBruteForceFindsInAnyOrderOfTheInput) {
  const std::optional<std::string> defects = SharedFile("defects");
  if (!defects.has_value()) GTEST_SKIP() << "../shared/defects is not there";
  JudgeSettings settings;
  settings.work = 3'000'000;
  settings.most_placements = 300'000;
  std::vector<std::filesystem::path> folders(std::filesystem::directory_iterator(*defects), {});
  std::sort(folders.begin(), folders.end());
  for (const std::filesystem::path& folder : folders) {
    const std::optional<Instance> instance = InstanceOf(folder);
    if (!instance.has_value()) continue;
    for (const Claim& claim : AnswerClaims()) {
      if (claim.name != "optimum" && claim.name != "input_order" && claim.name != "growing_cluster") continue;
      const Finding finding = CheckClaim(claim, *instance, 0, settings);
      EXPECT_LE(finding.outcome, Outcome::kHeld)
          << folder.filename() << ", " << claim.name << ": " << NameOf(finding.outcome) << " " << finding.text;
    }
  }
}

}  // namespace
}  // namespace planwright
