// The planwrightd of a release to come, for tests of upgrades: this one with one more step of the schema. The linker
// gives it to everybody who asks for the steps (--wrap); __real is the function that it stands before.
#include <span>
#include <vector>

#include "server/store/database/schema.h"

namespace planwright::server {

std::span<const SchemaStep> StepsOfThisRelease() asm("__real__ZN10planwright6server11SchemaStepsEv");
std::span<const SchemaStep> StepsOfTheNextRelease() asm("__wrap__ZN10planwright6server11SchemaStepsEv");

std::span<const SchemaStep> StepsOfTheNextRelease() {
  static const std::vector<SchemaStep> steps = [] {
    const std::span<const SchemaStep> old = StepsOfThisRelease();
    std::vector<SchemaStep> all(old.begin(), old.end());
    all.push_back({.statements = {"ALTER TABLE documents ADD COLUMN note TEXT NOT NULL DEFAULT ''"},
                   .oldest_release = static_cast<int64_t>(old.size())});
    return all;
  }();
  return steps;
}

}  // namespace planwright::server
