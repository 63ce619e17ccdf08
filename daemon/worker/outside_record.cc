// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/outside_record.h"

#include <limits.h>

#include <algorithm>

#include "daemon/compile/job.h"

namespace cccl_cached {
namespace {

using Answer = OutsideFile::Answer;

int Weight(Answer answer) {
  switch (answer) {
    case Answer::kGiven:
      return 2;
    case Answer::kDenied:
      return 1;
    case Answer::kAbsent:
      return 0;
  }
  return 0;
}

}  // namespace

void OutsideRecord::Add(const std::string& path, Answer answer) {
  const std::string shown = path.substr(0, PATH_MAX);
  auto place = std::ranges::find(files_, shown, &OutsideFile::path);
  if (place == files_.end()) {
    if (files_.size() < kMaxOutsideFiles) {
      files_.push_back({shown, answer});
      return;
    }
    if (answer != Answer::kGiven) return;
    place = std::ranges::find_if(
        files_, [](const OutsideFile& file) { return file.answer != Answer::kGiven; });
    if (place == files_.end()) return;
    *place = {shown, answer};
  }
  if (Weight(answer) > Weight(place->answer)) place->answer = answer;
}

}  // namespace cccl_cached
