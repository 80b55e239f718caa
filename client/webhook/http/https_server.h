// An HTTPS server for questions that are answered within a deadline, on Boost.Beast.
//
// Every connection is a coroutine: one that is slow, silent or sends byte by byte takes a little memory and no thread.
// A request has one deadline, from its first byte to the last one of its answer; a client that does not keep it loses
// the connection.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_HTTP_HTTPS_SERVER_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_HTTP_HTTPS_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "client/webhook/http/exchange.h"
#include "client/webhook/http/tls_context.h"
#include "server/connections/listener.h"

namespace planwright::webhook {

struct HttpsLimits {
  // How long one request may take, or a TLS handshake.
  std::chrono::milliseconds deadline{4000};
  // How much of it is kept for sending the answer.
  std::chrono::milliseconds sending{500};
  // How long a connection may say nothing between two requests.
  std::chrono::milliseconds idle{120'000};
  int64_t max_body_bytes = int64_t{8} << 20;
  // What all bodies may take together.
  int64_t max_bodies_bytes = int64_t{32} << 20;
  // More are closed at once, and so are those that take one address beyond a quarter of it, so that one address that
  // holds connections and says nothing leaves room for others.
  int max_connections = 4096;
  // How many requests one address may send; 0: any number.
  double max_requests_per_second = 0;
};

// What happens, for metrics. Called on threads of the server; must be quick.
struct HttpsObserver {
  // An answer was made, by us or by the handler; after `took`, since the first byte of its request.
  std::function<void(int code, std::chrono::duration<double> took)> answered = [](int, auto) {};
};

class HttpsServer {
 public:
  // Gets POST requests of type application/json for one of its paths, on a thread of the server: must not wait. Replies
  // to the exchange from any thread.
  using Handler = std::function<void(const std::shared_ptr<Exchange>& exchange)>;

  // Serves from now on, on two threads of its own. Others than POST get 405, other paths than /mutate and /validate
  // 404, other types 415, bodies beyond the limits 413 and 503, more requests than the rate 429.
  static absl::StatusOr<std::unique_ptr<HttpsServer>> Start(std::unique_ptr<server::Listener> listener,
                                                            const HttpsLimits& limits, TlsContext tls, Handler handler,
                                                            HttpsObserver observer);

  // Ends what Drain has left.
  virtual ~HttpsServer() = default;

  // Holds for later connections. Thread-safe.
  virtual void SetTls(TlsContext tls) = 0;

  virtual int connections() const = 0;
  // What all bodies take that are held.
  virtual int64_t body_bytes() const = 0;

  // Still accepts and answers, but asks clients to connect elsewhere: a connection is closed with its next answer.
  // Thread-safe.
  virtual void AnnounceEnd() = 0;

  // Accepts no more; returns when all requests are answered, at most after the deadline of one.
  virtual void Drain() = 0;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_HTTP_HTTPS_SERVER_H_
