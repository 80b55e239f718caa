// The file that says which server is asked where neither flags nor environment do.
//
// Each line is a flag of the group "Server" without its hyphens: "server = plan.example.com:50051", "tls = true",
// "tls_ca_file = /etc/ssl/plan.pem", "token_file = /home/me/token". Lines that begin with # are comments.
#ifndef PLANWRIGHT_CLIENT_CLI_CONNECTION_FILE_H_
#define PLANWRIGHT_CLIENT_CLI_CONNECTION_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/library/server_connection.h"

namespace planwright::client {

// $XDG_CONFIG_HOME/planwright/config, else that of ~/.config; empty: there is no home.
std::string ConnectionFilePath();

// What the file at `path` says; nothing where there is no such file. INVALID_ARGUMENT with the line that is wrong.
absl::StatusOr<ServerConnection> ReadConnectionFile(const std::string& path);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_CONNECTION_FILE_H_
