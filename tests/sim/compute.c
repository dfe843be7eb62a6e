/*
 * Hypervisor hosts: what the agent does is the program's own (compute/job.c, resize.c, complete.c,
 * report.c, volume_api.c); its threads, its way to the API, its image tool and its hypervisor are
 * here.  The linker takes these functions instead of those of common/worker.c, common/own_user.c
 * and compute/image.c.
 *
 * A running guest holds the lock of its images and sees the size that they had when it took them,
 * until it is told of another.  One that hangs does what it was told when it goes on.
 */
#include "common/own_user.h"
#include "common/worker.h"
#include "compute/image.h"
#include "compute/job.h"
#include "compute/report.h"
#include "drivers/memory.h"
#include "tests/sim/sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 64

struct item {
    struct worker_pool *pool;
    char key[64];
    void (*run)(void *arg);
    void *arg;
    int64_t due_us;
    bool there, in_work;
    uint64_t number;
};

struct worker_pool {
    struct host *host;
    struct worker_pool *next;
    struct item items[ITEMS];
    uint64_t number;
};

struct plug {
    char volume_id[37]; /* "": none */
    int64_t capacity;   /* what a running guest sees */
    int64_t told;       /* what a hanging guest was told to grow it to */
};

enum guest_state { GUEST_OFF, GUEST_RUNNING, GUEST_HANGING };

struct guest {
    enum guest_state state;
    struct plug plugs[SIM_VOLUMES];
};

struct host {
    struct hypervisor hypervisor; /* first */
    struct process process;
    struct sim *sim;
    struct worker_pool *pools;
    struct worker_pool *reports;
    struct jobs *jobs;
    struct reporter *reporter;
    bool silent;                     /* its libvirt hangs */
    struct guest guests[SIM_GUESTS]; /* those with guest_home() here */
};

static const char *const host_names[SIM_HOSTS] = { "host0", "host1" };
static const char *const instances[SIM_GUESTS] = { WORLD_INSTANCE, WORLD_INSTANCE2,
                                                   "33333333-3333-4333-8333-333333333333" };

/* ---- the agent's threads ---- */

static struct host *founder; /* the host whose pools are being made */

struct worker_pool *worker_pool_new(const char *name, unsigned threads) {
    struct worker_pool *pool = calloc(1, sizeof *pool);

    (void)name, (void)threads;
    assert(pool && founder);
    pool->host = founder;
    pool->next = founder->pools;
    return founder->pools = pool;
}

void worker_pool_put_later(struct worker_pool *pool, const struct work_item *item,
                           int64_t delay_ms) {
    struct item *place = pool->items;

    while (place < pool->items + ITEMS && place->there)
        place++;
    assert(place < pool->items + ITEMS);
    *place = (struct item){ .pool = pool,
                            .run = item->run,
                            .arg = item->arg,
                            .due_us = clock_monotonic_us() + delay_ms * 1000,
                            .there = true,
                            .number = ++pool->number };
    snprintf(place->key, sizeof place->key, "%s", item->key ? item->key : "");
}

void worker_pool_put(struct worker_pool *pool, const struct work_item *item) {
    worker_pool_put_later(pool, item, 0);
}

unsigned worker_pool_pending(struct worker_pool *pool) {
    unsigned count = 0;

    for (unsigned i = 0; i < ITEMS; i++)
        count += pool->items[i].there;
    return count;
}

void worker_pool_close(struct worker_pool *pool) {
    (void)pool;
}

void worker_pool_stop(struct worker_pool *pool) {
    struct worker_pool **place = &pool->host->pools;

    while (*place != pool)
        place = &(*place)->next;
    *place = pool->next;
    free(pool);
}

static bool may_begin(const struct worker_pool *pool, const struct item *item, int64_t now_us) {
    if (!item->there || item->in_work || item->due_us > now_us)
        return false;
    for (unsigned i = 0; i < ITEMS && item->key[0]; i++) {
        const struct item *other = &pool->items[i];

        if (other->there && other != item && strcmp(other->key, item->key) == 0 &&
            (other->in_work || other->number < item->number))
            return false;
    }
    return true;
}

static void item_run(struct sim *sim, void *arg) {
    struct item *item = arg;
    struct item taken = *item;

    (void)sim;
    taken.run(taken.arg);
    item->there = false;
}

static bool pool_work(struct sim *sim, struct worker_pool *pool) {
    unsigned first = below(sim, ITEMS);
    int64_t now_us = clock_monotonic_us();

    for (unsigned i = 0; i < ITEMS; i++) {
        struct item *item = &pool->items[(first + i) % ITEMS];

        if (!may_begin(pool, item, now_us))
            continue;
        item->in_work = thread_start(sim, &pool->host->process, item_run, item, "agent") != NULL;
        return item->in_work;
    }
    return false;
}

bool hosts_work(struct sim *sim) {
    unsigned first = below(sim, SIM_HOSTS);

    for (unsigned i = 0; i < SIM_HOSTS; i++) {
        struct host *host = &sim->hosts[(first + i) % SIM_HOSTS];

        if (!host->process.alive || host->process.paused)
            continue;
        for (struct worker_pool *pool = host->pools; pool; pool = pool->next)
            if (pool_work(sim, pool))
                return true;
    }
    return false;
}

/* ---- the agent's way to the API ---- */

bool own_user_is_known(const struct own_user *user) {
    (void)user;
    return false;
}

int own_user_endpoint(struct own_user *user, struct arena *arena, const char *const *types,
                      int64_t timeout_ms, const char **ret, struct error *err) {
    (void)user, (void)arena, (void)types, (void)timeout_ms, (void)ret;
    return error_set(err, ERROR_UNAVAILABLE, "there is no catalog");
}

/* Whose read or report the thread sends: volumes/ID or volumes/ID/action. */
static void watch(struct thread *thread, const char *method, const char *path) {
    thread->watches[0] = '\0';
    if (strncmp(path, "/volumes/", 9) != 0 || strlen(path) < 45)
        return;
    snprintf(thread->watches, sizeof thread->watches, "%.36s", path + 9);
    thread->reports = strcmp(method, "POST") == 0;
}

int own_user_call(struct own_user *user, struct arena *arena, const struct http_call *call,
                  struct http_answer *ret, struct error *err) {
    const char *path = strstr(call->url, "sim") + 3;
    autoanswer struct answer answer;
    autofree char *text = NULL;

    (void)user;
    watch(present->current, call->method, path);
    call_api(present, "admin:" WORLD_PROJECT, call->method, path, call->body, &answer);
    present->current->watches[0] = '\0';
    if (answer.status == 0) {
        error_set(err, ERROR_UNAVAILABLE, "no answer");
        return HTTP_NO_ANSWER;
    }
    present->counts[COUNT_REPORTS] += strcmp(call->method, "POST") == 0;
    text = answer.body ? json_dumps(answer.body, 0) : NULL;
    *ret = (struct http_answer){ .status = answer.status };
    ret->body = arena_text(arena, text ? text : "");
    ret->body_size = strlen(ret->body);
    return 0;
}

/* ---- guests ---- */

const char *guest_instance(unsigned guest) {
    return instances[guest];
}

static struct host *guest_home(struct sim *sim, unsigned guest) {
    return &sim->hosts[guest % SIM_HOSTS];
}

const char *guest_host(struct sim *sim, unsigned guest) {
    return guest_home(sim, guest)->process.name;
}

static struct guest *guest_of(struct sim *sim, unsigned guest) {
    return &guest_home(sim, guest)->guests[guest];
}

static struct plug *plug_find(struct guest *guest, const char *volume_id) {
    for (unsigned i = 0; i < SIM_VOLUMES; i++)
        if (strcmp(guest->plugs[i].volume_id, volume_id) == 0)
            return &guest->plugs[i];
    return NULL;
}

bool guest_holds(struct sim *sim, const char *volume_id) {
    for (unsigned i = 0; i < SIM_GUESTS; i++) {
        struct guest *guest = guest_of(sim, i);

        if (guest->state != GUEST_OFF && plug_find(guest, volume_id))
            return true;
    }
    return false;
}

/* As QEMU opens it: nobody else may hold it. */
static bool take_image(struct sim *sim, struct plug *plug, const char *volume_id) {
    if (guest_holds(sim, volume_id) || !memory_lock(sim->world->memory, volume_id, true))
        return false;
    plug->capacity = memory_bytes(sim->world->memory, volume_id);
    plug->told = 0;
    return true;
}

bool guest_plug(struct sim *sim, unsigned index, const char *volume_id) {
    struct guest *guest = guest_of(sim, index);
    struct plug *plug = plug_find(guest, "");

    if (!plug || plug_find(guest, volume_id) || memory_bytes(sim->world->memory, volume_id) < 0 ||
        (guest->state != GUEST_OFF && !take_image(sim, plug, volume_id)))
        return false;
    snprintf(plug->volume_id, sizeof plug->volume_id, "%s", volume_id);
    return true;
}

static void leave_image(struct sim *sim, struct guest *guest, struct plug *plug) {
    if (guest->state != GUEST_OFF)
        memory_lock(sim->world->memory, plug->volume_id, false);
    plug->told = plug->capacity = 0;
}

void guest_unplug(struct sim *sim, unsigned index, const char *volume_id) {
    struct guest *guest = guest_of(sim, index);
    struct plug *plug = plug_find(guest, volume_id);

    if (!plug)
        return;
    leave_image(sim, guest, plug);
    plug->volume_id[0] = '\0';
}

static void guest_off(struct sim *sim, struct guest *guest) {
    for (unsigned i = 0; i < SIM_VOLUMES; i++)
        if (guest->plugs[i].volume_id[0])
            leave_image(sim, guest, &guest->plugs[i]);
    guest->state = GUEST_OFF;
}

/* All of its images or none. */
static void guest_on(struct sim *sim, struct guest *guest) {
    unsigned taken = 0;

    while (taken < SIM_VOLUMES) {
        struct plug *plug = &guest->plugs[taken];

        if (plug->volume_id[0] && !take_image(sim, plug, plug->volume_id))
            break;
        taken++;
    }
    if (taken == SIM_VOLUMES) {
        guest->state = GUEST_RUNNING;
        return;
    }
    while (taken-- > 0)
        if (guest->plugs[taken].volume_id[0])
            memory_lock(sim->world->memory, guest->plugs[taken].volume_id, false);
}

static void grow(struct sim *sim, struct plug *plug, int64_t bytes) {
    if (bytes <= plug->capacity || memory_bytes(sim->world->memory, plug->volume_id) < 0)
        return;
    memory_grow(sim->world->memory, plug->volume_id, bytes);
    plug->capacity = bytes;
    sim->counts[COUNT_GROWN]++;
    note(sim, "a guest grows %.8s to %jd GiB", plug->volume_id, (intmax_t)(bytes / GIB));
}

static void guest_goes_on(struct sim *sim, struct guest *guest) {
    guest->state = GUEST_RUNNING;
    for (unsigned i = 0; i < SIM_VOLUMES; i++)
        if (guest->plugs[i].volume_id[0] && guest->plugs[i].told)
            grow(sim, &guest->plugs[i], guest->plugs[i].told);
    for (unsigned i = 0; i < SIM_VOLUMES; i++)
        guest->plugs[i].told = 0;
}

void guest_act(struct sim *sim) {
    unsigned index = below(sim, SIM_GUESTS);
    struct guest *guest = guest_of(sim, index);

    for (unsigned i = 0; i < SIM_GUESTS && guest->state == GUEST_RUNNING && chance(sim, 50); i++)
        guest = guest_of(sim, index = i); /* what is off or hangs does not stay so for long */
    switch (guest->state) {
    case GUEST_OFF:
        guest_on(sim, guest);
        note(sim, "guest %u %s", index, guest->state == GUEST_OFF ? "cannot start" : "starts");
        break;
    case GUEST_HANGING:
        note(sim, "guest %u goes on", index);
        guest_goes_on(sim, guest);
        break;
    case GUEST_RUNNING:
        if (sim->temper.late_guests && chance(sim, 80)) {
            note(sim, "guest %u hangs", index);
            guest->state = GUEST_HANGING;
        } else {
            note(sim, "guest %u is off", index);
            guest_off(sim, guest);
        }
    }
}

static void guest_check(struct sim *sim, unsigned index, const struct plug *plug) {
    int64_t bytes = memory_bytes(sim->world->memory, plug->volume_id);
    const struct model *model = model_of(sim, plug->volume_id);

    /* A client that detaches before the guest lets go has been told that nobody needs it. */
    if (!model || model->guest != (int)index)
        return;
    if (bytes < plug->capacity)
        wrong(sim, "guest %u sees %jd bytes of %s, its image has %jd", index,
              (intmax_t)plug->capacity, plug->volume_id, (intmax_t)bytes);
}

void guests_check(struct sim *sim) {
    for (unsigned i = 0; i < SIM_GUESTS; i++) {
        struct guest *guest = guest_of(sim, i);

        for (unsigned j = 0; j < SIM_VOLUMES && guest->state != GUEST_OFF; j++)
            if (guest->plugs[j].volume_id[0])
                guest_check(sim, i, &guest->plugs[j]);
    }
}

/* ---- the hypervisor ---- */

static int silent(struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "libvirt does not answer");
}

static int host_has_instance(struct hypervisor *hypervisor, const char *instance_uuid,
                             struct error *err) {
    struct host *host = (struct host *)hypervisor;

    if (host->silent)
        return silent(err);
    for (unsigned i = 0; i < SIM_GUESTS; i++)
        if (strcmp(instances[i], instance_uuid) == 0)
            return guest_home(host->sim, i) == host;
    return 0;
}

/* The guest of this host that has the volume, in the instance or in any. */
static struct guest *find_guest(struct host *host, const char *instance_uuid, const char *volume_id,
                                unsigned *ret) {
    for (unsigned i = 0; i < SIM_GUESTS; i++)
        if (guest_home(host->sim, i) == host &&
            (!instance_uuid || strcmp(instances[i], instance_uuid) == 0) &&
            plug_find(&host->guests[i], volume_id)) {
            *ret = i;
            return &host->guests[i];
        }
    return NULL;
}

static int host_find_disk(struct hypervisor *hypervisor, struct arena *arena,
                          const char *instance_uuid, const char *volume_id, struct disk *ret,
                          struct error *err) {
    struct host *host = (struct host *)hypervisor;
    struct guest *guest;
    unsigned index;

    (void)arena;
    if (!pause_here(host->sim, "before libvirt is asked") || host->silent)
        return silent(err);
    guest = find_guest(host, instance_uuid, volume_id, &index);
    if (guest && guest->state == GUEST_HANGING)
        return silent(err);
    *ret = (struct disk){ .state = DISK_NOT_HERE };
    if (!guest)
        return 0;
    ret->state = guest->state == GUEST_OFF ? DISK_OFF : DISK_RUNNING;
    ret->capacity = plug_find(guest, volume_id)->capacity;
    snprintf(ret->instance_uuid, sizeof ret->instance_uuid, "%s", instances[index]);
    snprintf(ret->target, sizeof ret->target, "%s", volume_id);
    snprintf(ret->source, sizeof ret->source, "/images/%s", volume_id);
    strcpy(ret->format, "raw");
    return 0;
}

static int host_grow_disk(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk *disk, int64_t bytes, struct error *err) {
    struct host *host = (struct host *)hypervisor;
    struct guest *guest;
    struct plug *plug;
    unsigned index;

    (void)arena;
    if (!pause_here(host->sim, "before a disk is grown") || host->silent)
        return silent(err);
    guest = find_guest(host, disk->instance_uuid, disk->target, &index);
    if (!guest || guest->state == GUEST_OFF)
        return error_set(err, ERROR_CONFLICT, "the guest is off");
    plug = plug_find(guest, disk->target);
    if (guest->state == GUEST_HANGING) {
        plug->told = bytes > plug->told ? bytes : plug->told;
        return silent(err);
    }
    grow(host->sim, plug, bytes);
    if (host->sim->temper.lies && chance(host->sim, 5))
        return silent(err);
    return pause_here(host->sim, "after a disk was grown") ? 0 : silent(err);
}

static void host_free(struct hypervisor *hypervisor) {
    (void)hypervisor;
}

/* ---- the images of guests that are off ---- */

static const char *volume_of_path(const char *path) {
    return strrchr(path, '/') + 1;
}

int image_capacity(struct arena *arena, const char *path, const char *format, int64_t *ret,
                   struct error *err) {
    (void)arena, (void)format;
    if (!pause_here(present, "before an image is measured"))
        return silent(err);
    *ret = memory_bytes(present->world->memory, volume_of_path(path));
    return *ret >= 0 ? 0 : error_set(err, ERROR_BACKEND, "cannot reach image %s", path);
}

int image_grow(struct arena *arena, const char *path, const char *format, int64_t bytes,
               struct error *err) {
    void *memory = present->world->memory;
    const char *volume_id = volume_of_path(path);

    (void)arena, (void)format;
    if (!pause_here(present, "before an image is grown"))
        return silent(err);
    if (memory_bytes(memory, volume_id) < 0)
        return error_set(err, ERROR_BACKEND, "cannot reach image %s", path);
    if (guest_holds(present, volume_id) || !memory_lock(memory, volume_id, true))
        return error_set(err, ERROR_CONFLICT, "image %s is locked", path);
    memory_lock(memory, volume_id, false);
    if (memory_bytes(memory, volume_id) < bytes)
        memory_grow(memory, volume_id, bytes);
    return 0;
}

/* ---- birth, death, events ---- */

static void host_start(struct host *host) {
    const struct volume_api api = { .url = "http://sim" };
    struct job_settings jobs = {
        .hypervisor = &host->hypervisor,
        .api = api,
        .host = host->process.name,
        .workers = 4,
        .retry_ms = 1000,
        .busy_ms = 30000,
        .unreachable_ms = 120000,
    };
    struct reporter_settings reporter = {
        .api = api,
        .host = host->process.name,
        .endpoint = "http://agent",
        .heartbeat_ms = 30000,
        .retry_ms = 1000,
    };

    founder = host;
    host->process.alive = true;
    host->process.dying = host->process.paused = false;
    host->jobs = reporter.jobs = jobs_new(&jobs);
    host->reports = reporter.pool = worker_pool_new("reports", 1);
    host->reporter = reporter_new(&reporter);
}

static void host_stop(struct host *host) {
    host->process.dying = true;
    threads_end(host->sim, &host->process);
    worker_pool_stop(host->reports);
    reporter_free(host->reporter);
    jobs_stop(host->jobs);
    host->process.alive = false;
}

void hosts_start(struct sim *sim) {
    sim->hosts = calloc(SIM_HOSTS, sizeof *sim->hosts);
    assert(sim->hosts);
    for (unsigned i = 0; i < SIM_HOSTS; i++) {
        struct host *host = &sim->hosts[i];

        host->sim = sim;
        host->process.name = host_names[i];
        host->hypervisor = (struct hypervisor){
            .has_instance = host_has_instance,
            .find_disk = host_find_disk,
            .grow_disk = host_grow_disk,
            .free = host_free,
        };
        for (unsigned j = 0; j < SIM_GUESTS; j++)
            host->guests[j].state = GUEST_RUNNING;
        host_start(host);
    }
}

void hosts_free(struct sim *sim) {
    for (unsigned i = 0; i < SIM_HOSTS; i++)
        if (sim->hosts[i].process.alive)
            host_stop(&sim->hosts[i]);
    free(sim->hosts);
    sim->hosts = NULL;
}

/* Guests that hang go on; those that are off stay so. */
void hosts_revive(struct sim *sim) {
    for (unsigned i = 0; i < SIM_HOSTS; i++) {
        struct host *host = &sim->hosts[i];

        if (!host->process.alive)
            host_start(host);
        host->process.paused = host->silent = false;
        for (unsigned j = 0; j < SIM_GUESTS; j++)
            if (host->guests[j].state == GUEST_HANGING)
                guest_goes_on(sim, &host->guests[j]);
    }
}

void host_act(struct sim *sim) {
    struct host *host = &sim->hosts[below(sim, SIM_HOSTS)];
    const char *name = host->process.name;
    unsigned drawn = below(sim, 100);

    if (!host->process.alive) {
        note(sim, "the agent of %s starts again", name);
        host_start(host);
    } else if (drawn < 25 && sim->temper.deaths) {
        note(sim, "the agent of %s dies", name);
        sim->counts[COUNT_DEATHS]++;
        host_stop(host);
    } else if (drawn < 60 && sim->temper.node_pauses) {
        host->process.paused = !host->process.paused;
        sim->counts[COUNT_PAUSES] += host->process.paused;
        note(sim, "the agent of %s %s", name, host->process.paused ? "is paused" : "wakes up");
    } else if (host->process.paused) {
        note(sim, "the agent of %s wakes up", name);
        host->process.paused = false;
    } else if (sim->temper.late_guests) {
        host->silent = !host->silent;
        note(sim, "libvirt of %s %s", name, host->silent ? "hangs" : "answers again");
    }
}

static struct host *host_named(struct sim *sim, const char *name) {
    for (unsigned i = 0; name && i < SIM_HOSTS; i++)
        if (strcmp(sim->hosts[i].process.name, name) == 0)
            return &sim->hosts[i];
    return NULL;
}

enum event_verdict host_event(struct sim *sim, const struct compute_event *event,
                              struct error *err) {
    struct host *host = host_named(sim, event->host);

    if (!host || !host->process.alive || (sim->temper.losses && chance(sim, 5)))
        return EVENT_REFUSED;
    if (host->process.paused || (sim->temper.losses && chance(sim, 5)))
        return EVENT_UNKNOWN;
    if (jobs_put(host->jobs, event->volume_id, event->instance_uuid, event->request_id, err) < 0)
        return EVENT_REFUSED;
    note(sim, "%s hears of %.8s", host->process.name, event->volume_id);
    return sim->temper.losses && chance(sim, 10) ? EVENT_UNKNOWN : EVENT_ACCEPTED;
}
