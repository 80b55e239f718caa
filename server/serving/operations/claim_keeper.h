// Who of several servers with one store does something that is worth doing once.
#ifndef PLANWRIGHT_SERVER_SERVING_OPERATIONS_CLAIM_KEEPER_H_
#define PLANWRIGHT_SERVER_SERVING_OPERATIONS_CLAIM_KEEPER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "server/store/store.h"

namespace planwright::server {

// This server's claims in the store, and a thread that renews their leases and gives back what is done. A server that
// dies renews nothing: when its lease is over, somebody else gets the claim. A server that was thought dead goes on
// with its work, which is then done twice: claims save work, they do not guard anything. Thread-safe.
class ClaimKeeper {
 public:
  // A claim of ours, until it is destroyed. Outlived by the ClaimKeeper.
  class Claim {
   public:
    Claim(ClaimKeeper& claims, std::string key, std::string owner)
        : claims_(claims), key_(std::move(key)), owner_(std::move(owner)) {}
    ~Claim() { claims_.GiveBack(key_, owner_); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    ClaimKeeper& claims_;
    const std::string key_;
    const std::string owner_;
  };

  struct Outcome {
    // nullptr: it is somebody else's, or the store does not answer.
    std::shared_ptr<Claim> claim;
    // How long somebody else who has it expects to take; nullopt: nobody else has it, or the store does not answer.
    std::optional<std::chrono::milliseconds> expected_by_other;
  };

  // `store` outlives the object.
  explicit ClaimKeeper(Store& store, std::chrono::milliseconds lease = std::chrono::seconds(5));
  // Gives back what is still to be given back.
  ~ClaimKeeper() = default;
  ClaimKeeper(const ClaimKeeper&) = delete;
  ClaimKeeper& operator=(const ClaimKeeper&) = delete;

  // Tries to get `key`. `expected`: how long the work will take at most, for those who consider to wait for it. Blocks
  // on the store.
  Outcome Try(const std::string& key, std::chrono::milliseconds expected);

 private:
  void GiveBack(const std::string& key, const std::string& owner);
  void Work(const std::stop_token& stop);
  // Renews all leases and gives back what is done. REQUIRES: `lock` holds mutex_; it is released for the while.
  void Attend(std::unique_lock<std::mutex>& lock);

  Store& store_;
  const std::chrono::milliseconds lease_;
  // No other keeper has the same.
  const std::string name_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_. ClaimKeeper that we have, owner by key, and those that are done, key by owner.
  std::map<std::string, std::string> held_;
  std::map<std::string, std::string> done_;
  int64_t taken_ = 0;
  // Last: uses the above.
  std::jthread keeper_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_OPERATIONS_CLAIM_KEEPER_H_
