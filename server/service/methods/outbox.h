// What a stream has still to write.
#ifndef PLANWRIGHT_SERVER_SERVICE_METHODS_OUTBOX_H_
#define PLANWRIGHT_SERVER_SERVICE_METHODS_OUTBOX_H_

#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <mutex>
#include <optional>

#include "server/serving/admission/unsent_answers.h"

namespace planwright::server {

struct OutgoingMessage {
  grpc::ByteBuffer bytes;
  // Counts them; nullptr: they are not counted.
  UnsentAnswers::Hold hold;
};

// Messages on their way to one reader, in the order of their time. Of each kind at most one waits: the latest, which
// takes the place of the one before. So a slow reader costs a bounded amount of memory and never holds up the search.
// Thread-safe.
//
// Whoever gets a Step carries it out. Invariants: (1) at most one write is in flight, from the Step that holds its
// message to the next WriteDone; (2) exactly one Step says to finish, and no Step follows it.
class Outbox {
 public:
  struct Step {
    // To be written now.
    std::optional<OutgoingMessage> message;
    // To be ended now: everything is written, or nothing more can be.
    bool finish = false;
  };

  // REQUIRES: Close has not been called.
  Step Add(int kind, OutgoingMessage message);
  // The write in flight has ended. `ok` = false: the reader has gone; what waits is dropped, as is all that comes.
  Step WriteDone(bool ok);
  // Nothing more will be added.
  Step Close();

 private:
  struct Waiting {
    int kind = 0;
    OutgoingMessage message;
  };

  // REQUIRES: mutex_ is held.
  Step Next();

  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Waiting> waiting_;
  bool is_writing_ = false;
  bool is_broken_ = false;
  bool is_closed_ = false;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_METHODS_OUTBOX_H_
