#include "client/importer/graphs/kineto_events.h"

#include <array>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/importer/reading/json_stream.h"
#include "client/importer/reading/json_text.h"
#include "core/text/utf8.h"

namespace planwright::client {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostEvents = 20'000'000;
// Longer names are cut.
constexpr std::size_t kMostNameBytes = 1024;
// Microseconds since 1970 are a thousandth of it.
constexpr double kMostTimeUs = 1e18;

enum class Category { kOther, kAnnotation, kOp, kLaunch, kKernel };

// Categories as releases of PyTorch have written them, in lower case.
Category CategoryOf(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Category>, 13> kCategories = {{
      {"user_annotation", Category::kAnnotation},
      {"cpu_op", Category::kOp},
      {"operator", Category::kOp},
      {"cuda_runtime", Category::kLaunch},
      {"cuda_driver", Category::kLaunch},
      {"runtime", Category::kLaunch},
      {"xpu_runtime", Category::kLaunch},
      {"privateuse1_runtime", Category::kLaunch},
      {"kernel", Category::kKernel},
      {"gpu_memcpy", Category::kKernel},
      {"memcpy", Category::kKernel},
      {"gpu_memset", Category::kKernel},
      {"memset", Category::kKernel},
  }};
  for (const auto& [known, category] : kCategories) {
    if (known == name) return category;
  }
  return Category::kOther;
}

// The fields of an event that count.
struct Event {
  std::string phase;
  std::string category;
  std::string name;
  // pid and tid.
  std::string process;
  std::string thread;
  std::optional<double> begin_us;
  std::optional<double> duration_us;
  std::optional<int64_t> correlation;
  std::optional<int64_t> sequence;
  int64_t forward_thread = 0;
};

class EventReader final : public Json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t value) override { return Number(static_cast<double>(value), value); }
  bool number_unsigned(Json::number_unsigned_t value) override {
    return Number(static_cast<double>(value), static_cast<int64_t>(value));
  }
  bool number_float(Json::number_float_t value, const Json::string_t&) override { return Number(value, std::nullopt); }
  bool binary(Json::binary_t&) override { return true; }

  bool string(Json::string_t& value) override {
    if (depth_ != event_depth_) return true;
    if (key_ == "ph") event_.phase = value;
    if (key_ == "cat") event_.category = absl::AsciiStrToLower(value);
    if (key_ == "name") event_.name = value;
    if (key_ == "pid") event_.process = value;
    if (key_ == "tid") event_.thread = value;
    return true;
  }

  bool key(Json::string_t& key) override {
    if (depth_ == 1 && event_depth_ == kNowhere) is_at_events_ = key == "traceEvents";
    if (depth_ == event_depth_) is_in_args_ = key == "args";
    key_ = key;
    return true;
  }

  bool start_object(std::size_t) override {
    if (!Enter()) return false;
    if (depth_ == event_depth_) event_ = Event();
    return true;
  }
  bool end_object() override { return Leave() && (depth_ + 1 != event_depth_ || TakeEvent()); }

  bool start_array(std::size_t) override {
    // The whole text may be the array.
    const bool are_events = event_depth_ == kNowhere && (depth_ == 0 || (depth_ == 1 && is_at_events_));
    if (!Enter()) return false;
    if (are_events) event_depth_ = depth_ + 1;
    has_events_ = has_events_ || are_events;
    return true;
  }
  bool end_array() override {
    // What follows is nothing of events.
    if (depth_ + 1 == event_depth_) event_depth_ = kNowhere;
    is_at_events_ = false;
    return Leave();
  }

  bool parse_error(std::size_t, const std::string& token, const nlohmann::detail::exception&) override {
    constexpr std::size_t kShownBytes = 40;
    const std::string place = has_events_ ? absl::StrCat("traceEvents[", index_, "]: ") : "";
    error_ = absl::StrCat(place, "is not JSON, at \"", absl::CHexEscape(token.substr(0, kShownBytes)), "\"");
    return false;
  }

  bool has_events() const { return has_events_; }
  const std::string& error() const { return error_; }
  KinetoEvents Take() && { return std::move(events_); }

 private:
  static constexpr std::size_t kNowhere = 0;

  bool Fail(std::string_view field, std::string_view rule) {
    error_ = absl::StrCat("traceEvents[", index_, "]", std::string(field), ": ", std::string(rule));
    return false;
  }

  bool Enter() {
    if (++depth_ <= kMaxJsonDepth) return true;
    error_ = absl::StrCat("is nested deeper than ", kMaxJsonDepth, " levels");
    return false;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  bool Number(double value, std::optional<int64_t> whole) {
    if (depth_ == event_depth_) {
      if (key_ == "ts") event_.begin_us = value;
      if (key_ == "dur") event_.duration_us = value;
      if (key_ == "pid" && whole.has_value()) event_.process = std::to_string(*whole);
      if (key_ == "tid" && whole.has_value()) event_.thread = std::to_string(*whole);
    } else if (depth_ == event_depth_ + 1 && is_in_args_ && event_depth_ != kNowhere && whole.has_value()) {
      if (key_ == "correlation") event_.correlation = whole;
      if (key_ == "Sequence number") event_.sequence = whole;
      if (key_ == "Fwd thread id") event_.forward_thread = *whole;
    }
    return true;
  }

  // The end of an event.
  bool TakeEvent() {
    const Category category = event_.phase == "X" ? CategoryOf(event_.category) : Category::kOther;
    if (category != Category::kOther && !Keep(category)) return false;
    ++index_;
    return true;
  }

  bool Keep(Category category) {
    if (!event_.begin_us.has_value() || std::abs(*event_.begin_us) > kMostTimeUs) return Fail(".ts", "must be a time");
    const double duration = event_.duration_us.value_or(0);
    if (duration < 0 || duration > kMostTimeUs) return Fail(".dur", "must be a time >= 0");
    if (++kept_ > kMostEvents) return Fail("", absl::StrCat("is beyond ", kMostEvents, " events that count"));
    const double begin = *event_.begin_us;
    if (category == Category::kAnnotation) {
      events_.spans.push_back({begin, begin + duration, Thread(), Name()});
    } else if (category == Category::kOp && event_.sequence.value_or(-1) >= 0) {
      events_.ops.push_back({begin, begin + duration, *event_.sequence, Thread(), event_.forward_thread > 0});
    } else if (category == Category::kLaunch && event_.correlation.has_value()) {
      events_.launches.push_back({begin, *event_.correlation, Thread()});
    } else if (category == Category::kKernel && event_.correlation.has_value()) {
      events_.kernels.push_back({duration, *event_.correlation});
    }
    return true;
  }

  int32_t Thread() {
    return threads_.emplace(absl::StrCat(event_.process, "/", event_.thread), static_cast<int32_t>(threads_.size()))
        .first->second;
  }
  int32_t Name() {
    const std::string shown(FirstBytes(event_.name, kMostNameBytes));
    const auto [name, is_new] = names_.emplace(shown, static_cast<int32_t>(names_.size()));
    if (is_new) events_.names.push_back(shown);
    return name->second;
  }

  std::size_t depth_ = 0;
  // The depth of the fields of events, while there are some.
  std::size_t event_depth_ = kNowhere;
  bool is_at_events_ = false;
  bool is_in_args_ = false;
  bool has_events_ = false;
  std::string key_;
  Event event_;
  int64_t index_ = 0;
  int64_t kept_ = 0;
  std::unordered_map<std::string, int32_t> threads_;
  std::unordered_map<std::string, int32_t> names_;
  KinetoEvents events_;
  std::string error_;
};

}  // namespace

absl::StatusOr<KinetoEvents> ReadKinetoEvents(std::string_view bytes, std::string_view source, int64_t max_bytes) {
  JsonStream unpacked(bytes, max_bytes);
  std::istream stream(&unpacked);
  EventReader reader;
  const bool is_json = Json::sax_parse(stream, &reader);
  std::string error = unpacked.error();
  if (error.empty() && !is_json) error = reader.error();
  if (error.empty() && !reader.has_events()) error = "is no trace of PyTorch's profiler: it has no \"traceEvents\"";
  if (!error.empty()) return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", error));
  return std::move(reader).Take();
}

}  // namespace planwright::client
