#include "client/importer/graphs/layer_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/importer/graphs/time_unit.h"
#include "client/importer/reading/cells.h"
#include "client/importer/reading/native.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

class LayerTable {
 public:
  explicit LayerTable(ViolationList& violations) : violations_(violations) {}

  std::vector<v1::MeasuredLayer> Read(std::string_view text) {
    text = WithoutByteOrderMark(text);
    while (!text.empty()) {
      ++line_;
      const std::string_view line = TakeLine(text);
      if (line.empty() || line.front() == '#') continue;
      const auto cells = CellsOf(line);
      if (!cells.has_value()) {
        Report("a double quote is not closed");
      } else if (columns_.empty()) {
        if (!ReadColumns(*cells)) return {};
      } else {
        ReadRow(*cells);
      }
    }
    if (columns_.empty() && violations_.empty()) {
      violations_.Add("", "must begin with the names of its columns: layer,tensor_degree,micro_batch,forward_ms,...");
    }
    return std::move(rows_);
  }

 private:
  void Report(std::string rule) {
    violations_.Add(absl::StrCat("line ", line_), std::move(rule));
    is_sound_ = false;
  }

  // Whether rows can be read by them.
  bool ReadColumns(const std::vector<std::string>& cells) {
    static constexpr const char* kOptional[] = {"tensor_degree", "context_degree", "expert_degree", "device_class",
                                                "activation_bytes"};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::string name = cells[i];
      for (const char* pass : {"forward_", "backward_"}) {
        const std::optional<double> unit_ms = UnitOfColumn(name, pass);
        if (!unit_ms.has_value()) continue;
        name = pass;
        units_ms_[name] = *unit_ms;
      }
      const bool is_known = name == "layer" || name == "micro_batch" || units_ms_.contains(name) ||
                            std::find(std::begin(kOptional), std::end(kOptional), name) != std::end(kOptional);
      if (!is_known) Report(absl::StrCat("knows no column ", Quoted(cells[i])));
      if (!columns_.emplace(name, i).second) Report(absl::StrCat("must name ", Quoted(cells[i]), " once"));
    }
    for (const char* name : {"layer", "micro_batch", "forward_", "backward_"}) {
      if (columns_.contains(name)) continue;
      Report(absl::StrCat("must have a column ", name, std::string_view(name).ends_with('_') ? "ms" : ""));
    }
    num_columns_ = cells.size();
    return is_sound_;
  }

  void ReadRow(const std::vector<std::string>& cells) {
    if (cells.size() != num_columns_) {
      return Report(absl::StrCat("must have ", num_columns_, " cells, has ", cells.size()));
    }
    is_sound_ = true;
    v1::MeasuredLayer row;
    row.set_layer(TextOf(cells, "layer"));
    row.set_device_class(TextOf(cells, "device_class"));
    row.set_tensor_degree(DegreeOf(cells, "tensor_degree"));
    row.set_context_degree(DegreeOf(cells, "context_degree"));
    row.set_expert_degree(DegreeOf(cells, "expert_degree"));
    row.set_samples(WholeOf(cells, "micro_batch").value_or(0));
    row.set_forward_ms(TimeOf(cells, "forward_"));
    row.set_backward_ms(TimeOf(cells, "backward_"));
    if (!TextOf(cells, "activation_bytes").empty()) {
      row.set_activation_bytes(WholeOf(cells, "activation_bytes").value_or(0));
    }
    if (is_sound_) rows_.push_back(std::move(row));
  }

  // Empty where there is no such column.
  std::string TextOf(const std::vector<std::string>& cells, const std::string& column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? std::string() : cells[found->second];
  }

  std::optional<int64_t> WholeOf(const std::vector<std::string>& cells, const std::string& column) {
    const std::string text = TextOf(cells, column);
    int64_t number = 0;
    if (absl::SimpleAtoi(text, &number) && number >= 0) return number;
    Report(absl::StrCat(column, " must be a whole number >= 0, is ", Quoted(text)));
    return std::nullopt;
  }

  // 1 where it is left out.
  int32_t DegreeOf(const std::vector<std::string>& cells, const std::string& column) {
    if (TextOf(cells, column).empty()) return 1;
    const int64_t degree = WholeOf(cells, column).value_or(1);
    if (degree >= 1 && degree <= std::numeric_limits<int32_t>::max()) return static_cast<int32_t>(degree);
    Report(absl::StrCat(column, " must be >= 1"));
    return 1;
  }

  double TimeOf(const std::vector<std::string>& cells, const std::string& pass) {
    const std::string text = TextOf(cells, pass);
    const std::optional<double> time = NumberOf(text);
    if (!time.has_value()) Report(absl::StrCat("a time must be a number >= 0, is ", Quoted(text)));
    return time.value_or(0) * units_ms_.at(pass);
  }

  ViolationList& violations_;
  std::size_t line_ = 0;
  // Nothing is wrong with the line.
  bool is_sound_ = true;
  std::size_t num_columns_ = 0;
  // "forward_" and "backward_" without their units.
  std::map<std::string, std::size_t> columns_;
  std::map<std::string, double> units_ms_;
  std::vector<v1::MeasuredLayer> rows_;
};

}  // namespace

absl::StatusOr<std::vector<v1::MeasuredLayer>> ReadLayerTimes(std::string_view text, std::string_view source) {
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": is not valid UTF-8"));
  ViolationList violations;
  std::vector<v1::MeasuredLayer> rows = LayerTable(violations).Read(text);
  if (!violations.empty()) return violations.ToStatus(source);
  return rows;
}

}  // namespace planwright::client
