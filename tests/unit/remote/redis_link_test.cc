// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace redis_link_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using cccl_cache::FileDescriptor;
using Texts = std::vector<std::string>;

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Options with quick retries, and with long timeouts for slow machines.
RedisLink::Options OptionsFor(const RedisAddress& address) {
  RedisLink::Options options;
  options.address = address;
  options.connect_timeout = 60s;
  options.first_backoff = options.last_backoff = 2ms;
  return options;
}

struct Scene {
  FakeRedis redis;
  Said reports;
  Said returns;
  RedisLink link;
  FakeConnection peer;

  explicit Scene(const std::function<void(RedisLink::Options&)>& change =
                     [](RedisLink::Options&) {})
      : link(Changed(change)), peer(redis.Accept()) {
    peer.Greet();
    REQUIRE(WaitUntil([this] { return link.connected(); }));
  }

  RedisLink::Options Changed(const std::function<void(RedisLink::Options&)>& change) {
    RedisLink::Options options = OptionsFor(redis.address());
    options.report = [this](std::string_view text) { reports.Add(std::string(text)); };
    options.report_return = [this](std::string_view text) { returns.Add(std::string(text)); };
    change(options);
    return options;
  }
  /// Waits for the next connection.
  FakeConnection Again() const {
    FakeConnection next = redis.Accept();
    next.Greet();
    REQUIRE(WaitUntil([this] { return link.connected(); }));
    return next;
  }
};

TEST_CASE("commands are sent without waiting for answers, and answered in their order") {
  Said answers;
  Scene scene;
  REQUIRE(scene.link.Send({"SET", "key", "a\r\nb"}, answers.Adding()));
  REQUIRE(scene.link.Send({"GET", "key"}, answers.Adding()));
  REQUIRE(scene.link.Send({"DEL", ""}, answers.Adding()));
  CHECK(scene.peer.Next() == "SET key a\r\nb");
  CHECK(scene.peer.Next() == "GET key");
  CHECK(scene.peer.Next() == "DEL ");
  CHECK(scene.link.state().pending == 3);
  scene.peer.Send("+OK\r\n$1\r\nb\r\n:1\r\n");
  CHECK(answers.Await(3) == Texts{"OK", "b", ":1"});
  CHECK(scene.link.state().pending == 0);
  CHECK(scene.link.state().unsent_bytes == 0);
}

TEST_CASE("large values are sent and received") {
  Said answers;
  Scene scene;
  const std::string value(8 << 20, 'v');
  REQUIRE(scene.link.Send({"ECHO", value}, answers.Adding()));
  CHECK((scene.peer.Next() == "ECHO " + value));
  scene.peer.Send("$" + std::to_string(value.size()) + "\r\n" + value + "\r\n");
  CHECK((answers.Await(1) == Texts{value}));
}

TEST_CASE("nothing is sent before the Redis has answered PING") {
  const FakeRedis redis;
  Said answers;
  RedisLink link(OptionsFor(redis.address()));
  FakeConnection peer = redis.Accept();
  CHECK(peer.Next() == "PING");
  CHECK_FALSE(link.connected());
  CHECK_FALSE(link.Send({"GET", "key"}, answers.Adding()));
  CHECK_FALSE(link.state().problem.empty());
  peer.Send("+PONG\r\n");
  REQUIRE(WaitUntil([&] { return link.connected(); }));
  CHECK(link.Send({"GET", "key"}, answers.Adding()));
  CHECK(peer.Next() == "GET key");
  CHECK(answers.all().empty());
}

TEST_CASE("user, password and database are sent first") {
  const FakeRedis redis;
  RedisLink::Options options = OptionsFor(redis.address());
  options.address.user = "builder";
  options.address.database = 7;
  options.password = "pass word";
  const RedisLink link(options);
  FakeConnection peer = redis.Accept();
  CHECK(peer.Next() == "AUTH builder pass word");
  CHECK(peer.Next() == "SELECT 7");
  CHECK(peer.Next() == "PING");
  CHECK_FALSE(Has(link.state().address, "pass"));
}

TEST_CASE("a lost connection gives null to each unanswered command, and the link reconnects") {
  Said answers;
  Scene scene;
  REQUIRE(scene.link.Send({"GET", "a"}, answers.Adding()));
  REQUIRE(scene.link.Send({"GET", "b"}, answers.Adding()));
  REQUIRE(scene.link.Send({"GET", "c"}, answers.Adding()));
  CHECK(scene.peer.Next() == "GET a");
  scene.peer.Send("$1\r\nx\r\n$5\r\nhal");
  CHECK(answers.Await(1) == Texts{"x"});
  { const FakeConnection ended = std::move(scene.peer); }
  CHECK(answers.Await(3) == Texts{"x", "lost", "lost"});
  FakeConnection next = scene.Again();
  CHECK(scene.link.state().connects == 2);
  REQUIRE(scene.link.Send({"GET", "d"}, answers.Adding()));
  CHECK(next.Next() == "GET d");
  next.Send("+new\r\n");
  CHECK(answers.Await(4).back() == "new");
}

TEST_CASE("a lost connection is reported once, and its return once") {
  Scene scene;
  { const FakeConnection ended = std::move(scene.peer); }
  for (int refused = 0; refused < 3; ++refused) {
    FakeConnection peer = scene.redis.Accept();
    CHECK(peer.Next() == "PING");
    peer.Send("-LOADING Redis is loading the dataset in memory\r\n");
    CHECK(peer.Next() == "closed");
  }
  REQUIRE(WaitUntil([&] { return Has(scene.link.state().problem, "LOADING"); }));
  const FakeConnection next = scene.Again();
  const Texts returns = scene.returns.Await(1);
  REQUIRE(returns.size() == 1);
  CHECK(Has(returns[0], "connected"));
  const Texts reports = scene.reports.all();
  REQUIRE(reports.size() == 1);
  CHECK(Has(reports[0], "closed the connection"));
  CHECK(scene.link.state().problem.empty());
}

TEST_CASE("bytes that are no reply of a Redis end the connection") {
  const std::string bytes = GENERATE(
      as<std::string>{}, "HTTP/1.1 400 Bad Request\r\n", "$9999999999\r\n", "*2147483647\r\n",
      "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", ":1x\r\n", "$5000\r\n", "$3\r\nabcdef\r\n");
  CAPTURE(bytes);
  Said answers;
  Scene scene([](RedisLink::Options& options) { options.max_reply_bytes = 4000; });
  REQUIRE(scene.link.Send({"GET", "a"}, answers.Adding()));
  REQUIRE(scene.link.Send({"GET", "b"}, answers.Adding()));
  CHECK(scene.peer.Next() == "GET a");
  CHECK(scene.peer.Next() == "GET b");
  scene.peer.Send(bytes);
  CHECK(scene.peer.Next() == "closed");
  CHECK(answers.Await(2).back() == "lost");
  CHECK(Has(scene.reports.Await(1).front(), "it sent"));
  const FakeConnection next = scene.Again();
}

TEST_CASE("an answer without a command ends the connection") {
  Scene scene;
  scene.peer.Send("+OK\r\n");
  CHECK(scene.peer.Next() == "closed");
  CHECK(Has(scene.reports.Await(1).front(), "nothing asked"));
}

TEST_CASE("an endless reply ends the connection at the size limit") {
  Said answers;
  Scene scene([](RedisLink::Options& options) { options.max_reply_bytes = 100'000; });
  REQUIRE(scene.link.Send({"KEYS", "*"}, answers.Adding()));
  CHECK(scene.peer.Next() == "KEYS *");
  std::string endless = "*1001\r\n";
  for (int i = 0; i < 1000; ++i) endless += "$200\r\n" + std::string(200, 'x') + "\r\n";
  scene.peer.Send(endless);
  CHECK(scene.peer.Next() == "closed");
  CHECK(answers.Await(1) == Texts{"lost"});
}

TEST_CASE("a slow Redis blocks neither callers nor the end of the link", "[slow_loris_redis]") {
  Said answers;
  auto scene = std::make_unique<Scene>();
  REQUIRE(scene->link.Send({"GET", "a"}, answers.Adding()));
  REQUIRE(scene->link.Send({"GET", "b"}, answers.Adding()));
  for (const char c : std::string_view("$100\r\nabc")) scene->peer.Send({&c, 1});
  REQUIRE(scene->link.Send({"GET", "c"}, answers.Adding()));
  CHECK(answers.all().empty());
  scene.reset();
  CHECK(answers.all() == Texts{"lost", "lost", "lost"});
}

TEST_CASE("a link reconnects to a silent Redis, which does not delay the link's end") {
  const FakeRedis redis;
  RedisLink::Options options = OptionsFor(redis.address());
  options.connect_timeout = 20ms;
  RedisLink link(options);
  for (int attempts = 0; attempts < 2; ++attempts) {
    FakeConnection peer = redis.Accept();
    CHECK(peer.Next() == "PING");
    peer.Send("+PO");
    CHECK(peer.Next() == "closed");
  }
  CHECK(Has(link.state().problem, "did not answer"));
}

TEST_CASE("Send refuses commands above the limit of unsent bytes") {
  constexpr uint64_t kLimit = 4 << 20;
  Said answers;
  Scene scene([](RedisLink::Options& options) { options.max_unsent_bytes = kLimit; });
  const std::string value(256 << 10, 'v');
  size_t sent = 0;
  while (scene.link.Send({"SET", "k", value}, answers.Adding())) ++sent;
  CHECK(sent >= kLimit / value.size() - 1);
  CHECK(scene.link.state().unsent_bytes <= kLimit);
  CHECK(scene.link.state().pending == sent);
  for (size_t i = 0; i < sent; ++i) CHECK(scene.peer.Next().starts_with("SET k v"));
  REQUIRE(WaitUntil([&] { return scene.link.state().unsent_bytes == 0; }));
  CHECK(scene.link.Send({"SET", "k", value}, answers.Adding()));
  CHECK_FALSE(scene.link.Send({"SET", "k", std::string(kLimit, 'v')}, answers.Adding()));
}

TEST_CASE("Send refuses more commands than may wait for answers") {
  Said answers;
  Scene scene([](RedisLink::Options& options) { options.max_pending = 2; });
  CHECK(scene.link.Send({"GET", "a"}, answers.Adding()));
  CHECK(scene.link.Send({"GET", "b"}, answers.Adding()));
  CHECK_FALSE(scene.link.Send({"GET", "c"}, answers.Adding()));
  scene.peer.Send("+1\r\n");
  CHECK(answers.Await(1) == Texts{"1"});
  CHECK(scene.link.Send({"GET", "d"}, answers.Adding()));
}

TEST_CASE("the problem of a wrong or missing password names the password file") {
  const std::string answer =
      GENERATE(as<std::string>{}, "-WRONGPASS invalid username-password pair\r\n",
               "-NOAUTH Authentication required.\r\n");
  const FakeRedis redis;
  RedisLink::Options options = OptionsFor(redis.address());
  if (answer.starts_with("-WRONGPASS")) options.password = "wrong";
  RedisLink link(options);
  FakeConnection peer = redis.Accept();
  CHECK(peer.Next() == (options.password.empty() ? "PING" : "AUTH wrong"));
  peer.Send(answer);
  if (!options.password.empty()) CHECK(peer.Next() == "PING");
  CHECK(peer.Next() == "closed");
  REQUIRE(WaitUntil([&] { return Has(link.state().problem, "--remote-password-file"); }));
  CHECK_FALSE(link.connected());
}

TEST_CASE("a connection is closed after three slow answers in a row") {
  Said answers;
  Scene scene([](RedisLink::Options& options) { options.patience = 0ms; });
  scene.link.NoteSlow();  // does nothing: no answer is late
  REQUIRE(scene.link.Send({"GET", "a"}, answers.Adding()));
  CHECK(scene.peer.Next() == "GET a");
  scene.link.NoteSlow();
  scene.link.NoteSlow();
  CHECK(scene.link.connected());
  scene.link.NoteSlow();
  CHECK_FALSE(scene.link.Send({"GET", "b"}, answers.Adding()));
  CHECK(scene.peer.Next() == "closed");
  CHECK(answers.Await(1) == Texts{"lost"});
  CHECK(Has(scene.reports.Await(1).front(), "3 answers"));
  FakeConnection next = scene.Again();
  REQUIRE(scene.link.Send({"GET", "c"}, answers.Adding()));
  CHECK(next.Next() == "GET c");
}

TEST_CASE("a Redis that belongs to a Redis cluster is a problem") {
  Said answers;
  Scene scene;
  REQUIRE(scene.link.Send({"GET", "a"}, answers.Adding()));
  CHECK(scene.peer.Next() == "GET a");
  scene.peer.Send("-MOVED 15495 127.0.0.1:6379\r\n");
  CHECK(scene.peer.Next() == "closed");
  CHECK(answers.Await(1).front().starts_with("error: MOVED"));
  CHECK(Has(scene.reports.Await(1).front(), "Redis cluster"));

  SECTION("while it belongs to one") {
    FakeConnection next = scene.redis.Accept();
    CHECK(next.Next() == "READONLY");
    CHECK(next.Next() == "PING");
    next.Send("+OK\r\n+PONG\r\n");
    CHECK(next.Next() == "closed");
    CHECK_FALSE(scene.link.connected());
    CHECK(Has(scene.link.state().problem, "Redis cluster"));
  }
  SECTION("until it is a single Redis") {
    FakeConnection next = scene.redis.Accept();
    CHECK(next.Next() == "READONLY");
    CHECK(next.Next() == "PING");
    next.Send("-ERR This instance has cluster support disabled\r\n+PONG\r\n");
    REQUIRE(WaitUntil([&] { return scene.link.connected(); }));
    CHECK(scene.link.state().problem.empty());
  }
}

TEST_CASE("the callback of an answer may use the link") {
  Said answers;
  Scene scene([](RedisLink::Options& options) { options.patience = 0ms; });
  REQUIRE(scene.link.Send({"GET", "a"}, [&](RedisReply* reply) {
    answers.Adding()(reply);
    CHECK(scene.link.Send({"GET", "b"}, answers.Adding()));
  }));
  CHECK(scene.peer.Next() == "GET a");
  scene.peer.Send("+1\r\n");
  CHECK(scene.peer.Next() == "GET b");
  REQUIRE(scene.link.Send({"GET", "c"}, [&](RedisReply* reply) {
    answers.Adding()(reply);
    for (int i = 0; i < 3; ++i) scene.link.NoteSlow();
  }));
  REQUIRE(scene.link.Send({"GET", "d"}, [&](RedisReply* reply) {
    answers.Adding()(reply);
    CHECK_FALSE(scene.link.Send({"GET", "e"}, answers.Adding()));
  }));
  scene.peer.Send("+2\r\n+3\r\n+4\r\n");
  CHECK(answers.Await(4) == Texts{"1", "2", "3", "lost"});
}

TEST_CASE("threads that send at the same time get the answers to their own commands") {
  constexpr int kThreads = 4;
  constexpr int kCommands = 50;
  Said answers;
  Scene scene;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kCommands; ++i) {
        const std::string text = std::to_string(thread) + "." + std::to_string(i);
        const bool sent =
            scene.link.Send({"ECHO", text}, [&answers, text](const RedisReply* reply) {
              answers.Add(reply != nullptr && reply->text == "ECHO " + text ? "own" : "other");
            });
        if (!sent) answers.Add("refused");
      }
    });
  }
  for (int i = 0; i < kThreads * kCommands; ++i) scene.peer.Send("+" + scene.peer.Next() + "\r\n");
  for (std::thread& thread : threads) thread.join();
  CHECK(answers.Await(kThreads * kCommands) == Texts(kThreads * kCommands, "own"));
}

TEST_CASE("timers run in order on the link's thread, also unconnected") {
  RedisAddress nowhere;
  nowhere.path = "/nonexistent/redis";
  Said ran;
  std::optional<RedisLink> link(std::in_place, OptionsFor(nowhere));
  const auto now = RedisLink::Clock::now();
  std::thread::id threads[2];
  link->At(now + 1h, [&] { ran.Add("never"); });
  link->At(now + 20ms, [&] {
    threads[1] = std::this_thread::get_id();
    ran.Add(RedisLink::Clock::now() >= now + 20ms ? "second" : "too early");
    link->At(now, [&] { ran.Add("third"); });
  });
  link->At(now + 10ms, [&] {
    threads[0] = std::this_thread::get_id();
    ran.Add("first");
  });
  CHECK(ran.Await(3) == Texts{"first", "second", "third"});
  CHECK(threads[0] == threads[1]);
  CHECK(threads[0] != std::this_thread::get_id());
  link.reset();
  CHECK(ran.all().size() == 3);
}

TEST_CASE("a link that gets no descriptor still runs timers and ends") {
  Said ran;
  rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none = {1, before.rlim_max};
  RedisLink::Options options;
  options.address.path = "/nonexistent/redis";
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::optional<RedisLink> link(std::in_place, options);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  link->At(RedisLink::Clock::now(), [&] { ran.Add("ran"); });
  CHECK(ran.Await(1) == Texts{"ran"});
  CHECK_FALSE(link->Send({"PING"}, ran.Adding()));
  CHECK(Has(link->state().problem, "no descriptor"));
  link.reset();
}

TEST_CASE("an unreachable Redis is reported with the system's error") {
  RedisAddress nowhere;
  nowhere.path = "/nonexistent/redis";
  Said reports;
  RedisLink::Options options = OptionsFor(nowhere);
  options.report = [&](std::string_view text) { reports.Add(std::string(text)); };
  const RedisLink link(options);
  CHECK(Has(reports.Await(1).front(), "No such file"));
  CHECK(Has(link.state().address, "/nonexistent/redis"));
}

/// Answers DNS queries with these addresses, or NXDOMAIN if there are none. Without a list, does
/// not answer.
class FakeDns {
 public:
  explicit FakeDns(std::optional<Texts> addresses)
      : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    own_.sin_family = AF_INET;
    own_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(own_);
    REQUIRE(bind(socket_.get(), reinterpret_cast<sockaddr*>(&own_), size) == 0);
    REQUIRE(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own_), &size) == 0);
    const std::string server = "127.0.0.1:" + std::to_string(ntohs(own_.sin_port));
    resolv_conf_ = directory_.Write("resolv.conf", "nameserver " + server + "\n");
    thread_ = std::thread([this, addresses] { Run(addresses); });
  }
  ~FakeDns() {
    sendto(socket_.get(), "", 0, 0, reinterpret_cast<sockaddr*>(&own_), sizeof(own_));
    thread_.join();
  }
  FakeDns(const FakeDns&) = delete;
  FakeDns& operator=(const FakeDns&) = delete;

  [[nodiscard]] const std::string& resolv_conf() const { return resolv_conf_; }

 private:
  void Run(const std::optional<Texts>& addresses) const {
    for (;;) {
      std::string question(512, '\0');
      sockaddr_in from = {};
      socklen_t size = sizeof(from);
      const ssize_t length = recvfrom(socket_.get(), question.data(), question.size(), 0,
                                      reinterpret_cast<sockaddr*>(&from), &size);
      if (length <= 0) return;
      question.resize(static_cast<size_t>(length));
      if (!addresses) continue;
      const std::string answer = Answer(question, *addresses);
      sendto(socket_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from),
             size);
    }
  }
  /// A query for IPv6 addresses gets none.
  static std::string Answer(const std::string& question, const Texts& addresses) {
    constexpr char kIpv6 = 28;
    const size_t count = question[question.size() - 3] == kIpv6 ? 0 : addresses.size();
    std::string answer = question;
    answer[2] = '\x81';
    answer[3] = addresses.empty() ? '\x83' : '\x80';
    answer[7] = static_cast<char>(count);
    for (size_t i = 0; i < count; ++i) {
      answer += std::string("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4", 12);
      in_addr address = {};
      inet_pton(AF_INET, addresses[i].c_str(), &address);
      answer.append(reinterpret_cast<const char*>(&address), sizeof(address));
    }
    return answer;
  }

  TemporaryDirectory directory_;
  FileDescriptor socket_;
  sockaddr_in own_ = {};
  std::string resolv_conf_;
  std::thread thread_;
};

TEST_CASE("the addresses of a name are tried until one accepts") {
  // Nothing listens on this port of the first address.
  const FakeDns dns(Texts{"127.0.0.99", "127.0.0.1"});
  const FakeRedis redis = FakeRedis::OnPort();
  RedisLink::Options options = OptionsFor(redis.address());
  options.address.host = "redis.test";
  options.resolv_conf = dns.resolv_conf();
  const RedisLink link(options);
  FakeConnection peer = redis.Accept();
  peer.Greet();
  CHECK(WaitUntil([&] { return link.connected(); }));
}

TEST_CASE("the problem of an unknown host name has that name") {
  const FakeDns dns(Texts{});
  RedisAddress address;
  address.host = "redis.test";
  RedisLink::Options options = OptionsFor(address);
  options.resolv_conf = dns.resolv_conf();
  const RedisLink link(options);
  CHECK(WaitUntil([&] { return Has(link.state().problem, "redis.test can't be resolved"); }));
}

TEST_CASE("a silent DNS server is a problem, and does not delay the end of the link") {
  const FakeDns dns(std::nullopt);
  RedisAddress address;
  address.host = "redis.test";
  RedisLink::Options options = OptionsFor(address);
  options.connect_timeout = 20ms;
  options.resolv_conf = dns.resolv_conf();
  const RedisLink link(options);
  CHECK(WaitUntil([&] { return Has(link.state().problem, "DNS said nothing"); }));
}

TEST_CASE("the host of a Redis may be an IP address") {
  const FakeRedis redis = FakeRedis::OnPort();
  const RedisLink link(OptionsFor(redis.address()));
  FakeConnection peer = redis.Accept();
  peer.Greet();
  CHECK(WaitUntil([&] { return link.connected(); }));
}

}  // namespace redis_link_test
