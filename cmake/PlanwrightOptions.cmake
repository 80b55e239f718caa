# What a build can be asked for; CMakePresets.json names the useful combinations.
option(PLANWRIGHT_BUILD_TESTS "Build the tests" ON)
option(PLANWRIGHT_BUILD_BENCHMARKS "Build the benchmarks" ON)
option(PLANWRIGHT_WERROR "Treat warnings in our own code as errors" ON)
set(PLANWRIGHT_SANITIZE "" CACHE STRING "Value of -fsanitize for all our code, e.g. address,undefined or thread")
