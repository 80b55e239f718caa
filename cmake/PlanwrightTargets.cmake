# One way to declare each kind of target, so that warnings, sanitizers and test labels are the same everywhere.

# What whoever uses our libraries needs as well: where headers are, and the language that they are written in.
add_library(planwright_headers INTERFACE)
target_include_directories(planwright_headers INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_features(planwright_headers INTERFACE cxx_std_20)

# Flags that all of our own code is compiled with, and nobody else's.
add_library(planwright_flags INTERFACE)
target_link_libraries(planwright_flags INTERFACE planwright_headers)
target_compile_options(planwright_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  # GCC 12 sees overlaps in inlined string sums that cannot be (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${PLANWRIGHT_WERROR}>:-Werror>)
if(PLANWRIGHT_SANITIZE)
  target_compile_options(planwright_flags INTERFACE
    -fsanitize=${PLANWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(planwright_flags INTERFACE -fsanitize=${PLANWRIGHT_SANITIZE})
  # For tests of what instrumented programs do otherwise; compilers do not agree on a macro of their own.
  target_compile_definitions(planwright_flags INTERFACE PLANWRIGHT_SANITIZED)
endif()
if(PLANWRIGHT_COVERAGE)
  # A file of counters for each program, which every run of it adds to.
  target_compile_options(planwright_flags INTERFACE
    -fprofile-instr-generate=${PROJECT_BINARY_DIR}/profiles/%m.profraw -fcoverage-mapping)
  target_link_options(planwright_flags INTERFACE -fprofile-instr-generate)
endif()
if(PLANWRIGHT_FUZZ)
  # Coverage feedback in everything that a fuzz target calls; the targets themselves bring libFuzzer's main.
  target_compile_options(planwright_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(planwright_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# planwright_optimize(level)
# From here on in this folder, and in those added behind, release builds are compiled with -O<level> where they would be
# with the -O3 of CMake, which only searches need; -O1 takes g++ 12 a quarter to a third less time.
set(PLANWRIGHT_SEARCH_FLAGS "${CMAKE_CXX_FLAGS_RELEASE}")
macro(planwright_optimize level)
  string(REPLACE "-O3" "-O${level}" CMAKE_CXX_FLAGS_RELEASE "${PLANWRIGHT_SEARCH_FLAGS}")
endmacro()

# planwright_unite(target)
# With PLANWRIGHT_UNITY the sources of a target are compiled in as few batches as hold at most twelve each, all about as
# large: a batch reads the headers of libraries once. More would take long at the end of a build, and 1.5 GB and more.
# Names of unnamed namespaces are the target's for that, not the source's.
function(planwright_unite target)
  if(NOT PLANWRIGHT_UNITY)
    return()
  endif()
  foreach(folder IN LISTS PLANWRIGHT_UNITY_EXCEPT)
    if("${CMAKE_CURRENT_SOURCE_DIR}/" MATCHES "^${PROJECT_SOURCE_DIR}/${folder}/")
      return()
    endif()
  endforeach()
  set(most 12)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  math(EXPR batches "(${count} + ${most} - 1) / ${most}")
  math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

# planwright_precompile(NAME name HEADERS ... DEPENDS ...)
# Headers compiled once, with the flags of this folder, for what planwright_begin_with names.
function(planwright_precompile)
  cmake_parse_arguments(ARG "" "NAME" "HEADERS;DEPENDS" ${ARGN})
  if(NOT PLANWRIGHT_PRECOMPILE)
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}.cc CONTENT "")
  add_library(${ARG_NAME} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}.cc)
  target_link_libraries(${ARG_NAME} PRIVATE planwright_flags Threads::Threads ${ARG_DEPENDS})
  target_precompile_headers(${ARG_NAME} PRIVATE ${ARG_HEADERS})
endfunction()

# planwright_begin_with(headers target)
# Every source of the target begins with the headers that were compiled under that name. They hold headers of libraries
# only, so a source still has to include what it uses of ours.
function(planwright_begin_with headers target)
  if(NOT TARGET "${headers}")
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
  # Behind precompiled headers g++ 12 sees writes beyond strings where there are none.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow>)
endfunction()

# planwright_library(NAME name SOURCES ... DEPENDS ...)
# Its sources begin with the precompiled headers that LIBRARY_HEADERS names, if any.
function(planwright_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  add_library(${ARG_NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PUBLIC planwright_headers PRIVATE planwright_flags PUBLIC ${ARG_DEPENDS})
  planwright_unite(${ARG_NAME})
  planwright_begin_with("${LIBRARY_HEADERS}" ${ARG_NAME})
  # For the archive of the whole planner (PlanwrightInstall).
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/core(/|$)")
    set_property(GLOBAL APPEND PROPERTY PLANWRIGHT_CORE_LIBRARIES ${ARG_NAME})
  endif()
endfunction()

# planwright_program(NAME name SOURCES ... DEPENDS ...)
function(planwright_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE planwright_flags ${ARG_DEPENDS})
  planwright_unite(${ARG_NAME})
endfunction()

# planwright_ctest(NAME name LABEL label COMMAND ... [TIMEOUT seconds])
# One ctest test of any command that runs in the root of the sources. Labels: unit, integration, format, structure,
# tidy; a test with another label would be run by nobody. Exit code 77 means skipped; the command prints why. Sanitizers and
# coverage slow code down, so its time is stretched there.
function(planwright_ctest)
  cmake_parse_arguments(ARG "" "NAME;LABEL;TIMEOUT" "COMMAND" ${ARGN})
  if(NOT ARG_LABEL MATCHES "^(unit|integration|format|structure|tidy)$")
    message(FATAL_ERROR "Test ${ARG_NAME}: unknown label \"${ARG_LABEL}\"")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(PLANWRIGHT_SANITIZE OR PLANWRIGHT_COVERAGE)
    math(EXPR ARG_TIMEOUT "30 * ${ARG_TIMEOUT}")
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
  # The server that whoever runs the tests asks is no business of theirs.
  set_tests_properties(${ARG_NAME} PROPERTIES ENVIRONMENT "XDG_CONFIG_HOME=${PROJECT_BINARY_DIR}/no-configuration")
  if(PLANWRIGHT_SANITIZE)
    # What libraries of Debian leak.
    set_property(TEST ${ARG_NAME} APPEND PROPERTY ENVIRONMENT
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/leaks.supp:print_suppressions=0")
  endif()
endfunction()

# planwright_fewer_cases(name)
# A fifth of the random cases of a long property test where a sanitizer makes each take up to fifty times as long.
function(planwright_fewer_cases name)
  if(PLANWRIGHT_SANITIZE)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "PLANWRIGHT_PROPERTY_FACTOR=0.2")
  endif()
endfunction()

# planwright_test(NAME name LABEL unit|integration|... SOURCES ... DEPENDS ... [TIMEOUT seconds])
# One GoogleTest program, registered as one ctest test that runs in the source folder. Its sources begin with the
# precompiled headers that TEST_HEADERS names, if any.
function(planwright_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  planwright_program(NAME ${ARG_NAME} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} Threads::Threads GTest::gmock GTest::gtest_main)
  planwright_begin_with("${TEST_HEADERS}" ${ARG_NAME})
  if(PLANWRIGHT_MUTANTS)
    target_link_libraries(${ARG_NAME} PRIVATE planwright_reached_cases)
  endif()
  planwright_ctest(NAME ${ARG_NAME} LABEL ${ARG_LABEL} COMMAND ${ARG_NAME} TIMEOUT ${ARG_TIMEOUT})
endfunction()

# planwright_fuzz_target(NAME name SOURCES ... DEPENDS ... CORPUS folder)
# A program around LLVMFuzzerTestOneInput. With PLANWRIGHT_FUZZ it is a libFuzzer program; otherwise it replays the
# files of its corpus as a unit test.
function(planwright_fuzz_target)
  cmake_parse_arguments(ARG "" "NAME;CORPUS" "SOURCES;DEPENDS" ${ARGN})
  if(PLANWRIGHT_FUZZ)
    planwright_program(NAME ${ARG_NAME} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS})
    target_link_options(${ARG_NAME} PRIVATE -fsanitize=fuzzer)
  else()
    planwright_program(NAME ${ARG_NAME} SOURCES ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cc
      DEPENDS ${ARG_DEPENDS})
    planwright_ctest(NAME ${ARG_NAME}_replay LABEL unit COMMAND ${ARG_NAME} ${ARG_CORPUS})
  endif()
endfunction()
