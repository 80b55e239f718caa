#include "client/page/bundle.h"

namespace planwright::client {

const PageBundle* Bundle() { return nullptr; }

}  // namespace planwright::client
