#include "client/report/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

namespace planwright::client {
namespace {

TEST(TableTest, AlignsColumns) {
  Table table({{"name"}, {"load", kRight}});
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
  Table table({{"name"}, Table::Wrapping("keys")});
  const std::string word(60, 'x');
  table.AddRow({"a", word + " " + word + " end"});
  table.AddRow({"b", std::string(200, 'y')});
  EXPECT_EQ(table.ToString(),
            "  name  keys\n  a     " + word + "\n        " + word + " end\n  b     " + std::string(200, 'y') + "\n");
}

std::size_t LongestLine(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(TableTest, WrapsColumnsSideBySideAndBreaksWordsThatAreTooLong) {
  Table table({{"n", kRight}, Table::Wrapping("settings"), Table::Wrapping("reason")});
  table.AddRow({"1", std::string(40, 's') + " " + std::string(90, 't'), std::string(50, 'r') + " end"});
  table.AddRow({"22", "short", std::string(50, 'r') + " and so on"});
  EXPECT_EQ(table.ToString(), "   n  settings" + std::string(50, ' ') + "reason\n" + "   1  " + std::string(40, 's') +
                                  std::string(18, ' ') + std::string(50, 'r') + " end\n" + "      " +
                                  std::string(56, 't') + "\n" + "      " + std::string(34, 't') + "\n" + "  22  short" +
                                  std::string(53, ' ') + std::string(50, 'r') + " and\n" + std::string(64, ' ') +
                                  "so on\n");
}

TEST(TableTest, CutsTheWidestNamesUntilLinesFit) {
  Table table({Table::Cutting("name"), Table::Cutting("cluster", 44), {"n", kRight}});
  table.AddRow({std::string(100, 'a') + std::string(100, 'z'), std::string(44, 'c'), "1"});
  table.AddRow({"b", "c", "23"});
  const std::string text = table.ToString();
  EXPECT_EQ(LongestLine(text), kMaxLineLength);
  EXPECT_NE(text.find("aa..zz"), std::string::npos);
  EXPECT_NE(text.find("  " + std::string(44, 'c') + "   1\n"), std::string::npos) << text;
}

TEST(TableTest, ColumnsGiveWayOnlyAsFarAsTheyMay) {
  Table table({Table::Cutting("name", 20), {std::string(150, 'x')}});
  table.AddRow({std::string(60, 'n'), ""});
  EXPECT_EQ(LongestLine(table.ToString()), 2 + 20 + 2 + 150U);
}

TEST(TableTest, ShortLinesLeaveColumnsOutByTheirRank) {
  Table table({Table::Cutting("name", 6),
               {"less needed", kRight, Table::Overflow::kKept, 0, 2},
               {"least needed", kRight, Table::Overflow::kKept, 0, 1},
               {"needed", kRight}});
  table.AddRow({"a/name/of/some/length", "1", "2", "3"});
  EXPECT_EQ(table.ToString(),
            "  name                   less needed  least needed  needed\n"
            "  a/name/of/some/length            1             2       3\n");
  {
    const ScopedLineLengths lengths({.report = 46, .note = 46});
    EXPECT_EQ(table.ToString(),
              "  name       less needed  least needed  needed\n"
              "  a/n..gth             1             2       3\n");
  }
  const ScopedLineLengths lengths({.report = 42, .note = 42});
  EXPECT_EQ(table.ToString(),
            "  name                 less needed  needed\n"
            "  a/name/o..e/length             1       3\n");
}

TEST(LineLengthsTest, HoldForAsLongAsTheyAreSet) {
  {
    const ScopedLineLengths outer({.report = 80, .note = 90});
    const ScopedLineLengths inner({.report = 1, .note = 2});
    EXPECT_EQ(CurrentLineLengths().report, 40U);
    EXPECT_EQ(CurrentLineLengths().note, 40U);
  }
  EXPECT_EQ(CurrentLineLengths().report, kMaxLineLength);
}

TEST(ShortenedTest, CutsBetweenCharacters) {
  EXPECT_EQ(Shortened("encoder.11/attention_norm", 10), "enco..norm");
  EXPECT_EQ(Shortened("short", 5), "short");
  EXPECT_EQ(Shortened("\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc", 6), "\u00fc\u00fc..\u00fc\u00fc");
}

TEST(WrappedTest, BreaksAtBlanksAndKeepsWords) {
  const std::string word(60, 'x');
  EXPECT_EQ(Wrapped("a b", 2), "a b");
  EXPECT_EQ(Wrapped(word + " " + word + " " + word, 7), word + "\n       " + word + "\n       " + word);
  EXPECT_EQ(Wrapped(std::string(200, 'y') + " z", 2), std::string(200, 'y') + "\n  z");
  EXPECT_EQ(Wrapped("", 2), "");
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
