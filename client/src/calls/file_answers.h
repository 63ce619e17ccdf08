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

/// Decides which files of this process the daemon may ask for during one build. These are the files
/// below the directories that the build names, and files whose names occur in the program or in an
/// answered file. A compiler needs no others. A question about another file would come from another
/// user's build or from a compromised compiler. Not thread-safe.
class AskableFiles {
 public:
  /// The parts of a build that name files.
  struct Program {
    std::string working_directory;
    std::string name;
    std::vector<std::string> options;  ///< including those in environment variables
    std::vector<std::string_view>
        texts;  ///< views of the source and the inline headers, which must outlive this object
  };
  /// `program`: none if the build needs no files, as a link.
  explicit AskableFiles(std::optional<Program> program);

  /// Returns whether the daemon may ask for this absolute path. It may read answered files again to
  /// search them for names.
  [[nodiscard]] bool May(const std::string& path);
  /// Records that a question about this regular file was answered, and that these are its contents.
  void NoteAnswered(const std::string& path, std::string_view contents);

 private:
  [[nodiscard]] bool IsBelowDirectories(std::string_view path) const;
  [[nodiscard]] bool IsNamed(std::string_view path) const;
  void AddDirectories();
  /// Collects the names in the texts, options and answered files. Called at the first question
  /// about a file outside the directories, because nearly all builds have no such question.
  void StartToLearn();
  /// Collects the names in a text that lead out of the directories: absolute names, and those with
  /// "..". `all`: also collects the other names between quotes or angle brackets.
  void Learn(std::string_view text, bool all);
  void Keep(std::string_view name, bool all);

  const std::optional<Program> program_;
  std::vector<std::string> directories_;
  std::vector<std::string>
      answered_;  ///< paths of answered files below the directories; empty after StartToLearn
  bool learns_ = false;
  std::unordered_set<std::string> names_;
  size_t name_bytes_ = 0;
  std::unordered_set<std::string>
      others_;  ///< directories outside the program's with an answered file
};

/// The answer to a question about a path of this process.
struct OwnFile {
  /// The numbers are those of FileKind in build.proto.
  enum class Kind : uint8_t { kAbsent = 1, kRegular = 2, kDirectory = 3, kRefused = 4 };
  Kind kind = Kind::kAbsent;
  uint64_t device = 0;  ///< major number << 32 | minor number
  uint64_t inode = 0;
  Digest digest;         ///< of a regular file, if only its digest was asked for
  std::string contents;  ///< of a regular file
  std::string reason;    ///< for kRefused: why
};

/// Looks at a path with the rights of this process. Symlinks are followed. A file that is not
/// regular or is in a pseudo file system of the kernel (/proc) is refused and not read. The answer
/// always has the contents. `contents`: whether they were asked for; if not, it also has their
/// digest.
[[nodiscard]] OwnFile LookAtOwnFile(const std::string& path, bool contents);

/// The messages of the client in a call of the RPC BuildWithFiles. It answers the daemon's
/// questions about files of this process, in order, and then receives the reply as in
/// BuildInChunks. It reads a file only when the connection can send more. It refuses files that no
/// compiler of this build needs (AskableFiles). Not thread-safe.
class BuildConversation final : public MessageSink, public MessageSource {
 public:
  /// `request` must outlive this object.
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
  ByteChain message_;      ///< message that is being sent
  std::string contents_;   ///< contents in the last answer
  std::string_view rest_;  ///< the part of contents_ for further messages
};

}  // namespace cccl_cache
