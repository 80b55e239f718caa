#include "server/pages/client_certificate.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "server/serving/callers/pem.h"

namespace planwright::server {
namespace {

using NamesPointer = std::unique_ptr<GENERAL_NAMES, OpensslFree<&GENERAL_NAMES_free>>;

std::string_view TextOf(const ASN1_STRING& text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(&text)),
          static_cast<std::size_t>(ASN1_STRING_length(&text))};
}

std::string AddressText(std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
  if (family == AF_INET6 && bytes.size() != sizeof(in6_addr)) return "";
  return inet_ntop(family, bytes.data(), text.data(), text.size()) != nullptr ? text.data() : "";
}

void Add(NameKind kind, std::string_view value, std::vector<CertificateName>& names) {
  if (std::optional<CertificateName> name = NormalName(kind, value)) names.push_back(*std::move(name));
}

void AddAlternative(const GENERAL_NAME& name, std::vector<CertificateName>& names) {
  switch (name.type) {
    case GEN_URI:
      return Add(NameKind::kUri, TextOf(*name.d.uniformResourceIdentifier), names);
    case GEN_DNS:
      return Add(NameKind::kDns, TextOf(*name.d.dNSName), names);
    case GEN_EMAIL:
      return Add(NameKind::kEmail, TextOf(*name.d.rfc822Name), names);
    case GEN_IPADD:
      return Add(NameKind::kIp, AddressText(TextOf(*name.d.iPAddress)), names);
    default:
      return;
  }
}

X509Pointer Decoded(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  return X509Pointer(d2i_X509(nullptr, &bytes, static_cast<int64_t>(der.size())));
}

std::string CommonName(X509& certificate) {
  X509_NAME* const subject = X509_get_subject_name(&certificate);
  const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (place < 0) return "";
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
  if (size < 0) return "";
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name;
}

}  // namespace

absl::StatusOr<ClientCertificate> VerifiedCertificate(gnutls_session_t session) {
  unsigned int count = 0;
  const gnutls_datum_t* const shown = gnutls_certificate_get_peers(session, &count);
  if (shown == nullptr || count == 0) {
    return absl::UnauthenticatedError("this page is for those who show a client certificate");
  }
  gnutls_typed_vdata_st purpose{};
  purpose.type = GNUTLS_DT_KEY_PURPOSE_OID;
  // GnuTLS only reads it.
  purpose.data = reinterpret_cast<unsigned char*>(const_cast<char*>(GNUTLS_KP_TLS_WWW_CLIENT));
  unsigned int faults = 0;
  if (gnutls_certificate_verify_peers(session, &purpose, 1, &faults) != GNUTLS_E_SUCCESS || faults != 0) {
    return absl::UnauthenticatedError("the client's certificate is not valid here");
  }
  ClientCertificate client;
  for (const gnutls_datum_t& der : std::span(shown, count)) {
    const std::string_view bytes(reinterpret_cast<const char*>(der.data), der.size);
    std::vector<X509Pointer> one;
    one.push_back(Decoded(bytes));
    if (one.front() == nullptr) return absl::UnauthenticatedError("the client's certificate cannot be read");
    if (client.certificates.empty()) client.names = NamesOf(bytes);
    client.certificates.push_back(ToPem(one));
  }
  return client;
}

std::vector<CertificateName> NamesOf(std::string_view der) {
  std::vector<CertificateName> names;
  const X509Pointer certificate = Decoded(der);
  if (certificate == nullptr) return names;
  const NamesPointer alternatives(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; alternatives != nullptr && i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    AddAlternative(*sk_GENERAL_NAME_value(alternatives.get(), i), names);
  }
  Add(NameKind::kCommonName, CommonName(*certificate), names);
  return names;
}

}  // namespace planwright::server
