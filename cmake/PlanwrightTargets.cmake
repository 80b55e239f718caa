# One way to declare each kind of target, so that warnings, sanitizers and test labels are the same everywhere.

# Flags that all of our own code is compiled with.
add_library(planwright_flags INTERFACE)
target_include_directories(planwright_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(planwright_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  $<$<BOOL:${PLANWRIGHT_WERROR}>:-Werror>)
if(PLANWRIGHT_SANITIZE)
  target_compile_options(planwright_flags INTERFACE -fsanitize=${PLANWRIGHT_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(planwright_flags INTERFACE -fsanitize=${PLANWRIGHT_SANITIZE})
endif()

# planwright_library(NAME name SOURCES ... DEPENDS ...)
function(planwright_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  add_library(${ARG_NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PUBLIC planwright_flags ${ARG_DEPENDS})
endfunction()

# planwright_program(NAME name SOURCES ... DEPENDS ...)
function(planwright_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE planwright_flags ${ARG_DEPENDS})
endfunction()

# planwright_test(NAME name LABEL unit|integration|... SOURCES ... DEPENDS ... [TIMEOUT seconds])
# One GoogleTest program, registered as one ctest test that runs in the source folder.
function(planwright_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  planwright_program(NAME ${ARG_NAME} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()
