/*
 * The cost of a snapshot of a file where blocks are shared, and of a clone where they are copied.
 *
 *     copies snapshot DIRECTORY GIB ROUNDS
 *     copies scattered DIRECTORY GIB ROUNDS
 *     copies clone DIRECTORY GIB ROUNDS
 *
 * The volume is raw.  A snapshot is taken as below a guest, of one that was written to from end to
 * end, or "scattered" of one that has 1 MiB of each 2 MiB, like the volume of a clone.  A clone is
 * made in turns with cp --sparse=auto and a flush of its copy, as ours does, too.  Prints the
 * median of the rounds: milliseconds of a snapshot; seconds of a clone, of cp, and the speed of the
 * one in parts of the other's.
 */
#include "common/cleanup.h"
#include "drivers/file/snapshot_file.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static struct directory directory;
static struct error err;

static void check(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "copies: %s: %s\n", what, err.message);
    exit(1);
}

static double now_s(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static void fill(const char *path, int64_t bytes, bool whole) {
    enum { PIECE = 1 << 20 };
    autofree char *data = malloc(PIECE);
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC);

    for (int64_t at = 0; at < bytes; at += whole ? PIECE : 2 * PIECE) {
        memset(data, (int)(at / PIECE % 255) + 1, PIECE);
        check(pwrite(fd, data, PIECE, at) == PIECE, "writing the volume");
    }
    check(fsync(fd) == 0, "flushing the volume");
}

static void flush(const char *path) {
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    check(fd >= 0 && fsync(fd) == 0 && fsync(directory.fd) == 0, "flushing cp's file");
}

static double time_snapshot(struct arena *arena, const struct driver_volume *volume, size_t round) {
    const char *id = arena_format(arena, "%zu", round);
    const struct driver_snapshot snapshot = { .id = id, .name_id = id, .size_gb = volume->size_gb };
    double begin = now_s();

    check(snapshot_file_create(&directory, arena, volume, &snapshot, NULL, &err) == DRIVER_DONE,
          "taking a snapshot (DEFERRED where blocks are not shared)");
    return (now_s() - begin) * 1e3;
}

static double time_clone(struct arena *arena, const struct driver_volume *volume) {
    const struct driver_volume copy = { .id = "c", .name_id = "c", .size_gb = volume->size_gb };
    autosource struct image_source source = NO_SOURCE;
    double begin = now_s(), spent;

    check(image_source_open_volume(&directory, arena, volume, NULL, &source, &err) == 0,
          "opening it");
    check(volume_file_clone(&directory, arena, &copy, &source, NULL, &err) == 0, "cloning it");
    spent = now_s() - begin;
    check(unlinkat(directory.fd, "volume-c", 0) == 0, "removing the clone");
    return spent;
}

static double time_cp(const char *from, const char *to) {
    const char *const words[] = { "cp", "--sparse=auto", "--reflink=never", from, to, NULL };
    double begin = now_s(), spent;
    int status = -1;
    pid_t child;

    check(posix_spawnp(&child, "cp", NULL, NULL, (char *const *)(void *)words, environ) == 0, "cp");
    check(waitpid(child, &status, 0) == child && status == 0, "cp");
    flush(to);
    spent = now_s() - begin;
    check(unlink(to) == 0, "removing cp's file");
    return spent;
}

static void print_snapshots(struct arena *arena, struct driver_volume *volume, size_t rounds) {
    autofree double *ms = calloc(rounds, sizeof(*ms));

    volume->attached = true;
    for (size_t i = 0; i < rounds; i++)
        ms[i] = time_snapshot(arena, volume, i);
    printf("%.2f\n", median(ms, rounds));
}

static void print_clones(struct arena *arena, const struct driver_volume *volume, size_t rounds) {
    const char *from = directory_path(&directory, arena, "volume-v");
    const char *to = directory_path(&directory, arena, "by-cp");
    autofree double *ours = calloc(rounds, sizeof(*ours));
    autofree double *cp = calloc(rounds, sizeof(*cp));
    autofree double *speed = calloc(rounds, sizeof(*speed));

    for (size_t i = 0; i < rounds; i++) {
        ours[i] = time_clone(arena, volume);
        cp[i] = time_cp(from, to);
        speed[i] = cp[i] / ours[i];
    }
    printf("%.2f %.2f %.2f\n", median(ours, rounds), median(cp, rounds), median(speed, rounds));
}

int main(int word_count, char *words[]) {
    static const struct directory_settings settings = { .sparse = true,
                                                        .mode = 0600,
                                                        .over_subscription = 20 };
    autoarena struct arena *arena = arena_new();
    struct driver_volume volume = { .id = "v", .name_id = "v" };
    size_t rounds;

    if (word_count != 5 || atoi(words[3]) < 1 || atoi(words[4]) < 1) {
        fputs("usage: copies snapshot|scattered|clone DIRECTORY GIB ROUNDS\n", stderr);
        return 2;
    }
    volume.size_gb = atoi(words[3]);
    rounds = (size_t)atoi(words[4]);
    check(directory_open(words[2], &settings, &directory, &err) == 0, "opening the directory");
    check(volume_file_create(&directory, arena, &volume, &volume.format, &err) == 0, "creating");
    fill(directory_path(&directory, arena, "volume-v"), volume.size_gb * GIB,
         strcmp(words[1], "snapshot") == 0);
    if (strcmp(words[1], "clone") == 0)
        print_clones(arena, &volume, rounds);
    else
        print_snapshots(arena, &volume, rounds);
    return 0;
}
