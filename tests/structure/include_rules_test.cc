#include "tests/structure/include_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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
  for (const std::string layer : {"serving", "codec", "engine", "observability"}) {
    EXPECT_THAT(IncludeViolations("server/" + layer + "/a.cc", "#include <grpcpp/grpcpp.h>"), SizeIs(1)) << layer;
    EXPECT_THAT(IncludeViolations("server/" + layer + "/a.cc", "#include \"server/service/a.h\""), SizeIs(1)) << layer;
  }
  EXPECT_THAT(IncludeViolations("server/service/create_plan.cc", "#include <grpcpp/grpcpp.h>"), IsEmpty());
}

TEST(IncludeRulesTest, OnlyTheInProcessClientKnowsTheServer) {
  EXPECT_THAT(IncludeViolations("client/cli/plan.cc", "#include \"core/planner/planner.h\""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("client/cli/plan.cc", "#include \"server/engine/planning_engine.h\""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("client/local/a.cc", "#include \"server/engine/planning_engine.h\""), IsEmpty());
}

TEST(IncludeRulesTest, NobodyButTestsIncludesTests) {
  EXPECT_THAT(IncludeViolations("server/main.cc", "#include \"tests/support/shared_dir.h\""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("tests/core/base/units_test.cc", "#include \"tests/support/shared_dir.h\""), IsEmpty());
}

TEST(IncludeRulesTest, OddlyWrittenIncludesAreSeen) {
  EXPECT_THAT(IncludeViolations("core/base/a.cc", "  #  include\t<grpcpp/grpcpp.h>  // why not"), SizeIs(1));
  EXPECT_THAT(IncludeViolations("core/base/a.cc", "// #include <grpcpp/grpcpp.h>"), IsEmpty());
}

TEST(IncludeRulesTest, AnUnknownFolderIsRefused) {
  EXPECT_THAT(IncludeViolations("core/novelty/a.cc", ""), SizeIs(1));
  EXPECT_THAT(IncludeViolations("elsewhere/a.cc", ""), SizeIs(1));
}

}  // namespace
}  // namespace planwright
