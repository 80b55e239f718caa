#include "server/main/tls/tls_identity.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/strings.h"
#include "core/base/violations.h"
#include "server/main/tls/text_file.h"
#include "server/main/tls/tls_rehearsal.h"
#include "server/serving/callers/pem.h"

namespace planwright::server {
namespace {

using KeyPointer = std::unique_ptr<EVP_PKEY, OpensslFree<&EVP_PKEY_free>>;

// Never asks for a password.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

// nullptr: there is none.
KeyPointer ReadKey(const std::string& text) {
  const BioPointer reader(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  KeyPointer key(PEM_read_bio_PrivateKey(reader.get(), nullptr, &NoPassword, nullptr));
  if (key == nullptr) TakeOpensslError();
  return key;
}

std::string ToPem(const KeyPointer& key) {
  const BioPointer memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(memory.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  const char* data = nullptr;
  const int64_t size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// The text of the file of a flag; empty, with a violation, where it cannot be read.
std::string ReadFileOf(const char* flag, const std::string& file, Violations& violations) {
  const absl::StatusOr<std::string> text = ReadTextFile(file);
  if (!text.ok()) violations.Add(flag, std::string(text.status().message()));
  return text.value_or("");
}

// The certificates in the file of a flag; none, with a violation, where one of them cannot be read.
std::vector<X509Pointer> ReadCertificatesOf(const char* flag, const std::string& file, Violations& violations) {
  const absl::StatusOr<std::string> text = ReadTextFile(file);
  absl::StatusOr<std::vector<X509Pointer>> certificates =
      text.ok() ? ReadCertificates(*text) : absl::StatusOr<std::vector<X509Pointer>>(text.status());
  if (certificates.ok()) return *std::move(certificates);
  const char* colon = text.ok() ? ": " : "";
  violations.Add(flag, absl::StrCat(text.ok() ? file : "", colon, certificates.status().message()));
  return {};
}

// Empty: the certificate is valid now; else why not.
std::string WhyInvalidNow(const X509Pointer& certificate) {
  const auto now = std::chrono::system_clock::now();
  const auto begin = TimeOf(*X509_get0_notBefore(certificate.get()));
  const auto end = TimeOf(*X509_get0_notAfter(certificate.get()));
  const auto text = [](auto time) { return absl::FormatTime(absl::FromChrono(time), absl::UTCTimeZone()); };
  if (now < begin) return absl::StrCat("is not valid before ", text(begin), ": wait, or set the clock");
  if (now > end) return absl::StrCat("has expired at ", text(end), ": put a new one there");
  return "";
}

// Every certificate of the chain is shown to clients, who refuse all where one is not valid.
void CheckDates(const char* flag, const std::vector<X509Pointer>& chain, Violations& violations) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::string why = WhyInvalidNow(chain[i]);
    if (!why.empty()) {
      violations.Add(flag, absl::StrCat("certificate ", i + 1, " (", SubjectOf(*chain[i]), ") ", why));
    }
  }
}

// One authority that has expired is a matter for a warning, and for its own clients.
void CheckSomeIsValid(const char* flag, const std::vector<X509Pointer>& authorities, Violations& violations) {
  if (authorities.empty()) return;
  if (std::any_of(authorities.begin(), authorities.end(), [](const auto& ca) { return WhyInvalidNow(ca).empty(); })) {
    return;
  }
  violations.Add(flag, absl::StrCat("no authority is valid now, the first one ", WhyInvalidNow(authorities.front())));
}

Expiry FirstExpiry(const std::string& file, const std::vector<X509Pointer>& certificates) {
  const auto end = [](const X509Pointer& certificate) { return TimeOf(*X509_get0_notAfter(certificate.get())); };
  const auto first = std::min_element(certificates.begin(), certificates.end(),
                                      [&](const auto& a, const auto& b) { return end(a) < end(b); });
  return {.file = file, .what = absl::StrCat("certificate ", SubjectOf(**first)), .time = end(*first)};
}

// The server's own certificate and key.
void ReadOwn(const TlsFiles& files, TlsIdentity& identity, Violations& violations) {
  const std::vector<X509Pointer> chain = ReadCertificatesOf("--tls_cert_file", files.certificate_chain, violations);
  const std::string key_text = ReadFileOf("--tls_key_file", files.private_key, violations);
  CheckDates("--tls_cert_file", chain, violations);
  const KeyPointer key = ReadKey(key_text);
  if (key == nullptr && !key_text.empty()) {
    violations.Add("--tls_key_file", "must hold a private key in PEM form, without a password");
  }
  if (chain.empty() || key == nullptr) return;
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    TakeOpensslError();
    violations.Add("--tls_key_file", "is not the key of the certificate in --tls_cert_file");
  }
  identity.certificate_chain = ToPem(chain);
  identity.private_key = ToPem(key);
  identity.expiries.push_back(FirstExpiry(files.certificate_chain, chain));
}

void ReadClientAuthorities(const TlsFiles& files, TlsIdentity& identity, Violations& violations) {
  const std::vector<X509Pointer> authorities = ReadCertificatesOf("--tls_client_ca_file", files.client_ca, violations);
  if (authorities.empty()) return;
  CheckSomeIsValid("--tls_client_ca_file", authorities, violations);
  identity.client_ca = ToPem(authorities);
  identity.expiries.push_back(FirstExpiry(files.client_ca, authorities));
}

void ReadClientRevocations(const TlsFiles& files, TlsIdentity& identity, Violations& violations) {
  const std::string text = ReadFileOf("--tls_client_crl_file", files.client_crl, violations);
  if (text.empty() || identity.client_ca.empty()) return;
  absl::StatusOr<std::shared_ptr<const Revocations>> revocations = Revocations::Read(text, identity.client_ca);
  if (!revocations.ok()) {
    violations.Add("--tls_client_crl_file", absl::StrCat(files.client_crl, ": ", revocations.status().message()));
    return;
  }
  identity.revocations = *std::move(revocations);
  const auto next_update = identity.revocations->next_update();
  if (next_update.has_value()) {
    identity.expiries.push_back({.file = files.client_crl, .what = "revocation list", .time = *next_update});
  }
}

}  // namespace

absl::StatusOr<TlsIdentity> ReadTlsIdentity(const TlsFiles& files) {
  Violations violations;
  if (files.certificate_chain.empty()) violations.Add("--tls_cert_file", "must be set where TLS is used");
  if (files.private_key.empty()) violations.Add("--tls_key_file", "must be set where TLS is used");
  if (!files.client_crl.empty() && files.client_ca.empty()) {
    violations.Add("--tls_client_ca_file", "must be set where --tls_client_crl_file is");
  }
  if (!violations.empty()) return violations.ToStatus();
  TlsIdentity identity;
  ReadOwn(files, identity, violations);
  if (!files.client_ca.empty()) ReadClientAuthorities(files, identity, violations);
  if (!files.client_crl.empty()) ReadClientRevocations(files, identity, violations);
  if (!violations.empty()) return violations.ToStatus();
  const absl::Status rehearsed =
      RehearseHandshake(identity.certificate_chain, identity.private_key, identity.client_ca);
  if (!rehearsed.ok()) violations.Add("--tls_cert_file", std::string(rehearsed.message()));
  if (!violations.empty()) return violations.ToStatus();
  return identity;
}

}  // namespace planwright::server
