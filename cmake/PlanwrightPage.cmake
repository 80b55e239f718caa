# What the page of plans is drawn with, Apache ECharts, and what bundles it, esbuild: fetched by npm from the lock file
# of client/page/web when the build is configured, once for each lock file. Without npm, or where npm cannot fetch them,
# there are no pages.
find_program(NODE_PROGRAM node)
find_program(NPM_PROGRAM npm)
mark_as_advanced(NODE_PROGRAM NPM_PROGRAM)
set(PLANWRIGHT_PAGE_MODULES ${CMAKE_BINARY_DIR}/page-modules)

# Sets `result` to whether the packages are in PLANWRIGHT_PAGE_MODULES.
function(planwright_fetch_page_modules result)
  set(${result} OFF PARENT_SCOPE)
  if(NOT NODE_PROGRAM OR NOT NPM_PROGRAM)
    message(STATUS "npm is not installed: --output=html will be refused")
    return()
  endif()
  set(web ${CMAKE_SOURCE_DIR}/client/page/web)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${web}/package.json ${web}/package-lock.json)
  file(SHA256 ${web}/package-lock.json wanted)
  set(stamp ${PLANWRIGHT_PAGE_MODULES}/fetched)
  set(fetched "")
  if(EXISTS ${stamp})
    file(READ ${stamp} fetched)
  endif()
  if(NOT fetched STREQUAL wanted)
    file(MAKE_DIRECTORY ${PLANWRIGHT_PAGE_MODULES})
    file(COPY ${web}/package.json ${web}/package-lock.json DESTINATION ${PLANWRIGHT_PAGE_MODULES})
    # No script of a package runs, and a registry that does not answer costs no more than a minute.
    execute_process(
      COMMAND ${NPM_PROGRAM} ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1
              --fetch-timeout=20000
      WORKING_DIRECTORY ${PLANWRIGHT_PAGE_MODULES} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE errors TIMEOUT 60)
    if(failed)
      message(STATUS "npm ci failed, so --output=html will be refused: ${errors}")
      return()
    endif()
    file(WRITE ${stamp} ${wanted})
  endif()
  set(${result} ON PARENT_SCOPE)
endfunction()

option(PLANWRIGHT_WITH_PAGE "Draw plans as pages of HTML, where npm can fetch what that takes" ON)
if(PLANWRIGHT_WITH_PAGE)
  planwright_fetch_page_modules(PLANWRIGHT_HAS_PAGE)
  if(NOT PLANWRIGHT_HAS_PAGE)
    set(PLANWRIGHT_WITH_PAGE OFF)
  endif()
endif()
