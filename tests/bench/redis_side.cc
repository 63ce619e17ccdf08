// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/redis_side.h"

#include <hiredis/hiredis.h>

#include <cstdio>
#include <set>

namespace cccl_cache::daemon {
namespace {

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Context = std::unique_ptr<redisContext, FreeContext>;
using Reply = std::unique_ptr<redisReply, FreeReply>;

class RedisSide final : public Side {
 public:
  explicit RedisSide(Context context) : context_(std::move(context)) {}

  [[nodiscard]] const char* name() const override { return "redis"; }

  bool Ask(const Question& question) override {
    if (!put_.contains(question.size) && !Put(question.size)) return false;
    const Reply reply(
        static_cast<redisReply*>(redisCommand(context_.get(), "GET %lu", question.size)));
    return reply != nullptr && reply->type == REDIS_REPLY_STRING && reply->len == question.size;
  }

 private:
  bool Put(size_t size) {
    const std::string value(size, 'x');
    const Reply reply(static_cast<redisReply*>(
        redisCommand(context_.get(), "SET %lu %b", size, value.data(), value.size())));
    if (reply == nullptr || reply->type == REDIS_REPLY_ERROR) return false;
    put_.insert(size);
    return true;
  }

  Context context_;
  std::set<size_t> put_;
};

}  // namespace

std::unique_ptr<Side> OpenRedisSide(const std::string& socket) {
  Context context(redisConnectUnix(socket.c_str()));
  if (context != nullptr && context->err == 0) {
    return std::make_unique<RedisSide>(std::move(context));
  }
  std::fprintf(stderr, "redis: %s\n", context == nullptr ? "no memory" : context->errstr);
  return nullptr;
}

}  // namespace cccl_cache::daemon
