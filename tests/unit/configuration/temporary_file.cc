// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/configuration/temporary_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

TemporaryFile::TemporaryFile(std::string_view text)
    : directory_((std::filesystem::temp_directory_path() / "cccl-cached-test-XXXXXX").string()) {
  if (mkdtemp(directory_.data()) == nullptr) std::abort();
  path_ = directory_ + "/config.toml";
  std::ofstream(path_) << text;
}

TemporaryFile::~TemporaryFile() { std::filesystem::remove_all(directory_); }
