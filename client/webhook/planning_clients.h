// planwrightd in the name of the namespaces that jobs come from.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_PLANNING_CLIENTS_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_PLANNING_CLIENTS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/library/planning_client.h"
#include "client/library/server_connection.h"

namespace planwright::webhook {

// Who asks: tokens by namespace. What one tenant has registered does not serve another.
struct Tokens {
  // For namespaces that are not listed; empty: none is shown.
  std::string other;
  std::map<std::string, std::string, std::less<>> by_namespace;

  const std::string& Of(std::string_view name_space) const;
};

// Reads --token_file and --tokens_file; an empty name: none. INVALID_ARGUMENT, naming the flag: a file that cannot be
// read, is no map of texts, or holds a token that is not printable ASCII.
absl::StatusOr<Tokens> ReadTokens(const std::string& token_file, const std::string& tokens_file);

// One client for each token, made when it is needed first. Thread-safe.
class PlanningClients {
 public:
  // `connection`: without a token.
  explicit PlanningClients(client::ServerConnection connection) : connection_(std::move(connection)) {}

  // Holds for later calls of For.
  void SetTokens(Tokens tokens);

  // Lives as long as whoever holds it.
  std::shared_ptr<client::PlanningClient> For(std::string_view name_space);

 private:
  const client::ServerConnection connection_;
  std::mutex mutex_;
  // Guarded by mutex_.
  Tokens tokens_;
  std::map<std::string, std::shared_ptr<client::PlanningClient>> by_token_;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_PLANNING_CLIENTS_H_
