#include "server/codec/field_path.h"

#include <gtest/gtest.h>

namespace planwright::server {
namespace {

TEST(FieldPathTest, SpellsThePathAsAClientWritesIt) {
  const FieldPath graph("graph");
  EXPECT_EQ(graph.ToString(), "graph");
  EXPECT_EQ(graph.Field("display_name").ToString(), "graph.display_name");
  EXPECT_EQ(graph.Element("operators", 17).Element("costs", 0).Field("forward_ms").ToString(),
            "graph.operators[17].costs[0].forward_ms");
}

}  // namespace
}  // namespace planwright::server
