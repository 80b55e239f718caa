#include "server/service/methods/outbox.h"

#include <algorithm>
#include <utility>

namespace planwright::server {

Outbox::Step Outbox::Add(int kind, OutgoingMessage message) {
  const std::lock_guard lock(mutex_);
  if (is_broken_) return {};
  const auto same =
      std::find_if(waiting_.begin(), waiting_.end(), [kind](const Waiting& entry) { return entry.kind == kind; });
  if (same != waiting_.end()) waiting_.erase(same);
  waiting_.push_back({kind, std::move(message)});
  return Next();
}

Outbox::Step Outbox::WriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  is_writing_ = false;
  if (!ok) {
    is_broken_ = true;
    waiting_.clear();
  }
  return Next();
}

Outbox::Step Outbox::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  return Next();
}

Outbox::Step Outbox::Next() {
  if (is_writing_) return {};
  if (waiting_.empty()) return {.message = std::nullopt, .finish = is_closed_};
  Step step{.message = std::move(waiting_.front().message)};
  waiting_.pop_front();
  is_writing_ = true;
  return step;
}

}  // namespace planwright::server
