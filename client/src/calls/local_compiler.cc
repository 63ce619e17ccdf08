// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/local_compiler.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "client/src/transport/call.h"

namespace cccl_cache {
namespace {

constexpr size_t kMaxReply = size_t{1} << 31;

// Relative to the directory of this library, so that the whole installation can be moved.
constexpr std::array<const char*, 3> kPlaces = {CCCL_CACHE_INSTALLED_COMPILER, "cccl-cache-compile",
                                                CCCL_CACHE_BUILT_COMPILER};

/// Names of the environment variables for the child: where toolchains are, where the results of
/// their probes are kept, and where the program's own libraries are.
constexpr std::array<std::string_view, 6> kPassedOn = {
    "CCCL_CACHED_", "CUDA_HOME=", "CUDA_PATH=", "HOME=", "XDG_", "LD_LIBRARY_PATH="};

/// Returns the environment for the child process. In a set-uid program it is empty.
std::vector<char*> PassedOn() {
  std::vector<char*> variables;
  const bool trusted = getauxval(AT_SECURE) == 0;
  for (char** each = environ; trusted && each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const bool passed = std::any_of(kPassedOn.begin(), kPassedOn.end(), [&](std::string_view name) {
      return variable.starts_with(name);
    });
    if (passed) variables.push_back(*each);
  }
  variables.push_back(nullptr);
  return variables;
}

/// Returns the absolute path of the file from which `code` was mapped. The result is empty if /proc
/// does not show it.
std::string MappedFile(const void* code) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return {};
  const auto address = reinterpret_cast<uintptr_t>(code);
  std::string found;
  char* line = nullptr;
  size_t capacity = 0;
  while (found.empty() && getline(&line, &capacity, maps) > 0) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    const std::string_view text = std::string_view(line).substr(0, std::strcspn(line, "\n"));
    const size_t name = text.find('/');
    if (begin <= address && address < end && name != text.npos) found = text.substr(name);
  }
  std::free(line);
  std::fclose(maps);
  return found;
}

std::string DirectoryOfLibrary() {
  const auto* own_code = reinterpret_cast<const void*>(&FindLocalCompiler);
  Dl_info own = {};
  std::string path;
  if (dladdr(own_code, &own) != 0 && own.dli_fname != nullptr) path = own.dli_fname;
  // dladdr returns the path with which the library was loaded. If that is relative, the working
  // directory may have changed since.
  if (!path.starts_with('/')) path = MappedFile(own_code);
  return path.substr(0, path.rfind('/') + 1);
}

Error Missing(const std::string& tried) {
  return {CCCL_CACHE_UNAVAILABLE,
          "cccl-cache-compile is missing (looked for " + tried + "): install it with the library"};
}

}  // namespace

// The messages on the socket are described in daemon/local/request_io.h.

Expected<std::unique_ptr<LocalCompiler>> LocalCompiler::Start(const std::string& path,
                                                              RequestMessage* request) {
  request->InlineAll();
  request->InlineHeaders();
  if (request->PackedSize() > UINT32_MAX) {
    return Error{CCCL_CACHE_TOO_LARGE, "the build's contents are more than 4 GiB"};
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{CCCL_CACHE_UNAVAILABLE,
                 std::string("can't make a socket: ") + std::strerror(errno)};
  }
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  auto process = ChildProcess::Start(path, theirs.get(), STDIN_FILENO, PassedOn().data());
  if (!process) {
    return Error{CCCL_CACHE_UNAVAILABLE, "running " + path + ": " + std::strerror(errno)};
  }
  return std::unique_ptr<LocalCompiler>(
      new LocalCompiler(std::move(ours), *std::move(process), *request));
}

LocalCompiler::LocalCompiler(FileDescriptor socket, ChildProcess process,
                             const RequestMessage& request)
    : socket_(std::move(socket)), process_(std::move(process)), assembler_(kMaxReply) {
  request.AppendTo(&body_);
  unsent_ = body_.size();
}

bool LocalCompiler::Advance() {
  Step step = Send();
  if (step == Step::kDone && error_name_.bytes == nullptr) step = Receive(&error_name_);
  if (step == Step::kDone && answer_.bytes == nullptr) step = Receive(&answer_);
  end_ = step;
  return step != Step::kWaits;
}

Expected<BuildReply> LocalCompiler::TakeReply() {
  switch (end_) {
    case Step::kDone:
      break;
    case Step::kMalformed:
      return Error{
          CCCL_CACHE_PROTOCOL,
          "cccl-cache-compile does not answer as agreed: is it of this library's version?"};
    default:
      return Error{CCCL_CACHE_WORKER_CRASHED,
                   "cccl-cache-compile came to its end before it answered: " + process_.End()};
  }
  if (error_name_.size == 0) return BuildReply::Decode(std::move(answer_));
  return Error{StatusOfName(error_name_.View()).value_or(CCCL_CACHE_UNAVAILABLE),
               std::string(answer_.View())};
}

LocalCompiler::Step LocalCompiler::Send() {
  while (unsent_ > 0) {
    std::array<iovec, 64> pieces;
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = body_.Describe(sent_, pieces);
    const ssize_t size = sendmsg(socket_.Get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN ? Step::kWaits : Step::kClosed;
    sent_ = body_.Advance(sent_, static_cast<size_t>(size));
    unsent_ -= static_cast<size_t>(size);
  }
  return Step::kDone;
}

LocalCompiler::Step LocalCompiler::Receive(Message* message) {
  while (true) {
    switch (assembler_.Append(&rest_)) {
      case MessageAssembler::State::kComplete:
        *message = assembler_.Take();
        return Step::kDone;
      case MessageAssembler::State::kInvalid:
        return Step::kMalformed;
      case MessageAssembler::State::kIncomplete:
        break;
    }
    if (const Step step = ReceiveSome(assembler_.Room()); step != Step::kDone) return step;
  }
}

LocalCompiler::Step LocalCompiler::ReceiveSome(std::span<char> room) {
  const std::span<char> place = room.size() > buffer_.size() ? room : std::span<char>(buffer_);
  while (true) {
    const ssize_t size = recv(socket_.Get(), place.data(), place.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN ? Step::kWaits : Step::kClosed;
    if (size == 0) return Step::kClosed;
    rest_ = {place.data(), static_cast<size_t>(size)};
    return Step::kDone;
  }
}

Expected<BuildReply> LocalCompiler::Finish(Deadline deadline) {
  while (!Advance()) {
    pollfd entry = {socket_.Get(), static_cast<int16_t>(wants_to_write() ? POLLOUT : POLLIN), 0};
    if (poll(&entry, 1, deadline.PollTimeout()) == 0 && deadline.Passed()) {
      return Error{CCCL_CACHE_DEADLINE, "the compiler did not end in time"};
    }
  }
  return TakeReply();
}

Expected<std::string> FindLocalCompiler(const std::string& named) {
  if (!named.empty()) {
    if (access(named.c_str(), X_OK) == 0) return named;
    return Missing(named);
  }
  const std::string directory = DirectoryOfLibrary();
  std::string tried;
  for (const char* place : kPlaces) {
    const std::string path = directory + place;
    if (!directory.empty() && access(path.c_str(), X_OK) == 0) return path;
    tried += (tried.empty() ? "" : ", ") + path;
  }
  return Missing(tried);
}

}  // namespace cccl_cache
