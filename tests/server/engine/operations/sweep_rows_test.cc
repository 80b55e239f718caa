#include "server/engine/operations/sweep_rows.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "server/store/open_store.h"
#include "tests/support/wire.h"

namespace planwright::server {
namespace {

constexpr char kTenant[] = "a";

// A store with a sweep of four rows, in the format of `row`.
class SweepRowsTest : public testing::Test {
 protected:
  SweepRowsTest() {
    const std::string file = testing::TempDir() + "/sweep_rows_test.db";
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file + end);
    store_ = OpenStore("sqlite:" + file, /*migrate=*/false).value();
    const auto sweep = Wire<v1::SweepPlansRequest>(
        "plan_request { graph_reference: 'zoo:bert-base' problem { micro_batches: 7 num_stages: 9 } } "
        "num_stages: 1 num_stages: 2 max_devices: 4 max_devices: 8");
    Submission submission{
        .operation = {.id = "sweep-1", .request = sweep.SerializeAsString()}, .rows = {}, .request_id = ""};
    for (int64_t i = 0; i < 4; ++i) {
      submission.rows.push_back({.id = "row-" + std::to_string(i), .request = RowBytes(i)});
    }
    EXPECT_TRUE(store_->Submit(kTenant, submission, Quota{}).ok());
  }

  Operation Row(const std::string& id) { return store_->FindOperation(kTenant, id, OperationView::kFull).value(); }

  std::unique_ptr<Store> store_;
};

TEST_F(SweepRowsTest, ARowIsTheSharedRequestWithItsSettings) {
  const absl::StatusOr<v1::CreatePlanRequest> request = RequestOf(*store_, Row("row-2"));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->graph_reference(), "zoo:bert-base");
  EXPECT_EQ(request->problem().micro_batches(), 7);
  EXPECT_EQ(request->problem().num_stages(), 2);
  EXPECT_EQ(request->problem().devices_to_use().max_devices(), 4);
}

TEST_F(SweepRowsTest, RowsThatHoldAWholeRequestAreReadAsBefore) {
  Operation row = Row("row-0");
  row.request = Wire<v1::CreatePlanRequest>("graph_reference: 'zoo:vgg16'").SerializeAsString();
  EXPECT_EQ(RequestOf(*store_, row).value().graph_reference(), "zoo:vgg16");
}

TEST_F(SweepRowsTest, DamagedRowsAndUnknownFormatsAreDataLoss) {
  for (const std::string& bytes : {std::string("\0", 1),
                                   std::string("\0\2"
                                               "1",
                                               3),
                                   std::string("\0\1x", 3), RowBytes(4), RowBytes(-1), std::string("garbage")}) {
    Operation row = Row("row-0");
    row.request = bytes;
    EXPECT_EQ(RequestOf(*store_, row).status().code(), absl::StatusCode::kDataLoss) << bytes;
  }
}

TEST_F(SweepRowsTest, ARowIsAFewBytes) { EXPECT_LT(RowBytes(999'999).size(), 16U); }

}  // namespace
}  // namespace planwright::server
