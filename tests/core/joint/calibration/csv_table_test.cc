#include "core/joint/calibration/csv_table.h"

#include <gtest/gtest.h>

namespace planwright {
namespace {

TEST(CsvTableTest, ReadsQuotedFields) {
  Violations violations;
  const CsvTable table("id,notes\r\na,\"one, \"\"two\"\"\nthree\"\n\nb,\n", violations);
  EXPECT_TRUE(violations.empty());
  ASSERT_EQ(table.num_rows(), 2U);
  EXPECT_EQ(table.Field(0, "id"), "a");
  EXPECT_EQ(table.Field(0, "notes"), "one, \"two\"\nthree");
  EXPECT_EQ(table.LineOf(1), 5U);
  EXPECT_EQ(table.Field(1, "notes"), "");
  EXPECT_EQ(table.Field(1, "other"), "");
  EXPECT_TRUE(table.Has("notes"));
  EXPECT_FALSE(table.Has("other"));
}

TEST(CsvTableTest, SaysWhatIsWrong) {
  Violations violations;
  const CsvTable table("a,b,a\n1,2\n3,4,\"5\n", violations);
  ASSERT_EQ(violations.listed().size(), 3U);
  EXPECT_EQ(violations.listed()[0], (Violation{"line 1", "has column \"a\" twice"}));
  EXPECT_EQ(violations.listed()[1], (Violation{"line 2", "must have 3 fields, has 2"}));
  EXPECT_EQ(violations.listed()[2], (Violation{"line 3", "has a quote that does not end"}));
}

TEST(CsvTableTest, ReadsNothingFromNothing) {
  Violations violations;
  EXPECT_EQ(CsvTable("", violations).num_rows(), 0U);
  EXPECT_TRUE(violations.empty());
}

}  // namespace
}  // namespace planwright
