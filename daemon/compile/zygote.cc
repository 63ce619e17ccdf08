// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/zygote.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "base/poll.h"
#include "daemon/compile/protocol/packet.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEndPatience{2'000};
/// A zygote that does not read a message for this long counts as hung.
constexpr timeval kSendPatience{.tv_sec = 5, .tv_usec = 0};

struct SocketPair {
  FileDescriptor ours;
  FileDescriptor theirs;
};

Result<SocketPair> MakeSocketPair(int type) {
  int fds[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("making a socket for a worker: {}", strerror(errno))};
  }
  return SocketPair{FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

std::optional<LibraryFiles> FilesOf(const std::optional<CompilerLibrary>& library) {
  if (!library) return std::nullopt;
  return LibraryFiles{library->path, library->preload};
}

}  // namespace

ZygoteHello HelloFor(const Toolchain& toolchain) {
  ZygoteHello hello{.nvrtc = FilesOf(toolchain.nvrtc),
                    .nvjitlink = FilesOf(toolchain.nvjitlink),
                    .nvvm = FilesOf(toolchain.nvvm),
                    .libdevice = toolchain.libdevice,
                    .trusted_directories = {}};
  for (const HeaderDirectory& headers : toolchain.headers) {
    hello.trusted_directories.push_back(headers.path);
  }
  return hello;
}

Result<std::shared_ptr<Zygote>> Zygote::Start(const std::string& worker_path,
                                              const ZygoteHello& hello, milliseconds deadline) {
  Result<SocketPair> control = MakeSocketPair(SOCK_SEQPACKET);
  if (!control) return control.error();
  setsockopt(control->ours.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendPatience, sizeof(kSendPatience));
  char* no_variables[] = {nullptr};
  auto process = ChildProcess::Start(worker_path, control->theirs.get(), 3, no_variables);
  if (!process) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("running {}: {}", worker_path, strerror(errno))};
  }
  control->theirs.Close();
  std::shared_ptr<Zygote> zygote(
      new Zygote(*std::move(process), std::exchange(control->ours, FileDescriptor())));
  Status loaded = zygote->Load(hello, deadline);
  if (!loaded) return loaded.error();
  return zygote;
}

Zygote::~Zygote() {
  control_.Close();
  process_.End(broken_.load() ? milliseconds(0) : kEndPatience);
}

Status Zygote::Load(const ZygoteHello& hello, milliseconds deadline) {
  const std::string message = EncodeControlMessage(hello);
  if (message.size() > kMaxPacketBytes) {
    return Error{ErrorCode::kUnavailable, "the toolchain has too many header directories"};
  }
  // The result is ignored: if the process could not start, the answer is missing too.
  (void)SendPacket(control_.get(), message).ok();
  if (!WaitReadable(control_.get(), deadline)) {
    MarkBroken();
    return Error{ErrorCode::kUnavailable,
                 fmt::format("cccl-cached-worker did not load the toolchain within {} s",
                             std::chrono::duration<double>(deadline).count())};
  }
  const Result<Packet> packet = ReceivePacket(control_.get());
  if (!packet || packet->end) {
    return Error{ErrorCode::kUnavailable,
                 "cccl-cached-worker ended while it loaded the toolchain, with " +
                     process_.End(kEndPatience)};
  }
  const Result<ControlAnswer> answer = DecodeControlAnswer(packet->bytes);
  if (!answer) {
    MarkBroken();
    return answer.error();
  }
  if (const auto* failed = std::get_if<LoadFailed>(&*answer)) {
    return Error{ErrorCode::kUnavailable, "loading the toolchain: " + failed->message};
  }
  sandbox_ = std::get<ZygoteReady>(*answer);
  return Ok{};
}

Result<WorkerSockets> Zygote::Spawn(const Order& order) {
  Result<SocketPair> reply = MakeSocketPair(SOCK_STREAM);
  if (!reply) return reply.error();
  Result<SocketPair> status = MakeSocketPair(SOCK_SEQPACKET);
  if (!status) return status.error();
  std::vector<int> fds = {order.job.get(), reply->theirs.get(), status->theirs.get()};
  Result<SocketPair> files = order.asks ? MakeSocketPair(SOCK_SEQPACKET) : SocketPair{};
  if (!files) return files.error();
  if (order.pch != PchUse::kNone) fds.push_back(order.pch_fd);
  if (order.asks) fds.push_back(files->theirs.get());
  const SpawnRequest request{.job_id = ++spawned_,
                             .memory_bytes = order.memory_bytes,
                             .may_lack_sandbox = order.may_lack_sandbox,
                             .background = order.background,
                             .bundled_headers = order.bundled_headers,
                             .pch = order.pch};
  Status sent = [&] {
    const MutexLock lock(sending_);
    return SendPacket(control_.get(), EncodeControlMessage(request), fds);
  }();
  if (!sent) {
    MarkBroken();
    return Error{ErrorCode::kUnavailable,
                 "cccl-cached-worker takes no job: " + sent.error().message};
  }
  return WorkerSockets{std::move(reply->ours), std::move(status->ours), std::move(files->ours)};
}

}  // namespace cccl_cache::daemon
