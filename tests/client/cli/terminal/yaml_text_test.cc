#include "client/cli/terminal/yaml_text.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

namespace planwright::client {
namespace {

TEST(YamlTextTest, WritesBlocks) {
  EXPECT_EQ(YamlOfJson(R"({"stages": [{"index": 0, "operators": ["encoder.0/query"]}], "links": [], "load_ms": 1.50})"),
            "links: []\nload_ms: 1.5\nstages:\n  - index: 0\n    operators:\n      - encoder.0/query\n");
}

TEST(YamlTextTest, StringsStayStrings) {
  const YAML::Node read =
      YAML::Load(YamlOfJson(R"({"a": "12", "b": "no", "c": "x: y\n# z", "d": "", "e": true, "f": null})"));
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_EQ(read[key].Tag(), "!") << key;
  EXPECT_EQ(read["c"].as<std::string>(), "x: y\n# z");
  EXPECT_TRUE(read["e"].as<bool>());
  EXPECT_TRUE(read["f"].IsNull());
}

TEST(YamlTextTest, ValuesInARowAreDocuments) { EXPECT_EQ(YamlOfJson("{\"a\": 1}\n{\"a\": 2}\n"), "a: 1\n---\na: 2\n"); }

}  // namespace
}  // namespace planwright::client
