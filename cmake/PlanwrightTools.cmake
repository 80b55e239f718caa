# Tools that make a build faster where they are present.
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
