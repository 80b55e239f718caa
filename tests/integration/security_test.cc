// Who may reach the real server, and what they may do there.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "planwright/v1/planning_service.grpc.pb.h"
#include "tests/integration/daemon_process.h"

namespace planwright {
namespace {

using testing::HasSubstr;
using testing::Not;

// A folder of certificates and settings that goes when the test does.
class SecretFolder {
 public:
  SecretFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "planwright_tls_XXXXXX";
    path_ = mkdtemp(pattern.data());
    MakeAuthority("ca");
    MakeCertificate("ca", "server", "localhost");
  }
  ~SecretFolder() { std::filesystem::remove_all(path_); }
  SecretFolder(const SecretFolder&) = delete;
  SecretFolder& operator=(const SecretFolder&) = delete;

  // NAME.pem and NAME.key: an authority, or a certificate for `subject` that `authority` has signed.
  void MakeAuthority(const std::string& name) const { Openssl("-subj /CN=" + name, name); }
  void MakeCertificate(const std::string& authority, const std::string& name, const std::string& subject) const {
    MakeCertificate(authority, name, subject, "DNS:" + subject);
  }
  // `alternative`: "URI:spiffe://cluster/scheduler", as openssl writes them.
  void MakeCertificate(const std::string& authority, const std::string& name, const std::string& subject,
                       const std::string& alternative) const {
    Openssl("-CA " + File(authority + ".pem") + " -CAkey " + File(authority + ".key") + " -subj /CN=\"" + subject +
                "\" -addext subjectAltName=" + alternative,
            name);
  }
  // NAME.crl: the list of an authority, with those certificates of its own on it that are named.
  void Revoke(const std::string& authority, const std::string& name, const std::vector<std::string>& revoked) const {
    Write("index", "");
    Write("openssl.cnf", "[ca]\ndefault_ca = own\n[own]\ndatabase = " + File("index") + "\ndefault_md = sha256\n");
    const std::string signer = "openssl ca -config " + File("openssl.cnf") + " -cert " + File(authority + ".pem") +
                               " -keyfile " + File(authority + ".key");
    for (const std::string& certificate : revoked) Run(signer + " -revoke " + File(certificate + ".pem"));
    Run(signer + " -gencrl -crldays 2 -out " + File(name + ".crl"));
  }

  std::string File(const std::string& name) const { return path_ / name; }
  std::string Read(const std::string& name) const {
    std::ifstream stream(File(name));
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(File(name)) << text; }
  void Copy(const std::string& from, const std::string& to) const {
    for (const char* kind : {".pem", ".key"}) {
      std::filesystem::copy_file(File(from + kind), File(to + kind), std::filesystem::copy_options::overwrite_existing);
    }
  }

  std::vector<std::string> TlsFlags() const {
    return {"--tls_cert_file=" + File("server.pem"), "--tls_key_file=" + File("server.key")};
  }
  // Clients need a certificate of the same authority.
  std::vector<std::string> MutualTlsFlags() const {
    std::vector<std::string> flags = TlsFlags();
    flags.push_back("--tls_client_ca_file=" + File("ca.pem"));
    return flags;
  }

 private:
  void Openssl(const std::string& arguments, const std::string& name) const {
    const std::string command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 " +
                                arguments + " -keyout " + File(name + ".key") + " -out " + File(name + ".pem");
    Run(command);
  }
  static void Run(const std::string& command) {
    if (std::system((command + " 2>/dev/null").c_str()) != 0) throw std::runtime_error("fails: " + command);
  }

  std::filesystem::path path_;
};

std::string AuthConfig(const std::string& tokens, const std::string& certificates = "") {
  return "{\"tokens\": [" + tokens + "], \"certificates\": [" + certificates + "]}";
}

// Entries for "planner-token" and "reader-token", by their SHA-256.
constexpr char kPlannerToken[] = R"json({"name": "ci", "tenant": "team-a", "role": "planner",
  "sha256": "5e85d4b77f1514ef8f44826456cddc57cfb735c901f5ef483cf6824debc6e9c0"})json";
constexpr char kReaderToken[] = R"json({"name": "look", "role": "reader",
  "sha256": "ba5005a40cf5212e4ac0190104cc127edab013294bb71279a975b27a80982d45"})json";

// A channel of its own, so that every one shakes hands anew.
struct SecureCaller {
  std::string ca = {};
  std::string certificate = {};
  std::string key = {};
  std::string token = {};

  std::unique_ptr<v1::PlanningService::Stub> Connect(const std::string& address) const {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto credentials =
        ca.empty()
            ? grpc::InsecureChannelCredentials()
            : grpc::SslCredentials({.pem_root_certs = ca, .pem_private_key = key, .pem_cert_chain = certificate});
    return v1::PlanningService::NewStub(grpc::CreateCustomChannel(address, credentials, arguments));
  }

  template <typename Call>
  grpc::Status With(const std::string& address, Call call) const {
    const auto stub = Connect(address);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return call(*stub, context);
  }
  grpc::StatusCode Look(const std::string& address) const {
    return With(address,
                [](auto& stub, auto& context) {
                  v1::GetServerInfoResponse response;
                  return stub.GetServerInfo(&context, v1::GetServerInfoRequest(), &response);
                })
        .error_code();
  }
  grpc::Status Plan(const std::string& address) const {
    return With(address, [](auto& stub, auto& context) {
      v1::CreatePlanRequest request;
      request.set_graph_reference("zoo:bert-base");
      request.set_cluster_reference("zoo:pcie:2");
      v1::CreatePlanResponse response;
      return stub.CreatePlan(&context, request, &response);
    });
  }
};

// One with the certificate NAME.pem.
SecureCaller CallerWith(const SecretFolder& folder, const std::string& name) {
  return {.ca = folder.Read("ca.pem"), .certificate = folder.Read(name + ".pem"), .key = folder.Read(name + ".key")};
}

TEST(SecurityTest, TlsServesThoseWhoTrustItsCertificateAndNobodyInTheClear) {
  const SecretFolder folder;
  DaemonProcess daemon(folder.TlsFlags());
  const std::string address = daemon.address();
  EXPECT_EQ(SecureCaller{.ca = folder.Read("ca.pem")}.Look(address), grpc::StatusCode::OK);
  folder.MakeAuthority("other");
  EXPECT_EQ(SecureCaller{.ca = folder.Read("other.pem")}.Look(address), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(SecureCaller{}.Look(address), grpc::StatusCode::UNAVAILABLE);
}

TEST(SecurityTest, MutualTlsMapsCertificatesToRoles) {
  const SecretFolder folder;
  folder.MakeCertificate("ca", "scheduler", "scheduler");
  folder.MakeCertificate("ca", "dashboard", "dashboard");
  folder.MakeCertificate("ca", "stranger", "stranger");
  folder.MakeAuthority("other");
  folder.MakeCertificate("other", "forged", "scheduler");
  folder.Write("auth.json", AuthConfig("", R"json({"dns": "scheduler", "tenant": "t", "role": "planner"},
                                                  {"common_name": "dashboard", "role": "reader"})json"));
  std::vector<std::string> flags = folder.MutualTlsFlags();
  flags.push_back("--auth_config=" + folder.File("auth.json"));
  DaemonProcess daemon(flags);
  const std::string address = daemon.address();
  const auto caller = [&](const std::string& name) { return CallerWith(folder, name); };
  EXPECT_EQ(caller("scheduler").Plan(address).error_code(), grpc::StatusCode::OK);
  const nlohmann::json line = daemon.WaitForLog("rpc");
  EXPECT_EQ(line.value("tenant", ""), "t");
  EXPECT_EQ(line.value("subject", ""), "scheduler");
  EXPECT_EQ(caller("dashboard").Look(address), grpc::StatusCode::OK);
  EXPECT_EQ(caller("dashboard").Plan(address).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(caller("stranger").Look(address), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(caller("forged").Look(address), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(SecureCaller{.ca = folder.Read("ca.pem")}.Look(address), grpc::StatusCode::UNAVAILABLE);
}

// What the authority has checked is the alternative name; the common name is anybody's choice.
TEST(SecurityTest, ACommonNameIsNoAlternativeName) {
  const SecretFolder folder;
  folder.MakeCertificate("ca", "scheduler", "whoever", "URI:spiffe://cluster/scheduler");
  folder.MakeCertificate("ca", "address", "whoever", "IP:10.0.0.7");
  folder.MakeCertificate("ca", "mail", "whoever", "email:me@example");
  folder.MakeCertificate("ca", "impostor", "spiffe:\\/\\/cluster\\/scheduler", "DNS:evil.example");
  folder.Write("auth.json", AuthConfig("", R"json({"uri": "spiffe://cluster/scheduler", "role": "admin"},
                                                  {"ip": "10.0.0.7", "role": "reader"},
                                                  {"email": "me@example", "role": "reader"})json"));
  std::vector<std::string> flags = folder.MutualTlsFlags();
  flags.push_back("--auth_config=" + folder.File("auth.json"));
  DaemonProcess daemon(flags);
  const std::string address = daemon.address();
  for (const char* name : {"scheduler", "address", "mail"}) {
    EXPECT_EQ(CallerWith(folder, name).Look(address), grpc::StatusCode::OK) << name;
  }
  EXPECT_EQ(CallerWith(folder, "impostor").Look(address), grpc::StatusCode::UNAUTHENTICATED);
}

TEST(SecurityTest, ARevokedCertificateLosesItsCallsAlsoThoseOfConnectionsThatAreOpen) {
  const SecretFolder folder;
  folder.MakeCertificate("ca", "good", "good");
  folder.MakeCertificate("ca", "bad", "bad");
  folder.Revoke("ca", "list", {});
  std::vector<std::string> flags = folder.MutualTlsFlags();
  flags.push_back("--tls_client_crl_file=" + folder.File("list.crl"));
  DaemonProcess daemon(flags);
  const std::string address = daemon.address();
  const auto open = CallerWith(folder, "bad").Connect(address);
  const auto look = [&] {
    grpc::ClientContext context;
    v1::GetServerInfoResponse response;
    return open->GetServerInfo(&context, v1::GetServerInfoRequest(), &response).error_code();
  };
  EXPECT_EQ(look(), grpc::StatusCode::OK);
  folder.Revoke("ca", "list", {"bad"});
  daemon.Signal(SIGHUP);
  EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
  EXPECT_EQ(look(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(CallerWith(folder, "bad").Look(address), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(CallerWith(folder, "good").Look(address), grpc::StatusCode::OK);
}

TEST(SecurityTest, AReloadOfPartlyBrokenFilesChangesNothing) {
  const SecretFolder folder;
  folder.MakeAuthority("other");
  folder.MakeCertificate("ca", "client", "client");
  std::vector<std::string> flags = folder.TlsFlags();
  folder.Copy("ca", "trusted");
  flags.push_back("--tls_client_ca_file=" + folder.File("trusted.pem"));
  DaemonProcess daemon(flags);
  const std::string address = daemon.address();
  folder.Write("trusted.pem",
               folder.Read("other.pem") + "-----BEGIN CERTIFICATE-----\nnonsense\n" + folder.Read("ca.pem"));
  daemon.Signal(SIGHUP);
  EXPECT_THAT(daemon.WaitForLog("reload failed, nothing has changed").value("error", ""),
              HasSubstr("--tls_client_ca_file"));
  EXPECT_EQ(CallerWith(folder, "client").Look(address), grpc::StatusCode::OK);
  folder.Write("trusted.pem", folder.Read("other.pem") + "# and ours\n" + folder.Read("ca.pem"));
  daemon.Signal(SIGHUP);
  EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
  EXPECT_EQ(CallerWith(folder, "client").Look(address), grpc::StatusCode::OK);
}

TEST(SecurityTest, CertificatesThatExpireSoonAreWarnedOf) {
  const SecretFolder folder;
  DaemonProcess daemon(folder.TlsFlags());
  const nlohmann::json line = daemon.WaitForLog("expires soon: replace it and send SIGHUP");
  EXPECT_EQ(line.value("file", ""), folder.File("server.pem"));
  EXPECT_EQ(line.value("what", ""), "certificate CN=localhost");
}

TEST(LoggingTest, SignalsChangeHowMuchIsLogged) {
  DaemonProcess daemon;
  const std::string address = daemon.address();
  daemon.Signal(SIGUSR1);
  EXPECT_EQ(daemon.WaitForLog("log level").value("level", ""), "debug");
  SecureCaller().Look(address);
  EXPECT_EQ(daemon.WaitForLog("rpc started").value("method", ""), "GetServerInfo");
  for (const char* level : {"info", "warning"}) {
    daemon.Signal(SIGUSR2);
    EXPECT_EQ(daemon.WaitForLog("log level").value("level", ""), level);
  }
  EXPECT_FALSE(daemon.WaitForLog("rpc").empty());
  SecureCaller().Look(address);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.WaitForExit(), 0);
  EXPECT_TRUE(daemon.WaitForLog("rpc").empty());
}

TEST(SecurityTest, TokensSayWhoCallsAndNoLogSaysTokens) {
  const SecretFolder folder;
  folder.Write("auth.json", AuthConfig(std::string(kPlannerToken) + "," + kReaderToken));
  DaemonProcess daemon({"--auth_config=" + folder.File("auth.json")});
  const std::string address = daemon.address();
  EXPECT_EQ(SecureCaller{}.Look(address), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(SecureCaller{.token = "guessed-token"}.Look(address), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(SecureCaller{.token = "planner-token"}.Plan(address).error_code(), grpc::StatusCode::OK);
  EXPECT_EQ(SecureCaller{.token = "reader-token"}.Look(address), grpc::StatusCode::OK);
  const grpc::Status refused = SecureCaller{.token = "reader-token"}.Plan(address);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("planner"));
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.WaitForExit(), 0);
  EXPECT_THAT(daemon.log_text(), Not(HasSubstr("-token")));
}

TEST(SecurityTest, AReloadTakesNewCertificatesAndTokensAndKeepsTheOldOnesWhenTheNewAreWrong) {
  const SecretFolder folder;
  folder.Write("auth.json", AuthConfig(std::string(kPlannerToken) + "," + kReaderToken));
  std::vector<std::string> flags = folder.TlsFlags();
  flags.push_back("--auth_config=" + folder.File("auth.json"));
  DaemonProcess daemon(flags);
  const std::string address = daemon.address();
  const SecureCaller old{.ca = folder.Read("ca.pem"), .token = "reader-token"};
  EXPECT_EQ(old.Look(address), grpc::StatusCode::OK);

  folder.Write("server.pem", "-----BEGIN CERTIFICATE-----\nnonsense\n");
  daemon.Signal(SIGHUP);
  EXPECT_THAT(daemon.WaitForLog("reload failed, nothing has changed").value("error", ""), HasSubstr("--tls_cert_file"));
  EXPECT_EQ(old.Look(address), grpc::StatusCode::OK);

  folder.MakeAuthority("newca");
  folder.MakeCertificate("newca", "server", "localhost");
  folder.Write("auth.json", "{");
  daemon.Signal(SIGHUP);
  EXPECT_THAT(daemon.WaitForLog("reload failed, nothing has changed").value("error", ""), HasSubstr("--auth_config"));
  EXPECT_EQ(old.Look(address), grpc::StatusCode::OK);

  folder.Write("auth.json", AuthConfig(kPlannerToken));
  daemon.Signal(SIGHUP);
  EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
  const SecureCaller renewed{.ca = folder.Read("newca.pem"), .token = "planner-token"};
  EXPECT_EQ(renewed.Look(address), grpc::StatusCode::OK);
  EXPECT_EQ(old.Look(address), grpc::StatusCode::UNAVAILABLE);
  const SecureCaller revoked{.ca = folder.Read("newca.pem"), .token = "reader-token"};
  EXPECT_EQ(revoked.Look(address), grpc::StatusCode::UNAUTHENTICATED);
}

// Calls that are under way while the certificate changes are not disturbed.
TEST(SecurityTest, AConnectionOutlivesTheCertificateThatItBeganWith) {
  const SecretFolder folder;
  DaemonProcess daemon(folder.TlsFlags());
  const SecureCaller caller{.ca = folder.Read("ca.pem")};
  const auto stub = caller.Connect(daemon.address());
  for (int i = 0; i < 20; ++i) {
    if (i % 5 == 2) {
      folder.MakeCertificate("ca", "server", "localhost");
      daemon.Signal(SIGHUP);
      EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
    }
    grpc::ClientContext context;
    v1::GetServerInfoResponse response;
    EXPECT_TRUE(stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &response).ok());
  }
}

TEST(SecurityTest, ServesWithoutALossWhileCertificatesAreRotated) {
  constexpr int kRotations = 5;
  const SecretFolder folder;
  DaemonProcess daemon(folder.TlsFlags());
  const std::string address = daemon.address();
  // Every call is on a connection of its own, and shakes hands with whatever certificate there is.
  const SecureCaller caller{.ca = folder.Read("ca.pem")};
  std::atomic<int> sent{0};
  std::atomic<int> answered{0};
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          ++sent;
          if (caller.Plan(address).ok()) ++answered;
        }
      });
    }
    for (int i = 0; i < kRotations; ++i) {
      folder.MakeCertificate("ca", "next", "localhost");
      folder.Copy("next", "server");
      daemon.Signal(SIGHUP);
      EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
    }
  }
  std::cout << "certificates rotated " << kRotations << " times: sent " << sent << ", answered " << answered
            << ", lost " << sent - answered << "\n";
  EXPECT_GE(sent, kRotations);
  EXPECT_EQ(answered, sent);
}

// Exit code and words of a server that does not start.
void ExpectRefusal(const std::vector<std::string>& flags, const std::string& words) {
  DaemonProcess daemon(flags);
  EXPECT_EQ(daemon.WaitForExit(), 1);
  EXPECT_THAT(daemon.plain_output(), HasSubstr(words));
}

TEST(SecurityTest, WrongFilesAreRefusedAtTheStartByTheNameOfTheirFlag) {
  const SecretFolder folder;
  folder.MakeCertificate("ca", "another", "another");
  folder.Write("empty", "");
  folder.Write("auth.json", R"json({"tokens": [{"name": "a", "sha256": "zz", "role": "planner"}]})json");
  const std::string certificate = "--tls_cert_file=" + folder.File("server.pem");
  const std::string key = "--tls_key_file=" + folder.File("server.key");
  ExpectRefusal({certificate, "--validate_config"}, "--tls_key_file: must be set");
  ExpectRefusal({certificate, "--tls_key_file=" + folder.File("none")}, "--tls_key_file: cannot read");
  ExpectRefusal({certificate, "--tls_key_file=" + folder.File("another.key")}, "is not the key of the certificate");
  ExpectRefusal({"--tls_cert_file=" + folder.File("empty"), key}, "must hold a certificate in PEM form");
  ExpectRefusal({certificate, key, "--tls_client_ca_file=" + folder.File("empty")}, "--tls_client_ca_file");
  ExpectRefusal({"--auth_config=" + folder.File("auth.json"), "--validate_config"}, "tokens[0].sha256");
  ExpectRefusal({"--auth_config=" + folder.File("none")}, "--auth_config: cannot read");
}

TEST(SecurityTest, OtherMachinesAreServedOverTlsOnly) {
  const SecretFolder folder;
  ExpectRefusal({"--listen_address=0.0.0.0:0", "--validate_config"}, "--tls_cert_file");
  std::vector<std::string> flags = folder.TlsFlags();
  flags.insert(flags.end(), {"--listen_address=0.0.0.0:0", "--validate_config"});
  DaemonProcess daemon(flags);
  EXPECT_EQ(daemon.WaitForExit(), 0);
}

TEST(AccessLogTest, NamesTheCallItsTraceItsTenantAndHowItWasAnswered) {
  DaemonProcess daemon;
  const auto stub = SecureCaller().Connect(daemon.address());
  v1::CreatePlanRequest request;
  request.set_graph_reference("zoo:bert-base");
  request.set_cluster_reference("zoo:pcie:2");
  std::string first_key;
  for (const char* source : {"searched", "cached", "cached"}) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", "my-call");
    context.AddMetadata("x-planwright-tenant", "team-a");
    context.AddMetadata("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    v1::CreatePlanResponse response;
    ASSERT_TRUE(stub->CreatePlan(&context, request, &response).ok());
    EXPECT_EQ(response.plan().provenance().cached(), std::string(source) == "cached");
    EXPECT_EQ(context.GetServerInitialMetadata().count("traceparent"), 1U);
    EXPECT_EQ(context.GetServerInitialMetadata().find("x-request-id")->second, "my-call");
    const nlohmann::json line = daemon.WaitForLog("rpc");
    EXPECT_EQ(line.value("request_id", ""), "my-call");
    EXPECT_EQ(line.value("trace_id", ""), "0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(line.value("tenant", ""), "team-a");
    EXPECT_EQ(line.value("plan_source", ""), source);
    if (first_key.empty()) first_key = line.value("plan_key", "");
    EXPECT_EQ(line.value("plan_key", ""), first_key);
  }
  EXPECT_EQ(first_key.size(), 64U);
}

// GetServerInfo over a socket of our own, with a traceparent that gRPC's client refuses to send; whether the server
// answered. Literal header fields without indexing and without Huffman coding (RFC 7541, 6.2.2), lengths below 127.
bool AskWithTrace(const std::string& address, const std::string& traceparent) {
  const auto frame = [](char type, char flags, const std::string& payload) {
    const char stream = type == '\x04' ? '\0' : '\1';
    return std::string{'\0',
                       static_cast<char>(payload.size() >> 8U),
                       static_cast<char>(payload.size() & 0xffU),
                       type,
                       flags,
                       '\0',
                       '\0',
                       '\0',
                       stream} +
           payload;
  };
  const auto field = [](const std::string& name, const std::string& value) {
    return std::string{'\0', static_cast<char>(name.size())} + name + static_cast<char>(value.size()) + value;
  };
  const std::string headers = field(":method", "POST") + field(":scheme", "http") +
                              field(":path", "/planwright.v1.PlanningService/GetServerInfo") +
                              field(":authority", "localhost") + field("te", "trailers") +
                              field("content-type", "application/grpc") + field("traceparent", traceparent);
  const std::string request = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame('\4', '\0', "") + frame('\1', '\4', headers) +
                              frame('\0', '\1', std::string(5, '\0'));
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  bool is_answered = connect(connection, reinterpret_cast<const sockaddr*>(&server), sizeof(server)) == 0 &&
                     send(connection, request.data(), request.size(), MSG_NOSIGNAL) > 0;
  // The frames of the connection, then those of the call.
  std::string header(9, '\0');
  for (char type = '\4'; is_answered && type != '\1';) {
    is_answered = recv(connection, header.data(), header.size(), MSG_WAITALL) == static_cast<ssize_t>(header.size());
    type = header[3];
    std::string payload(static_cast<std::size_t>(static_cast<unsigned char>(header[2])), '\0');
    if (is_answered && !payload.empty()) recv(connection, payload.data(), payload.size(), MSG_WAITALL);
  }
  close(connection);
  return is_answered;
}

TEST(SecurityTest, ATraceThatCannotBeSentBackDoesNoHarm) {
  const SecretFolder folder;
  folder.Write("auth.json", "{\"tokens\": [" + std::string(kPlannerToken) + "]}");
  DaemonProcess daemon({"--auth_config=" + folder.File("auth.json")});
  const std::string address = daemon.address();
  const std::string later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-";
  EXPECT_TRUE(AskWithTrace(address, later + "more"));
  for (const char byte : {'\x80', '\x01', '\x7f', '\n', '\0'}) AskWithTrace(address, later + byte);
  EXPECT_TRUE(SecureCaller{.token = "planner-token"}.Plan(address).ok());
}

TEST(TenantTest, ATenantThatSendsTooOftenIsToldWhenToComeBack) {
  const SecretFolder folder;
  folder.Write("auth.json", "{\"tokens\": [" + std::string(kPlannerToken) +
                                "], \"tenants\": [{\"name\": \"team-a\", \"requests_per_second\": 0.001}]}");
  DaemonProcess daemon({"--auth_config=" + folder.File("auth.json")});
  const std::string address = daemon.address();
  const SecureCaller caller{.token = "planner-token"};
  EXPECT_TRUE(caller.Plan(address).ok());
  // What is cached costs nothing.
  EXPECT_TRUE(caller.Plan(address).ok());
  const grpc::Status refused = caller.With(address, [](auto& stub, auto& context) {
    v1::CreatePlanRequest request;
    request.set_graph_reference("zoo:bert-base");
    request.set_cluster_reference("zoo:pcie:3");
    v1::CreatePlanResponse response;
    return stub.CreatePlan(&context, request, &response);
  });
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("team-a"));
}

}  // namespace
}  // namespace planwright
