/*
 * Every driver that the contract is tested with, opened alone or behind the fault filter.
 */
#pragma once

#include "drivers/fault.h"
#include "tests/lib/memory_guests.h"
#include "tests/unit/drivers/driver_test.h"

#include <glob.h>

#define SHARE "server:/export"

/* Storage that keeps no files: the effects on it of a guest, and of others. */
struct contents {
    bool (*write)(void *handle, const char *name_id, int64_t content);
    int64_t (*read)(void *handle, const char *name_id);
    bool (*waste)(void *handle, const char *name_id, int64_t bytes);
    bool (*put)(void *handle, const char *name, int64_t bytes, int64_t content);
    bool (*assist)(void *handle, const char *name_id); /* of the guest's host */
};

static const struct contents memory_contents = { memory_write, memory_read, memory_waste,
                                                 memory_put, memory_assist };

struct subject {
    const char *name;
    const struct driver *driver;
    const char *file_system; /* of the mounted share; NULL: none is mounted */
    const char *format;
    const char *options[4];
    const struct contents *contents; /* NULL: volumes are files, and names parts of paths */
    const char *pool;                /* NULL: the backend's only one */
};

#define NFS_OPTIONS "nas_host=server", "nas_share_path=/export"

/* clang-format off */
static const struct subject subjects[] = {
    { .name = "memory", .driver = &memory_driver, .format = "raw", .contents = &memory_contents },
    { .name = "file, sparse", .driver = &file_driver, .format = "raw" },
    { .name = "file, thick", .driver = &file_driver, .format = "raw", .options = { "file_sparsed_volumes=false" } },
    { .name = "file, qcow2", .driver = &file_driver, .format = "qcow2", .options = { "file_qcow2_volumes=true" } },
    { .name = "file, overlays", .driver = &file_driver, .format = "raw", .options = { "file_snapshot_overlays=true" } },
    { .name = "file, qcow2, overlays", .driver = &file_driver, .format = "qcow2",
      .options = { "file_qcow2_volumes=true", "file_snapshot_overlays=true" } },
    { .name = "nfs, overlays", .driver = &nfs_driver, .file_system = "nfs4", .format = "raw",
      .options = { NFS_OPTIONS, "nfs_snapshot_support=true" } },
    { .name = "quobyte, overlays", .driver = &quobyte_driver, .file_system = "fuse.quobyte", .format = "qcow2",
      .options = { "quobyte_volume_url=quobyte://server:/export", "quobyte_snapshot_overlays=true" } },
    { .name = "nfs", .driver = &nfs_driver, .file_system = "nfs4", .format = "raw", .options = { NFS_OPTIONS } },
    { .name = "netapp_nfs", .driver = &netapp_nfs_driver, .file_system = "nfs4", .format = "raw",
      .options = { NFS_OPTIONS }, .pool = SHARE },
    { .name = "powerstore_nfs", .driver = &powerstore_nfs_driver, .file_system = "nfs4", .format = "raw",
      .options = { NFS_OPTIONS } },
    { .name = "quobyte", .driver = &quobyte_driver, .file_system = "fuse.quobyte", .format = "qcow2",
      .options = { "quobyte_volume_url=quobyte://server:/export" } },
};
/* clang-format on */

/* The filter's effect on the next call of one kind; everything else passes. */
struct fault_order {
    const char *call;
    enum fault_action action;
};

static inline struct fault_decision obey(void *arg, const char *call, const char *volume_id) {
    struct fault_order *order = arg;
    struct fault_decision decision = { .action = FAULT_PASS };

    (void)volume_id;
    if (order->call && strcmp(order->call, call) == 0) {
        order->call = NULL;
        decision.action = order->action;
    }
    return decision;
}

struct place {
    struct bench bench;
    const struct subject *subject;
    void *inner; /* the driver's own handle, also behind the filter */
    struct driver filter;
    struct fault_order order;
};

static inline struct driver_volume a_volume(const struct place *place) {
    struct driver_volume volume = A_VOLUME;

    volume.pool = place->subject->pool ? place->subject->pool : BACKEND;
    return volume;
}

static inline void open_place(struct place *place, const struct subject *subject, bool filtered) {
    struct bench *bench = &place->bench;

    *place = (struct place){ .subject = subject };
    bench_new(bench);
    if (subject->file_system) {
        bench_add_mounts(bench, subject->file_system);
        bench_configure_shares(bench, subject->driver, subject->options);
    } else {
        bench_configure(bench, subject->driver, subject->options);
    }
    ck_assert_msg(bench_try_open(bench) == 0, "%s: %s", subject->name, bench->err.message);
    place->inner = bench->handle;
    if (filtered) {
        bench->handle = fault_new(subject->driver, bench->handle, obey, &place->order);
        fault_describe(subject->driver, &place->filter);
        bench->driver = &place->filter;
    }
}

/* Runs one promise in front of every driver, alone and filtered. */
static inline void each_subject(void (*promise)(struct place *place)) {
    for (size_t i = WALK_FIRST; i < LENGTH(subjects) * 2; i += WALK_STEP) {
        struct place place;

        open_place(&place, &subjects[i / 2], i % 2);
        promise(&place);
        bench_close(&place.bench);
    }
}

static inline void each_subject_filtered(void (*promise)(struct place *place)) {
    for (size_t i = WALK_FIRST; i < LENGTH(subjects); i += WALK_STEP) {
        struct place place;

        open_place(&place, &subjects[i], true);
        promise(&place);
        bench_close(&place.bench);
    }
}

static inline void assert_created(struct place *place, struct driver_volume *volume) {
    ck_assert_msg(bench_create(&place->bench, volume) == 0, "%s: %s", place->subject->name,
                  place->bench.err.message);
}

static inline int connect_volume(struct place *place, const struct driver_volume *volume,
                                 json_t **ret) {
    struct bench *bench = &place->bench;

    return bench->driver->connect(bench->handle, bench->arena, volume, NULL, ret, &bench->err);
}

/* Where a volume's file is: the stand-ins mount nothing, so it lies below the bench itself. */
static inline const char *image_path(const struct place *place, const char *name_id) {
    static const char *const places[] = { "volumes", "mnt/*" };
    struct arena *arena = place->bench.arena;

    for (size_t i = 0; i < LENGTH(places); i++) {
        const char *pattern = arena_format(arena, "%s/volume-%s", places[i], name_id);
        const char *path = NULL;
        glob_t found = { 0 };

        if (glob(bench_path(&place->bench, pattern), 0, NULL, &found) == 0)
            path = arena_text(arena, found.gl_pathv[0]);
        globfree(&found);
        if (path)
            return path;
    }
    ck_abort_msg("%s: the file is not there", place->subject->name);
}

static inline int open_image(const struct place *place) {
    int fd = open(image_path(place, A_VOLUME.name_id), O_RDWR | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    return fd;
}
