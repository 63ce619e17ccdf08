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
# As an archive, or each command would load it.
include(ClientArchives)
client_archive(event_archive libevent)
add_library(cccl_cache_event STATIC IMPORTED GLOBAL)
set_target_properties(cccl_cache_event PROPERTIES IMPORTED_LOCATION ${event_archive})
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
