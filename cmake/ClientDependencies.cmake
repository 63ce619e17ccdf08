# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# The dependencies of libcccl_cache and of cccl-cache-compile, as archives that are linked in, so that both need nothing but
# the C library. Headers are found through links, because a compiler for an older C library must not find this system's C
# headers.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
include(ClientArchives)
set(client_includes ${CMAKE_BINARY_DIR}/client_includes)
file(MAKE_DIRECTORY ${client_includes})

# client_headers(TARGET MODULE HEADERS): gives TARGET the headers of a pkg-config module: a folder, or a single header.
function(client_headers target module headers)
  pkg_get_variable(includes ${module} includedir)
  if(NOT includes)
    set(includes $ENV{PKG_CONFIG_SYSROOT_DIR}/usr/include)  # the module of nlohmann_json names no directory
  endif()
  if(NOT EXISTS ${includes}/${headers})
    string(APPEND includes /${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)  # Debian's directory for headers of one architecture
  endif()
  if(NOT EXISTS ${includes}/${headers})
    message(FATAL_ERROR "${module}: ${includes}/${headers} is missing: run scripts/setup")
  endif()
  file(CREATE_LINK ${includes}/${headers} ${client_includes}/${headers} SYMBOLIC)
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${client_includes})
endfunction()

# client_dependency(TARGET MODULE HEADERS): makes TARGET of the archive and the headers of a pkg-config module.
function(client_dependency target module headers)
  client_archive(archive ${module})
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${archive})
  client_headers(${target} ${module} ${headers})
endfunction()

client_dependency(PkgConfig::Nghttp2 libnghttp2 nghttp2)
client_dependency(PkgConfig::Nettle nettle nettle)
client_dependency(cccl_cache_hogweed hogweed nettle)
client_headers(cccl_cache_hogweed gmp gmp.h)
client_archive(gmp_archive gmp)
set_target_properties(cccl_cache_hogweed PROPERTIES INTERFACE_LINK_LIBRARIES "PkgConfig::Nettle;${gmp_archive}")
client_dependency(cccl_cache_zstd libzstd zstd.h)
client_dependency(cccl_cache_event libevent event2)
# Debian's archive needs a younger C library.
add_library(cccl_cache_c_library STATIC ${CMAKE_CURRENT_LIST_DIR}/c_library.c)
set_target_properties(cccl_cache_event PROPERTIES INTERFACE_LINK_LIBRARIES cccl_cache_c_library)
client_dependency(PkgConfig::Seccomp libseccomp seccomp.h)
client_headers(PkgConfig::Seccomp libseccomp seccomp-syscalls.h)
client_curses(curses_archives)
add_library(cccl_cache_curses INTERFACE IMPORTED GLOBAL)
client_headers(cccl_cache_curses ncursesw ncursesw)
# The headers of ncurses include each other without the folder's name.
set_target_properties(cccl_cache_curses PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${client_includes}/ncursesw INTERFACE_LINK_LIBRARIES "${curses_archives}")
add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED GLOBAL)
client_headers(tomlplusplus::tomlplusplus tomlplusplus toml++)
add_library(CLI11::CLI11 INTERFACE IMPORTED GLOBAL)
client_headers(CLI11::CLI11 CLI11 CLI)
add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED GLOBAL)
client_headers(nlohmann_json::nlohmann_json nlohmann_json nlohmann)

# Debian's archive of fmt is built for GCC's C++ runtime, so fmt is compiled here.
add_library(cccl_cache_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_library.cc)
client_headers(cccl_cache_fmt fmt fmt)
target_include_directories(cccl_cache_fmt SYSTEM PRIVATE ${client_includes})
add_library(fmt::fmt ALIAS cccl_cache_fmt)

client_nghttp2(nghttp2)
list(POP_FRONT nghttp2 archive)
set_target_properties(PkgConfig::Nghttp2 PROPERTIES IMPORTED_LOCATION ${archive} INTERFACE_LINK_LIBRARIES ${nghttp2})
