# Tools that make a build faster where they are present.
include(CheckLinkerFlag)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache keeps what was compiled behind precompiled headers only where it is told that macros of the command line and
  # of the time may be taken from them.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  check_linker_flag(CXX -fuse-ld=mold COMPILER_LINKS_WITH_MOLD)
  if(COMPILER_LINKS_WITH_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
