// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/peer_servers.h"

#include <catch2/catch.hpp>
#include <future>
#include <string>

namespace cccl_cache::daemon::peer_servers_test {
namespace {

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

TEST_CASE("Add does not wait for a slow server, and servers end in the order of Add") {
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

TEST_CASE("the destructor waits for all servers, including queued ones") {
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

TEST_CASE("WaitForAll returns at once if no server is ending") {
  RetiredServers retired;
  retired.WaitForAll();
  CHECK(retired.Count() == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::peer_servers_test
