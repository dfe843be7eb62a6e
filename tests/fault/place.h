/*
 * A directory of each kind of image, with a volume and a snapshot that are not made yet, where
 * calls fail.
 */
#pragma once

#include "drivers/file/directory.h"
#include "tests/fault/calls.h"

struct place {
    struct bench bench;
    struct directory_settings settings;
    struct directory directory;
    struct driver_volume volume;
    struct driver_snapshot snapshot;
};

static const struct {
    bool sparse, qcow2;
    const char *format;
} kinds[] = { { true, false, "raw" }, { false, false, "raw" }, { true, true, "qcow2" } };

static inline void close_place(struct place *place) {
    fail_none();
    close(place->directory.fd);
    bench_close(&place->bench);
}
#define autoplace __attribute__((cleanup(close_place)))

static inline void open_place(struct place *place, size_t kind) {
    struct bench *bench = &place->bench;

    *place = (struct place){ .volume = A_VOLUME,
                             .snapshot = { .id = "s", .name_id = "s", .size_gb = 1 } };
    place->volume.format = place->snapshot.format = kinds[kind].format;
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    directory_settings_load(&bench->backend, &place->settings);
    place->settings.sparse = kinds[kind].sparse;
    place->settings.qcow2 = kinds[kind].qcow2;
    place->settings.mode = 0660;
    ck_assert_int_eq(directory_open(bench->path, &place->settings, &place->directory, &bench->err),
                     0);
}

static inline bool has(struct place *place, const char *name) {
    return faccessat(place->directory.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
