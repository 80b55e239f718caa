# What a build can be asked for; CMakePresets.json names the useful combinations.
option(PLANWRIGHT_BUILD_TESTS "Build the tests" ON)
option(PLANWRIGHT_BUILD_BENCHMARKS "Build the benchmarks" ON)
option(PLANWRIGHT_WERROR "Treat warnings in our own code as errors" ON)
option(PLANWRIGHT_CLANG_TIDY "Run clang-tidy beside every compilation of our own code" OFF)
option(PLANWRIGHT_COVERAGE "Count executed lines and branches of our own code" OFF)
option(PLANWRIGHT_FUZZ "Link the fuzz targets with libFuzzer (needs clang); otherwise they only replay their corpus" OFF)
set(PLANWRIGHT_SANITIZE "" CACHE STRING "Value of -fsanitize for all our code, e.g. address,undefined or thread")
