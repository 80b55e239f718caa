#include "core/linear/linear_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/limits.h"
#include "core/base/polling.h"
#include "core/base/random.h"

namespace planwright {
namespace {

using testing::DoubleNear;

constexpr std::size_t kColumns = 3;
constexpr double kTolerance = 1e-7;

using Point = std::array<double, kColumns>;

// normal x = offset.
struct Plane {
  Point normal{};
  double offset = 0;
};

double Times(const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kColumns; ++i) sum += a[i] * b[i];
  return sum;
}

Point Cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

std::optional<Point> Meeting(const Plane& a, const Plane& b, const Plane& c) {
  const Point across = Cross(b.normal, c.normal);
  const double volume = Times(a.normal, across);
  if (std::abs(volume) < kTolerance) return std::nullopt;
  const Point second = Cross(c.normal, a.normal);
  const Point third = Cross(a.normal, b.normal);
  Point point{};
  for (std::size_t i = 0; i < kColumns; ++i) {
    point[i] = (a.offset * across[i] + b.offset * second[i] + c.offset * third[i]) / volume;
  }
  return point;
}

Plane PlaneOf(const LinearProgram::Row& row) {
  Plane plane{.offset = row.least};
  for (const auto& [column, coefficient] : row.entries) plane.normal[static_cast<std::size_t>(column)] += coefficient;
  return plane;
}

bool IsSolution(const LinearProgram& program, const Point& point) {
  for (const LinearProgram::Row& row : program.rows) {
    const Plane plane = PlaneOf(row);
    const double beyond = Times(plane.normal, point) - plane.offset;
    if (beyond < -kTolerance || (row.is_equation && beyond > kTolerance)) return false;
  }
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (point[i] < program.columns[i].lower - kTolerance || point[i] > program.columns[i].upper + kTolerance) {
      return false;
    }
  }
  return true;
}

double ObjectiveOf(const LinearProgram& program, const Point& point) {
  double sum = 0;
  for (std::size_t i = 0; i < kColumns; ++i) sum += program.columns[i].objective * point[i];
  return sum;
}

// The least of all corners; infinity: there is no solution.
double LeastByCorners(const LinearProgram& program) {
  std::vector<Plane> planes;
  for (const LinearProgram::Row& row : program.rows) planes.push_back(PlaneOf(row));
  for (std::size_t i = 0; i < kColumns; ++i) {
    Plane side;
    side.normal[i] = 1;
    for (const double at : {program.columns[i].lower, program.columns[i].upper}) {
      side.offset = at;
      planes.push_back(side);
    }
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < planes.size(); ++a) {
    for (std::size_t b = a + 1; b < planes.size(); ++b) {
      for (std::size_t c = b + 1; c < planes.size(); ++c) {
        const std::optional<Point> corner = Meeting(planes[a], planes[b], planes[c]);
        if (corner.has_value() && IsSolution(program, *corner)) least = std::min(least, ObjectiveOf(program, *corner));
      }
    }
  }
  return least;
}

// Between -1 and 1.
double Signed(RandomStream& random) { return static_cast<double>(random.Below(2'001)) / 1'000 - 1; }

LinearProgram RandomProgram(RandomStream& random) {
  LinearProgram program;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const double lower = Signed(random);
    program.AddColumn({lower, lower + 1 + Signed(random), Signed(random)});
  }
  const uint64_t rows = 1 + random.Below(4);
  for (uint64_t r = 0; r < rows; ++r) {
    std::vector<LinearProgram::Entry> entries;
    const uint64_t count = 1 + random.Below(4);
    for (uint64_t e = 0; e < count; ++e) {
      entries.push_back({static_cast<int32_t>(random.Below(kColumns)), Signed(random)});
    }
    if (r == 0 && random.Below(3) == 0) {
      program.AddEquation(entries, Signed(random) / 2);
    } else {
      program.AddAtLeast(entries, Signed(random) / 2);
    }
  }
  return program;
}

TEST(LinearProgramTest, IsTheLeastOfAllCorners) {
  if (!HasLinearSolver()) GTEST_SKIP() << "this build has no solver of linear programs";
  const SolveLimits limits;
  Poller poller(limits);
  int solved = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    RandomStream random(seed, 1);
    const LinearProgram program = RandomProgram(random);
    const double least = LeastByCorners(program);
    if (least == std::numeric_limits<double>::infinity()) continue;
    ++solved;
    EXPECT_THAT(LeastObjective(program, poller), DoubleNear(least, 1e-6)) << "seed " << seed;
  }
  EXPECT_GT(solved, 500);
}

TEST(LinearProgramTest, NoMultipliersProveTooMuch) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    RandomStream random(seed, 2);
    const LinearProgram program = RandomProgram(random);
    const double least = LeastByCorners(program);
    std::vector<double> multipliers;
    for (std::size_t r = 0; r < program.rows.size(); ++r) multipliers.push_back(2 * Signed(random));
    EXPECT_LE(BoundByMultipliers(program, multipliers), least + kTolerance) << "seed " << seed;
  }
}

TEST(LinearProgramTest, AStoppedSolverProvesLess) {
  RandomStream random(7, 1);
  const LinearProgram program = RandomProgram(random);
  const std::stop_source stop;
  stop.request_stop();
  const SolveLimits limits{.stop = stop.get_token()};
  Poller poller(limits);
  EXPECT_LE(LeastObjective(program, poller), LeastByCorners(program) + kTolerance);
}

}  // namespace
}  // namespace planwright
