// HTTP or HTTPS for browsers, on libmicrohttpd.
#ifndef PLANWRIGHT_SERVER_PAGES_PAGE_SERVER_H_
#define PLANWRIGHT_SERVER_PAGES_PAGE_SERVER_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/pages/client_certificate.h"
#include "server/pages/page_answer.h"

namespace planwright::server {

// A GET or HEAD.
struct BrowserRequest {
  // "/plans/bert-4"; %-escapes are resolved.
  std::string path;
  // The header Host; empty: there is none.
  std::string host;
  // The value of "?tenant="; nullopt: there is none.
  std::optional<std::string> stated_tenant;
  // Where it comes from, as Peer::name: "ipv4:10.0.0.1:3333".
  std::string peer;
  bool is_encrypted = false;
  // Who the client is by its certificate; UNAUTHENTICATED where clients are to show one and this one did not, without
  // names where nobody is asked.
  absl::StatusOr<ClientCertificate> client = ClientCertificate();
};

// All in PEM form.
struct PageTls {
  std::string certificate_chain;
  std::string private_key;
  // Empty: clients are not asked for a certificate.
  std::string client_ca;
};

// One thread reads requests and sends answers as clients can take them; a client that does neither for ten seconds is
// closed, and each connection carries one request. Serves until it is destroyed. Thread-safe.
class PageServer {
 public:
  // Takes the answer, once, on any thread.
  using Reply = std::function<void(PageAnswer)>;
  // Called on the server's thread, so it must not wait.
  using Handler = std::function<void(BrowserRequest request, Reply reply)>;

  // `tls`: nullopt, HTTP. Errors: UNAVAILABLE, the system refuses what the server needs; INVALID_ARGUMENT, GnuTLS does
  // not take an identity.
  static absl::StatusOr<std::unique_ptr<PageServer>> Start(Handler handler, const std::optional<PageTls>& tls);

  // Waits for the replies that are due.
  virtual ~PageServer() = default;

  // Takes over and serves a connection: a non-blocking socket.
  virtual void Serve(int file, const sockaddr* peer, socklen_t length) = 0;

  // Holds for later connections. REQUIRES: the server began with TLS. Errors: as Start; the identity stays as it was.
  virtual absl::Status SetTls(const PageTls& tls) = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_PAGES_PAGE_SERVER_H_
