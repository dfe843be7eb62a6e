#include "replication/node/reclaim.h"

#include "common/assert.h"
#include "common/log.h"
#include "common/reclaim_phase.h"
#include "json/json.h"

#include <string.h>

static void run_job(struct reclaim *reclaim, struct reclaim_jobs *jobs,
                    const struct replica *replica) {
    struct error why;
    int outcome;

    assert(reclaim->number > 0 && reclaim->phase == RECLAIM_PENDING);
    outcome = reclaim_jobs_run(jobs, replica, &reclaim->reclaimed, &why);
    if (outcome > 0)
        return;
    reclaim->why = outcome < 0 ? why : (struct error){ .kind = ERROR_NONE };
    if (outcome == 0) {
        reclaim->phase = RECLAIM_DONE;
        log_info(NULL, "space of a replica reclaimed", "replica_id", replica->uid, "pool",
                 replica->pool, "before_bytes", LOG_INT(reclaim->reclaimed.before_bytes),
                 "after_bytes", LOG_INT(reclaim->reclaimed.after_bytes), NULL);
        return;
    }
    if (why.kind == ERROR_CONFLICT || why.kind == ERROR_UNAVAILABLE)
        return; /* the replica is in use for a while */
    reclaim->phase = RECLAIM_ENDED;
    reclaim->reason =
        why.kind == ERROR_BAD_REQUEST ? RECLAIM_REASON_UNSUPPORTED : RECLAIM_REASON_FAILED;
    log_warning(NULL, "reclaim of a replica's space failed", "replica_id", replica->uid, "pool",
                replica->pool, "reason", why.message, NULL);
}

bool reclaim_reconcile(struct reclaim *reclaim, struct reclaim_jobs *jobs,
                       const struct replica *replica, const struct assignment *assignment,
                       bool may) {
    const struct assignment_reclaim *assigned = &assignment->replica.reclaim;

    if (reclaim->number != assigned->number) {
        reclaim_jobs_cancel(jobs, replica->uid);
        /* An outcome reported by an earlier agent is kept. */
        *reclaim = (struct reclaim){
            .number = assigned->number,
            .phase = assigned->phase,
            .reason = assigned->unsupported ? RECLAIM_REASON_UNSUPPORTED : RECLAIM_REASON_FAILED,
            .reclaimed = { .before_bytes = assigned->before_bytes,
                           .after_bytes = assigned->after_bytes },
        };
    }
    if (reclaim->number == 0 || reclaim->phase != RECLAIM_PENDING)
        return false;
    if (may)
        run_job(reclaim, jobs, replica);
    return reclaim->phase == RECLAIM_PENDING;
}

json_t *reclaim_json(const struct reclaim *reclaim, const struct reclaim_jobs *jobs,
                     const struct assignment *assignment, bool counters) {
    static const char *const phases[] = { [RECLAIM_PENDING] = RECLAIM_PHASE_PENDING,
                                          [RECLAIM_DONE] = RECLAIM_PHASE_DONE,
                                          [RECLAIM_ENDED] = RECLAIM_PHASE_FAILED };
    json_t *reported;

    if (reclaim->number == 0)
        return NULL;
    reported = json_pack("{s:I, s:s}", "number", (json_int_t)reclaim->number, "phase",
                         phases[reclaim->phase]);
    if (reclaim->phase == RECLAIM_DONE) {
        json_object_update_new(reported,
                               json_pack("{s:I, s:I}", "beforeBytes",
                                         (json_int_t)reclaim->reclaimed.before_bytes, "afterBytes",
                                         (json_int_t)reclaim->reclaimed.after_bytes));
    } else if (reclaim->phase == RECLAIM_ENDED) {
        json_object_set_new(reported, "reason", json_string(reclaim->reason));
    } else if (counters) {
        int64_t before = reclaim->reclaimed.at_byte;
        int64_t now = reclaim_jobs_done_bytes(jobs, assignment->uid);

        json_object_update_new(reported,
                               json_pack("{s:I, s:I}", "doneBytes",
                                         (json_int_t)(now > before ? now : before), "totalBytes",
                                         (json_int_t)assignment->replica.size_bytes));
    }
    if (reclaim->why.kind != ERROR_NONE)
        json_object_set_new(reported, "message", assignment_message(reclaim->why.message));
    return reported;
}
