/*
 * The replicas of a target in memory, and its phase.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"

#include <string.h>

/* ---- replicas ---- */

void member_next(struct member *member, enum member_event event) {
    state_table_next(&member_states, &member->state, event);
}

bool member_votes(const struct member *member) {
    return member->state >= MEMBER_IS_VOTING;
}

bool member_fails(const struct member *member) {
    return member->state == MEMBER_IS_INCOMPLETE || member->state == MEMBER_IS_FAILING ||
           member->state == MEMBER_IS_UNLINKED;
}

struct member *member_find(struct target *target, const char *uid) {
    for (unsigned i = 0; i < target->count; i++) {
        if (strcmp(target->members[i].replica.uid, uid) == 0)
            return &target->members[i];
    }
    return NULL;
}

struct member *member_of_node(struct target *target, const char *node) {
    for (unsigned i = 0; node && i < target->count; i++) {
        if (strcmp(target->members[i].node, node) == 0)
            return &target->members[i];
    }
    return NULL;
}

/* QEMU's names are short: a letter and all but the first two digits of the uid. The daemon may
 * report about a node a second after its removal: the next of the replica has another letter. */
static const char letters[] = "rtuv";

/* Snapshots may follow each other within a second. */
static const char copy_letters[] = "swxyzabcdefghijklmnopq";

struct member *member_add(struct target *target, const struct replica *replica) {
    struct member *member = &target->members[target->count];
    size_t length = 0;

    assert(target->count < LENGTH(target->members) && !member_find(target, replica->uid));
    target->count++;
    *member = (struct member){ .lock = -1,
                               .logged.number = replica->access ? 0 : -1,
                               .access = replica->access ? replica->access : target->local,
                               .replica = { .pool = arena_text(target->arena, replica->pool),
                                            .uid = arena_text(target->arena, replica->uid),
                                            .access = replica->access } };
    if (replica->address)
        member->replica.address = arena_text(target->arena, replica->address);
    member->node[length++] = letters[0];
    for (const char *digit = replica->uid + 2; *digit && length < NODE_SIZE - 1; digit++) {
        if (*digit != '-')
            member->node[length++] = *digit;
    }
    strcpy(member->copy_node, member->node);
    member->copy_node[0] = copy_letters[0];
    return member;
}

static void next_letter(char *name, const char *all) {
    const char *next = strchr(all, name[0]) + 1;

    name[0] = *next ? *next : all[0];
}

void member_name_next(struct member *member) {
    assert(strchr(letters, member->node[0]));
    next_letter(member->node, letters);
}

void member_name_next_copy(struct member *member) {
    assert(strchr(copy_letters, member->copy_node[0]));
    next_letter(member->copy_node, copy_letters);
}

bool member_has_copy(const struct member *member, const char *node) {
    return node[0] && strchr(copy_letters, node[0]) && strcmp(member->copy_node + 1, node + 1) == 0;
}

bool member_is_named(struct member *member, const char *node) {
    if (!node[0] || !strchr(letters, node[0]) || strcmp(member->node + 1, node + 1) != 0)
        return false;
    member->node[0] = node[0];
    return true;
}

/* ---- the phase ---- */

bool target_serves(const struct target *target) {
    return target->phase >= TARGET_IS_IN_SYNC;
}

bool target_is_resynchronizing(const struct target *target) {
    return target->phase == TARGET_IS_RESYNCHRONIZING || target->phase == TARGET_IS_UNDECIDED;
}

bool target_is_equal(const struct target *target) {
    return target->phase == TARGET_IS_IN_SYNC || target->phase == TARGET_IS_REVERTED;
}

void target_next(struct target *target, enum target_event event) {
    const unsigned before = target->phase;
    const struct state_row *row = state_table_next(&target_phases, &target->phase, event);

    if (!row)
        return;
    if (row->next != before)
        target->reason = row->sentence;
    if (row->action == TARGET_RESYNCS)
        target->resyncs++;
    if (row->action == TARGET_RESYNCS || row->action == TARGET_COMPARES)
        target->compared_bytes = 0;
    if (row->action == TARGET_LOGS)
        log_info(NULL, "replicas resynchronized", "volume_id", target->volume, NULL);
}

void target_note_failing(struct target *target, struct member *member, enum member_event event) {
    if (!member_fails(member))
        member->failed = ++target->last_failed;
    member_next(member, event);
    target_next(target, TARGET_WRITE_MISSED);
}
