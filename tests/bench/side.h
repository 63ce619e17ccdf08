// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace cccl_cache::daemon {

/// A request of the hit benchmark: a build whose cubin has this many bytes.
struct Question {
  size_t size = 0;
  std::string source;
};

/// Returns a question with a source as long as that of a small kernel.
inline Question QuestionFor(size_t size) {
  Question question{size, "//fake: output-size " + std::to_string(size) + "\n"};
  while (question.source.size() < 2000) question.source += "// one more line of a kernel\n";
  return question;
}

/// One way to get the bytes of a question from another process. Not thread-safe.
class Side {
 public:
  virtual ~Side() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  /// Asks once and waits for the answer. If the answer is missing or of the wrong size, prints the
  /// reason to stderr and returns false.
  virtual bool Ask(const Question& question) = 0;
};

}  // namespace cccl_cache::daemon
