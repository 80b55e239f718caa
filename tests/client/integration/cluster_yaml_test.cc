// A cluster in YAML, from its file to a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/integration/child.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ClusterYamlProgramTest, PlansOnTheExamplesOfOneMachine) {
  for (const std::string example : {"one-node", "pcie-host"}) {
    const Finished planned =
        Planwright({"plan", "--graph=zoo:resnet50", "--cluster=docs/examples/" + example + ".yaml"});
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_THAT(planned.out, HasSubstr("zoo:resnet50 on " + example + ".yaml: "));
    EXPECT_THAT(planned.out, HasSubstr("proven optimal"));
  }
}

TEST(ClusterYamlProgramTest, ReadsStandardInput) {
  const Finished planned = Planwright({"plan", "--graph=zoo:resnet50", "--cluster=-"},
                                      "nodes: [{hosts: box, devices: 2, class: l4}]\ninside: pcie4\n");
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("box/gpu1"));
}

TEST(ClusterYamlProgramTest, NamesEveryMistakeOnItsLine) {
  const Finished planned = Planwright({"plan", "--graph=zoo:resnet50", "--cluster=-"},
                                      "nodes: [{hosts: box, devices: eight, class: l4}]\ninsid: pcie4\n");
  EXPECT_EQ(planned.exit_code, 2);
  EXPECT_THAT(planned.out, IsEmpty());
  EXPECT_EQ(planned.err,
            "error: insid: is not a key here; did you mean inside? (line 2)\n"
            "error: nodes[0].devices: must be a whole number >= 1, is \"eight\" (line 1)\n"
            "Mend standard input and try again.\n");
}

}  // namespace
}  // namespace planwright::client
