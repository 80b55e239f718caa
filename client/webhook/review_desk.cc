#include "client/webhook/review_desk.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/webhook/review/envelope.h"

namespace planwright::webhook {
namespace {

constexpr int kReaders = 2;
constexpr std::size_t kLargeBytes = std::size_t{1} << 20;
// What reviews that wait take together, each with its patched object and the difference.
constexpr int64_t kMaxUnpackedBytes = int64_t{96} << 20;
constexpr int64_t kCopiesWhileJudged = 3;

// What the answer of a call needs on its way to the connection.
constexpr std::chrono::milliseconds kOnTheWay{50};

HttpAnswer Admitted(const Review& review, std::vector<std::string> warnings) {
  return {200, FormatAnswer(review.uid, Answer{.warnings = std::move(warnings)})};
}

// `text` as an answer in plain text may hold it: it may quote bytes that are no characters.
std::string Ascii(absl::string_view text) {
  std::string ascii(text);
  std::replace_if(
      ascii.begin(), ascii.end(), [](unsigned char c) { return c != '\n' && !absl::ascii_isprint(c); }, '?');
  return ascii;
}

// The deadline of calls for an exchange, on the clock of calls.
client::CallOptions OptionsFor(const Exchange& exchange) {
  const auto left = exchange.answer_by() - kOnTheWay - Exchange::Clock::now();
  client::CallOptions options;
  options.deadline = client::CallOptions::Clock::now() + left;
  return options;
}

Service ServiceFor(client::PlanningClient& client, const Exchange& exchange) {
  return {.plan = [&](const v1::CreatePlanRequest& request) -> absl::StatusOr<v1::Plan> {
            auto response = client.CreatePlan(request, OptionsFor(exchange));
            if (!response.ok()) return response.status();
            return std::move(*response->mutable_plan());
          },
          .graph = [&](const std::string& name) -> absl::StatusOr<v1::Graph> {
            v1::GetGraphRequest request;
            request.set_name(name);
            auto response = client.GetGraph(request, OptionsFor(exchange));
            if (!response.ok()) return response.status();
            return std::move(*response->mutable_graph());
          }};
}

}  // namespace

ReviewDesk::ReviewDesk(const Policy& policy, int max_reviews, PlanningClients& clients, HookMetrics& metrics)
    : policy_(policy),
      max_waiting_(2 * max_reviews),
      clients_(clients),
      metrics_(metrics),
      unpacked_(kMaxUnpackedBytes),
      readers_(kReaders),
      askers_(static_cast<std::size_t>(max_reviews)) {}

struct ReviewDesk::Waiting {
  explicit Waiting(ReviewDesk& all) : desk(all), place(++all.waiting_), share(all.unpacked_) {}
  ~Waiting() { --desk.waiting_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Whether there is room for it beside the others.
  bool Take(Review its_review) {
    review = std::move(its_review);
    return place <= desk.max_waiting_ && share.Take(kCopiesWhileJudged * review.unpacked_bytes);
  }

  ReviewDesk& desk;
  // How many waited when it came, with it.
  const int place;
  BodyAccount::Share share;
  Review review;
};

void ReviewDesk::Finish() {
  readers_.join();
  askers_.join();
}

void ReviewDesk::SetPools(std::shared_ptr<const Pools> pools) {
  const std::lock_guard lock(mutex_);
  pools_ = std::move(pools);
}

std::shared_ptr<const Pools> ReviewDesk::pools() {
  const std::lock_guard lock(mutex_);
  return pools_;
}

void ReviewDesk::Take(const std::shared_ptr<Exchange>& exchange) {
  boost::asio::post(readers_, [this, exchange] {
    try {
      Read(exchange);
    } catch (const std::exception&) {
      exchange->Reply({503, "out of memory"});
    }
  });
}

void ReviewDesk::Read(const std::shared_ptr<Exchange>& exchange) {
  std::unique_lock<std::mutex> one_at_a_time(reading_large_, std::defer_lock);
  if (exchange->body().size() > kLargeBytes) one_at_a_time.lock();
  // Nobody waits for it any more.
  if (Exchange::Clock::now() >= exchange->answer_by()) return;
  auto review = ParseReview(exchange->body());
  if (!review.ok()) {
    const int code = absl::IsResourceExhausted(review.status()) ? 413 : 400;
    exchange->Reply({code, absl::StrCat(Ascii(review.status().message()), "\n")});
    return;
  }
  const Door door = exchange->target() == "/validate" ? Door::kValidate : Door::kMutate;
  if (!IsJudged(*review, door, policy_)) {
    metrics_.Judged(door, {});
    exchange->Reply(Admitted(*review, {}));
    return;
  }
  const auto waiting = std::make_shared<Waiting>(*this);
  if (!waiting->Take(*std::move(review))) {
    metrics_.AdmittedUnjudged(door, Reason::kRefused);
    exchange->Reply(Admitted(waiting->review, {"planwright: not judged: too many reviews are waiting"}));
    return;
  }
  exchange->SetFallback(Admitted(waiting->review, {"planwright: not judged: planwrightd did not answer in time"}));
  boost::asio::post(askers_, [this, exchange, door, waiting] {
    try {
      Ask(exchange, waiting->review, door);
    } catch (const std::exception&) {
      exchange->Reply(Admitted(waiting->review, {"planwright: not judged: out of memory"}));
    }
  });
}

void ReviewDesk::Ask(const std::shared_ptr<Exchange>& exchange, const Review& review, Door door) {
  // The connection has taken the fallback.
  if (Exchange::Clock::now() >= exchange->answer_by()) {
    metrics_.AdmittedUnjudged(door, Reason::kDeadline);
    return;
  }
  const auto client = clients_.For(review.name_space);
  const auto pools = this->pools();
  const Judgement judgement = Judge(review, door, policy_, *pools, absl::Now(), ServiceFor(*client, *exchange));
  metrics_.Judged(door, judgement);
  exchange->Reply({200, FormatAnswer(review.uid, AnswerOf(judgement))});
}

}  // namespace planwright::webhook
