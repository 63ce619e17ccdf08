// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/kept_step.h"

#include <unistd.h>

#include <algorithm>

#include "base/codec.h"
#include "base/files/whole_file.h"
#include "client/standin/output_file.h"

namespace cccl_cache::nvcc {
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
    if (output == step.outputs.end()) return false;
    if (!WriteOutput(product.path, product.contents, output->replaced, product.executable)) {
      return false;
    }
  }
  return WriteAll(STDOUT_FILENO, out) && WriteAll(STDERR_FILENO, err);
}

}  // namespace cccl_cache::nvcc
