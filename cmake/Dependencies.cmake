# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Every third-party package in one place. Debian 12's packages are the floor; scripts/setup installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(RocksDB CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
pkg_check_modules(Nettle REQUIRED IMPORTED_TARGET nettle)
pkg_check_modules(Seccomp REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(Nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(Zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ProtobufC REQUIRED IMPORTED_TARGET libprotobuf-c)
find_program(PROTOC_C protoc-c REQUIRED)
# As archives, or each command would load them.
include(ClientArchives)
# nettle's part for public keys.
client_archive(hogweed_archive hogweed)
client_archive(gmp_archive gmp)
pkg_get_variable(gmp_includes gmp includedir)
add_library(cccl_cache_hogweed STATIC IMPORTED GLOBAL)
set_target_properties(cccl_cache_hogweed PROPERTIES IMPORTED_LOCATION ${hogweed_archive}
  INTERFACE_INCLUDE_DIRECTORIES "${gmp_includes}" INTERFACE_LINK_LIBRARIES "PkgConfig::Nettle;${gmp_archive}")
client_archive(event_archive libevent)
add_library(cccl_cache_event STATIC IMPORTED GLOBAL)
set_target_properties(cccl_cache_event PROPERTIES IMPORTED_LOCATION ${event_archive})
client_curses(curses_archives)
add_library(cccl_cache_curses INTERFACE IMPORTED GLOBAL)
set_target_properties(cccl_cache_curses PROPERTIES INTERFACE_LINK_LIBRARIES "${curses_archives}")
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
