/*
 * A file for an image, in a directory of the test's own.
 */
#pragma once

#include "common/arena.h"
#include "tests/lib/check_main.h"

#include <stdlib.h>
#include <unistd.h>

static char directory[] = "/tmp/scoria-test-image-XXXXXX";
static struct arena *arena;
static const char *path;

static void begin(void) {
    arena = arena_new();
    ck_assert_ptr_nonnull(mkdtemp(directory));
    path = arena_format(arena, "%s/image", directory);
}

static void end(void) {
    unlink(path);
    rmdir(directory);
    arena_free(arena);
}
