/*
 * A directory with a volume whose snapshots are overlays, and the work of a guest and its host on
 * the files.
 */
#pragma once

#include "drivers/file/chain_assist.h"
#include "drivers/file/snapshot_file.h"
#include "tests/unit/drivers/driver_test.h"

#include <string.h>

#define OVERLAY FILE_NAME ".s"

struct place {
    struct bench bench;
    struct directory_settings settings;
    struct directory directory;
    struct driver_volume volume;
    struct driver_snapshot snapshot;
};

static inline void close_place(struct place *place) {
    close(place->directory.fd);
    bench_close(&place->bench);
}
#define autoplace __attribute__((cleanup(close_place)))

/* With a raw volume that a guest is about to use. */
static inline void open_place(struct place *place) {
    struct bench *bench = &place->bench;

    *place = (struct place){ .volume = A_VOLUME,
                             .snapshot = { .id = "s", .name_id = "s", .size_gb = 1 } };
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    directory_settings_load(&bench->backend, &place->settings);
    place->settings.overlays = true;
    ck_assert_int_eq(mkdir(bench_path(bench, "d"), 0700), 0);
    ck_assert_int_eq(
        directory_open(bench_path(bench, "d"), &place->settings, &place->directory, &bench->err),
        0);
    ck_assert_int_eq(volume_file_create(&place->directory, bench->arena, &place->volume,
                                        &place->volume.format, &bench->err),
                     0);
    place->volume.attached = true;
}

/* The locks of a guest that writes to it; closed, they are gone. */
static inline int guest_opens(struct place *place, const char *name) {
    static const int bytes[] = { 100, 101, 103, 201, 203 };
    int fd = openat(place->directory.fd, name, O_RDWR | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    for (size_t i = 0; i < LENGTH(bytes); i++) {
        struct flock lock = {
            .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = bytes[i], .l_len = 1
        };

        ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    }
    return fd;
}

static inline void guest_writes(struct place *place, const char *name, const char *format) {
    ck_assert_int_eq(BENCH_RUN("qemu-io", "-f", format, "-c", "write -P 5 1M 64k",
                               directory_path(&place->directory, place->bench.arena, name)),
                     0);
}

static inline const char *active(struct place *place) {
    struct volume_image image;

    ck_assert_msg(volume_file_connect(&place->directory, place->bench.arena, &place->volume, &image,
                                      &place->bench.err) == 0,
                  "%s", place->bench.err.message);
    return image.name;
}

static inline bool has(struct place *place, const char *name) {
    return faccessat(place->directory.fd, name, F_OK, 0) == 0;
}

static inline struct driver_snapshot named(struct place *place, const char *id) {
    struct driver_snapshot snapshot = place->snapshot;

    snapshot.id = snapshot.name_id = id;
    snapshot.format = place->volume.format;
    return snapshot;
}

static inline void write_content(struct place *place, int content) {
    const char *name = active(place);
    const char *command = arena_format(place->bench.arena, "write -P %d 1M 64k", content);

    ck_assert_int_eq(BENCH_RUN("qemu-io", "-f", strcmp(name, FILE_NAME) == 0 ? "raw" : "qcow2",
                               "-c", command,
                               directory_path(&place->directory, place->bench.arena, name)),
                     0);
}

static inline bool file_reads_at(struct place *place, const char *name, const char *format,
                                 const char *at, int content) {
    const char *command = arena_format(place->bench.arena, "read -P %d %s 64k", content, at);

    return BENCH_RUN("qemu-io", "-U", "-r", "-f", format, "-c", command,
                     directory_path(&place->directory, place->bench.arena, name)) == 0;
}

static inline bool reads(struct place *place, const char *name, const char *format, int content) {
    return file_reads_at(place, name, format, "1M", content);
}

static inline bool snapshot_reads_at(struct place *place, const char *id, const char *at,
                                     int content) {
    struct driver_snapshot snapshot = named(place, id);
    autosource struct image_source source = NO_SOURCE;

    ck_assert_msg(image_source_open_snapshot(&place->directory, place->bench.arena, &snapshot, NULL,
                                             &source, &place->bench.err) == 0,
                  "%s", place->bench.err.message);
    return file_reads_at(place, source.name, source.layered ? "qcow2" : source.format, at, content);
}

static inline bool snapshot_reads(struct place *place, const char *id, int content) {
    return snapshot_reads_at(place, id, "1M", content);
}

static inline enum driver_outcome take_snapshot(struct place *place, const char *id) {
    struct driver_snapshot snapshot = named(place, id);

    return snapshot_file_create(&place->directory, place->bench.arena, &place->volume, &snapshot,
                                NULL, &place->bench.err);
}

static inline enum driver_outcome drop(struct place *place, const char *id) {
    struct driver_snapshot snapshot = named(place, id);

    return snapshot_file_delete(&place->directory, place->bench.arena, &place->volume, &snapshot,
                                NULL, &place->bench.err);
}

static inline int prepare_delete(struct place *place, const char *id, struct driver_assist *ret) {
    struct driver_snapshot snapshot = named(place, id);

    return chain_assist_prepare(&place->directory, place->bench.arena, &place->volume, &snapshot,
                                true, ret, &place->bench.err);
}

static inline int settle_delete(struct place *place, const char *id,
                                enum driver_reported reported) {
    struct driver_snapshot snapshot = named(place, id);

    return chain_assist_complete(&place->directory, place->bench.arena, &place->volume, &snapshot,
                                 true, reported, &place->bench.err);
}

/* 64 KiB of a file at a place where no content is written otherwise, also as a guest that has it
 * open. */
static inline void write_at(struct place *place, const char *name, const char *format,
                            const char *at, int content) {
    struct arena *arena = place->bench.arena;
    const char *image = arena_format(arena, "driver=%s,file.locking=off,file.filename=%s", format,
                                     directory_path(&place->directory, arena, name));

    ck_assert_int_eq(BENCH_RUN("qemu-io", "--image-opts", "-c",
                               arena_format(arena, "write -P %d %s 64k", content, at), image),
                     0);
}

static inline bool reads_at(struct place *place, const char *at, int content) {
    const char *name = active(place);

    return file_reads_at(place, name, strcmp(name, FILE_NAME) == 0 ? "raw" : "qcow2", at, content);
}

/* The header of a file alone: the end of a merge in QEMU's memory.  Below it lies `base`; NULL:
 * nothing. */
static inline void point(struct place *place, const char *file, const char *base) {
    ck_assert_int_eq(BENCH_RUN("qemu-img", "rebase", "-u", "-f", "qcow2", "-b", base ? base : "",
                               "-F", base && strcmp(base, FILE_NAME) != 0 ? "qcow2" : "raw",
                               directory_path(&place->directory, place->bench.arena, file)),
                     0);
}

/* The work of a guest's host: pulls the images below into the active file, down to `base` (NULL:
 * all). */
static inline void pull(struct place *place, const char *file, const char *base,
                        const char *format) {
    ck_assert_int_eq(BENCH_RUN("qemu-img", "rebase", "-f", "qcow2", "-b", base ? base : "", "-F",
                               base ? format : "raw",
                               directory_path(&place->directory, place->bench.arena, file)),
                     0);
}

/* Or commits a file into the one below, and puts the one above on that. */
static inline void commit(struct place *place, const char *file, const char *above,
                          const char *below) {
    ck_assert_int_eq(BENCH_RUN("qemu-img", "commit", "-d", "-f", "qcow2",
                               directory_path(&place->directory, place->bench.arena, file)),
                     0);
    ck_assert_int_eq(BENCH_RUN("qemu-img", "rebase", "-u", "-f", "qcow2", "-b", below, "-F", "raw",
                               directory_path(&place->directory, place->bench.arena, above)),
                     0);
}

static inline void note_id(void *arg, const char *name_id, int64_t bytes) {
    char *ids = arg;

    ck_assert_int_eq(bytes, GIB);
    strcat(strcat(ids, name_id), " ");
}

static inline const char *listed(struct place *place) {
    char *ids = arena_alloc(place->bench.arena, 256);

    ids[0] = '\0';
    ck_assert_int_eq(
        snapshot_file_list(&place->directory, place->bench.arena, note_id, ids, &place->bench.err),
        0);
    return ids;
}

/* Contents 1, 2 and 3, with snapshots s and t between them; a guest has it. */
static inline void open_chain(struct place *place) {
    open_place(place);
    place->volume.attached = false;
    write_content(place, 1);
    ck_assert_int_eq(take_snapshot(place, "s"), DRIVER_DONE);
    write_content(place, 2);
    ck_assert_int_eq(take_snapshot(place, "t"), DRIVER_DONE);
    write_content(place, 3);
    place->volume.attached = true;
}
