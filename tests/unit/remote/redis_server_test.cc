// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Uses a real Redis: the program REDIS_SERVER, called as redis-server.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "daemon/remote/redis/redis_link.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace redis_server_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using cccl_cache::FileDescriptor;
using Texts = std::vector<std::string>;

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A child that is killed when the object or this process ends.
class Child {
 public:
  Child(const char* program, std::vector<std::string> arguments) {
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execvp(program, words.data());
      _exit(127);
    }
    REQUIRE(pid_ > 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    Wait();
  }

  int Wait() {
    int status = -1;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
};

struct Server {
  TemporaryDirectory directory;
  std::optional<Child> child;

  explicit Server(const Texts& options) {
    Texts arguments = {"redis-server",
                       "--save",
                       "",
                       "--appendonly",
                       "no",
                       "--daemonize",
                       "no",
                       "--dir",
                       directory.path(),
                       "--unixsocket",
                       directory / "redis",
                       "--logfile",
                       directory / "log",
                       "--port",
                       "0"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    child.emplace(REDIS_SERVER, arguments);
  }

  [[nodiscard]] RedisLink::Options Options() const {
    RedisLink::Options link;
    link.address.path = directory / "redis";
    link.connect_timeout = 60s;
    link.first_backoff = link.last_backoff = 5ms;
    return link;
  }
};

TEST_CASE("a real Redis stores and returns values for the link's user and database") {
  const Server server(
      {"--user", "default", "off", "--user", "builder", "on", ">secret", "~*", "+@all"});
  RedisLink::Options options = server.Options();
  options.address.user = "builder";
  options.address.database = 3;
  options.password = "secret";
  Said answers;
  RedisLink link(options);
  REQUIRE(WaitUntil([&] { return link.connected(); }));
  const std::string value(3 << 20, '\xff');
  CHECK(link.Send({"SET", "key", value, "PX", "3600000"}, answers.Adding()));
  CHECK(link.Send({"GET", "key"}, answers.Adding()));
  CHECK(link.Send({"MGET", "none", "none"}, answers.Adding()));
  CHECK(link.Send({"NOSUCH"}, answers.Adding()));
  CHECK(link.Send({"CLIENT", "LIST"}, answers.Adding()));
  const Texts said = answers.Await(5);
  REQUIRE(said.size() == 5);
  CHECK(said[0] == "OK");
  CHECK((said[1] == value));
  CHECK(said[2] == "[nil, nil]");
  CHECK(said[3].starts_with("error: ERR unknown command"));
  CHECK(Has(said[4], "db=3"));
  CHECK(Has(said[4], "user=builder"));
}

TEST_CASE("a refused password, permission or database is a problem with its remedy") {
  const Server server({"--user", "default", "on", ">secret", "~*", "+@all", "--user", "weak", "on",
                       ">secret", "+get"});
  const auto problem_of = [&](const std::string& user, const std::string& password, int database) {
    RedisLink::Options options = server.Options();
    options.address.user = user;
    options.address.database = database;
    options.password = password;
    const RedisLink link(options);
    std::string problem;
    // The first attempts may come before the server listens.
    CHECK(WaitUntil([&] { return Has(problem = link.state().problem, "answered"); }));
    return problem;
  };
  CHECK(Has(problem_of("", "", 0), "--remote-password-file"));
  CHECK(Has(problem_of("", "wrong", 0), "--remote-password-file"));
  CHECK(Has(problem_of("weak", "secret", 0), "more rights"));
  CHECK(Has(problem_of("", "secret", 4000), "another database"));
}

/// Returns a port of the loopback that was free a moment ago.
std::string FreePort() {
  const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  REQUIRE(bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return std::to_string(ntohs(address.sin_port));
}

/// Makes DIRECTORY/NAME.pem, a self-signed certificate, and its key.
std::string MakeCertificate(const TemporaryDirectory& directory, const std::string& name,
                            const std::string& subject) {
  Child openssl("openssl", {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                            "/CN=" + name, "-addext", "subjectAltName=" + subject, "-keyout",
                            directory / (name + ".key"), "-out", directory / (name + ".pem")});
  REQUIRE(openssl.Wait() == 0);
  return directory / (name + ".pem");
}

TEST_CASE("over TLS a Redis is used only if its certificate is trusted and names the host") {
  const TemporaryDirectory certificates;
  const std::string certificate = MakeCertificate(certificates, "server", "DNS:localhost");
  const std::string other = MakeCertificate(certificates, "other", "DNS:localhost");
  const std::string port = FreePort();
  const Server server({"--tls-port", port, "--bind", "127.0.0.1", "--tls-cert-file", certificate,
                       "--tls-key-file", certificates / "server.key", "--tls-ca-cert-file",
                       certificate, "--tls-auth-clients", "no"});
  RedisLink::Options options = server.Options();
  options.address = ParseRedisUrl("rediss://localhost:" + port).value();
  options.ca_file = certificate;
  {
    Said answers;
    RedisLink link(options);
    REQUIRE(WaitUntil([&] { return link.connected(); }));
    const std::string value(1 << 20, 'v');
    CHECK(link.Send({"ECHO", value}, answers.Adding()));
    CHECK((answers.Await(1) == Texts{value}));
  }
  const auto problem_of = [](const RedisLink::Options& wrong) {
    RedisLink link(wrong);
    CHECK(WaitUntil([&] { return !Has(link.state().problem, "not made yet"); }));
    CHECK(link.state().connects == 0);
    return link.state().problem;
  };
  RedisLink::Options untrusted = options;
  untrusted.ca_file = other;
  CHECK(Has(problem_of(untrusted), "TLS failed (self"));
  RedisLink::Options other_host = options;
  other_host.address.host = "127.0.0.1";
  CHECK(Has(problem_of(other_host), "TLS failed (IP address mismatch"));
  RedisLink::Options no_file = options;
  no_file.ca_file = certificates / "none.pem";
  CHECK(Has(problem_of(no_file), "none.pem"));
  RedisLink::Options no_tls = options;
  no_tls.address.tls = false;
  CHECK(Has(problem_of(no_tls), "expects TLS"));
}

}  // namespace redis_server_test
