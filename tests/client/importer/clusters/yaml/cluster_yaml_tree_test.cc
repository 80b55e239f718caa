#include "client/importer/clusters/yaml/cluster_yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

YamlNode ParseTree(const std::string& text) {
  const auto tree = ParseYaml(text, "c.yaml");
  EXPECT_TRUE(tree.ok()) << text << "\n" << tree.status();
  return tree.ok() ? *tree : YamlNode();
}

std::string ErrorInTree(const std::string& text) {
  const auto tree = ParseYaml(text, "c.yaml");
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(tree.status().message());
}

std::string Repeat(const std::string& text, std::size_t times) {
  std::string repeated;
  for (std::size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST(ClusterYamlTreeTest, KeepsOrderAndLines) {
  const YamlNode tree = ParseTree("# c\na: 1\nb:\n  - x\n  - {k: v, k: w}\n\nc:\nd: ''\n");
  ASSERT_EQ(tree.kind, YamlNode::Kind::kMap);
  ASSERT_EQ(tree.keys.size(), 4);
  EXPECT_EQ(tree.keys[1].text, "b");
  EXPECT_EQ(tree.keys[1].line, 3);
  EXPECT_EQ(tree.children[0].text, "1");
  EXPECT_EQ(tree.children[0].line, 2);
  const YamlNode& list = tree.children[1];
  ASSERT_EQ(list.kind, YamlNode::Kind::kList);
  ASSERT_EQ(list.children.size(), 2);
  EXPECT_EQ(list.children[1].keys.size(), 2);
  EXPECT_EQ(list.children[1].children[1].text, "w");
  EXPECT_EQ(tree.children[2].kind, YamlNode::Kind::kNull);
  EXPECT_EQ(tree.children[2].line, 7) << "where the key stands, not where the next one does";
  EXPECT_EQ(tree.children[3].kind, YamlNode::Kind::kText);
}

TEST(ClusterYamlTreeTest, NothingIsNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "--- # x\n...\n", "~"}) {
    EXPECT_EQ(ParseTree(text).kind, YamlNode::Kind::kNull) << text;
  }
}

TEST(ClusterYamlTreeTest, TakesWhatEditorsWrite) {
  EXPECT_EQ(ParseTree("\xef\xbb\xbf"
                      "a: 1\n")
                .children[0]
                .text,
            "1")
      << "byte order mark";
  EXPECT_EQ(ParseTree("a: 1\r\nb: 2\r\n").children[1].line, 2);
  EXPECT_EQ(ParseTree("%YAML 1.2\n---\na: 1\n").children[0].line, 3);
  EXPECT_EQ(ParseTree("a: >\n  two\n  lines").children[0].text, "two lines");
}

TEST(ClusterYamlTreeTest, GoldenErrors) {
  EXPECT_EQ(ErrorInTree("a: b: c\n"), "c.yaml: line 1, column 5: illegal map value");
  EXPECT_EQ(ErrorInTree("a: [1, 2\n"), "c.yaml: line 2, column 1: end of sequence flow not found");
  EXPECT_EQ(ErrorInTree("a:\n\t- b\n"), "c.yaml: line 2, column 2: illegal block entry");
  EXPECT_EQ(ErrorInTree("a: &x 1\n"),
            "c.yaml: line 1, column 4: anchors and aliases (& and *) are not understood here");
  EXPECT_EQ(ErrorInTree("a: *x\n"), "c.yaml: line 1, column 4: the referenced anchor is not defined");
  EXPECT_EQ(ErrorInTree("a: !!int 1\n"), "c.yaml: line 1, column 4: tags such as !!str are not understood here");
  EXPECT_EQ(ErrorInTree("a: !x {}\n"), "c.yaml: line 1, column 4: tags such as !!str are not understood here");
  EXPECT_EQ(ErrorInTree("? [a]\n: b\n"), "c.yaml: line 1, column 3: a key must be text");
  EXPECT_EQ(ErrorInTree("~: b\n"), "c.yaml: line 1, column 1: a key must be text");
  EXPECT_EQ(ErrorInTree("a: 1\n---\na: 2\n"),
            "c.yaml: line 2, column 1: a second document begins here; a file describes one cluster");
  EXPECT_EQ(ErrorInTree("a: \"\\x07\"\n"), "c.yaml: line 1, column 4: a text has a control character");
  EXPECT_EQ(ErrorInTree(std::string("a: 1\nb: \x04", 9)), "c.yaml: line 2: has a control character");
  EXPECT_EQ(ErrorInTree(std::string("a\0:\0", 4)), "c.yaml: line 1: has a control character");
  EXPECT_EQ(ErrorInTree("a: \xff\n"), "c.yaml: is not valid UTF-8");
}

TEST(ClusterYamlTreeTest, LimitsSizeDepthAndLength) {
  EXPECT_EQ(ErrorInTree(std::string(kMaxYamlBytes + 1, ' ')),
            "c.yaml: must have at most 262144 bytes as YAML, has 262145");
  EXPECT_EQ(ErrorInTree(std::string(kMaxYamlTextBytes + 1, 'x')),
            "c.yaml: line 1, column 1: a text must have at most 4096 bytes, this one has 4097");
  EXPECT_EQ(ParseTree(std::string(kMaxYamlTextBytes, 'x')).text.size(), kMaxYamlTextBytes);
  const std::string deepest = Repeat("- ", kMaxYamlDepth) + "x\n";
  EXPECT_EQ(ParseTree(deepest).kind, YamlNode::Kind::kList);
  EXPECT_EQ(ErrorInTree("- " + deepest), "c.yaml: line 1, column 33: is nested deeper than 16 levels");
  std::string keys;
  for (std::size_t i = 0; i <= kMaxYamlKeys; ++i) absl::StrAppend(&keys, "k", i, ": 1\n");
  EXPECT_EQ(ErrorInTree(keys), "c.yaml: line 1025, column 1: a map must have at most 1024 keys");
}

TEST(ClusterYamlTreeTest, HostileTextsAreRefused) {
  for (const char* text : {"[", "{", "? ", "- ", "{a: ", "[a: ", "!", "&a ", "[[],"}) {
    EXPECT_THAT(ErrorInTree(Repeat(text, kMaxYamlBytes / std::string(text).size())), StartsWith("c.yaml: line 1"))
        << text;
  }
  std::string bomb = "a0: &a0 x\n";
  for (int i = 1; i < 100; ++i) absl::StrAppend(&bomb, "a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, "]\n");
  EXPECT_THAT(ErrorInTree(bomb), HasSubstr("anchors and aliases"));
}

}  // namespace
}  // namespace planwright::client
