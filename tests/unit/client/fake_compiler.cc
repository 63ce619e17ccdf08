// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/fake_compiler.h"

#include <sys/stat.h>

namespace {

// Returns a command that prints one message, preceded by its length as in gRPC.
std::string Say(std::string_view octal, size_t size) {
  std::string length = std::to_string(size / 64) + std::to_string(size / 8 % 8);
  length += std::to_string(size % 8);
  return "printf '\\000\\000\\000\\000\\" + length + std::string(octal) + "' >&0\n";
}

}  // namespace

std::string WriteFakeCompiler(const cccl_cache::daemon::TemporaryDirectory& directory,
                              std::string_view script) {
  const std::string path =
      directory.Write("compiler/cccl-cache-compile", "#!/bin/sh\n" + std::string(script));
  chmod(path.c_str(), 0755);
  return path;
}

std::string ReadRequest() { return "dd bs=65536 count=1 of=/dev/null 2>/dev/null\n"; }

std::string AnswerLocal() {
  // BuildReply{outcome: OUTCOME_LOCAL, log: "told"}
  return ReadRequest() + Say("", 0) + Say("\\010\\006\\072\\004told", 8);
}

std::string AnswerError(std::string_view name, std::string_view text) {
  return ReadRequest() + Say(name, name.size()) + Say(text, text.size());
}
