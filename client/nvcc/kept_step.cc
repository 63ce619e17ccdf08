// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/kept_step.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/codec.h"
#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"

namespace cccl_cache::nvcc {
namespace {

/// Writes a file as nvcc's programs do: a replaced file or link is removed first, and a new file
/// gets the mode that the umask allows.
bool Write(const Product& product, bool replaced) {
  const char* const path = product.path.c_str();
  if (replaced && unlink(path) != 0 && errno != ENOENT) return false;
  const FileDescriptor file(
      open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, product.executable ? 0777 : 0666));
  return file.valid() && WriteAll(file.get(), product.contents);
}

}  // namespace

std::string KeptStep::Encode() const {
  ByteWriter writer;
  writer.Put(made_s).Put(took_us);
  closure.Encode(&writer);
  writer.Count(products.size());
  for (const Product& product : products) {
    writer.Text(std::string_view(product.path)).Put(product.executable).Text(product.contents);
  }
  return writer.Text(out).Text(err).Joined();
}

std::optional<KeptStep> KeptStep::Decode(std::string_view contents) {
  constexpr size_t kLeast = 2 * ByteReader::kEmptyText + 1;
  ByteReader reader(contents);
  KeptStep step;
  step.made_s = reader.Take<uint64_t>();
  step.took_us = reader.Take<uint64_t>();
  step.closure = Closure::Decode(&reader);
  step.products.resize(reader.Count(kLeast));
  for (Product& product : step.products) {
    product.path = reader.Text();
    product.executable = reader.Flag();
    product.contents = reader.Text();
  }
  step.out = reader.Text();
  step.err = reader.Text();
  if (!reader.complete()) return std::nullopt;
  return step;
}

bool KeptStep::Replay(const Step& step) const {
  for (const Product& product : products) {
    const auto output = std::ranges::find(step.outputs, product.path, &Output::path);
    if (output == step.outputs.end() || !Write(product, output->replaced)) return false;
  }
  return WriteAll(STDOUT_FILENO, out) && WriteAll(STDERR_FILENO, err);
}

}  // namespace cccl_cache::nvcc
