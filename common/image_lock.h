/*
 * QEMU's byte locks on image files, taken by a program that is about to resize one.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Above QEMU's bytes: held exclusively while the files in a volume's chain change, shared while
 * they are used; taken on the volume's own file. */
#define IMAGE_CHAIN_BYTE ((off_t)1 << 40)

enum image_hold {
    IMAGE_LOCK_FAILED = -1, /* the lock service failed, or the lock is not QEMU's; see err */
    IMAGE_LOCKED = 0,       /* locked until the descriptor is closed */
    IMAGE_HELD = 1,         /* in use by a holder that does not share it */
};

/* Of an image that is held, behind its name, as the end of a message. */
#define IMAGE_HELD_TEXT "is open in a running guest, or a suspended process has locked it."

/*
 * Takes the byte locks of qemu-img resize, so that a guest that starts meanwhile fails with QEMU's
 * own lock error, and checks for a guest that forbids it.  `fd` is open for reading and writing.
 */
enum image_hold image_lock(int fd, struct error *err);

/* As image_lock(), and excludes any other resize while the lock is held: of two resizes the second
 * one gets IMAGE_HELD. */
enum image_hold image_lock_alone(int fd, struct error *err);

/* Takes the locks of qemu-img for an image to be copied: no writer can start, other copies can.
 * IMAGE_HELD: there is or may be a writer.  `fd` may be open for reading only. */
enum image_hold image_lock_still(int fd, struct error *err);

/* Takes the locks of a writer that allows the image to grow meanwhile: image_lock() succeeds beside
 * it, QEMU's programs are excluded.  `alone`: any other writer is excluded and detected; otherwise
 * only holders that share nothing. */
enum image_hold image_lock_writer(int fd, bool alone, struct error *err);

/* Takes locks under which no QEMU program can open the image, not even to read it.  IMAGE_HELD: one
 * has it open.  `fd` may be open for reading only. */
enum image_hold image_lock_away(int fd, struct error *err);

/* IMAGE_HELD: the image is open in any mode; otherwise IMAGE_LOCKED, though no lock is taken.  `fd`
 * may be open for reading only. */
enum image_hold image_lock_look(int fd, struct error *err);

/* IMAGE_HELD: the image has a writer, as a guest's active image has; the images below it have
 * none. */
enum image_hold image_lock_written(int fd, struct error *err);

/* Takes or releases IMAGE_CHAIN_BYTE in shared mode.  IMAGE_HELD: it is held exclusively.  `fd` is
 * open for reading. */
enum image_hold image_lock_chain(int fd, bool hold, struct error *err);

/* Does this stderr of a QEMU program report an image in use?  A failed lock service uses the same
 * words followed by an errno text, and is an ordinary failure. */
bool image_lock_reported(const char *errors);
