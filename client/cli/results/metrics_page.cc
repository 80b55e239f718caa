#include "client/cli/results/metrics_page.h"

#include <curl/curl.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxPageBytes = std::size_t{16} << 20;
constexpr char kUsualPort[] = "9464";
// A metric that planwrightd alone has.
constexpr char kBuildInfo[] = "planwright_build_info";

using CurlPointer = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

// Another number than `size * count` ends the transfer.
std::size_t Append(char* data, std::size_t size, std::size_t count, void* to) {
  auto& page = *static_cast<std::string*>(to);
  if (page.size() + size * count > kMaxPageBytes) return 0;
  page.append(data, size * count);
  return size * count;
}

// Another answer than 0 ends the transfer.
int IsOver(void* stop, curl_off_t /*down_total*/, curl_off_t /*down*/, curl_off_t /*up_total*/, curl_off_t /*up*/) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

// A line: name{label="value",...} value. A time may follow.
struct Sample {
  std::string_view name;
  std::map<std::string_view, std::string> labels;
  double value = 0;
};

// The text up to an unescaped quotation mark, which goes too. nullopt: there is none.
std::optional<std::string> TakeQuoted(std::string_view& text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      value += text[i] == 'n' ? '\n' : text[i];
    } else {
      value += text[i];
    }
  }
  return std::nullopt;
}

// nullopt: it is no sample.
std::optional<Sample> ReadSample(std::string_view line) {
  const std::size_t end = line.find_first_of("{ ");
  if (end == 0 || end == std::string_view::npos) return std::nullopt;
  Sample sample{.name = line.substr(0, end), .labels = {}};
  std::string_view rest = line.substr(end + 1);
  if (line[end] == '{') {
    while (!rest.starts_with('}')) {
      const std::size_t equals = rest.find("=\"");
      if (equals == std::string_view::npos) return std::nullopt;
      const std::string_view label = rest.substr(0, equals);
      rest.remove_prefix(equals + 2);
      auto value = TakeQuoted(rest);
      if (!value.has_value()) return std::nullopt;
      sample.labels[label] = *std::move(value);
      if (rest.starts_with(',')) rest.remove_prefix(1);
    }
    rest.remove_prefix(1);
  }
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::string_view number = rest.substr(0, rest.find(' '));
  if (!absl::SimpleAtod({number.data(), number.size()}, &sample.value)) return std::nullopt;
  return sample;
}

int64_t Whole(double value) { return std::isfinite(value) && std::fabs(value) < 1e15 ? std::llround(value) : 0; }

void Count(const Sample& sample, LoadCounters& counters) {
  const std::map<std::string_view, int64_t*> places = {{"planwright_running_requests", &counters.running_searches},
                                                       {"planwright_waiting_requests", &counters.waiting_searches},
                                                       {"planwright_cache_hits_total", &counters.cache_hits},
                                                       {"planwright_cache_misses_total", &counters.cache_misses},
                                                       {"planwright_shared_searches_total", &counters.shared_searches},
                                                       {"planwright_cache_entries", &counters.cached_plans},
                                                       {"planwright_cache_bytes", &counters.cached_bytes},
                                                       {"planwright_cache_evictions_total", &counters.evicted_plans}};
  const auto place = places.find(sample.name);
  if (place != places.end()) *place->second = Whole(sample.value);
  const auto tenant = sample.labels.find("tenant");
  if (tenant != sample.labels.end() && sample.name == "planwright_tenant_calls_total") {
    counters.tenants[tenant->second].calls += Whole(sample.value);
  }
  if (tenant != sample.labels.end() && sample.name == "planwright_tenant_search_seconds_total") {
    counters.tenants[tenant->second].search_seconds += std::isfinite(sample.value) ? sample.value : 0;
  }
}

}  // namespace

absl::StatusOr<std::string> FetchMetrics(const std::string& address, std::chrono::milliseconds patience,
                                         const std::stop_token& stop) {
  const CurlPointer curl(curl_easy_init(), &curl_easy_cleanup);
  if (curl == nullptr) return absl::UnavailableError("there is no memory to ask for metrics");
  const std::string url = absl::StrCat("http://", address, "/metrics");
  std::string page;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(patience.count()));  // NOLINT(google-runtime-int)
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &page);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, &IsOver);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &stop);
  const CURLcode code = curl_easy_perform(curl.get());
  if (code == CURLE_OK) return page;
  if (stop.stop_requested()) return absl::CancelledError("interrupted");
  return absl::UnavailableError(absl::StrCat("no metrics at ", url, ": ", curl_easy_strerror(code)));
}

absl::StatusOr<LoadCounters> ReadCounters(std::string_view page) {
  LoadCounters counters;
  bool is_ours = false;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(page.data(), page.size()), '\n')) {
    const auto sample = ReadSample({line.data(), line.size()});
    if (!sample.has_value()) continue;
    if (sample->name == kBuildInfo) {
      is_ours = true;
      const auto version = sample->labels.find("version");
      if (version != sample->labels.end()) counters.version = version->second;
    }
    Count(*sample, counters);
  }
  if (!is_ours) return absl::UnavailableError("the metrics are not those of a planwrightd");
  return counters;
}

std::string UsualMetricsAddress(std::string_view server) {
  if (server.starts_with("unix:")) return absl::StrCat("127.0.0.1:", kUsualPort);
  const std::size_t slash = server.rfind('/');
  if (slash != std::string_view::npos) server.remove_prefix(slash + 1);
  for (const std::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (server.starts_with(scheme)) server.remove_prefix(scheme.size());
  }
  const std::string_view host = server.substr(0, server.rfind(':'));
  return absl::StrCat(absl::string_view(host.data(), host.size()), ":", kUsualPort);
}

}  // namespace planwright::client
