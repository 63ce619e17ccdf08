// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Stored runs of ptxas and of nvcc's steps as a deposit of another member of a group may return
// them.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/standin/kept_run.h"
#include "tests/fuzz/seeds.h"

using namespace cccl_cache::standin;  // NOLINT

namespace {

ToolRun Cicc() {
  const std::string name = "/tmp/tmpxft_0000aaaa_00000000-6_k";
  const Words words = {"cicc", name + ".ii", "--gen_c_file_name", name + ".c", "-o", name + ".ptx"};
  return *ReadToolRun(*FindTool(words[0], words), words);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {*KeptRun::Encode({{"tmpxft_0000aaaa_00000000", "b"}, "", "a warning"}, Cicc())};
}

/// A decoded run that can be stored again is decoded to the same files and messages.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ToolRun run = Cicc();
  const auto kept = KeptRun::Decode({reinterpret_cast<const char*>(data), size}, run);
  if (!kept) return 0;
  const auto contents = KeptRun::Encode(*kept, run);
  if (!contents) return 0;
  const auto again = KeptRun::Decode(*contents, run);
  assert(again && again->files == kept->files);
  assert(again->out == kept->out && again->err == kept->err);
  return 0;
}
