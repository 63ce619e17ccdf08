// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <catch2/catch.hpp>
#include <string_view>

#include "cccl_cache/client_c.h"

namespace cccl_cache::cancellation_test {
namespace {

void* AskCancelled(void* ended) {
  pthread_cancel(pthread_self());
  cccl_cache_open_options options = {};
  options.struct_size = sizeof(options);
  constexpr std::string_view kNothing = "/nowhere/socket";
  options.socket = {kNothing.data(), kNothing.size()};
  cccl_cache_client* client = nullptr;
  int32_t ready = 0;
  if (cccl_cache_open(&options, &client, nullptr) == CCCL_CACHE_OK) {
    *static_cast<bool*>(ended) =
        cccl_cache_check_ready(client, 1000, &ready, nullptr) == CCCL_CACHE_NO_DAEMON;
    cccl_cache_close(client);
  }
  pthread_testcancel();
  return nullptr;
}

TEST_CASE("a call of a cancelled thread completes before the thread ends") {
  pthread_t thread = {};
  bool ended = false;
  REQUIRE(pthread_create(&thread, nullptr, AskCancelled, &ended) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  CHECK(ended);
  CHECK(result == PTHREAD_CANCELED);
}

}  // namespace
}  // namespace cccl_cache::cancellation_test
