#include "server/serving/operations/claim_keeper.h"

#include <random>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace planwright::server {
namespace {

// Renewals within a lease, so that one may fail.
constexpr int kRenewals = 3;

std::string RandomName() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

// The number behind the blank of an owner, "<name> <milliseconds>".
std::optional<std::chrono::milliseconds> ExpectedBy(const std::string& owner) {
  const std::vector<std::string> words = absl::StrSplit(owner, ' ');
  int64_t milliseconds = 0;
  if (words.size() != 2 || !absl::SimpleAtoi(words[1], &milliseconds)) return std::nullopt;
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace

ClaimKeeper::ClaimKeeper(Store& store, std::chrono::milliseconds lease)
    : store_(store), lease_(lease), name_(RandomName()), keeper_([this](const std::stop_token& stop) { Work(stop); }) {}

ClaimKeeper::Outcome ClaimKeeper::Try(const std::string& key, std::chrono::milliseconds expected) {
  std::string owner;
  {
    const std::lock_guard lock(mutex_);
    owner = absl::StrCat(name_, "-", ++taken_, " ", expected.count());
  }
  const absl::StatusOr<ClaimResult> claimed = store_.Claim(key, owner, lease_);
  if (!claimed.ok()) return {};
  if (!claimed->is_ours) return {.claim = nullptr, .expected_by_other = ExpectedBy(claimed->owner)};
  {
    const std::lock_guard lock(mutex_);
    held_[key] = owner;
  }
  return {.claim = std::make_shared<Claim>(*this, key, owner), .expected_by_other = std::nullopt};
}

void ClaimKeeper::GiveBack(const std::string& key, const std::string& owner) {
  {
    const std::lock_guard lock(mutex_);
    const auto held = held_.find(key);
    // We may have it again, after others had it.
    if (held != held_.end() && held->second == owner) held_.erase(held);
    done_.emplace(owner, key);
  }
  changed_.notify_one();
}

void ClaimKeeper::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // What is given back while the last round goes on is given back as well.
  while (!stop.stop_requested() || !done_.empty()) {
    changed_.wait_for(lock, stop, lease_ / kRenewals, [this] { return !done_.empty(); });
    Attend(lock);
  }
}

void ClaimKeeper::Attend(std::unique_lock<std::mutex>& lock) {
  const std::map<std::string, std::string> done = std::exchange(done_, {});
  const std::map<std::string, std::string> held = held_;
  lock.unlock();
  // A store that does not answer: the leases run out.
  for (const auto& [owner, key] : done) store_.Unclaim(key, owner).IgnoreError();
  for (const auto& [key, owner] : held) store_.Claim(key, owner, lease_).status().IgnoreError();
  lock.lock();
}

}  // namespace planwright::server
