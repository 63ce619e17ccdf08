// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/local_compiler.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "client/src/byte_chain.h"
#include "client/src/file_descriptor.h"
#include "client/src/grpc_status.h"
#include "client/src/message_assembler.h"
#include "client/src/spawned_process.h"

namespace cccl_cache {
namespace {

constexpr size_t kLargestReply = size_t{1} << 31;

// This end of the socket (daemon/local/exchange.h says what goes over it), until the deadline.
class Exchange {
 public:
  enum class Step { kDone, kClosed, kLate, kMalformed };

  Exchange(FileDescriptor socket, Deadline deadline)
      : socket_(std::move(socket)), deadline_(deadline) {}

  Step Send(const ByteChain& body) {
    ByteChain::Position sent;
    for (size_t left = body.size(); left > 0;) {
      std::array<iovec, 64> pieces;
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = body.Describe(sent, pieces);
      const ssize_t size = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0) {
        if (const Step step = AfterError(POLLOUT); step != Step::kDone) return step;
        continue;
      }
      sent = body.Advance(sent, static_cast<size_t>(size));
      left -= static_cast<size_t>(size);
    }
    return Step::kDone;
  }

  Step Receive(Message* message) {
    MessageAssembler assembler(kLargestReply);
    while (true) {
      switch (assembler.Append(&rest_)) {
        case MessageAssembler::State::kComplete:
          *message = assembler.Take();
          return Step::kDone;
        case MessageAssembler::State::kInvalid:
          return Step::kMalformed;
        case MessageAssembler::State::kIncomplete:
          break;
      }
      if (const Step step = ReceiveSome(assembler.Room()); step != Step::kDone) return step;
    }
  }

 private:
  // A large message goes straight to its place.
  Step ReceiveSome(std::span<char> room) {
    const std::span<char> place = room.size() > buffer_.size() ? room : std::span<char>(buffer_);
    while (true) {
      const ssize_t size = recv(socket_.get(), place.data(), place.size(), MSG_DONTWAIT);
      if (size == 0) return Step::kClosed;
      if (size > 0) {
        rest_ = {place.data(), static_cast<size_t>(size)};
        return Step::kDone;
      }
      if (const Step step = AfterError(POLLIN); step != Step::kDone) return step;
    }
  }

  // Of a system call: kDone means that it may do better now.
  Step AfterError(int16_t event) {
    if (errno == EINTR) return Step::kDone;
    if (errno != EAGAIN) return Step::kClosed;
    pollfd entry = {socket_.get(), event, 0};
    const int ready = poll(&entry, 1, deadline_.PollTimeout());
    return ready == 0 && deadline_.Passed() ? Step::kLate : Step::kDone;
  }

  const FileDescriptor socket_;
  const Deadline deadline_;
  std::array<char, 16384> buffer_;
  std::string_view rest_;
};

Error Failed(Exchange::Step step, SpawnedProcess* process) {
  switch (step) {
    case Exchange::Step::kLate:
      return {CCCL_CACHE_DEADLINE, "the compiler did not end in time"};
    case Exchange::Step::kMalformed:
      return {CCCL_CACHE_PROTOCOL,
              "cccl-cache-compile does not answer as agreed: is it of this library's version?"};
    default:
      return {CCCL_CACHE_WORKER_CRASHED,
              "cccl-cache-compile came to its end before it answered: " + process->End()};
  }
}

}  // namespace

Expected<BuildReply> CompileHere(const std::string& path, BuildRequest* request,
                                 Deadline deadline) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{CCCL_CACHE_UNAVAILABLE,
                 std::string("can't make a socket: ") + std::strerror(errno)};
  }
  Exchange exchange(FileDescriptor(ends[0]), deadline);
  FileDescriptor theirs(ends[1]);
  Expected<SpawnedProcess> process = SpawnedProcess::Start(path, theirs.get());
  theirs = FileDescriptor();
  if (!process.ok()) return std::move(process).error();

  request->InlineAll();
  if (request->PackedSize() > UINT32_MAX) {
    return Error{CCCL_CACHE_TOO_LARGE, "the build's contents are more than 4 GiB"};
  }
  ByteChain body;
  request->AppendTo(&body);
  Message error_name;
  Message answer;
  Exchange::Step step = exchange.Send(body);
  if (step == Exchange::Step::kDone) step = exchange.Receive(&error_name);
  if (step == Exchange::Step::kDone) step = exchange.Receive(&answer);
  if (step != Exchange::Step::kDone) return Failed(step, &*process);
  if (error_name.size == 0) return BuildReply::Decode(std::move(answer));
  return Error{StatusOfName(error_name.View()).value_or(CCCL_CACHE_UNAVAILABLE),
               std::string(answer.View())};
}

}  // namespace cccl_cache
