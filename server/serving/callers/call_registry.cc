#include "server/serving/callers/call_registry.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::server {

CallRegistry::CallRegistry() : prefix_(absl::StrCat(absl::Hex(std::random_device()(), absl::kZeroPad8), "-")) {}

CallRegistry::Place::~Place() {
  const std::lock_guard lock(registry_.mutex_);
  registry_.calls_.erase(number_);
}

std::unique_ptr<CallRegistry::Place> CallRegistry::Add(LiveCall::Origin origin, std::stop_source stop) {
  auto call = std::make_shared<LiveCall>(std::move(origin), std::move(stop));
  const std::lock_guard lock(mutex_);
  const uint64_t number = ++last_;
  calls_.emplace(number, call);
  return std::make_unique<Place>(*this, number, std::move(call));
}

std::vector<CallRegistry::Entry> CallRegistry::List(std::string_view tenant) const {
  std::vector<Entry> entries;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, call] : calls_) {
    if (tenant.empty() || call->origin().tenant == tenant) entries.push_back({IdOf(number), call});
  }
  return entries;
}

std::map<std::string, CallRegistry::Count> CallRegistry::Counts() const {
  std::map<std::string, Count> counts;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, call] : calls_) {
    Count& count = counts[call->origin().tenant];
    ++(call->is_running() ? count.running : count.waiting);
  }
  return counts;
}

std::optional<CallRegistry::Entry> CallRegistry::Cancel(std::string_view id) {
  std::shared_ptr<LiveCall> call;
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(calls_.begin(), calls_.end(), [&](const auto& entry) { return IdOf(entry.first) == id; });
    if (found == calls_.end()) return std::nullopt;
    call = found->second;
  }
  // Before the stop: whoever hears of it may ask why.
  call->is_ended_ = true;
  // Outside the lock: requesting a stop runs the callbacks that are registered for it, which may end the call.
  call->stop_.request_stop();
  return Entry{std::string(id), std::move(call)};
}

std::string CallRegistry::IdOf(uint64_t number) const { return absl::StrCat(prefix_, number); }

}  // namespace planwright::server
