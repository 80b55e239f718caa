#include "client/page/page.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/page/bundle.h"
#include "client/page/view.h"
#include "client/report/cpu_use.h"
#include "client/report/quantities.h"
#include "client/report/svg_text.h"

namespace planwright::client {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

// JSON as the content of a script element: nothing in it ends the element or begins a comment of HTML.
std::string ScriptJson(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return absl::StrReplaceAll(text, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

double PeakBytes(const v1::Plan& plan) { return static_cast<double>(plan.estimate().peak_memory_bytes()); }

std::string ChangeText(double first, double second) {
  if (first <= 0) return "";
  return absl::StrFormat("%+.1f %%", (second / first - 1) * 100);
}

// What the two plans come to, beside each other.
nlohmann::json Comparison(const PagePlan& first, const PagePlan& second) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const char* what, double a, double b, const auto& text) {
    rows.push_back({what, text(a), text(b), ChangeText(a, b)});
  };
  const auto count = [](double value) { return absl::StrFormat("%.0f", value); };
  const auto share = [](double value) { return absl::StrFormat("%.1f %%", value * 100); };
  const auto duration = [](double value) { return DurationText(value); };
  const auto bytes = [](double value) { return BytesText(static_cast<int64_t>(value)); };
  const auto samples = [](double value) { return absl::StrFormat("%.1f", value); };
  const v1::Plan& a = first.plan;
  const v1::Plan& b = second.plan;
  const bool is_joint = a.has_joint() && b.has_joint();
  add(is_joint ? "time of a step" : "time of a micro-batch", a.objective_ms(), b.objective_ms(), duration);
  add("lower bound", a.lower_bound_ms(), b.lower_bound_ms(), duration);
  add("samples per second", a.estimate().samples_per_second(), b.estimate().samples_per_second(), samples);
  add("memory of the fullest device", PeakBytes(a), PeakBytes(b), bytes);
  add("idle share of the accelerators in use", IdleShare(a, CpusOf(first.cluster)),
      IdleShare(b, CpusOf(second.cluster)), share);
  add("stages", a.stages_size(), b.stages_size(), count);
  add("devices in use", DevicesInUse(a), DevicesInUse(b), count);
  return {{"caption", "Side by side"}, {"head", {"", "left", "right", "change"}}, {"rows", rows}};
}

}  // namespace

bool HasPages() { return Bundle() != nullptr; }

std::string PagePolicy() {
  const PageBundle& bundle = *Bundle();
  return absl::StrCat("default-src 'none'; img-src data:; script-src '", Absl(bundle.script_hash), "'; style-src '",
                      Absl(bundle.style_hash), "'; base-uri 'none'; form-action 'none'");
}

std::string PageText(std::span<const PagePlan> plans) {
  const PageBundle& bundle = *Bundle();
  nlohmann::json views = nlohmann::json::array();
  std::vector<std::string> titles;
  for (const PagePlan& plan : plans) {
    views.push_back(ViewOf(plan));
    titles.push_back(plan.title);
  }
  const std::string title = absl::StrJoin(titles, " and ");
  nlohmann::json data = {{"title", title}, {"views", views}, {"comparison", nullptr}};
  if (plans.size() == 2) data["comparison"] = Comparison(plans[0], plans[1]);
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
      PagePolicy(),
      "\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>",
      SvgText(title), "</title>\n<style>", Absl(bundle.style), "</style>\n</head>\n<body>\n",
      "<noscript>This page draws its plan by a script of its own.</noscript>\n",
      "<script type=\"application/json\" id=\"data\">", ScriptJson(data), "</script>\n<script>", Absl(bundle.script),
      "</script>\n</body>\n</html>\n");
}

}  // namespace planwright::client
