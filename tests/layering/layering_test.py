# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The check itself fails for wrong includes."""

import pathlib
import tempfile
import unittest

import layering


class Layering(unittest.TestCase):
    def test_includes_of_lower_layers_are_allowed(self):
        for path, header in (
            ("daemon/store/a.cc", "daemon/core/model/tier.h"),
            ("daemon/core/coordinator/a.cc", "daemon/core/lookup/manifest.h"),
            ("daemon/service/calls/a.cc", "daemon/service/wire/build_reply.h"),
            ("daemon/core/a.cc", "proto/digest.h"),
            ("cli/a.cc", "base/text.h"),
            ("daemon/files/a.cc", "daemon/core/model/requester_files.h"),
            ("daemon/worker/a.cc", "daemon/compile/protocol/frame.h"),
            ("daemon/main.cc", "daemon/service/server.h"),
            ("daemon/store/a.cc", "rocksdb/db.h"),
            ("daemon/remote/a.cc", "daemon/core/lookup/entry.h"),
            ("proto/compression.cc", "zstd.h"),
            ("daemon/worker/a.cc", "sys/mman.h"),
            ("cli/a.cc", "cccl_cache/client.h"),
            ("daemon/core/a.cc", "vector"),
        ):
            self.assertIsNone(layering.complaint(path, header), (path, header))

    def test_includes_of_higher_and_neighbouring_layers_are_refused(self):
        for path, header in (
            ("daemon/core/a.cc", "daemon/store/rocksdb_store.h"),
            ("daemon/core/a.h", "daemon/main.h"),
            ("daemon/core/model/a.h", "daemon/core/closure/closure.h"),
            ("daemon/core/run/a.cc", "daemon/core/coordinator/flights.h"),
            ("daemon/service/transport/a.cc", "daemon/service/calls/build_call.h"),
            ("daemon/toolchain/a.cc", "daemon/core/lookup/manifest.h"),
            ("client/src/transport/a.cc", "client/src/wire/build_reply.h"),
            ("daemon/store/a.cc", "daemon/toolchain/registry.h"),
            ("daemon/worker/a.cc", "daemon/compile/zygote.h"),
            ("daemon/compile/a.cc", "daemon/worker/worker.h"),
            ("daemon/files/a.cc", "daemon/store/memory_store.h"),
            ("daemon/remote/a.cc", "daemon/toolchain/trusted_path.h"),
            ("daemon/compile/a.cc", "daemon/service/server.h"),
            ("client/src/a.cc", "daemon/core/model/result.h"),
            ("cli/a.cc", "client/src/transport/channel.h"),
            ("proto/a.h", "daemon/core/model/result.h"),
            ("base/a.h", "proto/digest.h"),
            ("client/include/cccl_cache/a.h", "base/text.h"),
            ("client/include/cccl_cache/a.h", "proto/digest.h"),
        ):
            self.assertIsNotNone(layering.complaint(path, header), (path, header))

    def test_headers_of_libraries_are_refused_outside_their_adapters(self):
        for path, header in (
            ("daemon/core/a.cc", "rocksdb/db.h"),
            ("daemon/core/a.cc", "grpcpp/grpcpp.h"),
            ("daemon/core/a.cc", "cccl_cache/v1/build.pb.h"),
            ("daemon/service/a.cc", "spdlog/spdlog.h"),
            ("daemon/toolchain/a.cc", "dlfcn.h"),
            ("daemon/remote/a.cc", "zstd.h"),
            ("daemon/worker/a.cc", "nvrtc.h"),
            ("client/include/cccl_cache/a.h", "nghttp2/nghttp2.h"),
            ("daemon/store/a.cc", "boost/any.hpp"),
        ):
            self.assertIsNotNone(layering.complaint(path, header), (path, header))

    def test_a_file_with_a_wrong_include_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            core = pathlib.Path(directory) / "daemon" / "core"
            core.mkdir(parents=True)
            (core / "a.cc").write_text('#include <vector>\n#  include "daemon/service/server.h"\n')
            found = list(layering.complaints(pathlib.Path(directory)))
            self.assertEqual(len(found), 1)
            self.assertTrue(found[0].startswith("daemon/core/a.cc:2: "))


if __name__ == "__main__":
    unittest.main()
