#include "core/model/task_list.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright {
namespace {

// In the order of TaskKind.
constexpr std::array<std::string_view, kNumTaskKinds> kOperations = {
    "F",      "B",           "I",      "W",       "R",      "SEND_F", "RECV_F", "SEND_B",
    "RECV_B", "REDUCE_GRAD", "TENSOR", "CONTEXT", "EXPERT", "DATA",   "UPDATE"};
// The first of them are passes.
constexpr std::size_t kPasses = 5;

std::optional<int32_t> ParseNumber(std::string_view digits) {
  const bool plain =
      !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  int32_t number = 0;
  if (!plain || !absl::SimpleAtoi(ToAbsl(digits), &number)) return std::nullopt;
  return number;
}

}  // namespace

std::string TaskName(const Task& task) {
  const std::string name = absl::StrCat(task.stage, ToAbsl(kOperations.at(static_cast<std::size_t>(task.kind))));
  const bool is_once_a_step = task.kind == TaskKind::kAllReduce || task.kind == TaskKind::kUpdate;
  return is_once_a_step ? name : absl::StrCat(name, task.micro_batch);
}

std::string LinkName(std::string_view from, std::string_view to, bool full_duplex) {
  return absl::StrCat(ToAbsl(from), full_duplex ? " -> " : " - ", ToAbsl(to));
}

std::optional<PassTask> ParsePassTask(std::string_view name) {
  const std::size_t letter = name.find_first_not_of("0123456789");
  if (letter == std::string_view::npos) return std::nullopt;
  const auto* const passes_end = kOperations.begin() + kPasses;
  const auto* const found = std::find(kOperations.begin(), passes_end, name.substr(letter, 1));
  const std::optional<int32_t> stage = ParseNumber(name.substr(0, letter));
  const std::optional<int32_t> micro_batch = ParseNumber(name.substr(letter + 1));
  if (found == passes_end || !stage.has_value() || !micro_batch.has_value()) return std::nullopt;
  return PassTask{static_cast<TaskKind>(found - kOperations.begin()), *stage, *micro_batch};
}

}  // namespace planwright
