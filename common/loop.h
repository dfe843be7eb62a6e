/*
 * Loop devices: an image as a block device of this machine.
 *
 * The kernel is the only store: a device is found again by its backing file (device and inode), and
 * carries a label with its volume, so that a restart loses nothing.  The first label of a device is
 * trusted (loop_identity.h).  The file is passed with the locks that were taken on its descriptor:
 * they belong to the open file, which the device holds, and end with the device.
 *
 * A device attached here has autoclear set: it is detached when it is neither open nor mounted any
 * more, also after a kill of this process, so an interrupted operation leaves nothing.
 * loop_set_persistent() clears autoclear.
 *
 * The kernel queries the file's server about a device.  A query to an unresponsive server, as of a
 * share, fails with ERROR_UNAVAILABLE within seconds, and does not block queries of other devices.
 *
 * Searching for a device and attaching one hold a lock on /dev/loop-control: of two processes the
 * second finds the device that the first has attached.  It is waited for with a limit, then
 * ERROR_UNAVAILABLE, and not held while the server of the image is queried.
 */
#pragma once

#include "common/arena.h"
#include "common/cleanup.h"
#include "common/error.h"

#include <linux/loop.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOOP_LABEL_SIZE LO_NAME_SIZE

struct loop {
    int fd;
    unsigned number; /* of /dev/loopN */
    bool read_only;
    bool persistent; /* autoclear was clear when it was found: loop_set_persistent() */
    bool stale;      /* its file returns only errors: nothing but the label is known */
    char label[LOOP_LABEL_SIZE];
};

static inline void cleanup_loop(const struct loop *loop) {
    cleanup_close(&loop->fd);
}
#define autoloop __attribute__((cleanup(cleanup_loop)))
#define LOOP_NONE \
    { .fd = -1 }

#define LOOP_PATH_SIZE sizeof("/dev/loop4294967295")
void loop_path(unsigned number, char ret[LOOP_PATH_SIZE]);

/* Is it a loop device's number, and which? */
bool loop_is(dev_t device, unsigned *ret_number);

/* The device of this file: 1 found, 0: none; -1 with ERROR_PRECONDITION when it covers only a part
 * of the file, or has a label without the prefix `begins`: another program has attached it. */
int loop_find(int file, const char *begins, struct loop *ret, struct error *err);
/* A device with a matching label: 1 found, 0: none. */
typedef bool loop_label(const char *label, const char *of);
int loop_find_label(loop_label *is, const char *of, struct loop *ret, struct error *err);

/* All devices whose label has this prefix, at present: without the lock.  Returns their number. */
struct loop_name {
    unsigned number;
    char label[LOOP_LABEL_SIZE + 1];
};
int loop_list(struct arena *arena, const char *begins, struct loop_name **ret, struct error *err);

struct loop_how {
    bool read_only;
    unsigned sector; /* bytes; 0: 512, as in a guest */
    /* Without direct I/O, which is otherwise used where the file supports it with these sectors:
     * then writes to the file are serialized. */
    bool serialized;
    bool no_discard; /* discards are refused, and punch no holes into the file */
};

/* Attaches a device.  0, or -1 with ERROR_CONFLICT when the file has been attached to a device
 * meanwhile. */
int loop_attach(int file, const char *label, const struct loop_how *how, struct loop *ret,
                struct error *err);

/* 1 opened; 0: it has no file.  A stale one is opened if its label was recorded before. */
int loop_open(unsigned number, struct loop *ret, struct error *err);
/* The recorded label of the device: its file is not queried. */
bool loop_recall(unsigned number, char ret_label[LOOP_LABEL_SIZE]);
/* The server of the file has terminated, or its file system has shut down: all requests fail. */
bool loop_is_stale(unsigned number);
/* Detaches a stale device, at its last close.  No effect when its number is that of another one
 * meanwhile. */
void loop_detach_stale(unsigned number);
/* `persistent`: it stays until loop_release(), also when it is not open. */
int loop_set_persistent(const struct loop *loop, bool persistent, struct error *err);
/* The file has grown: the device grows to its size. */
int loop_grow(const struct loop *loop, struct error *err);
int loop_size(const struct loop *loop, int64_t *ret_bytes, struct error *err);
/* Detaches device `number` if it still has that label.  0: it is gone; 1: it is still open or
 * mounted, and is detached when that ends. */
int loop_release(unsigned number, const char *label, struct error *err);
/* The device with this number is gone, and the next one has to accept discards.  No effect when the
 * number is in use again. */
void loop_reset_discard(unsigned number);
/* Device and inode of the file, as of stat().  -1: its server is unresponsive. */
int loop_file(const struct loop *loop, dev_t *ret_device, ino_t *ret_inode);
/* The path of the file, as reported by the kernel. */
int loop_file_path(unsigned number, char *ret, size_t size, struct error *err);
