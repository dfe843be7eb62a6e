/*
 * Callers without the right to their request: members of another project, to which no volume of
 * this one is visible, readers of this one, and members with requests of an administrator.  None of
 * them changes anything, whatever else goes on.
 */
#include "tests/sim/sim.h"

#include <string.h>

#define READER    "reader:" WORLD_PROJECT
#define MEMBER    "member:" WORLD_PROJECT
#define STRANGER  "member:" WORLD_OTHER
#define CONNECTOR "\"connector\": {\"host\": \"x\"}"

enum target { VOLUME, ATTACHMENT };

static const struct request {
    enum target target;
    bool members_may; /* of the volume's project */
    const char *method, *rest, *body;
} requests[] = {
    { VOLUME, true, "DELETE", "", NULL },
    { VOLUME, false, "DELETE", "?force=true", NULL },
    { VOLUME, true, "PUT", "", "{\"volume\": {\"name\": \"mine\"}}" },
    { VOLUME, true, "POST", "/metadata", "{\"metadata\": {\"a\": \"c\"}}" },
    { VOLUME, true, "POST", "/action", "{\"os-extend\": {\"new_size\": 12}}" },
    { VOLUME, true, "POST", "/action", "{\"os-reserve\": {}}" },
    { VOLUME, true, "POST", "/action", "{\"os-begin_detaching\": {}}" },
    { VOLUME, true, "POST", "/action", "{\"os-detach\": {}}" },
    { VOLUME, true, "POST", "/action", "{\"os-initialize_connection\": {" CONNECTOR "}}" },
    { VOLUME, false, "POST", "/action", "{\"os-reset_status\": {\"status\": \"available\"}}" },
    { VOLUME, false, "POST", "/action", "{\"os-force_delete\": {}}" },
    { VOLUME, false, "POST", "/action", "{\"os-extend_volume_completion\": {\"error\": true}}" },
    { ATTACHMENT, true, "PUT", "", "{\"attachment\": {" CONNECTOR "}}" },
    { ATTACHMENT, true, "POST", "/action", "{\"os-complete\": null}" },
    { ATTACHMENT, true, "DELETE", "", NULL },
};

/* The volume, or the requested object, may be gone by now: that error goes first. */
static void judge(struct sim *sim, const struct answer *answer, bool stranger, const char *what) {
    note(sim, "%s: %d", what, answer->status);
    if (answer->changed)
        wrong(sim, "%s has changed something: %d %s", what, answer->status, answer->text);
    if (answer->status > 0 && answer->status < 500 && answer->status != 404 &&
        (stranger || answer->status != 403))
        wrong(sim, "%s is answered %d %s", what, answer->status, answer->text);
}

static void send_request(struct sim *sim, const struct model *model,
                         const struct request *request) {
    autoarena struct arena *arena = arena_new();
    bool stranger = chance(sim, 60);
    const char *token = stranger                                  ? STRANGER
                        : request->members_may || chance(sim, 50) ? READER
                                                                  : MEMBER;
    const char *path =
        request->target == VOLUME
            ? arena_format(arena, "/volumes/%s%s", model->id, request->rest)
            : arena_format(arena, "/attachments/%s%s", model->attachment, request->rest);
    autoanswer struct answer answer;

    call_api(sim, token, request->method, path, request->body, &answer);
    judge(sim, &answer, stranger,
          arena_format(arena, "%.*s: %s %s %s", (int)strcspn(token, ":"), token, request->method,
                       path, request->body ? request->body : ""));
}

/* The response to a stranger. */
static void look_around(struct sim *sim, const struct model *model) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer one, all;

    call_api(sim, STRANGER, "GET", arena_format(arena, "/volumes/%s", model->id), NULL, &one);
    judge(sim, &one, true, "a stranger's look at a volume");
    call_api(sim, STRANGER, "GET", "/volumes/detail?all_tenants=1", NULL, &all);
    if (all.status == 200 && json_array_size(json_object_get(all.body, "volumes")) > 0)
        wrong(sim, "a stranger sees %s", all.text);
}

void trespass(struct sim *sim, void *arg) {
    const struct model *model = arg;
    const struct request *request = &requests[below(sim, LENGTH(requests))];

    if (chance(sim, 15))
        look_around(sim, model);
    else if (request->target == VOLUME || model->attachment[0])
        send_request(sim, model, request);
}
