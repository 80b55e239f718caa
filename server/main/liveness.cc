#include "server/main/liveness.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

constexpr std::chrono::seconds kInterval{1};

}  // namespace

Liveness::Liveness(Parts parts, const Logger& log) : parts_(std::move(parts)), log_(log) {
  for (const auto& [name, part] : parts_) states_[name] = {.last_well = Clock::now(), .what = "not looked at"};
  worker_ = std::jthread([this](const std::stop_token& stop) { Work(stop); });
}

void Liveness::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  worker_.request_stop();
  if (worker_.joinable()) worker_.join();
}

absl::Status Liveness::status() const {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return absl::OkStatus();
  for (const auto& [name, state] : states_) {
    const auto ill_for = Clock::now() - state.last_well;
    if (ill_for <= parts_.at(name).patience) continue;
    const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(ill_for).count();
    return absl::UnavailableError(absl::StrCat(name, ": ", state.what, " (for ", seconds, " s)"));
  }
  return absl::OkStatus();
}

void Liveness::Work(const std::stop_token& stop) {
  bool was_well = true;
  while (!stop.stop_requested()) {
    for (const auto& [name, part] : parts_) Note(name, part.check());
    const absl::Status now = status();
    if (was_well && !now.ok()) log_.Error("not live", {{"error", std::string(now.message())}});
    if (!was_well && now.ok()) log_.Info("live again");
    was_well = now.ok();
    std::unique_lock lock(mutex_);
    // Ends early only when the server does.
    if (ended_.wait_for(lock, stop, kInterval, [&] { return stop.stop_requested(); })) return;
  }
}

void Liveness::Note(const std::string& part, const absl::Status& now) {
  const std::lock_guard lock(mutex_);
  State& state = states_[part];
  if (now.ok()) state.last_well = Clock::now();
  state.what = now.ok() ? "has not been looked at since" : std::string(now.message());
}

}  // namespace planwright::server
