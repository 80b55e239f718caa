#include "server/observability/http_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace planwright::server {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A client whose connection the server has been given.
class Client {
 public:
  explicit Client(HttpServer& server) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    file_ = ends[0];
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    sockaddr peer{};
    peer.sa_family = AF_UNIX;
    server.Serve(ends[1], &peer, sizeof peer);
  }
  Client(Client&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ~Client() {
    if (file_ >= 0) close(file_);
  }

  void Send(std::string_view text) const {
    EXPECT_EQ(send(file_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Everything until the server closes.
  std::string Read() const {
    std::string text;
    std::array<char, 1000> part{};
    for (ssize_t count = 1; count > 0;) {
      count = recv(file_, part.data(), part.size(), 0);
      if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int file_;
};

std::string Ask(HttpServer& server, const std::string& line) {
  const Client client(server);
  client.Send(line + " HTTP/1.1\r\nHost: here\r\n\r\n");
  return client.Read();
}

HttpServer::Handler Text(const std::string& text) {
  return {.answer = [text] { return HttpResponse{200, text}; }};
}

std::unique_ptr<HttpServer> Start(HttpServer::Handlers handlers) { return *HttpServer::Start(std::move(handlers)); }

TEST(HttpServerTest, AnswersGetAndHeadAndNothingElse) {
  const auto server = Start({{"/livez", Text("ok\n")}, {"/readyz", {[] { return HttpResponse{503, "draining\n"}; }}}});
  EXPECT_THAT(Ask(*server, "GET /livez"), testing::AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n\r\nok\n")));
  EXPECT_THAT(Ask(*server, "GET /readyz"), testing::AllOf(StartsWith("HTTP/1.1 503"), EndsWith("draining\n")));
  EXPECT_THAT(Ask(*server, "HEAD /livez"), testing::AllOf(HasSubstr("Content-Length: 3"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(Ask(*server, "GET /livez/more"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask(*server, "DELETE /livez"), StartsWith("HTTP/1.1 405"));
}

TEST(HttpServerTest, SilentAndSlowClientsDelayNobody) {
  const auto server = Start({{"/livez", Text("ok\n")}});
  std::vector<Client> others;
  for (int i = 0; i < 100; ++i) {
    others.emplace_back(*server);
    if (i % 2 == 0) others.back().Send("GET /li");
  }
  EXPECT_THAT(Ask(*server, "GET /livez"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, WhatIsNotQuickDelaysNoProbeAndIsAnsweredForAllWhoWait) {
  std::latch started(1);
  std::latch end(1);
  int answers = 0;
  const auto server = Start({{"/livez", Text("ok\n")},
                             {"/metrics",
                              {[&] {
                                 if (++answers == 1) {
                                   started.count_down();
                                   end.wait();
                                 }
                                 return HttpResponse{200, "metrics\n"};
                               },
                               /*is_quick=*/false}}});
  std::vector<Client> askers;
  for (int i = 0; i < 5; ++i) {
    askers.emplace_back(*server);
    askers.back().Send("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    if (i == 0) started.wait();
  }
  EXPECT_THAT(Ask(*server, "GET /livez"), StartsWith("HTTP/1.1 200"));
  end.count_down();
  for (const Client& asker : askers) EXPECT_THAT(asker.Read(), EndsWith("metrics\n"));
  EXPECT_LE(answers, 5);
}

TEST(HttpServerTest, EndsWhileRequestsWait) {
  std::latch started(1);
  std::latch end(1);
  auto server = Start({{"/metrics",
                        {[&] {
                           started.count_down();
                           end.wait();
                           return HttpResponse{200, "metrics\n"};
                         },
                         /*is_quick=*/false}}});
  const Client asker(*server);
  asker.Send("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  started.wait();
  std::jthread ending([&server] { server.reset(); });
  end.count_down();
  // Answered or closed, but not left.
  EXPECT_THAT(asker.Read(), Not(HasSubstr("404")));
}

}  // namespace
}  // namespace planwright::server
