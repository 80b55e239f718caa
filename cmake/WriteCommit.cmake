# Writes OUTPUT, a header with the commit of SOURCES, where that has changed; empty: they are no working copy of git.
#   cmake -DSOURCES=. -DOUTPUT=commit.h -P cmake/WriteCommit.cmake
execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCES}
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Of the sources; empty: not known.\n#define PLANWRIGHT_COMMIT \"${commit}\"\n")
