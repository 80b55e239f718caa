// Everything that the page shows of one plan, as JSON: texts, tables, drawings, bars (web/main.mjs draws it).
#ifndef PLANWRIGHT_CLIENT_PAGE_VIEW_H_
#define PLANWRIGHT_CLIENT_PAGE_VIEW_H_

#include <nlohmann/json.hpp>

#include "client/page/page.h"
#include "client/page/tables.h"

namespace planwright::client {

nlohmann::json TableJson(const PageTable& table);

nlohmann::json ViewOf(const PagePlan& page_plan);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_VIEW_H_
