#include "replication/node/room.h"

#include "common/log.h"
#include "common/reclaim_phase.h"
#include "json/json.h"

#include <string.h>

/* What was told before the agent began is told on. */
static void take(struct room *room, const struct assignment_reclaim *wanted) {
    *room = (struct room){
        .number = wanted->number,
        .phase = wanted->phase,
        .reason = wanted->unsupported ? RECLAIM_REASON_UNSUPPORTED : RECLAIM_REASON_FAILED,
        .dug = { .before_bytes = wanted->before_bytes, .after_bytes = wanted->after_bytes },
    };
}

static void note(struct room *room, const struct replica *place) {
    log_info(NULL, "replica has given back room", "replica_id", place->uid, "pool", place->pool,
             "before_bytes", LOG_INT(room->dug.before_bytes), "after_bytes",
             LOG_INT(room->dug.after_bytes), NULL);
}

/* Who has the replica, or works on it, lets go of it. */
static bool is_passing(const struct error *failure) {
    return failure->kind == ERROR_CONFLICT || failure->kind == ERROR_UNAVAILABLE;
}

static int64_t done_bytes(const struct room *room, const struct digs *digs, const char *replica) {
    int64_t at = digs_at(digs, replica);

    return at > room->dug.at_byte ? at : room->dug.at_byte;
}

static void dig(struct room *room, struct digs *digs, const struct replica *place) {
    struct error why;
    int outcome = digs_make(digs, place, &room->dug, &why);

    if (outcome > 0)
        return;
    room->why = outcome < 0 ? why : (struct error){ .kind = ERROR_NONE };
    if (outcome == 0) {
        room->phase = RECLAIM_DONE;
        note(room, place);
    } else if (!is_passing(&why)) {
        room->phase = RECLAIM_ENDED;
        room->reason =
            why.kind == ERROR_BAD_REQUEST ? RECLAIM_REASON_UNSUPPORTED : RECLAIM_REASON_FAILED;
        log_warning(NULL, "replica gives back no room", "replica_id", place->uid, "pool",
                    place->pool, "reason", why.message, NULL);
    }
}

bool room_keep(struct room *room, struct digs *digs, const struct replica *place,
               const struct assignment *assignment, bool may) {
    const struct assignment_reclaim *wanted = &assignment->replica.reclaim;

    if (room->number != wanted->number) {
        digs_forget(digs, place->uid);
        take(room, wanted);
    }
    if (room->number == 0 || room->phase != RECLAIM_PENDING)
        return false;
    if (may)
        dig(room, digs, place);
    return room->phase == RECLAIM_PENDING;
}

json_t *room_json(const struct room *room, const struct digs *digs,
                  const struct assignment *assignment, bool figures) {
    static const char *const phases[] = { [RECLAIM_PENDING] = RECLAIM_PHASE_PENDING,
                                          [RECLAIM_DONE] = RECLAIM_PHASE_DONE,
                                          [RECLAIM_ENDED] = RECLAIM_PHASE_FAILED };
    json_t *told;

    if (room->number == 0)
        return NULL;
    told =
        json_pack("{s:I, s:s}", "number", (json_int_t)room->number, "phase", phases[room->phase]);
    if (room->phase == RECLAIM_DONE)
        json_object_update_new(told, json_pack("{s:I, s:I}", "beforeBytes",
                                               (json_int_t)room->dug.before_bytes, "afterBytes",
                                               (json_int_t)room->dug.after_bytes));
    else if (room->phase == RECLAIM_ENDED)
        json_object_set_new(told, "reason", json_string(room->reason));
    else if (figures)
        json_object_update_new(told,
                               json_pack("{s:I, s:I}", "doneBytes",
                                         (json_int_t)done_bytes(room, digs, assignment->uid),
                                         "totalBytes", (json_int_t)assignment->replica.size_bytes));
    if (room->why.kind != ERROR_NONE)
        json_object_set_new(told, "message", assignment_message(room->why.message));
    return told;
}
