#include "client/importer/clusters/yaml/cluster_yaml_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<std::string> Expand(const std::string& list) {
  const auto hosts = ExpandHostList(list, 1000);
  EXPECT_TRUE(hosts.ok()) << list << ": " << hosts.status();
  return hosts.ok() ? *hosts : std::vector<std::string>();
}

std::string Refusal(const std::string& list) {
  const auto hosts = ExpandHostList(list, 1000);
  EXPECT_EQ(hosts.status().code(), absl::StatusCode::kInvalidArgument) << list;
  return std::string(hosts.status().message());
}

TEST(ClusterYamlHostsTest, ExpandsRangesAsSlurmDoes) {
  EXPECT_THAT(Expand("node"), ElementsAre("node"));
  EXPECT_THAT(Expand("node[0-3,12]"), ElementsAre("node0", "node1", "node2", "node3", "node12"));
  EXPECT_THAT(Expand("n[8-10].lan"), ElementsAre("n8.lan", "n9.lan", "n10.lan"));
  EXPECT_THAT(Expand("a,b[1-2],c"), ElementsAre("a", "b1", "b2", "c"));
  EXPECT_THAT(Expand("[1-2]x"), ElementsAre("1x", "2x"));
}

TEST(ClusterYamlHostsTest, KeepsLeadingZeros) {
  EXPECT_THAT(Expand("n[08-10]"), ElementsAre("n08", "n09", "n10"));
  EXPECT_THAT(Expand("n[018-020]"), ElementsAre("n018", "n019", "n020"));
  EXPECT_THAT(Expand("n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
  EXPECT_THAT(Expand("n[0-1,00]"), ElementsAre("n0", "n1", "n00"));
}

TEST(ClusterYamlHostsTest, CombinesBracketsWithTheLastFastest) {
  EXPECT_THAT(Expand("r[0-1]n[0-1]"), ElementsAre("r0n0", "r0n1", "r1n0", "r1n1"));
  EXPECT_THAT(Expand("a[1][2][3][4]"), ElementsAre("a1234"));
}

TEST(ExpandNamesTest, LeavesOtherCharactersAlone) {
  EXPECT_THAT(*ExpandNames("node[0-1]/gpu[6-7],a b,a b", 10),
              ElementsAre("node0/gpu6", "node0/gpu7", "node1/gpu6", "node1/gpu7", "a b", "a b"));
  EXPECT_EQ(ExpandNames("a,", 10).status().message(), "has an empty name");
  EXPECT_EQ(ExpandNames("n[0-9]/gpu[0-9]", 99).status().message(), "names more than 99 hosts");
}

TEST(ClusterYamlHostsTest, SaysWhatIsWrong) {
  EXPECT_EQ(Refusal(""), "has an empty name");
  EXPECT_EQ(Refusal("a,"), "has an empty name");
  EXPECT_EQ(Refusal("a,,b"), "has an empty name");
  EXPECT_EQ(Refusal("a[0-3"), "has a \"[\" without its \"]\"");
  for (const char* list : {"a[]", "a[3-0]", "a[0,]", "a[x]", "a[-1]", "a[1-]", "a[[0]]", "a[1234567890]", "a[0--1]"}) {
    EXPECT_EQ(Refusal(list), "has brackets that are no list of ranges, such as [0-3,12]") << list;
  }
  for (const char* list : {"a b", "a/b", "a]", "a*", "\xc3\xa4"}) {
    EXPECT_EQ(Refusal(list), "has a character that no host's name has; those have letters, digits, '.', '-' and '_'");
  }
  EXPECT_EQ(Refusal("a[0][0][0][0][0]"), "has a name with more than 4 brackets");
  EXPECT_EQ(Refusal("a,b,a"), "names host \"a\" twice");
  EXPECT_EQ(Refusal("a[0-3],a2"), "names host \"a2\" twice");
  EXPECT_EQ(Refusal("4"), "has a name of digits alone; four hosts are called node[0-3], say");
  EXPECT_EQ(Refusal("[0-3]"), "has a name of digits alone; four hosts are called node[0-3], say");
  EXPECT_EQ(Refusal(std::string(kMaxHostNameBytes + 1, 'a')), "has a name of more than 240 bytes");
}

TEST(ClusterYamlHostsTest, StopsBeforeThereAreTooMany) {
  EXPECT_THAT(Expand("a[0-999]"), SizeIs(1000));
  for (const char* list :
       {"a[0-1000]", "a[0-999],b", "a[0-99]b[0-10]", "a[0-999999999]", "a[0-999]b[0-999]c[0-999]d[0-999]"}) {
    EXPECT_EQ(Refusal(list), "names more than 1000 hosts") << list;
  }
}

}  // namespace
}  // namespace planwright::client
