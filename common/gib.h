/*
 * Sizes of volumes are whole GiB, and bytes where files and devices are meant.
 */
#pragma once

#include <stdint.h>

#define GIB ((int64_t)1 << 30)
