// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/memory_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "base/files/whole_file.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxFiles = 16;

FileDescriptor MakeFile() {
  return FileDescriptor(memfd_create("scratch", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

/// The page that this process shares with its parent. Null: there is no page.
std::atomic<std::atomic<bool>*> own_page{nullptr};

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

std::vector<FileDescriptor> ScratchFiles::MakeAhead(size_t count) {
  std::vector<FileDescriptor> made;
  for (size_t i = 0; i < count; ++i) made.push_back(MakeFile());
  return made;
}

FileDescriptor ScratchFiles::Make() {
  if (made_.empty()) {
    FileDescriptor file = MakeFile();
    if (!file.valid()) RefusedMemory::Note();
    return file;
  }
  FileDescriptor file = std::move(made_.back());
  made_.pop_back();
  return file;
}

bool ScratchFiles::Owns(std::string_view path) {
  constexpr std::string_view kBeginning = "/tmp/edg";
  if (!path.starts_with(kBeginning)) return false;
  path.remove_prefix(kBeginning.size());
  return !path.empty() && path[0] >= '0' && path[0] <= '9' && path.find('/') == path.npos;
}

int ScratchFiles::Open(const std::string& path, int flags) {
  auto file = files_.find(path);
  if (file == files_.end()) {
    if ((flags & O_CREAT) == 0) return -ENOENT;
    if (files_.size() >= kMaxFiles) return -ENOSPC;
    FileDescriptor memory = Make();
    if (!memory.valid()) return -errno;
    file = files_.emplace(path, std::move(memory)).first;
  } else if ((flags & O_EXCL) != 0) {
    return -EEXIST;
  }
  const int memory = file->second.get();
  if ((flags & O_TRUNC) != 0 && ftruncate(memory, 0) != 0) return -errno;
  if (lseek(memory, 0, (flags & O_APPEND) != 0 ? SEEK_END : SEEK_SET) < 0) return -errno;
  const int opened = fcntl(memory, F_DUPFD_CLOEXEC, 0);
  return opened < 0 ? -errno : opened;
}

int OpenInMemory(FileDescriptor memory, std::string_view contents) {
  rlimit limit;
  // Checked before the write: a write beyond the limit would end the process by SIGXFSZ.
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || contents.size() > limit.rlim_cur) return -EFBIG;
  if (!memory.valid()) return -EMFILE;
  if (!WriteAll(memory.get(), contents)) return -errno;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) return -errno;
  if (lseek(memory.get(), 0, SEEK_SET) != 0) return -errno;
  return memory.Release();
}

PchFile::PchFile(int fd, PchUse use) : fd_(fd), use_(use) {
  struct stat status;
  if (use != PchUse::kRead || real_files::Stat(fd, &status) != 0) return;
  void* address = real_files::Map(nullptr, static_cast<size_t>(status.st_size),
                                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (address == MAP_FAILED) return;  // MoveTo then fails, and FileView copies the contents
  mapped_ = static_cast<char*>(address);
  size_ = static_cast<size_t>(status.st_size);
}

int PchFile::Open(int flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (use_ != (writes ? PchUse::kWrite : PchUse::kRead) || opened_ >= 0) return -ENOENT;
  if (writes && ftruncate(fd_, 0) != 0) return -errno;
  if (lseek(fd_, 0, SEEK_SET) != 0) return -errno;
  const int opened = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (opened < 0) return -errno;
  if (!writes) opened_ = opened;
  just_opened_ = true;
  return opened;
}

int PchFile::Stat(struct stat* status) {
  if (!std::exchange(just_opened_, false)) return -ENOENT;
  return real_files::Stat(fd_, status);
}

bool PchFile::MoveTo(void* address, size_t length, int fd, off_t offset) const {
  const auto begin = static_cast<size_t>(offset);
  if (fd != opened_ || mapped_ == nullptr || offset < 0 || begin > size_ ||
      length > size_ - begin) {
    return false;
  }
  return mremap(mapped_ + begin, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, address) == address;
}

RefusedMemory RefusedMemory::OfNextFork() {
  RefusedMemory made;
  void* const page = real_files::Map(nullptr, PageBytes(), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) made.page_.reset(new (page) std::atomic<bool>(false));
  own_page = made.page_.get();
  return made;
}

void RefusedMemory::HideFromOthers() {
  own_page = nullptr;
  if (page_ != nullptr) madvise(page_.get(), PageBytes(), MADV_DONTFORK);
}

bool RefusedMemory::noted() const { return page_ != nullptr && *page_; }

void RefusedMemory::Note() {
  if (std::atomic<bool>* const page = own_page) *page = true;
}

void RefusedMemory::Unmap::operator()(std::atomic<bool>* page) const { munmap(page, PageBytes()); }

}  // namespace cccl_cache::daemon
