# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The machines that the plug-ins share: each turns a package of somebody else's into a user of the daemon."""
