// The door of a server: accepts connections and hands them over to whoever serves them.
#ifndef PLANWRIGHT_SERVER_CONNECTIONS_GATE_H_
#define PLANWRIGHT_SERVER_CONNECTIONS_GATE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "server/connections/connections.h"
#include "server/connections/listener.h"

namespace planwright::server {

// A thread of its own accepts. It goes on when the process has run out of descriptors: one is kept in reserve, to turn
// the next connections away with, while the kernel would leave them waiting. Another one looks at what is open up to
// fifty times a second, two hundred where there is no room, whatever becomes of the first: gRPC may read from a
// connection that it is handed for as long as something comes. Where others wait, that may take two seconds. Ends
// connections by shutting them down; whoever was handed a socket closes it.
class Gate {
 public:
  // Takes the socket over: non-blocking, TCP_NODELAY. Called on the thread that accepts.
  using HandOver = std::function<void(int file, const SocketAddress& peer)>;

  // `connections` outlives the gate. Accepts from now on.
  Gate(std::unique_ptr<Listener> listener, Connections& connections, HandOver hand_over);
  // Accepts no more, and waits for a HandOver that is under way.
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  const Listener& listener() const { return *listener_; }

 private:
  void AcceptUntil(const std::stop_token& stop);
  void WatchUntil(const std::stop_token& stop);
  // True: nothing waits any more.
  bool Accept(int listening);
  void Admit(int file, const SocketAddress& address);
  // To be called without a descriptor for it: turns the connection away that has waited longest.
  void TurnAway(int listening);
  // False: no connection is handed over any more.
  bool BeginHandOver(OpenSocket socket);
  void EndHandOver();
  // Ends the connection that is being handed over, if it has been for long and others wait. REQUIRES: watch_mutex_.
  void EndLongHandOver(Connections::Clock::time_point now);
  // What has been closed, what is held. Returns when to look next. REQUIRES: watch_mutex_.
  Connections::Clock::time_point LookAround();

  const std::unique_ptr<Listener> listener_;
  Connections& connections_;
  const HandOver hand_over_;
  // Sockets that are tolerated while ended ones are being closed.
  const int max_sockets_;
  int reserve_;
  // Readable when the thread that accepts is to end.
  int wake_;
  uint64_t unnamed_ = 0;
  std::mutex watch_mutex_;
  std::condition_variable_any watch_;
  // Guarded by watch_mutex_.
  Connections::Clock::time_point next_tight_look_;
  bool is_closing_ = false;
  std::optional<OpenSocket> handed_over_;
  Connections::Clock::time_point handed_over_since_;
  // Last: use the above.
  std::jthread watcher_;
  std::jthread acceptor_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CONNECTIONS_GATE_H_
