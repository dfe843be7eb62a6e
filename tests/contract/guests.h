/*
 * Real QEMU guests below a libvirtd of the test's own.  The daemon runs in namespaces of its own
 * (mounts, processes), so it sees no other daemon's domains and nothing of it is left behind when
 * the test ends, however it ends.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"

#include <check.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define OTHER    "33333333-3333-4333-8333-333333333333"
#define INSTANCE "22222222-2222-4222-8222-222222222222"
#define UNKNOWN  "44444444-4444-4444-8444-444444444444"
#define MIB      (INT64_C(1) << 20)

extern char guests_folder[64]; /* the daemon's socket and log, images */
extern char guests_uri[160];

/* 's' starts it, 'k' kills it, 'f' freezes it, 't' thaws it. */
bool daemon_command(char command);
bool daemon_await(void);

struct scene {
    struct hypervisor *hypervisor;
    struct arena *arena;
    virConnectPtr control; /* the test's own */
    struct error err;
    char image[128], copy[128];
};

/* With `image`, of 64 MiB. */
struct scene *scene_new(const char *format);
void scene_end(struct scene *scene);

/* The capacity as the hypervisor under test reports it. */
int scene_find_volume(struct scene *scene, const char *instance, const char *volume,
                      struct disk *ret);
int scene_find(struct scene *scene, const char *instance, struct disk *ret);
struct disk scene_found(struct scene *scene);
int scene_grow(struct scene *scene, const struct disk *disk, int64_t bytes);
int scene_has(struct scene *scene, const char *instance);

/* QEMU's description of its block nodes. */
char *scene_nodes(struct scene *scene);

/* Must succeed. */
void shell(const char *form, ...) __attribute__((format(printf, 1, 2)));

char *disk_xml(struct scene *scene, const char *format, const char *path, const char *target,
               const char *serial, const char *more);
char *guest_xml(struct scene *scene, const char *uuid, const char *disks);

/* Running, without a guest system; plain: with `image`. */
virDomainPtr guest_start(struct scene *scene, const char *disks);
void guest_start_plain(struct scene *scene, const char *format);
void guest_define_plain(struct scene *scene);
void guest_remove(struct scene *scene, const char *uuid);

struct guests_test {
    const TTest *test;
    int times; /* it sees which in _i */
};

/* Runs them and exits: 77 (skipped) without root or without libvirtd. */
int guests_main(const char *name, const char *more_settings, const struct guests_test *tests,
                size_t count);

#define GUESTS_MAIN(name, more_settings, ...)                          \
    int main(void) {                                                   \
        const struct guests_test tests[] = { __VA_ARGS__ };            \
                                                                       \
        return guests_main(name, more_settings, tests, LENGTH(tests)); \
    }
