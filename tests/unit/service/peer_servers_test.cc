// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/peer_servers.h"

#include <catch2/catch.hpp>
#include <future>
#include <string>

namespace cccl_cache::daemon::peer_servers_test {
namespace {

/// A server whose end waits until the test allows it.
class SlowServer {
 public:
  SlowServer(std::shared_future<void> let_go, std::string name, std::string& ended)
      : let_go_(std::move(let_go)), name_(std::move(name)), ended_(ended) {}
  ~SlowServer() {
    let_go_.wait();
    ended_ += name_;
  }
  SlowServer(const SlowServer&) = delete;
  SlowServer& operator=(const SlowServer&) = delete;

 private:
  const std::shared_future<void> let_go_;
  const std::string name_;
  std::string& ended_;
};

TEST_CASE("no caller waits for a server that ends slowly, and later ones keep their order") {
  std::string ended;
  std::promise<void> go;
  const std::shared_future<void> let_go = go.get_future();
  RetiredServers retired;
  for (const char* name : {"a", "b", "c"}) {
    retired.Add(std::make_shared<SlowServer>(let_go, name, ended));
  }
  CHECK(retired.Count() == 3);
  go.set_value();
  retired.WaitForAll();
  CHECK(retired.Count() == 0);
  CHECK(ended == "abc");
}

TEST_CASE("the end waits for all servers, also for queued ones") {
  std::string ended;
  std::promise<void> go;
  const std::shared_future<void> let_go = go.get_future();
  {
    RetiredServers retired;
    retired.Add(std::make_shared<SlowServer>(let_go, "a", ended));
    retired.Add(std::make_shared<SlowServer>(let_go, "b", ended));
    go.set_value();
  }
  CHECK(ended == "ab");
}

TEST_CASE("without ending servers there is no wait") {
  RetiredServers retired;
  retired.WaitForAll();
  CHECK(retired.Count() == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::peer_servers_test
