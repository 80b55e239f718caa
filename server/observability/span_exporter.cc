#include "server/observability/span_exporter.h"

#include <curl/curl.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace planwright::server {
namespace {

using Json = nlohmann::ordered_json;
using CurlPointer = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using HeadersPointer = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// At most this many at a time: some hundred kilobytes.
constexpr std::size_t kBatch = 512;

std::string Nanoseconds(std::chrono::system_clock::time_point time) {
  return absl::StrCat(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

Json Attribute(const std::string& key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

Json SpanJson(const Span& span) {
  // SPAN_KIND_SERVER and SPAN_KIND_INTERNAL; STATUS_CODE_ERROR.
  constexpr int kServer = 2;
  constexpr int kInternal = 1;
  constexpr int kError = 2;
  Json json = {{"traceId", span.trace_id},
               {"spanId", span.span_id},
               {"name", span.name},
               {"kind", span.is_server ? kServer : kInternal},
               {"startTimeUnixNano", Nanoseconds(span.start)},
               {"endTimeUnixNano", Nanoseconds(span.end)}};
  if (!span.parent_id.empty()) json["parentSpanId"] = span.parent_id;
  Json attributes = Json::array();
  for (const auto& [key, value] : span.attributes) {
    if (!value.empty()) attributes.push_back(Attribute(key, value));
  }
  json["attributes"] = std::move(attributes);
  json["status"] = span.error.empty() ? Json::object() : Json{{"code", kError}, {"message", span.error}};
  return json;
}

// What the collector answers is not looked at.
std::size_t Ignore(char* /*data*/, std::size_t size, std::size_t count, void* /*to*/) { return size * count; }

// Is to be called once in a process, before there are threads that use the library.
void StartCurl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(started);
}

}  // namespace

std::string RandomHexId(int digits) {
  static thread_local std::mt19937_64 random{std::random_device()()};
  std::string id;
  for (int i = 0; i < digits; i += 16) absl::StrAppend(&id, absl::StrFormat("%016x", random() | 1U));
  id.resize(static_cast<std::size_t>(digits));
  return id;
}

std::string ToOtlpJson(std::span<const Span> spans, const std::string& version) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(SpanJson(span));
  const Json scope = {{"name", "planwrightd"}, {"version", version}};
  const Json resource = {
      {"attributes", Json::array({Attribute("service.name", "planwrightd"), Attribute("service.version", version)})}};
  const Json body = {
      {"resourceSpans",
       Json::array({{{"resource", resource}, {"scopeSpans", Json::array({{{"scope", scope}, {"spans", list}}})}}})}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status CheckOtlpEndpoint(const std::string& endpoint) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  if ((endpoint.starts_with("http://") || endpoint.starts_with("https://")) &&
      curl_url_set(url.get(), CURLUPART_URL, endpoint.c_str(), 0) == CURLUE_OK) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("must be as http://collector:4318/v1/traces, is \"", endpoint, "\""));
}

// All transfers together have that long once the end has come.
class SpanExporter::Patience {
 public:
  Patience(const std::stop_token& stop, std::chrono::milliseconds last_words) : stop_(stop), last_words_(last_words) {}

  bool HasEnded() {
    if (!stop_.stop_requested()) return false;
    const auto now = std::chrono::steady_clock::now();
    if (!stopped_.has_value()) stopped_ = now;
    return now - *stopped_ > last_words_;
  }

  // What a transfer asks now and then: another answer than 0 ends it.
  static int IsOver(void* patience, curl_off_t /*down_total*/, curl_off_t /*down*/, curl_off_t /*up_total*/,
                    curl_off_t /*up*/) {
    return static_cast<Patience*>(patience)->HasEnded() ? 1 : 0;
  }

 private:
  const std::stop_token& stop_;
  const std::chrono::milliseconds last_words_;
  std::optional<std::chrono::steady_clock::time_point> stopped_;
};

SpanExporter::SpanExporter(Options options) : options_(std::move(options)) {
  StartCurl();
  worker_ = std::jthread([this](const std::stop_token& stop) { Work(stop); });
}

void SpanExporter::Add(std::vector<Span> spans) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() + spans.size() > options_.max_waiting) {
    counts_.dropped += static_cast<int64_t>(spans.size());
    return;
  }
  std::move(spans.begin(), spans.end(), std::back_inserter(waiting_));
  if (waiting_.size() >= kBatch) changed_.notify_all();
}

SpanExporter::Counts SpanExporter::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void SpanExporter::Work(const std::stop_token& stop) {
  Patience patience(stop, options_.last_words);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, stop, options_.interval, [&] { return waiting_.size() >= kBatch; });
    if (waiting_.empty() && stop.stop_requested()) return;
    if (waiting_.empty()) continue;
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kBatch));
    const std::vector<Span> batch(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    lock.unlock();
    const bool is_taken = Send(ToOtlpJson(batch, options_.version), patience);
    lock.lock();
    (is_taken ? counts_.exported : counts_.dropped) += static_cast<int64_t>(batch.size());
    // The end is no time to try a collector that does not answer again and again.
    if (!is_taken && stop.stop_requested()) return;
  }
}

bool SpanExporter::Send(const std::string& body, Patience& patience) const {
  const CurlPointer curl(curl_easy_init(), &curl_easy_cleanup);
  if (curl == nullptr) return false;
  const HeadersPointer headers(curl_slist_append(nullptr, "Content-Type: application/json"), &curl_slist_free_all);
  CURL* handle = curl.get();
  curl_easy_setopt(handle, CURLOPT_URL, options_.endpoint.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout.count()));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Ignore);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &Patience::IsOver);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &patience);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  // The process has its own ways with signals.
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  if (curl_easy_perform(handle) != CURLE_OK) return false;
  long code = 0;  // NOLINT(google-runtime-int)
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  return code / 100 == 2;
}

}  // namespace planwright::server
