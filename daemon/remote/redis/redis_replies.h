// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;
struct redisReadTask;

namespace cccl_cache::daemon {

/// A reply of a Redis server. A plain value.
struct RedisReply {
  enum class Kind : uint8_t { kNil, kText, kInteger, kError, kArray };

  Kind kind = Kind::kNil;
  std::string text;  ///< set for kText and kError
  int64_t integer = 0;
  std::vector<RedisReply> items;  ///< set for kArray
};

/// Parses the bytes that a Redis server sends. The server may be hostile, so memory is allocated
/// only for received bytes, never for an announced size. Not thread-safe.
class RedisReplies {
 public:
  static constexpr int kMaxDepth = 4;
  static constexpr size_t kMaxItems = 16;      ///< limit of the items in all arrays of one reply
  static constexpr size_t kMaxLine = 8 << 10;  ///< limit of a status, an error or a number, in
                                               ///< bytes

  /// `max_reply_bytes`: limit of one reply in bytes, as the server sends it.
  explicit RedisReplies(uint64_t max_reply_bytes);
  RedisReplies(const RedisReplies&) = delete;
  RedisReplies& operator=(const RedisReplies&) = delete;

  void Feed(std::string_view bytes);
  /// Returns the next complete reply, which is valid until the next call. Returns null if more
  /// bytes are needed, or if problem() is not empty.
  [[nodiscard]] RedisReply* Next();
  /// Returns what is wrong with the received bytes. Empty if there is no problem. After a problem,
  /// Next() always returns null.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };

  static RedisReply* Add(const redisReadTask* task, RedisReply::Kind kind);
  static void* AddText(const redisReadTask* task, std::string_view text);
  static void* AddArray(const redisReadTask* task, uint64_t items);
  static void* AddInteger(const redisReadTask* task, int64_t integer);
  RedisReply* Fail(std::string_view problem);
  void CheckUnfinished();

  const uint64_t max_reply_bytes_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  uint64_t reply_bytes_ = 0;  ///< bytes received since the last complete reply
  size_t all_items_ = 0;      ///< number of items in all arrays of the current reply
  RedisReply reply_;
  std::string problem_;
};

}  // namespace cccl_cache::daemon
