// Room for a bounded number of things, and of bytes that they hold, that tenants share.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_SHARED_ROOM_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_SHARED_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "server/serving/tenants/tenant_limits.h"

namespace planwright::server {

// Who has how much of the room, and who should give way when it is full. A tenant that is alone may have all of it.
// When there is no room for what another one brings, each has a share: the part of the room that its weight is of the
// weights of all who have some of it and of the newcomer, at least one thing. Who stays within its share with what it
// brings may take the place of what those have who are beyond theirs. Nobody is driven below its share so, and two
// tenants never take places from each other in turn.
//
// Not thread-safe. Operations take time linear in the number of tenants that have some of the room.
class SharedRoom {
 public:
  struct Amount {
    int64_t count = 0;
    int64_t bytes = 0;
  };

  explicit SharedRoom(Amount most) : most_(most) {}

  // Their weights count.
  void SetTenants(TenantTable tenants) { tenants_ = std::move(tenants); }

  void Add(const std::string& tenant, Amount more);
  // REQUIRES: it was added.
  void Remove(const std::string& tenant, Amount less);

  const Amount& most() const { return most_; }
  const Amount& used() const { return used_; }
  Amount UsedBy(const std::string& tenant) const;

  // Whether there is room; what is alone may hold any number of bytes.
  bool Fits(Amount more) const { return FitsCount(more) && FitsBytes(more); }
  bool FitsCount(Amount more) const { return used_.count + more.count <= most_.count; }
  bool FitsBytes(Amount more) const { return used_.count == 0 || more.bytes <= most_.bytes - used_.bytes; }

  // Whether `newcomer` stays within its share of what is short with `more`. REQUIRES: !Fits(more).
  bool IsWithinShare(const std::string& newcomer, Amount more) const;
  // How many times its share `tenant` has of what is short for `more` of `newcomer`; beyond 1 it has to give way.
  double TimesItsShare(const std::string& tenant, const std::string& newcomer, Amount more) const;

 private:
  // The part of the room that is `tenant`'s when `newcomer` has some of it as well.
  double PartOf(const std::string& tenant, const std::string& newcomer) const;
  // `amount` in shares, of whichever is short for `more`.
  double InShares(Amount amount, double part, Amount more) const;

  const Amount most_;
  Amount used_;
  std::map<std::string, Amount> by_tenant_;
  TenantTable tenants_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_SHARED_ROOM_H_
