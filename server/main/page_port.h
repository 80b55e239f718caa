// The port where browsers read pages of stored plans.
#ifndef PLANWRIGHT_SERVER_MAIN_PAGE_PORT_H_
#define PLANWRIGHT_SERVER_MAIN_PAGE_PORT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/connections/connections.h"
#include "server/connections/gate.h"
#include "server/connections/listener.h"
#include "server/engine/planning_engine.h"
#include "server/main/tls/tls_identity.h"
#include "server/observability/audit_log.h"
#include "server/observability/log.h"
#include "server/pages/page_desk.h"
#include "server/pages/page_metrics.h"
#include "server/pages/page_server.h"
#include "server/pages/plan_pages.h"
#include "server/serving/callers/authenticator.h"
#include "server/serving/tenants/tenant_limits.h"
#include "server/store/store.h"

namespace planwright::server {

// Serves from Start until it is destroyed. Thread-safe.
class PagePort {
 public:
  // What pages are made of and who may see them; all of it outlives the port.
  struct Services {
    PlanningEngine& engine;
    Store& store;
    const Authenticator& authenticator;
    AuditLog& audit;
    const Logger& log;
  };

  // `identity`: nullopt, HTTP. Errors: those of PageServer::Start and CheckPagesAreBuilt.
  static absl::StatusOr<std::unique_ptr<PagePort>> Start(const Services& services, std::unique_ptr<Listener> listener,
                                                         const std::optional<TlsIdentity>& identity);

  // Holds for later connections. REQUIRES: the port began with TLS. Where it is not taken the log says so, and the one
  // before goes on.
  void SetTls(const TlsIdentity& identity);
  void SetTenants(const TenantTable& tenants) { desk_.SetTenants(tenants); }
  // What is to stand behind the text of the other metrics.
  std::string MetricsText();
  Connections::Counts connections() const { return connections_.counts(); }
  // Refuses whoever comes from now on.
  void Stop() { desk_.Stop(); }

 private:
  explicit PagePort(const Services& services);

  const Logger& log_;
  const PlanPages pages_;
  PageMetrics metrics_;
  PageDesk desk_;
  Connections connections_;
  // Ends before what it works with.
  std::unique_ptr<PageServer> server_;
  std::unique_ptr<Gate> gate_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_PAGE_PORT_H_
