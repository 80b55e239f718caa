#include "core/partition/mip/integer_program.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/partition/mip/mip_solver.h"

namespace planwright {
namespace {

// One of everything that a file can say: a range, a column without limits, a fixed one, an equation.
IntegerProgram MakeExample() {
  IntegerProgram program;
  program.title = "Two lines\nof title";
  const int32_t a = program.AddBinary("a");
  const int32_t b = program.AddContinuous("b", 0, IntegerProgram::kInfinity);
  const int32_t c = program.AddContinuous("c", -IntegerProgram::kInfinity, 5);
  const int32_t d = program.AddContinuous("d", 1.5, 1.5);
  program.columns[0].objective = -2;
  program.columns[2].objective = 1;
  program.AddAtMost("most", {{a, 3}, {b, 1}}, 4);
  program.AddAtLeast("least", {{c, 1}, {a, -1}, {a, 0.5}}, -2);
  program.AddEquals("same", {{b, 1}, {d, -1}}, 0);
  program.AddRow("range", -1, 2, {{c, 1}, {b, 1}});
  return program;
}

TEST(IntegerProgramTest, AddsUpEntriesOfTheSameColumn) {
  const IntegerProgram program = MakeExample();
  ASSERT_EQ(program.rows[1].entries.size(), 2U);
  EXPECT_EQ(program.rows[1].entries[0].coefficient, -0.5);
}

TEST(IntegerProgramTest, KeepsWhatItsRowsReferToWhereItIsMoved) {
  IntegerProgram moved = MakeExample();
  IntegerProgram assigned;
  assigned.AddBinary("of_the_one_before");
  assigned = std::move(moved);
  assigned.AddAtMost("last", {{0, 1}}, 1);
  EXPECT_EQ(assigned.rows.front().name, "most");
  EXPECT_EQ(assigned.columns.front().name, "a");
  EXPECT_EQ(assigned.rows.front().entries[0].coefficient, 3);
  EXPECT_EQ(assigned.rows.back().name, "last");
}

TEST(IntegerProgramTest, WritesFreeMps) {
  EXPECT_EQ(ToMps(MakeExample()),
            R"(* Two lines
* of title
NAME          planwright  FREE
ROWS
 N  COST
 L  most
 G  least
 E  same
 G  range
COLUMNS
    MARKER    'MARKER'  'INTORG'
    a         COST      -2
    a         most      3
    a         least     -0.5
    MARKER    'MARKER'  'INTEND'
    b         COST      0
    b         most      1
    b         same      1
    b         range     1
    c         COST      1
    c         least     1
    c         range     1
    d         COST      0
    d         same      -1
RHS
    RHS       most      4
    RHS       least     -2
    RHS       range     -1
RANGES
    RNG       range     3
BOUNDS
 UP BND       a         1
 PL BND       b
 MI BND       c
 UP BND       c         5
 FX BND       d         1.5
ENDATA
)");
}

TEST(IntegerProgramTest, WritesLp) {
  EXPECT_EQ(ToLp(MakeExample()),
            "\\ Two lines\n\\ of title\n"
            "Minimize\n cost: - 2 a + 1 c\n"
            "Subject To\n"
            " most: + 3 a + 1 b <= 4\n"
            " least: - 0.5 a + 1 c >= -2\n"
            " same: + 1 b - 1 d = 0\n"
            " range_lower: + 1 b + 1 c >= -1\n"
            " range_upper: + 1 b + 1 c <= 2\n"
            "Bounds\n 0 <= a <= 1\n -inf <= c <= 5\n 1.5 <= d <= 1.5\n"
            "Generals\n a\nEnd\n");
}

bool HasCbcProgram() { return std::system("command -v cbc >/dev/null") == 0; }

// What the cbc program makes of a file; nullopt: not even a solution.
std::optional<double> ObjectiveByCbcProgram(const std::string& file) {
  const std::string output = file + ".out";
  if (std::system(("cbc " + file + " solve solution " + output + " quit >/dev/null").c_str()) != 0) return std::nullopt;
  std::ifstream stream(output);
  std::string line;
  std::getline(stream, line);
  // "Optimal - objective value 3.00000000"
  if (!line.starts_with("Optimal")) return std::nullopt;
  return std::stod(line.substr(line.rfind(' ') + 1));
}

// Feasible: every row allows 0.
IntegerProgram MakeRandomProgram(RandomStream& random) {
  IntegerProgram program;
  for (int column = 0; column < 6; ++column) {
    const std::string name = "x" + std::to_string(column);
    if (random.Below(2) == 0) {
      program.AddBinary(name);
    } else {
      program.AddContinuous(name, static_cast<double>(random.Between(-3, 0)),
                            static_cast<double>(random.Between(1, 4)));
    }
    program.columns.back().objective = static_cast<double>(random.Between(-5, 5));
  }
  for (int row = 0; row < 4; ++row) {
    std::vector<IntegerProgram::Entry> entries;
    entries.reserve(6);
    for (int32_t column = 0; column < 6; ++column) {
      entries.push_back({column, static_cast<double>(random.Between(-3, 3)) / 2});
    }
    const auto upper = static_cast<double>(random.Between(1, 6));
    program.AddRow("r" + std::to_string(row), random.Below(2) == 0 ? -upper : -IntegerProgram::kInfinity, upper,
                   std::move(entries));
  }
  return program;
}

TEST(IntegerProgramTest, AnotherProgramReadsBothFormatsAndFindsTheSameOptimum) {
  if (!HasMipSolver()) GTEST_SKIP() << "this build has no solver";
  if (!HasCbcProgram()) GTEST_SKIP() << "the cbc program is not installed (Debian: coinor-cbc)";
  RandomStream random(7, 0);
  for (int round = 0; round < 10; ++round) {
    const IntegerProgram program = MakeRandomProgram(random);
    const MipOutcome outcome = SolveIntegerProgram({.program = program});
    ASSERT_EQ(outcome.end, MipEnd::kFinished);
    for (const auto& [extension, text] : {std::pair{".mps", ToMps(program)}, std::pair{".lp", ToLp(program)}}) {
      const std::string file = testing::TempDir() + "/planwright_program" + extension;
      std::ofstream(file) << text;
      const std::optional<double> objective = ObjectiveByCbcProgram(file);
      ASSERT_TRUE(objective.has_value()) << extension << " of round " << round;
      EXPECT_NEAR(*objective, outcome.bound, 1e-5) << extension << " of round " << round;
    }
  }
}

}  // namespace
}  // namespace planwright
