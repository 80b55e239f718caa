// What clients have sent of streams that they have not ended.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_UPLOADS_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_UPLOADS_H_

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/serving/admission/shared_room.h"
#include "server/serving/tenants/tenant_limits.h"

namespace planwright::server {

// Bounds how many streams are open and how much they hold together, whoever keeps them open. One tenant may have all of
// them; when another one comes then, within its share, the newest of whoever is beyond its own give way
// (shared_room.h). Thread-safe.
class Uploads {
 public:
  Uploads(int max_open, int64_t max_bytes) : room_({.count = max_open, .bytes = max_bytes}) {}

  // Their weights count.
  void SetTenants(TenantTable tenants);

  // One stream; ends with its destructor.
  class Stream {
   public:
    using GiveWay = std::function<void(const absl::Status& why)>;

    // `give_way`: told at most once that the stream has to end, on the thread of another stream; may be called when
    // this one has ended just now.
    Stream(Uploads& uploads, std::string tenant, GiveWay give_way)
        : uploads_(uploads), tenant_(std::move(tenant)), give_way_(std::move(give_way)) {}
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Counts the stream. Errors: RESOURCE_EXHAUSTED with a RetryInfo (RetryDelayOf), too many are open.
    absl::Status Open();
    // Counts bytes that it holds from now on. Errors: RESOURCE_EXHAUSTED with a RetryInfo, the streams hold too much; a
    // stream that is alone may hold any number. REQUIRES: Open.
    absl::Status Hold(int64_t bytes);

   private:
    friend class Uploads;

    Uploads& uploads_;
    const std::string tenant_;
    // Guarded by the mutex of uploads_, as what follows. Empty once it was told.
    GiveWay give_way_;
    bool is_open_ = false;
    SharedRoom::Amount held_;
  };

 private:
  // Takes room for `more` of `stream`, if need be from others, whose `give_way` is to be called then. False: there is
  // none. REQUIRES: mutex_ is held.
  bool Take(Stream& stream, SharedRoom::Amount more, std::vector<Stream::GiveWay>& told);
  // The newest stream of the tenant that is furthest beyond its share; nullptr: nobody is. REQUIRES: mutex_ is held.
  Stream* NewestBeyondShare(const Stream& newcomer, SharedRoom::Amount more) const;

  std::mutex mutex_;
  // Guarded by mutex_. The open streams are in the order of their coming.
  SharedRoom room_;
  std::list<Stream*> open_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_UPLOADS_H_
