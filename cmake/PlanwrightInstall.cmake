# What `cmake --install` puts where, and which Debian packages `cpack -G DEB` makes of it: planwright, planwrightd,
# libplanwright-dev and python3-planwright (docs/installing.md). Only where Planwright is no part of another project.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
# What is not built (tests above all) is no reason not to install what is.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(templates ${PROJECT_SOURCE_DIR}/deploy/packages)
set(generated ${PROJECT_BINARY_DIR}/installed)
# Everything that is installed and would not be built by the programs' names alone.
add_custom_target(installed ALL DEPENDS planwright planwrightd planwright-webhook)

# --- Programs, what a shell completes, and manual pages where help2man can make them.
install(TARGETS planwright RUNTIME COMPONENT planwright)
if(TARGET planwright-onnx)
  install(TARGETS planwright-onnx RUNTIME COMPONENT planwright)
endif()
install(TARGETS planwrightd planwright-webhook RUNTIME COMPONENT planwrightd)
# The unit names the folder that the programs go to, which only the installation knows.
install(CODE "
  set(bin_folder \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  configure_file(\"${templates}/planwrightd.service.in\" \"${generated}/planwrightd.service\" @ONLY)"
  COMPONENT planwrightd)
install(FILES ${generated}/planwrightd.service DESTINATION lib/systemd/system COMPONENT planwrightd)

foreach(shell bash zsh fish)
  add_custom_command(OUTPUT ${generated}/completion.${shell}
    COMMAND planwright completion ${shell} --output_file=${generated}/completion.${shell}
    DEPENDS planwright VERBATIM)
  list(APPEND completions ${generated}/completion.${shell})
endforeach()
add_custom_target(planwright_completions DEPENDS ${completions})
add_dependencies(installed planwright_completions)
install(FILES ${generated}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME planwright COMPONENT planwright)
install(FILES ${generated}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  RENAME _planwright COMPONENT planwright)
install(FILES ${generated}/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  RENAME planwright.fish COMPONENT planwright)

find_program(HELP2MAN_PROGRAM help2man)
mark_as_advanced(HELP2MAN_PROGRAM)
if(HELP2MAN_PROGRAM)
  add_custom_command(OUTPUT ${generated}/man/made
    COMMAND ${templates}/make-man-pages.sh ${generated}/man $<TARGET_FILE_DIR:planwright>
    DEPENDS planwright planwrightd planwright-webhook $<TARGET_NAME_IF_EXISTS:planwright-onnx>
      ${templates}/make-man-pages.sh VERBATIM)
  add_custom_target(planwright_man_pages DEPENDS ${generated}/man/made)
  add_dependencies(installed planwright_man_pages)
  install(DIRECTORY ${generated}/man/planwright/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT planwright)
  install(DIRECTORY ${generated}/man/planwrightd/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT planwrightd)
else()
  message(STATUS "help2man is not installed: there will be no manual pages")
endif()

# --- Libraries for programs in C++: two archives of what many targets hold, their headers, and how to find them.
get_property(core_libraries GLOBAL PROPERTY PLANWRIGHT_CORE_LIBRARIES)
list(TRANSFORM core_libraries REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE core_objects)
add_library(planwright_all_core STATIC EXCLUDE_FROM_ALL ${core_objects})
add_library(planwright_all_client STATIC EXCLUDE_FROM_ALL
  $<TARGET_OBJECTS:planwright_client> $<TARGET_OBJECTS:planwright_proto> $<TARGET_OBJECTS:planwright_text>)
foreach(part core client)
  set_target_properties(planwright_all_${part} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME planwright-${part} ARCHIVE_OUTPUT_DIRECTORY ${generated})
  add_dependencies(installed planwright_all_${part})
  install(FILES ${generated}/libplanwright-${part}.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libplanwright-dev)
endforeach()
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/planwright)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/core DESTINATION ${headers} COMPONENT libplanwright-dev
  FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/client/library DESTINATION ${headers}/client COMPONENT libplanwright-dev
  FILES_MATCHING PATTERN "*.h" PATTERN version.h EXCLUDE)
# What our own build defines, whoever includes the header would have to.
file(READ ${PROJECT_SOURCE_DIR}/client/library/version.h version_header)
string(REPLACE "= PLANWRIGHT_VERSION;" "= \"${PROJECT_VERSION}\";" version_header "${version_header}")
file(CONFIGURE OUTPUT ${generated}/version.h CONTENT "${version_header}" @ONLY)
install(FILES ${generated}/version.h DESTINATION ${headers}/client/library COMPONENT libplanwright-dev)
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/generated/planwright ${PROJECT_BINARY_DIR}/proto/generated/google
  DESTINATION ${headers} COMPONENT libplanwright-dev FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto/planwright ${PROJECT_SOURCE_DIR}/proto/google
  DESTINATION ${CMAKE_INSTALL_DATADIR}/planwright/proto COMPONENT libplanwright-dev FILES_MATCHING PATTERN "*.proto")

# Libraries that the planner was built with, as whoever links the archive names them.
set(core_links "")
set(core_requires "")
if(PLANWRIGHT_WITH_CBC)
  set(core_links ${CBC_LIBRARIES})
  set(core_requires "cbc osi-clp")
endif()
set(core_private_links "")
if(PLANWRIGHT_SCOTCH)
  list(APPEND core_links scotch scotcherr)
  set(core_private_links "-lscotch -lscotcherr")
endif()
set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/planwright)
configure_package_config_file(${templates}/planwrightConfig.cmake.in ${generated}/planwrightConfig.cmake
  INSTALL_DESTINATION ${cmake_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Before 1.0 every minor version may change what programs see.
write_basic_package_version_file(${generated}/planwrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/planwrightConfig.cmake ${generated}/planwrightConfigVersion.cmake
  DESTINATION ${cmake_folder} COMPONENT libplanwright-dev)
foreach(part core client)
  configure_file(${templates}/planwright-${part}.pc.in ${generated}/planwright-${part}.pc @ONLY)
  install(FILES ${generated}/planwright-${part}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT libplanwright-dev)
endforeach()

# --- The Python client, and a wheel of it for machines that run no Debian.
find_program(GRPC_PYTHON_PLUGIN grpc_python_plugin)
mark_as_advanced(GRPC_PYTHON_PLUGIN)
if(GRPC_PYTHON_PLUGIN)
  set(python ${PROJECT_BINARY_DIR}/python-package)
  set(python_source ${PROJECT_SOURCE_DIR}/client/python)
  file(GLOB python_inputs CONFIGURE_DEPENDS ${python_source}/planwright/*.py ${PROJECT_SOURCE_DIR}/proto/planwright/v1/*.proto)
  configure_file(${python_source}/pyproject.toml.in ${python}/pyproject.toml @ONLY)
  add_custom_command(OUTPUT ${python}/generated
    COMMAND ${python_source}/generate.sh ${python}
    COMMAND ${CMAKE_COMMAND} -E touch ${python}/generated
    DEPENDS ${python_inputs} ${python_source}/generate.sh VERBATIM)
  add_custom_target(planwright_python DEPENDS ${python}/generated)
  add_dependencies(installed planwright_python)
  install(DIRECTORY ${python}/planwright DESTINATION lib/python3/dist-packages COMPONENT python3-planwright
    PATTERN __pycache__ EXCLUDE)
  add_custom_target(planwright_wheel
    COMMAND /usr/bin/python3 -m pip wheel --quiet --no-build-isolation --no-deps --no-index
      --wheel-dir ${PROJECT_BINARY_DIR}/wheels ${python}
    DEPENDS ${python}/generated VERBATIM)
endif()

# --- Debian packages.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "Planwright")
set(CPACK_PACKAGE_CONTACT "The Planwright authors <maintainers@planwright.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/debs)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL planwright planwrightd libplanwright-dev python3-planwright)
set(CPACK_COMPONENTS_GROUPING IGNORE)

# planwright_package(NAME name SECTION section SUMMARY text DESCRIPTION text [DEPENDS packages])
function(planwright_package)
  cmake_parse_arguments(ARG "" "NAME;SECTION;SUMMARY;DESCRIPTION;DEPENDS" "" ${ARGN})
  string(TOUPPER ${ARG_NAME} component)
  foreach(property NAME SECTION DEPENDS)
    set(CPACK_DEBIAN_${component}_PACKAGE_${property} "${ARG_${property}}" PARENT_SCOPE)
  endforeach()
  set(CPACK_DEBIAN_${component}_DESCRIPTION "${ARG_SUMMARY}\n${ARG_DESCRIPTION}" PARENT_SCOPE)
  set(folder ${generated}/${ARG_NAME})
  set(package ${ARG_NAME})
  configure_file(${templates}/copyright ${folder}/copyright COPYONLY)
  configure_file(${templates}/changelog.in ${folder}/changelog @ONLY)
  # gzip without a time and a name: equal builds make equal packages.
  execute_process(COMMAND gzip --best --no-name --force changelog WORKING_DIRECTORY ${folder})
  install(FILES ${folder}/copyright ${folder}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${ARG_NAME}
    COMPONENT ${ARG_NAME})
endfunction()

planwright_package(NAME planwright SECTION science
  SUMMARY "plans how deep networks run on clusters"
  DESCRIPTION "Planwright takes the operator graph of a neural network and a cluster, and\nanswers with the best pipeline of stages and a proof of how far from the best\nit is.\nThis package holds the command line, which plans by itself or asks planwrightd.")
planwright_package(NAME planwrightd SECTION net
  SUMMARY "planning service for deep networks on clusters"
  DESCRIPTION "Planwright takes the operator graph of a neural network and a cluster, and\nanswers with the best pipeline of stages and a proof of how far from the best\nit is.\nThis package holds the gRPC service, and the admission hook for Kubernetes.")
planwright_package(NAME libplanwright-dev SECTION libdevel
  SUMMARY "libraries of Planwright for programs in C++"
  DESCRIPTION "The client of planwrightd (planwright::client) and the planner itself\n(planwright::core), with CMake and pkg-config files and the protos."
  DEPENDS "libgrpc++-dev, libprotobuf-dev, protobuf-compiler-grpc, libabsl-dev, libtbb-dev, libssl-dev, coinor-libcbc-dev, libscotch-dev")
planwright_package(NAME python3-planwright SECTION python
  SUMMARY "client of planwrightd for Python"
  DESCRIPTION "A thin client with types, and the messages of the planning service."
  DEPENDS "python3 (>= 3.9), python3-grpcio, python3-protobuf")
set(CPACK_DEBIAN_PLANWRIGHTD_PACKAGE_CONTROL_EXTRA "${templates}/postinst;${templates}/prerm;${templates}/postrm")
set(CPACK_DEBIAN_LIBPLANWRIGHT-DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON3-PLANWRIGHT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON3-PLANWRIGHT_PACKAGE_ARCHITECTURE all)
include(CPack)
