/*
 * A replica's write log: checksums of what its storage daemon was last told to write, in a file of
 * the host's run directory.  Behind the end of a daemon it justifies, block by block, the content
 * of replicas that differ because writes were in flight (replication/engine/justify.h).
 *
 * The daemon appends an entry before it submits the write
 * (replication/engine/daemon_preload_writes.c), so an entry may be of a write that was never done,
 * but no write of the daemon has none, as long as the log is active.  Entries are of one generation
 * and count for no other: they begin when it does, or later.  Whose logs count, and when, is said
 * in replication/engine/target_logs.c.
 *
 * An entry costs about 0.3 us for 4 KiB, most of it for the checksums.  Each replica's log computes
 * them of the same data anew: the daemon submits the writes of one request separately, and seen
 * from below there is no telling one request's buffer from the next one's at the same address.
 *
 * The ring has room for writes of 64 MiB.  A log of another boot of the host counts as none: what
 * was not yet on a disk is lost then, and so may the log be.
 */
#pragma once

#include "replication/engine/generation.h"

#include <stddef.h>

/* What was last written to one block, by sectors. */
struct write_log_block {
    uint64_t block;
    uint8_t mask;  /* sectors that were written, */
    uint8_t known; /* and have their sum here */
    uint32_t sums[8];
};

/* What a log says, from the oldest entry on. */
struct write_log {
    struct generation_id generation; /* number 0: nothing counts */
    unsigned count;
    struct write_log_entry *entries; /* in the arena */
};

/* Beside the run directories of one host: that of the daemon in `run`. */
const char *write_log_directory(struct arena *arena, const char *run);

/*
 * From now on entries are of `next`.  Those of `before` are kept as such if the log has them, and
 * so are those of `next`; others count no more.  `next` with number 0: the daemon does not append.
 */
int write_log_begin(const char *directory, const char *replica, const struct generation_id *before,
                    const struct generation_id *next, struct error *err);

/* A daemon that has the replica open appends to what nothing reads any more, until it opens the
 * replica again.  It need not be there. -1: it is there, as before. */
int write_log_remove(const char *directory, const char *replica);

/* Without a log, or with one that is damaged, inactive or of another boot, the result is an empty
 * one. */
void write_log_read(struct arena *arena, const char *directory, const char *replica,
                    struct write_log *ret);

/* The entries for another host, and back; what is no whole entry is left out. */
const char *write_log_text(struct arena *arena, const struct write_log *log);
void write_log_parse(struct arena *arena, const char *text, struct write_log *ret);

/* CRC-32C of whole words. */
uint32_t write_log_sum_of(const void *data, size_t size);

/*
 * The blocks that the log has entries of, each once, the one that was written last first; `most` at
 * most.  How many there are.
 */
unsigned write_log_blocks(const struct write_log *log, struct write_log_block *ret, unsigned most);
