// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// A user's operation for the reduction of device_reduce.cu.
extern "C" __device__ void UserOperation(const void* left, const void* right, void* result) {
  *static_cast<int*>(result) = *static_cast<const int*>(left) + *static_cast<const int*>(right);
}
