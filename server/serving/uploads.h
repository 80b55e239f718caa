// What clients have sent of streams that they have not ended.
#ifndef PLANWRIGHT_SERVER_SERVING_UPLOADS_H_
#define PLANWRIGHT_SERVER_SERVING_UPLOADS_H_

#include <cstdint>
#include <mutex>

#include "absl/status/status.h"

namespace planwright::server {

// Bounds how many streams are open and how much they hold together, whoever keeps them open. Thread-safe.
class Uploads {
 public:
  Uploads(int max_open, int64_t max_bytes) : max_open_(max_open), max_bytes_(max_bytes) {}

  // One stream; ends with its destructor.
  class Stream {
   public:
    explicit Stream(Uploads& uploads) : uploads_(uploads) {}
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Counts the stream. Errors: RESOURCE_EXHAUSTED with a RetryInfo (RetryDelayOf), too many are open.
    absl::Status Open();
    // Counts bytes that it holds from now on. Errors: RESOURCE_EXHAUSTED with a RetryInfo, the streams hold too much; a
    // stream that is alone may hold any number.
    absl::Status Hold(int64_t bytes);

   private:
    Uploads& uploads_;
    bool is_open_ = false;
    int64_t bytes_ = 0;
  };

 private:
  const int max_open_;
  const int64_t max_bytes_;
  std::mutex mutex_;
  // Guarded by mutex_.
  int open_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_UPLOADS_H_
