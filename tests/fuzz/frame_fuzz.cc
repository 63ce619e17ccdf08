// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/compile/protocol/frame.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;

/// The encoder cuts long error texts. So the first encoding may change a message, but the second
/// must not.
template <auto encode, auto decode>
void CheckCutMessage(std::string_view bytes) {
  const auto message = decode(bytes);
  if (!message) return;
  const std::string sent = encode(*message);
  const auto received = decode(sent);
  assert(received.ok() && sent.size() <= bytes.size());
  assert(encode(*received) == sent);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  ZygoteHello hello{.nvrtc = LibraryFiles{"/cuda/libnvrtc.so.13", {"/cuda/libnvrtc-builtins.so"}},
                    .nvvm = LibraryFiles{"/cuda/libnvvm.so.4", {}},
                    .libdevice = "/cuda/libdevice.10.bc",
                    .trusted_directories = {"/cuda/include", "/cuda/include/cccl"}};
  return {EncodeControlMessage(hello),
          EncodeControlMessage(SpawnRequest{.job_id = 7, .memory_bytes = 1 << 30}),
          EncodeControlAnswer(ZygoteReady{SandboxKind::kReadsToolchain, "Landlock ABI 4"}),
          EncodeControlAnswer(LoadFailed{"libnvrtc.so.13: no such file"}),
          EncodeControlAnswer(LoadFailed{std::string(5000, 'x')}),
          EncodeStatusMessage(Spawned{.pid = 4711}),
          EncodeStatusMessage(SpawnFailed{"fork: no memory"}),
          EncodeStatusMessage(Exited{9, 1 << 20, std::chrono::microseconds(5)}),
          EncodeFrameHeader(1 << 20)};
}

/// Each message has one encoding: a decoded message encodes to the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto message = DecodeControlMessage(bytes)) {
    assert(EncodeControlMessage(*message) == bytes);
  }
  CheckCutMessage<EncodeControlAnswer, DecodeControlAnswer>(bytes);
  CheckCutMessage<EncodeStatusMessage, DecodeStatusMessage>(bytes);
  // Any length is accepted here; ReplyBuffer limits the length of a reply.
  if (const auto length = DecodeFrameHeader(bytes)) assert(EncodeFrameHeader(*length) == bytes);
  return 0;
}
