#include "server/engine/plans/stored_plans.h"

#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace planwright::server {
namespace {

// Plans of the cache belong to nobody: whoever can ask the question may have the answer. No caller has this name.
constexpr char kOwner[] = "";
// How long a store that does not answer is left alone.
constexpr std::chrono::seconds kRest{10};
// How long an answer may take before others ask no more.
constexpr std::chrono::seconds kPatience{1};

// "<nanoseconds> <work limit> <relative gap>", "-" for no work limit. The gap is the same number when it is read.
std::string DescribeEffort(const SearchEffort& effort) {
  const std::string work = effort.work_limit.has_value() ? absl::StrCat(*effort.work_limit) : "-";
  return absl::StrFormat("%d %s %.17g", effort.time.count(), work, effort.relative_gap);
}

std::optional<SearchEffort> ReadEffort(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  SearchEffort effort;
  int64_t time = 0;
  int64_t work = 0;
  if (words.size() != 3 || !absl::SimpleAtoi(words[0], &time)) return std::nullopt;
  if (!absl::SimpleAtod(words[2], &effort.relative_gap)) return std::nullopt;
  effort.time = std::chrono::nanoseconds(time);
  if (words[1] == "-") return effort;
  if (!absl::SimpleAtoi(words[1], &work)) return std::nullopt;
  effort.work_limit = work;
  return effort;
}

}  // namespace

std::optional<StoredPlan> StoredPlans::Find(const std::string& key) {
  if (!MayAsk()) return std::nullopt;
  const Question question(*this);
  const absl::StatusOr<Document> document = store_->FindDocument(kOwner, DocumentKind::kAnswer, key);
  if (document.status().code() == absl::StatusCode::kDataLoss) Drop(key);
  Note(document.status());
  if (!document.ok()) return std::nullopt;
  StoredPlan plan;
  const std::optional<SearchEffort> effort = ReadEffort(document->summary);
  if (!effort.has_value() || !plan.plan.ParseFromString(document->content)) {
    Drop(key);
    return std::nullopt;
  }
  plan.effort = *effort;
  ++found_;
  return plan;
}

void StoredPlans::Keep(const std::string& key, const StoredPlan& plan) {
  if (!MayAsk()) return;
  const Question question(*this);
  Document document;
  document.id = key;
  document.summary = DescribeEffort(plan.effort);
  document.content = plan.plan.SerializeAsString();
  Note(store_->PutAnswer(kOwner, document, most_bytes_));
}

void StoredPlans::Drop(const std::string& key) {
  ++dropped_;
  if (!MayAsk()) return;
  const Question question(*this);
  Note(store_->DeleteDocument(kOwner, DocumentKind::kAnswer, key));
}

StoredPlans::Question::Question(StoredPlans& plans) : plans_(plans) {
  const std::lock_guard lock(plans_.mutex_);
  place_ = plans_.open_.insert(Clock::now());
}

StoredPlans::Question::~Question() {
  const std::lock_guard lock(plans_.mutex_);
  plans_.open_.erase(place_);
}

bool StoredPlans::MayAsk() const {
  const Clock::time_point now = Clock::now();
  if (store_ == nullptr || now.time_since_epoch().count() < ask_after_) return false;
  const std::lock_guard lock(mutex_);
  return open_.empty() || now - *open_.begin() < kPatience;
}

void StoredPlans::Note(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kUnavailable && status.code() != absl::StatusCode::kFailedPrecondition) return;
  ask_after_ = (Clock::now() + kRest).time_since_epoch().count();
}

}  // namespace planwright::server
