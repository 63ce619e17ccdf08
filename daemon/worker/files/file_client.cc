// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/file_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/packet.h"

namespace cccl_cache::daemon {
namespace {

[[noreturn]] void Lose() { _exit(kExitFilesLost); }

}  // namespace

const FileAnswer& FileClient::Ask(const std::string& name) {
  const auto known = answers_.find(name);
  if (known != answers_.end()) return known->second;
  FileAnswer answer = IsFileQuestion(name) ? AskDaemon(name) : FileAnswer{};
  return answers_.emplace(name, std::move(answer)).first->second;
}

bool FileClient::LookInToolchain(std::string_view name) {
  if (!IsFileQuestion(name)) return false;
  if (!announced_.emplace(name).second) return true;
  return AskDaemon(EncodeAnnouncement(name)).kind == FileKind::kDirectory;
}

FileAnswer FileClient::AskDaemon(std::string_view name) {
  ssize_t sent;
  do {
    sent = send(socket_, name.data(), name.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) Lose();
  if (packet_ == nullptr) packet_ = std::make_unique<char[]>(kMaxPacketBytes);
  const size_t received = Receive(packet_.get(), kMaxPacketBytes);
  const Result<FileAnswerStart> start = DecodeFileAnswer({packet_.get(), received});
  if (!start) Lose();
  FileAnswer answer{
      .kind = start->header.kind, .identity = start->header.identity, .contents = nullptr};
  if (answer.kind != FileKind::kFile) return answer;
  std::string contents(start->contents);
  size_t done = contents.size();
  contents.resize(start->header.size);
  while (done < contents.size()) {
    const size_t next = BytesInNextPacket(contents.size() - done);
    if (Receive(contents.data() + done, next) != next) Lose();
    done += next;
  }
  answer.contents = std::make_shared<const std::string>(std::move(contents));
  return answer;
}

size_t FileClient::Receive(char* buffer, size_t size) {
  // The result of this poll does not matter: recv waits for the packet.
  static_cast<void>(glance_.SeesReadable(socket_));
  ssize_t received;
  do {
    received = recv(socket_, buffer, size, MSG_TRUNC);
  } while (received < 0 && errno == EINTR);
  if (received <= 0 || static_cast<size_t>(received) > size) Lose();
  return static_cast<size_t>(received);
}

}  // namespace cccl_cache::daemon
