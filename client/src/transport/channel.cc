// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/channel.h"

#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "client/src/transport/address.h"

namespace cccl_cache {
namespace {

// A timeout in milliseconds has at most eight digits in gRPC, which are 27 hours.
constexpr std::chrono::hours kMaxCall{27};

// Pauses between attempts, which double each time. Together they take about two seconds. That is
// enough for the restart of a daemon, or until a daemon has accepted many connections.
class ConnectBackoff {
 public:
  /// Pauses. Returns false at once if the pauses so far, or the deadline, leave no time.
  bool Wait(const Deadline& deadline) {
    constexpr std::chrono::milliseconds kEnough{2000};
    if (waited_ >= kEnough || deadline.Remaining() <= pause_) return false;
    timespec pause = {0, std::chrono::nanoseconds(pause_).count()};
    while (nanosleep(&pause, &pause) != 0) {
    }
    waited_ += pause_;
    pause_ = std::min(pause_ * 2, std::chrono::milliseconds{320});
    return true;
  }

 private:
  std::chrono::milliseconds pause_{10};
  std::chrono::milliseconds waited_{0};
};

// The state that is common to all attempts of one call.
class Attempts {
 public:
  Attempts(const std::string& socket, std::chrono::milliseconds patience, ConnectionPool* pool,
           Deadline deadline)
      : socket_(socket), patience_(patience), pool_(pool), deadline_(deadline) {}

  /// Returns an idle or a new connection, or the error.
  Expected<std::unique_ptr<Connection>> Connect() {
    std::unique_ptr<Connection> idle = pool_->Take();
    reused_ = idle != nullptr;
    if (reused_) return idle;
    while (true) {
      auto opened = Connection::Open(socket_, patience_);
      if (opened.ok()) return opened;
      const cccl_cache_status status = opened.error().status;
      // The daemon answered before, so it may be restarting.
      const bool gone = status == CCCL_CACHE_NO_DAEMON && lost_;
      if ((status == CCCL_CACHE_OVERLOADED || gone) && backoff_.Wait(deadline_)) continue;
      return gone ? Gone(std::move(opened).error()) : std::move(opened);
    }
  }

  /// Returns whether to retry after this error, because the daemon is stopping and a new one may
  /// start soon. A daemon that stops says so, or cancels its calls. Returns true at most once: a
  /// stopping daemon accepts no connections, so the second attempt reaches a new daemon.
  bool AskTheNext(const Error& error) {
    const bool stops = error.status == CCCL_CACHE_CANCELLED ||
                       (error.status == CCCL_CACHE_UNAVAILABLE && error.retry_after_ms > 0);
    if (!stops || deadline_.Passed() || std::exchange(asked_again_, true)) return false;
    pool_->Clear();
    lost_ = true;
    return backoff_.Wait(deadline_);
  }

  /// Returns the error for the caller. The daemon knows the deadline too. If it ended the call for
  /// that reason, the error is the same as if this process had done so.
  Error AfterStatus(Error error) const {
    const bool late = error.status == CCCL_CACHE_DEADLINE ||
                      (error.status == CCCL_CACHE_CANCELLED && deadline_.Passed());
    return late ? TooLate() : error;
  }

  /// Returns the error for the caller after an attempt ended. None: try again.
  std::optional<Error> After(CallEnd end) {
    switch (end) {
      case CallEnd::kDeadline:
        return TooLate();
      case CallEnd::kSilent:
        return DaemonSilent(socket_);
      case CallEnd::kMalformed:
        return Error{CCCL_CACHE_PROTOCOL,
                     "what listens on " + socket_ +
                         " does not speak as agreed: is it cccl-cached, and not "
                         "older than this client?"};
      case CallEnd::kRefused:
        if (reused_ || backoff_.Wait(deadline_)) return std::nullopt;
        return Error{CCCL_CACHE_OVERLOADED,
                     "cccl-cached at " + socket_ +
                         " takes no more connections: try again later, or raise "
                         "its limit of connections per user"};
      case CallEnd::kUnsent:
        lost_ = true;
        if (backoff_.Wait(deadline_)) return std::nullopt;
        return Error{CCCL_CACHE_UNAVAILABLE, "cccl-cached at " + socket_ + " is stopping"};
      default:
        return AfterLoss();
    }
  }

 private:
  Error TooLate() const {
    return {CCCL_CACHE_DEADLINE, "no answer from cccl-cached at " + socket_ + " in time"};
  }

  static Error Gone(Error error) {
    error.message =
        "the connection to cccl-cached was lost during this call, and it does not listen any "
        "more: " +
        error.message;
    return error;
  }

  std::optional<Error> AfterLoss() {
    // The daemon may have been restarted, so the idle connections are probably lost too.
    pool_->Clear();
    if (reused_) return std::nullopt;
    if (!std::exchange(lost_, true)) return std::nullopt;
    return Error{CCCL_CACHE_UNAVAILABLE,
                 "cccl-cached at " + socket_ +
                     " closed the connection twice in the middle of this call: "
                     "its log says why"};
  }

  const std::string& socket_;
  const std::chrono::milliseconds patience_;
  ConnectionPool* const pool_;
  const Deadline deadline_;
  ConnectBackoff backoff_;
  bool reused_ = false;
  bool lost_ = false;
  bool asked_again_ = false;
};

}  // namespace

Expected<Done> Channel::Invoke(std::string_view path, const ByteChain& body, MessageSink* sink,
                               Deadline deadline, MessageSource* source) {
  if (no_socket_) return *no_socket_;
  Attempts attempts(socket_, patience_, &pool_, deadline);
  while (true) {
    auto connection = attempts.Connect();
    if (!connection.ok()) return std::move(connection).error();
    sink->Restart();
    Call call(path, body, sink, deadline, source);
    const CallEnd end = (*connection)->Run(&call);
    if (end == CallEnd::kAnswered) {
      if (call.status().ok()) {
        Give(*std::move(connection));
        return Done{};
      }
      Error error = call.status().ToError();
      if (attempts.AskTheNext(error)) continue;
      Give(*std::move(connection));
      return attempts.AfterStatus(std::move(error));
    }
    if (std::optional<Error> error = attempts.After(end)) return *std::move(error);
  }
}

Expected<OpenCall> Channel::Open(std::string_view path, const ByteChain& body, MessageSink* sink,
                                 MessageSource* source, Deadline deadline,
                                 const std::function<bool()>& settled) {
  if (no_socket_) return *no_socket_;
  Attempts attempts(socket_, patience_, &pool_, deadline);
  while (true) {
    auto connection = attempts.Connect();
    if (!connection.ok()) return std::move(connection).error();
    sink->Restart();
    auto call = std::make_unique<Call>(path, body, sink, Deadline::After(kMaxCall), source);
    (*connection)->Start(call.get());
    (*connection)->Hurry(deadline.Remaining());  // the deadline applies to the first answer; the
                                                 // call may then last for hours
    const auto goes_on = [&] {
      return settled() && call->unsent() == 0 && (*connection)->flushed();
    };
    while (!call->ended() && !goes_on()) {
      if (!(*connection)->TurnOrDoubt(call.get(), deadline)) call->End(CallEnd::kDeadline);
    }
    if (!call->ended()) return OpenCall{std::move(call), *std::move(connection)};
    (*connection)->Finish(call.get());
    CallEnd end = call->end();
    std::optional<Error> told;
    if (end == CallEnd::kAnswered) {
      if ((*connection)->Reusable()) pool_.Give(*std::move(connection));
      if (call->status().ok()) return OpenCall{};
      told = call->status().ToError();
      const bool is_gone =
          told->status == CCCL_CACHE_UNAVAILABLE || told->status == CCCL_CACHE_CANCELLED;
      if (!is_gone) return *std::move(told);
      end = CallEnd::kUnsent;
    }
    if (std::optional<Error> error = attempts.After(end))
      return std::move(told ? told : error).value();
  }
}

Expected<Channel::Taken> Channel::Take() {
  if (no_socket_) return *no_socket_;
  if (auto idle = pool_.Take()) return Taken{std::move(idle), true};
  auto opened = Connection::Open(socket_, patience_);
  if (!opened.ok()) return std::move(opened).error();
  return Taken{*std::move(opened), false};
}

void Channel::Give(std::unique_ptr<Connection> connection) {
  if (connection->Reusable()) pool_.Give(std::move(connection));
}

}  // namespace cccl_cache
