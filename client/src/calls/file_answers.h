// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/wire/messages.h"
#include "client/src/wire/request_message.h"
#include "proto/digest.h"

namespace cccl_cache {

/// Decides which files of this process a daemon may ask about for one build. It may ask about files
/// below the directories that the build names, and about names that occur in the program or in an
/// answered file. A compiler needs no others. A question about another file comes from another
/// user's build or from a compromised compiler. Not thread-safe.
class AskableFiles {
 public:
  /// The files that a build names.
  struct Program {
    std::string working_directory;
    std::string name;
    std::vector<std::string> options;  ///< including options from the environment
    std::vector<std::string_view>
        texts;  ///< its source and inline headers, which must outlive this object
  };
  /// `program` is none for a build that asks for no file, such as a link.
  explicit AskableFiles(std::optional<Program> program);

  /// Returns whether the daemon may ask for `path`, which is absolute. May read the answered files
  /// to search them for the name.
  [[nodiscard]] bool May(const std::string& path);
  /// Records that a regular file with these contents was answered.
  void NoteAnswered(const std::string& path, std::string_view contents);

 private:
  [[nodiscard]] bool IsBelowDirectories(std::string_view path) const;
  [[nodiscard]] bool IsNamed(std::string_view path) const;
  void AddDirectories();
  /// Reads the texts at the first question that needs them. Nearly all builds need no file outside
  /// their directories.
  void StartToLearn();
  /// Keeps the names in a text that lead out of the directories. `all`: keeps other names too.
  void Learn(std::string_view text, bool all);
  void Keep(std::string_view name, bool all);

  const std::optional<Program> program_;
  std::vector<std::string> directories_;
  std::vector<std::string>
      answered_;  ///< answered files below the directories, until learning starts
  bool learns_ = false;
  std::unordered_set<std::string> names_;
  size_t name_bytes_ = 0;
  std::unordered_set<std::string>
      others_;  ///< directories of answered files outside the program's directories
};

/// The answer to a daemon's question about one path of this process.
struct OwnFile {
  /// Numbered as FileKind in build.proto.
  enum class Kind : uint8_t { kAbsent = 1, kRegular = 2, kDirectory = 3, kRefused = 4 };
  Kind kind = Kind::kAbsent;
  uint64_t device = 0;  ///< major number << 32 | minor number
  uint64_t inode = 0;
  Digest digest;         ///< of a file
  std::string contents;  ///< of a file
  std::string reason;    ///< why refused
};

/// Looks at a path with this process' rights and follows symlinks. Opens only regular files outside
/// the kernel's pseudo file systems (/proc), and refuses all others. Reads the contents in any
/// case. Computes the digest only if `contents` is false.
[[nodiscard]] OwnFile LookAtOwnFile(const std::string& path, bool contents);

/// The client side of BuildWithFiles. It answers the daemon's questions about this process' files
/// in order, then takes the reply as in BuildInChunks. It reads a file when the connection has room
/// for the contents. It refuses a file that no compiler of this build needs. Not thread-safe.
class BuildConversation final : public MessageSink, public MessageSource {
 public:
  /// The request must outlive it.
  explicit BuildConversation(const RequestMessage& request) : request_(request) {}

  void Restart() override;
  bool Take(Message message) override;
  const ByteChain* Next() override;

  [[nodiscard]] ChunkedReply& reply() { return reply_; }

 private:
  struct Question {
    std::string path;
    bool contents = false;
  };

  bool TakeQuestion(std::string_view question);
  void AppendAnswers();
  [[nodiscard]] OwnFile LookAt(const Question& question);

  const RequestMessage& request_;
  std::optional<AskableFiles> askable_;  ///< set at the first question
  ChunkedReply reply_;
  std::deque<Question> questions_;
  ByteChain message_;      ///< the message in transfer
  std::string contents_;   ///< of the last answer
  std::string_view rest_;  ///< the part of contents_ that is not in a message yet
};

}  // namespace cccl_cache
