// What every store promises, checked on each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/sql_store.h"
#include "tests/server/store/store_backend.h"
#include "tests/server/store/turns.h"

namespace planwright::server {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr milliseconds kLease{60'000};
constexpr int64_t kDay = 24 * 3600 * 1000;

class StoreContractTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    backend_ = MakeStoreBackend(GetParam());
    if (backend_ == nullptr) GTEST_SKIP() << "no PostgreSQL here: libpqxx-dev and postgresql are needed";
    store_ = MakeStore();
    ASSERT_TRUE(store_->Check().ok()) << store_->Check();
  }

  std::unique_ptr<Store> MakeStore() { return std::make_unique<SqlStore>(backend_->Open(), /*migrate=*/false); }

  bool Put(const std::string& id, const std::string& content = "content", const std::string& tenant = "tenant") {
    const auto result = store_->PutDocument(tenant, DocumentKind::kPlan, {id, "summary of " + id, content}, Quota());
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(PutResult()).was_put;
  }

  Operation Submit(const std::string& id, const std::string& request_id = "") {
    const auto operation = store_->Submit("tenant", {{id, "request"}, {}, request_id}, Quota());
    EXPECT_TRUE(operation.ok()) << operation.status();
    return operation.value_or(Operation());
  }

  Operation SubmitSweep(const std::string& id, int rows) {
    Submission submission{{id, "grid"}, {}, ""};
    for (int i = 0; i < rows; ++i) submission.rows.push_back({absl::StrCat(id, "-", i), absl::StrCat("row ", i)});
    const auto operation = store_->Submit("tenant", submission, Quota());
    EXPECT_TRUE(operation.ok()) << operation.status();
    return operation.value_or(Operation());
  }

  Operation Take() {
    const auto taken = store_->TakeOperation(kLease, &ByName);
    EXPECT_TRUE(taken.ok() && taken->has_value()) << taken.status();
    return taken.ok() ? taken->value_or(Operation()) : Operation();
  }

  Operation Find(const std::string& id) {
    const auto operation = store_->FindOperation("tenant", id, OperationView::kFull);
    EXPECT_TRUE(operation.ok()) << operation.status();
    return operation.value_or(Operation());
  }

  void End(const Operation& taken) {
    EXPECT_TRUE(store_->EndOperation(taken.id, taken.fence, {OperationState::kSucceeded, "plan", ""}).ok());
  }

  std::vector<std::string> ListedPlans(const std::string& tenant) {
    const auto plans = store_->ListDocuments(tenant, DocumentKind::kPlan, std::nullopt, 100);
    std::vector<std::string> ids;
    for (const DocumentSummary& plan : plans.value()) ids.push_back(plan.id);
    return ids;
  }

  std::vector<std::string> Listed(const OperationFilter& filter) {
    const auto operations = store_->ListOperations("tenant", filter, std::nullopt, 100);
    std::vector<std::string> ids;
    for (const Operation& operation : operations.value()) ids.push_back(operation.id);
    return ids;
  }

  // Days on which a server sweeps, but nothing is old enough to go.
  void PassDays(int days) {
    for (int day = 0; day < days; ++day) {
      backend_->AdvanceClock(kDay);
      EXPECT_EQ(store_->Sweep({.documents = hours(24 * 365), .operations = hours(24 * 365)}).value(), 0);
    }
  }

  absl::Status Execute(const std::string& sql, const std::vector<SqlValue>& parameters) {
    return backend_->Open()->Transact(
        Database::Access::kWrite, [&](Connection& connection) { return connection.Execute(sql, parameters).status(); });
  }

  std::unique_ptr<StoreBackend> backend_;
  std::unique_ptr<Store> store_;
};

OperationEnd Succeeded(const std::string& result) { return {OperationState::kSucceeded, result, "short " + result}; }

// ---- Documents

TEST_P(StoreContractTest, FindsWhatWasPutUntilItIsDeleted) {
  std::string content;
  for (int i = 0; i < 100'000; ++i) content.push_back(static_cast<char>(i % 251));
  EXPECT_TRUE(Put("a", content));
  const auto found = store_->FindDocument("tenant", DocumentKind::kPlan, "a");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->content, content);
  EXPECT_EQ(found->summary, "summary of a");
  EXPECT_GT(found->create_time, 0);
  EXPECT_TRUE(store_->DeleteDocument("tenant", DocumentKind::kPlan, "a").ok());
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kPlan, "a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->DeleteDocument("tenant", DocumentKind::kPlan, "a").code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreContractTest, KeepsTheFirstOfTwoDocumentsWithOneId) {
  EXPECT_TRUE(Put("a", "first"));
  EXPECT_FALSE(Put("a", "second"));
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kPlan, "a")->content, "first");
  EXPECT_TRUE(store_->ReplaceDocument("tenant", DocumentKind::kPlan, {"a", "s", "third"}).ok());
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kPlan, "a")->content, "third");
}

TEST_P(StoreContractTest, HidesDocumentsFromOtherTenantsAndKinds) {
  Put("a");
  EXPECT_EQ(store_->FindDocument("other", DocumentKind::kPlan, "a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kGraph, "a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->DeleteDocument("other", DocumentKind::kPlan, "a").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(store_->ListDocuments("other", DocumentKind::kPlan, std::nullopt, 10).value(), IsEmpty());
  EXPECT_TRUE(Put("a", "mine", "other"));
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kPlan, "a")->content, "content");
}

TEST_P(StoreContractTest, ListsTheLatestFirstPageByPage) {
  for (int i = 0; i < 5; ++i) {
    Put(absl::StrCat("plan", i));
    // Two of them in the same millisecond are in the order of their ids.
    if (i != 2) backend_->AdvanceClock(1000);
  }
  std::vector<std::string> ids;
  std::optional<PagePosition> after;
  for (int page = 0; page < 3; ++page) {
    const auto documents = store_->ListDocuments("tenant", DocumentKind::kPlan, after, 2).value();
    ASSERT_FALSE(documents.empty());
    for (const DocumentSummary& document : documents) ids.push_back(document.id);
    EXPECT_EQ(documents.back().summary, "summary of " + documents.back().id);
    after = PagePosition{documents.back().create_time, documents.back().id};
  }
  EXPECT_THAT(ids, ElementsAre("plan4", "plan3", "plan2", "plan1", "plan0"));
  EXPECT_THAT(store_->ListDocuments("tenant", DocumentKind::kPlan, after, 2).value(), IsEmpty());
}

TEST_P(StoreContractTest, StoresNothingBeyondTheQuota) {
  const auto put = [this](const std::string& id, const Quota& quota) {
    return store_->PutDocument("tenant", DocumentKind::kGraph, {id, "", std::string(1000, id.front())}, quota).status();
  };
  EXPECT_TRUE(put("a", {.documents = 2}).ok());
  EXPECT_TRUE(put("b", {.documents = 2}).ok());
  EXPECT_EQ(put("c", {.documents = 2}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(put("c", {.bytes = 60}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kGraph, "c").status().code(), absl::StatusCode::kNotFound);
  // What is there already needs no room, and neither do others' and answers of the cache.
  EXPECT_TRUE(put("a", {.documents = 2}).ok());
  EXPECT_TRUE(store_->PutDocument("other", DocumentKind::kGraph, {"c", "", ""}, {.documents = 1}).ok());
  EXPECT_TRUE(store_->ReplaceDocument("tenant", DocumentKind::kAnswer, {"c", "", ""}).ok());
  EXPECT_TRUE(store_->DeleteDocument("tenant", DocumentKind::kGraph, "a").ok());
  EXPECT_TRUE(put("c", {.documents = 2}).ok());
}

TEST_P(StoreContractTest, FindsDamage) {
  Put("a");
  ASSERT_TRUE(Execute("UPDATE documents SET content = $1", {Bytes{"something else entirely"}}).ok());
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kPlan, "a").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(store_->ReplaceDocument("tenant", DocumentKind::kPlan, {"a", "", "anew"}).ok());
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kPlan, "a")->content, "anew");
}

TEST_P(StoreContractTest, TextsMayHoldAnything) {
  const std::string odd = "'; DROP TABLE documents; -- \"$1\" \\ \xc3\xa9";
  EXPECT_TRUE(Put(odd, odd, odd));
  EXPECT_EQ(store_->FindDocument(odd, DocumentKind::kPlan, odd)->content, odd);
}

// ---- Claims

TEST_P(StoreContractTest, GivesAClaimToOneOwnerAtATime) {
  EXPECT_TRUE(store_->Claim("key", "a", kLease)->is_ours);
  EXPECT_FALSE(store_->Claim("key", "b", kLease)->is_ours);
  EXPECT_TRUE(store_->Claim("key", "a", kLease)->is_ours);
  EXPECT_EQ(store_->Claim("key", "b", kLease)->owner, "a");
  EXPECT_TRUE(store_->Claim("another", "b", kLease)->is_ours);
  ASSERT_TRUE(store_->Unclaim("key", "b").ok());
  EXPECT_FALSE(store_->Claim("key", "b", kLease)->is_ours);
  ASSERT_TRUE(store_->Unclaim("key", "a").ok());
  EXPECT_TRUE(store_->Claim("key", "b", kLease)->is_ours);
}

TEST_P(StoreContractTest, GivesAClaimAwayWhenItsLeaseIsOver) {
  EXPECT_TRUE(store_->Claim("key", "a", kLease)->is_ours);
  backend_->AdvanceClock(kLease.count() - 1000);
  EXPECT_FALSE(store_->Claim("key", "b", kLease)->is_ours);
  backend_->AdvanceClock(2000);
  EXPECT_TRUE(store_->Claim("key", "b", kLease)->is_ours);
  EXPECT_FALSE(store_->Claim("key", "a", kLease)->is_ours);
}

// ---- Operations: submitting

TEST_P(StoreContractTest, KeepsWhatIsSubmitted) {
  const Operation submitted = Submit("a", "name");
  EXPECT_EQ(submitted.id, "a");
  EXPECT_EQ(submitted.state, OperationState::kQueued);
  EXPECT_EQ(submitted.request, "request");
  EXPECT_EQ(submitted.request_id, "name");
  EXPECT_EQ(submitted.attempts, 0);
  EXPECT_GT(submitted.create_time, 0);
  EXPECT_EQ(submitted.start_time, 0);
  const Operation found = Find("a");
  EXPECT_EQ(found.request, "request");
  EXPECT_EQ(found.tenant, "tenant");
  EXPECT_EQ(store_->FindOperation("tenant", "a", OperationView::kShort)->request, "");
  EXPECT_EQ(store_->FindOperation("other", "a", OperationView::kShort).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->FindOperation("tenant", "b", OperationView::kShort).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreContractTest, TakesANamedRequestOnce) {
  EXPECT_EQ(Submit("a", "name").id, "a");
  EXPECT_EQ(Submit("b", "name").id, "a");
  EXPECT_EQ(Submit("c", "").id, "c");
  EXPECT_EQ(Submit("d", "").id, "d");
  EXPECT_EQ(store_->Submit("other", {{"e", "request"}, {}, "name"}, Quota())->id, "e");
  EXPECT_EQ(store_->Submit("tenant", {{"f", "another request"}, {}, "name"}, Quota()).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Listed({}), SizeIs(3));
}

TEST_P(StoreContractTest, TakesANamedRequestOnceFromManyCallers) {
  std::vector<std::string> ids(8);
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      callers.emplace_back([this, i, &ids] {
        ids[i] = store_->Submit("tenant", {{absl::StrCat("id", i), "request"}, {}, "name"}, Quota())->id;
      });
    }
  }
  EXPECT_THAT(ids, ::testing::Each(ids.front()));
  EXPECT_THAT(Listed({}), SizeIs(1));
}

TEST_P(StoreContractTest, TakesNoMoreThanTheQuotaOfOpenOperations) {
  const auto submit = [this](const std::string& id) {
    return store_->Submit("tenant", {{id, "request"}, {}, ""}, {.pending_operations = 2}).status();
  };
  EXPECT_TRUE(submit("a").ok());
  EXPECT_TRUE(submit("b").ok());
  EXPECT_EQ(submit("c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->FindOperation("tenant", "c", OperationView::kShort).status().code(), absl::StatusCode::kNotFound);
  const Operation taken = Take();
  ASSERT_TRUE(store_->EndOperation(taken.id, taken.fence, Succeeded("plan")).ok());
  EXPECT_TRUE(submit("c").ok());
}

TEST_P(StoreContractTest, ListsOperationsByState) {
  Submit("a");
  backend_->AdvanceClock(1000);
  Submit("b");
  const Operation taken = Take();
  EXPECT_EQ(taken.id, "a");
  EXPECT_THAT(Listed({}), ElementsAre("b", "a"));
  EXPECT_THAT(Listed({.state = OperationState::kQueued}), ElementsAre("b"));
  EXPECT_THAT(Listed({.state = OperationState::kRunning}), ElementsAre("a"));
  EXPECT_THAT(Listed({.state = OperationState::kFailed}), IsEmpty());
  const auto first = store_->ListOperations("tenant", {}, std::nullopt, 1).value();
  const auto second = store_->ListOperations("tenant", {}, PagePosition{first[0].create_time, first[0].id}, 1).value();
  EXPECT_EQ(second.at(0).id, "a");
}

// ---- Operations: running

TEST_P(StoreContractTest, RunsWhatHasWaitedLongest) {
  EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value(), std::nullopt);
  Submit("b");
  backend_->AdvanceClock(1000);
  Submit("a");
  const Operation first = Take();
  EXPECT_EQ(first.id, "b");
  EXPECT_EQ(first.state, OperationState::kRunning);
  EXPECT_EQ(first.attempts, 1);
  EXPECT_GT(first.start_time, 0);
  EXPECT_EQ(first.request, "request");
  EXPECT_EQ(Take().id, "a");
  EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value(), std::nullopt);
}

TEST_P(StoreContractTest, TenantsHaveTheirTurnsAsTheyAreOrdered) {
  for (const char* id : {"a1", "a2"}) {
    ASSERT_TRUE(store_->Submit("alice", {{id, "request"}, {}, ""}, Quota()).ok());
    backend_->AdvanceClock(1000);
  }
  ASSERT_TRUE(store_->Submit("bob", {{"b1", "request"}, {}, ""}, Quota()).ok());
  std::vector<std::string> waiting;
  const auto last_first = [&waiting](const std::vector<std::string>& tenants) {
    waiting = tenants;
    return std::vector<std::string>(tenants.rbegin(), tenants.rend());
  };
  EXPECT_EQ(store_->TakeOperation(kLease, last_first).value()->id, "b1");
  EXPECT_THAT(waiting, ElementsAre("alice", "bob"));
  EXPECT_EQ(store_->TakeOperation(kLease, last_first).value()->id, "a1");
  EXPECT_THAT(waiting, ElementsAre("alice"));
  const auto nobody = [](const std::vector<std::string>&) { return std::vector<std::string>(); };
  EXPECT_EQ(store_->TakeOperation(kLease, nobody).value(), std::nullopt);
  EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value()->id, "a2");
}

TEST_P(StoreContractTest, EndsAnOperationOnce) {
  Submit("a");
  const Operation taken = Take();
  EXPECT_TRUE(store_->EndOperation("a", taken.fence, Succeeded("plan")).ok());
  // Said again, as after a broken connection.
  EXPECT_TRUE(store_->EndOperation("a", taken.fence, Succeeded("another plan")).ok());
  const Operation ended = Find("a");
  EXPECT_EQ(ended.state, OperationState::kSucceeded);
  EXPECT_EQ(ended.result, "plan");
  EXPECT_EQ(ended.summary, "short plan");
  EXPECT_GT(ended.end_time, 0);
  EXPECT_EQ(store_->EndOperation("a", taken.fence + 1, Succeeded("x")).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_->RenewLease("a", taken.fence, kLease).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value(), std::nullopt);
}

TEST_P(StoreContractTest, HandsOnTheWorkOfADeadWorkerAndRefusesItsWrites) {
  Submit("a");
  const Operation first = Take();
  ASSERT_TRUE(store_->SaveIncumbent("a", first.fence, "incumbent", "12.5 ms").ok());
  backend_->AdvanceClock(kLease.count() - 1000);
  EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value(), std::nullopt);
  backend_->AdvanceClock(2000);
  const Operation second = Take();
  EXPECT_EQ(second.id, "a");
  EXPECT_EQ(second.incumbent, "incumbent");
  EXPECT_EQ(second.progress, "12.5 ms");
  EXPECT_EQ(second.attempts, 2);
  EXPECT_EQ(second.start_time, first.start_time);
  EXPECT_GT(second.fence, first.fence);
  EXPECT_EQ(store_->SaveIncumbent("a", first.fence, "late", "").code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_->RenewLease("a", first.fence, kLease).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_->ReturnOperation("a", first.fence).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_->EndOperation("a", first.fence, Succeeded("late")).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(store_->EndOperation("a", second.fence, Succeeded("plan")).ok());
  EXPECT_EQ(Find("a").result, "plan");
}

TEST_P(StoreContractTest, LeavesRenewedWorkToItsWorker) {
  Submit("a");
  const Operation taken = Take();
  for (int i = 0; i < 3; ++i) {
    backend_->AdvanceClock(kLease.count() - 1000);
    EXPECT_FALSE(store_->RenewLease("a", taken.fence, kLease).value());
  }
  EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value(), std::nullopt);
}

// A clock that jumps takes work away too early; nothing is lost or written twice.
TEST_P(StoreContractTest, SurvivesJumpsOfTheClock) {
  constexpr int kJobs = 10;
  int written = 0;
  for (int i = 0; i < kJobs; ++i) {
    const std::string id = absl::StrCat("job", i);
    Submit(id);
    const Operation first = Take();
    backend_->AdvanceClock(365 * kDay);
    const Operation second = Take();
    backend_->AdvanceClock(-2 * 365 * kDay);
    EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value(), std::nullopt);
    EXPECT_EQ(store_->EndOperation(id, first.fence, Succeeded("first")).code(), absl::StatusCode::kAborted);
    if (store_->EndOperation(id, second.fence, Succeeded("second")).ok() && Find(id).result == "second") ++written;
  }
  std::cout << "clock jumps, " << GetParam() << ": " << 2 * kJobs << " jumps, submitted " << kJobs << ", written once "
            << written << ", lost " << kJobs - written << "\n";
  EXPECT_EQ(written, kJobs);
}

TEST_P(StoreContractTest, PutsReturnedWorkBackIntoTheQueue) {
  Submit("a");
  const Operation first = Take();
  ASSERT_TRUE(store_->SaveIncumbent("a", first.fence, "incumbent", "").ok());
  ASSERT_TRUE(store_->ReturnOperation("a", first.fence).ok());
  EXPECT_EQ(Find("a").state, OperationState::kQueued);
  const Operation second = Take();
  EXPECT_EQ(second.incumbent, "incumbent");
  EXPECT_EQ(second.attempts, 2);
}

// Several servers, each with its own way into the database.
TEST_P(StoreContractTest, GivesEveryJobToOneOfManyWorkers) {
  constexpr int kJobs = 40;
  for (int i = 0; i < kJobs; ++i) Submit(absl::StrCat("job", i));
  std::atomic<int> ended{0};
  {
    std::vector<std::jthread> workers;
    for (int worker = 0; worker < 4; ++worker) {
      workers.emplace_back([&] {
        const std::unique_ptr<Store> store = MakeStore();
        for (auto job = store->TakeOperation(kLease, &ByName); job.ok() && job->has_value();
             job = store->TakeOperation(kLease, &ByName)) {
          if (store->EndOperation((*job)->id, (*job)->fence, Succeeded("plan")).ok()) ++ended;
        }
      });
    }
  }
  EXPECT_EQ(ended, kJobs);
  for (int i = 0; i < kJobs; ++i) EXPECT_EQ(Find(absl::StrCat("job", i)).attempts, 1);
}

TEST_P(StoreContractTest, DamagedJobsDoNotStandInTheWayOfOthers) {
  SubmitSweep("damaged", 1);
  backend_->AdvanceClock(1000);
  Submit("sound");
  ASSERT_TRUE(Execute("UPDATE operations SET request = $1 WHERE id = $2", {Bytes{"rubbish"}, "damaged-0"}).ok());
  EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value(), std::nullopt);
  EXPECT_EQ(Take().id, "sound");
  const auto damaged = store_->FindOperation("tenant", "damaged-0", OperationView::kShort);
  EXPECT_EQ(damaged->state, OperationState::kFailed);
  EXPECT_EQ(Find("damaged").state, OperationState::kSucceeded);
}

TEST_P(StoreContractTest, GoesWithoutADamagedIncumbent) {
  Submit("a");
  ASSERT_TRUE(Execute("UPDATE operations SET incumbent = $1", {Bytes{"rubbish"}}).ok());
  EXPECT_EQ(Take().incumbent, "");
}

// ---- Operations: cancelling

TEST_P(StoreContractTest, CancelsWhatWaitsAtOnce) {
  Submit("a");
  EXPECT_TRUE(store_->RequestCancel("tenant", "a").ok());
  const Operation cancelled = Find("a");
  EXPECT_EQ(cancelled.state, OperationState::kCancelled);
  EXPECT_GT(cancelled.end_time, 0);
  EXPECT_EQ(store_->TakeOperation(kLease, &ByName).value(), std::nullopt);
  EXPECT_TRUE(store_->RequestCancel("tenant", "a").ok());
  EXPECT_EQ(Find("a").end_time, cancelled.end_time);
  EXPECT_EQ(store_->RequestCancel("other", "a").code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreContractTest, TellsAWorkerToStop) {
  Submit("a");
  const Operation taken = Take();
  ASSERT_TRUE(store_->RequestCancel("tenant", "a").ok());
  EXPECT_EQ(Find("a").state, OperationState::kRunning);
  EXPECT_TRUE(store_->RenewLease("a", taken.fence, kLease).value());
  EXPECT_TRUE(store_->EndOperation("a", taken.fence, {OperationState::kCancelled, "best so far", ""}).ok());
  EXPECT_TRUE(store_->RequestCancel("tenant", "a").ok());
  EXPECT_EQ(Find("a").result, "best so far");
}

TEST_P(StoreContractTest, LeavesWhatHasEndedAsItIs) {
  Submit("a");
  const Operation taken = Take();
  ASSERT_TRUE(store_->EndOperation("a", taken.fence, Succeeded("plan")).ok());
  EXPECT_TRUE(store_->RequestCancel("tenant", "a").ok());
  EXPECT_EQ(Find("a").state, OperationState::kSucceeded);
  EXPECT_FALSE(Find("a").cancel_requested);
}

// ---- Operations with rows

TEST_P(StoreContractTest, EndsASweepWithItsLastRow) {
  const Operation sweep = SubmitSweep("sweep", 3);
  EXPECT_EQ(sweep.state, OperationState::kRunning);
  EXPECT_TRUE(sweep.has_rows);
  EXPECT_THAT(Listed({}), ElementsAre("sweep"));
  EXPECT_THAT(Listed({.parent = "sweep"}), SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Find("sweep").state, OperationState::kRunning);
    const Operation row = Take();
    EXPECT_EQ(row.request, absl::StrCat("row ", i));
    EXPECT_EQ(row.parent, "sweep");
    const OperationState state = i == 1 ? OperationState::kFailed : OperationState::kSucceeded;
    ASSERT_TRUE(store_->EndOperation(row.id, row.fence, {state, "result", "short"}).ok());
  }
  EXPECT_EQ(Find("sweep").state, OperationState::kSucceeded);
  EXPECT_GT(Find("sweep").end_time, 0);
  const auto rows = store_->ListRows("tenant", "sweep").value();
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[1].state, OperationState::kFailed);
  EXPECT_EQ(rows[2].summary, "short");
}

TEST_P(StoreContractTest, EndsASweepWhoseRowsEndAtTheSameTime) {
  for (int round = 0; round < 10; ++round) {
    const std::string id = absl::StrCat("sweep", round);
    SubmitSweep(id, 4);
    std::vector<Operation> rows;
    for (int i = 0; i < 4; ++i) rows.push_back(Take());
    {
      std::vector<std::jthread> workers;
      for (const Operation& row : rows) {
        workers.emplace_back([&, row] {
          const absl::Status ended = store_->EndOperation(row.id, row.fence, Succeeded("plan"));
          EXPECT_TRUE(ended.ok()) << ended;
        });
      }
    }
    EXPECT_EQ(Find(id).state, OperationState::kSucceeded) << round;
  }
}

TEST_P(StoreContractTest, CancelsASweepWithItsRows) {
  SubmitSweep("sweep", 3);
  const Operation row = Take();
  ASSERT_TRUE(store_->RequestCancel("tenant", "sweep").ok());
  EXPECT_EQ(Find("sweep").state, OperationState::kRunning);
  EXPECT_EQ(Find("sweep-2").state, OperationState::kCancelled);
  EXPECT_TRUE(store_->RenewLease(row.id, row.fence, kLease).value());
  ASSERT_TRUE(store_->EndOperation(row.id, row.fence, {OperationState::kCancelled, "", ""}).ok());
  EXPECT_EQ(Find("sweep").state, OperationState::kCancelled);
}

TEST_P(StoreContractTest, EndsASweepWithItsLastRowWhenThatIsCancelled) {
  SubmitSweep("sweep", 2);
  const Operation row = Take();
  ASSERT_TRUE(store_->EndOperation(row.id, row.fence, Succeeded("plan")).ok());
  ASSERT_TRUE(store_->RequestCancel("tenant", "sweep-1").ok());
  EXPECT_EQ(Find("sweep").state, OperationState::kSucceeded);
}

// ---- Housekeeping

TEST_P(StoreContractTest, ForgetsWhatHasBeenKeptLongEnough) {
  Put("old");
  Submit("ended");
  Submit("open");
  SubmitSweep("sweep", 1);
  for (int i = 0; i < 3; ++i) {
    const Operation taken = Take();
    if (taken.id == "open") continue;
    ASSERT_TRUE(store_->EndOperation(taken.id, taken.fence, Succeeded("plan")).ok());
  }
  const Store::Retention retention{.documents = hours(240), .operations = hours(48)};
  EXPECT_EQ(store_->Sweep(retention).value(), 0);
  PassDays(3);
  Put("new");
  EXPECT_EQ(store_->Sweep(retention).value(), 3);
  EXPECT_THAT(Listed({}), ElementsAre("open"));
  EXPECT_EQ(store_->FindOperation("tenant", "sweep-0", OperationView::kShort).status().code(),
            absl::StatusCode::kNotFound);
  PassDays(8);
  EXPECT_EQ(store_->Sweep(retention).value(), 1);
  EXPECT_TRUE(store_->FindDocument("tenant", DocumentKind::kPlan, "new").ok());
}

TEST_P(StoreContractTest, KeepsWhatIsUsed) {
  Put("used");
  Put("unused");
  for (int day = 0; day < 20; ++day) {
    PassDays(2);
    EXPECT_TRUE(store_->FindDocument("tenant", DocumentKind::kPlan, "used").ok());
  }
  EXPECT_EQ(store_->Sweep({.documents = hours(240)}).value(), 1);
  EXPECT_TRUE(store_->FindDocument("tenant", DocumentKind::kPlan, "used").ok());
}

TEST_P(StoreContractTest, ForgetsAnswersThatTakeTooMuchRoom) {
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(store_->ReplaceDocument("tenant", DocumentKind::kAnswer, {id, std::string(100, 'x'), "answer"}).ok());
    backend_->AdvanceClock(1000);
  }
  Put("plan");
  EXPECT_EQ(store_->Sweep({.answer_bytes = 2048}).value(), 1);
  EXPECT_EQ(store_->FindDocument("tenant", DocumentKind::kAnswer, "a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_->FindDocument("tenant", DocumentKind::kAnswer, "b").ok());
  EXPECT_TRUE(store_->FindDocument("tenant", DocumentKind::kPlan, "plan").ok());
}

TEST_P(StoreContractTest, ForgetsTheLongestUnusedPlansThatAreTooMany) {
  for (const char* id : {"a", "b", "c"}) {
    Put(id);
    Put(id, "content", "other");
    backend_->AdvanceClock(2 * kDay);
  }
  Put("only", "content", "third");
  ASSERT_TRUE(store_->PutDocument("tenant", DocumentKind::kGraph, {"graph", "", "content"}, Quota()).ok());
  EXPECT_EQ(store_->Sweep({.items = 3}).value(), 0);
  ASSERT_TRUE(store_->FindDocument("tenant", DocumentKind::kPlan, "a").ok());
  // One of each of the two tenants that have three.
  EXPECT_EQ(store_->Sweep({.items = 2}).value(), 2);
  EXPECT_THAT(ListedPlans("tenant"), ElementsAre("c", "a"));
  EXPECT_THAT(ListedPlans("other"), ElementsAre("c", "b"));
  EXPECT_THAT(ListedPlans("third"), ElementsAre("only"));
  EXPECT_TRUE(store_->FindDocument("tenant", DocumentKind::kGraph, "graph").ok());
}

TEST_P(StoreContractTest, ForgetsTheLongestUnusedPlansThatTakeTooMuchRoom) {
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(
        store_->PutDocument("tenant", DocumentKind::kPlan, {id, std::string(100, 'x'), "content"}, Quota()).ok());
    backend_->AdvanceClock(1000);
  }
  EXPECT_EQ(store_->Sweep({.bytes = 500}).value(), 0);
  EXPECT_EQ(store_->Sweep({.bytes = 300}).value(), 1);
  EXPECT_THAT(ListedPlans("tenant"), ElementsAre("c", "b"));
}

TEST_P(StoreContractTest, ForgetsTheFirstEndedOperationsThatAreTooMany) {
  for (const char* id : {"a", "b", "c"}) {
    Submit(id);
    End(Take());
    backend_->AdvanceClock(1000);
  }
  Submit("running");
  Take();
  Submit("queued");
  EXPECT_EQ(store_->Sweep({.items = 3}).value(), 0);
  EXPECT_EQ(store_->Sweep({.items = 2}).value(), 1);
  EXPECT_THAT(Listed({}), UnorderedElementsAre("queued", "running", "c", "b"));
  // What has not ended stays, whatever it takes.
  EXPECT_EQ(store_->Sweep({.bytes = 1}).value(), 2);
  EXPECT_THAT(Listed({}), UnorderedElementsAre("queued", "running"));
}

TEST_P(StoreContractTest, ForgetsTheFirstEndedOperationsThatTakeTooMuchRoom) {
  for (const char* id : {"a", "b", "c"}) {
    Submit(id);
    const Operation taken = Take();
    ASSERT_TRUE(
        store_->EndOperation(taken.id, taken.fence, {OperationState::kSucceeded, "plan", std::string(1000, 'x')}).ok());
    backend_->AdvanceClock(1000);
  }
  EXPECT_EQ(store_->Sweep({.bytes = 4000}).value(), 0);
  EXPECT_EQ(store_->Sweep({.bytes = 2500}).value(), 1);
  EXPECT_THAT(Listed({}), ElementsAre("c", "b"));
}

TEST_P(StoreContractTest, ASweepIsForgottenWithItsRowsOnceAllHaveEnded) {
  SubmitSweep("sweep", 2);
  End(Take());
  EXPECT_EQ(store_->Sweep({.items = 1}).value(), 0);
  End(Take());
  EXPECT_EQ(store_->Sweep({.items = 3}).value(), 0);
  backend_->AdvanceClock(1000);
  Submit("later");
  End(Take());
  EXPECT_EQ(store_->Sweep({.items = 3}).value(), 3);
  EXPECT_THAT(Listed({}), ElementsAre("later"));
  EXPECT_EQ(store_->FindOperation("tenant", "sweep-0", OperationView::kShort).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_P(StoreContractTest, SurvivesItsProcess) {
  Put("a");
  Submit("job");
  store_ = MakeStore();
  EXPECT_TRUE(store_->FindDocument("tenant", DocumentKind::kPlan, "a").ok());
  EXPECT_EQ(Take().id, "job");
}

TEST_P(StoreContractTest, ForgetsAFewAtATime) {
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    Put(id);
    Submit(id);
    ASSERT_TRUE(store_->EndOperation(id, Take().fence, Succeeded("plan")).ok());
    ASSERT_TRUE(store_->ReplaceDocument("tenant", DocumentKind::kAnswer, {id, std::string(100, 'x'), "answer"}).ok());
    backend_->AdvanceClock(kDay);
  }
  const Store::Retention retention{.items = 1, .answer_bytes = 1500, .rows_at_once = 2};
  for (const int64_t deleted : {6, 6, 0}) EXPECT_EQ(store_->Sweep(retention).value(), deleted);
  EXPECT_THAT(ListedPlans("tenant"), ElementsAre("e"));
  EXPECT_THAT(Listed({}), ElementsAre("e"));
  EXPECT_TRUE(store_->FindDocument("tenant", DocumentKind::kAnswer, "e").ok());
}

TEST_P(StoreContractTest, WhatIsTooOldGoesAFewAtATime) {
  for (const char* id : {"a", "b", "c"}) Put(id);
  PassDays(2);
  const Store::Retention retention{.documents = hours(24), .rows_at_once = 2};
  for (const int64_t deleted : {2, 1, 0}) EXPECT_EQ(store_->Sweep(retention).value(), deleted);
}

TEST_P(StoreContractTest, AnswersMakeRoomForNewOnesWhenTheyArePut) {
  constexpr int64_t kMost = 20 * 1024;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(store_->PutAnswer("", {absl::StrCat("answer", i), "", "content"}, kMost).ok());
    backend_->AdvanceClock(1);
  }
  const auto answers = store_->ListDocuments("", DocumentKind::kAnswer, std::nullopt, 100).value();
  EXPECT_LE(answers.size(), 20U);
  EXPECT_GE(answers.size(), 15U);
  EXPECT_EQ(answers.front().id, "answer39");
  // A row that is small counts, too: a limit of bytes alone would let any number of them in.
  EXPECT_EQ(answers.back().id, absl::StrCat("answer", 40 - answers.size()));
}

TEST_P(StoreContractTest, TakesNoMoreBytesOfOpenOperationsThanTheQuota) {
  const auto submit = [this](const std::string& tenant, const std::string& id, const Quota& quota) {
    std::string noise;
    std::mt19937 random(1);
    for (int i = 0; i < 10'000; ++i) noise.push_back(static_cast<char>(random()));
    return store_->Submit(tenant, {{id, "grid"}, {{id + "-0", noise}}, ""}, quota).status();
  };
  const Quota own{.bytes = 25'000};
  EXPECT_TRUE(submit("tenant", "a", own).ok());
  EXPECT_TRUE(submit("tenant", "b", own).ok());
  const absl::Status refused = submit("tenant", "c", own);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_EQ(store_->FindOperation("tenant", "c-0", OperationView::kShort).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(submit("other", "d", own).ok());
  const absl::Status all = submit("third", "e", {.all_pending_bytes = 35'000});
  EXPECT_EQ(all.code(), absl::StatusCode::kResourceExhausted) << all;
  for (int i = 0; i < 3; ++i) End(Take());
  EXPECT_TRUE(submit("third", "e", {.all_pending_bytes = 35'000}).ok());
}

TEST_P(StoreContractTest, QuotasHoldForManyCallersAtOnce) {
  const Quota quota{.documents = 3, .pending_operations = 3};
  std::atomic<int> put{0};
  std::atomic<int> submitted{0};
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 12; ++i) {
      callers.emplace_back([&, i] {
        const std::string id = absl::StrCat("id", i);
        put += store_->PutDocument("tenant", DocumentKind::kPlan, {id, "", std::string(20'000, 'x')}, quota).ok();
        submitted += store_->Submit("tenant", {{id, "request"}, {}, ""}, quota).ok();
      });
    }
  }
  EXPECT_EQ(put, 3);
  EXPECT_EQ(submitted, 3);
  EXPECT_THAT(ListedPlans("tenant"), SizeIs(3));
  EXPECT_THAT(Listed({}), SizeIs(3));
}

TEST_P(StoreContractTest, AClockThatLeapsMakesNothingOld) {
  Put("plan");
  Submit("ended");
  End(Take());
  // Whether it was swept before or not.
  for (const int64_t leap : {40 * kDay, 400 * kDay}) {
    backend_->AdvanceClock(leap);
    EXPECT_EQ(store_->Sweep({}).value(), 0);
    ASSERT_TRUE(store_->Check().ok());
    EXPECT_NE(store_->health().warning.find("clock"), std::string::npos);
    EXPECT_THAT(ListedPlans("tenant"), ElementsAre("plan"));
  }
  // It is right again: nothing is left of the leaps.
  backend_->AdvanceClock(-440 * kDay);
  EXPECT_EQ(store_->Sweep({}).value(), 0);
  ASSERT_TRUE(store_->Check().ok());
  EXPECT_EQ(store_->health().warning, "");
}

TEST_P(StoreContractTest, WhatAgesInDaysThatPassGoesAfterALeap) {
  Put("plan");
  backend_->AdvanceClock(40 * kDay);
  int64_t deleted = 0;
  int days = 1;
  for (; deleted == 0 && days < 100; ++days) {
    deleted = store_->Sweep({}).value();
    backend_->AdvanceClock(kDay / 2);
    deleted += store_->Sweep({}).value();
    backend_->AdvanceClock(kDay / 2);
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_GE(days, 29);
  EXPECT_LE(days, 32);
}

TEST_P(StoreContractTest, TakesOverFromADeadWorkerWhoseClockWasAhead) {
  Submit("a");
  ASSERT_TRUE(store_->Check().ok());
  backend_->AdvanceClock(3'600'000);
  const Operation first = Take();
  backend_->AdvanceClock(-3'600'000);
  constexpr milliseconds kShort{200};
  EXPECT_EQ(store_->TakeOperation(kShort, &ByName).value(), std::nullopt);
  // One that renews it lives, whatever the clock says.
  std::this_thread::sleep_for(milliseconds(5));
  ASSERT_TRUE(store_->RenewLease("a", first.fence, milliseconds(3'600'000)).ok());
  EXPECT_EQ(store_->TakeOperation(kShort, &ByName).value(), std::nullopt);
  std::this_thread::sleep_for(2 * kShort);
  const auto second = store_->TakeOperation(kShort, &ByName).value();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->id, "a");
  EXPECT_GT(second->fence, first.fence);
}

TEST_P(StoreContractTest, AClaimFromAClockThatWasAheadIsFree) {
  backend_->AdvanceClock(3'600'000);
  EXPECT_TRUE(store_->Claim("key", "a", kLease)->is_ours);
  backend_->AdvanceClock(-3'600'000);
  EXPECT_TRUE(store_->Claim("key", "b", kLease)->is_ours);
  EXPECT_FALSE(store_->Claim("key", "c", kLease)->is_ours);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContractTest, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreContractTest, testing::Values("postgresql"));

}  // namespace
}  // namespace planwright::server
