// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <limits.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/compile/protocol/packet.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;

/// Checks that a decoded name is valid in a question to the daemon.
void CheckName(std::string_view name) {
  assert(IsFileQuestion(name) && name.starts_with('/') && name.size() < PATH_MAX);
  assert(name.find('\0') == std::string_view::npos);
  const std::string closed = name == "/" ? "/" : std::string(name) + '/';
  assert(closed.find("//") == std::string::npos && closed.find("/./") == std::string::npos);
}

void CheckAnswer(const FileAnswerStart& answer) {
  const FileAnswerHeader& header = answer.header;
  assert((header.kind == FileKind::kAbsent) == (header.identity == 0));
  assert(header.kind == FileKind::kFile || header.size == 0);
  assert(header.size <= kMaxHandedOverBytes && answer.contents.size() <= header.size);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const FileAnswerHeader file{FileKind::kFile, 3, 5};
  const FileAnswerHeader large{FileKind::kFile, 3, 1 << 20};
  return {"/",
          "/cccl-root-1/cub/../cub.cuh",
          EncodeAnnouncement("/cccl-root-1/cub"),
          std::string("/") + std::string(PATH_MAX - 2, 'a'),
          EncodeFileAnswerHeader({}),
          EncodeFileAnswerHeader({FileKind::kDirectory, 1, 0}),
          EncodeFileAnswerHeader(file) + "int a",
          EncodeFileAnswerHeader(large) + std::string(BytesInFirstPacket(large.size), ' ')};
}

/// Each question and each answer has one encoding: a decoded message encodes to the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto question = DecodeFileQuestion(bytes)) {
    assert((question->announces_look ? EncodeAnnouncement(question->name) : question->name) ==
           bytes);
    CheckName(question->name);
  }
  if (const auto answer = DecodeFileAnswer(bytes)) {
    assert(EncodeFileAnswerHeader(answer->header) + std::string(answer->contents) == bytes);
    CheckAnswer(*answer);
  }
  return 0;
}
