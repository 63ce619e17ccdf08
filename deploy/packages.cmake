# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# `cpack -G DEB` makes four Debian packages, each from the install rules of one component.
set(CPACK_PACKAGE_VENDOR "the cccl-cached authors")
set(CPACK_PACKAGE_CONTACT "the cccl-cached authors <cccl-cached@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_STRIP_FILES ON)
# Units contain the prefix. Only with DESTDIR is that the final directory and not CPack's own.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL daemon cli library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)

# CPack finds the dependencies in the programs. Debian does not know our own library, so packages
# that use it name its package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/client)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_DAEMON_DEPENDS library)
set(CPACK_COMPONENT_CLI_DEPENDS library)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)

# Debian's copyright notices of the libraries that are compiled or linked into our programs. On
# other systems no packages are made.
set(copyright ${CMAKE_CURRENT_BINARY_DIR}/copyright)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE licence)
file(WRITE ${copyright} "Copyright: the cccl-cached authors\n\n${licence}")
foreach(library libcli11 libfmt libgmp libnghttp2 nettle libtomlplusplus nlohmann-json3)
  if(EXISTS /usr/share/doc/${library}-dev/copyright)
    file(READ /usr/share/doc/${library}-dev/copyright notice)
    file(APPEND ${copyright} "\n${library}, parts of which are in these programs:\n\n${notice}")
  endif()
endforeach()

# package(COMPONENT NAME SUMMARY DESCRIPTION [CONTROL_FILE...])
function(package component name summary description)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/debian/)
  set(CPACK_DEBIAN_${key}_PACKAGE_CONTROL_EXTRA ${ARGN} PARENT_SCOPE)
  install(FILES ${copyright} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
endfunction()
package(daemon cccl-cached "compile cache for CUDA programs"
  "The daemon of a node: each distinct build of NVRTC, nvJitLink or libNVVM is compiled once, and later requests are
served from memory or disk. The package brings systemd units and creates the user cccl-cached. CUDA is not included."
  daemon/postinst daemon/prerm daemon/postrm daemon/templates)
package(cli cccl-cache-cli "command line of the compile cache for CUDA programs"
  "Builds through cccl-cached, explains misses, shows statistics, and runs unchanged programs with their compiles
served by the daemon.")
package(library libcccl-cache1 "client library of the compile cache for CUDA programs"
  "Builds through cccl-cached, and without a daemon compiles locally with the same result."
  library/shlibs)
package(development libcccl-cache-dev "client library of the compile cache for CUDA programs: headers"
  "Headers for C and C++20, and files for CMake and pkg-config.")
set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS "systemd | systemd-sysusers, debconf (>= 0.5) | debconf-2.0")
set(CPACK_DEBIAN_DAEMON_PACKAGE_RECOMMENDS cccl-cache-cli)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
include(CPack)
