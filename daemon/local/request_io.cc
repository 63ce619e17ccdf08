// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/request_io.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace cccl_cache::daemon {
namespace {

constexpr size_t kHeadBytes = 5;
/// Memory for a message is allocated in steps of this size, as the bytes arrive, because the length
/// that the sender announces is not trusted.
constexpr size_t kChunkBytes = 1u << 20;

bool ReceiveAll(int socket, char* place, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket, place, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    place += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool SendMessage(int socket, std::string_view bytes) {
  if (bytes.size() > UINT32_MAX) return false;
  const auto size = static_cast<uint32_t>(bytes.size());
  const std::array<char, kHeadBytes> head{0, static_cast<char>(size >> 24),
                                          static_cast<char>(size >> 16),
                                          static_cast<char>(size >> 8), static_cast<char>(size)};
  return SendAll(socket, {head.data(), head.size()}) && SendAll(socket, bytes);
}

Error NoLibrary() {
  return {ErrorCode::kInvalidRequest,
          "no request came: cccl-cache-compile is started by libcccl_cache, not by hand"};
}

}  // namespace

Result<std::string> ReceiveRequest(int socket) {
  std::array<unsigned char, kHeadBytes> head{};
  if (!ReceiveAll(socket, reinterpret_cast<char*>(head.data()), head.size()) || head[0] != 0) {
    return NoLibrary();
  }
  size_t left = size_t{head[1]} << 24 | size_t{head[2]} << 16 | size_t{head[3]} << 8 | head[4];
  std::string request;
  while (left > 0) {
    const size_t chunk = std::min(left, kChunkBytes);
    const size_t received = request.size();
    request.resize(received + chunk);
    if (!ReceiveAll(socket, request.data() + received, chunk)) return NoLibrary();
    left -= chunk;
  }
  return request;
}

bool SendReply(int socket, std::string_view reply) {
  return SendMessage(socket, {}) && SendMessage(socket, reply);
}

bool SendError(int socket, const Error& error) {
  return SendMessage(socket, Name(error.code)) && SendMessage(socket, error.message);
}

void EndWithCaller(int socket) {
  try {
    std::thread([socket] {
      pollfd entry{.fd = socket, .events = POLLRDHUP, .revents = 0};
      while (poll(&entry, 1, -1) < 0 && errno == EINTR) {
      }
      _exit(EXIT_FAILURE);
    }).detach();
  } catch (const std::system_error&) {
    // No thread could be started, so the process ends only after its build.
  }
}

}  // namespace cccl_cache::daemon
