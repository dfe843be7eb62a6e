#include "tests/lib/world.h"

#include "api/documents/watchers.h"
#include "common/cleanup.h"
#include "common/scoria_headers.h"
#include "drivers/fault.h"
#include "identity/identity.h"
#include "manager/check/check.h"
#include "model/type/group_type.h"
#include "model/type/type.h"
#include "operation/service.h"
#include "policy/rule.h"
#include "rest/router.h"
#include "tests/lib/exchange.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/postgresql.h"
#include "json/json.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

/* ---- time and chance ---- */

#define BOOTED_US 1799999000000000 /* where the steady clock began */

static int64_t read_wall(void *arg) {
    struct world *world = arg;

    return ++world->now_us + world->wall_ahead_us;
}

static int64_t read_steady(void *arg) {
    struct world *world = arg;

    return ++world->now_us - BOOTED_US;
}

static int64_t read_shared(void *arg) {
    struct world *world = arg;

    return ++world->now_us;
}

static uint64_t draw(struct world *world) {
    uint64_t z = (world->random += 0x9e3779b97f4a7c15U);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static void draw_bytes(void *arg, void *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t number = draw(arg);

        memcpy((char *)bytes + i, &number, size - i < 8 ? size - i : 8);
    }
}

/* ---- death ---- */

/* One effect: true when it still happens. */
static bool effect(struct world *world, const char *point) {
    if (world->dead)
        return false;
    if (world->counting && --world->effects_left < 0) {
        world->dead = true;
        world->died_at = point;
        return false;
    }
    return true;
}

static int db_effect(void *arg, const char *point, struct error *err) {
    struct world *world = arg;

    if (world->hiccups && strcmp(point, "before_commit") == 0) {
        world->hiccups--;
        return error_set(err, ERROR_UNAVAILABLE, "the disk is full");
    }
    if (effect(arg, point))
        return 0;
    return error_set(err, ERROR_UNAVAILABLE, "the process died");
}

static struct fault_decision driver_effect(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "get_pools") == 0 || strcmp(call, "list_volumes") == 0)
        return (struct fault_decision){ .action = FAULT_PASS };
    if (!effect(world, "before_driver"))
        return (struct fault_decision){ .action = FAULT_CRASH_BEFORE };
    if (!effect(world, "after_driver"))
        return (struct fault_decision){ .action = FAULT_CRASH_AFTER };
    if (world->decide)
        return world->decide(world, call, volume_id);
    return (struct fault_decision){ .action = FAULT_PASS };
}

static enum event_verdict send_event(struct compute_sender *sender, struct arena *arena,
                                     const struct compute_event *event, struct error *err) {
    struct world *world = (struct world *)(void *)((char *)sender - offsetof(struct world, sender));
    struct world_event *kept = &world->events[world->event_count % WORLD_EVENTS];
    enum event_verdict verdict = world->verdict;

    (void)arena;
    error_set(err, ERROR_BACKEND, "the compute side answers so");
    if (!effect(world, "before_event"))
        return EVENT_REFUSED;
    if (verdict != EVENT_REFUSED) {
        *kept = (struct world_event){ .wants_completion = event->wants_completion,
                                      .failed = event->failed };
        snprintf(kept->volume_id, sizeof kept->volume_id, "%s", event->volume_id);
        snprintf(kept->instance_uuid, sizeof kept->instance_uuid, "%s", event->instance_uuid);
        snprintf(kept->host, sizeof kept->host, "%s", event->host ? event->host : "");
        snprintf(kept->name, sizeof kept->name, "%s", event->name ? event->name : "");
        world->event_count++;
        if (world->on_event)
            world->on_event(world, kept);
    }
    return effect(world, "after_event") ? verdict : EVENT_REFUSED;
}

static enum event_verdict send_assist(struct compute_sender *sender, struct arena *arena,
                                      const struct compute_assist *assist, struct error *err) {
    struct world *world = (struct world *)(void *)((char *)sender - offsetof(struct world, sender));
    struct world_assist *kept = &world->assists[world->assist_count % WORLD_EVENTS];
    enum event_verdict verdict = world->verdict;

    (void)arena;
    error_set(err, world->refusal ? world->refusal : ERROR_BACKEND, "the compute side answers so");
    if (!effect(world, "before_assist"))
        return EVENT_REFUSED;
    if (verdict != EVENT_REFUSED) {
        *kept = (struct world_assist){ .deletes = !assist->new_file, .again = assist->again };
        snprintf(kept->snapshot_id, sizeof kept->snapshot_id, "%s", assist->snapshot_id);
        snprintf(kept->host, sizeof kept->host, "%s", assist->host ? assist->host : "");
        for (unsigned i = 0; i < assist->together_count; i++)
            snprintf(kept->together + strlen(kept->together),
                     sizeof kept->together - strlen(kept->together), "%s ", assist->together[i]);
        world->assist_count++;
        if (world->on_assist)
            world->on_assist(world, kept);
    }
    return effect(world, "after_assist") ? verdict : EVENT_REFUSED;
}

static enum event_verdict send_trim(struct compute_sender *sender, struct arena *arena,
                                    const struct compute_trim *trim, struct error *err) {
    struct world *world = (struct world *)(void *)((char *)sender - offsetof(struct world, sender));
    struct world_trim *kept = &world->trims[world->trim_count % WORLD_EVENTS];
    enum event_verdict verdict = world->verdict;

    (void)arena;
    error_set(err, world->refusal ? world->refusal : ERROR_BACKEND, "the compute side answers so");
    if (!effect(world, "before_trim"))
        return EVENT_REFUSED;
    if (verdict != EVENT_REFUSED) {
        *kept = (struct world_trim){ .again = trim->again };
        snprintf(kept->id, sizeof kept->id, "%s", trim->id);
        snprintf(kept->volume_id, sizeof kept->volume_id, "%s", trim->volume_id);
        snprintf(kept->instance_uuid, sizeof kept->instance_uuid, "%s", trim->instance_uuid);
        snprintf(kept->host, sizeof kept->host, "%s", trim->host ? trim->host : "");
        snprintf(kept->endpoint, sizeof kept->endpoint, "%s", trim->endpoint ? trim->endpoint : "");
        world->trim_count++;
        if (world->on_trim)
            world->on_trim(world, kept);
    }
    return effect(world, "after_trim") ? verdict : EVENT_REFUSED;
}

/* ---- birth ---- */

static int bootstrap_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return volume_type_bootstrap(work, err) < 0 ? -1 : group_type_bootstrap(work, err);
}

/* On PostgreSQL a schema costs a second: the tests of a program, each in a process of its own, one
 * behind the other, have the first one's.  In memory that these processes share. */
enum world_db { PRISTINE, SPARE, WORLD_DBS };
static char (*schemas)[256];

void world_beside_others(void) {
    static char own[WORLD_DBS][sizeof *schemas];

    munmap(schemas, WORLD_DBS * sizeof *schemas);
    schemas = own;
}

/* Rows of another test would be from the future: a clock that meets them is not sure. */
static void forget_times(const char *schema) {
    static const char *const tables[] = { "clock", "operations", "services", "outbox" };
    char sql[512] = "SET session_replication_role = replica";

    for (size_t i = 0; i < LENGTH(tables); i++)
        snprintf(sql + strlen(sql), sizeof sql - strlen(sql), "; DELETE FROM %s.%s", schema,
                 tables[i]);
    postgresql_sql(sql);
}

static const char *url_of(enum world_db which) {
    autofree char *server = NULL;

    if (!postgresql_given())
        return "sqlite://";
    if (schemas[which][0]) {
        forget_times(strstr(schemas[which], "%3D") + strlen("%3D"));
        return schemas[which];
    }
    server = postgresql_url();
    assert(strlen(server) < sizeof *schemas);
    return strcpy(schemas[which], server);
}

static struct db *dbs[WORLD_DBS];
static bool spare_is_fresh;

static void open_db(enum world_db which) {
    const struct db_settings settings = { .url = url_of(which), .inline_writes = true };
    struct error err;

    if (db_open(&settings, &dbs[which], &err) < 0) {
        fprintf(stderr, "world: %s\n", err.message);
        abort();
    }
}

/* One database is made with its schema, every world starts as a copy of it. */
static struct db *pristine_db(const struct settings *settings) {
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(settings, arena);
    struct error err;

    if (dbs[PRISTINE])
        return dbs[PRISTINE];
    open_db(PRISTINE);
    if (work_transaction(dbs[PRISTINE], &base, bootstrap_body, NULL, &err) < 0)
        abort();
    return dbs[PRISTINE];
}

/* Worlds follow each other: one database serves them all. */
static struct db *fresh_db(const struct settings *settings) {
    struct error err;

    if (!dbs[SPARE])
        open_db(SPARE);
    if (!spare_is_fresh && db_reset_from(dbs[SPARE], pristine_db(settings), &err) < 0) {
        fprintf(stderr, "world: %s\n", err.message);
        abort();
    }
    spare_is_fresh = false;
    return dbs[SPARE];
}

void world_open_anew(void) {
    for (int i = 0; i < WORLD_DBS; i++) {
        db_close(dbs[i]);
        dbs[i] = NULL;
    }
    spare_is_fresh = false;
}

static struct policy *shared_policy(void) {
    static struct policy *policy;
    const struct policy_settings settings = { .enforce_new_defaults = true };
    struct error err;

    if (!policy && policy_load(&settings, &policy, &err) < 0) {
        fprintf(stderr, "world: %s\n", err.message);
        abort();
    }
    return policy;
}

static void operation_ended(void *arg) {
    struct world *world = arg;

    if (!world->dead)
        api_operations_ended(world->api);
}

struct api_settings world_api_settings(struct world *world) {
    return (struct api_settings){
        .db = world->db,
        .settings = &world->settings,
        .policy = world->policy,
        .identity = &identity_none,
        .public_endpoint = "http://world",
        .watches = &document_watchers,
        .inline_transactions = true,
    };
}

struct manager_settings world_manager_settings(struct world *world) {
    return (struct manager_settings){
        .db = world->db,
        .settings = &world->settings,
        .compute = &world->sender,
        .node = WORLD_NODE,
        .owner = world->owner,
        .owner_prefix = WORLD_NODE ":",
        .zone = "nova",
        .backends = world->backends,
        .images = world->images,
        .operation_ended = operation_ended,
        .operation_ended_arg = world,
    };
}

static void start(struct world *world) {
    const struct api_settings api = world_api_settings(world);
    struct manager_settings manager = world_manager_settings(world);
    struct error err;

    snprintf(world->owner, sizeof world->owner, WORLD_NODE ":%u:1", ++world->incarnation);
    world->rpc = manager.rpc = rpc_local_new(0);
    if (api_new(&api, &world->api, &err) < 0 ||
        manager_start(&manager, &world->manager, &err) < 0) {
        fprintf(stderr, "world: %s\n", err.message);
        abort();
    }
    world->relay = relay_new(world->db, world->rpc, RELAY_STEPS);
}

static void stop(struct world *world) {
    relay_stop(world->relay);
    world->rpc->engine->stop(world->rpc);
    manager_stop(world->manager);
    api_free(world->api);
    if (world->abandoned)
        test_exchange_free(world->abandoned);
    world->abandoned = NULL;
}

static void set_up(struct world *world, const struct world_settings *wanted) {
    world->now_us = 1800000000000000;
    world->random = wanted->seed;
    world->clock = (struct clock){ .now_us = read_wall,
                                   .steady_us = read_steady,
                                   .shared_us = read_shared,
                                   .random = draw_bytes,
                                   .arg = world };
    world->settings = (struct settings){
        .clock = &world->clock,
        .default_volume_type = "__DEFAULT__",
        .storage_availability_zone = "nova",
        .quota_volumes = wanted->quota_volumes ? wanted->quota_volumes : 1000,
        .quota_gigabytes = wanted->quota_gigabytes ? wanted->quota_gigabytes : 100000,
        .quota_snapshots = 10,
        .quota_backups = 10,
        .quota_backup_gigabytes = 1000,
        .quota_groups = 10,
        .per_volume_size_limit = wanted->per_volume_size_limit ? wanted->per_volume_size_limit : -1,
        .extend_deadline_s = 600,
        .assisted_create_deadline_s = 600,
        .assisted_delete_deadline_s = 7200,
        .attached_reclaim_deadline_s = 3600,
        .operation_lease_s = 30,
        .message_ttl_s = 2592000,
        .service_down_s = 60,
        .replica_pool_down_s = 30,
        .replica_replacements_most = 2,
        .target_takeover_s = 60,
        .max_over_subscription_ratio = 20,
        .max_limit = 1000,
        .page_bytes = 8 << 20,
        .metadata_items = 128,
        .per_volume_attachments = 128,
        .per_project_messages = 1000,
        .node = WORLD_NODE,
    };
}

/* A schema takes longer than most tests.  Each of these, a process of its own, has a copy of the
 * databases in this one's memory; a connection to a server cannot be shared. */
__attribute__((constructor)) static void prepare(void) {
    static struct world nothing;

    schemas = mmap(NULL, WORLD_DBS * sizeof *schemas, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(schemas != MAP_FAILED);
    if (postgresql_given())
        return;
    set_up(&nothing, &(struct world_settings){ 0 });
    fresh_db(&nothing.settings);
    spare_is_fresh = true;
}

struct world *world_new(const struct world_settings *wanted) {
    struct world_settings settings = wanted ? *wanted : (struct world_settings){ 0 };
    struct world *world = calloc(1, sizeof *world);

    assert(world);
    log_open(getenv("WORLD_LOG") ? 2 : -1, LOG_DEBUG, LOG_TEXT); /* to inspect a failure */
    set_up(world, &settings);
    world->taker = (struct operation_taker)OPERATION_TAKER_INIT;
    if (settings.at_once || getenv("WORLD_AT_ONCE"))
        world->settings.taker = &world->taker;
    world->db = fresh_db(&world->settings);
    world->policy = shared_policy();
    world->memory = memory_new("pool", settings.capacity_gb ? settings.capacity_gb : 1000000);
    fault_describe(&memory_driver, &world->filter);
    world->filter_handle = fault_new(&memory_driver, world->memory, driver_effect, world);
    world->backends[0] = (struct manager_backend){
        .name = "memory",
        .backend_name = "memory",
        .driver = &world->filter,
        .handle = world->filter_handle,
    };
    world->sender = (struct compute_sender){
        .send = send_event,
        .asks_again = true,
        .assist = send_assist,
        .trim = send_trim,
    };
    world->token = "admin:" WORLD_PROJECT;
    world->minor = 71;
    world->arena = arena_new();
    start(world);
    db_set_fault(world->db, db_effect, world);
    return world;
}

void world_free(struct world *world) {
    if (!world)
        return;
    db_set_fault(world->db, NULL, NULL);
    stop(world);
    world->filter.close(world->filter_handle);
    json_decref(world->answer);
    arena_free(world->arena);
    free(world);
}

void world_die_after(struct world *world, int64_t effects) {
    world->counting = true;
    world->effects_left = effects;
}

void world_restart(struct world *world) {
    db_set_fault(world->db, NULL, NULL);
    rpc_local_forget(world->rpc);
    stop(world);
    world->dead = world->counting = false;
    fault_reset(world->filter_handle);
    start(world);
    db_set_fault(world->db, db_effect, world);
}

/* ---- requests ---- */

static void keep_headers(struct world *world, const struct http_exchange *http) {
    size_t size = 0;

    world->answer_headers[0] = '\0';
    for (unsigned i = 0; i < http->reply_header_count && size < sizeof world->answer_headers; i++) {
        const struct http_header *header = &http->reply_headers[i];

        size += (size_t)snprintf(world->answer_headers + size, sizeof world->answer_headers - size,
                                 "%s: %s\n", header->name,
                                 strstr(header->name, "request-id") ? "" : header->value);
    }
}

static void keep_answer(struct world *world, struct test_exchange *exchange) {
    const struct http_exchange *http = test_exchange_of(exchange);
    const char *extend = test_exchange_header(exchange, EXTEND_HEADER);

    snprintf(world->named_extend, sizeof world->named_extend, "%s", extend ? extend : "");
    keep_headers(world, http);
    json_decref(world->answer);
    world->status = http->status;
    world->answer = json_loadb(http->reply_body, http->reply_size, 0, NULL);
    snprintf(world->answer_text, sizeof world->answer_text, "%.*s", (int)http->reply_size,
             http->reply_body ? http->reply_body : "");
}

/* The effects of the response itself are left to the test. */
static void await_answer(struct world *world, struct test_exchange *exchange) {
    for (int i = 0; i < 1000 && !test_exchange_answered(exchange) && !world->dead; i++)
        if (world_relay(world) == 0 || !world_step(world, 0))
            api_operations_ended(world->api);
}

int world_call(struct world *world, const char *method, const char *path, const char *body) {
    const char *project = world->path_project ? world->path_project : strchr(world->token, ':') + 1;
    autoarena struct arena *own = arena_new();
    struct arena *arena = world->may_wait ? world->arena : own;
    const char *query = strchr(path, '?');
    const struct http_header headers[] = {
        { "Content-Type", "application/json" },
        { "X-Auth-Token", world->token },
        { "OpenStack-API-Version", arena_format(arena, "volume 3.%u", world->minor) },
        { world->extend  ? EXTEND_HEADER
          : world->retry ? RETRY_HEADER
                         : world->header,
          world->extend  ? world->extend
          : world->retry ? world->retry
                         : world->header_value },
        { NULL, NULL },
    };
    struct http_header *kept = arena_alloc(arena, sizeof headers);
    struct test_exchange *exchange;

    if (world->dead)
        return world->status = 0;
    path = arena_format(arena, "/v3%s%s%.*s", *project ? "/" : "", project,
                        (int)(query ? (size_t)(query - path) : strlen(path)), path);
    memcpy(kept, headers, sizeof headers);
    exchange = test_exchange_new(method, path, kept, arena_text(arena, body));
    test_exchange_of(exchange)->query = arena_text(arena, query ? query + 1 : "");
    api_handle(world->api, test_exchange_of(exchange));
    await_answer(world, exchange);
    if (!test_exchange_answered(exchange)) {
        if (!world->dead && (!world->may_wait || world->abandoned)) {
            fprintf(stderr, "world: %s %s has no answer\n", method, path);
            abort();
        }
        world->abandoned = exchange; /* the API answers it when it ends */
        return world->status = 0;
    }
    world->status = 0;
    if (!world->dead)
        keep_answer(world, exchange);
    test_exchange_free(exchange);
    return world->status;
}

int world_action(struct world *world, const char *volume_id, const char *format, ...) {
    autoarena struct arena *arena = arena_new();
    va_list values;
    const char *body;

    va_start(values, format);
    body = arena_vformat(arena, format, values);
    va_end(values);
    return world_call(world, "POST", arena_format(arena, "/volumes/%s/action", volume_id), body);
}

/* ---- work ---- */

unsigned world_relay(struct world *world) {
    struct error err;

    if (!world->dead)
        relay_step(world->relay, &err);
    return world->dead ? 0 : rpc_local_waiting(world->rpc);
}

bool world_step(struct world *world, unsigned index) {
    return !world->dead && rpc_local_step(world->rpc, index);
}

void world_settle(struct world *world) {
    for (int i = 0; i < 1000 && !world->dead; i++)
        if (world_relay(world) == 0 || !world_step(world, 0))
            return;
}

void world_advance(struct world *world, int64_t seconds) {
    struct error err;

    world->now_us += seconds * 1000000;
    if (!world->dead)
        manager_tick(world->manager, &err);
}

void world_step_wall(struct world *world, int64_t seconds) {
    world->wall_ahead_us += seconds * 1000000;
}

/* ---- short cuts ---- */

const char *world_answer_id(struct world *world, const char *wrapper) {
    const char *id =
        json_string_value(json_object_get(json_object_get(world->answer, wrapper), "id"));

    return id ? arena_text(world->arena, id) : NULL;
}

const char *world_volume(struct world *world, int64_t size_gb) {
    autoarena struct arena *arena = arena_new();
    const char *id;

    if (world_call(world, "POST", "/volumes",
                   arena_format(arena, "{\"volume\": {\"size\": %jd}}", (intmax_t)size_gb)) !=
        202) {
        fprintf(stderr, "world: create: %d %s\n", world->status, world->answer_text);
        abort();
    }
    id = world_answer_id(world, "volume");
    world_settle(world);
    return id;
}

const char *world_attach(struct world *world, const char *volume_id, const char *instance) {
    autoarena struct arena *arena = arena_new();
    const char *id;

    world_call(world, "POST", "/attachments",
               arena_format(arena,
                            "{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\", "
                            "\"connector\": {\"host\": \"" WORLD_NODE
                            "\", \"mountpoint\": \"/dev/vdb\"}}}",
                            volume_id, instance));
    id = world_answer_id(world, "attachment");
    if (!id || world_call(world, "POST", arena_format(arena, "/attachments/%s/action", id),
                          "{\"os-complete\": null}") != 204) {
        fprintf(stderr, "world: attach: %d %s\n", world->status, world->answer_text);
        abort();
    }
    memory_lock(world->memory, volume_id, true);
    return id;
}

const json_t *world_show(struct world *world, const char *volume_id) {
    autoarena struct arena *arena = arena_new();

    world_call(world, "GET", arena_format(arena, "/volumes/%s", volume_id), NULL);
    return json_object_get(world->answer, "volume");
}

const char *world_status(struct world *world, const char *volume_id) {
    const json_t *volume = world_show(world, volume_id);

    return volume ? json_string_value(json_object_get(volume, "status")) : "gone";
}

int64_t world_size(struct world *world, const char *volume_id) {
    return json_integer_value(json_object_get(world_show(world, volume_id), "size"));
}

int64_t world_real_gb(struct world *world, const char *volume_id) {
    int64_t bytes = memory_bytes(world->memory, volume_id);

    return bytes < 0 ? -1 : bytes / GIB;
}

struct number {
    const char *sql;
    int64_t value;
};

static int number_body(struct db_tx *tx, void *arg, struct error *err) {
    struct number *number = arg;

    return db_query_int(tx, &number->value, err, number->sql) < 0 ? -1 : 0;
}

int64_t world_count(struct world *world, const char *sql) {
    struct number number = { sql, 0 };
    struct error err;

    if (db_read(world->db, number_body, &number, &err) < 0) {
        fprintf(stderr, "world: %s: %s\n", sql, err.message);
        abort();
    }
    return number.value;
}

static int sql_body(struct db_tx *tx, void *arg, struct error *err) {
    return db_change(tx, err, (const char *)arg);
}

void world_sql(struct world *world, const char *sql) {
    autoarena struct arena *arena = arena_new();
    struct error err;
    int result;

    db_set_fault(world->db, NULL, NULL);
    result = db_transaction(world->db, sql_body, arena_text(arena, sql), &err);
    db_set_fault(world->db, db_effect, world);
    if (result < 0) {
        fprintf(stderr, "world: %s: %s\n", sql, err.message);
        abort();
    }
}

static int64_t sum_of(struct world *world, const char *column, const char *table,
                      const char *resource) {
    autoarena struct arena *arena = arena_new();

    return world_count(world, arena_format(arena,
                                           "SELECT COALESCE(SUM(%s), 0) FROM %s WHERE project_id = "
                                           "'" WORLD_PROJECT "' AND resource = '%s'",
                                           column, table, resource));
}

int64_t world_reserved(struct world *world, const char *resource) {
    return sum_of(world, "delta", "reservations", resource);
}

int64_t world_in_use(struct world *world, const char *resource) {
    return sum_of(world, "used", "quota_usages", resource) - world_reserved(world, resource);
}

bool world_has_message(struct world *world, const char *volume_id, const char *event_id) {
    autoarena struct arena *arena = arena_new();
    const json_t *list;
    size_t i;
    const json_t *message;
    bool found = false;

    world_call(world, "GET", arena_format(arena, "/messages?resource_uuid=%s", volume_id), NULL);
    list = json_object_get(world->answer, "messages");
    json_array_foreach(list, i, message) {
        found |= strcmp(json_string_value(json_object_get(message, "event_id")), event_id) == 0;
    }
    return found;
}

static void print_finding(void *arg, const char *promise, const char *text) {
    (void)arg;
    fprintf(stderr, "%s %s\n", promise, text);
}

static void count_note(void *arg, const char *text) {
    struct world *world = arg;

    (void)text;
    world->notes++;
}

int world_check(struct world *world) {
    const struct manager_backend behind_the_filter[2] = {
        { .name = "memory",
          .host_name = world->backends[0].host_name,
          .driver = &memory_driver,
          .handle = world->memory },
    };
    struct check check = {
        .db = world->db,
        .settings = &world->settings,
        .backends = behind_the_filter,
        .node = WORLD_NODE,
        .wrong = print_finding,
        .note = count_note,
        .arg = world,
    };
    struct error err;
    int findings;

    world->notes = 0;
    findings = check_run(&check, &err);

    if (findings < 0)
        fprintf(stderr, "check: %s\n", err.message);
    return findings;
}
