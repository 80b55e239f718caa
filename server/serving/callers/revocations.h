// Certificates that their authorities have taken back.
#ifndef PLANWRIGHT_SERVER_SERVING_CALLERS_REVOCATIONS_H_
#define PLANWRIGHT_SERVER_SERVING_CALLERS_REVOCATIONS_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/serving/cache/lru_cache.h"
#include "server/serving/callers/pem.h"

namespace planwright::server {

// The revocation lists of authorities (RFC 5280, section 5). gRPC 1.51 checks none, so callers are looked up call by
// call, also those whose connection is older than the list. Lists that are out of date still count: who has been
// revoked stays so. Thread-safe.
class Revocations {
 public:
  // Both in PEM form. Errors: INVALID_ARGUMENT, for a list that cannot be read or that none of the authorities has
  // signed, or an authority that is on a list itself.
  static absl::StatusOr<std::shared_ptr<const Revocations>> Read(std::string_view lists, std::string_view authorities);

  // Whether one of the certificates in `pem` is on a list; one that cannot be read counts as revoked. The answer is
  // kept, so that it costs a digest of `pem` from the second call on.
  bool IsRevoked(const std::string& pem) const;

  // When the first of the lists is out of date; nullopt: none says.
  std::optional<std::chrono::system_clock::time_point> next_update() const;

 private:
  explicit Revocations(std::vector<CrlPointer> lists) : lists_(std::move(lists)) {}

  bool IsListed(const X509Pointer& certificate) const;

  const std::vector<CrlPointer> lists_;
  mutable LruCache<bool> known_{int64_t{1} << 20};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CALLERS_REVOCATIONS_H_
