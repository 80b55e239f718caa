// Takes reviews off the connections, has them judged, and answers in time.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_DESK_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_DESK_H_

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <mutex>

#include "client/webhook/hook_metrics.h"
#include "client/webhook/http/body_account.h"
#include "client/webhook/http/exchange.h"
#include "client/webhook/planning_clients.h"
#include "client/webhook/review/judge.h"

namespace planwright::webhook {

// Two threads read reviews and answer those that are not judged; others ask planwrightd, each for one review at a time.
// A review that planwrightd does not answer in time, or finds no thread, is admitted with a warning. Thread-safe.
class ReviewDesk {
 public:
  // `clients` and `metrics` outlive the desk. `max_reviews`: as many are asked about at the same time, and as many
  // again wait.
  ReviewDesk(const Policy& policy, int max_reviews, PlanningClients& clients, HookMetrics& metrics);
  ~ReviewDesk() { Finish(); }
  ReviewDesk(const ReviewDesk&) = delete;
  ReviewDesk& operator=(const ReviewDesk&) = delete;

  // Holds for later reviews.
  void SetPools(std::shared_ptr<const Pools> pools);

  // Replies to the exchange later. Does not wait.
  void Take(const std::shared_ptr<Exchange>& exchange);

  // Waits for the reviews that were taken; later ones are never answered.
  void Finish();

  // Reviews that planwrightd is asked about, or that wait for it.
  int waiting() const { return waiting_; }

 private:
  // A review that waits, and its share of what all of them may take.
  struct Waiting;

  void Read(const std::shared_ptr<Exchange>& exchange);
  void Ask(const std::shared_ptr<Exchange>& exchange, const Review& review, Door door);
  std::shared_ptr<const Pools> pools();

  const Policy policy_;
  const int max_waiting_;
  PlanningClients& clients_;
  HookMetrics& metrics_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const Pools> pools_ = std::make_shared<Pools>();
  // Large bodies are read one after the other: what they unpack to is many times larger.
  std::mutex reading_large_;
  std::atomic<int> waiting_ = 0;
  BodyAccount unpacked_;
  boost::asio::thread_pool readers_;
  boost::asio::thread_pool askers_;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_DESK_H_
