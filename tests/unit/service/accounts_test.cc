// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/accounts.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <string>

namespace cccl_cache::daemon::accounts_test {
namespace {

/// The files that define a machine's users. Removed by the destructor.
class Machine {
 public:
  Machine() {
    std::string name = (std::filesystem::temp_directory_path() / "accounts.XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    directory_ = name;
  }
  ~Machine() { std::filesystem::remove_all(directory_); }

  void WriteSubordinateUids(const std::string& text) { Write("subuid", text); }
  void WriteLoginDefaults(const std::string& text) { Write("login.defs", text); }
  [[nodiscard]] Accounts::Sources Sources() const {
    return {.subordinate_uids = (directory_ / "subuid").string(),
            .login_defaults = (directory_ / "login.defs").string(),
            .find_uid = [](const std::string& name) -> std::optional<uid_t> {
              if (name == "alice") return 1000;
              if (name == "root") return 0;
              return std::nullopt;
            },
            .has_name = [](uid_t uid) { return uid == 700'000; }};
  }

 private:
  void Write(const char* name, const std::string& text) {
    // Replaces the file, like useradd.
    std::ofstream(directory_ / "draft") << text;
    std::filesystem::rename(directory_ / "draft", directory_ / name);
  }
  std::filesystem::path directory_;
};

TEST_CASE("a subordinate uid counts as its owner, given by name or by number") {
  Machine machine;
  machine.WriteSubordinateUids("alice:100000:65536\n1001:165536:65536\nalice:300000:1\n");
  Accounts accounts(machine.Sources());
  accounts.Settle();
  for (const uid_t uid : {1'000, 100'000, 165'535, 300'000}) {
    CHECK(accounts.Of(uid) == Account(1000));
  }
  for (const uid_t uid : {1'001, 165'536, 231'071}) CHECK(accounts.Of(uid) == Account(1001));
  CHECK(accounts.Of(300'001) == Account::OfNameless());
}

TEST_CASE("all uids without a user share one account; each user has its own") {
  Machine machine;
  machine.WriteSubordinateUids("");
  Accounts accounts(machine.Sources());
  accounts.Settle();
  for (const uid_t uid : {100'000, 650'000, 700'000}) {
    CHECK(accounts.Of(uid) == Account::OfNameless());  // before its name was looked up
  }
  accounts.Settle();
  CHECK(accounts.Of(650'000) == Account::OfNameless());
  CHECK(accounts.Of(700'000) == Account(700'000));
  for (const uid_t uid : {0, 999, 1000, 65'534, 99'999}) CHECK(accounts.Of(uid) == Account(uid));
}

TEST_CASE("a stored uid has no account until its name is known") {
  Machine machine;
  machine.WriteSubordinateUids("alice:100000:65536\n");
  Accounts accounts(machine.Sources());
  accounts.Settle();
  CHECK(accounts.OfStored(100'007) == Account(1000));
  CHECK(accounts.OfStored(1'001) == Account(1001));
  for (const uid_t uid : {650'000, 700'000}) CHECK(accounts.OfStored(uid) == std::nullopt);
  accounts.Settle();
  CHECK(accounts.OfStored(650'000) == Account::OfNameless());
  CHECK(accounts.OfStored(700'000) == Account(700'000));
}

TEST_CASE("a stored uid's name is not looked up before the files are read") {
  Machine machine;
  machine.WriteSubordinateUids("alice:100000:65536\n");
  Accounts::Sources sources = machine.Sources();
  std::promise<void> go_on;
  std::atomic<int> asked = 0;
  sources.find_uid = [gate = go_on.get_future().share()](const std::string&) {
    gate.wait();
    return std::optional<uid_t>(1000);
  };
  sources.has_name = [&asked](uid_t) { return ++asked > 0; };
  Accounts accounts(sources);
  CHECK(accounts.OfStored(100'007) == std::nullopt);
  go_on.set_value();
  accounts.Settle();
  CHECK(accounts.OfStored(100'007) == Account(1000));
  CHECK(asked == 0);
}

TEST_CASE("uids below SUB_UID_MIN are users whether or not they have a name") {
  Machine machine;
  machine.WriteLoginDefaults("# SUB_UID_MIN 5\nSUB_UID_MIN\t\t  500000\n");
  Accounts accounts(machine.Sources());
  accounts.Settle();
  CHECK(accounts.Of(499'999) == Account(499'999));
  CHECK(accounts.Of(500'000) == Account::OfNameless());
}

TEST_CASE("a range of root or the daemon's user is one ordinary account") {
  Machine machine;
  machine.WriteSubordinateUids("root:100000:65536\nroot:165536:65536\n" +
                               std::to_string(geteuid()) + ":300000:65536\n");
  Accounts accounts(machine.Sources());
  accounts.Settle();
  std::set<Account> all;
  for (const uid_t uid : {100'007, 165'537, 300'001}) all.insert(accounts.Of(uid));
  CHECK(all == std::set{Account(100'000), Account(165'536), Account(300'000)});
  for (const Account& account : all) CHECK_FALSE(account.privileged());
}

TEST_CASE("a range with an unknown owner is one account") {
  Machine machine;
  machine.WriteSubordinateUids("gone:100000:65536\n");
  Accounts accounts(machine.Sources());
  accounts.Settle();
  CHECK(accounts.Of(100'001) == Account(100'000));
}

TEST_CASE("invalid lines of /etc/subuid are skipped") {
  Machine machine;
  machine.WriteSubordinateUids(
      "\nalice\nalice:1\nalice:x:1\nalice:500:-1\nalice:500:0\nalice:99999999999:1\n"
      "alice:4294967295:2\nalice:400000:10");
  Accounts accounts(machine.Sources());
  accounts.Settle();
  CHECK(accounts.Of(500) == Account(500));
  CHECK(accounts.Of(400'009) == Account(1000));
}

TEST_CASE("subordinate uids that a user gets while the daemon runs are recognised") {
  Machine machine;
  machine.WriteSubordinateUids("");
  Accounts accounts(machine.Sources());
  accounts.Settle();
  machine.WriteSubordinateUids("alice:100000:65536\n");
  accounts.Settle();
  CHECK(accounts.Of(100'000) == Account(1000));
}

TEST_CASE("a hung look-up of names blocks no caller") {
  Machine machine;
  std::promise<void> goes_on;
  auto sources = machine.Sources();
  sources.has_name = [hangs = goes_on.get_future().share()](uid_t) {
    hangs.wait();
    return true;
  };
  {
    Accounts accounts(sources);
    for (uid_t uid = 100'000; uid < 110'000; ++uid) {
      CHECK(accounts.Of(uid) == Account::OfNameless());
    }
    CHECK(accounts.Of(1000) == Account(1000));
  }
  goes_on.set_value();
}

}  // namespace
}  // namespace cccl_cache::daemon::accounts_test
