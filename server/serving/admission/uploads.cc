#include "server/serving/admission/uploads.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

absl::Status Full(const std::string& why) {
  return WithRetryDelay(absl::ResourceExhaustedError(absl::StrCat("the server is full: ", why)), kRetryDelay);
}

void TellAll(const std::vector<Uploads::Stream::GiveWay>& told) {
  for (const Uploads::Stream::GiveWay& give_way : told) {
    give_way(
        Full("another tenant has less than its share of the streams that are being sent, and this one, the newest "
             "of a tenant with more than its own, gives way"));
  }
}

}  // namespace

void Uploads::SetTenants(TenantTable tenants) {
  const std::lock_guard lock(mutex_);
  room_.SetTenants(std::move(tenants));
}

absl::Status Uploads::Stream::Open() {
  std::vector<GiveWay> told;
  {
    const std::lock_guard lock(uploads_.mutex_);
    if (!uploads_.Take(*this, {1, 0}, told)) {
      return Full(absl::StrCat(uploads_.room_.used().count, " streams are being sent"));
    }
    uploads_.open_.push_back(this);
    is_open_ = true;
  }
  TellAll(told);
  return absl::OkStatus();
}

absl::Status Uploads::Stream::Hold(int64_t bytes) {
  std::vector<GiveWay> told;
  {
    const std::lock_guard lock(uploads_.mutex_);
    const SharedRoom& room = uploads_.room_;
    if (!uploads_.Take(*this, {0, bytes}, told)) {
      return Full(absl::StrCat("streams that are being sent hold ", room.used().bytes,
                               " bytes, together they may hold ", room.most().bytes, " (--memory_budget)"));
    }
  }
  TellAll(told);
  return absl::OkStatus();
}

Uploads::Stream::~Stream() {
  const std::lock_guard lock(uploads_.mutex_);
  if (held_.count > 0 || held_.bytes > 0) uploads_.room_.Remove(tenant_, held_);
  if (is_open_) uploads_.open_.remove(this);
}

bool Uploads::Take(Stream& stream, SharedRoom::Amount more, std::vector<Stream::GiveWay>& told) {
  const auto fits = [&] { return room_.Fits(more) || (more.count == 0 && room_.used().bytes == stream.held_.bytes); };
  std::vector<std::pair<Stream*, SharedRoom::Amount>> gone;
  const bool may_push = !fits() && room_.IsWithinShare(stream.tenant_, more);
  while (may_push && !fits()) {
    Stream* newest = NewestBeyondShare(stream, more);
    if (newest == nullptr) break;
    gone.emplace_back(newest, std::exchange(newest->held_, SharedRoom::Amount()));
    room_.Remove(newest->tenant_, gone.back().second);
  }
  const bool has_room = fits();
  for (const auto& [other, held] : gone) {
    if (has_room) {
      told.push_back(std::exchange(other->give_way_, nullptr));
    } else {
      room_.Add(other->tenant_, held);
      other->held_ = held;
    }
  }
  if (!has_room) return false;
  room_.Add(stream.tenant_, more);
  stream.held_.count += more.count;
  stream.held_.bytes += more.bytes;
  return true;
}

Uploads::Stream* Uploads::NewestBeyondShare(const Stream& newcomer, SharedRoom::Amount more) const {
  Stream* newest = nullptr;
  double most = 1;
  for (Stream* stream : open_) {
    // One that gives way already holds nothing.
    if (stream->held_.count == 0 || stream == &newcomer) continue;
    const double times = room_.TimesItsShare(stream->tenant_, newcomer.tenant_, more);
    if (times <= 1 || times < most) continue;
    newest = stream;
    most = times;
  }
  return newest;
}

}  // namespace planwright::server
