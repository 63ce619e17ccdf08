// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/pinned_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cccl_cache::daemon {
namespace {

struct Reader {
  std::shared_ptr<const std::string> contents;
  size_t position = 0;  ///< may lie behind the end
};

ssize_t Read(void* cookie, char* buffer, size_t size) {
  Reader& reader = *static_cast<Reader*>(cookie);
  if (reader.contents == nullptr) {
    errno = EISDIR;
    return -1;
  }
  const size_t from = std::min(reader.position, reader.contents->size());
  const size_t count = std::min(size, reader.contents->size() - from);
  memcpy(buffer, reader.contents->data() + from, count);
  reader.position = from + count;
  return static_cast<ssize_t>(count);
}

int Seek(void* cookie, off64_t* offset, int whence) {
  Reader& reader = *static_cast<Reader*>(cookie);
  const size_t size = reader.contents == nullptr ? 0 : reader.contents->size();
  off64_t from = 0;
  if (whence == SEEK_CUR) from = static_cast<off64_t>(reader.position);
  if (whence == SEEK_END) from = static_cast<off64_t>(size);
  if (*offset < -from || *offset > INT64_MAX - from) {
    errno = EINVAL;
    return -1;
  }
  *offset += from;
  reader.position = static_cast<size_t>(*offset);
  return 0;
}

int Close(void* cookie) {
  delete static_cast<Reader*>(cookie);
  return 0;
}

}  // namespace

FILE* OpenPinnedStream(std::shared_ptr<const std::string> contents) {
  auto reader = std::make_unique<Reader>(Reader{std::move(contents)});
  FILE* stream = fopencookie(reader.get(), "r",
                             {.read = Read, .write = nullptr, .seek = Seek, .close = Close});
  if (stream == nullptr) return nullptr;
  static_cast<void>(reader.release());  // Close deletes it
  return stream;
}

}  // namespace cccl_cache::daemon
