// How many bytes are held, over all requests: of bodies that arrive, and of reviews that wait.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_HTTP_BODY_ACCOUNT_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_HTTP_BODY_ACCOUNT_H_

#include <atomic>
#include <cstdint>
#include <utility>

namespace planwright::webhook {

// Counts bytes that have arrived, not those that were announced: a client that announces much and sends nothing takes
// nothing from others. Thread-safe.
class BodyAccount {
 public:
  explicit BodyAccount(int64_t max_bytes) : max_bytes_(max_bytes) {}
  BodyAccount(const BodyAccount&) = delete;
  BodyAccount& operator=(const BodyAccount&) = delete;

  int64_t bytes() const { return bytes_; }

  // What one request holds; given back at its end at the latest. Outlived by the account. Not thread-safe.
  class Share {
   public:
    explicit Share(BodyAccount& account) : account_(account) {}
    ~Share() { GiveBack(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // False: there is no room, and nothing is taken.
    bool Take(int64_t bytes) {
      if (account_.bytes_.fetch_add(bytes) + bytes > account_.max_bytes_) {
        account_.bytes_ -= bytes;
        return false;
      }
      bytes_ += bytes;
      return true;
    }

    void GiveBack() { account_.bytes_ -= std::exchange(bytes_, 0); }

   private:
    BodyAccount& account_;
    int64_t bytes_ = 0;
  };

 private:
  const int64_t max_bytes_;
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_HTTP_BODY_ACCOUNT_H_
