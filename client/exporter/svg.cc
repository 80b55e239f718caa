#include "client/exporter/svg.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/joint_report.h"
#include "client/report/quantities.h"
#include "client/report/svg_text.h"
#include "client/report/text_report.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxBars = 64;
constexpr double kWidth = 960;
constexpr double kLeft = 170;
constexpr double kRight = 30;
constexpr double kTop = 84;
constexpr double kRowHeight = 26;
constexpr double kBarHeight = 18;

// What a part of a bar stands for; the colours differ in lightness too.
struct Part {
  const char* name;
  const char* colour;
};
constexpr std::array<Part, 4> kParts = {
    {{"transfers in", "#9ecae1"}, {"computation", "#2b5c8a"}, {"transfers out", "#fdae6b"}, {"all-reduce", "#8c6bb1"}}};

struct Bar {
  std::string device;
  std::string stages;
  double load_ms = 0;
  // By kParts, as `load_ms` per micro-batch of the whole plan; of plans of the joint search per step, unless replicas
  // take turns.
  std::array<double, kParts.size()> parts_ms{};
};

std::array<double, kParts.size()> PartsOf(const v1::Plan& plan, const v1::Stage& stage) {
  const double share = 1.0 / std::max(stage.replicas_size(), 1);
  return {stage.communication_in_ms() * share, stage.compute_ms() * share, stage.communication_out_ms() * share,
          stage.allreduce_ms() * AllReduceShare(plan.problem(), stage.replicas_size())};
}

// The parts of a stage of the joint search: every rank works on every micro-batch of its replica. Where replicas take
// turns, a micro-batch costs a rank its share of the stage's work, and the reduction is told by micro-batch.
std::array<double, kParts.size()> JointPartsOf(const v1::Plan& plan, const v1::Stage& stage) {
  const double count = TakesTurns(plan) ? 1.0 / std::max(stage.joint().data_degree(), 1)
                                        : static_cast<double>(plan.joint().micro_batches());
  return {stage.communication_in_ms() * count, stage.compute_ms() * count, stage.communication_out_ms() * count,
          stage.allreduce_ms()};
}

// Busiest first where there are too many; else in the order of the plan.
std::vector<Bar> BarsOf(const v1::Plan& plan) {
  std::vector<Bar> bars;
  for (const v1::DeviceUsage& device : plan.devices()) {
    if (device.stages().empty()) continue;
    Bar bar{device.device(), absl::StrJoin(device.stages(), ", "), device.load_ms(), {}};
    for (const int32_t index : device.stages()) {
      if (index < 0 || index >= plan.stages_size()) continue;
      const v1::Stage& stage = plan.stages(index);
      const std::array<double, kParts.size()> parts =
          plan.has_joint() ? JointPartsOf(plan, stage) : PartsOf(plan, stage);
      for (std::size_t i = 0; i < parts.size(); ++i) bar.parts_ms[i] += parts[i];
    }
    // Loads are told by micro-batch, bars of steps are not.
    if (plan.has_joint()) bar.load_ms = std::accumulate(bar.parts_ms.begin(), bar.parts_ms.end(), 0.0);
    bars.push_back(std::move(bar));
  }
  if (bars.size() > kMaxBars) {
    std::stable_sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.load_ms > b.load_ms; });
    bars.resize(kMaxBars);
  }
  return bars;
}

class SvgWriter {
 public:
  explicit SvgWriter(const v1::Plan& plan) : plan_(plan), bars_(BarsOf(plan)) {
    longest_ms_ = std::max(plan.objective_ms(), plan.lower_bound_ms());
    for (const Bar& bar : bars_) {
      double sum = 0;
      for (const double part : bar.parts_ms) sum += part;
      longest_ms_ = std::max(longest_ms_, sum);
    }
    if (longest_ms_ <= 0) longest_ms_ = 1;
  }

  std::string Write() const {
    const double height = kTop + kRowHeight * static_cast<double>(bars_.size()) + 40;
    std::string svg = absl::StrCat(Title(), Legend());
    for (std::size_t row = 0; row < bars_.size(); ++row) absl::StrAppend(&svg, Row(bars_[row], row));
    absl::StrAppend(&svg, Line(plan_.lower_bound_ms(), "bound", "#de2d26"),
                    Line(plan_.objective_ms(), "plan", "#333333"));
    return SvgPicture(kWidth, height, svg);
  }

 private:
  double X(double milliseconds) const { return kLeft + milliseconds / longest_ms_ * (kWidth - kLeft - kRight); }
  double bottom() const { return kTop + kRowHeight * static_cast<double>(bars_.size()); }

  std::string Title() const {
    std::string quality;
    if (plan_.problem().objective() == v1::OBJECTIVE_MIN_DEVICES && WasSearched(plan_)) {
      quality = FewestText(plan_);
    } else if (IsObjectiveOptimal(plan_)) {
      quality = ", proven optimal";
    } else {
      quality = absl::StrFormat(", at least %s, gap %.3g %%", DurationText(plan_.lower_bound_ms()),
                                plan_.relative_gap() * 100);
    }
    return absl::StrFormat("<text x=\"16\" y=\"26\" font-size=\"16\">%s %s%s</text>\n",
                           SvgText(DurationText(plan_.objective_ms())), ObjectiveNoun(plan_), SvgText(quality));
  }

  static std::string Legend() {
    std::string svg;
    double x = kLeft;
    for (const Part& part : kParts) {
      absl::StrAppendFormat(&svg,
                            "<rect x=\"%.0f\" y=\"42\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                            "<text x=\"%.0f\" y=\"52\">%s</text>\n",
                            x, part.colour, x + 18, part.name);
      x += 120;
    }
    return svg;
  }

  std::string Row(const Bar& bar, std::size_t row) const {
    const double y = kTop + kRowHeight * static_cast<double>(row);
    std::string svg = absl::StrFormat(
        "<g><title>%s: stage %s, %s</title>\n<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
        SvgText(bar.device), SvgText(bar.stages), DurationText(bar.load_ms), kLeft - 8, y + 13, SvgLabel(bar.device));
    double start_ms = 0;
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      if (bar.parts_ms[i] <= 0) continue;
      absl::StrAppendFormat(&svg, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"/>\n",
                            X(start_ms), y, X(start_ms + bar.parts_ms[i]) - X(start_ms), kBarHeight, kParts[i].colour);
      start_ms += bar.parts_ms[i];
    }
    return svg + "</g>\n";
  }

  std::string Line(double milliseconds, const char* label, const char* colour) const {
    if (milliseconds <= 0) return "";
    const double x = X(milliseconds);
    const bool is_bound = std::string_view(label) == "bound";
    return absl::StrFormat(
        "<line x1=\"%.2f\" y1=\"%.0f\" x2=\"%.2f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"1.5\"%s/>"
        "<text x=\"%.2f\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\">%s %s</text>\n",
        x, kTop - 8, x, bottom() + 4, colour, is_bound ? " stroke-dasharray=\"4 3\"" : "", x,
        bottom() + (is_bound ? 32 : 18), colour, label, DurationText(milliseconds));
  }

  const v1::Plan& plan_;
  const std::vector<Bar> bars_;
  double longest_ms_ = 0;
};

}  // namespace

absl::StatusOr<Exported> ExportSvg(const ExportInput& input) {
  return Exported{SvgWriter(input.plan).Write(), "open it with a browser"};
}

}  // namespace planwright::client
