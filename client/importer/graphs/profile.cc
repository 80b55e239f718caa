#include "client/importer/graphs/profile.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/importer/graphs/class_times.h"
#include "client/importer/graphs/time_unit.h"
#include "client/importer/reading/cells.h"
#include "client/importer/reading/native.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

constexpr std::string_view kColumns = "name,forward_ms,backward_ms";

class TableReader {
 public:
  explicit TableReader(ViolationList& violations) : violations_(violations) {}

  std::vector<ProfileRow> Read(std::string_view text) {
    text = WithoutByteOrderMark(text);
    while (!text.empty()) {
      ++line_;
      const std::string_view line = TakeLine(text);
      if (line.empty() || line.front() == '#') continue;
      const auto cells = CellsOf(line);
      if (!cells.has_value()) {
        Report("a double quote is not closed");
      } else if (!has_columns_) {
        ReadColumns(*cells);
        // Without them no row means anything.
        if (!has_columns_) return {};
      } else {
        ReadRow(*cells);
      }
    }
    if (!has_columns_ && violations_.empty())
      violations_.Add("", absl::StrCat("must begin with ", std::string(kColumns)));
    return std::move(rows_);
  }

 private:
  void Report(std::string rule) { violations_.Add(absl::StrCat("line ", line_), std::move(rule)); }

  void ReadColumns(const std::vector<std::string>& cells) {
    const auto forward = cells.size() == 3 ? UnitOfColumn(cells[1], "forward_") : std::nullopt;
    const auto backward = cells.size() == 3 ? UnitOfColumn(cells[2], "backward_") : std::nullopt;
    has_columns_ = forward.has_value() && backward.has_value() && cells[0] == "name";
    if (!has_columns_) return Report(absl::StrCat("must name the columns: ", std::string(kColumns)));
    forward_unit_ms_ = *forward;
    backward_unit_ms_ = *backward;
  }

  void ReadRow(const std::vector<std::string>& cells) {
    if (cells.size() != 3) return Report(absl::StrCat("must have 3 cells, has ", cells.size()));
    if (cells[0].empty()) return Report("must name an operator");
    const auto forward = NumberOf(cells[1]);
    const auto backward = NumberOf(cells[2]);
    for (const auto& [time, cell] : {std::pair{forward, &cells[1]}, std::pair{backward, &cells[2]}}) {
      if (!time.has_value()) Report(absl::StrCat("a time must be a number >= 0, is ", Quoted(*cell)));
    }
    if (!forward.has_value() || !backward.has_value()) return;
    const auto [first, is_new] = lines_.emplace(cells[0], line_);
    if (!is_new) return Report(absl::StrCat("must name another operator than line ", first->second));
    rows_.push_back({cells[0], *forward * forward_unit_ms_, *backward * backward_unit_ms_});
  }

  ViolationList& violations_;
  std::size_t line_ = 0;
  bool has_columns_ = false;
  double forward_unit_ms_ = 1;
  double backward_unit_ms_ = 1;
  std::vector<ProfileRow> rows_;
  std::unordered_map<std::string, std::size_t> lines_;
};

// Operators by their names and by every end of their names.
class OperatorNames {
 public:
  explicit OperatorNames(const v1::Graph& graph) {
    for (int i = 0; i < graph.operators_size(); ++i) {
      const std::string& name = graph.operators(i).name();
      if (graph.operators(i).pass() == v1::PASS_BACKWARD) continue;
      by_name_.emplace(name, i);
      for (std::size_t end = name.find_first_of("/."); end != std::string::npos;
           end = name.find_first_of("/.", end + 1)) {
        const auto [entry, is_new] = by_end_.emplace(std::string_view(name).substr(end + 1), i);
        if (!is_new) entry->second = kSeveral;
      }
    }
  }

  static constexpr int kNone = -1;
  static constexpr int kSeveral = -2;

  int Find(const std::string& name) const {
    if (const auto exact = by_name_.find(name); exact != by_name_.end()) return exact->second;
    const auto end = by_end_.find(name);
    return end == by_end_.end() ? kNone : end->second;
  }

 private:
  std::unordered_map<std::string_view, int> by_name_;
  std::unordered_map<std::string_view, int> by_end_;
};

void SetTime(double forward_ms, double backward_ms, v1::Operator& op) {
  op.clear_costs();
  v1::OperatorCost& cost = *op.add_costs();
  cost.set_device_class(kUnnamedClass);
  cost.set_forward_ms(forward_ms);
  cost.set_backward_ms(backward_ms);
}

}  // namespace

absl::StatusOr<std::vector<ProfileRow>> ReadProfile(std::string_view text, std::string_view source) {
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": is not valid UTF-8"));
  ViolationList violations;
  std::vector<ProfileRow> rows = TableReader(violations).Read(text);
  if (!violations.empty()) return violations.ToStatus(source);
  return rows;
}

ProfileMatch ApplyProfile(const std::vector<ProfileRow>& rows, v1::Graph& graph) {
  ProfileMatch match;
  const OperatorNames names(graph);
  std::unordered_map<std::string, v1::Operator*> backward_of;
  for (v1::Operator& op : *graph.mutable_operators()) {
    if (op.pass() == v1::PASS_BACKWARD) backward_of.emplace(op.forward_operator(), &op);
  }
  std::set<int> timed;
  for (const ProfileRow& row : rows) {
    const int index = names.Find(row.name);
    if (index == OperatorNames::kNone && match.unmatched++ == 0) match.first_unmatched = row.name;
    if (index == OperatorNames::kNone) continue;
    if (index == OperatorNames::kSeveral || !timed.insert(index).second) {
      ++match.ambiguous;
      continue;
    }
    v1::Operator& op = *graph.mutable_operators(index);
    const auto backward = backward_of.find(op.name());
    SetTime(row.forward_ms, backward == backward_of.end() ? row.backward_ms : 0, op);
    if (backward != backward_of.end()) SetTime(row.backward_ms, 0, *backward->second);
    ++match.matched;
  }
  match.without_times = std::count_if(graph.operators().begin(), graph.operators().end(), [](const v1::Operator& op) {
    return op.costs().empty() && op.pass() != v1::PASS_BACKWARD && op.type() != "Input";
  });
  return match;
}

}  // namespace planwright::client
