# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# What users of the package need first, for the GPUs that they have.

for arch in ("sm_80", "sm_90"), type in ("float", "double")
    scale_kernel(type; arch = arch)
end
