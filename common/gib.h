/*
 * Volume sizes are whole GiB; sizes of files and devices are bytes.
 */
#pragma once

#include <stdint.h>

#define GIB ((int64_t)1 << 30)
