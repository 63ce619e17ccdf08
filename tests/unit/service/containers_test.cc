// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/containers.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/allocated_bytes.h"

namespace cccl_cache::daemon::containers_test {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kMounts =
    "31 25 0:30 / /proc rw - proc proc rw\n"
    "25 1 0:27 /layer / rw,relatime shared:1 master:2 - overlay my\\040source rw,lowerdir=/a\n"
    "40 25 0:31 / / rw - tmpfs later rw\n";

ContainerMark Container(int number, const std::string& root = "25 0:27 / overlay") {
  return {"0::/pods/" + std::to_string(number) + "\n", root};
}

Peer Identified(Containers& containers, const std::optional<ContainerMark>& mark, uid_t uid = 0) {
  Peer peer{.uid = uid, .gid = 7, .groups = {7, 8}, .pid = 9};
  containers.Identify(mark, peer);
  return peer;
}

TEST_CASE("a container is identified by its control group and the first mount at its root") {
  const auto mark = MarkOf("0::/pods/a\n", kMounts);
  REQUIRE(mark);
  CHECK(mark->control_group == "0::/pods/a\n");
  CHECK(mark->root == "25 0:27 /layer my\\040source");
}

TEST_CASE("a container without a control group or a complete root mount can't be identified") {
  const std::string mounts = kMounts;
  CHECK_FALSE(MarkOf("", mounts));
  CHECK_FALSE(MarkOf(std::string(70'000, 'a'), mounts));
  CHECK_FALSE(MarkOf("0::/\n", ""));
  CHECK_FALSE(MarkOf("0::/\n", "31 25 0:30 / /proc rw - proc proc rw\n"));
  CHECK_FALSE(MarkOf("0::/\n", "25 1 0:27 / / rw shared:1 overlay overlay rw\n"));
  CHECK_FALSE(MarkOf("0::/\n", mounts.substr(0, mounts.find("lowerdir"))));
  CHECK_FALSE(MarkOf("0::/\n", "\n\n \n25\n"));
}

TEST_CASE("each uid of each container has a unique number, which no user of the node has") {
  Containers containers;
  const uid_t root = Identified(containers, Container(1)).uid;
  CHECK(IsContainerUser(root));
  CHECK(Identified(containers, Container(1)).uid == root);
  CHECK(Identified(containers, Container(1), 1000).uid != root);
  CHECK(Identified(containers, Container(2)).uid != root);
  CHECK(Identified(containers, Container(1, "26 0:28 / overlay")).uid != root);
}

TEST_CASE("a user of a container gets no groups, rights or files of the node") {
  Containers containers;
  const Peer peer = Identified(containers, Container(1));
  CHECK(peer.groups.empty());
  CHECK(peer.gid == kOverflowGid);
  CHECK_FALSE(peer.administrator);
  CHECK(peer.reach == FileReach::kNone);
  CHECK_FALSE(peer.account().privileged());
}

TEST_CASE("all users and mounts of a control group are one account") {
  Containers containers;
  const Account one = Identified(containers, Container(1)).account();
  CHECK(Identified(containers, Container(1, "26 0:28 / overlay"), 1000).account() == one);
  CHECK(Identified(containers, Container(2)).account() != one);
  CHECK(containers.AccountOf(Identified(containers, Container(1)).uid) == one);
}

TEST_CASE("the control groups of all sessions of a node user are one account") {
  Containers containers;
  const auto of = [&](const std::string& path) {
    return Identified(containers, {{"0::" + path + "\n", "r"}});
  };
  const Peer one = of("/user.slice/user-1000.slice/session-2.scope");
  const Peer other = of("/user.slice/user-1000.slice/user@1000.service/app.slice/mine");
  CHECK(other.account() == one.account());
  CHECK(other.uid != one.uid);
  CHECK(of("/user.slice/user-1000.slice").account() == one.account());
  CHECK_FALSE(of("/user.slice/user-1001.slice/session-3.scope").account() == one.account());
  CHECK_FALSE(of("/user.slice/user-x.slice/a").account() ==
              of("/user.slice/user-x.slice/b").account());
}

TEST_CASE("an account has the numbers of its eight outermost control groups") {
  Containers containers;
  const auto way_of = [&](const std::string& path) {
    const std::string group = "7:pids:/\n4:memory:/pods\n1:name=systemd:/\n0::" + path + "\n";
    const Account account = Identified(containers, {{group, "r"}}).account();
    return std::vector(account.way().begin(), account.way().end());
  };
  const auto one = way_of("/pods/a/x");
  const auto other = way_of("/pods/b/x");
  REQUIRE(one.size() == 4);  // "/pods/pods/a/x"
  REQUIRE(other.size() == 4);
  CHECK(one[1] == other[1]);
  CHECK(one[2] != other[2]);
  CHECK(one[3] != other[3]);
  CHECK(way_of("/1/2/3/4/5/6/7/8/9") == way_of("/1/2/3/4/5/6/7/8/10"));
}

TEST_CASE("users of unidentified containers own nothing, and share one account") {
  Containers containers;
  const Peer untold = Identified(containers, std::nullopt);
  CHECK(untold.uid == kOverflowUid);
  CHECK(untold.account() == Account::OfUntoldContainers());
  CHECK(untold.account().IsContainers());
  CHECK(untold.reach == FileReach::kNone);
  CHECK(Identified(containers, Container(1), kOverflowUid).uid == kOverflowUid);
}

TEST_CASE("a new container replaces the least recently used one without connections") {
  Containers containers({.accounts = 2, .users_per_account = 2});
  const Peer first = Identified(containers, Container(1));
  const Peer second = Identified(containers, Container(2));
  auto connection = containers.Hold(first.uid);
  const Peer third = Identified(containers, Container(3));
  CHECK(Identified(containers, Container(1)).uid == first.uid);
  CHECK(Identified(containers, Container(3)).uid == third.uid);
  const Peer again = Identified(containers, Container(2));  // in the place of container 3
  CHECK(again.uid != second.uid);
  CHECK(containers.AccountOf(third.uid) == std::nullopt);
  auto other = containers.Hold(again.uid);
  const Peer late = Identified(containers, Container(4));
  CHECK(late.account() == Account::OfUntoldContainers());
  CHECK(IsContainerUser(late.uid));
  connection.reset();
  CHECK(Identified(containers, Container(4)).account() != Account::OfUntoldContainers());
}

TEST_CASE("a container with many control groups does not evict accounts of other containers") {
  Containers containers({.accounts = 32, .users_per_account = 2});
  std::vector<uid_t> others;
  for (int i = 0; i < 16; ++i) others.push_back(Identified(containers, Container(i)).uid);
  std::vector<std::shared_ptr<const void>> connections;
  const auto make = [&](int number) {
    return Identified(containers, ContainerMark{"5:cpu:/\n1:name=systemd:/pods/bad/" +
                                                    std::to_string(number) + "\n0::/\n",
                                                "25 0:27 / overlay"});
  };
  for (int i = 0; i < 100; ++i) static_cast<void>(make(i));
  const Peer late = Identified(containers, Container(16));
  CHECK_FALSE(late.account() == Account::OfUntoldContainers());
  for (int i = 100; i < 200; ++i) connections.push_back(containers.Hold(make(i).uid));
  CHECK(make(200).account() == Account::OfUntoldContainers());
  CHECK(containers.AccountOf(late.uid) == late.account());
  for (int i = 0; i < 16; ++i) CHECK(Identified(containers, Container(i)).uid == others[i]);
}

TEST_CASE("a new account replaces one below the control group with the most accounts") {
  Containers containers({.accounts = 32, .users_per_account = 2});
  const Peer old = Identified(containers, Container(1));
  for (int i = 0; i < 31; ++i) {
    static_cast<void>(Identified(containers, {{"0::/jobs/" + std::to_string(i) + "\n", "r"}}));
  }
  const Peer one = Identified(containers, {{"0::/pods/2/a\n", "r"}});
  const Peer other = Identified(containers, {{"0::/pods/2/b\n", "r"}});
  CHECK(Identified(containers, {{"0::/pods/2/a\n", "r"}}).uid == one.uid);
  CHECK(Identified(containers, {{"0::/pods/2/b\n", "r"}}).uid == other.uid);
  CHECK(Identified(containers, Container(1)).uid == old.uid);
}

TEST_CASE("the memory for a container does not grow with its control group's path") {
  const auto bytes_of = [](size_t length) {
    const size_t before = AllocatedBytes();
    Containers containers;
    for (int i = 0; i < 300; ++i) {
      const std::string path = "0::/pods/" + std::string(length, 'a') + "/" + std::to_string(i);
      static_cast<void>(Identified(containers, {{path + "\n", "r"}}));
    }
    return AllocatedBytes() - before;
  };
  const size_t few = bytes_of(1);
  CHECK(bytes_of(4'000) < few + few / 4);
}

TEST_CASE("a new user replaces its account's least recently used one without connections") {
  Containers containers({.accounts = 2, .users_per_account = 2});
  const uid_t first = Identified(containers, Container(1), 1).uid;
  const uid_t second = Identified(containers, Container(1), 2).uid;
  const auto connection = containers.Hold(first);
  const uid_t third = Identified(containers, Container(1), 3).uid;
  CHECK(Identified(containers, Container(1), 1).uid == first);
  const auto other = containers.Hold(third);
  CHECK(Identified(containers, Container(1), 2).uid == kOverflowUid);
  CHECK(second != third);
}

TEST_CASE("a container that uses up its numbers leaves some to other containers") {
  Containers containers({.accounts = 4, .users_per_account = 2, .numbers = 1000});
  const auto used_up_by = [&](const std::string& name) {
    uid_t uid = 0;
    const auto next = [&] {
      // Every second user is in a control group below the container's own.
      const std::string below = uid % 2 == 0 ? "" : "/" + std::to_string(uid);
      return Identified(containers, ContainerMark{"0::/pods/" + name + below + "\n", "r"}, ++uid);
    };
    std::set<uid_t> numbers;
    for (Peer peer = next(); peer.uid != kOverflowUid; peer = next()) {
      CHECK(numbers.insert(peer.uid).second);
    }
    return numbers.size();
  };
  const size_t first = used_up_by("bad");
  CHECK(first > 100);
  const Peer good = Identified(containers, Container(1));
  CHECK(IsContainerUser(good.uid));
  CHECK(used_up_by("worse") > 10);
  CHECK(IsContainerUser(Identified(containers, Container(2)).uid));
  CHECK(Identified(containers, ContainerMark{"0::/pods/bad\n", "r"}, 100'000).uid == kOverflowUid);
}

TEST_CASE("a new user of a container is reported once, by control group and number") {
  Containers containers;
  std::vector<std::string> reports;
  containers.SetReport([&](std::string_view text) { reports.emplace_back(text); });
  const Peer peer = Identified(containers, Container(1), 5);
  static_cast<void>(Identified(containers, Container(1), 5));
  REQUIRE(reports.size() == 1);
  CHECK_THAT(reports[0],
             Contains("uid 5 ") && Contains("/pods/1 ") && Contains(std::to_string(peer.uid)));
}

}  // namespace
}  // namespace cccl_cache::daemon::containers_test
