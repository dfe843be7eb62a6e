/*
 * A start decides about the blocks in the logs before a client is admitted: by the vote, where as
 * many replicas as are needed are equal, else by the logs. It writes the chosen content as a
 * client would, through the quorum: so all replicas have it, and their logs, and a replica that is
 * lost before all are compared leaves no block undecided. When the start dies meanwhile the next
 * one finds the same entries, or later ones of the same content.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "replication/engine/daemon.h"
#include "replication/engine/deadline.h"
#include "replication/engine/justify.h"
#include "replication/engine/nbd_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MOST 32768 /* of a log */
#define BATCH       32    /* blocks that are read at once */
#define TIME_US     (5 * SECOND_US / 2)
#define STEP_MS     1000 /* for one reply */
#define PAUSE_MS    2
#define EXPORT      "write-log-"

/* ---- blocks of several logs ---- */

struct slot {
    uint64_t block;
    unsigned rank; /* 0: written last */
};

struct list {
    struct write_log_block *blocks;
    struct slot *slots; /* by the block */
    unsigned count;
};

static int compare_slots(const void *a, const void *b) {
    const struct slot *one = a, *two = b;

    return one->block < two->block ? -1 : one->block > two->block;
}

static void make_list(const struct write_log *log, struct arena *arena, struct list *ret) {
    if (log->count == 0)
        return;
    ret->blocks = arena_reserve(arena, BLOCKS_MOST * sizeof(*ret->blocks));
    ret->count = write_log_blocks(log, ret->blocks, BLOCKS_MOST);
    assert(ret->count <= BLOCKS_MOST);
    ret->slots = arena_reserve(arena, (ret->count + 1) * sizeof(*ret->slots));
    for (unsigned i = 0; i < ret->count; i++)
        ret->slots[i] = (struct slot){ ret->blocks[i].block, i };
    qsort(ret->slots, ret->count, sizeof(*ret->slots), compare_slots);
}

static const struct slot *find_slot(const struct list *list, uint64_t block) {
    const struct slot key = { .block = block };

    return list->count == 0 ? NULL
                            : bsearch(&key, list->slots, list->count, sizeof(key), compare_slots);
}

/* ---- deciding ---- */

struct voter {
    struct list list;
    int fd;                /* connection that reads its own data */
    unsigned char *buffer; /* of a batch */
    struct nbd_read reads[BATCH];
};

struct decision {
    struct target *target;
    unsigned count;
    struct voter voters[MEMBERS_MOST];
    int fd; /* of the quorum */
    uint64_t batch[BATCH];
    unsigned batched;
    unsigned decided, undecided;
    int64_t until_us; /* later by a suspension */
};

static uint32_t size_at(const struct target *target, uint64_t block) {
    int64_t left = target->size_bytes - (int64_t)block * JUSTIFY_BLOCK;

    assert(left > 0);
    return left < JUSTIFY_BLOCK ? (uint32_t)left : JUSTIFY_BLOCK;
}

/* A block that a replica cannot read is left to the vote. */
static int decide_block(struct decision *decision, unsigned j, struct error *err) {
    unsigned char chosen[JUSTIFY_BLOCK];
    struct justify_version versions[MEMBERS_MOST];
    uint64_t block = decision->batch[j];
    uint32_t size = size_at(decision->target, block);
    enum justify_outcome outcome;

    assert(decision->count > 0 && decision->count <= LENGTH(versions));
    for (unsigned i = 0; i < decision->count; i++) {
        const struct voter *voter = &decision->voters[i];
        const struct slot *slot = find_slot(&voter->list, block);

        if (voter->reads[j].code != 0)
            return 0;
        versions[i] = (struct justify_version){ voter->reads[j].data,
                                                slot ? &voter->list.blocks[slot->rank] : NULL };
    }
    outcome = justify(versions, decision->count, generation_needed(&decision->target->plan.current),
                      size, chosen);
    decision->decided += outcome == JUSTIFY_CHOSEN;
    decision->undecided += outcome == JUSTIFY_UNDECIDED;
    if (outcome != JUSTIFY_CHOSEN)
        return 0;
    return nbd_client_write(decision->fd, block * JUSTIFY_BLOCK, chosen, size, &decision->until_us,
                            err);
}

static int decide_batch(struct decision *decision, struct error *err) {
    for (unsigned i = 0; i < decision->count; i++) {
        struct voter *voter = &decision->voters[i];

        for (unsigned j = 0; j < decision->batched; j++)
            voter->reads[j] = (struct nbd_read){
                .offset = decision->batch[j] * JUSTIFY_BLOCK,
                .size = size_at(decision->target, decision->batch[j]),
                .data = voter->buffer + (size_t)j * JUSTIFY_BLOCK,
            };
        if (nbd_client_read(voter->fd, voter->reads, decision->batched, &decision->until_us, err) <
            0)
            return -1;
    }
    for (unsigned j = 0; j < decision->batched; j++) {
        if (decide_block(decision, j, err) < 0)
            return -1;
    }
    decision->batched = 0;
    return 0;
}

/* A block in several logs is decided at its newest entry. */
static bool is_repeated(const struct decision *decision, unsigned i, unsigned rank) {
    uint64_t block = decision->voters[i].list.blocks[rank].block;
    bool repeated = false;

    for (unsigned k = 0; k < decision->count; k++) {
        const struct slot *slot = k == i ? NULL : find_slot(&decision->voters[k].list, block);

        repeated |= slot && (slot->rank < rank || (slot->rank == rank && k < i));
    }
    return repeated;
}

/* From the last written block on, as long as there is time, that of a suspension excepted. */
static int decide_all(struct decision *decision, struct error *err) {
    const uint64_t blocks =
        (uint64_t)(decision->target->size_bytes + JUSTIFY_BLOCK - 1) / JUSTIFY_BLOCK;
    bool more = true;

    decision->until_us = clock_boottime_us() + TIME_US;
    for (unsigned rank = 0; more; rank++) {
        more = false;
        for (unsigned i = 0; i < decision->count; i++) {
            const struct list *list = &decision->voters[i].list;

            if (rank >= list->count)
                continue;
            more = true;
            if (list->blocks[rank].block >= blocks || is_repeated(decision, i, rank))
                continue;
            assert(decision->batched < BATCH);
            decision->batch[decision->batched++] = list->blocks[rank].block;
            if (decision->batched == BATCH && decide_batch(decision, err) < 0)
                return -1;
        }
        if (clock_boottime_us() >= decision->until_us)
            return error_set(err, ERROR_UNAVAILABLE, "timed out");
    }
    return decide_batch(decision, err) < 0 ||
                   nbd_client_flush(decision->fd, &decision->until_us, err) < 0
               ? -1
               : 0;
}

/* ---- nodes of the daemon ---- */

/* With a name that no client of the volume knows. */
static int open_node(struct target *target, unsigned number, const char *node, bool writable,
                     struct error *err) {
    autoarena struct arena *arena = arena_new();
    char name[UUID_SIZE];

    clock_uuid(&clock_system, name);
    if (GRAPH_DO(target, err, "block-export-add", "{s:s, s:s, s:s, s:s, s:b}", "type", "nbd", "id",
                 arena_format(arena, EXPORT "%u", number), "node-name", node, "name", name,
                 "writable", writable) < 0)
        return -1;
    return nbd_client_open(daemon_path(arena, target->run, "nbd"), name,
                           target->timeout_ms < STEP_MS ? target->timeout_ms : STEP_MS, err);
}

static int open_nodes(struct decision *decision, struct error *err) {
    struct target *target = decision->target;

    for (unsigned i = 0, voter = 0; i < target->count; i++) {
        const struct member *member = &target->members[i];
        int fd = member_votes(member) ? open_node(target, voter, member->node, false, err) : -1;

        if (member_votes(member) && fd < 0)
            return -1;
        if (member_votes(member))
            decision->voters[voter++].fd = fd;
    }
    assert(decision->count > 0);
    decision->fd = open_node(target, decision->count, QUORUM, true, err);
    return decision->fd < 0 ? -1 : 0;
}

/* Requests in flight are awaited. */
static int close_nodes(struct decision *decision, struct error *err) {
    struct target *target = decision->target;
    int64_t until_us = deadline_after_us(target->timeout_ms);
    int there;

    cleanup_close(&decision->fd);
    for (unsigned i = 0; i < decision->count; i++)
        cleanup_close(&decision->voters[i].fd);
    for (unsigned i = 0; i <= decision->count; i++) {
        autoarena struct arena *arena = arena_new();
        struct error ignored; /* it may never have been added */

        (void)GRAPH_DO(target, &ignored, "block-export-del", "{s:s, s:s}", "id",
                       arena_format(arena, EXPORT "%u", i), "mode", "hard");
    }
    while ((there = graph_export(target, err)) > 0) {
        if (!deadline_pause(PAUSE_MS, &until_us))
            return error_set(err, ERROR_UNAVAILABLE, "the export of a replica does not end");
    }
    return there;
}

static bool begin_decision(struct target *target, const struct logs *logs,
                           struct decision *decision) {
    bool any = false;

    *decision = (struct decision){ .target = target, .fd = -1 };
    for (unsigned i = 0; i < target->count; i++) {
        struct voter *voter = &decision->voters[decision->count];

        if (!member_votes(&target->members[i]))
            continue;
        assert(decision->count < LENGTH(decision->voters));
        decision->count++;
        voter->fd = -1;
        voter->buffer = arena_reserve(logs->arena, (size_t)BATCH * JUSTIFY_BLOCK);
        make_list(&logs->logs[i], logs->arena, &voter->list);
        any |= voter->list.count > 0;
    }
    return any;
}

int logs_decide(struct target *target, const struct logs *logs, struct error *err) {
    struct decision *decision;
    struct error reason;
    int outcome;

    assert(!target_serves(target)); /* no client is admitted yet */
    target->decided_blocks = 0;
    if (!logs->usable)
        return 0;
    decision = arena_alloc(logs->arena, sizeof(*decision));
    if (!begin_decision(target, logs, decision))
        return 0;
    outcome = open_nodes(decision, &reason) < 0 ? -1 : decide_all(decision, &reason);
    target->decided_blocks = decision->decided;
    if (outcome < 0)
        log_warning(NULL, "write logs not applied to all blocks", "volume_id", target->volume,
                    "reason", reason.message, NULL);
    if (decision->decided + decision->undecided > 0)
        log_info(NULL, "blocks decided by write logs", "volume_id", target->volume, "blocks",
                 LOG_INT(decision->decided), "undecided", LOG_INT(decision->undecided), NULL);
    return close_nodes(decision, err);
}
