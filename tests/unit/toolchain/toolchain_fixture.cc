// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/toolchain/toolchain_fixture.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <future>

namespace cccl_cache::daemon {

namespace fs = std::filesystem;

void TempTree::Write(const std::string& name, std::string_view contents) const {
  const std::string path = Path(name);
  Directory(fs::path(name).parent_path());
  const bool is_new = !fs::exists(path);
  std::ofstream(path, std::ios::binary) << contents;
  if (is_new) Mode(name, 0644);
}

void TempTree::Directory(const std::string& name) const {
  std::string path;
  for (const fs::path& part : fs::path(name)) {
    path += (path.empty() ? "" : "/") + part.string();
    if (fs::create_directory(Path(path))) Mode(path, 0755);
  }
}

void TempTree::Link(const std::string& name, const std::string& target) const {
  Directory(fs::path(name).parent_path());
  fs::remove(Path(name));
  fs::create_symlink(target, Path(name));
}

void TempTree::Remove(const std::string& name) const { fs::remove_all(Path(name)); }

void TempTree::Rename(const std::string& from, const std::string& to) const {
  fs::rename(Path(from), Path(to));
}

void TempTree::Mode(const std::string& name, unsigned mode) const {
  REQUIRE(chmod(Path(name).c_str(), mode) == 0);
}

void TempTree::Toolkit(const std::string& name, int major, int minor) const {
  const auto write = [&](const std::string& file, const std::string& contents) {
    Write(name + "/" + file, contents);
  };
  write(fmt::format("lib/libnvrtc.so.{}", major), "compiler");
  write(fmt::format("lib/libnvrtc.alt.so.{}", major), "another variant");
  write("lib/libnvrtc_static.a", "static");
  write(fmt::format("lib/libnvrtc-builtins.so.{}.{}", major, minor), "builtins");
  write(fmt::format("lib/libnvJitLink.so.{}", major), "linker");
  write("nvvm/lib64/libnvvm.so.4", "nvvm");
  write("nvvm/libdevice/libdevice.10.bc", "libdevice");
  write("include/cuda_runtime.h", "runtime");
  write("include/cuda_runtime_api.h",
        fmt::format("#define CUDART_VERSION  {}\n", major * 1000 + minor * 10));
  write("include/cccl/cub/cub.cuh", "cub");
  Write(name + "/version", fmt::format("{}.{}", major, minor));
}

void TempTree::Wheels12(const std::string& name, int minor) const {
  const std::string nvidia = name + "/nvidia/";
  Write(nvidia + "cuda_nvrtc/lib/libnvrtc.so.12", "compiler");
  Write(nvidia + fmt::format("cuda_nvrtc/lib/libnvrtc-builtins.so.12.{}", minor), "builtins");
  Write(nvidia + "nvjitlink/lib/libnvJitLink.so.12", "linker");
  Write(nvidia + "cuda_nvcc/nvvm/lib64/libnvvm.so", "nvvm");
  Write(nvidia + "cuda_nvcc/nvvm/libdevice/libdevice.10.bc", "libdevice");
  Write(nvidia + "cuda_nvcc/include/crt/host_defines.h", "crt");
  Write(nvidia + "cuda_runtime/include/cuda_runtime.h", "runtime");
  Write(nvidia + "cuda_cccl/include/cub/cub.cuh", "cub");
}

std::optional<std::string> FakeMetaStore::GetMeta(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto record = records_.find(name);
  if (record == records_.end()) return std::nullopt;
  return record->second;
}

void FakeMetaStore::PutMeta(std::string_view name, std::string_view value) {
  const std::lock_guard lock(mutex_);
  ++writes_;
  records_[std::string(name)] = value;
}

size_t FakeMetaStore::writes() {
  const std::lock_guard lock(mutex_);
  return writes_;
}

void FakeMetaStore::ForgeFileDigests() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, value] : records_) {
    if (name.starts_with("toolchain/files/")) value.back() = static_cast<char>(value.back() ^ 1);
  }
}

Result<CompileOutput> FakeCompiler::Compile(const CompileJob& job, const CompileLimits&,
                                            std::stop_token) {
  ++compiles;
  if (error) return *error;
  if (late_compiles > 0) {
    --late_compiles;
    return Error{ErrorCode::kTimedOut, "the compiler took longer than 30 s"};
  }
  if (broken_root && job.toolchain->root == *broken_root) {
    return Error{ErrorCode::kWorkerCrashed, "the worker died of signal 11"};
  }
  CompileOutput output;
  for (const std::string& option : job.options) {
    if (rejected_options.contains(option)) output.native_code = 5;
  }
  output.succeeded = output.native_code == 0;
  output.architectures = {75, 90};
  return output;
}

RegistryOptions OnlyWhenAsked(SearchPlaces places) {
  return {.places = std::move(places),
          .own_uid = geteuid(),
          .rescan_interval = std::chrono::hours(1),
          .unknown_interval = std::chrono::hours(1)};
}

TestedRegistry::TestedRegistry(SearchPlaces places, FakeMetaStore& meta, FakeCompiler& compiler)
    : TestedRegistry(OnlyWhenAsked(std::move(places)), meta, compiler) {}

TestedRegistry::TestedRegistry(RegistryOptions options, FakeMetaStore& meta, FakeCompiler& compiler)
    : registry_(std::move(options), meta, compiler, [this](const ToolchainReport& report) {
        const std::lock_guard lock(mutex_);
        reports_.push_back(report);
      }) {}

ToolchainPtr TestedRegistry::Only() {
  const std::vector<ToolchainPtr> present = registry_.Present();
  for (const auto& [root, reason] : registry_.Rejected()) UNSCOPED_INFO(root + ": " + reason);
  REQUIRE(present.size() == 1);
  return present.front();
}

Result<ToolchainPtr> TestedRegistry::Select(const cccl_cache::ToolchainSelector& selector,
                                            cccl_cache::BuildKind kind) {
  while (true) {
    const std::optional<Result<ToolchainPtr>> chosen = registry_.Select(selector, 0, kind);
    if (chosen) return *chosen;
    Rescan();
  }
}

Result<ToolchainPtr> TestedRegistry::Default() { return Select({}, cccl_cache::BuildKind::kNvrtc); }

void TestedRegistry::Rescan() {
  std::promise<void> looked;
  registry_.Rescan([&] { looked.set_value(); });
  REQUIRE(looked.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready);
}

std::vector<ToolchainReport> TestedRegistry::Reports() {
  const std::lock_guard lock(mutex_);
  return reports_;
}

SearchPlaces Roots(std::vector<std::string> roots) {
  SearchPlaces places;
  places.roots = std::move(roots);
  places.targets = {"x86_64-linux"};
  return places;
}

}  // namespace cccl_cache::daemon
