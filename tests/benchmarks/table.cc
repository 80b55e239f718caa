#include "tests/benchmarks/table.h"

#include <utility>

namespace planwright::benchmarks {

Table::Table(std::vector<Column> columns, std::ostream& out) : columns_(std::move(columns)), out_(out) {
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.emplace_back(column.title);
  AddRow(std::move(titles));
  std::vector<std::string> rules;
  rules.reserve(columns_.size());
  for (const Column& column : columns_) rules.emplace_back(column.width - 1, '-');
  for (std::size_t i = 0; i < rules.size(); ++i) rules[i] += i == 0 ? '-' : ':';
  AddRow(std::move(rules));
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t width = columns_[i].width;
    const std::string padding(width > cells[i].size() ? width - cells[i].size() : 0, ' ');
    out_ << "| " << (i == 0 ? cells[i] + padding : padding + cells[i]) << ' ';
  }
  out_ << "|\n" << std::flush;
}

}  // namespace planwright::benchmarks
