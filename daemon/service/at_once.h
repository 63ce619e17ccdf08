// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <system_error>
#include <thread>
#include <vector>

namespace cccl_cache::daemon {

/// Does this with each item, on as many threads; returns when the last one is done. Where no thread
/// is to be had the caller's own does it, so what is to be done must end by a deadline of its own.
template <typename Items, typename Work>
void AtOnce(Items& items, const Work& work) {
  std::vector<std::thread> threads;
  threads.reserve(items.size());
  for (auto& item : items) {
    try {
      threads.emplace_back([&work, &item] { work(item); });
    } catch (const std::system_error&) {
      work(item);
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cccl_cache::daemon
