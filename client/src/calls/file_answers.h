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
#include "client/src/wire/build_request.h"
#include "client/src/wire/messages.h"
#include "proto/digest.h"

namespace cccl_cache {

/// Which files of this process a daemon may ask about for one build: what lies below the
/// directories that the build names, and names that stand in the program or in a file that was
/// answered before. A compiler asks for no others, so a question for another file comes from
/// somebody else's build, or from a compiler that was taken over. Not thread-safe.
class AskableFiles {
 public:
  /// The files that a build names.
  struct Program {
    std::string working_directory;
    std::string name;
    std::vector<std::string> options;     ///< with those that its environment adds
    std::vector<std::string_view> texts;  ///< its source and inline headers, which outlive this
  };
  /// None: a link or the like, which asks for no file.
  explicit AskableFiles(std::optional<Program> program);

  /// `path`: absolute. May read the files that were answered before, to look for the name there.
  [[nodiscard]] bool May(const std::string& path);
  /// A regular file of these contents was answered.
  void NoteAnswered(const std::string& path, std::string_view contents);

 private:
  [[nodiscard]] bool IsBelowDirectories(std::string_view path) const;
  [[nodiscard]] bool IsNamed(std::string_view path) const;
  void AddDirectories();
  /// Reads what was not worth reading before: nearly all builds ask for nothing outside.
  void StartToLearn();
  /// Keeps the names in a text that lead out of the directories; `all`: others as well.
  void Learn(std::string_view text, bool all);
  void Keep(std::string_view name, bool all);

  const std::optional<Program> program_;
  std::vector<std::string> directories_;
  std::vector<std::string> answered_;  ///< below the directories, until learning starts
  bool learns_ = false;
  std::unordered_set<std::string> names_;
  size_t name_bytes_ = 0;
  std::unordered_set<std::string> others_;  ///< directories of files that were answered elsewhere
};

/// What lies under a name of this process's, as a daemon is told.
struct OwnFile {
  enum class Kind { kAbsent, kRegular, kDirectory, kRefused };
  Kind kind = Kind::kAbsent;
  uint64_t device = 0;  ///< major number << 32 | minor number
  uint64_t inode = 0;
  Digest digest;         ///< of a file's contents
  std::string contents;  ///< of a file
  std::string reason;    ///< why refused
};

/// Looks as this process may, symlinks followed. Only regular files are opened, and none that the
/// kernel makes up (/proc): the rest is refused. `contents` are read in any case; the digest is
/// computed only where they are not wanted.
[[nodiscard]] OwnFile LookAtOwnFile(const std::string& path, bool contents);

/// The answer of BuildWithFiles: the daemon's questions about this process's files, each answered
/// in its turn, and at the end what BuildInChunks answers. Files are looked at as the connection
/// has room for what they hold; one that no compiler of this build would ask for is refused. Not
/// thread-safe.
class BuildConversation final : public MessageSink, public MessageSource {
 public:
  /// The request must outlive it.
  explicit BuildConversation(const RequestMessage& request);

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
  std::optional<AskableFiles> askable_;  ///< always there
  ChunkedReply reply_;
  std::deque<Question> questions_;
  /// The message that is being sent, and what it refers to.
  ByteChain message_;
  std::deque<std::string> contents_;
  std::string_view rest_;  ///< of the last contents: not yet in a message
};

}  // namespace cccl_cache
