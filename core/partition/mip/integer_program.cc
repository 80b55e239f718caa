#include "core/partition/mip/integer_program.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/base/interruption.h"

namespace planwright {
namespace {

constexpr double kInfinity = IntegerProgram::kInfinity;
// Terms to a line of an LP file; some readers refuse long lines.
constexpr std::size_t kTermsPerLine = 6;

std::string Number(double value) {
  if (value == kInfinity) return "inf";
  if (value == -kInfinity) return "-inf";
  return absl::StrFormat("%.17g", value);
}

// E: equation; L: at most; G: at least (also with a range above); N: no constraint.
char MpsType(const IntegerProgram::Row& row) {
  if (row.lower == row.upper) return 'E';
  if (row.lower > -kInfinity) return 'G';
  return row.upper < kInfinity ? 'L' : 'N';
}

double RightHandSide(const IntegerProgram::Row& row) { return row.lower > -kInfinity ? row.lower : row.upper; }

bool IsRange(const IntegerProgram::Row& row) {
  return row.lower > -kInfinity && row.upper < kInfinity && row.lower < row.upper;
}

// A data line. Fields are where fixed MPS has them as far as names are short, for readers that guess the format.
std::string MpsLine(absl::string_view type, absl::string_view first, absl::string_view second,
                    absl::string_view number) {
  const std::string names = absl::StrFormat(" %-2s %-8s  ", type, first);
  if (number.empty()) return absl::StrCat(names, second, "\n");
  return absl::StrFormat("%s%-8s  %s\n", names, second, number);
}

void AppendMpsColumns(const IntegerProgram& program, std::string& text) {
  std::vector<std::vector<std::pair<const IntegerProgram::Row*, double>>> entries_of(program.columns.size());
  for (const IntegerProgram::Row& row : program.rows) {
    for (const auto& [column, coefficient] : row.entries) {
      entries_of[static_cast<std::size_t>(column)].emplace_back(&row, coefficient);
    }
  }
  bool in_integers = false;
  const auto mark = [&](bool integers) {
    if (integers == in_integers) return;
    absl::StrAppend(&text, MpsLine("", "MARKER", "'MARKER'", integers ? "'INTORG'" : "'INTEND'"));
    in_integers = integers;
  };
  for (std::size_t index = 0; index < program.columns.size(); ++index) {
    const IntegerProgram::Column& column = program.columns[index];
    mark(column.is_integer);
    // Also where it is 0, so that a column without rows exists.
    absl::StrAppend(&text, MpsLine("", column.name, "COST", Number(column.objective)));
    for (const auto& [row, coefficient] : entries_of[index]) {
      absl::StrAppend(&text, MpsLine("", column.name, row->name, Number(coefficient)));
    }
  }
  mark(false);
}

void AppendMpsBounds(const IntegerProgram& program, std::string& text) {
  for (const IntegerProgram::Column& column : program.columns) {
    if (column.lower == column.upper) {
      absl::StrAppend(&text, MpsLine("FX", "BND", column.name, Number(column.lower)));
      continue;
    }
    if (column.lower == -kInfinity) absl::StrAppend(&text, MpsLine("MI", "BND", column.name, ""));
    if (column.lower > -kInfinity && column.lower != 0) {
      absl::StrAppend(&text, MpsLine("LO", "BND", column.name, Number(column.lower)));
    }
    if (column.upper < kInfinity) {
      absl::StrAppend(&text, MpsLine("UP", "BND", column.name, Number(column.upper)));
    } else {
      // Else some readers take an integer column for a binary one.
      absl::StrAppend(&text, MpsLine("PL", "BND", column.name, ""));
    }
  }
}

void AppendTerms(const IntegerProgram& program, std::span<const IntegerProgram::Entry> entries, std::string& text) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [column, coefficient] = entries[i];
    absl::StrAppend(&text, i > 0 && i % kTermsPerLine == 0 ? "\n  " : " ", coefficient < 0 ? "- " : "+ ",
                    Number(std::abs(coefficient)), " ", program.columns[static_cast<std::size_t>(column)].name);
  }
}

// An LP file wants one inequality a row.
void AppendLpRow(const IntegerProgram& program, const IntegerProgram::Row& row, absl::string_view name,
                 const char* relation, double value, std::string& text) {
  absl::StrAppend(&text, " ", name, ":");
  AppendTerms(program, row.entries, text);
  absl::StrAppend(&text, " ", relation, " ", Number(value), "\n");
}

void AppendLpRows(const IntegerProgram& program, std::string& text) {
  for (const IntegerProgram::Row& row : program.rows) {
    if (row.lower == row.upper) {
      AppendLpRow(program, row, row.name, "=", row.lower, text);
    } else if (IsRange(row)) {
      AppendLpRow(program, row, absl::StrCat(row.name, "_lower"), ">=", row.lower, text);
      AppendLpRow(program, row, absl::StrCat(row.name, "_upper"), "<=", row.upper, text);
    } else if (row.lower > -kInfinity) {
      AppendLpRow(program, row, row.name, ">=", row.lower, text);
    } else if (row.upper < kInfinity) {
      AppendLpRow(program, row, row.name, "<=", row.upper, text);
    }
  }
}

std::string Commented(const std::string& title, const char* mark) {
  std::string text;
  std::size_t begin = 0;
  while (begin < title.size()) {
    const std::size_t end = std::min(title.find('\n', begin), title.size());
    absl::StrAppend(&text, mark, " ", title.substr(begin, end - begin), "\n");
    begin = end + 1;
  }
  return text;
}

}  // namespace

void IntegerProgram::AddRow(absl::string_view name, double lower, double upper, std::vector<Entry> entries) {
  InterruptionPoint(64 + 64 * entries.size());
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.column < b.column; });
  std::size_t kept = 0;
  for (std::size_t next = 0; next < entries.size();) {
    Entry sum = entries[next++];
    while (next < entries.size() && entries[next].column == sum.column) sum.coefficient += entries[next++].coefficient;
    if (sum.coefficient != 0) entries[kept++] = sum;
  }
  entries.resize(kept);
  rows.push_back({Kept(name), lower, upper, Kept(entries)});
}

absl::string_view IntegerProgram::Kept(absl::string_view name) {
  auto* const begin = static_cast<char*>(blocks_->allocate(name.size(), alignof(char)));
  std::copy(name.begin(), name.end(), begin);
  return {begin, name.size()};
}

std::span<const IntegerProgram::Entry> IntegerProgram::Kept(const std::vector<Entry>& entries) {
  auto* const begin = static_cast<Entry*>(blocks_->allocate(entries.size() * sizeof(Entry), alignof(Entry)));
  return {begin, std::uninitialized_copy(entries.begin(), entries.end(), begin)};
}

std::string ToMps(const IntegerProgram& program) {
  std::string text = Commented(program.title, "*");
  absl::StrAppend(&text, "NAME          planwright  FREE\nROWS\n N  COST\n");
  for (const IntegerProgram::Row& row : program.rows) {
    absl::StrAppend(&text, " ", std::string(1, MpsType(row)), "  ", row.name, "\n");
  }
  absl::StrAppend(&text, "COLUMNS\n");
  AppendMpsColumns(program, text);
  absl::StrAppend(&text, "RHS\n");
  for (const IntegerProgram::Row& row : program.rows) {
    if (MpsType(row) == 'N' || RightHandSide(row) == 0) continue;
    absl::StrAppend(&text, MpsLine("", "RHS", row.name, Number(RightHandSide(row))));
  }
  absl::StrAppend(&text, "RANGES\n");
  for (const IntegerProgram::Row& row : program.rows) {
    if (IsRange(row)) absl::StrAppend(&text, MpsLine("", "RNG", row.name, Number(row.upper - row.lower)));
  }
  absl::StrAppend(&text, "BOUNDS\n");
  AppendMpsBounds(program, text);
  absl::StrAppend(&text, "ENDATA\n");
  return text;
}

std::string ToLp(const IntegerProgram& program) {
  std::string text = Commented(program.title, "\\");
  absl::StrAppend(&text, "Minimize\n cost:");
  std::vector<IntegerProgram::Entry> objective;
  for (std::size_t index = 0; index < program.columns.size(); ++index) {
    const double coefficient = program.columns[index].objective;
    if (coefficient != 0) objective.push_back({static_cast<int32_t>(index), coefficient});
  }
  AppendTerms(program, objective, text);
  absl::StrAppend(&text, "\nSubject To\n");
  AppendLpRows(program, text);
  absl::StrAppend(&text, "Bounds\n");
  for (const IntegerProgram::Column& column : program.columns) {
    if (column.lower == 0 && column.upper == kInfinity) continue;
    absl::StrAppend(&text, " ", Number(column.lower), " <= ", column.name, " <= ", Number(column.upper), "\n");
  }
  absl::StrAppend(&text, "Generals\n");
  for (const IntegerProgram::Column& column : program.columns) {
    if (column.is_integer) absl::StrAppend(&text, " ", column.name, "\n");
  }
  absl::StrAppend(&text, "End\n");
  return text;
}

}  // namespace planwright
