# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots: files of cached results that a program makes, inserts, records or carries in its package."""
