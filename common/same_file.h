/*
 * Is it the same file, whatever its name?
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

static inline bool is_same_file(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}
