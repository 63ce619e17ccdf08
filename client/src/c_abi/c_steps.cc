// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <string>

#include "client/src/c_abi/handles.h"
#include "client/src/steps/steps.h"
#include "proto/lease_limit.h"

using cccl_cache::CancellationDisabled;
using cccl_cache::FillStruct;
using cccl_cache::NamespaceSteps;
using cccl_cache::OpenStep;
using cccl_cache::ReadStruct;
using cccl_cache::ToBytes;
using cccl_cache::ToView;

struct cccl_cache_steps {
  std::shared_ptr<NamespaceSteps> steps;
};

struct cccl_cache_step {
  std::unique_ptr<OpenStep> step;
};

cccl_cache_steps* cccl_cache_steps_open(const cccl_cache_steps_options* options) {
  const CancellationDisabled guard;
  const cccl_cache_steps_options given = ReadStruct(options);
  const auto time = [](uint32_t ms) -> std::chrono::milliseconds {
    return ms == 0 ? cccl_cache::kLeaseLimit : std::chrono::milliseconds(ms);
  };
  return new cccl_cache_steps{std::make_shared<NamespaceSteps>(NamespaceSteps::Options{
      .name_space = std::string(ToView(given.name_space)),
      .group = std::string(ToView(given.group)),
      .socket = std::string(ToView(given.socket)),
      .wait = time(given.wait_ms),
      .hold = time(given.hold_ms),
  })};
}

void cccl_cache_steps_close(cccl_cache_steps* steps) {
  const CancellationDisabled guard;
  delete steps;
}

cccl_cache_step* cccl_cache_steps_get(cccl_cache_steps* steps, cccl_cache_bytes description,
                                      int32_t replace) {
  const CancellationDisabled guard;
  return new cccl_cache_step{steps->steps->Get(ToView(description), replace != 0)};
}

cccl_cache_step* cccl_cache_steps_wait(cccl_cache_steps* steps, cccl_cache_bytes description) {
  const CancellationDisabled guard;
  return new cccl_cache_step{steps->steps->Wait(ToView(description))};
}

int32_t cccl_cache_step_has_value(const cccl_cache_step* step) {
  return step->step->value() != nullptr ? 1 : 0;
}

cccl_cache_bytes cccl_cache_step_value(const cccl_cache_step* step) {
  const auto* value = step->step->value();
  return value == nullptr ? cccl_cache_bytes{} : ToBytes(value->value());
}

int32_t cccl_cache_step_held(const cccl_cache_step* step) { return step->step->held() ? 1 : 0; }

void cccl_cache_step_put(cccl_cache_step* step, cccl_cache_bytes value) {
  const CancellationDisabled guard;
  step->step->Put(ToView(value));
}

void cccl_cache_step_fail(cccl_cache_step* step) {
  const CancellationDisabled guard;
  step->step->GiveUp(true);
}

void cccl_cache_step_free(cccl_cache_step* step) {
  const CancellationDisabled guard;
  delete step;
}

void cccl_cache_steps_describe(const cccl_cache_steps* steps, cccl_cache_steps_counts* counts) {
  const NamespaceSteps::Counts& known = steps->steps->counts();
  FillStruct(cccl_cache_steps_counts{.struct_size = 0,
                                     .hits = known.hits,
                                     .made = known.made,
                                     .published = known.published,
                                     .released = known.released,
                                     .failed = known.failed,
                                     .expired = known.expired,
                                     .hit_bytes = known.hit_bytes,
                                     .made_bytes = known.made_bytes,
                                     .waited_us = known.waited_us,
                                     .saved_us = known.saved_us,
                                     .errors = known.errors,
                                     .last_error = known.last_error},
             counts);
}
