/*
 * Loop devices: an image as a block device of this machine.
 *
 * The kernel alone remembers: a device is found again by the file behind it (device and inode), and
 * carries a label that says whose it is, so nothing is lost when the process is.  What a label said
 * first is believed (loop_seal.h).  The file is handed over with the locks that were taken on its
 * descriptor: they belong to the open file, which the device keeps, and end with the device.
 *
 * A device made here ends by itself when nobody has it open or mounted any more, also when this
 * process was killed: what was begun and not finished leaves nothing.  loop_keep() ends that.
 *
 * The kernel asks the file's server about a device.  One whose server is silent, as that of a share
 * may be, fails with ERROR_UNAVAILABLE within seconds, and keeps nobody from another.
 *
 * Who looks for a device or makes one has a lock on /dev/loop-control meanwhile: of two processes
 * the second finds what the first has made.
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
    bool kept; /* when it was found: loop_keep() */
    bool dead; /* its file answers nothing but errors: all that is known is whose it is */
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

/* The device over this file: 1 found, 0 there is none; -1 with ERROR_PRECONDITION when it shows not
 * the whole file, or has a label that does not begin with `begins`: somebody else made it. */
int loop_find(int file, const char *begins, struct loop *ret, struct error *err);
/* A device whose label is said to be `of` it: 1 found, 0 there is none. */
typedef bool loop_label(const char *label, const char *of);
int loop_find_label(loop_label *is, const char *of, struct loop *ret, struct error *err);

/* All devices whose label begins so, as they are just now: without the lock.  Returns how many. */
struct loop_name {
    unsigned number;
    char label[LOOP_LABEL_SIZE + 1];
};
int loop_list(struct arena *arena, const char *begins, struct loop_name **ret, struct error *err);

struct loop_how {
    bool read_only;
    unsigned sector; /* bytes; 0: 512, as a guest has them */
    /* Without direct I/O, which is used otherwise where the file can that with these sectors: then
     * one write goes to the file at a time. */
    bool one_by_one;
    bool no_discard; /* discards are refused, and punch no holes into the file */
};

/* Makes the device. 0, or -1 with ERROR_CONFLICT when somebody has put the file behind a device
 * meanwhile. */
int loop_attach(int file, const char *label, const struct loop_how *how, struct loop *ret,
                struct error *err);

/* 1 opened, 0 there is no file behind it.  One that is dead is opened when its label is known from
 * before. */
int loop_open(unsigned number, struct loop *ret, struct error *err);
/* The label that the device was made with, as seen before: its file is not asked. */
bool loop_recall(unsigned number, char ret_label[LOOP_LABEL_SIZE]);
/* The file behind it is of a process that has died, or of a file system that has shut down: all
 * fails. */
bool loop_is_dead(unsigned number);
/* Ends such a one, with its last user. */
void loop_bury(unsigned number);
/* `keep`: it stays until loop_release(), also when nobody has it open. */
int loop_keep(const struct loop *loop, bool keep, struct error *err);
/* The file has grown: so does the device. */
int loop_grow(const struct loop *loop, struct error *err);
int loop_size(const struct loop *loop, int64_t *ret_bytes, struct error *err);
/* Ends device `number` if it still has that label.  0 it is gone, 1 somebody has it open or
 * mounted: it goes when that ends. */
int loop_release(unsigned number, const char *label, struct error *err);
/* The device with this number has ended, and the next one is to take discards as any other.
 * Nothing happens when there is one already. */
void loop_forget(unsigned number);
/* Numbers of the file, as stat() has them. -1: its server is silent. */
int loop_file(const struct loop *loop, dev_t *ret_device, ino_t *ret_inode);
/* Where the file is, as the kernel shows it. */
int loop_file_path(unsigned number, char *ret, size_t size, struct error *err);
