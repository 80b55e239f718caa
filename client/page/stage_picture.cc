#include "client/page/stage_picture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/quantities.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMostBoxes = 200;
constexpr std::size_t kMostEdges = 1000;
constexpr int kStagesInARow = 8;
constexpr int kRowsInAColumn = 14;
constexpr double kStagesWidth = 1200;
constexpr double kStageGap = 28;
constexpr double kStageTitle = 24;
constexpr double kLayerHeight = 24;
constexpr double kLayerGap = 10;

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

// "gpu0 and 3 more"
std::string FirstDeviceText(const v1::Stage& stage) {
  if (stage.replicas().empty()) return "no device";
  const std::string& first = stage.replicas(0).device();
  return stage.replicas_size() == 1 ? first : absl::StrCat(first, " and ", stage.replicas_size() - 1, " more");
}

std::string StageTip(const v1::Stage& stage) {
  return absl::StrCat("stage ", stage.index(), " on ", FirstDeviceText(stage), "\n",
                      CountedText(stage.operators_size(), "operator", "operators"), "\nload ",
                      DurationText(stage.load_ms()), ", memory ", BytesText(stage.memory_bytes()));
}

// Row of each layer within its stage: below all layers of the stage that it reads from and that come before it.
std::vector<int> RowsOf(const Traffic& traffic) {
  std::vector<int> rows(traffic.layers.size());
  std::vector<std::vector<int>> reads_from(rows.size());
  for (const Flow& flow : traffic.between_layers) {
    const bool is_inside = traffic.layers[Index(flow.from)].stage == traffic.layers[Index(flow.to)].stage;
    if (is_inside && flow.from < flow.to) reads_from[Index(flow.to)].push_back(flow.from);
  }
  for (std::size_t layer = 0; layer < rows.size(); ++layer) {
    for (const int before : reads_from[layer]) rows[layer] = std::max(rows[layer], rows[Index(before)] + 1);
  }
  return rows;
}

class StageDrawing {
 public:
  StageDrawing(const v1::Plan& plan, const Traffic& traffic)
      : plan_(plan), traffic_(traffic), has_layers_(traffic.layers.size() + Index(plan.stages_size()) <= kMostBoxes) {}

  Picture Draw() && {
    picture_.width = kStagesWidth;
    if (has_layers_) rows_ = RowsOf(traffic_);
    PlaceStages();
    if (has_layers_) PlaceLayers();
    Connect(has_layers_ ? traffic_.between_layers : traffic_.between_stages);
    if (!has_layers_) {
      picture_.notes.push_back(
          absl::StrCat(CountedText(static_cast<int64_t>(traffic_.layers.size()), "layer", "layers"),
                       " are too many to draw; they are listed below."));
    }
    return std::move(picture_);
  }

 private:
  // Columns of layers that the stage takes.
  int ColumnsOf(int stage) const {
    int rows = 1;
    for (std::size_t layer = 0; layer < rows_.size(); ++layer) {
      if (traffic_.layers[layer].stage == stage) rows = std::max(rows, rows_[layer] + 1);
    }
    return (rows + kRowsInAColumn - 1) / kRowsInAColumn;
  }

  int EndOfRow(int first) const { return std::min(first + kStagesInARow, plan_.stages_size()); }

  // The width of a column of layers, in the row of stages that begins with `first`.
  double ColumnWidth(int first) const {
    int columns = 0;
    for (int stage = first; stage < EndOfRow(first); ++stage) columns += ColumnsOf(stage);
    return (kStagesWidth - kStageGap * (EndOfRow(first) - first - 1)) / columns;
  }

  // The height of the tallest stage in that row.
  double RowHeight(int first) const {
    int rows = 0;
    for (std::size_t layer = 0; layer < rows_.size(); ++layer) {
      const int stage = traffic_.layers[layer].stage;
      if (stage >= first && stage < EndOfRow(first)) rows = std::max(rows, rows_[layer] + 1);
    }
    return kStageTitle + std::min(rows, kRowsInAColumn) * (kLayerHeight + kLayerGap) + kLayerGap;
  }

  void PlaceStages() {
    double y = 0;
    for (int first = 0; first < plan_.stages_size(); first += kStagesInARow) {
      double x = 0;
      for (int stage = first; stage < EndOfRow(first); ++stage) {
        const double width = ColumnsOf(stage) * ColumnWidth(first);
        picture_.boxes.push_back({.x = x,
                                  .y = y,
                                  .width = width,
                                  .height = RowHeight(first),
                                  .label = absl::StrCat("stage ", plan_.stages(stage).index()),
                                  .tip = StageTip(plan_.stages(stage)),
                                  .colour = stage,
                                  .outline = has_layers_});
        x += width + kStageGap;
      }
      picture_.height = y + RowHeight(first);
      y = picture_.height + kStageGap;
    }
  }

  // Layers of one stage and row share the width of their column.
  void PlaceLayers() {
    std::map<std::pair<int, int>, int> of_row;
    for (std::size_t i = 0; i < rows_.size(); ++i) ++of_row[{traffic_.layers[i].stage, rows_[i]}];
    std::map<std::pair<int, int>, int> placed;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const StageLayer& layer = traffic_.layers[i];
      const std::pair<int, int> row = {layer.stage, rows_[i]};
      const Box& stage = picture_.boxes[Index(layer.stage)];
      const double column = (stage.width - kLayerGap) / ColumnsOf(layer.stage);
      const double slot = column / of_row[row];
      const int columns_before = rows_[i] / kRowsInAColumn;
      const std::string operators = CountedText(static_cast<int64_t>(layer.operators.size()), "operator", "operators");
      picture_.boxes.push_back(
          {.x = stage.x + kLayerGap + columns_before * column + slot * placed[row]++,
           .y = stage.y + kStageTitle + rows_[i] % kRowsInAColumn * (kLayerHeight + kLayerGap),
           .width = slot - kLayerGap,
           .height = kLayerHeight,
           .label = layer.name,
           .tip = absl::StrCat(layer.name, "\nstage ", plan_.stages(layer.stage).index(), ", ", operators),
           .colour = layer.stage});
    }
  }

  const Box& BoxOf(int end) const {
    return picture_.boxes[has_layers_ ? Index(plan_.stages_size() + end) : Index(end)];
  }
  std::string NameOf(int end) const {
    return has_layers_ ? traffic_.layers[Index(end)].name : absl::StrCat("stage ", plan_.stages(end).index());
  }

  // The largest ones, where there are too many.
  void Connect(std::vector<Flow> flows) {
    std::stable_sort(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) { return a.bytes > b.bytes; });
    if (flows.size() > kMostEdges) {
      picture_.notes.push_back(
          absl::StrCat("Only the ", kMostEdges, " largest of ", flows.size(), " flows are drawn."));
      flows.resize(kMostEdges);
    }
    const double most = flows.empty() ? 1 : std::cbrt(static_cast<double>(flows.front().bytes));
    for (const Flow& flow : flows) {
      const Box& from = BoxOf(flow.from);
      const Box& to = BoxOf(flow.to);
      const bool is_below = std::abs(from.x - to.x) < from.width / 2 && to.y > from.y;
      const bool is_right = to.x > from.x;
      const std::string tensors = CountedText(static_cast<int64_t>(flow.tensors.size()), "tensor", "tensors");
      Line line{
          .strength = most > 0 ? std::cbrt(static_cast<double>(flow.bytes)) / most : 0,
          .tip = absl::StrCat(NameOf(flow.from), " to ", NameOf(flow.to), "\n", tensors, ", ", BytesText(flow.bytes))};
      if (is_below) {
        line.x1 = from.x + from.width / 2;
        line.y1 = from.y + from.height;
        line.x2 = to.x + to.width / 2;
        line.y2 = to.y;
      } else {
        line.x1 = is_right ? from.x + from.width : from.x;
        line.y1 = from.y + from.height / 2;
        line.x2 = is_right ? to.x : to.x + to.width;
        line.y2 = to.y + to.height / 2;
      }
      picture_.lines.push_back(std::move(line));
    }
  }

  const v1::Plan& plan_;
  const Traffic& traffic_;
  const bool has_layers_;
  // By layer; empty without layers.
  std::vector<int> rows_;
  Picture picture_;
};

}  // namespace

Picture StagePicture(const v1::Plan& plan, const Traffic& traffic) { return StageDrawing(plan, traffic).Draw(); }

}  // namespace planwright::client
