# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A recipe for Spack, which builds from source. In a repository of your own (`spack repo create`) it is
packages/cccl_cached/package.py. From a checkout: spack dev-build --source-path PATH cccl-cached@main

Not tried in Spack: names and variants are those of its packages of July 2026."""

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class CcclCached(CMakePackage):
    """Compile cache for CUDA programs: a daemon that compiles each distinct build of NVRTC, nvJitLink or
    libNVVM once for all processes of a node, its command line and its client library."""

    # The sources are not published: `spack develop` and `spack dev-build` take a checkout.
    has_code = True
    version("main")

    license("Apache-2.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    # Newer versions are not tested.
    depends_on("protobuf@3.21:21")
    depends_on("grpc@1.50:1.54 +codegen +shared cxxstd=17")
    # The store derives classes from those of RocksDB, and compresses with Zstandard.
    depends_on("rocksdb@7.2: +shared +rtti +zstd")
    depends_on("zstd libs=shared")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("cli11@2.1: ~precompiled")
    depends_on("tomlplusplus@3.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("hiredis@0.14:")
    depends_on("openssl@3:")
    # The client library and the programs link the archives of these libraries. Their recipes make
    # archives and shared libraries.
    depends_on("nettle@3.8:3")
    depends_on("gmp@6:")
    depends_on("nghttp2@1.52:")
    depends_on("libevent@2.1: +openssl")
    depends_on("ncurses@6:")
    depends_on("libseccomp@2.5: ~python")

    # Without Landlock's and seccomp's headers there is no sandbox.
    conflicts("platform=darwin")
    conflicts("platform=windows")

    generator("ninja")

    @run_before("cmake")
    def describe_rocksdb(self):
        """RocksDB's makefile, by which Spack builds it, installs no package for CMake."""
        rocksdb = self.spec["rocksdb"]
        os.makedirs(self.rocksdb_directory, exist_ok=True)
        with open(join_path(self.rocksdb_directory, "RocksDBConfig.cmake"), "w") as file:
            file.write(
                "add_library(RocksDB::rocksdb-shared SHARED IMPORTED)\n"
                "set_target_properties(RocksDB::rocksdb-shared PROPERTIES\n"
                f'  IMPORTED_LOCATION "{rocksdb.libs[0]}"\n'
                f'  INTERFACE_INCLUDE_DIRECTORIES "{rocksdb.prefix.include}")\n'
            )

    @property
    def rocksdb_directory(self):
        return join_path(self.stage.path, "rocksdb")

    def cmake_args(self):
        return [
            self.define("RocksDB_DIR", self.rocksdb_directory),
            self.define("BUILD_TESTING", False),
            self.define("CMAKE_UNITY_BUILD", True),
        ]
