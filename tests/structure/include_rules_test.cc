#include "tests/structure/include_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/structure/folder_rules.h"
#include "tests/structure/source_tree.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(IncludeRulesTest, TheWholeTreeKeepsTheDirections) {
  std::vector<std::string> violations;
  int files = 0;
  for (const SourceFile& file : SourceFiles({".h", ".cc"})) {
    ++files;
    for (std::string& violation : IncludeViolations(file.path, file.text)) violations.push_back(std::move(violation));
  }
  EXPECT_GT(files, 30) << "the tree was not found";
  EXPECT_THAT(violations, IsEmpty());
}

TEST(IncludeRulesTest, NoFolderOfTheTreeIsCrowdedOrPartOfACircle) {
  const std::vector<SourceFile> files = SourceFiles({".h", ".cc"});
  EXPECT_THAT(CrowdedFolders(files), IsEmpty());
  EXPECT_THAT(FolderCircles(files), IsEmpty());
}

// A rule for a folder that is gone, or a door that is, would be taken for a fact by whoever reads the table.
TEST(IncludeRulesTest, EveryRuleAndDoorIsOfTheTree) {
  for (const FolderRule& rule : FolderRules()) {
    const std::filesystem::path folder(rule.folder);
    EXPECT_TRUE(std::filesystem::is_directory(folder)) << folder;
    for (const std::string_view door : rule.doors) {
      EXPECT_TRUE(std::filesystem::exists(folder / (std::string(door) + ".h"))) << folder << " has no " << door;
    }
  }
}

TEST(IncludeRulesTest, RulesOnlyPointDownwards) {
  EXPECT_THAT(UpwardRules(FolderRules()), IsEmpty());
  EXPECT_THAT(UpwardRules({{"core/low", {"core/high"}, {}, {}}, {"core/high", {"core/low"}, {}, {}}}),
              ElementsAre("core/low must not be above core/high"));
  EXPECT_THAT(UpwardRules({{"core/room", {}, {}, {}}, {"core", {"core/"}, {}, {}}}),
              ElementsAre("core must not be above core"));
  EXPECT_THAT(UpwardRules({{"core/low", {"core/gone"}, {}, {}}}), ElementsAre("core/low names core/gone"));
}

TEST(IncludeRulesTest, ACrowdedFolderIsNamedWithItsNumber) {
  std::vector<SourceFile> files = {{"core/wide/notes.txt", ""}, {"core/wide/room/a.h", ""}};
  for (int i = 0; i < 15; ++i) {
    files.push_back({absl::StrCat("core/wide/f", i, ".h"), ""});
    files.push_back({absl::StrCat("core/wide/f", i, ".cc"), ""});
    files.push_back({absl::StrCat("tests/core/f", i, "_test.cc"), ""});
    files.push_back({absl::StrCat("tests/core/g", i, "_test.cc"), ""});
    files.push_back({absl::StrCat("tests/core/h", i, "_test.cc"), ""});
  }
  EXPECT_THAT(CrowdedFolders(files), IsEmpty());
  files.push_back({"core/wide/one_more.h", ""});
  EXPECT_THAT(CrowdedFolders(files), ElementsAre("core/wide holds 31 files"));
}

TEST(IncludeRulesTest, ACircleOfFoldersIsNamed) {
  std::vector<SourceFile> files = {{"core/a/x.cc", "#include \"core/b/y.h\"\n"},
                                   {"core/b/y.cc", "#include \"core/b/room/z.h\"\n#include \"core/d/w.h\"\n"},
                                   {"tests/core/d/w_test.cc", "#include \"core/a/x.h\"\n"}};
  EXPECT_THAT(FolderCircles(files), IsEmpty());
  files.push_back({"core/b/room/z.cc", "#include \"core/a/x.h\"\n"});
  EXPECT_THAT(FolderCircles(files), ElementsAre("core/a -> core/b -> core/b/room -> core/a"));
}

TEST(IncludeRulesTest, ARoomIsEnteredByItsDoorsOnly) {
  EXPECT_THAT(IncludeViolations("core/partition/mip/a.cc", "#include \"core/partition/latency/min_latency.h\""),
              IsEmpty());
  EXPECT_THAT(IncludeViolations("core/partition/mip/a.cc", "\n#include \"core/partition/latency/latency_starts.h\""),
              ElementsAre("core/partition/mip/a.cc:2: core/partition/latency/latency_starts.h is no door of "
                          "core/partition/latency"));
  EXPECT_THAT(IncludeViolations("core/partition/latency/a.cc", "#include \"core/partition/latency/latency_starts.h\""),
              IsEmpty());
  EXPECT_THAT(IncludeViolations("core/partition/latency/a.cc", "#include \"core/partition/mip/mip_search.h\""),
              SizeIs(1));
  EXPECT_THAT(IncludeViolations("core/partition/parmesan/a.cc", "#include \"core/mapping/other.h\""), SizeIs(1));
}

// The walls of a room hold for those around it too.
TEST(IncludeRulesTest, ARoomInsideAnotherHasRulesOfItsOwn) {
  EXPECT_THAT(
      IncludeViolations("core/partition/contiguous/ideals/a.cc", "#include \"core/partition/contiguous/ideal_dp.h\""),
      SizeIs(1));
  EXPECT_THAT(
      IncludeViolations("core/partition/parmesan/a.cc", "#include \"core/partition/contiguous/ideals/reached_set.h\""),
      SizeIs(1));
  EXPECT_THAT(IncludeViolations("core/partition/contiguous/a.cc",
                                "#include \"core/partition/contiguous/ideals/lane_prefix_sums.h\""),
              SizeIs(1));
}

TEST(IncludeRulesTest, AForbiddenIncludeIsNamedWithFileAndLine) {
  EXPECT_THAT(IncludeViolations("core/base/units.cc", "#include <vector>\n#include \"core/model/graph.h\"\n"),
              ElementsAre("core/base/units.cc:2: core/base must not include core/model/graph.h"));
}

TEST(IncludeRulesTest, VerifierAndSolversDoNotKnowEachOther) {
  EXPECT_THAT(IncludeViolations("core/verify/verify.cc", "#include \"core/cost/terms/transfer.h\""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("core/verify/verify.cc", "#include \"core/partition/contiguous/ideal_dp.h\""),
              SizeIs(1));
  EXPECT_THAT(IncludeViolations("core/partition/contiguous/ideal_dp.cc", "#include \"core/verify/verify.h\""),
              SizeIs(1));
}

TEST(IncludeRulesTest, CoreKnowsNoTransport) {
  for (const std::string header : {"<grpcpp/server.h>", "<google/protobuf/message.h>", "<prometheus/registry.h>",
                                   "<nlohmann/json.hpp>", "\"planwright/v1/plan.pb.h\"", "\"server/codec/graph.h\""}) {
    EXPECT_THAT(IncludeViolations("core/planner/planner.cc", "#include " + header), SizeIs(1)) << header;
  }
}

TEST(IncludeRulesTest, OnlyServiceAndMainOfTheServerKnowGrpc) {
  for (const std::string layer : {"serving/admission", "codec", "engine", "engine/plans", "observability"}) {
    EXPECT_THAT(IncludeViolations("server/" + layer + "/a.cc", "#include <grpcpp/grpcpp.h>"), SizeIs(1)) << layer;
    EXPECT_THAT(IncludeViolations("server/" + layer + "/a.cc", "#include \"server/service/a.h\""), SizeIs(1)) << layer;
  }
  EXPECT_THAT(IncludeViolations("server/service/methods/create_plan.cc", "#include <grpcpp/grpcpp.h>"), IsEmpty());
}

TEST(IncludeRulesTest, OnlyTheInProcessClientKnowsTheServer) {
  EXPECT_THAT(IncludeViolations("client/cli/commands/plan.cc", "#include \"core/planner/planner.h\""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("client/cli/commands/plan.cc", "#include \"server/engine/planning_engine.h\""),
              SizeIs(1));
  EXPECT_THAT(IncludeViolations("client/local/a.cc", "#include \"server/engine/planning_engine.h\""), IsEmpty());
}

TEST(IncludeRulesTest, NobodyButTestsIncludesTests) {
  EXPECT_THAT(IncludeViolations("server/main/a.cc", "#include \"tests/support/shared_dir.h\""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("tests/core/base/units_test.cc", "#include \"tests/support/shared_dir.h\""), IsEmpty());
}

TEST(IncludeRulesTest, OddlyWrittenIncludesAreSeen) {
  EXPECT_THAT(IncludeViolations("core/base/a.cc", "  #  include\t<grpcpp/grpcpp.h>  // why not"), SizeIs(1));
  EXPECT_THAT(IncludeViolations("core/base/a.cc", "// #include <grpcpp/grpcpp.h>"), IsEmpty());
}

TEST(IncludeRulesTest, AnUnknownFolderIsRefused) {
  EXPECT_THAT(IncludeViolations("core/novelty/a.cc", ""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("core/partition/novelty/a.cc", ""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("elsewhere/a.cc", ""), SizeIs(1));
}

}  // namespace
}  // namespace planwright
