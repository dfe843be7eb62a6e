/*
 * Compares the files of the replicas directly and from the disk: a quorum reports at most one
 * difference a second and not all positions, and one that reads only the first copy reports none. A
 * difference of a write in flight lasts a moment: the block is read again until it is stable.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/md5.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define PIECE       ((size_t)256 * 1024)
#define BLOCK       ((size_t)REFUSED_BLOCK)
#define EQUAL_READS 5  /* equal reads that suffice, */
#define READS_MOST  50 /* of at most so many, */
#define PAUSE_MS    20 /* with this pause between them */

/* With remote replicas a write may be in flight as long as a relay waits for a peer: only a
 * difference that lasts longer counts. A block that changes more often is skipped. */
#define REMOTE_CHANGES_MOST 10
#define REMOTE_PAUSE_MS     50
#define REMOTE_SLACK_US     (SECOND_US / 5)

#define RECHECK_US SECOND_US

/* With a remote replica not the bytes are compared, but their sums: the pieces hold one of each
 * block then. */
struct copies {
    bool sums;
    int64_t epoch;
    unsigned count;
    unsigned failing; /* of them, and of the others */
    struct member *members[MEMBERS_MOST];
    char *pieces[MEMBERS_MOST]; /* in `buffer` */
    char *buffer;
    size_t block; /* length of the current block */
    int64_t until_us;
    int64_t quiet_us; /* minimum time without change; 0: EQUAL_READS are enough */
    bool patient;     /* one block has had the time that it needs */
};

static unsigned count_failing(const struct target *target) {
    unsigned count = 0;

    for (unsigned i = 0; i < target->count; i++)
        count += member_votes(&target->members[i]) && member_fails(&target->members[i]);
    return count;
}

/* Another one has missed a write since then: what differs is compared again by the next call. */
static bool is_outdated(const struct target *target, const struct copies *copies) {
    return count_failing(target) != copies->failing;
}

/* `failing`: includes those that missed a write, which are read as the others are. */
static void begin_copies(struct target *target, struct copies *copies, bool failing) {
    copies->epoch = target->epoch;
    copies->failing = count_failing(target);
    for (unsigned i = 0; i < target->count; i++)
        copies->sums |= member_votes(&target->members[i]) && !member_is_local(&target->members[i]);
    copies->quiet_us = copies->sums ? target->silence_ms * 1000 + REMOTE_SLACK_US : 0;
    copies->buffer = heap_new(MEMBERS_MOST * PIECE);
    TARGET_FOREACH(member, target) {
        if (!member_votes(member) || (member_fails(member) && !failing))
            continue;
        assert(copies->count < LENGTH(copies->members));
        copies->pieces[copies->count] = copies->buffer + copies->count * PIECE;
        copies->members[copies->count++] = member;
    }
}

/* The first byte from there on that is no hole in all of them. A remote replica has to sum a block
 * for that. */
static int64_t find_data(const struct copies *copies, int64_t from, int64_t end) {
    unsigned char sum[1][REPLICA_SUM_SIZE];
    int64_t first = end;
    struct error ignored;

    for (unsigned i = 0; i < copies->count; i++) {
        unsigned count = member_is_local(copies->members[i]) ? 0 : 1;
        int64_t at = from;

        if (member_sums(copies->members[i], copies->epoch, &at, end, count, sum, &ignored) < 0)
            at = from; /* unknown */
        if (at < first)
            first = at;
    }
    return first - first % (int64_t)BLOCK > from ? first - first % (int64_t)BLOCK : from;
}

/* Holes have the sums of zeros. */
static int sum_one(const struct copies *copies, unsigned i, int64_t from, size_t size,
                   struct error *err) {
    static const char zeros[BLOCK];
    unsigned char(*sums)[REPLICA_SUM_SIZE] = (void *)copies->pieces[i];
    int64_t end = from + (int64_t)size, at = from;

    assert(i < copies->count && size > 0 && size <= PIECE);
    while (at < end) {
        unsigned first = (unsigned)((at - from) / (int64_t)BLOCK);
        unsigned left = (unsigned)((end - at + (int64_t)BLOCK - 1) / (int64_t)BLOCK);
        int64_t next = at;
        int got =
            member_sums(copies->members[i], copies->epoch, &next, end, left, sums + first, err);
        unsigned char(*hole)[REPLICA_SUM_SIZE] = sums + first;
        unsigned skipped = (unsigned)((next - at + (int64_t)BLOCK - 1) / (int64_t)BLOCK);

        if (got < 0)
            return -1;
        if (next < at || next > end || skipped + (unsigned)got > left || (got == 0 && next < end))
            return error_set(err, ERROR_BACKEND, "invalid sums of %s",
                             copies->members[i]->replica.uid);
        memmove(hole + skipped, hole, (unsigned)got * sizeof(*hole));
        for (unsigned j = 0; j < skipped; j++, at += (int64_t)BLOCK)
            md5_bytes(zeros, end - at < (int64_t)BLOCK ? (size_t)(end - at) : BLOCK, hole[j]);
        at += got * (int64_t)BLOCK;
    }
    return 0;
}

static int read_all(const struct copies *copies, int64_t at, size_t size, struct error *err) {
    for (unsigned i = 0; i < copies->count; i++) {
        int outcome = copies->sums
                          ? sum_one(copies, i, at, size, err)
                          : member_read(copies->members[i], at, size, copies->pieces[i], err);

        if (outcome < 0)
            return -1;
    }
    return 0;
}

/* The length of one block in the pieces. */
static size_t width(const struct copies *copies, size_t size) {
    return copies->sums ? REPLICA_SUM_SIZE : size;
}

static bool differs(const struct copies *copies, size_t at, size_t size) {
    size_t from = copies->sums ? at / BLOCK * REPLICA_SUM_SIZE : at;
    bool differs = false;

    for (unsigned i = 1; i < copies->count; i++)
        differs |=
            memcmp(copies->pieces[0] + from, copies->pieces[i] + from, width(copies, size)) != 0;
    return differs;
}

/* Repeated reads of a block that differs. */
struct observation {
    unsigned reads, same, changes;
    int64_t since_us; /* of the last change */
};

static bool is_quiet(const struct copies *copies, const struct observation *observation) {
    return observation->same >= EQUAL_READS &&
           clock_boottime_us() >= observation->since_us + copies->quiet_us;
}

static bool is_given_up(const struct copies *copies, const struct observation *observation) {
    return clock_boottime_us() >= copies->until_us ||
           (copies->sums ? observation->changes > REMOTE_CHANGES_MOST
                         : observation->reads >= READS_MOST);
}

/* Of one block, at the beginning of the pieces: 1 it differs without writes, 0 it does not, -1;
 * *ret_busy: that cannot be determined, or not in the available time. */
static int read_again(const struct copies *copies, int64_t at, bool *ret_busy, struct error *err) {
    char before[MEMBERS_MOST][BLOCK] = { { 0 } };
    struct observation observation = { 0 };

    assert(copies->block > 0 && copies->block <= BLOCK);
    *ret_busy = false;
    while (!is_quiet(copies, &observation)) {
        bool changed = observation.reads == 0;

        if (observation.reads > 0 && is_given_up(copies, &observation))
            break;
        if (observation.reads > 0)
            poll(NULL, 0, copies->sums ? REMOTE_PAUSE_MS : PAUSE_MS);
        if (read_all(copies, at, copies->block, err) < 0)
            return -1;
        if (!differs(copies, 0, copies->block))
            return 0;
        for (unsigned i = 0; i < copies->count; i++) {
            changed |= memcmp(before[i], copies->pieces[i], width(copies, copies->block)) != 0;
            memcpy(before[i], copies->pieces[i], width(copies, copies->block));
        }
        observation.reads++;
        observation.same = changed ? 0 : observation.same + 1;
        observation.changes += changed;
        if (changed)
            observation.since_us = clock_boottime_us();
    }
    *ret_busy = !is_quiet(copies, &observation);
    return *ret_busy ? 0 : 1;
}

/* The one that most of them are equal to; and the number of those. */
static unsigned find_winner(const struct copies *copies, unsigned *ret_votes) {
    unsigned winner = 0;

    assert(copies->count > 0);
    *ret_votes = 0;
    for (unsigned i = 0; i < copies->count; i++) {
        unsigned votes = 0;

        for (unsigned j = 0; j < copies->count; j++)
            votes +=
                memcmp(copies->pieces[i], copies->pieces[j], width(copies, copies->block)) == 0;
        if (votes > *ret_votes) {
            *ret_votes = votes;
            winner = i;
        }
    }
    return winner;
}

static void note_difference(struct target *target, const struct copies *copies, int64_t at,
                            struct target_scrub *scrub) {
    unsigned votes, winner = find_winner(copies, &votes);

    assert(votes > 0 && votes <= copies->count && winner < copies->count);
    if (votes < target->threshold) {
        target_note_refused(target, at, REFUSED_BLOCK);
        target_next(target, TARGET_BLOCK_UNDECIDED);
        scrub->undecided++;
        log_error(NULL, "replicas have no majority", "volume_id", target->volume, "sector",
                  LOG_INT(at / 512), NULL);
        return;
    }
    scrub->damaged++;
    for (unsigned i = 0; i < copies->count; i++) {
        struct member *member = copies->members[i];

        if (member_fails(member) ||
            memcmp(copies->pieces[winner], copies->pieces[i], width(copies, copies->block)) == 0)
            continue;
        if (member->mismatches++ == 0)
            log_warning(NULL, "replica is damaged", "volume_id", target->volume, "replica_id",
                        member->replica.uid, "sector", LOG_INT(at / 512), NULL);
    }
}

static int compare_block(struct target *target, struct copies *copies, int64_t at,
                         struct target_scrub *scrub, struct error *err) {
    struct error ignored;
    bool busy;
    int outcome;

    if (copies->sums && !copies->patient)
        copies->until_us = clock_boottime_us() + copies->quiet_us + target->timeout_ms * 1000;
    copies->patient = true;
    outcome = read_again(copies, at, &busy, err);
    if (outcome > 0) {
        /* A missed write is reported by now: that replica is stale, and not damaged. */
        (void)watch_events(target, &ignored);
        if (is_outdated(target, copies))
            return 0;
        if (!busy)
            note_difference(target, copies, at, scrub);
    }
    scrub->busy += busy;
    return outcome < 0 ? -1 : 0;
}

static int compare_piece(struct target *target, struct copies *copies, size_t size,
                         struct target_scrub *scrub, struct error *err) {
    bool suspects[PIECE / BLOCK] = { false };

    assert(size > 0 && size <= PIECE);
    if (read_all(copies, scrub->at_bytes, size, err) < 0)
        return -1;
    for (size_t at = 0; at < size; at += BLOCK)
        suspects[at / BLOCK] = differs(copies, at, size - at < BLOCK ? size - at : BLOCK);
    for (size_t at = 0; at < size && !is_outdated(target, copies); at += BLOCK) {
        copies->block = size - at < BLOCK ? size - at : BLOCK;
        if (suspects[at / BLOCK] &&
            compare_block(target, copies, scrub->at_bytes + (int64_t)at, scrub, err) < 0)
            return -1;
    }
    if (!is_outdated(target, copies))
        scrub->at_bytes += (int64_t)size;
    return 0;
}

static bool has_majority(const struct target *target, struct copies *copies, int64_t at) {
    int64_t left = target->size_bytes - at;
    struct error ignored;
    unsigned votes;

    assert(left > 0);
    copies->block = left < (int64_t)BLOCK ? (size_t)left : BLOCK;
    if (read_all(copies, at, copies->block, &ignored) < 0)
        return false;
    find_winner(copies, &votes);
    return votes >= target->threshold;
}

/* A rebuild that could not read them, or the comparison of all, is repeated then. */
static bool waits_for_decision(const struct target *target) {
    return target->refused_count > 0 &&
           (target_job_now(target) == TARGET_REBUILD_FAILED ||
            (target->phase == TARGET_IS_UNDECIDED && target->compared_bytes >= target->size_bytes));
}

/* From the last one on, up to one that is still refused: at rest that is one block in a second. */
void scrub_recheck(struct target *target) {
    unsigned *count = &target->refused_count;
    struct copies copies = { 0 };

    if (!waits_for_decision(target) || clock_boottime_us() < target->recheck_us)
        return;
    target->recheck_us = clock_boottime_us() + RECHECK_US;
    begin_copies(target, &copies, true);
    while (*count > 0 && has_majority(target, &copies, target->refused[*count - 1]))
        --*count;
    free(copies.buffer);
    if (*count > 0)
        return;
    target->decisions++;
    if (target->phase == TARGET_IS_UNDECIDED)
        target_next(target, TARGET_DECIDED);
}

/* -1: a replica could not be read. */
static int compare(struct target *target, struct copies *copies, int64_t end,
                   struct target_scrub *scrub, struct error *err) {
    const int64_t size = target->size_bytes;
    int result = 0;

    if (copies->count < 2)
        scrub->at_bytes = size;
    while (result == 0 && scrub->at_bytes < size && scrub->at_bytes < end &&
           !is_outdated(target, copies) && clock_boottime_us() < copies->until_us) {
        int64_t left;

        scrub->at_bytes = find_data(copies, scrub->at_bytes, size);
        left = size - scrub->at_bytes;
        if (left > 0)
            result = compare_piece(target, copies, left < (int64_t)PIECE ? (size_t)left : PIECE,
                                   scrub, err);
    }
    free(copies->buffer);
    return result;
}

/* While replicas are resynchronized, a vote of one that fails decides where others differ. */
int target_scrub(struct target *target, struct target_scrub *scrub, int64_t bytes,
                 struct error *err) {
    const int64_t until_us = clock_boottime_us() + target->timeout_ms * 1000;
    const int64_t begun = scrub->at_bytes, end = begun + bytes;
    int result = -1;

    assert(bytes > 0 && begun >= 0);
    if (!target_serves(target))
        return error_set(err, ERROR_CONFLICT, "The volume %s is not served.", target->volume);
    if (begun == 0)
        target_next(target, TARGET_COMPARISON_BEGUN);
    for (int failing = target_is_resynchronizing(target); failing >= 0 && result < 0; failing--) {
        struct copies copies = { .until_us = until_us };

        begin_copies(target, &copies, failing > 0);
        result = compare(target, &copies, end, scrub, err);
    }
    if (result == 0) {
        assert(begun <= scrub->at_bytes);
        /* One that began before the reason to compare has missed a part. */
        if (begun <= target->compared_bytes && scrub->at_bytes > target->compared_bytes)
            target->compared_bytes = scrub->at_bytes;
        target_note_compared(target);
    }
    return result < 0 ? -1 : scrub->at_bytes < target->size_bytes;
}
