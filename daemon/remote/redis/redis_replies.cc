// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_replies.h"

#include <fmt/format.h>
#include <hiredis/read.h>

#include <charconv>

#include "base/text.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

/// Sets functions that refuse types of a later version of the protocol. The daemon never asks for
/// that version, but hiredis 1.0 and newer know its types. Without these functions hiredis would
/// make replies that are not RedisReply objects.
template <typename Functions>
void RefuseNewerTypes(Functions* functions) {
  if constexpr (requires { functions->createDouble; }) {
    functions->createDouble = [](const redisReadTask*, double, char*, size_t) -> void* {
      return nullptr;
    };
    functions->createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
  }
}

int Depth(const redisReadTask* task) {
  int depth = 1;
  for (; task->parent != nullptr; task = task->parent) ++depth;
  return depth;
}

}  // namespace

void RedisReplies::FreeReader::operator()(redisReader* reader) const { redisReaderFree(reader); }

RedisReplies::RedisReplies(uint64_t max_reply_bytes) : max_reply_bytes_(max_reply_bytes) {
  // createArray is a generic lambda, because the type of the length differs between releases of
  // hiredis.
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions made = {};
    made.createString = [](const redisReadTask* task, char* text, size_t size) {
      return AddText(task, std::string_view(text, size));
    };
    made.createArray = [](const redisReadTask* task, auto items) -> void* {
      return AddArray(task, static_cast<uint64_t>(items));
    };
    made.createInteger = [](const redisReadTask* task, long long integer) {
      return AddInteger(task, integer);
    };
    made.createNil = [](const redisReadTask* task) -> void* {
      return Add(task, RedisReply::Kind::kNil);
    };
    made.freeObject = [](void* /*reply*/) {};  // all objects are parts of reply_
    RefuseNewerTypes(&made);
    return made;
  }();
  reader_.reset(redisReaderCreateWithFunctions(&functions));
  if (reader_ == nullptr) {
    Fail("there is no memory to read it");
    return;
  }
  reader_->privdata = this;
}

void RedisReplies::Feed(std::string_view bytes) {
  if (!problem_.empty()) return;
  reply_bytes_ += bytes.size();
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    Fail("there is no memory to read it");
  }
}

RedisReply* RedisReplies::Next() {
  if (!problem_.empty()) return nullptr;
  void* whole = nullptr;
  const int read = redisReaderGetReply(reader_.get(), &whole);
  if (!problem_.empty())
    return nullptr;  // problem_ already says more than the reader's error, which only reports the
                     // refusal
  if (read != REDIS_OK) {
    return Fail(fmt::format("what it sent is not Redis's protocol ({})",
                            Printable(redisReaderGetError(reader_.get()))));
  }
  const uint64_t unread = reader_->len - reader_->pos;
  if (whole == nullptr) {
    CheckUnfinished();
    return nullptr;
  }
  const uint64_t size = reply_bytes_ - unread;
  reply_bytes_ = unread;
  all_items_ = 0;
  if (size <= max_reply_bytes_) return &reply_;
  return Fail(fmt::format("it sent a reply of over {} bytes", max_reply_bytes_));
}

/// Refuses a reply that will exceed a limit, before the rest of its bytes has arrived.
void RedisReplies::CheckUnfinished() {
  // The reader's position is after the type byte of the unfinished item. A line or the length of a
  // text follows.
  std::string_view rest(reader_->buf + reader_->pos, reader_->len - reader_->pos);
  uint64_t announced = 0;
  const size_t line = rest.substr(0, kMaxLine + kLineEnd.size()).find(kLineEnd);
  if (line != std::string_view::npos) {
    const auto read = std::from_chars(rest.data(), rest.data() + line, announced);
    if (read.ec != std::errc()) announced = UINT64_MAX;
  } else if (rest.size() > kMaxLine + 1) {
    Fail(fmt::format("it sent a line of over {} bytes", kMaxLine));
    return;
  }
  if (reply_bytes_ > max_reply_bytes_ || announced > max_reply_bytes_) {
    Fail(fmt::format("it sent a reply of over {} bytes", max_reply_bytes_));
  }
}

RedisReply* RedisReplies::Fail(std::string_view problem) {
  problem_ = problem;
  reply_ = {};
  reader_.reset();
  return nullptr;
}

/// Sets the kind of the reply, or of a new item in the array of the task's parent, and returns it.
/// A new item may move earlier items in memory. That is safe: those items are complete, and the
/// reader has no pointers to them.
RedisReply* RedisReplies::Add(const redisReadTask* task, RedisReply::Kind kind) {
  RedisReply* made = nullptr;
  if (task->parent == nullptr) {
    made = &static_cast<RedisReplies*>(task->privdata)->reply_;
    *made = {};
  } else {
    made = &static_cast<RedisReply*>(task->parent->obj)->items.emplace_back();
  }
  made->kind = kind;
  return made;
}

void* RedisReplies::AddText(const redisReadTask* task, std::string_view text) {
  RedisReplies& self = *static_cast<RedisReplies*>(task->privdata);
  const bool line = task->type != REDIS_REPLY_STRING;
  if (line && text.size() > kMaxLine) {
    self.problem_ = fmt::format("it sent a line of over {} bytes", kMaxLine);
    return nullptr;
  }
  RedisReply* const made = Add(
      task, task->type == REDIS_REPLY_ERROR ? RedisReply::Kind::kError : RedisReply::Kind::kText);
  made->text = text;
  return made;
}

void* RedisReplies::AddArray(const redisReadTask* task, uint64_t items) {
  RedisReplies& self = *static_cast<RedisReplies*>(task->privdata);
  const bool fits = task->type == REDIS_REPLY_ARRAY && Depth(task) <= kMaxDepth &&
                    items <= kMaxItems - self.all_items_;
  if (!fits) {
    self.problem_ = "it sent an array that is too long or too deep";
    return nullptr;
  }
  self.all_items_ += items;
  return Add(task, RedisReply::Kind::kArray);
}

void* RedisReplies::AddInteger(const redisReadTask* task, int64_t integer) {
  RedisReply* const made = Add(task, RedisReply::Kind::kInteger);
  made->integer = integer;
  return made;
}

}  // namespace cccl_cache::daemon
