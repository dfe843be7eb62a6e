/*
 * What the daemon of a target reports, and probes of the files that it serves: both change the
 * states of its replicas.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"
#include "json/json.h"

#include <string.h>

/* ---- events of the daemon ---- */

void target_note_refused(struct target *target, int64_t at, int64_t bytes) {
    int64_t end = at + bytes < target->size_bytes ? at + bytes : target->size_bytes;

    for (at -= at % REFUSED_BLOCK; at < end && end - at <= REFUSED_BLOCK * REFUSED_MOST;
         at += REFUSED_BLOCK) {
        unsigned i = 0;

        while (i < target->refused_count && target->refused[i] != at)
            i++;
        if (i == target->refused_count && i < REFUSED_MOST)
            target->refused[target->refused_count++] = at;
    }
}

/* An outvoted read means damaged data; a failed write, stale data. A remote replica with a failed
 * read has lost its session, and gets no further write. */
static void take_report(struct target *target, const json_t *data) {
    const char *node = json_text_of(data, "node-name");
    struct member *member = member_of_node(target, node);
    const char *type = json_text_of(data, "type"), *reason = json_text_of(data, "error");

    for (unsigned i = 0; node && i < target->count; i++) {
        if (strcmp(target->members[i].copy_node, node) == 0)
            target->members[i].copied = false;
    }
    if (!member)
        return;
    member->reported_us = clock_boottime_us();
    if (type && strcmp(type, "read") == 0 && (!reason || member_is_local(member))) {
        member->mismatches++;
        return;
    }
    logs_note_failed_write(target, member);
    error_set(&member->why, ERROR_BACKEND, "a request failed: %.200s",
              reason ? reason : "no reason given by the storage daemon");
    if (member->errors++ == 0)
        log_warning(NULL, "replica missed a request", "volume_id", target->volume, "replica_id",
                    member->replica.uid, "reason", member->why.message, NULL);
    target_note_failing(target, member, MEMBER_MISSED);
}

static void take_event(struct target *target, const json_t *event) {
    const char *name = json_text_of(event, "event");
    const json_t *data = json_object_get(event, "data");

    if (name && strcmp(name, "QUORUM_REPORT_BAD") == 0)
        take_report(target, data);
    else if (name && strcmp(name, "QUORUM_FAILURE") == 0 &&
             json_text_is(data, "reference", COPIES)) {
        log_warning(NULL, "files of a snapshot have no majority", "volume_id", target->volume,
                    "sector", LOG_INT(json_integer_value(json_object_get(data, "sector-num"))),
                    NULL);
    } else if (name && strcmp(name, "QUORUM_FAILURE") == 0) {
        target->failures++;
        target_note_refused(target, json_integer_value(json_object_get(data, "sector-num")) * 512,
                            json_integer_value(json_object_get(data, "sectors-count")) * 512);
        log_error(NULL, "replicas have no majority", "volume_id", target->volume, "sector",
                  LOG_INT(json_integer_value(json_object_get(data, "sector-num"))), NULL);
    }
}

int watch_events(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    json_t *event;
    int received = -1;

    if (!target->qmp)
        return error_set(err, ERROR_UNAVAILABLE, "there is no storage daemon");
    while ((received = qmp_event(target->qmp, arena, &event, err)) > 0)
        take_event(target, event);
    if (qmp_events_lost(target->qmp)) {
        target_next(target, TARGET_REPORTS_LOST);
        logs_note_lost_reports(target);
    }
    return received;
}

/* ---- probes of the files ---- */

/* The first file that a daemon is seen to have open is the one that it writes to until it ends: the
 * inode number of an open file is not reused. */
static bool is_exchanged(struct member *member) {
    const struct replica_probe *probe = &member->probe;

    if (member->inode == 0 && probe->held) {
        member->device = probe->device;
        member->inode = probe->inode;
    }
    return member->inode != 0 && probe->inode != 0 &&
           (member->device != probe->device || member->inode != probe->inode);
}

static void fail_file(struct target *target, struct member *member) {
    const struct replica_probe *probe = &member->probe;
    /* Writes to it are found by its path, whatever its state is. */
    bool linked =
        member_is_local(member) && probe->held && probe->inode != 0 && !is_exchanged(member);

    if (member_fails(member) && (linked || member->state != MEMBER_IS_FAILING))
        return;
    if (probe->health == REPLICA_GOOD)
        error_set(&member->why, ERROR_BACKEND, "%s",
                  member_is_local(member) ? "the storage daemon has another file open"
                                          : "its host does not serve it");
    else
        member->why = probe->why;
    log_warning(NULL, "file of a replica is not the served one", "volume_id", target->volume,
                "replica_id", member->replica.uid, "reason", member->why.message, NULL);
    target_note_failing(target, member, linked ? MEMBER_MISSED : MEMBER_FILE_LOST);
}

void watch_files(struct target *target) {
    TARGET_FOREACH(member, target) {
        const struct replica_probe *probe = &member->probe;

        member_probe(target, member);
        if (member->state >= MEMBER_IS_REBUILDING &&
            (probe->health == REPLICA_GONE || probe->health == REPLICA_DAMAGED ||
             (probe->health == REPLICA_GOOD && (!probe->held || is_exchanged(member)))))
            fail_file(target, member);
        else if (member->state == MEMBER_IS_VOTING && probe->health == REPLICA_FAILING &&
                 member->mismatches > 0) {
            /* Neither its data nor its state could be read: overwriting them repairs nothing. */
            member->why = probe->why;
            member->mismatches = 0;
            log_warning(NULL, "replica cannot be read", "volume_id", target->volume, "replica_id",
                        member->replica.uid, "reason", member->why.message, NULL);
            target_note_failing(target, member, MEMBER_MISSED);
        }
    }
}

/* ---- members that leave ---- */

/* It lacks no write, as far as it is reported. `surely`: nor does a report, before another one of
 * it, or later; an outvoted one may lack a write that it has failed. */
static bool is_complete(const struct member *member, bool surely) {
    return member_votes(member) && !member_fails(member) &&
           (!surely || (member->mismatches == 0 &&
                        (member->reported_us == 0 ||
                         clock_boottime_us() >= member->reported_us + EVENTS_LATE_US)));
}

/* Of the generation's members but for that one. */
static unsigned count_complete(const struct target *target, const struct member *leaving,
                               bool surely) {
    unsigned count = 0;

    for (unsigned i = 0; i < target->count; i++) {
        const struct member *member = &target->members[i];

        count += member != leaving && is_complete(member, surely) &&
                 generation_has(&target->current, member->replica.uid);
    }
    return count;
}

/* A joining one has each write. */
int target_exclude(struct target *target, struct member *leaving, struct change change,
                   struct error *err) {
    const struct member *joining = change.with ? member_find(target, change.with) : NULL;
    const unsigned needed = generation_needed(&target->current);
    struct error ignored;
    bool surely, enough;

    assert(member_votes(leaving) && strcmp(change.without, leaving->replica.uid) == 0);
    if (watch_events(target, err) < 0)
        return -1;
    surely = !joining && !member_fails(leaving);
    enough = count_complete(target, leaving, surely) >= needed;
    if (!enough && (joining || surely))
        return error_set(err, ERROR_CONFLICT, "The volume %s needs its replica %s.", target->volume,
                         leaving->replica.uid);
    if (logs_remove(target, leaving) < 0)
        return error_set(err, ERROR_BACKEND, "The write log of the replica %s cannot be removed.",
                         leaving->replica.uid);
    if (graph_detach_child(target, leaving->node, err) < 0 || watch_events(target, err) < 0)
        return -1;
    /* A write that one of them has missed was answered because the leaving one has it. */
    if (enough && count_complete(target, leaving, surely) < needed) {
        (void)target_kill(target, &ignored);
        return error_set(err, ERROR_UNAVAILABLE,
                         "The volume %s needs its replica %s: another one has failed.",
                         target->volume, leaving->replica.uid);
    }
    (void)graph_remove_node(target, leaving->node, &ignored); /* or target_watch() */
    if (joining && joining->state != MEMBER_IS_REBUILDING)
        change.with = NULL;
    if (generation_change(target, change, err) == 0)
        return 0;
    /* It gets no more writes, and leaves when the others have the generation. */
    if (!member_fails(leaving)) {
        leaving->why = *err;
        target_note_failing(target, leaving, MEMBER_MISSED);
    }
    return -1;
}
