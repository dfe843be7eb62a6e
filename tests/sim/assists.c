/*
 * Hosts' parts in snapshots below their guests: late, in several rounds, never, although they are
 * not awaited any more, with a report that is lost or a lie.  A host that dies forgets them.
 */
#include "tests/lib/memory_guests.h"
#include "tests/sim/compute.h"

#include <string.h>

#define ROUND_US 10000000                 /* between two signs of life */
#define APART_US (300 * INT64_C(1000000)) /* the members of its set have to come before that */

void assists_begin(struct sim *sim) {
    struct settings *settings = &sim->world->settings;

    memory_defer_snapshots(sim->world->memory, sim->temper.assists);
    settings->assisted_create_deadline_s = 600;
    if (sim->temper.moment) { /* they take several, and need space at rest */
        settings->quota_snapshots *= 5;
        settings->quota_gigabytes *= 5;
    }
    /* Only by asking again does a merge that an agent forgets come to an end; a snapshot that is
     * reset is its operator's, and waits for its deadline. */
    settings->assisted_delete_deadline_s = sim->temper.once ? 900 : 100000;
}

void assists_end(struct sim *sim) {
    memory_defer_snapshots(sim->world->memory, false);
}

/* ---- requests ---- */

static struct assist *find(struct host *host, const char *snapshot_id) {
    for (unsigned i = 0; i < SIM_ASSISTS; i++)
        if (strcmp(host->assists[i].snapshot_id, snapshot_id) == 0)
            return &host->assists[i];
    return NULL;
}

static enum event_verdict turn_away(struct error *err, enum error_kind kind, const char *why) {
    error_set(err, kind, "%s", why);
    return EVENT_REFUSED;
}

static enum event_verdict take_on(struct sim *sim, struct host *host,
                                  const struct compute_assist *request, struct error *err) {
    struct assist *assist = find(host, request->snapshot_id);
    struct text operation =
        look_for(sim, "SELECT id FROM operations WHERE object_id = $1", request->snapshot_id);
    bool deletes = !request->new_file;

    if (assist && assist->deletes != deletes)
        return turn_away(err, ERROR_BACKEND, "it is at something else");
    if (assist && sim->temper.once && strcmp(assist->operation, operation.found) == 0)
        wrong(sim, "a compute service is asked twice about %s", request->snapshot_id);
    if (!assist && !(assist = find(host, "")))
        return turn_away(err, ERROR_BACKEND, "there is too much");
    *assist =
        (struct assist){ .host = host,
                         .deletes = deletes,
                         .in_work = assist->in_work,
                         .carried = assist->carried,
                         .since_us = assist->snapshot_id[0] ? assist->since_us : sim->world->now_us,
                         .rounds = sim->calm ? 0 : below(sim, 4) };
    for (unsigned i = 0; i < request->together_count && i < SIM_TOGETHER; i++)
        snprintf(assist->together[assist->together_count++], 37, "%s", request->together[i]);
    snprintf(assist->volume_id, sizeof assist->volume_id, "%s", request->volume_id);
    snprintf(assist->snapshot_id, sizeof assist->snapshot_id, "%s", request->snapshot_id);
    snprintf(assist->operation, sizeof assist->operation, "%s", operation.found);
    note(sim, "%s is asked to %s %.8s", host->process.name, deletes ? "merge" : "take",
         request->snapshot_id);
    return EVENT_ACCEPTED;
}

enum event_verdict assist_event(struct sim *sim, const struct compute_assist *assist,
                                struct error *err) {
    struct host *host = host_named(sim, assist->host);
    enum guest_state state;

    if (!host || !host->process.alive || (sim->temper.losses && chance(sim, 5)))
        return EVENT_REFUSED;
    if (host->process.paused || (sim->temper.losses && chance(sim, 5)))
        return EVENT_UNKNOWN;
    state = guest_state_of(host, assist->volume_id);
    if (host->silent || state == GUEST_HANGING)
        return turn_away(err, ERROR_BACKEND, "libvirt does not answer");
    if (state == GUEST_OFF)
        return turn_away(err, ERROR_BAD_REQUEST, "the instance is not running");
    if (take_on(sim, host, assist, err) == EVENT_REFUSED)
        return EVENT_REFUSED;
    return sim->temper.losses && chance(sim, 10) ? EVENT_UNKNOWN : EVENT_ACCEPTED;
}

/* ---- at work ---- */

/* The status that came; 0: none. */
static int send_report(struct sim *sim, const struct assist *assist, const char *status,
                       const char *progress) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer;

    call_api(sim, SIM_ADMIN, "POST",
             arena_format(arena, "/snapshots/%s/action", assist->snapshot_id),
             arena_format(arena,
                          "{\"os-update_snapshot_status\": {\"status\": \"%s\", \"progress\": "
                          "\"%s\"}}",
                          status, progress),
             &answer);
    return answer.status;
}

static bool is_there(struct sim *sim, const struct assist *assist) {
    return memory_read_snapshot(sim->world->memory, assist->snapshot_id) >= 0;
}

/* The guest does it, unless an image of the request is gone by then. */
static void do_it(struct sim *sim, const struct assist *assist) {
    bool before = is_there(sim, assist);

    if (before == assist->deletes && assist->deletes)
        snapshot_touched(sim, "delete_snapshot", assist->snapshot_id);
    memory_assist(sim->world->memory, assist->snapshot_id);
    sim->counts[COUNT_ASSISTS] += before != is_there(sim, assist);
}

static void report(struct sim *sim, const struct assist *assist) {
    bool done = is_there(sim, assist) != assist->deletes;
    const char *meanwhile = assist->deletes ? "deleting" : "creating";
    const char *failed = assist->deletes ? "error_deleting" : "error";

    if (sim->temper.lies && chance(sim, 10))
        done = !done;
    if (sim->temper.losses && chance(sim, 10))
        return;
    note(sim, "%s: %.8s is %s", assist->host->process.name, assist->snapshot_id,
         done ? "done" : "not done");
    while (send_report(sim, assist, done ? meanwhile : failed, "90%") == 0)
        if (!pause_here(sim, "before a report is repeated"))
            return;
}

/* ---- several at one moment ---- */

static bool leads(const struct assist *assist) {
    for (unsigned i = 0; i < assist->together_count; i++)
        if (strcmp(assist->together[i], assist->snapshot_id) < 0)
            return false;
    return true;
}

static void carry(const struct assist *assist, bool carried) {
    for (unsigned i = 0; i < assist->together_count; i++) {
        struct assist *one = find(assist->host, assist->together[i]);

        if (one)
            one->carried = carried && strcmp(one->snapshot_id, assist->snapshot_id) != 0;
    }
}

static bool is_carried(const struct assist *assist) {
    const struct assist *one = find(assist->host, assist->snapshot_id);

    return one && one->carried;
}

/* Their volumes; false: not each was requested. */
static bool gather(const struct assist *assist, char ret[SIM_TOGETHER][37]) {
    for (unsigned i = 0; i < assist->together_count; i++) {
        const struct assist *one = find(assist->host, assist->together[i]);

        if (!one || one->deletes)
            return false;
        memcpy(ret[i], one->volume_id, 37);
    }
    return true;
}

static bool are_awaited(struct sim *sim, const struct assist *assist) {
    for (unsigned i = 0; i < assist->together_count; i++) {
        struct assist one = *assist;

        memcpy(one.snapshot_id, assist->together[i], sizeof one.snapshot_id);
        if (send_report(sim, &one, "creating", "0%") != 202)
            return false;
    }
    return true;
}

/* One call for all of them: each goes on in its overlay, or none does. */
static void take_all(struct sim *sim, const struct assist *assist, char volumes[SIM_TOGETHER][37]) {
    unsigned count = assist->together_count;

    if (!guest_runs_all(assist->host, volumes, count) || is_there(sim, assist) ||
        !memory_assist_all(sim->world->memory, assist->together, count))
        return;
    note(sim, "%s takes %u with %.8s", assist->host->process.name, count, assist->snapshot_id);
    moment_taken(sim, assist->together, count);
    sim->counts[COUNT_ASSISTS] += count;
}

/* As goes_on(): the leader includes all members when all were requested and their ends are
 * visible. */
static bool go_together(struct sim *sim, const struct assist *assist) {
    char volumes[SIM_TOGETHER][37];

    if (leads(assist) && gather(assist, volumes)) {
        carry(assist, true);
        if (are_awaited(sim, assist) && pause_here(sim, "before several are taken together"))
            take_all(sim, assist, volumes);
        carry(assist, false);
    }
    if (!pause_here(sim, "after several were taken together"))
        return false;
    if (!is_there(sim, assist) &&
        (is_carried(assist) || sim->world->now_us - assist->since_us < APART_US))
        return true;
    report(sim, assist);
    return false;
}

/* false: it has ended, or is not awaited. */
static bool goes_on(struct sim *sim, const struct assist *assist) {
    enum guest_state state;
    /* A compute service sends no query and reports only the end. */
    int awaited = sim->temper.once
                      ? 202
                      : send_report(sim, assist, assist->deletes ? "deleting" : "creating", "10%");

    if (awaited != 202)
        return awaited == 0;
    if (!pause_here(sim, "before a host does its part"))
        return false;
    state = guest_state_of(assist->host, assist->volume_id);
    if (assist->host->silent || state == GUEST_HANGING || assist->rounds > 0)
        return true;
    if (assist->together_count > 1 && (state == GUEST_RUNNING || is_carried(assist)))
        return go_together(sim, assist);
    if (state == GUEST_RUNNING)
        do_it(sim, assist);
    if (pause_here(sim, "after a host has done its part"))
        report(sim, assist);
    return false;
}

static void assist_run(struct sim *sim, void *arg) {
    struct assist *assist = arg, taken = *assist;
    bool more = goes_on(sim, &taken);

    /* Requested meanwhile it is checked once more. */
    assist->in_work = false;
    if (assist->host->process.dying || (!more && assist->due_us == taken.due_us)) {
        assist->snapshot_id[0] = '\0';
        return;
    }
    assist->rounds -= assist->rounds > 0;
    assist->due_us = sim->world->now_us + ROUND_US;
}

bool assists_work(struct sim *sim, struct host *host) {
    for (unsigned i = 0; i < SIM_ASSISTS; i++) {
        struct assist *assist = &host->assists[i];

        if (!assist->snapshot_id[0] || assist->in_work || assist->due_us > sim->world->now_us)
            continue;
        assist->due_us = sim->world->now_us;
        assist->in_work = thread_begin(sim, &host->process, assist_run, assist, "agent") != NULL;
        if (assist->in_work)
            return true;
    }
    return false;
}

void assists_forget(struct host *host) {
    memset(host->assists, 0, sizeof host->assists);
}
