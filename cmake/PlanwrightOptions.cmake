# What a build can be asked for; CMakePresets.json names the useful combinations.
option(PLANWRIGHT_BUILD_TESTS "Build the tests" ON)
# The preset dev does without: there every source says itself what it includes, and g++ warns of all it knows.
option(PLANWRIGHT_PRECOMPILE "Precompile the headers of libraries that most sources begin with" ON)
option(PLANWRIGHT_UNITY "Compile several sources of a target at a time" OFF)
set(PLANWRIGHT_UNITY_EXCEPT "" CACHE STRING "Folders whose sources are compiled one by one all the same, e.g. core/cost;core/model")
option(PLANWRIGHT_BUILD_BENCHMARKS "Build the benchmarks" ON)
option(PLANWRIGHT_WERROR "Treat warnings in our own code as errors" ON)
option(PLANWRIGHT_COVERAGE "Count executed lines and branches of our own code (needs clang)" OFF)
option(PLANWRIGHT_MUTANTS "Let tests say which changes of deploy/check-mutants.sh each case reaches" OFF)
option(PLANWRIGHT_FUZZ "Link the fuzz targets with libFuzzer (needs clang); otherwise they only replay their corpus" OFF)
set(PLANWRIGHT_SANITIZE "" CACHE STRING "Value of -fsanitize for all our code, e.g. address,undefined or thread")
