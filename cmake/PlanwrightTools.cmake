# Tools that make a build faster where they are present, and clang-tidy where it is asked for.
include(CheckLinkerFlag)

if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  check_linker_flag(CXX -fuse-ld=mold COMPILER_LINKS_WITH_MOLD)
  if(COMPILER_LINKS_WITH_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

if(PLANWRIGHT_CLANG_TIDY)
  # Version 14 does not parse all of the C++20 that g++ 12 does.
  find_program(CLANG_TIDY_PROGRAM NAMES clang-tidy-19 clang-tidy)
  if(NOT CLANG_TIDY_PROGRAM)
    message(FATAL_ERROR "PLANWRIGHT_CLANG_TIDY needs clang-tidy: run deploy/setup.sh checks")
  endif()
  message(STATUS "Checking our own code with ${CLANG_TIDY_PROGRAM}")
endif()
