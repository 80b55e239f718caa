#include "server/serving/callers/revocations.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/serving/callers/auth_config.h"

namespace planwright::server {
namespace {

bool HasSigned(const X509Pointer& authority, const CrlPointer& list) {
  return X509_NAME_cmp(X509_get_subject_name(authority.get()), X509_CRL_get_issuer(list.get())) == 0 &&
         X509_CRL_verify(list.get(), X509_get0_pubkey(authority.get())) == 1;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Revocations>> Revocations::Read(std::string_view lists,
                                                                     std::string_view authorities) {
  ASSIGN_OR_RETURN(std::vector<CrlPointer> read, ReadRevocationLists(lists));
  ASSIGN_OR_RETURN(const std::vector<X509Pointer> signers, ReadCertificates(authorities));
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (std::any_of(signers.begin(), signers.end(), [&](const auto& signer) { return HasSigned(signer, read[i]); })) {
      continue;
    }
    TakeOpensslError();
    return absl::InvalidArgumentError(absl::StrCat("revocation list ", i + 1,
                                                   " is signed by none of the authorities in --tls_client_ca_file: add "
                                                   "its authority there, or take the list out"));
  }
  std::shared_ptr<const Revocations> revocations(new Revocations(std::move(read)));
  for (const X509Pointer& signer : signers) {
    if (!revocations->IsListed(signer)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("revokes the authority ", SubjectOf(*signer), ": take it out of --tls_client_ca_file"));
  }
  return revocations;
}

bool Revocations::IsRevoked(const std::string& pem) const {
  const Sha256 digest = Sha256Of(pem);
  const std::string key(digest.begin(), digest.end());
  if (const auto known = known_.Find(key); known != nullptr) return *known;
  const absl::StatusOr<std::vector<X509Pointer>> certificates = ReadCertificates(pem);
  const bool is_revoked =
      !certificates.ok() || std::any_of(certificates->begin(), certificates->end(),
                                        [this](const X509Pointer& certificate) { return IsListed(certificate); });
  constexpr int64_t kEntryBytes = 256;
  known_.Insert(key, std::make_shared<const bool>(is_revoked), kEntryBytes);
  return is_revoked;
}

std::optional<std::chrono::system_clock::time_point> Revocations::next_update() const {
  std::optional<std::chrono::system_clock::time_point> first;
  for (const CrlPointer& list : lists_) {
    const ASN1_TIME* next = X509_CRL_get0_nextUpdate(list.get());
    if (next != nullptr) first = first.has_value() ? std::min(*first, TimeOf(*next)) : TimeOf(*next);
  }
  return first;
}

bool Revocations::IsListed(const X509Pointer& certificate) const {
  return std::any_of(lists_.begin(), lists_.end(), [&](const CrlPointer& list) {
    if (X509_NAME_cmp(X509_CRL_get_issuer(list.get()), X509_get_issuer_name(certificate.get())) != 0) return false;
    X509_REVOKED* entry = nullptr;
    // 2: an entry that takes an earlier one back.
    return X509_CRL_get0_by_cert(list.get(), &entry, certificate.get()) == 1;
  });
}

}  // namespace planwright::server
