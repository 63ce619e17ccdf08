// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// Public functions, which any thread calls, queue work under the mutex and wake the link's thread.
// The Loop lives on that thread alone, so libevent's objects need no locks.
#include "daemon/remote/redis/redis_link.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "daemon/remote/redis/event_handles.h"
#include "daemon/remote/redis/redis_dialer.h"
#include "daemon/remote/redis/redis_tls.h"
#include "daemon/system/random.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kGoodConnection{10};  // the loss of a connection that lasted this
                                                     // long resets the backoff
constexpr size_t kMaxCopied =
    64 << 10;  // bytes of a command; a longer one is passed to libevent without a copy
constexpr size_t kMaxAtOnce = 256 << 10;  // limit of one read or write of the socket, in bytes
constexpr size_t kMaxQuoted = 200;        // limit of the server's text in a message, in characters
// After this many slow replies in a row the connection is closed, so that builds do not wait for
// the server.
constexpr int kMaxSlow = 3;
constexpr std::string_view kOfCluster =
    "it is a node of a Redis cluster, which has keys elsewhere: name servers without a cluster in "
    "the URL, HOST,HOST";

/// Converts a duration. The result is rounded up, because otherwise the timer could fire too early.
timeval ToTimeval(RedisLink::Clock::duration wait) {
  const auto rounded = std::chrono::ceil<std::chrono::microseconds>(
      std::max(wait, RedisLink::Clock::duration::zero()));
  return {static_cast<time_t>(rounded.count() / 1'000'000),
          static_cast<suseconds_t>(rounded.count() % 1'000'000)};
}

std::string Encode(const std::vector<std::string_view>& command) {
  std::string bytes = fmt::format("*{}\r\n", command.size());
  for (const std::string_view part : command) {
    bytes.append(fmt::format("${}\r\n", part.size())).append(part).append("\r\n");
  }
  return bytes;
}

std::string Quoted(std::string_view text) { return Printable(text.substr(0, kMaxQuoted)); }

/// Returns why a command at the start of a connection failed, with the remedy.
std::string Refusal(std::string_view command, const RedisReply& reply) {
  const std::string said =
      reply.kind == RedisReply::Kind::kError ? Quoted(reply.text) : "something else than OK";
  const std::string refused = fmt::format("it answered {} with '{}'", command, said);
  if (said.starts_with("NOAUTH")) {
    return refused + ": give its password with --remote-password-file";
  }
  if (command == "AUTH") {
    return refused + ": correct the password in --remote-password-file, and the user in the URL";
  }
  if (said.starts_with("NOPERM"))
    return refused + ": give its user more rights, or name another user in the URL";
  if (command == "SELECT") return refused + ": name another database in the URL";
  return refused;
}

}  // namespace

/// The work of the link's thread. An attempt to connect runs Attempt(), Dialed() and Greet(), and
/// ends in IsUp() or Fail().
class RedisLink::Loop {
 public:
  explicit Loop(RedisLink& link) : link_(link), backoff_(link.options_.first_backoff) {}
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Run();

 private:
  /// A callback for libevent. Calls `kFunction`, then Turn(), which does the work that was
  /// deferred.
  template <void (Loop::*kFunction)()>
  static void Call(evutil_socket_t /*fd*/, short /*what*/, void* loop) {
    (static_cast<Loop*>(loop)->*kFunction)();
    static_cast<Loop*>(loop)->Turn();
  }

  void Turn();
  void Write(std::vector<std::string> commands);
  void RunDue();
  void RunDueWork();
  [[nodiscard]] bool HasDescriptorsLeft() const;
  void RunTimersOnly();

  void Attempt();
  void Dialed(Result<FileDescriptor> socket);
  void Open(bufferevent* connection, FileDescriptor* socket);
  void Greet();
  void Ask(const std::vector<std::string_view>& command, std::string_view expected);
  void Send(const std::vector<std::string_view>& command, Then then);
  void IsUp();
  void TimeIsUp();
  void OnWoken();
  void OnEvent(short what);
  std::string Loss(int error);
  void OnBytes();
  bool Answer(RedisReply* reply);

  /// Makes the next Turn() close the connection. This function can't close it, because a callback
  /// of the connection may be running.
  void Break(std::string_view why);
  void Fail(std::string_view why);
  void Close();
  void LoseAll(std::string_view why);

  RedisLink& link_;
  EventBase base_;
  Event woken_, due_;
  Event timer_;  ///< limits the time of an attempt to connect, or starts the next one
  enum class Phase : uint8_t { kWaiting, kConnecting, kUp } phase_ = Phase::kWaiting;

  std::optional<RedisDialer> dialer_;
  BufferEvent connection_;
  evbuffer_cb_entry* unsent_counter_ = nullptr;
  std::optional<RedisReplies> replies_;

  milliseconds backoff_;
  Clock::time_point up_since_;
  bool reported_ = false;   ///< whether the failure of the connection was reported
  bool was_moved_ = false;  ///< whether the server redirected a command, as nodes of a Redis
                            ///< cluster do
};

RedisLink::Loop::~Loop() {
  Close();
  woken_.reset();
  due_.reset();
  timer_.reset();
  // libevent frees connections and answers cancelled DNS queries only in its loop.
  if (base_ != nullptr) event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  LoseAll("");
}

/// Returns whether there are enough descriptors for an event base. This is checked first, because
/// libevent ends the process if it gets no descriptor.
bool RedisLink::Loop::HasDescriptorsLeft() const {
  constexpr size_t kOfOneLoop = 4;  // epoll, a timer, a pair for signals
  std::array<FileDescriptor, kOfOneLoop> spare;
  for (FileDescriptor& each : spare) {
    each = FileDescriptor(eventfd(0, EFD_CLOEXEC));  // tsan does not see descriptors made by
                                                     // fcntl()
    if (!each.valid()) return false;
  }
  return true;
}

void RedisLink::Loop::Run() {
  NameThread("redis");
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // also SIGPIPE, which libevent's writes may raise
  event_set_log_callback(
      [](int /*severity*/, const char* /*text*/) {});  // the link reports errors itself
  if (HasDescriptorsLeft()) base_.reset(event_base_new());
  if (base_ != nullptr) {
    woken_.reset(event_new(base_.get(), link_.wake_.get(), EV_READ | EV_PERSIST,
                           Call<&Loop::OnWoken>, this));
    due_.reset(evtimer_new(base_.get(), Call<&Loop::RunDue>, this));
    timer_.reset(evtimer_new(base_.get(), Call<&Loop::TimeIsUp>, this));
  }
  if (!link_.wake_.valid() || woken_ == nullptr || due_ == nullptr || timer_ == nullptr ||
      event_add(woken_.get(), nullptr) != 0) {
    return RunTimersOnly();
  }
  dialer_.emplace(base_.get(), link_.options_.address, link_.options_.resolv_conf,
                  [this](Result<FileDescriptor> socket) { Dialed(std::move(socket)); });
  Attempt();
  event_base_dispatch(base_.get());
}

/// Runs the timers of a link that can't connect, because callers rely on timers to end their waits.
void RedisLink::Loop::RunTimersOnly() {
  constexpr int kPauseMs = 20;
  const auto ending = [this] {
    MutexLock lock(link_.mutex_);
    link_.problem_ =
        "no descriptor or memory is left to connect with: raise the limits, and start again";
    return link_.ending_;
  };
  while (!ending()) {
    RunDueWork();
    pollfd woken = {link_.wake_.get(), POLLIN, 0};
    poll(&woken, 1, kPauseMs);
    OnWoken();
  }
}

void RedisLink::Loop::OnWoken() {
  eventfd_t ignored = 0;
  eventfd_read(link_.wake_.get(), &ignored);
  MutexLock lock(link_.mutex_);
  link_.woken_ = false;
}

void RedisLink::Loop::Turn() {
  std::vector<std::string> commands;
  std::string broken;
  bool ending = false;
  {
    MutexLock lock(link_.mutex_);
    broken = link_.broken_;
    ending = link_.ending_;
    if (broken.empty()) commands.swap(link_.outgoing_);
  }
  if (ending) {
    event_base_loopbreak(base_.get());
    return;
  }
  if (!broken.empty()) Fail(broken);
  if (connection_ != nullptr) Write(std::move(commands));
  RunDue();
}

void RedisLink::Loop::Write(std::vector<std::string> commands) {
  evbuffer* const out = bufferevent_get_output(connection_.get());
  for (std::string& command : commands) {
    int added = 0;
    if (command.size() <= kMaxCopied) {
      added = evbuffer_add(out, command.data(), command.size());
    } else {
      auto owned = std::make_unique<std::string>(std::move(command));
      const auto free = [](const void* /*data*/, size_t /*size*/, void* string) {
        delete static_cast<std::string*>(string);
      };
      added = evbuffer_add_reference(out, owned->data(), owned->size(), free, owned.get());
      if (added == 0) static_cast<void>(owned.release());
    }
    if (added != 0) return Fail("no memory is left to send with");
  }
}

/// Runs the timers that are due. Timers that are added meanwhile are run by the next call.
void RedisLink::Loop::RunDueWork() {
  std::multimap<Clock::time_point, std::function<void()>> due;
  {
    MutexLock lock(link_.mutex_);
    const auto end = link_.timers_.upper_bound(Clock::now());
    while (link_.timers_.begin() != end)
      due.insert(due.end(), link_.timers_.extract(link_.timers_.begin()));
  }
  for (const auto& [time, work] : due) work();
}

void RedisLink::Loop::RunDue() {
  RunDueWork();
  MutexLock lock(link_.mutex_);
  if (link_.timers_.empty()) {
    event_del(due_.get());
    return;
  }
  const timeval wait = ToTimeval(link_.timers_.begin()->first - Clock::now());
  event_add(due_.get(), &wait);
}

void RedisLink::Loop::Attempt() {
  phase_ = Phase::kConnecting;
  const timeval limit = ToTimeval(link_.options_.connect_timeout);
  event_add(timer_.get(), &limit);
  replies_.emplace(link_.options_.max_reply_bytes);
  dialer_->Start();
}

void RedisLink::Loop::Dialed(Result<FileDescriptor> socket) {
  const RedisAddress& address = link_.options_.address;
  if (!socket.ok()) {
    Fail(socket.error().message);
  } else if (!address.tls) {
    Open(bufferevent_socket_new(base_.get(), socket->get(), BEV_OPT_CLOSE_ON_FREE), &*socket);
    if (connection_ != nullptr) Greet();
  } else if (Result<Tls> tls = MakeTls(address.host, link_.options_.ca_file); !tls.ok()) {
    Fail(tls.error().message);
  } else {
    // The connection owns the TLS object from here on.
    Open(bufferevent_openssl_socket_new(base_.get(), socket->get(), tls->release(),
                                        BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE),
         &*socket);
  }
  Turn();
}

void RedisLink::Loop::Open(bufferevent* connection, FileDescriptor* socket) {
  if (connection == nullptr) return Fail("no memory is left to connect with");
  connection_.reset(connection);
  static_cast<void>(socket->Release());  // the connection owns it now
  bufferevent_setcb(
      connection,
      [](bufferevent* /*connection*/, void* loop) { static_cast<Loop*>(loop)->OnBytes(); }, nullptr,
      [](bufferevent* /*connection*/, short what, void* loop) {
        static_cast<Loop*>(loop)->OnEvent(what);
      },
      this);
  bufferevent_set_max_single_read(connection, kMaxAtOnce);
  bufferevent_set_max_single_write(connection, kMaxAtOnce);
  const auto count = [](evbuffer* /*out*/, const evbuffer_cb_info* change, void* loop) {
    RedisLink& link = static_cast<Loop*>(loop)->link_;
    MutexLock lock(link.mutex_);
    link.unsent_bytes_ -= change->n_deleted;
  };
  unsent_counter_ = evbuffer_add_cb(bufferevent_get_output(connection), count, this);
  bufferevent_enable(connection, EV_READ | EV_WRITE);
}

/// Sends the first commands of a connection. Commands of builds come only after IsUp().
void RedisLink::Loop::Greet() {
  const RedisAddress& address = link_.options_.address;
  const std::string& password = link_.options_.password;
  if (!password.empty() && address.user.empty()) Ask({"AUTH", password}, "OK");
  if (!password.empty() && !address.user.empty()) Ask({"AUTH", address.user, password}, "OK");
  if (address.database != 0) Ask({"SELECT", std::to_string(address.database)}, "OK");
  // Only a node of a Redis cluster accepts this command. The reply shows whether the server still
  // is one.
  if (was_moved_) {
    Send({"READONLY"}, [this](const RedisReply* reply) {
      if (reply == nullptr) return;
      was_moved_ = reply->kind == RedisReply::Kind::kText && reply->text == "OK";
      if (was_moved_) Break(kOfCluster);
    });
  }
  Ask({"PING"}, "PONG");
}

void RedisLink::Loop::Ask(const std::vector<std::string_view>& command, std::string_view expected) {
  const auto check = [this, name = std::string(command.front()),
                      expected](const RedisReply* reply) {
    if (reply == nullptr) return;
    if (reply->kind != RedisReply::Kind::kText || reply->text != expected)
      return Break(Refusal(name, *reply));
    if (name == "PING") IsUp();
  };
  Send(command, check);
}

void RedisLink::Loop::Send(const std::vector<std::string_view>& command, Then then) {
  MutexLock lock(link_.mutex_);
  link_.pending_.push_back({std::move(then)});
  link_.outgoing_.push_back(Encode(command));
  link_.unsent_bytes_ += link_.outgoing_.back().size();
}

void RedisLink::Loop::IsUp() {
  phase_ = Phase::kUp;
  event_del(timer_.get());
  up_since_ = Clock::now();
  {
    MutexLock lock(link_.mutex_);
    link_.connected_ = true;
    ++link_.connects_;
    link_.problem_.clear();
  }
  if (std::exchange(reported_, false) && link_.options_.report_return) {
    link_.options_.report_return(fmt::format("Redis at {}: connected", link_.url_));
  }
}

void RedisLink::Loop::TimeIsUp() {
  if (phase_ == Phase::kWaiting) return Attempt();
  Fail(fmt::format("{} within {} ms: see whether it is overloaded or behind a firewall",
                   dialer_->GiveUp(), link_.options_.connect_timeout.count()));
}

void RedisLink::Loop::OnEvent(short what) {
  const int error = (what & BEV_EVENT_ERROR) != 0 ? errno : 0;
  if ((what & BEV_EVENT_CONNECTED) != 0) {
    Greet();
  } else {
    Fail(Loss(error));
  }
  Turn();
}

std::string RedisLink::Loop::Loss(int error) {
  const bool greeted = phase_ == Phase::kUp;
  if (SSL* const tls = bufferevent_openssl_get_ssl(connection_.get()); tls != nullptr && !greeted) {
    const char* const reason =
        ERR_reason_error_string(bufferevent_get_openssl_error(connection_.get()));
    std::string problem = CertificateProblem(tls);
    if (problem.empty() && reason != nullptr) problem = reason;
    if (!problem.empty()) {
      return fmt::format(
          "TLS failed ({}): correct its certificate, or the file of those that are trusted",
          problem);
    }
  }
  const std::string how = error == 0
                              ? "it closed the connection"
                              : fmt::format("the connection broke ({})", std::strerror(error));
  return how + (greeted
                    ? ": see its log"
                    : " before it answered: see its log, and whether it expects TLS (rediss://)");
}

void RedisLink::Loop::OnBytes() {
  evbuffer* const in = bufferevent_get_input(connection_.get());
  while (const size_t size = evbuffer_get_contiguous_space(in)) {
    replies_->Feed(
        {reinterpret_cast<const char*>(evbuffer_pullup(in, static_cast<ev_ssize_t>(size))), size});
    evbuffer_drain(in, size);
  }
  while (RedisReply* const reply = replies_->Next()) {
    if (!Answer(reply)) break;
    *reply = {};  // frees the reply, which may be large
  }
  if (!replies_->problem().empty()) {
    Break(replies_->problem() + ": see whether a Redis is what listens there");
  }
  Turn();
}

/// Passes a reply to the callback of its command. Returns false if the connection must end.
bool RedisLink::Loop::Answer(RedisReply* reply) {
  Then then;
  {
    MutexLock lock(link_.mutex_);
    if (!link_.broken_.empty() || link_.ending_) return false;
    if (!link_.pending_.empty()) {
      if (Clock::now() - link_.pending_.front().sent <= link_.options_.patience)
        link_.slow_in_a_row_ = 0;
      then = std::move(link_.pending_.front().then);
      link_.pending_.pop_front();
    }
  }
  if (!then) {
    Break("it sent a reply that nothing asked for");
    return false;
  }
  if (reply->kind == RedisReply::Kind::kError &&
      (reply->text.starts_with("MOVED ") || reply->text.starts_with("ASK "))) {
    was_moved_ = true;
    Break(kOfCluster);
  }
  then(reply);
  return true;
}

void RedisLink::Loop::Break(std::string_view why) {
  MutexLock lock(link_.mutex_);
  link_.connected_ = false;
  if (link_.broken_.empty()) link_.broken_ = why;
}

/// Ends the current attempt or connection, and schedules the next attempt.
void RedisLink::Loop::Fail(std::string_view why) {
  const std::string problem(why);  // a copy, because the closed object may own the text
  Close();
  if (phase_ == Phase::kUp && Clock::now() - up_since_ >= kGoodConnection)
    backoff_ = link_.options_.first_backoff;
  phase_ = Phase::kWaiting;
  const timeval wait = ToTimeval(Jittered(backoff_));
  event_add(timer_.get(), &wait);
  backoff_ = std::min(2 * backoff_, link_.options_.last_backoff);

  if (!std::exchange(reported_, true) && link_.options_.report) {
    link_.options_.report(fmt::format("Redis at {}: {}", link_.url_, problem));
  }
  LoseAll(problem);
}

void RedisLink::Loop::LoseAll(std::string_view why) {
  std::deque<Pending> lost;
  {
    MutexLock lock(link_.mutex_);
    link_.connected_ = false;
    link_.problem_ = why;
    link_.broken_.clear();
    link_.outgoing_.clear();
    link_.unsent_bytes_ = 0;
    lost.swap(link_.pending_);
  }
  for (const Pending& each : lost) each.then(nullptr);
}

void RedisLink::Loop::Close() {
  if (connection_ != nullptr) {
    if (unsent_counter_ != nullptr) {
      evbuffer_remove_cb_entry(bufferevent_get_output(connection_.get()),
                               std::exchange(unsent_counter_, nullptr));
    }
    connection_.reset();
  }
  if (dialer_) dialer_->Stop();
  replies_.reset();
}

RedisLink::RedisLink(Options options)
    : options_(std::move(options)),
      url_(ToUrl(options_.address)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      problem_("the first connection is not made yet"),
      thread_([this] { Loop(*this).Run(); }) {}

void RedisLink::Stop() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    connected_ = false;
    Wake();
  }
  if (thread_.joinable()) thread_.join();
}

void RedisLink::Wake() {
  if (!std::exchange(woken_, true)) eventfd_write(wake_.get(), 1);
}

bool RedisLink::Send(const std::vector<std::string_view>& command, Then then) {
  assert(then);
  if (!connected()) return false;
  std::string bytes = Encode(command);
  MutexLock lock(mutex_);
  if (!connected() || pending_.size() >= options_.max_pending ||
      bytes.size() >
          options_.max_unsent_bytes - std::min(unsent_bytes_, options_.max_unsent_bytes)) {
    return false;
  }
  unsent_bytes_ += bytes.size();
  outgoing_.push_back(std::move(bytes));
  pending_.push_back({std::move(then)});
  Wake();
  return true;
}

void RedisLink::At(Clock::time_point time, std::function<void()> work) {
  MutexLock lock(mutex_);
  timers_.emplace(time, std::move(work));
  Wake();
}

void RedisLink::NoteSlow() {
  const auto now = Clock::now();
  const auto patience = options_.patience;
  MutexLock lock(mutex_);
  if (!connected() || pending_.empty() || now < pending_.front().sent + patience ||
      now < last_slow_ + patience) {
    return;
  }
  last_slow_ = now;
  if (++slow_in_a_row_ < kMaxSlow) return;
  slow_in_a_row_ = 0;
  connected_ = false;
  broken_ = fmt::format("{} answers in a row took longer than {} ms", kMaxSlow, patience.count());
  Wake();
}

RedisLink::State RedisLink::state() const {
  MutexLock lock(mutex_);
  return {connected(), url_, problem_, connects_, unsent_bytes_, pending_.size()};
}

}  // namespace cccl_cache::daemon
