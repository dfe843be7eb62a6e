/*
 * The service's processes: two managers that serve one backend, and the API.  They share the
 * database and nothing else; each has its clock, its relay and its messages.
 */
#include "tests/sim/nodes.h"

#include "common/scoria_headers.h"
#include "drivers/memory.h"
#include "tests/lib/exchange.h"
#include "tests/lib/roles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- relay and periodic work: each has one thread in a process ---- */

static void relay_run(struct sim *sim, void *arg) {
    struct node *node = arg;
    struct error err;

    (void)sim;
    relay_step(node->relay, &err);
    node->relaying = false;
}

static void tick_run(struct sim *sim, void *arg) {
    struct node *node = arg;
    struct error err;

    if (manager_tick(node->manager, &err) < 0)
        note(sim, "%s: periodic work: %s", node->process.name, err.message);
    node->ticking = false;
}

static bool node_works(const struct node *node) {
    return node->process.alive && !node->process.paused;
}

static bool start_relay(struct sim *sim, struct node *node) {
    if (!node->relay || node->relaying || !node_works(node) ||
        !thread_begin(sim, &node->process, relay_run, node, "relay"))
        return false;
    return node->relaying = true;
}

static void start_tick(struct sim *sim, struct node *node) {
    if (node->manager && !node->ticking && node_works(node) &&
        thread_begin(sim, &node->process, tick_run, node, "periodic work"))
        node->ticking = true;
}

bool nodes_work(struct sim *sim) {
    unsigned first = below(sim, SIM_MANAGERS);

    for (unsigned i = 0; i < SIM_MANAGERS; i++) {
        struct node *node = &sim->nodes[(first + i) % SIM_MANAGERS];

        if (node_works(node) && messages_deliver(sim, node))
            return true;
    }
    if (!sim->calm)
        return start_relay(sim, &sim->nodes[first]);
    if (world_count(sim->world, "SELECT COUNT(*) FROM outbox") == 0)
        return false;
    for (unsigned i = 0; i < SIM_MANAGERS; i++)
        start_relay(sim, &sim->nodes[i]);
    return true;
}

void nodes_tick(struct sim *sim) {
    for (unsigned i = 0; i < SIM_MANAGERS; i++)
        start_tick(sim, &sim->nodes[i]);
}

/* ---- time, drivers, events ---- */

static int64_t read_wall(void *arg) {
    const struct node *node = arg;

    return ++node->sim->world->now_us + node->ahead_us;
}

/* Restarts with each start of a machine: two processes have nothing in common. */
static int64_t read_steady(void *arg) {
    const struct node *node = arg;

    return ++node->sim->world->now_us - node->booted_us;
}

static int64_t read_shared(void *arg) {
    const struct node *node = arg;

    return ++node->sim->world->now_us;
}

static void fill_random(void *arg, void *bytes, size_t size) {
    const struct node *node = arg;

    node->sim->world->clock.random(node->sim->world, bytes, size);
}

static struct fault_decision decide(void *arg, const char *call, const char *volume_id) {
    struct node *node = arg;
    struct sim *sim = node->sim;
    struct fault_decision decision = { .action = FAULT_PASS };

    if (!volume_id)
        return decision;
    if (!pause_here(sim, call))
        return (struct fault_decision){ .action = FAULT_CRASH_BEFORE };
    if (sim->temper.driver_faults && chance(sim, 3)) {
        decision.action = below(sim, 2) ? FAULT_BEFORE : FAULT_AFTER;
        note(sim, "%s of %.8s shall fail", call, volume_id);
        model_disturb(sim, volume_id);
    }
    return decision;
}

static enum event_verdict send_event(struct compute_sender *sender, struct arena *arena,
                                     const struct compute_event *event, struct error *err) {
    struct node *node = (struct node *)(void *)((char *)sender - offsetof(struct node, sender));
    enum event_verdict verdict;

    (void)arena;
    error_set(err, ERROR_BACKEND, "the compute side answers so");
    if (!pause_here(node->sim, "before an event"))
        return EVENT_REFUSED;
    verdict = host_event(node->sim, event, err);
    return pause_here(node->sim, "after an event") ? verdict : EVENT_REFUSED;
}

static enum event_verdict send_assist(struct compute_sender *sender, struct arena *arena,
                                      const struct compute_assist *assist, struct error *err) {
    struct node *node = (struct node *)(void *)((char *)sender - offsetof(struct node, sender));
    enum event_verdict verdict;

    (void)arena;
    error_set(err, ERROR_BACKEND, "the compute side answers so");
    if (!pause_here(node->sim, "before a host is asked"))
        return EVENT_REFUSED;
    verdict = assist_event(node->sim, assist, err);
    return pause_here(node->sim, "after a host was asked") ? verdict : EVENT_REFUSED;
}

static enum event_verdict send_trim(struct compute_sender *sender, struct arena *arena,
                                    const struct compute_trim *trim, struct error *err) {
    struct node *node = (struct node *)(void *)((char *)sender - offsetof(struct node, sender));
    enum event_verdict verdict;

    (void)arena;
    error_set(err, ERROR_BACKEND, "the compute side answers so");
    if (!pause_here(node->sim, "before a guest shall trim"))
        return EVENT_REFUSED;
    verdict = host_trim(node->sim, trim, err);
    return pause_here(node->sim, "after a guest shall trim") ? verdict : EVENT_REFUSED;
}

/* ---- birth and death ---- */

static void node_start(struct node *node) {
    struct sim *sim = node->sim;
    struct world *world = sim->world;
    struct error err;

    node->process.alive = true;
    node->process.dying = node->process.paused = node->relaying = node->ticking = false;
    snprintf(node->owner, sizeof node->owner, "%s:%u:1", node->process.name, ++node->incarnation);
    snprintf(node->prefix, sizeof node->prefix, "%s:", node->process.name);
    node->filter_handle = fault_new(&memory_driver, world->memory, decide, node);
    node->backends[0] = world->backends[0];
    node->backends[0].host_name = WORLD_NODE;
    node->backends[0].handle = node->filter_handle;
    if (node->serves) {
        struct api_settings api = world_api_settings(world);

        api.db = &node->door;
        api.identity = &identity_roles;
        api.settings = &node->settings;
        if (api_new(&api, &node->api, &err) < 0)
            abort();
    } else {
        struct manager_settings manager = world_manager_settings(world);

        manager.db = &node->door;
        manager.settings = &node->settings;
        manager.compute = &node->sender;
        manager.node = node->process.name;
        manager.owner = node->owner;
        manager.owner_prefix = node->prefix;
        manager.backends = node->backends;
        manager.operation_ended = NULL;
        manager.rpc = node->rpc = messages_new(node);
        if (manager_start(&manager, &node->manager, &err) < 0)
            abort();
        node->relay = relay_new(&node->door, node->rpc, RELAY_STEPS);
    }
}

static void node_stop(struct node *node) {
    node->process.dying = true;
    threads_end(node->sim, &node->process);
    if (node->relay)
        relay_stop(node->relay);
    if (node->rpc)
        node->rpc->engine->stop(node->rpc);
    if (node->manager)
        manager_stop(node->manager);
    if (node->api)
        api_free(node->api);
    for (unsigned i = 0; i < node->abandoned_count; i++)
        test_exchange_free(node->abandoned[i]);
    node->abandoned_count = 0;
    node->relay = NULL;
    node->rpc = NULL;
    node->manager = NULL;
    node->api = NULL;
    free(node->filter_handle); /* the memory driver behind it stays */
    node->process.alive = false;
}

static void node_init(struct sim *sim, struct node *node, const char *name, bool serves) {
    *node = (struct node){ .sim = sim, .process = { .name = name }, .serves = serves };
    node->booted_us = sim->world->now_us - (int64_t)below(sim, 1000000) * 1000000;
    node->clock = (struct clock){ .now_us = read_wall,
                                  .steady_us = read_steady,
                                  .shared_us = read_shared,
                                  .random = fill_random,
                                  .arg = node };
    node->settings = sim->world->settings;
    node->settings.clock = &node->clock;
    node->settings.node = name;
    node->sender = (struct compute_sender){ .send = send_event,
                                            .asks_again = !sim->temper.once,
                                            .assist = send_assist,
                                            .trim = send_trim };
    door_open(node);
    node_start(node);
}

void nodes_start(struct sim *sim) {
    sim->nodes = calloc(SIM_MANAGERS + 1, sizeof *sim->nodes);
    assert(sim->nodes);
    node_init(sim, &sim->nodes[0], "one", false);
    node_init(sim, &sim->nodes[1], "two", false);
    node_init(sim, &sim->nodes[SIM_MANAGERS], "api", true);
}

void nodes_free(struct sim *sim) {
    for (unsigned i = 0; i <= SIM_MANAGERS; i++)
        if (sim->nodes[i].process.alive)
            node_stop(&sim->nodes[i]);
    free(sim->nodes);
    sim->nodes = NULL;
}

/* All of them run on one machine, and die before the loss is visible. */
static void power_off(struct sim *sim) {
    struct node *end = sim->nodes + SIM_MANAGERS + 1;

    for (struct node *node = sim->nodes; node < end; node++)
        node->process.dying = node->process.alive;
    disk_lose(sim);
    for (struct node *node = sim->nodes; node < end; node++) {
        if (node->process.alive)
            node_stop(node);
        node->booted_us = sim->world->now_us;
    }
}

void nodes_power_off(struct sim *sim) {
    if (!sim->temper.power)
        return;
    note(sim, "the machine loses its power");
    sim->counts[COUNT_POWER]++;
    power_off(sim);
}

static void node_revive(struct node *node) {
    if (!node->process.alive)
        node_start(node);
    node->process.paused = false;
}

void nodes_revive(struct sim *sim) {
    if (sim->disk == DISK_LOST)
        nodes_power_off(sim);
    for (unsigned i = 0; i <= SIM_MANAGERS; i++)
        node_revive(&sim->nodes[i]);
}

static void step_clock(struct sim *sim, struct node *node) {
    static const int64_t seconds[] = { -3600, -90, -30, -5, 5, 30, 90, 3600 };
    int64_t step = seconds[below(sim, LENGTH(seconds))];

    node->ahead_us += step * 1000000;
    sim->counts[COUNT_CLOCKS]++;
    note(sim, "%s: its clock steps by %jd s", node->process.name, (intmax_t)step);
}

void node_act(struct sim *sim) {
    struct node *node = &sim->nodes[chance(sim, 10) ? SIM_MANAGERS : below(sim, SIM_MANAGERS)];
    unsigned drawn = below(sim, 100);

    if (sim->disk == DISK_LOST || (drawn < 10 && sim->temper.power && chance(sim, 50))) {
        nodes_power_off(sim);
        return;
    }
    if (sim->nodes[SIM_MANAGERS].process.paused) /* without it there is little to see */
        node = &sim->nodes[SIM_MANAGERS];
    if (!node->process.alive) {
        note(sim, "%s starts again", node->process.name);
        node_start(node);
    } else if (node->process.paused && drawn < 70) {
        note(sim, "%s wakes up", node->process.name);
        node->process.paused = false;
    } else if (drawn < 35 && sim->temper.clock_steps) {
        step_clock(sim, node);
    } else if (drawn < 50 && sim->temper.deaths) {
        note(sim, "%s dies", node->process.name);
        sim->counts[COUNT_DEATHS]++;
        node_stop(node);
    } else if (sim->temper.node_pauses) {
        note(sim, "%s is paused", node->process.name);
        sim->counts[COUNT_PAUSES]++;
        node->process.paused = true;
    }
}

void nodes_lose(struct sim *sim) {
    struct node *node = &sim->nodes[below(sim, SIM_MANAGERS)];

    if (node->rpc)
        messages_lose(node->rpc);
}

void nodes_repeat(struct sim *sim) {
    world_sql(sim->world, "INSERT INTO outbox (topic, method, key, payload, created_at) "
                          "SELECT 'cinder-volume.' || host, 'extend_volume', volume_id, "
                          "'{\"operation_id\": \"' || id || '\"}', created_at FROM operations");
    disk_flush(sim);
}

/* ---- requests ---- */

static void keep_answer(struct test_exchange *exchange, struct answer *ret) {
    const struct http_exchange *http = test_exchange_of(exchange);
    const char *extend = test_exchange_header(exchange, EXTEND_HEADER);

    snprintf(ret->extend, sizeof ret->extend, "%s", extend ? extend : "");
    ret->status = http->status;
    ret->body = json_loadb(http->reply_body, http->reply_size, 0, NULL);
    snprintf(ret->text, sizeof ret->text, "%.*s", (int)http->reply_size,
             http->reply_body ? http->reply_body : "");
}

static void await_answer(struct sim *sim, struct node *node, struct test_exchange *exchange) {
    while (!test_exchange_answered(exchange) && !node->process.dying &&
           !(sim->current && sim->current->home->dying)) {
        if (!sim->current)
            settle(sim);
        api_operations_ended(node->api);
        if (!sim->current)
            pass(sim, 1);
        else if (!test_exchange_answered(exchange))
            stop_here(sim);
    }
}

/* The texts live as long as the world: a request that is cut off is answered when the API ends. */
static struct test_exchange *exchange_new(struct arena *arena, const char *token,
                                          const char *method, const char *path, const char *body,
                                          const char *extend) {
    const char *query = strchr(path, '?');
    size_t length = query ? (size_t)(query - path) : strlen(path);
    const struct http_header headers[] = {
        { "Content-Type", "application/json" },
        { "X-Auth-Token", arena_text(arena, token) },
        { "OpenStack-API-Version", "volume 3.71" },
        { extend ? EXTEND_HEADER : NULL, arena_text(arena, extend) },
        { NULL, NULL },
    };
    struct test_exchange *exchange = test_exchange_new(
        method, arena_format(arena, "/v3/%s%.*s", strchr(token, ':') + 1, (int)length, path),
        arena_copy(arena, headers, sizeof headers), arena_text(arena, body));

    test_exchange_of(exchange)->query = query ? arena_text(arena, query + 1) : "";
    return exchange;
}

void call_api(struct sim *sim, const char *token, const char *method, const char *path,
              const char *body, struct answer *ret) {
    struct node *node = &sim->nodes[SIM_MANAGERS];
    struct thread *thread = sim->current;
    struct process *outside = thread ? thread->inside : NULL;
    struct test_exchange *exchange;

    *ret = (struct answer){ .status = 0 };
    if (!pause_here(sim, "before a request") || !node_works(node))
        return;
    exchange =
        exchange_new(sim->world->arena, token, method, path, body, thread ? thread->extend : NULL);
    if (thread) {
        thread->inside = &node->process;
        thread->commits = 0;
    }
    api_handle(node->api, test_exchange_of(exchange));
    await_answer(sim, node, exchange);
    if (thread) {
        thread->inside = outside;
        ret->changed = thread->commits > 0;
    }
    if (test_exchange_answered(exchange)) {
        if (!node->process.dying)
            keep_answer(exchange, ret);
        test_exchange_free(exchange);
    } else {
        assert(node->abandoned_count < LENGTH(node->abandoned));
        node->abandoned[node->abandoned_count++] = exchange;
    }
    if (!pause_here(sim, "after a request"))
        ret->status = 0;
}

void answer_free(struct answer *answer) {
    json_decref(answer->body);
}
