#include "client/report/table.h"

#include <gtest/gtest.h>

namespace planwright::client {
namespace {

TEST(TableTest, AlignsColumns) {
  Table table({{"name"}, {"load", Table::Align::kRight}});
  table.AddRow({"a", "1.5"});
  table.AddRow({"longer", "12.25"});
  EXPECT_EQ(table.ToString(),
            "  name     load\n"
            "  a         1.5\n"
            "  longer  12.25\n");
}

TEST(TableTest, LeavesOutHeadingsThatAreAllEmptyAndTrailingSpaces) {
  Table table({{""}, {""}});
  table.AddRow({"a", "x"});
  table.AddRow({"bb", ""});
  EXPECT_EQ(table.ToString(), "  a   x\n  bb\n");
}

TEST(TableTest, CountsCharactersNotBytes) {
  Table table({{"name"}, {"n"}});
  table.AddRow({"Ünïcode", "1"});
  table.AddRow({"Unicode", "2"});
  EXPECT_EQ(table.ToString(), "  name     n\n  Ünïcode  1\n  Unicode  2\n");
}

TEST(TableTest, WrapsTheLastColumnBetweenWords) {
  Table table({{"name"}, {"keys"}}, Table::Overflow::kWrapped);
  const std::string word(60, 'x');
  table.AddRow({"a", word + " " + word + " end"});
  table.AddRow({"b", std::string(200, 'y')});
  EXPECT_EQ(table.ToString(),
            "  name  keys\n  a     " + word + "\n        " + word + " end\n  b     " + std::string(200, 'y') + "\n");
}

TEST(TableTest, ItemsOfListsAreWrapped) {
  const std::string word(60, 'x');
  EXPECT_EQ(ListText({"a", word + " " + word}), "  -  a\n  -  " + word + "\n     " + word + "\n");
}

TEST(TableTest, NamesCannotSteerTheTerminal) {
  EXPECT_EQ(Printable("a\x1b[2Jb\n\x7f\xc2\x9b"), "a?[2Jb???");
  Table table({{""}});
  table.AddRow({"\r\x1b[31m"});
  EXPECT_EQ(table.ToString(), "  ??[31m\n");
}

}  // namespace
}  // namespace planwright::client
