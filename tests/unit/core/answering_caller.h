// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/core/closure/file_exchange.h"

namespace cccl_cache::daemon::testing {

/// A caller with files that answers each question at once, on the asking thread. Not thread-safe.
class AnsweringCaller {
 public:
  explicit AnsweringCaller(uid_t uid = 1000, std::shared_ptr<SentContents> known = nullptr)
      : sent(known ? std::move(known)
                   : std::make_shared<SentContents>(std::chrono::steady_clock::now)),
        exchange(std::make_shared<FileExchange>(
            FileExchange::Options{.uid = uid, .patience = std::chrono::milliseconds(1)}, sent,
            [this] { AnswerAll(); })) {}

  void AnswerAll() {
    if (silent) return;
    for (auto taken = exchange->Take(); !taken.empty(); taken = exchange->Take()) {
      batches.push_back(taken.size());
      for (const CallerQuestion& question : taken) {
        asked.push_back(question.path + (question.contents ? " contents" : ""));
        if (const Status answered = AnswerOne(question); !answered) {
          exchange->End(answered.error());
        }
      }
    }
  }

  Status AnswerOne(const CallerQuestion& question) {
    if (const auto why = refused.find(question.path); why != refused.end()) {
      return exchange->Answer({.refusal = why->second});
    }
    const auto found = files.find(question.path);
    if (found == files.end()) return exchange->Answer({});
    const std::string& text = found->second;
    const uint64_t inode = std::distance(files.begin(), found) + 1;
    CallerAnswer answer{FileKind::kFile, {1, inode}, text.size()};
    if (!question.contents) {
      const auto claim = claims.find(question.path);
      answer.digest = claim == claims.end() ? cccl_cache::Sha256(text) : claim->second;
      return exchange->Answer(answer);
    }
    if (const Status taken = exchange->Answer(answer); !taken) return taken;
    for (std::string_view left = text; !left.empty();) {
      const std::string_view piece = left.substr(0, 3);
      left.remove_prefix(piece.size());
      if (const Status taken = exchange->Append(piece); !taken) return taken;
    }
    return Ok{};
  }

  bool silent = false;
  std::map<std::string, std::string> files;
  std::map<std::string, cccl_cache::Digest> claims;  ///< by path: a false digest
  std::map<std::string, std::string> refused;        ///< by path: the reason for refusing to answer
  std::vector<std::string> asked;                    ///< "/a/b.h", "/a/b.h contents"
  std::vector<size_t> batches;
  const std::shared_ptr<SentContents> sent;
  const std::shared_ptr<FileExchange> exchange;
};

inline RootDirectories DirectoriesIn(const std::string& place) {
  return {.roots = {place + "/src", place + "/include"}, .working_directory = place};
}

}  // namespace cccl_cache::daemon::testing
