#include "server/observability/http_server.h"

#include <CivetServer.h>

#include <array>
#include <chrono>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

constexpr std::chrono::milliseconds kCallInterval{20};

std::string_view ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

void Send(mg_connection* connection, const HttpResponse& response, bool with_body) {
  // Version 0.0.4 is that of the exposition format; it is plain text for everybody else.
  const std::string head = absl::StrCat(
      "HTTP/1.1 ", response.code, " ", ToAbsl(ReasonOf(response.code)),
      "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: ", response.body.size(),
      "\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (with_body) mg_write(connection, response.body.data(), response.body.size());
}

class Router : public CivetHandler {
 public:
  explicit Router(HttpServer::Handlers handlers) : handlers_(std::move(handlers)) {}

  bool handleGet(CivetServer*, mg_connection* connection) override { return Answer(connection, true); }
  bool handleHead(CivetServer*, mg_connection* connection) override { return Answer(connection, false); }
  bool handlePost(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handlePut(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handleDelete(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handlePatch(CivetServer*, mg_connection* connection) override { return Refuse(connection); }
  bool handleOptions(CivetServer*, mg_connection* connection) override { return Refuse(connection); }

 private:
  bool Answer(mg_connection* connection, bool with_body) const {
    const auto handler = handlers_.find(mg_get_request_info(connection)->local_uri);
    Send(connection, handler == handlers_.end() ? HttpResponse{404, "not found\n"} : handler->second(), with_body);
    return true;
  }

  static bool Refuse(mg_connection* connection) {
    Send(connection, {405, "only GET and HEAD\n"}, true);
    return true;
  }

  HttpServer::Handlers handlers_;
};

struct HostPort {
  // As civetweb wants it: numeric, IPv6 in brackets.
  std::string host;
  int port = 0;
};

absl::StatusOr<HostPort> ParseAddress(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  HostPort parsed;
  if (colon == std::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(ToAbsl(address.substr(colon + 1)), &parsed.port) || parsed.port < 0 || parsed.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("must be HOST:PORT, is \"", ToAbsl(address), "\""));
  }
  parsed.host = std::string(address.substr(0, colon));
  if (parsed.host == "localhost") parsed.host = "127.0.0.1";
  return parsed;
}

class CivetHttpServer : public HttpServer {
 public:
  // Throws CivetException when it cannot listen.
  CivetHttpServer(const HostPort& address, Handlers handlers)
      : host_(address.host),
        router_(std::move(handlers)),
        server_(std::vector<std::string>{"listening_ports", absl::StrCat(address.host, ":", address.port),
                                         "num_threads", "4", "request_timeout_ms", "5000"}) {
    server_.addHandler("/", router_);
  }

  // civetweb sees that it is to stop when a connection comes, or every two seconds: connections come until it has.
  ~CivetHttpServer() override {
    const std::vector<int> ports = server_.getListeningPorts();
    const std::jthread caller([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && !ports.empty()) {
        std::array<char, 128> error{};
        mg_connection* connection = mg_connect_client(host_.c_str(), ports.front(), 0, error.data(), error.size());
        if (connection != nullptr) mg_close_connection(connection);
        std::this_thread::sleep_for(kCallInterval);
      }
    });
    server_.close();
  }

  std::string address() const override {
    const std::vector<int> ports = const_cast<CivetServer&>(server_).getListeningPorts();
    return absl::StrCat(host_, ":", ports.empty() ? 0 : ports.front());
  }

 private:
  std::string host_;
  Router router_;
  CivetServer server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address, Handlers handlers) {
  const absl::StatusOr<HostPort> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  try {
    return std::make_unique<CivetHttpServer>(*parsed, std::move(handlers));
  } catch (const CivetException&) {
    // civetweb does not say why.
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": no such address, or the port is taken"));
  }
}

}  // namespace planwright::server
