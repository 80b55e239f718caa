// One connection of the HTTPS server, from handshake to end.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_HTTP_CONNECTION_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_HTTP_CONNECTION_H_

// The coroutines of Boost 1.74 use std::exchange without its header.
// clang-format off
#include <utility>
// clang-format on
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "client/webhook/http/body_account.h"
#include "client/webhook/http/https_server.h"
#include "client/webhook/http/rate_limit.h"

namespace planwright::webhook {

// What all connections share; outlives them.
struct ConnectionServices {
  explicit ConnectionServices(const HttpsLimits& all)
      : limits(all), bodies(all.max_bodies_bytes), rate(all.max_requests_per_second) {}

  const HttpsLimits limits;
  HttpsServer::Handler handler;
  HttpsObserver observer;
  BodyAccount bodies;
  RateLimit rate;
  // Requests whose answer is not sent.
  std::atomic<int> in_flight = 0;
  // No connection goes on after its next request.
  std::atomic<bool> is_ending = false;
  // No request is begun any more.
  std::atomic<bool> is_draining = false;
};

// Serves requests one after the other, until the client ends the connection or breaks a rule. Runs on one strand.
boost::asio::awaitable<void> ServeConnection(boost::asio::ip::tcp::socket socket, TlsContext tls,
                                             ConnectionServices& services);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_HTTP_CONNECTION_H_
