// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "client/src/calls/askable_files.h"
#include "client/src/calls/own_file.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/wire/build_request.h"
#include "client/src/wire/messages.h"

namespace cccl_cache {

/// The answer of BuildWithFiles: the daemon's questions about this process's files, each answered
/// in its turn, and at the end what BuildInChunks answers. Files are looked at as the connection
/// has room for what they hold; one that no compiler of this build would ask for is refused. Not
/// thread-safe.
class BuildConversation final : public MessageSink, public MessageSource {
 public:
  /// The request must outlive it.
  explicit BuildConversation(const BuildRequest& request);

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

  const BuildRequest& request_;
  std::optional<AskableFiles> askable_;  ///< always there
  ChunkedReply reply_;
  std::deque<Question> questions_;
  /// The message that is being sent, and what it refers to.
  ByteChain message_;
  std::deque<std::string> contents_;
  std::string_view rest_;  ///< of the last contents: not yet in a message
};

}  // namespace cccl_cache
