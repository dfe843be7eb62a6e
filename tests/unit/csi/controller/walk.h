/*
 * Drivers in front of a real service, a world (tests/lib/world.h): each request of a call to the
 * service fails in turn, in each of several ways, and each call meets another one before each of
 * its requests.
 */
#pragma once

#include "common/scoria_headers.h"
#include "tests/lib/world.h"
#include "tests/unit/csi/driver_test.h"

#include <pthread.h>
#include <stdatomic.h>

#define FORMAT(...) arena_format(service.world->arena, __VA_ARGS__)
#define COUNT(...)  world_count(service.world, FORMAT("SELECT COUNT(*) FROM " __VA_ARGS__))

enum { MOST_ATTEMPTS = 30, OTHERS = 3 };

static struct {
    pthread_mutex_t lock; /* guards the world, which has one thread at a time */
    struct world *world;
    atomic_uint steps;  /* of its work, after each request */
    atomic_uint undone; /* requests that delete attachments */
    const char *volumes[OTHERS];
    char group[64];      /* the last one that a call has reported */
    const char *failing; /* the call of the driver that fails, so many times */
    unsigned failures;
} service = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum manner { REFUSED, CONFLICTS, UNAVAILABLE, LOST, DEAD, DEAD_AFTER, MANNERS };

/* A driver and its way to the service.  A thread of the server reads its members. */
struct door {
    struct scene *scene;
    atomic_uint requests; /* of the current call */
    atomic_uint fail_at;  /* from 1 on; 0: never */
    _Atomic enum manner manner;
    atomic_uint meets_at; /* from 1 on; 0: never */
    void (*meets)(void);
    char *body;
};

static struct door doors[2];

/* ---- the service ---- */

static inline int answer_of_world(struct door *door, const struct script_request *request,
                                  const char **ret_body) {
    static const struct {
        const char *name, *value;
    } headers[] = { { UNIQUE_HEADER, "name" },
                    { UNIQUE_HEADER, "csi.name" },
                    { UNREPORTED_HEADER, "csi.untold" },
                    { INCOMPLETE_HEADER, "true" } };
    struct world *world = service.world;
    int status;

    service.undone +=
        strcmp(request->method, "DELETE") == 0 && strstr(request->path, "/attachments/");
    pthread_mutex_lock(&service.lock);
    world->header = NULL;
    for (size_t i = 0; i < LENGTH(headers); i++)
        if (script_request_has(request, headers[i].name, headers[i].value)) {
            world->header = headers[i].name;
            world->header_value = headers[i].value;
        }
    world->retry = script_request_has(request, RETRY_HEADER, "true") ? "true" : NULL;
    status = world_call(world, request->method, request->path + strlen("/v3"),
                        *request->body ? request->body : NULL);
    free(door->body);
    *ret_body = door->body = world->answer ? json_dumps(world->answer, 0) : NULL;
    for (unsigned i = 0; i < service.steps && world_relay(world) > 0; i++)
        world_step(world, 0);
    pthread_mutex_unlock(&service.lock);
    return status;
}

static inline int serve(void *arg, const struct script_request *request, const char **ret_body) {
    struct door *door = arg;
    unsigned number = ++door->requests;
    bool fails = number == door->fail_at;
    int status;

    if (number == door->meets_at)
        door->meets();
    if (door->fail_at && number > door->fail_at &&
        (door->manner == DEAD || door->manner == DEAD_AFTER))
        return 503;
    if (fails && (door->manner == DEAD || door->manner == UNAVAILABLE))
        return 503;
    if (fails && (door->manner == REFUSED || door->manner == CONFLICTS))
        return door->manner == REFUSED ? 400 : 409;
    status = answer_of_world(door, request, ret_body);
    return fails ? 0 : status;
}

/* ---- calls ---- */

/* The code of a call; *ret_answer is its message or NULL, for
 * protobuf_c_message_free_unpacked(). */
static inline unsigned call(struct door *door, const char *path, const void *request,
                            const ProtobufCMessageDescriptor *type, void *ret_answer) {
    autofree struct wire_answer *answer = NULL;
    unsigned code;

    door->requests = 0;
    answer = scene_request(door->scene, path, request);
    ck_assert_msg(!answer->gone && *answer->status, "%s: no response", path);
    code = (unsigned)strtoul(answer->status, NULL, 10);
    if (getenv("WORLD_LOG"))
        fprintf(stderr, "%s: %u %s\n", path, code, answer->message);
    if (ret_answer)
        *(void **)ret_answer = code == 0 ? scene_message(answer, type) : NULL;
    return code;
}

/* ---- objects ---- */

/* For a block device, of one node unless `several`. */
static struct capability {
    Csi__V1__VolumeCapability__AccessMode mode;
    Csi__V1__VolumeCapability__BlockVolume block;
    Csi__V1__VolumeCapability whole;
    bool several; /* nodes */
} capability = { CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__INIT,
                 CSI__V1__VOLUME_CAPABILITY__BLOCK_VOLUME__INIT, CSI__V1__VOLUME_CAPABILITY__INIT,
                 false };

static inline Csi__V1__VolumeCapability *one_node(void) {
    capability.mode.mode =
        capability.several ? CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__MULTI_NODE_MULTI_WRITER
                           : CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    capability.whole.access_mode = &capability.mode;
    capability.whole.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
    capability.whole.block = &capability.block;
    return &capability.whole;
}

static inline char *id_of(unsigned index) {
    return arena_text(service.world->arena, service.volumes[index]);
}

/* The first volume. */
static inline unsigned publish_on(struct door *door, const char *node, bool readonly) {
    Csi__V1__ControllerPublishVolumeRequest request =
        CSI__V1__CONTROLLER_PUBLISH_VOLUME_REQUEST__INIT;

    request.volume_id = id_of(0);
    request.node_id = arena_text(service.world->arena, node);
    request.volume_capability = one_node();
    request.readonly = readonly;
    return call(door, "/csi.v1.Controller/ControllerPublishVolume", &request, NULL, NULL);
}

static inline struct fault_decision driver_effect(void *arg, const char *name,
                                                  const char *volume_id) {
    (void)arg, (void)volume_id;
    if (service.failures == 0 || strcmp(name, service.failing) != 0)
        return (struct fault_decision){ .action = FAULT_PASS };
    service.failures--;
    return (struct fault_decision){ .action = FAULT_BEFORE };
}

static inline void renew_world(void) {
    if (service.world)
        world_free(service.world);
    service.world = world_new(NULL);
    service.world->decide = driver_effect;
    service.steps = 1;
    service.failures = 0;
    service.undone = 0;
}

static inline const char *new_volume(const char *type) {
    struct world *world = service.world;
    const char *id;

    world_call(world, "POST", "/volumes",
               FORMAT("{\"volume\": {\"size\": 1, \"volume_type\": \"%s\", \"metadata\": "
                      "{\"csi.name\": \"%u\"}}}",
                      type, (unsigned)COUNT("volumes")));
    id = world_answer_id(world, "volume");
    world_settle(world);
    return id;
}

static inline void open_doors(unsigned count) {
    renew_world(); /* which has no log */
    for (unsigned i = 0; i < count; i++) {
        doors[i].scene = scene_new(NULL);
        script_server_add(doors[i].scene->api,
                          &(struct script_rule){
                              .method = "GET", .path = "/v3/", .status = 200, .body = VERSIONS });
        script_server_add(doors[i].scene->api,
                          &(struct script_rule){ .serve = serve, .arg = &doors[i] });
    }
}

static inline void close_doors(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        scene_end(doors[i].scene);
        free(doors[i].body);
    }
    world_free(service.world);
}

/* ---- calls whose requests fail ---- */

#define CODE(number) (1U << (number))

struct scenario {
    void (*prepare)(void);
    unsigned (*request)(struct door *door);
    unsigned end;         /* the code of the repeated call that ends it */
    unsigned other_codes; /* bits: that a service without faults is the reason of, too */
    void (*check)(void);
};

/* Repeats the call, whose first attempts fail at these requests.  Was each of these reached? */
static inline bool converge(const struct scenario *scenario, unsigned index, enum manner manner,
                            const unsigned *fail_at, unsigned count) {
    struct door *door = &doors[0];
    bool met = true;
    unsigned code = 0;

    scenario->prepare();
    for (unsigned attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        door->fail_at = attempt < count ? fail_at[attempt] : 0;
        door->manner = manner;
        code = scenario->request(door);
        met = met && (attempt >= count || door->requests >= fail_at[attempt]);
        if (code == scenario->end && attempt + 1 >= count)
            break;
        ck_assert_msg(code == 0 || code == 10 || code == 14 || scenario->other_codes & CODE(code) ||
                          code == scenario->end ||
                          (attempt < count && (manner == REFUSED || manner == CONFLICTS)),
                      "scenario %u, manner %u, request %u of attempt %u: code %u", index, manner,
                      attempt < count ? fail_at[attempt] : 0, attempt, code);
    }
    door->fail_at = 0;
    ck_assert_msg(code == scenario->end, "scenario %u, manner %u, request %u: %u for ever", index,
                  manner, fail_at[0], code);
    world_settle(service.world);
    scenario->check();
    ck_assert_int_eq(world_check(service.world), 0);
    return met;
}

/* Each request of the call fails once, in each manner. */
static inline void fail_everywhere(const struct scenario *scenario, unsigned index) {
    for (enum manner manner = 0; manner < MANNERS; manner++)
        for (unsigned fail_at = 1 + WALK_FIRST; converge(scenario, index, manner, &fail_at, 1);)
            fail_at += WALK_STEP;
}

/* Two drivers die one after the other. */
static inline void fail_twice_everywhere(const struct scenario *scenario, unsigned index) {
    bool met = true;

    for (unsigned first = 1; met; first++)
        for (unsigned second = 1 + WALK_FIRST;; second += WALK_STEP) {
            const unsigned fail_at[] = { first, second };

            if (!converge(scenario, index, DEAD_AFTER, fail_at, LENGTH(fail_at))) {
                met = second > 1 + WALK_FIRST;
                break;
            }
        }
}

/* ---- calls that meet ---- */

static unsigned first_code, met_code;
static unsigned (*met_request)(struct door *door);

static inline void meet(void) {
    met_code = met_request(&doors[1]);
}

struct meeting {
    void (*prepare)(void);
    unsigned (*request)(struct door *door), (*meets)(struct door *door);
    unsigned ends, met_ends; /* bits: codes that end the repetition */
    void (*check)(void);
};

/* The other call comes before each request of the first one, at last behind it; both are repeated
 * until they end. */
static inline void meet_everywhere(const struct meeting *meeting, int index,
                                   void (*check)(const struct meeting *meeting)) {
    struct door *door = &doors[0];
    bool met = true;

    for (unsigned at = 1; met; at++) {
        unsigned code;

        meeting->prepare();
        met_request = meeting->meets;
        door->meets = meet;
        door->meets_at = at;
        code = meeting->request(door);
        met = door->requests >= at;
        door->meets_at = 0;
        if (!met)
            met_code = 10; /* its first time is behind the other one */
        for (unsigned i = 0; i < MOST_ATTEMPTS && !(meeting->met_ends & CODE(met_code)); i++) {
            ck_assert_msg(met_code == 10 || met_code == 14, "met %d at %u: %u", index, at,
                          met_code);
            meet();
        }
        for (unsigned i = 0; i < MOST_ATTEMPTS && !(meeting->ends & CODE(code)); i++) {
            ck_assert_msg(code == 10 || code == 14, "meeting %d at %u: %u", index, at, code);
            code = meeting->request(door);
        }
        ck_assert_msg(meeting->met_ends & CODE(met_code), "met %d at %u: %u", index, at, met_code);
        ck_assert_msg(meeting->ends & CODE(code), "meeting %d at %u: %u", index, at, code);
        first_code = code;
        world_settle(service.world);
        if (check)
            check(meeting);
        if (meeting->check)
            meeting->check();
        ck_assert_int_eq(world_check(service.world), 0);
    }
}
