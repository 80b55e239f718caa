// What a fault test sent, what came back and what was lost.
#ifndef PLANWRIGHT_TESTS_INTEGRATION_FAULT_TALLY_H_
#define PLANWRIGHT_TESTS_INTEGRATION_FAULT_TALLY_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>

namespace planwright {

// Counts the calls of one test and prints the counts when it is destroyed. Used by one thread.
class FaultTally {
 public:
  explicit FaultTally(std::string fault) : fault_(std::move(fault)) {}
  ~FaultTally() {
    std::cout << fault_ << ": sent " << answered_ + refused_ + lost_ << ", answered " << answered_
              << ", refused with the right code " << refused_ << ", lost " << lost_ << "\n";
  }
  FaultTally(const FaultTally&) = delete;
  FaultTally& operator=(const FaultTally&) = delete;

  // A call that has ended with `status` and should have ended with `expected`; if not, it is lost and the test fails.
  void Count(const grpc::Status& status, grpc::StatusCode expected = grpc::StatusCode::OK) {
    EXPECT_EQ(status.error_code(), expected) << fault_ << ": " << status.error_message();
    if (status.error_code() != expected) {
      ++lost_;
    } else if (status.ok()) {
      ++answered_;
    } else {
      ++refused_;
    }
  }

 private:
  const std::string fault_;
  int answered_ = 0;
  int refused_ = 0;
  int lost_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_INTEGRATION_FAULT_TALLY_H_
