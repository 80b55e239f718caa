#include "client/webhook/http/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/core/flat_stream.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/webhook/http/tls_stream.h"

namespace planwright::webhook {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;
using Error = boost::system::error_code;
using Parser = http::request_parser<http::buffer_body>;

constexpr std::size_t kBlockBytes = 16384;
constexpr std::uint32_t kMaxHeaderBytes = 16384;
// What is read of a body that has been refused, so that its sender gets to read why.
constexpr std::size_t kMaxDiscardedBytes = std::size_t{16} << 20;

// Counts a request for as long as it is answered.
class InFlight {
 public:
  explicit InFlight(std::atomic<int>& count) : count_(count) { ++count_; }
  ~InFlight() { --count_; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  std::atomic<int>& count_;
};

// nullopt: the header is in order.
std::optional<HttpAnswer> Refusal(const Parser& parser) {
  const auto& header = parser.get();
  const beast::string_view target = header.target();
  if (target != "/mutate" && target != "/validate") return HttpAnswer{404, "there are /mutate and /validate"};
  if (header.method() != http::verb::post) return HttpAnswer{405, "reviews come by POST"};
  // "application/json; charset=utf-8"
  const beast::string_view type = header[http::field::content_type];
  const beast::string_view wanted = "application/json";
  if (!beast::iequals(type.substr(0, type.find(';')), wanted)) return HttpAnswer{415, "must be application/json"};
  return std::nullopt;
}

class Connection {
 public:
  Connection(asio::ip::tcp::socket socket, TlsContext tls, ConnectionServices& services)
      : services_(services), address_(AddressOf(socket)), stream_(std::move(socket), std::move(tls)) {}

  asio::awaitable<void> Serve() {
    tls().ExpireAt(Clock::now() + services_.limits.deadline);
    Error error;
    co_await tls().async_handshake(asio::redirect_error(asio::use_awaitable, error));
    bool goes_on = !error;
    while (goes_on && !services_.is_draining) {
      if (!co_await AwaitFirstByte()) break;
      const InFlight in_flight(services_.in_flight);
      goes_on = co_await ServeRequest();
    }
    co_await Close();
  }

 private:
  static std::string AddressOf(const asio::ip::tcp::socket& socket) {
    Error error;
    const auto endpoint = socket.remote_endpoint(error);
    return error ? "" : endpoint.address().to_string();
  }

  TlsStream& tls() { return stream_.next_layer(); }

  // False: none came.
  asio::awaitable<bool> AwaitFirstByte() {
    if (buffer_.size() > 0) co_return true;
    tls().ExpireAt(Clock::now() + services_.limits.idle);
    Error error;
    // A small block: idle connections are many.
    const std::size_t count =
        co_await stream_.async_read_some(buffer_.prepare(1024), asio::redirect_error(asio::use_awaitable, error));
    buffer_.commit(count);
    co_return !error;
  }

  // False: the connection is to be closed.
  asio::awaitable<bool> ServeRequest() {
    const Clock::time_point begin = Clock::now();
    const Clock::time_point deadline = begin + services_.limits.deadline;
    tls().ExpireAt(deadline);
    Parser parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(static_cast<std::uint64_t>(services_.limits.max_body_bytes));
    Error error;
    co_await http::async_read_header(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, error));
    std::optional<HttpAnswer> refusal = RefusalOf(error);
    if (error && !refusal.has_value()) co_return false;
    if (!refusal.has_value()) refusal = Refusal(parser);
    if (!refusal.has_value() && !services_.rate.Admits(address_, begin)) refusal = HttpAnswer{429, "too many reviews"};
    std::string body;
    BodyAccount::Share share(services_.bodies);
    if (!refusal.has_value()) {
      if (!co_await AskForBody(parser)) co_return false;
      std::vector<char> block(kBlockBytes);
      while (!refusal.has_value() && !parser.is_done()) {
        error = co_await ReadSome(parser, block, body, share, refusal);
        if (error && !refusal.has_value()) co_return false;
      }
    }
    if (refusal.has_value()) {
      // Others need the room, and the client may be slow.
      body.clear();
      body.shrink_to_fit();
      share.GiveBack();
      co_await Send(*refusal, parser.get().version(), /*keep=*/false, begin);
      co_await Discard();
      co_return false;
    }
    const auto target = parser.get().target();
    const HttpAnswer answer =
        co_await Judged({target.data(), target.size()}, std::move(body), deadline - services_.limits.sending);
    co_return co_await Send(answer, parser.get().version(), parser.keep_alive() && !services_.is_ending, begin);
  }

  // Errors that are answered; the others end the connection.
  static std::optional<HttpAnswer> RefusalOf(const Error& error) {
    if (error == http::error::body_limit) return HttpAnswer{413, "the body is too large"};
    if (error == http::error::header_limit) return HttpAnswer{431, "the header is too large"};
    const bool is_of_parser = error.category() == http::make_error_code(http::error::bad_method).category();
    if (error && is_of_parser && error != http::error::end_of_stream && error != http::error::partial_message) {
      return HttpAnswer{400, "this is not HTTP/1.1"};
    }
    return std::nullopt;
  }

  // Clients may wait to be asked.
  asio::awaitable<bool> AskForBody(const Parser& parser) {
    if (!beast::iequals(parser.get()[http::field::expect], "100-continue")) co_return true;
    const http::response<http::empty_body> go_on(http::status::continue_, parser.get().version());
    Error error;
    co_await http::async_write(stream_, go_on, asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  // The next bytes of the body.
  asio::awaitable<Error> ReadSome(Parser& parser, std::vector<char>& block, std::string& body,
                                  BodyAccount::Share& share, std::optional<HttpAnswer>& refusal) {
    parser.get().body().data = block.data();
    parser.get().body().size = block.size();
    Error error;
    co_await http::async_read_some(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, error));
    // There is more than the block holds.
    if (error == http::error::need_buffer) error = {};
    refusal = RefusalOf(error);
    const std::size_t count = block.size() - parser.get().body().size;
    if (!refusal.has_value() && !share.Take(static_cast<int64_t>(count))) {
      refusal = HttpAnswer{503, "too many bodies are being read"};
    }
    if (!refusal.has_value()) body.append(block.data(), count);
    co_return error;
  }

  // What the handler answers, or the fallback at `answer_by`.
  asio::awaitable<HttpAnswer> Judged(std::string target, std::string body, Clock::time_point answer_by) {
    const auto executor = stream_.get_executor();
    const auto timer = std::make_shared<asio::steady_timer>(executor, answer_by);
    const auto exchange = std::make_shared<Exchange>(std::move(target), std::move(body), answer_by, [executor, timer] {
      asio::post(executor, [timer] { timer->cancel(); });
    });
    services_.handler(exchange);
    // An answer that is there already has posted its cancellation behind this wait: the strand is ours until then.
    Error error;
    co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, error));
    co_return exchange->Take();
  }

  // True: the connection may go on.
  asio::awaitable<bool> Send(const HttpAnswer& answer, unsigned version, bool keep, Clock::time_point begin) {
    services_.observer.answered(answer.code, Clock::now() - begin);
    http::response<http::string_body> response(static_cast<http::status>(answer.code), version);
    response.set(http::field::content_type, answer.code == 200 ? "application/json" : "text/plain; charset=utf-8");
    response.keep_alive(keep);
    response.body() = answer.body;
    response.prepare_payload();
    Error error;
    co_await http::async_write(stream_, response, asio::redirect_error(asio::use_awaitable, error));
    co_return !error && keep;
  }

  // Reads what was on its way: unread bytes would make the kernel reset the connection, and the answer be lost.
  asio::awaitable<void> Discard() {
    Error error;
    tls().socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
    std::vector<char> block(kBlockBytes);
    for (std::size_t sum = 0; !error && sum < kMaxDiscardedBytes;) {
      sum += co_await tls().async_read_raw(asio::buffer(block), asio::redirect_error(asio::use_awaitable, error));
    }
  }

  asio::awaitable<void> Close() {
    Error error;
    if (!tls().is_expired()) {
      tls().ExpireAt(Clock::now() + std::chrono::seconds(1));
      co_await tls().async_shutdown(asio::redirect_error(asio::use_awaitable, error));
    }
    tls().socket().close(error);
  }

  ConnectionServices& services_;
  const std::string address_;
  beast::flat_stream<TlsStream> stream_;
  beast::flat_buffer buffer_{kBlockBytes + kMaxHeaderBytes};
};

}  // namespace

asio::awaitable<void> ServeConnection(asio::ip::tcp::socket socket, TlsContext tls, ConnectionServices& services) {
  const auto connection = std::make_unique<Connection>(std::move(socket), std::move(tls), services);
  co_await connection->Serve();
}

}  // namespace planwright::webhook
