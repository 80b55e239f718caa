#include "server/serving/admission/unsent_answers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

constexpr std::chrono::seconds kTick{1};

// A second for each MiB begun: a reader slower than that takes more than it gives.
std::chrono::seconds TimeToRead(int64_t bytes) {
  return UnsentAnswers::kGracePerMebibyte * (bytes / (int64_t{1} << 20));
}

double Seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

UnsentAnswers::UnsentAnswers(Options options)
    : options_(std::move(options)), worker_([this](const std::stop_token& stop) { Work(stop); }) {}

void UnsentAnswers::Release::operator()(UnsentAnswers* account) const {
  // Destroyed outside of the lock: it may own the call.
  Entries ended;
  const std::lock_guard lock(account->mutex_);
  if (entry->give_up != nullptr) account->Count(entry->tenant, -entry->bytes);
  ended.splice(ended.end(), account->entries_, entry);
}

absl::StatusOr<UnsentAnswers::Hold> UnsentAnswers::Take(const std::string& tenant, int64_t bytes, GiveUp give_up) {
  const int64_t all = bytes + kBytesPerAnswer;
  std::vector<Ending> endings;
  absl::StatusOr<Hold> hold;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = options_.now();
    for (const Entries::iterator slow : Slowest(all, now)) {
      endings.push_back(End(*slow, absl::ResourceExhaustedError(absl::StrCat(
                                       "the server is full: others need the room of this answer, ", slow->bytes,
                                       " bytes that were not read in ", Seconds(now - slow->start),
                                       " s; read answers as they come, or ask for less, and try again"))));
    }
    if (bytes > kSmallAnswer && bytes_ > 0 && all > options_.max_bytes - bytes_) {
      hold =
          WithRetryDelay(absl::ResourceExhaustedError(absl::StrCat(
                             "the server is full: answers that are not read yet hold ", bytes_, " bytes, this one has ",
                             bytes, ", together they may have ", options_.max_bytes, " (--memory_budget)")),
                         kRetryDelay);
    } else {
      Count(tenant, all);
      entries_.push_back(
          {.tenant = tenant, .bytes = all, .give_up = std::move(give_up), .start = now, .progress = now});
      hold = Hold(this, Release{std::prev(entries_.end())});
    }
  }
  if (hold.ok()) arrived_.notify_one();
  for (const Ending& ending : endings) ending.give_up(ending.why);
  return hold;
}

void UnsentAnswers::Progress(const Hold& hold) {
  const std::lock_guard lock(mutex_);
  hold.get_deleter().entry->progress = options_.now();
}

void UnsentAnswers::EndOverdue() {
  std::vector<Ending> endings;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = options_.now();
    for (Entry& entry : entries_) {
      const auto patience = options_.send_timeout + TimeToRead(entry.bytes);
      if (entry.give_up == nullptr || now - entry.progress < patience) continue;
      endings.push_back(End(entry, absl::ResourceExhaustedError(absl::StrCat(
                                       "the answer, ", entry.bytes, " bytes, was not read within ", Seconds(patience),
                                       " s (--send_timeout); read answers as they come, or ask for less"))));
    }
  }
  for (const Ending& ending : endings) ending.give_up(ending.why);
}

int64_t UnsentAnswers::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void UnsentAnswers::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (arrived_.wait(lock, stop, [this] { return !entries_.empty(); })) {
    arrived_.wait_for(lock, stop, kTick, [] { return false; });
    lock.unlock();
    EndOverdue();
    lock.lock();
  }
}

UnsentAnswers::Clock::time_point UnsentAnswers::SlowSince(const Entry& entry) {
  return std::min(entry.progress + kGrace, entry.start + kGrace + TimeToRead(entry.bytes));
}

std::vector<UnsentAnswers::Entries::iterator> UnsentAnswers::Slowest(int64_t bytes, Clock::time_point now) {
  if (bytes_ + bytes <= options_.max_bytes) return {};
  std::vector<Entries::iterator> slow;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->give_up != nullptr && SlowSince(*entry) <= now) slow.push_back(entry);
  }
  std::sort(slow.begin(), slow.end(), [this](const auto& a, const auto& b) {
    return std::pair(-bytes_of_.at(a->tenant), SlowSince(*a)) < std::pair(-bytes_of_.at(b->tenant), SlowSince(*b));
  });
  int64_t rest = bytes_;
  std::size_t count = 0;
  while (count < slow.size() && rest > 0 && rest + bytes > options_.max_bytes) rest -= slow[count++]->bytes;
  const bool suffices = rest == 0 || rest + bytes <= options_.max_bytes;
  slow.resize(suffices || bytes <= kSmallAnswer + kBytesPerAnswer ? count : 0);
  return slow;
}

UnsentAnswers::Ending UnsentAnswers::End(Entry& entry, absl::Status why) {
  Count(entry.tenant, -entry.bytes);
  return {std::exchange(entry.give_up, nullptr), std::move(why)};
}

void UnsentAnswers::Count(const std::string& tenant, int64_t bytes) {
  bytes_ += bytes;
  const auto held = bytes_of_.try_emplace(tenant).first;
  held->second += bytes;
  if (held->second == 0) bytes_of_.erase(held);
}

}  // namespace planwright::server
