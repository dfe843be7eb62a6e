/*
 * A real QEMU process that holds an image, paused and without a guest system.
 */
#pragma once

#include "tests/unit/drivers/driver_test.h"

#include <signal.h>

#define QEMU "qemu-system-x86_64"

struct guest {
    pid_t pid;
};

static inline bool have_qemu(void) {
    return BENCH_RUN("sh", "-c", "command -v " QEMU) == 0;
}

/* Returns when QEMU has opened the image (that is before its parent process ends). */
static inline bool start_guest(const struct bench *bench, const char *file, const char *format,
                               bool shareable, struct guest *ret) {
    /* A name of its own: QEMU locks its pid file. */
    const char *name = arena_format(bench->arena, "guest-%p.pid", (void *)ret);
    const char *drive = arena_format(
        bench->arena, "file=%s,format=%s,if=none,id=disk,cache=none,file.locking=on", file, format);
    const char *device = arena_format(bench->arena, "virtio-blk-pci,drive=disk,share-rw=%s",
                                      shareable ? "on" : "off");
    int status = BENCH_RUN(QEMU, "-S", "-display", "none", "-nodefaults", "-machine",
                           "pc,accel=tcg", "-m", "16", "-drive", drive, "-device", device,
                           "-daemonize", "-pidfile", bench_path(bench, name));

    if (status != 0)
        return false;
    ret->pid = (pid_t)strtol(bench_read(bench, name), NULL, 10);
    ck_assert_int_gt(ret->pid, 1);
    return true;
}

static inline void stop_guest(struct guest *guest) {
    if (guest->pid > 1) {
        kill(guest->pid, SIGKILL);
        /* Not our child any more: its locks are gone when it is. */
        while (kill(guest->pid, 0) == 0)
            usleep(1000);
    }
    guest->pid = 0;
}
#define autoguest __attribute__((cleanup(stop_guest)))
