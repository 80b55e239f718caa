// Requests for pages, from their arrival to their answer.
#ifndef PLANWRIGHT_SERVER_PAGES_PAGE_DESK_H_
#define PLANWRIGHT_SERVER_PAGES_PAGE_DESK_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/observability/audit_log.h"
#include "server/observability/log.h"
#include "server/pages/page_metrics.h"
#include "server/pages/page_server.h"
#include "server/pages/plan_pages.h"
#include "server/serving/admission/executor.h"
#include "server/serving/callers/authenticator.h"
#include "server/serving/tenants/tenant_limits.h"

namespace planwright::server {

// What the desk works with; all of it outlives the desk.
struct PageServices {
  const PlanPages& pages;
  const Authenticator& authenticator;
  AuditLog& audit;
  PageMetrics& metrics;
  const Logger& log;
};

// Two threads make pages, which yield to everything else; tenants have their turns, and 32 requests may wait. Every
// caller who is known may look at the plans of their tenant, whatever their role. Thread-safe.
class PageDesk {
 public:
  explicit PageDesk(const PageServices& services);

  // Answers at once or later. Without TLS, only browsers that ask for this machine by a name of its own have an answer:
  // a page of somebody else's whose name leads here (DNS rebinding) has none.
  void Handle(BrowserRequest request, PageServer::Reply reply);

  // `tenants`: how much of the threads each of them has.
  void SetTenants(const TenantTable& tenants) { executor_.SetTenants(tenants); }
  // For the metrics.
  Executor::Load load() const { return executor_.load(); }
  // Refuses what comes and what waits, and stops what runs. Returns without waiting for that.
  void Stop();

 private:
  // A page that may be made.
  struct Order {
    std::string tenant;
    std::string subject;
    std::string id;
  };

  // Errors: UNAUTHENTICATED, PERMISSION_DENIED, INVALID_ARGUMENT, NOT_FOUND.
  absl::StatusOr<Order> Read(const BrowserRequest& request) const;
  void NoteRefusal(const BrowserRequest& request, const absl::Status& why) const;

  const PageServices services_;
  Executor executor_;
};

// Whether a browser that sends this header Host asks for this machine by a name that nobody else can give to it:
// "localhost:9466", "127.0.0.1", "[::1]:9466".
bool IsOwnHost(std::string_view host);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_PAGES_PAGE_DESK_H_
