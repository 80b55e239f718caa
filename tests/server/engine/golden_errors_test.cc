// The wording of errors, as files: tests/golden/errors/NAME.textproto is a CreatePlanRequest, NAME.txt what it is
// answered with. PLANWRIGHT_UPDATE_GOLDEN=1 writes the latter anew, to be read before it is committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/strings.h"
#include "server/engine/planning_engine.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

constexpr char kFolder[] = "tests/golden/errors";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".textproto") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(GoldenErrorsTest, AreWordedAsBefore) {
  const std::vector<std::string> names = Names();
  ASSERT_FALSE(names.empty());
  PlanningEngine engine(EngineConfig{});
  for (const std::string& name : names) {
    const std::filesystem::path base = std::filesystem::path(kFolder) / name;
    const auto request = Wire<v1::CreatePlanRequest>(ReadFile(base.string() + ".textproto"));
    const absl::Status status = engine.CreatePlan(request, CallContext{}).status();
    const std::string answer = absl::StrCat(absl::StatusCodeToString(status.code()), "\n", status.message(), "\n");
    if (std::getenv("PLANWRIGHT_UPDATE_GOLDEN") != nullptr) std::ofstream(base.string() + ".txt") << answer;
    EXPECT_EQ(answer, ReadFile(base.string() + ".txt")) << name;
  }
}

}  // namespace
}  // namespace planwright::server
