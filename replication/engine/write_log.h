/*
 * A replica's write log: checksums of its storage daemon's latest writes, in a file of the host's
 * run directory. After the end of a daemon it justifies, block by block, the content of replicas
 * that differ because writes were in flight (replication/engine/justify.h).
 *
 * The daemon appends an entry before it submits the write
 * (replication/engine/daemon_preload_writes.c), so an entry may be of a write that was never done,
 * but every write of the daemon has one, as long as the log is active. Entries are of one
 * generation and count for no other: they begin when it does, or later. The conditions under which
 * logs count are those of replication/engine/target_logs.c.
 *
 * Most of the cost of an entry is that of its checksums. They are computed once for all replicas of
 * the host where one of a request's writes is in flight when the next is submitted
 * (replication/engine/write_log_shared.h), else for each.
 *
 * The ring has space for writes of 64 MiB. A log of another boot of the host counts as none: writes
 * that were not yet on a disk are lost then, and so may the log be.
 */
#pragma once

#include "replication/engine/generation.h"

#include <stddef.h>

/* The last writes to one block, by sectors. */
struct write_log_block {
    uint64_t block;
    uint8_t mask;  /* written sectors, */
    uint8_t known; /* and those with a sum here */
    uint32_t sums[8];
};

/* The entries of a log, from the oldest on. */
struct write_log {
    struct generation_id generation; /* number 0: none counts */
    unsigned count;
    struct write_log_entry *entries; /* in the arena */
};

/* Beside the run directories of one host: that of the daemon in `run`. */
const char *write_log_directory(struct arena *arena, const char *run);

/*
 * From now on entries are of `next`. Those of `before` are kept as such if the log has them, and so
 * are those of `next`; others do not count any more. `next` with number 0: the daemon does not
 * append.
 */
int write_log_begin(const char *directory, const char *replica, const struct generation_id *before,
                    const struct generation_id *next, struct error *err);

/* A daemon that has the replica open appends to an unused file, until it opens the replica again.
 * The log may be missing. -1: it could not be removed. */
int write_log_remove(const char *directory, const char *replica);

/* Without a log, or with one that is damaged, inactive or of another boot, the result is an empty
 * one. */
void write_log_read(struct arena *arena, const char *directory, const char *replica,
                    struct write_log *ret);

/* The entries for another host, and back; invalid entries are skipped. */
const char *write_log_text(struct arena *arena, const struct write_log *log);
void write_log_parse(struct arena *arena, const char *text, struct write_log *ret);

/* CRC-32C of whole words. */
uint32_t write_log_sum_of(const void *data, size_t size);

/*
 * The blocks with entries, each once, the last written one first; `most` at most. Returns their
 * number.
 */
unsigned write_log_blocks(const struct write_log *log, struct write_log_block *ret, unsigned most);
