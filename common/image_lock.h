/*
 * QEMU's byte locks on image files, taken by a program that is about to resize one.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Above QEMU's bytes: who changes which file of a volume its users have holds this one alone, on
 * the volume's own file, and who relies on it shares it. */
#define IMAGE_CHAIN_BYTE ((off_t)1 << 40)

enum image_hold {
    IMAGE_LOCK_FAILED = -1, /* the lock service, or a lock that is not QEMU's: err says why */
    IMAGE_LOCKED = 0,       /* we hold it until the descriptor is closed */
    IMAGE_HELD = 1,         /* somebody holds the image and does not share it for this */
};

/*
 * Takes the byte locks that qemu-img resize takes, so that a guest that starts
 * meanwhile fails with QEMU's own lock error, and looks for a guest that forbids it.  `fd` is
 * open for reading and writing.
 */
enum image_hold image_lock(int fd, struct error *err);

/* The same, and for as long as it is held nobody else resizes the image: whoever tries finds the
 * lock, and who is at it already is found. */
enum image_hold image_lock_alone(int fd, struct error *err);

/* Takes the locks that qemu-img takes of an image which it copies: while they are held nobody can
 * begin to write, but others may copy, too.  IMAGE_HELD: somebody writes already, or may.  `fd` may
 * be open for reading alone. */
enum image_hold image_lock_still(int fd, struct error *err);

/* Takes the locks of one who writes and finds it well when the image grows meanwhile:
 * image_lock() lets in who makes it larger, and no program of QEMU's gets in.  `alone`: any
 * other writer is kept away and found; else those are that share with nobody. */
enum image_hold image_lock_writer(int fd, bool alone, struct error *err);

/* Takes locks under which no program of QEMU's can open the image, not even to read it.
 * IMAGE_HELD: one has it open already.  `fd` may be open for reading alone. */
enum image_hold image_lock_away(int fd, struct error *err);

/* IMAGE_HELD: somebody has the image open, whatever he shares; else IMAGE_LOCKED, but nothing is
 * taken.  `fd` may be open for reading alone. */
enum image_hold image_lock_look(int fd, struct error *err);

/* IMAGE_HELD: somebody writes to it, as a guest does to its active image and to none below that. */
enum image_hold image_lock_written(int fd, struct error *err);

/* Shares that byte, or lets go of it: IMAGE_HELD: somebody has it alone.  `fd` is open for
 * reading. */
enum image_hold image_lock_chain(int fd, bool hold, struct error *err);

/* Do these lines of a QEMU program's stderr say that somebody holds the image?  A lock service that
 * fails says its errno text behind the same words, and is an ordinary failure. */
bool image_lock_told(const char *errors);
