# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Compiles the kernels that users of the package need first, for their GPUs.

for arch in ("sm_80", "sm_90"), type in ("float", "double")
    scale_kernel(type; arch = arch)
end
