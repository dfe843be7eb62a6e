/*
 * Requests of users and programs, each in a thread of its own: it may be anywhere between two of
 * its requests, or in the middle of one, when those of others come.
 */
#include "tests/lib/memory_guests.h"
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define MEMBER "member:" WORLD_PROJECT

/* ---- the client's knowledge ---- */

struct model *model_of(struct sim *sim, const char *volume_id) {
    for (unsigned i = 0; i < SIM_VOLUMES; i++)
        if (strcmp(sim->models[i].id, volume_id) == 0)
            return &sim->models[i];
    return NULL;
}

static void disturb(struct model *model) {
    model->disturbances++;
    model->must_become = 0;
}

void model_disturb(struct sim *sim, const char *volume_id) {
    struct model *model = model_of(sim, volume_id);

    if (model)
        disturb(model);
}

static struct model *pick(struct sim *sim) {
    unsigned first = below(sim, SIM_VOLUMES);

    for (unsigned i = 0; i < SIM_VOLUMES; i++) {
        struct model *model = &sim->models[(first + i) % SIM_VOLUMES];

        if (model->exists && (!model->removed || chance(sim, 10)))
            return model;
    }
    return NULL;
}

static const char *any_caller(struct sim *sim) {
    return chance(sim, 30) ? MEMBER : SIM_ADMIN;
}

int check_answer(struct sim *sim, const char *what, const struct answer *answer) {
    note(sim, "%s: %d %s", what, answer->status, answer->status >= 400 ? answer->text : "");
    if (answer->status == 0 || answer->status >= 500) {
        sim->counts[COUNT_UNANSWERED]++;
        return -1;
    }
    sim->counts[answer->status < 400 ? COUNT_ACCEPTED : COUNT_REFUSED]++;
    if (answer->status >= 400 && answer->changed)
        wrong(sim, "%s: a refusal (%d) has changed something: %s", what, answer->status,
              answer->text);
    return answer->status < 400;
}

__attribute__((format(printf, 4, 5))) static int
act_on(struct sim *sim, const char *token, const char *volume_id, const char *format, ...) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer;
    const char *body;
    va_list values;

    va_start(values, format);
    body = arena_vformat(arena, format, values);
    va_end(values);
    call_api(sim, token, "POST", arena_format(arena, "/volumes/%s/action", volume_id), body,
             &answer);
    return check_answer(sim, arena_format(arena, "%.8s %s", volume_id, body), &answer);
}

/* ---- volumes ---- */

struct model *model_new(struct sim *sim, const struct answer *answer, int64_t size_gb) {
    struct model *model = sim->models;
    const char *id;

    while (model < sim->models + SIM_VOLUMES && model->id[0])
        model++;
    if (model == sim->models + SIM_VOLUMES)
        return NULL;
    id = json_string_value(json_object_get(json_object_get(answer->body, "volume"), "id"));
    *model = (struct model){
        .exists = true, .sizes = { size_gb }, .size_count = 1, .seen_gb = size_gb, .guest = -1
    };
    memcpy(model->id, id, sizeof model->id);
    return model;
}

void model_removed(struct model *model, int verdict, bool with_image) {
    model->removed |= verdict != 0;
    model->destroyed |= with_image && verdict != 0;
}

void volume_make(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    int64_t size = 1 + below(sim, 4);
    autoanswer struct answer answer;

    (void)arg;
    call_api(sim, any_caller(sim), "POST", "/volumes",
             arena_format(arena, "{\"volume\": {\"size\": %jd}}", (intmax_t)size), &answer);
    if (check_answer(sim, "create", &answer) > 0)
        model_new(sim, &answer, size);
}

static int64_t attachments_of(struct sim *sim, const struct model *model) {
    autoarena struct arena *arena = arena_new();

    return world_count(
        sim->world,
        arena_format(arena, "SELECT COUNT(*) FROM attachments WHERE volume_id = '%s'", model->id));
}

/* No guest has it, and no worker that was given up stands still while it resizes the image. */
static bool is_unlocked(struct sim *sim, const struct model *model) {
    void *memory = sim->world->memory;

    if (guest_holds(sim, model->id) || !memory_lock(memory, model->id, true))
        return false;
    return memory_lock(memory, model->id, false);
}

/* Will an extend succeed?  A volume that an operator has set to available may have no image. */
static bool is_quiet(struct sim *sim, const struct model *model) {
    return is_unlocked(sim, model) && attachments_of(sim, model) == 0;
}

static void extend(struct sim *sim, void *arg) {
    struct model *model = arg;
    int64_t size =
        chance(sim, 90) ? row_size(sim, model->id) + 1 + below(sim, 3) : 1 + below(sim, 10);
    bool quiet = is_quiet(sim, model);
    unsigned before = model->disturbances;
    int verdict;

    if (model->size_count < SIM_SIZES)
        model->sizes[model->size_count++] = size;
    verdict = act_on(sim, any_caller(sim), model->id, "{\"os-extend\": {\"new_size\": %jd}}",
                     (intmax_t)size);
    /* The client that attached it may have begun before this request, and not be back yet. */
    quiet = quiet && is_quiet(sim, model);
    if (verdict > 0 && quiet && before == model->disturbances && size > model->must_become)
        model->must_become = size;
    if (verdict < 0)
        disturb(model);
}

static void delete (struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    struct model *model = arg;
    bool force = chance(sim, 30), cascade = chance(sim, 40);
    autoanswer struct answer answer;
    unsigned before;
    int verdict;

    disturb(model);
    before = model->disturbances;
    call_api(sim, force ? SIM_ADMIN : any_caller(sim), "DELETE",
             arena_format(arena, "/volumes/%s?force=%s&cascade=%s", model->id,
                          force ? "true" : "false", cascade ? "true" : "false"),
             NULL, &answer);
    verdict = check_answer(
        sim, arena_format(arena, "%.8s delete%s", model->id, force ? " by force" : ""), &answer);
    model_removed(model, verdict, true);
    model->deleted = verdict > 0 && before == model->disturbances;
}

static void reset(struct sim *sim, void *arg) {
    static const char *const statuses[] = { "available", "available", "available",
                                            "in-use",    "in-use",    "error",
                                            "extending", "deleting",  "error_extending" };
    struct model *model = arg;

    disturb(model);
    model->deleted = false;
    sim->counts[COUNT_RESETS]++;
    act_on(sim, SIM_ADMIN, model->id, "{\"os-reset_status\": {\"status\": \"%s\"}}",
           statuses[below(sim, LENGTH(statuses))]);
    disturb(model);
    model->deleted = false;
}

static void metadata(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    struct model *model = arg;
    autoanswer struct answer answer;

    call_api(sim, any_caller(sim), "POST", arena_format(arena, "/volumes/%s/metadata", model->id),
             chance(sim, 50) ? "{\"metadata\": {\"a\": \"b\"}}"
                             : "{\"metadata\": {\"extend_new_size\": \"999\"}}",
             &answer);
    check_answer(sim, "metadata", &answer);
}

/* As a foreign compute service reports: it knows an extend only by its status. */
static void plain_report(struct sim *sim, void *arg) {
    struct model *model = arg;

    disturb(model);
    act_on(sim, SIM_ADMIN, model->id, "{\"os-extend_volume_completion\": {\"error\": %s}}",
           chance(sim, 50) ? "true" : "false");
    disturb(model);
}

/* ---- attachments, as a compute service makes them ---- */

static const char *connector(struct sim *sim, struct arena *arena, unsigned guest) {
    return arena_format(arena, "{\"host\": \"%s\", \"mountpoint\": \"/dev/vdb\"}",
                        guest_host(sim, guest));
}

static void remove_attachment(struct sim *sim, const char *id) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer;

    call_api(sim, SIM_SERVICE, "DELETE", arena_format(arena, "/attachments/%s", id), NULL, &answer);
    check_answer(sim, "delete the attachment", &answer);
}

/* An answer that waits for the backend comes after a first transaction: no refusal changes nothing
 * there. */
static int connect(struct sim *sim, const char *id, unsigned guest) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer;

    call_api(
        sim, SIM_SERVICE, "PUT", arena_format(arena, "/attachments/%s", id),
        arena_format(arena, "{\"attachment\": {\"connector\": %s}}", connector(sim, arena, guest)),
        &answer);
    note(sim, "connect: %d", answer.status);
    return answer.status == 200;
}

static bool reserve(struct sim *sim, struct model *model, unsigned guest, char ret[37]) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer;

    call_api(sim, SIM_SERVICE, "POST", "/attachments",
             arena_format(arena,
                          "{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\"}}",
                          model->id, guest_instance(guest)),
             &answer);
    if (check_answer(sim, arena_format(arena, "%.8s reserve", model->id), &answer) <= 0)
        return false;
    snprintf(ret, 37, "%s",
             json_string_value(json_object_get(json_object_get(answer.body, "attachment"), "id")));
    return true;
}

static void complete(struct sim *sim, const char *id) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer;

    call_api(sim, SIM_SERVICE, "POST", arena_format(arena, "/attachments/%s/action", id),
             "{\"os-complete\": null}", &answer);
    check_answer(sim, "complete the attachment", &answer);
}

void attach_to(struct sim *sim, struct model *model, unsigned guest) {
    char id[37];

    disturb(model);
    if (!reserve(sim, model, guest, id))
        return;
    disturb(model);
    if (!connect(sim, id, guest) || model->guest >= 0 || !guest_plug(sim, guest, model->id)) {
        remove_attachment(sim, id);
        return;
    }
    note(sim, "%.8s is plugged into guest %u", model->id, guest);
    model->guest = (int)guest;
    memcpy(model->attachment, id, sizeof model->attachment);
    complete(sim, id);
}

/* Of the volumes of a group one guest has several. */
static void attach(struct sim *sim, void *arg) {
    attach_to(sim, arg, sim->temper.moment && chance(sim, 75) ? 0 : below(sim, SIM_GUESTS));
}

static void detach(struct sim *sim, void *arg) {
    struct model *model = arg;
    int guest = model->guest;
    bool slow = chance(sim, 15);

    if (guest < 0)
        return;
    disturb(model);
    model->guest = -1;
    if (!slow)
        guest_unplug(sim, (unsigned)guest, model->id);
    remove_attachment(sim, model->attachment);
    pause_here(sim, "before the guest lets go");
    guest_unplug(sim, (unsigned)guest, model->id);
    disturb(model);
}

/* ---- attachments, as older clients make them ---- */

static void old_attach(struct sim *sim, void *arg) {
    struct model *model = arg;
    unsigned guest = below(sim, SIM_GUESTS);

    disturb(model);
    if (act_on(sim, SIM_SERVICE, model->id, "{\"os-reserve\": {}}") <= 0)
        return;
    if (model->guest >= 0 || !guest_plug(sim, guest, model->id)) {
        act_on(sim, SIM_SERVICE, model->id, "{\"os-unreserve\": {}}");
        return;
    }
    if (act_on(sim, SIM_SERVICE, model->id,
               "{\"os-attach\": {\"instance_uuid\": \"%s\", \"mountpoint\": \"/dev/vdc\", "
               "\"host_name\": \"%s\"}}",
               guest_instance(guest), guest_host(sim, guest)) > 0)
        model->guest = (int)guest; /* until then an operator may force it away */
    else
        guest_unplug(sim, guest, model->id);
}

static void old_detach(struct sim *sim, void *arg) {
    struct model *model = arg;
    int guest = model->guest;

    if (guest < 0)
        return;
    disturb(model);
    act_on(sim, SIM_SERVICE, model->id, "{\"os-begin_detaching\": {}}");
    model->guest = -1;
    guest_unplug(sim, (unsigned)guest, model->id);
    act_on(sim, SIM_SERVICE, model->id, "{\"os-detach\": {}}");
    disturb(model);
}

static void old_connect(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer;
    const struct model *model = arg;

    call_api(sim, SIM_SERVICE, "POST", arena_format(arena, "/volumes/%s/action", model->id),
             "{\"os-initialize_connection\": {\"connector\": {\"host\": \"x\"}}}", &answer);
    note(sim, "%.8s initialize_connection: %d", model->id, answer.status);
    if (chance(sim, 90))
        act_on(sim, SIM_SERVICE, model->id,
               "{\"os-terminate_connection\": {\"connector\": {\"host\": \"x\"}}}");
}

/* Its content stays (snapshot_check_end()). */
static void reclaim(struct sim *sim, void *arg) {
    const struct model *model = arg;

    memory_waste(sim->world->memory, model->id, 1 + below(sim, 1000));
    act_on(sim, any_caller(sim), model->id, "{\"os-reclaim_space\": {}}");
}

/* ---- which of them ---- */

/* Each is made mostly where it has a chance, and now and then where it has none. */
static const struct {
    void (*run)(struct sim *sim, void *arg);
    const char *name;
    unsigned weight;
    const char *where; /* statuses; NULL: on no volume */
} requests[] = {
    { volume_make, "create", 4, NULL },
    { extend, "extend", 40, "available in-use" },
    { attach, "attach", 26, "available reclaiming" },
    { detach, "detach", 12, "in-use extending error_extending" },
    { delete, "delete", 6, "available error error_extending extending deleting reclaiming" },
    { reset, "reset", 12, "error error_extending error_deleting extending deleting reclaiming" },
    { reclaim, "reclaim", 6, "available in-use" },
    { snapshot_take, "snapshot", 10, "available in-use" },
    { snapshot_drop, "drop a snapshot", 6, "available in-use extending" },
    { snapshot_reset, "reset a snapshot", 2, "available in-use" },
    { snapshot_revert, "revert", 6, "available" },
    { snapshot_copy, "copy", 3, "available in-use" },
    { volume_let_go, "unmanage", 3, "available error error_unmanaging" },
    { volume_take_over, "manage", 3, NULL },
    { group_join, "join a group", 6, "available in-use" },
    { group_leave, "leave a group", 2, "available in-use" },
    { group_drop, "delete a group", 8, "available error error_deleting" },
    { group_reset, "reset a group", 4, "available deleting error_deleting" },
    { group_snapshot_take, "group snapshot", 10, "available in-use" },
    { group_snapshot_drop, "drop a group snapshot", 8, "available in-use" },
    { group_snapshot_reset, "reset a group snapshot", 2, "available in-use" },
    { content_write, "write", 10, "available in-use extending error" },
    { metadata, "metadata", 1, "available in-use extending" },
    { plain_report, "plain report", 2, "extending" },
    { old_attach, "old attach", 5, "available reclaiming" },
    { old_detach, "old detach", 3, "in-use extending" },
    { old_connect, "old connect", 1, "available in-use reclaiming" },
    { trespass, "trespass", 8, "available in-use extending error_extending deleting" },
};

static bool is_of_snapshots(unsigned request) {
    void (*run)(struct sim * sim, void *arg) = requests[request].run;

    return run == snapshot_take || run == snapshot_drop || run == snapshot_revert ||
           run == snapshot_reset;
}

/* Also of those that are made below a guest, which are few otherwise. */
static unsigned weight_of(const struct sim *sim, unsigned request) {
    void (*run)(struct sim * sim, void *arg) = requests[request].run;
    bool assisted = sim->temper.assists && (run == snapshot_take || run == snapshot_drop);
    bool together =
        sim->temper.moment && (run == group_snapshot_take || run == group_snapshot_drop);

    return requests[request].weight * (sim->temper.snapshots && is_of_snapshots(request) ? 5 : 1) *
           (assisted ? 6 : 1) * (together ? 8 : 1);
}

static unsigned draw_request(struct sim *sim) {
    unsigned total = 0, drawn, i = 0;

    for (unsigned j = 0; j < LENGTH(requests); j++)
        total += weight_of(sim, j);
    drawn = below(sim, total);
    while (drawn >= weight_of(sim, i))
        drawn -= weight_of(sim, i++);
    return i;
}

static bool has_a_chance(struct sim *sim, const struct model *model, unsigned request) {
    void (*run)(struct sim * sim, void *arg) = requests[request].run;

    if (((run == delete || run == group_drop || run == volume_let_go) && !sim->temper.deletes) ||
        ((run == reset || run == group_reset) && !sim->temper.resets))
        return false;
    return chance(sim, 10) || strstr(requests[request].where, row_status(sim, model->id));
}

/* So that a seed does not begin with an empty world. */
void clients_begin(struct sim *sim) {
    unsigned attached = below(sim, 4);

    sim->clients = (struct process){ .name = "client", .alive = true };
    sim->calm = true;
    groups_begin(sim);
    if (sim->temper.moment)
        moments_begin(sim);
    for (unsigned i = 0; i < 2 && !sim->temper.moment; i++) {
        volume_make(sim, NULL);
        settle(sim);
        if (below(sim, 5) < 2)
            group_join(sim, &sim->models[i]);
        if (i < attached)
            attach(sim, &sim->models[i]);
    }
    sim->calm = false;
}

void clients_end(struct sim *sim) {
    sim->clients.dying = true;
    threads_end(sim, &sim->clients);
}

void client_act(struct sim *sim) {
    for (unsigned tries = 0; tries < 6; tries++) {
        struct model *model = pick(sim);
        unsigned i = draw_request(sim);

        if (requests[i].where && (!model || !has_a_chance(sim, model, i)))
            continue;
        thread_begin(sim, &sim->clients, requests[i].run, model, requests[i].name);
        return;
    }
}
