#include "server/main/page_port.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/status_macros.h"
#include "server/connections/descriptor_limit.h"

namespace planwright::server {
namespace {

// Enough for a page to be made and read; clients that are slower go when others come, or at this age.
constexpr std::chrono::seconds kAge{120};
constexpr int kMostConnections = 128;

ConnectionLimits Limits() {
  const int connections = std::clamp(DescriptorLimit() / 8, 1, kMostConnections);
  return {.connections = connections, .unidentified_per_host = std::max(connections / 2, 1), .max_age = kAge};
}

PageTls TlsOf(const TlsIdentity& identity) {
  return {.certificate_chain = identity.certificate_chain,
          .private_key = identity.private_key,
          .client_ca = identity.client_ca};
}

}  // namespace

PagePort::PagePort(const Services& services)
    : log_(services.log),
      pages_(services.engine, services.store, PlanPages::Limits()),
      desk_({.pages = pages_,
             .authenticator = services.authenticator,
             .audit = services.audit,
             .metrics = metrics_,
             .log = services.log}),
      connections_(Limits()) {}

absl::StatusOr<std::unique_ptr<PagePort>> PagePort::Start(const Services& services, std::unique_ptr<Listener> listener,
                                                          const std::optional<TlsIdentity>& identity) {
  RETURN_IF_ERROR(CheckPagesAreBuilt());
  std::unique_ptr<PagePort> port(new PagePort(services));
  std::optional<PageTls> tls;
  if (identity.has_value()) tls = TlsOf(*identity);
  ASSIGN_OR_RETURN(port->server_, PageServer::Start(
                                      [&desk = port->desk_](BrowserRequest request, PageServer::Reply reply) {
                                        desk.Handle(std::move(request), std::move(reply));
                                      },
                                      tls));
  port->gate_ = std::make_unique<Gate>(
      std::move(listener), port->connections_,
      [&server = *port->server_](int file, const SocketAddress& peer) { server.Serve(file, peer.get(), peer.length); });
  services.log.Info("serving pages", {{"address", port->gate_->listener().address()}, {"tls", identity.has_value()}});
  return port;
}

void PagePort::SetTls(const TlsIdentity& identity) {
  const absl::Status taken = server_->SetTls(TlsOf(identity));
  if (!taken.ok()) log_.Error("pages go on with the certificate before", {{"error", std::string(taken.message())}});
}

std::string PagePort::MetricsText() {
  const Executor::Load load = desk_.load();
  metrics_.SetLoad(load.running, load.waiting);
  return metrics_.Text();
}

}  // namespace planwright::server
