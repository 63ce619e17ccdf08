// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "daemon/compile/worker_compiler.h"

namespace cccl_cache::daemon {
namespace {

using Catch::Matchers::Contains;

constexpr size_t kMiB = 1 << 20;

PchDraft Make() {
  auto draft = PchDraft::Make();
  REQUIRE(draft.ok());
  return *std::move(draft);
}

/// Of a zygote that is gone.
std::shared_ptr<const Precompiled> Sealed(PchDraft draft) {
  auto sealed = std::move(draft).Seal(nullptr);
  INFO((sealed.ok() ? "" : sealed.error().message));
  REQUIRE(sealed.ok());
  return *std::move(sealed);
}

void Write(const PchDraft& draft, const std::string& text) {
  REQUIRE(write(draft.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

TEST_CASE("what a worker wrote is read by each worker from its beginning, and changed by none") {
  PchDraft draft = Make();
  Write(draft, "parsed");
  const auto sealed = Sealed(std::move(draft));
  const auto& header = dynamic_cast<const PrecompiledHeader&>(*sealed);
  for (int worker = 0; worker < 2; ++worker) {
    const FileDescriptor fd = header.OpenForWorker();
    REQUIRE(fd.valid());
    char text[16] = {};
    CHECK(read(fd.get(), text, sizeof(text)) == 6);
    CHECK(std::string(text) == "parsed");
    CHECK(write(fd.get(), "x", 1) == -1);
    CHECK((fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("whoever still has a sealed header open for writing can't change it") {
  PchDraft draft = Make();
  Write(draft, "parsed");
  const FileDescriptor kept(fcntl(draft.fd(), F_DUPFD_CLOEXEC, 0));
  const auto sealed = Sealed(std::move(draft));
  CHECK(pwrite(kept.get(), "x", 1, 0) == -1);
  CHECK(ftruncate(kept.get(), 100) == -1);
  CHECK(fcntl(kept.get(), F_GET_SEALS) ==
        (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL));
}

TEST_CASE("a header that something may still write to is none") {
  PchDraft draft = Make();
  Write(draft, "parsed");
  void* const mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, draft.fd(), 0);
  REQUIRE(mapped != MAP_FAILED);
  const auto sealed = std::move(draft).Seal(nullptr);
  REQUIRE_FALSE(sealed.ok());
  CHECK(sealed.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(sealed.error().message, Contains("sealing a precompiled header"));
  munmap(mapped, 4096);
}

TEST_CASE("a compiler that wrote nothing has made no header") {
  const auto sealed = Make().Seal(nullptr);
  REQUIRE_FALSE(sealed.ok());
  CHECK(sealed.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(sealed.error().message, Contains("wrote no precompiled header"));
}

TEST_CASE("a header counts as what it is long, or as what it takes if that is more") {
  PchDraft sparse = Make();
  REQUIRE(ftruncate(sparse.fd(), 3 * kMiB) == 0);
  CHECK(Sealed(std::move(sparse))->bytes() >= 3 * kMiB);
  PchDraft behind_its_end = Make();
  Write(behind_its_end, "x");
  REQUIRE(fallocate(behind_its_end.fd(), FALLOC_FL_KEEP_SIZE, 0, 3 * kMiB) == 0);
  CHECK(Sealed(std::move(behind_its_end))->bytes() >= 3 * kMiB);
}

TEST_CASE("a header without the zygote whose fork wrote it is of no use") {
  PchDraft draft = Make();
  Write(draft, "parsed");
  const auto sealed = Sealed(std::move(draft));
  CHECK_FALSE(sealed->usable());
  CHECK(dynamic_cast<const PrecompiledHeader&>(*sealed).zygote() == nullptr);
}

}  // namespace
}  // namespace cccl_cache::daemon
