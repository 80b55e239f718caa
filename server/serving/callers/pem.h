// Certificates and revocation lists in PEM form (RFC 7468), read whole: OpenSSL and gRPC stop at the first block that
// they cannot read, and say nothing of those behind it.
#ifndef PLANWRIGHT_SERVER_SERVING_CALLERS_PEM_H_
#define PLANWRIGHT_SERVER_SERVING_CALLERS_PEM_H_

#include <openssl/bio.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::server {

// Deletes an object of OpenSSL's.
template <auto kFree>
struct OpensslFree {
  template <typename Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};
using X509Pointer = std::unique_ptr<X509, OpensslFree<&X509_free>>;
using CrlPointer = std::unique_ptr<X509_CRL, OpensslFree<&X509_CRL_free>>;
using BioPointer = std::unique_ptr<BIO, OpensslFree<&BIO_free_all>>;

// One "-----BEGIN LABEL-----" to its "-----END LABEL-----".
struct PemBlock {
  std::string label;
  // With both lines.
  std::string text;
  // Where it begins; 1 for the first line of the file.
  int line = 0;
};

// All blocks of a file; text between them is a comment. Errors: INVALID_ARGUMENT with the line, for a block without
// end, an end without block, any other line of hyphens, and bytes that are no text.
absl::StatusOr<std::vector<PemBlock>> ReadPemBlocks(std::string_view file);

// All certificates of a file, in their order; keys and parameters beside them are left out. Errors: INVALID_ARGUMENT
// with the number of the certificate and its line, where one cannot be read, there is none, or another block is
// neither.
absl::StatusOr<std::vector<X509Pointer>> ReadCertificates(std::string_view file);

// Likewise all revocation lists of a file.
absl::StatusOr<std::vector<CrlPointer>> ReadRevocationLists(std::string_view file);

// The certificates in PEM form and nothing else.
std::string ToPem(const std::vector<X509Pointer>& certificates);

// "CN=server,O=Example".
std::string SubjectOf(const X509& certificate);

// A moment of a certificate or a list.
std::chrono::system_clock::time_point TimeOf(const ASN1_TIME& time);

// What OpenSSL has to say of its last error in this thread, which is forgotten then.
std::string TakeOpensslError();

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CALLERS_PEM_H_
