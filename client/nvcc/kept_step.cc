// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/kept_step.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/codec.h"
#include "base/files/file_descriptor.h"
#include "base/files/file_size_limit.h"
#include "base/files/whole_file.h"

namespace cccl_cache::nvcc {
namespace {

/// Returns whether the assembler and the linker write to this path without removing it first: if it
/// is an empty file, or leads to one or to none.
bool IsWrittenInPlace(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return false;
  return stat(path.c_str(), &status) != 0 || (S_ISREG(status.st_mode) && status.st_size == 0);
}

/// Writes a file as nvcc's programs do: a replaced file or link is removed first, but for those
/// that they write in place. A new file gets the mode that the umask allows.
bool Write(const Product& product, bool replaced) {
  if (!MayMakeFile(product.contents.size())) return false;
  const mode_t mode = product.executable ? 0777 : 0666;
  if (!replaced || IsWrittenInPlace(product.path)) {
    const FileDescriptor file(
        open(product.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    return file.valid() && WriteAll(file.get(), product.contents);
  }
  // A build system must not find a part of an object if this process is killed.
  const std::string draft = product.path + ".cccl-cache-" + std::to_string(getpid());
  const FileDescriptor file(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file.valid()) return false;
  if (WriteAll(file.get(), product.contents) && rename(draft.c_str(), product.path.c_str()) == 0) {
    return true;
  }
  unlink(draft.c_str());
  return false;
}

}  // namespace

std::string KeptStep::Encode() const {
  ByteWriter writer;
  writer.Put(made_s).Put(took_us).Text(std::string_view(only_in));
  closure.Encode(&writer);
  writer.Count(products.size());
  for (const Product& product : products) {
    writer.Text(std::string_view(product.path)).Put(product.executable).Text(product.contents);
  }
  return writer.Text(out).Text(err).Put(joined).Joined();
}

std::optional<KeptStep> KeptStep::Decode(std::string_view contents) {
  constexpr size_t kLeast = 2 * ByteReader::kEmptyText + 1;
  ByteReader reader(contents);
  KeptStep step;
  step.made_s = reader.Take<uint64_t>();
  step.took_us = reader.Take<uint64_t>();
  step.only_in = reader.Text();
  step.closure = Closure::Decode(&reader);
  step.products.resize(reader.Count(kLeast));
  for (Product& product : step.products) {
    product.path = reader.Text();
    product.executable = reader.Flag();
    product.contents = reader.Text();
  }
  step.out = reader.Text();
  step.err = reader.Text();
  step.joined = reader.Flag();
  if (!reader.complete()) return std::nullopt;
  return step;
}

bool KeptStep::Replay(const Step& step) const {
  // Lists of headers are the last products. They are written first: a build system takes an object
  // for complete.
  for (size_t i = products.size(); i > 0; --i) {
    const Product& product = products[i - 1];
    const auto output = std::ranges::find(step.outputs, product.path, &Output::path);
    if (output == step.outputs.end() || !Write(product, output->replaced)) return false;
  }
  return WriteAll(STDOUT_FILENO, out) && WriteAll(STDERR_FILENO, err);
}

}  // namespace cccl_cache::nvcc
