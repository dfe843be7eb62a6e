/*
 * The replicas reclaim space, each by its own node, while the volume is unpublished. Completed
 * when each reachable replica has reported its outcome; unreachable ones are not waited for, and
 * named.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "declared/config_reclaim.h"
#include "json/json.h"

struct summary {
    unsigned done, failed, unsupported, unreachable, waiting;
    int64_t before_bytes, after_bytes; /* of completed ones */
    const char *others;                /* pools with another outcome; "": none */
};

static void add_other(struct summary *summary, struct arena *arena, const char *pool,
                      const char *why) {
    summary->others = arena_join(arena, summary->others, *summary->others ? ", " : "", pool, " (",
                                 why, ")", NULL);
}

static void count(const struct reconcile *r, const struct document *replica, json_int_t number,
                  struct summary *summary) {
    const json_t *last = json_object_get(replica->status, "reclaim");
    const json_t *report = json_int_at(last, "number") == number ? last : NULL;
    const char *phase = tree_text(report, "phase"), *pool = replica_pool_of(replica);
    bool unsupported = text_is(tree_text(report, "reason"), RECLAIM_REASON_UNSUPPORTED);

    if (text_is(phase, RECLAIM_PHASE_DONE)) {
        summary->done++;
        summary->before_bytes += json_int_at(report, "beforeBytes");
        summary->after_bytes += json_int_at(report, "afterBytes");
    } else if (text_is(phase, RECLAIM_PHASE_FAILED)) {
        summary->failed++;
        summary->unsupported += unsupported;
        add_other(summary, r->work->arena, pool,
                  unsupported ? "its file system does not support it" : "failed");
    } else if (!reconcile_is_online(r, replica)) {
        summary->unreachable++;
        add_other(summary, r->work->arena, pool, "unreachable");
    } else {
        summary->waiting++;
    }
}

/* ---- the end ---- */

static const char *message_of(struct arena *arena, const struct summary *summary) {
    const char *of = *summary->others ? " Not reclaimed on: " : "";

    if (summary->done == 0)
        return arena_format(arena, "No replica has reclaimed space: %s.", summary->others);
    return arena_format(arena, "The replicas take %jd bytes, and took %jd before.%s%s%s",
                        (intmax_t)summary->after_bytes, (intmax_t)summary->before_bytes, of,
                        summary->others, *of ? "." : "");
}

static int end(struct reconcile *r, const json_t *reclaim, const struct summary *summary,
               struct error *err) {
    const char *message = message_of(r->work->arena, summary), *reason = RECLAIM_REASON_AWAY;
    json_t *ended = json_deep_copy(reclaim);

    assert(summary->waiting == 0);
    json_object_set_new(ended, "phase",
                        json_string(summary->done > 0 ? RECLAIM_PHASE_DONE : RECLAIM_PHASE_FAILED));
    json_object_set_new(ended, "message", json_string(message));
    if (summary->done > 0) {
        json_object_set_new(ended, "beforeBytes", json_integer(summary->before_bytes));
        json_object_set_new(ended, "afterBytes", json_integer(summary->after_bytes));
    } else {
        if (summary->failed > 0)
            reason = RECLAIM_REASON_FAILED;
        if (summary->unsupported > 0 && summary->unsupported == summary->failed &&
            summary->unreachable == 0)
            reason = RECLAIM_REASON_UNSUPPORTED;
        json_object_set_new(ended, "reason", json_string(reason));
    }
    update_put_status(r, &r->config, "reclaim", ended);
    return reconcile_record_event(r, *summary->others ? "Warning" : "Normal",
                                  *summary->others ? "SpaceNotReclaimed" : "SpaceReclaimed",
                                  message, err);
}

/* ---- the step ---- */

int reconcile_reclaim(struct reconcile *r, struct error *err) {
    const json_t *reclaim = config_reclaim_pending(&r->config.after);
    struct summary summary = { .others = "" };

    for (unsigned i = 0; i < r->count && reclaim; i++)
        if (!r->replicas[i].deleted_at)
            count(r, &r->replicas[i], json_int_at(reclaim, "number"), &summary);
    if (reclaim && summary.waiting == 0 && end(r, reclaim, &summary, err) < 0)
        return -1;
    /* the request stays in the specs of the replicas until it has ended */
    reclaim = config_reclaim_pending(&r->config.after);
    for (unsigned i = 0; i < r->count; i++)
        if (!r->replicas[i].deleted_at &&
            replica_put_spec(
                r, &r->replicas[i], "reclaim",
                reclaim ? json_pack("{s:O}", "number", json_object_get(reclaim, "number")) : NULL,
                err) < 0)
            return -1;
    return 0;
}
