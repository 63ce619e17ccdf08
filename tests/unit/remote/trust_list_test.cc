// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/trust_list.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/root.h"
#include "tests/support/temporary_directory.h"

namespace trust_list_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using cccl_cache::PublicKey;
using cccl_cache::PublicKeyLine;
using cccl_cache::SigningKey;
using cccl_cache::SigningKeyText;

namespace {

SigningKey KeyOf(uint8_t number) {
  SigningKey::Seed seed{};
  seed[0] = number;
  return SigningKey(seed);
}

std::string WriteList(const TemporaryDirectory& directory, const std::string& name,
                      const std::string& text, mode_t mode = 0644) {
  std::string file = directory.Write(name, text);
  REQUIRE(chmod(file.c_str(), mode) == 0);
  return file;
}

std::string LineOf(uint8_t number) { return PublicKeyLine(KeyOf(number).public_key(), "a node"); }

void CheckRefused(const std::string& file, ErrorCode code, const std::string& way_out) {
  const auto list = TrustList::Load({file});
  REQUIRE_FALSE(list.ok());
  CHECK(list.error().code == code);
  CHECK_THAT(list.error().message, Contains(file) && Contains(way_out));
}

constexpr uid_t kStranger = 54321;

}  // namespace

TEST_CASE("a trust list holds the keys of all its files and no other") {
  const TemporaryDirectory directory;
  const auto list = TrustList::Load({WriteList(directory, "one", LineOf(1) + LineOf(2)),
                                     WriteList(directory, "other", LineOf(2) + LineOf(3))});
  REQUIRE(list.ok());
  CHECK((*list)->size() == 3);
  for (const uint8_t number : {1, 2, 3}) CHECK((*list)->Holds(KeyOf(number).public_key()));
  CHECK_FALSE((*list)->Holds(KeyOf(4).public_key()));
}

TEST_CASE("without a file or a key no node is trusted") {
  const TemporaryDirectory directory;
  for (const auto& files : {std::vector<std::string>{},
                            std::vector<std::string>{WriteList(directory, "list", "# none\n")}}) {
    const auto list = TrustList::Load(files);
    REQUIRE(list.ok());
    CHECK((*list)->size() == 0);
    CHECK_FALSE((*list)->Holds(PublicKey{}));
  }
}

TEST_CASE("one wrong line or missing file makes the whole list an error") {
  const TemporaryDirectory directory;
  const std::string good = WriteList(directory, "good", LineOf(1));
  const std::string wrong = WriteList(directory, "wrong", LineOf(1) + "x\n");
  CHECK_FALSE(TrustList::Load({good, wrong}).ok());
  CheckRefused(wrong, ErrorCode::kInvalidRequest, ":2: ");
  CheckRefused(directory / "none", ErrorCode::kUnavailable, "No such file");
}

TEST_CASE("a trust list that others can write is refused") {
  const TemporaryDirectory directory;
  for (const mode_t mode : {0664u, 0646u}) {
    CheckRefused(WriteList(directory, "list", LineOf(1), mode), ErrorCode::kDenied, "chmod go-w");
  }
}

TEST_CASE("a trust list in a directory that others can write is refused, also behind a link") {
  const TemporaryDirectory directory;
  const std::string file = WriteList(directory, "open/list", LineOf(1));
  const std::string open = directory / "open";
  REQUIRE(chmod(open.c_str(), 0777) == 0);
  const std::string link = directory / "link";
  std::filesystem::create_symlink(file, link);
  for (const std::string& path : {file, link}) {
    const auto list = TrustList::Load({path});
    REQUIRE_FALSE(list.ok());
    CHECK(list.error().code == ErrorCode::kDenied);
    CHECK_THAT(list.error().message, Contains(open) && Contains("chmod go-w"));
  }
  REQUIRE(chmod(open.c_str(), 0755) == 0);
  CHECK(TrustList::Load({link}).ok());
}

TEST_CASE("a path to a pipe or directory is refused without a wait") {
  const TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0644) == 0);
  CheckRefused(pipe, ErrorCode::kDenied, "no regular file");
  REQUIRE(mkdir((directory / "list").c_str(), 0755) == 0);
  CheckRefused(directory / "list", ErrorCode::kDenied, "no regular file");
}

TEST_CASE("a trust list that is too large is refused before it is read whole") {
  const TemporaryDirectory directory;
  CheckRefused(WriteList(directory, "list", std::string(cccl_cache::kMaxKeyFileBytes + 1, '\n')),
               ErrorCode::kInvalidRequest, "larger");
}

TEST_CASE("a trust list of another user is refused", "[root]") {
  RequireRoot();
  const TemporaryDirectory directory;
  const std::string file = WriteList(directory, "list", LineOf(1));
  REQUIRE(chown(file.c_str(), kStranger, kStranger) == 0);
  CheckRefused(file, ErrorCode::kDenied, "chown");
}

TEST_CASE("a signing key is read from a file that only its owner can read") {
  const TemporaryDirectory directory;
  const std::string file = WriteList(directory, "key", SigningKeyText(KeyOf(1)), 0600);
  const auto key = LoadSigningKey(file);
  REQUIRE(key.ok());
  CHECK(key->public_key() == KeyOf(1).public_key());
  for (const mode_t mode : {0604u, 0620u}) {
    REQUIRE(chmod(file.c_str(), mode) == 0);
    const auto refused = LoadSigningKey(file);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kDenied);
    CHECK_THAT(refused.error().message, Contains("chmod 0600 " + file));
  }
}

/// Sets the directory of this process's credentials while the object exists.
class Credentials {
 public:
  explicit Credentials(const std::string& directory) {
    setenv("CREDENTIALS_DIRECTORY", directory.c_str(), 1);
  }
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  ~Credentials() { unsetenv("CREDENTIALS_DIRECTORY"); }
};

TEST_CASE("a credential of the service may be readable by its group, but by no other user",
          "[root]") {
  RequireRoot();
  const TemporaryDirectory directory;
  const std::string inside = WriteList(directory, "own/key", SigningKeyText(KeyOf(1)), 0440);
  const std::string beside = WriteList(directory, "own2/key", SigningKeyText(KeyOf(1)), 0440);
  for (const std::string& file : {inside, beside}) REQUIRE(chown(file.c_str(), 0, kStranger) == 0);
  CHECK_FALSE(LoadSigningKey(inside).ok());
  const Credentials credentials(directory / "own");
  CHECK(LoadSigningKey(inside).ok());
  CHECK_FALSE(LoadSigningKey(beside).ok());
  const std::string link = directory / "link";
  std::filesystem::create_symlink(inside, link);
  CHECK(LoadSigningKey(link).ok());
  const std::string out = directory / "own/out";
  std::filesystem::create_symlink(beside, out);
  CHECK_FALSE(LoadSigningKey(out).ok());
  for (const mode_t mode : {0444u, 0460u, 0450u}) {
    REQUIRE(chmod(inside.c_str(), mode) == 0);
    CHECK_FALSE(LoadSigningKey(inside).ok());
  }
}

TEST_CASE("a signing key may be readable by root's group and no other", "[root]") {
  RequireRoot();
  const TemporaryDirectory directory;
  const std::string file = WriteList(directory, "key", SigningKeyText(KeyOf(1)), 0440);
  REQUIRE(chown(file.c_str(), 0, 0) == 0);
  CHECK(LoadSigningKey(file).ok());
  CHECK(LoadPassword(file).ok());
  REQUIRE(chown(file.c_str(), 0, kStranger) == 0);
  CHECK_FALSE(LoadSigningKey(file).ok());
}

TEST_CASE("a secret is read through Kubernetes's links in a sticky directory", "[root]") {
  RequireRoot();
  const TemporaryDirectory directory;
  WriteList(directory, "secret/..2026_11_26/key", SigningKeyText(KeyOf(1)), 0440);
  const std::string secret = directory / "secret";
  REQUIRE(chmod(secret.c_str(), 01777) == 0);
  std::filesystem::create_directory_symlink("..2026_11_26", secret + "/..data");
  std::filesystem::create_symlink("..data/key", secret + "/key");
  CHECK(LoadSigningKey(secret + "/key").ok());
  // A stranger's link may lead anywhere.
  const std::string link = secret + "/link";
  std::filesystem::create_symlink("..data/key", link);
  REQUIRE(lchown(link.c_str(), kStranger, kStranger) == 0);
  CHECK_FALSE(LoadSigningKey(link).ok());
  REQUIRE(chmod(secret.c_str(), 0777) == 0);
  CHECK_FALSE(LoadSigningKey(secret + "/key").ok());
}

TEST_CASE("a public key's file is refused as a signing key") {
  const TemporaryDirectory directory;
  const auto key = LoadSigningKey(WriteList(directory, "key.pub", LineOf(1), 0600));
  REQUIRE_FALSE(key.ok());
  CHECK_THAT(key.error().message, Contains("public"));
}

}  // namespace trust_list_test
