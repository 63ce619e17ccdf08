// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A client that acquires the key that a test names, and then runs commands from standard input, one
// per line:
//   lease_client SOCKET VALUE [GROUP [TIMEOUT_MS [replace | wait]]]
// Prints "hit CONTENTS", "lease FENCE KEY", "released KEY" or "error STATUS MESSAGE". With a lease,
// it then prints the result of each "publish TEXT", "publish-bytes COUNT", "publish-in-child TEXT",
// "abandon", "fail", "held" and "become UID". Ends at the end of its input.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "cccl_cache/client.h"

namespace {

using cccl_cache::Client;
using cccl_cache::Deposit;
using cccl_cache::Lease;

void Say(const std::string& line) { std::cout << line << std::endl; }

void Say(const cccl_cache::Error& error) {
  Say(std::string("error ") + cccl_cache_status_name(error.status) + " " + error.message);
}

void Publish(Lease& lease, const std::string& contents) {
  const auto published = lease.Publish(contents);
  published.ok() ? Say("published") : Say(published.error());
}

void PublishInChild(Lease& lease, const std::string& contents) {
  const pid_t child = fork();
  if (child == 0) {
    Say(lease.held() ? "held" : "not held");
    Publish(lease, contents);
    std::exit(0);
  }
  waitpid(child, nullptr, 0);
}

void Obey(Lease& lease, const std::string& line) {
  const std::string command = line.substr(0, line.find(' '));
  const std::string argument = line.substr(std::min(line.size(), command.size() + 1));
  if (command == "publish") Publish(lease, argument);
  if (command == "publish-bytes") Publish(lease, std::string(std::stoul(argument), 'x'));
  if (command == "publish-in-child") PublishInChild(lease, argument);
  if (command == "held") Say(lease.held() ? "held" : "not held");
  if (command == "become")
    Say(seteuid(static_cast<uid_t>(std::stoul(argument))) == 0 ? "became" : "remained");
  if (command == "abandon") {
    lease.Abandon();
    Say("abandoned");
  }
  if (command == "fail") {
    lease.Fail();
    Say("failed");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  auto client = Client::Open(argv[1]);
  if (!client.ok()) {
    Say(client.error());
    return 1;
  }
  const std::string group = argc > 3 ? argv[3] : "";
  const std::chrono::milliseconds timeout(argc > 4 ? std::stoi(argv[4]) : 0);
  cccl_cache::DepositKey key{"test", {{"value", argv[2]}}, group};
  const std::string how = argc > 5 ? argv[5] : "";
  key.replaces = how == "replace";
  key.waits_only = how == "wait";
  auto acquired = client->Acquire(key, timeout);
  if (!acquired.ok()) {
    Say(acquired.error());
    return 1;
  }
  if (const auto* found = std::get_if<Deposit>(&*acquired)) {
    Say("hit " + std::string(found->contents()));
    return 0;
  }
  auto& lease = std::get<Lease>(*acquired);
  const std::string state =
      lease.released() ? "released " : "lease " + std::to_string(lease.fence()) + " ";
  Say(state + std::string(lease.key()));
  for (std::string line; std::getline(std::cin, line);) Obey(lease, line);
}
