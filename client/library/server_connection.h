// Which server is asked, and how it is reached.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_SERVER_CONNECTION_H_
#define PLANWRIGHT_CLIENT_LIBRARY_SERVER_CONNECTION_H_

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"

namespace planwright::client {

struct ServerConnection {
  // As gRPC names it: "localhost:50051", "dns:///planwright:50051".
  std::string address = {};
  // Without, everything travels in the clear, `token` too.
  bool use_tls = false;
  // Contents of files in PEM form. Of the authorities that sign servers' certificates; empty: those of the system.
  std::string ca_certificates = {};
  // What the server is shown, where it asks (mutual TLS); both empty: nothing.
  std::string certificate_chain = {};
  std::string private_key = {};
  // Says who calls, in printable ASCII; empty: nobody in particular.
  std::string token = {};
  // The W3C trace that the calls are part of; empty: none. One that is not printable ASCII is not sent.
  std::string traceparent = {};
};

// Whether `text` is printable ASCII, as the values of metadata are: gRPC logs any other, and ends the process.
inline bool IsMetadataText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isprint(c); });
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_SERVER_CONNECTION_H_
