#include "tests/lib/fake_hypervisor.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16

struct fake_disk {
    char volume_id[37];
    struct disk disk;
    char chain[MOST][200]; /* the present one first */
    unsigned chain_length;
    unsigned merged_at, merged; /* the images that the job removes from the chain */
    struct io_limits limits;
    bool ours;
    char file_id[37], group[37];
    char alone[200]; /* the image that its guest is started from, and no other named */
};

struct fake_fault {
    enum error_kind kind;
    unsigned times;
    bool after;
};

struct fake_hypervisor {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    pthread_mutex_t lock;         /* guards everything below */
    pthread_cond_t changed;
    char instances[MOST][37];
    unsigned instance_count;
    struct fake_disk disks[MOST];
    unsigned disk_count;
    struct fake_fault faults[FAKE_CALLS];
    unsigned counts[FAKE_CALLS];
    char files[MOST][200]; /* overlays that are there to be used */
    unsigned file_count;
    bool pretends, holds, trims, hides;
    char trimmed_for[64]; /* the project that the last trim was for */
    unsigned held;
};

/* Counts the call; the fault that it shall have, with times 0 when none. */
static struct fake_fault begin_call(struct fake_hypervisor *fake, enum fake_call call) {
    struct fake_fault *fault = &fake->faults[call], now = *fault;

    fake->counts[call]++;
    if (fault->times > 0)
        fault->times--;
    return now;
}

static int fail(const struct fake_fault *fault, struct error *err) {
    return error_set(err, fault->kind, "a fault of the test");
}

static int find_instance(const struct fake_hypervisor *fake, const char *instance_uuid) {
    for (unsigned i = 0; i < fake->instance_count; i++)
        if (strcmp(fake->instances[i], instance_uuid) == 0)
            return 1;
    return 0;
}

static int fake_has_instance(struct hypervisor *hypervisor, const char *instance_uuid,
                             struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;
    int found;

    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_HAS_INSTANCE);
    found = find_instance(fake, instance_uuid);
    pthread_mutex_unlock(&fake->lock);
    return fault.times > 0 ? fail(&fault, err) : found;
}

static struct fake_disk *find(struct fake_hypervisor *fake, const char *instance_uuid,
                              const char *volume_id) {
    for (unsigned i = 0; i < fake->disk_count; i++) {
        struct fake_disk *disk = &fake->disks[i];

        if (strcmp(disk->volume_id, volume_id) == 0 &&
            (!instance_uuid || strcmp(disk->disk.instance_uuid, instance_uuid) == 0))
            return disk;
    }
    return NULL;
}

static int fake_find_disk(struct hypervisor *hypervisor, struct arena *arena,
                          const char *instance_uuid, const char *volume_id, struct disk *ret,
                          struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct disk disk = { .state = DISK_NOT_HERE };
    const struct fake_disk *found;
    struct fake_fault fault;

    (void)arena;
    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_FIND_DISK);
    found = fake->hides ? NULL : find(fake, instance_uuid, volume_id);
    if (found)
        disk = found->disk;
    pthread_mutex_unlock(&fake->lock);
    if (fault.times > 0)
        return fail(&fault, err);
    *ret = disk;
    return 0;
}

/* With the lock: stands still while the test holds the calls. */
static void stand_still(struct fake_hypervisor *fake) {
    fake->held++;
    pthread_cond_broadcast(&fake->changed);
    while (fake->holds)
        pthread_cond_wait(&fake->changed, &fake->lock);
    fake->held--;
}

static int fake_grow_disk(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk *disk, int64_t bytes, struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;

    (void)arena;
    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_GROW_DISK);
    stand_still(fake);
    for (unsigned i = 0; i < fake->disk_count; i++) {
        struct disk *own = &fake->disks[i].disk;

        if (!fake->pretends && (fault.times == 0 || fault.after) && own->capacity < bytes &&
            strcmp(own->instance_uuid, disk->instance_uuid) == 0 &&
            strcmp(own->target, disk->target) == 0)
            own->capacity = bytes;
    }
    pthread_mutex_unlock(&fake->lock);
    return fault.times > 0 ? fail(&fault, err) : 0;
}

static struct fake_disk *find_source(struct fake_hypervisor *fake, const struct disk *disk) {
    for (unsigned i = 0; i < fake->disk_count; i++)
        if (strcmp(fake->disks[i].disk.instance_uuid, disk->instance_uuid) == 0 &&
            strcmp(fake->disks[i].disk.source, disk->source) == 0)
            return &fake->disks[i];
    return NULL;
}

static int fake_list_chain(struct hypervisor *hypervisor, struct arena *arena,
                           const struct disk *disk, const char *const **ret, struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    const struct fake_disk *found;
    struct fake_fault fault;
    const char **paths = arena_alloc(arena, (MOST + 1) * sizeof(*paths));

    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_LIST_CHAIN);
    found = find_source(fake, disk);
    for (unsigned i = 0; found && i < found->chain_length; i++)
        paths[i] = arena_text(arena, found->chain[i]);
    pthread_mutex_unlock(&fake->lock);
    if (fault.times > 0)
        return fail(&fault, err);
    *ret = paths;
    return found ? 0
                 : error_set(err, ERROR_CONFLICT, "the disk has been detached from the instance");
}

static void add_overlays(struct fake_disk *found, const char *overlay) {
    assert(found->chain_length < MOST);
    memmove(found->chain[1], found->chain[0], found->chain_length++ * sizeof(found->chain[0]));
    snprintf(found->chain[0], sizeof(found->chain[0]), "%s", overlay);
    snprintf(found->disk.source, sizeof(found->disk.source), "%s", overlay);
}

static bool may_go_on(struct fake_hypervisor *fake, const struct disk_overlay *overlay) {
    bool there = false;

    for (unsigned i = 0; i < fake->file_count; i++)
        there |= strcmp(fake->files[i], overlay->path) == 0;
    return there && find_source(fake, overlay->disk);
}

static int fake_snapshot_disks(struct hypervisor *hypervisor, struct arena *arena,
                               const struct disk_overlay *overlays, unsigned count,
                               struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;
    bool may = true;

    (void)arena;
    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_SNAPSHOT_DISKS);
    stand_still(fake);
    for (unsigned i = 0; i < count; i++)
        may &= may_go_on(fake, &overlays[i]);
    for (unsigned i = 0; i < count && may && (fault.times == 0 || fault.after); i++)
        add_overlays(find_source(fake, overlays[i].disk), overlays[i].path);
    pthread_mutex_unlock(&fake->lock);
    if (fault.times > 0)
        return fail(&fault, err);
    return may ? 0 : error_set(err, ERROR_BACKEND, "there is no such disk or file");
}

/* Where it is in the chain; -1: nowhere. */
static int place_of(const struct fake_disk *found, const char *path) {
    for (unsigned i = 0; i < found->chain_length; i++)
        if (strcmp(found->chain[i], path) == 0)
            return (int)i;
    return -1;
}

static int begin_merge(struct fake_disk *found, const char *top, const char *base) {
    int from = top ? place_of(found, top) : 1;
    int to = base ? place_of(found, base) : (int)found->chain_length;

    if (found->disk.job || from < 1 || to <= from)
        return -1;
    found->merged_at = (unsigned)from;
    found->merged = (unsigned)(to - from);
    found->disk.job = true;
    return 0;
}

static int fake_merge_disk(struct hypervisor *hypervisor, struct arena *arena,
                           const struct disk *disk, const char *top, const char *base,
                           struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_disk *found;
    struct fake_fault fault;
    int result = -1;

    (void)arena;
    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_MERGE_DISK);
    stand_still(fake);
    found = find_source(fake, disk);
    if (found && (fault.times == 0 || fault.after))
        result = begin_merge(found, top, base);
    pthread_mutex_unlock(&fake->lock);
    if (fault.times > 0)
        return fail(&fault, err);
    return result == 0 ? 0 : error_set(err, ERROR_BACKEND, "there is no such disk or file");
}

static int fake_flush_disk(struct hypervisor *hypervisor, struct arena *arena,
                           const struct disk *disk, struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;

    (void)arena;
    (void)disk;
    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_FLUSH_DISK);
    pthread_mutex_unlock(&fake->lock);
    return fault.times > 0 ? fail(&fault, err) : 0;
}

static int fake_forget_chain(struct hypervisor *hypervisor, struct arena *arena,
                             const struct disk *disk, struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_disk *found;
    struct fake_fault fault;

    (void)arena;
    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_FORGET_CHAIN);
    found = find_source(fake, disk);
    if (found && (fault.times == 0 || fault.after))
        memcpy(found->alone, found->chain[0], sizeof(found->alone));
    pthread_mutex_unlock(&fake->lock);
    return fault.times > 0 ? fail(&fault, err) : 0;
}

static int fake_trim_disk(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk *disk, const struct disk_trim *trim,
                          struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;
    bool goes_on;

    (void)arena;
    (void)disk;
    pthread_mutex_lock(&fake->lock);
    snprintf(fake->trimmed_for, sizeof(fake->trimmed_for), "%s",
             trim->project_id ? trim->project_id : "");
    fault = begin_call(fake, FAKE_TRIM_DISK);
    stand_still(fake);
    goes_on = fake->trims;
    pthread_mutex_unlock(&fake->lock);
    return fault.times > 0 ? fail(&fault, err) : goes_on;
}

static int fake_list_limits(struct hypervisor *hypervisor, struct arena *arena,
                            struct disk_limits **ret, struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;

    *ret = NULL;
    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_LIST_LIMITS);
    for (unsigned i = 0; i < fake->disk_count; i++) {
        const struct fake_disk *disk = &fake->disks[i];
        struct disk_limits one = {
            .next = *ret, .disk = disk->disk, .limits = disk->limits, .ours = disk->ours
        };

        strcpy(one.file_id, disk->file_id);
        strcpy(one.group, disk->group);
        strcpy(one.disk.serial, disk->volume_id);
        if (disk->disk.state == DISK_RUNNING)
            *ret = arena_copy(arena, &one, sizeof one);
    }
    pthread_mutex_unlock(&fake->lock);
    return fault.times > 0 ? fail(&fault, err) : 0;
}

static int fake_limit_disk(struct hypervisor *hypervisor, struct arena *arena,
                           const struct disk *disk, const struct io_limits *limits,
                           struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;
    struct fake_disk *found;

    (void)arena;
    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, FAKE_LIMIT_DISK);
    found = find_source(fake, disk);
    if (found && fault.times == 0) {
        found->limits = *limits;
        found->ours = io_limits_any(limits);
        snprintf(found->group, sizeof(found->group), "%s", disk->serial);
    }
    pthread_mutex_unlock(&fake->lock);
    return fault.times > 0 ? fail(&fault, err) : 0;
}

/* All of them. */
static int list_instances(struct hypervisor *hypervisor, enum fake_call call, struct arena *arena,
                          const char *const **ret, struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;
    const char **uuids;

    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, call);
    uuids = arena_alloc(arena, (MOST + 1) * sizeof(*uuids));
    for (unsigned i = 0; i < fake->instance_count; i++)
        uuids[i] = arena_text(arena, fake->instances[i]);
    pthread_mutex_unlock(&fake->lock);
    if (fault.times > 0)
        return fail(&fault, err);
    *ret = uuids;
    return 0;
}

static int fake_list_guarded(struct hypervisor *hypervisor, struct arena *arena,
                             const char *const **ret, struct error *err) {
    return list_instances(hypervisor, FAKE_LIST_USED, arena, ret, err);
}

static int fake_list_stopped(struct hypervisor *hypervisor, struct arena *arena,
                             const char *const **ret, struct error *err) {
    return list_instances(hypervisor, FAKE_LIST_STOPPED, arena, ret, err);
}

static int touch_instance(struct hypervisor *hypervisor, enum fake_call call, int result,
                          struct error *err) {
    struct fake_hypervisor *fake = (struct fake_hypervisor *)hypervisor;
    struct fake_fault fault;

    pthread_mutex_lock(&fake->lock);
    fault = begin_call(fake, call);
    pthread_mutex_unlock(&fake->lock);
    return fault.times > 0 ? fail(&fault, err) : result;
}

static int fake_remove_guards(struct hypervisor *hypervisor, struct arena *arena,
                              const char *instance_uuid, struct error *err) {
    (void)arena, (void)instance_uuid;
    return touch_instance(hypervisor, FAKE_TIDY, 0, err);
}

static int fake_resume(struct hypervisor *hypervisor, struct arena *arena,
                       const char *instance_uuid, struct error *err) {
    (void)arena, (void)instance_uuid;
    return touch_instance(hypervisor, FAKE_GO_ON, 1, err);
}

static void fake_free(struct hypervisor *hypervisor) {
    fake_hypervisor_free((struct fake_hypervisor *)hypervisor);
}

struct fake_hypervisor *fake_hypervisor_new(void) {
    struct fake_hypervisor *fake = calloc(1, sizeof(*fake));

    assert(fake);
    fake->hypervisor = (struct hypervisor){
        .has_instance = fake_has_instance,
        .find_disk = fake_find_disk,
        .grow_disk = fake_grow_disk,
        .list_chain = fake_list_chain,
        .snapshot_disks = fake_snapshot_disks,
        .merge_disk = fake_merge_disk,
        .flush_disk = fake_flush_disk,
        .forget_chain = fake_forget_chain,
        .trim_disk = fake_trim_disk,
        .list_limits = fake_list_limits,
        .limit_disk = fake_limit_disk,
        .list_guarded = fake_list_guarded,
        .remove_guards = fake_remove_guards,
        .list_stopped = fake_list_stopped,
        .resume = fake_resume,
        .free = fake_free,
    };
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->changed, NULL);
    return fake;
}

void fake_hypervisor_free(struct fake_hypervisor *fake) {
    pthread_cond_destroy(&fake->changed);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

struct hypervisor *fake_hypervisor_of(struct fake_hypervisor *fake) {
    return &fake->hypervisor;
}

static void add_instance(struct fake_hypervisor *fake, const char *instance_uuid) {
    if (find_instance(fake, instance_uuid))
        return;
    assert(fake->instance_count < MOST);
    snprintf(fake->instances[fake->instance_count++], 37, "%s", instance_uuid);
}

void fake_hypervisor_add_instance(struct fake_hypervisor *fake, const char *instance_uuid) {
    pthread_mutex_lock(&fake->lock);
    add_instance(fake, instance_uuid);
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_put(struct fake_hypervisor *fake, const char *volume_id,
                         const struct disk *disk) {
    struct fake_disk *place;

    pthread_mutex_lock(&fake->lock);
    add_instance(fake, disk->instance_uuid);
    place = find(fake, disk->instance_uuid, volume_id);
    if (!place) {
        assert(fake->disk_count < MOST);
        place = &fake->disks[fake->disk_count++];
    }
    snprintf(place->volume_id, sizeof(place->volume_id), "%s", volume_id);
    place->disk = *disk;
    place->chain_length = 1;
    snprintf(place->chain[0], sizeof(place->chain[0]), "%.*s", (int)sizeof(place->chain[0]) - 1,
             disk->source);
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_put_file(struct fake_hypervisor *fake, const char *path) {
    pthread_mutex_lock(&fake->lock);
    assert(fake->file_count < MOST);
    snprintf(fake->files[fake->file_count++], sizeof(fake->files[0]), "%s", path);
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_remove_files(struct fake_hypervisor *fake) {
    pthread_mutex_lock(&fake->lock);
    fake->file_count = 0;
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_put_above(struct fake_hypervisor *fake, const char *volume_id,
                               const char *path) {
    pthread_mutex_lock(&fake->lock);
    add_overlays(find(fake, NULL, volume_id), path);
    pthread_mutex_unlock(&fake->lock);
}

char *fake_hypervisor_chain(struct fake_hypervisor *fake, const char *volume_id) {
    char text[MOST * 200] = "";
    const struct fake_disk *found;

    pthread_mutex_lock(&fake->lock);
    found = find(fake, NULL, volume_id);
    for (unsigned i = 0; found && i < found->chain_length; i++) {
        const char *name = strrchr(found->chain[i], '/');

        strcat(strcat(text, i ? " " : ""), name ? name + 1 : found->chain[i]);
    }
    pthread_mutex_unlock(&fake->lock);
    return strdup(text);
}

bool fake_hypervisor_forgot_chain(struct fake_hypervisor *fake, const char *volume_id) {
    const struct fake_disk *found;
    bool forgot;

    pthread_mutex_lock(&fake->lock);
    found = find(fake, NULL, volume_id);
    forgot = found && strcmp(found->alone, found->disk.source) == 0;
    pthread_mutex_unlock(&fake->lock);
    return forgot;
}

void fake_hypervisor_job(struct fake_hypervisor *fake, const char *volume_id, int64_t done,
                         int64_t total) {
    struct disk *disk;

    pthread_mutex_lock(&fake->lock);
    disk = &find(fake, NULL, volume_id)->disk;
    disk->job = true;
    disk->job_done = done;
    disk->job_total = total;
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_end_job(struct fake_hypervisor *fake, const char *volume_id, bool done) {
    struct fake_disk *found;

    pthread_mutex_lock(&fake->lock);
    found = find(fake, NULL, volume_id);
    found->disk.job = false;
    if (done) {
        unsigned next = found->merged_at + found->merged;

        memmove(found->chain[found->merged_at], found->chain[next],
                (found->chain_length - next) * sizeof(found->chain[0]));
        found->chain_length -= found->merged;
    }
    found->merged = 0;
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_remove(struct fake_hypervisor *fake, const char *volume_id) {
    struct fake_disk *place;

    pthread_mutex_lock(&fake->lock);
    while ((place = find(fake, NULL, volume_id)))
        *place = fake->disks[--fake->disk_count];
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_hide(struct fake_hypervisor *fake, bool hidden) {
    pthread_mutex_lock(&fake->lock);
    fake->hides = hidden;
    pthread_mutex_unlock(&fake->lock);
}

int64_t fake_hypervisor_capacity(struct fake_hypervisor *fake, const char *volume_id) {
    const struct fake_disk *disk;
    int64_t capacity;

    pthread_mutex_lock(&fake->lock);
    disk = find(fake, NULL, volume_id);
    capacity = disk ? disk->disk.capacity : -1;
    pthread_mutex_unlock(&fake->lock);
    return capacity;
}

void fake_hypervisor_fail(struct fake_hypervisor *fake, enum fake_call call, enum error_kind kind,
                          unsigned times, bool after) {
    pthread_mutex_lock(&fake->lock);
    fake->faults[call] = (struct fake_fault){ .kind = kind, .times = times, .after = after };
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_pretend(struct fake_hypervisor *fake) {
    pthread_mutex_lock(&fake->lock);
    fake->pretends = true;
    pthread_mutex_unlock(&fake->lock);
}

const char *fake_hypervisor_trimmed_for(struct fake_hypervisor *fake) {
    return fake->trimmed_for; /* at rest */
}

void fake_hypervisor_trims(struct fake_hypervisor *fake, bool goes_on) {
    pthread_mutex_lock(&fake->lock);
    fake->trims = goes_on;
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_hold(struct fake_hypervisor *fake) {
    pthread_mutex_lock(&fake->lock);
    fake->holds = true;
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_await_held(struct fake_hypervisor *fake) {
    pthread_mutex_lock(&fake->lock);
    while (fake->held == 0)
        pthread_cond_wait(&fake->changed, &fake->lock);
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_release(struct fake_hypervisor *fake) {
    pthread_mutex_lock(&fake->lock);
    fake->holds = false;
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

unsigned fake_hypervisor_count(struct fake_hypervisor *fake, enum fake_call call) {
    unsigned count;

    pthread_mutex_lock(&fake->lock);
    count = fake->counts[call];
    pthread_mutex_unlock(&fake->lock);
    return count;
}

int64_t fake_hypervisor_limit(struct fake_hypervisor *fake, const char *volume_id,
                              enum io_limit limit) {
    const struct fake_disk *disk;
    int64_t value;

    pthread_mutex_lock(&fake->lock);
    disk = find(fake, NULL, volume_id);
    value = disk ? disk->limits.of[limit] : -1;
    pthread_mutex_unlock(&fake->lock);
    return value;
}

void fake_hypervisor_swap(struct fake_hypervisor *fake, const char *volume_id,
                          const char *file_id) {
    struct fake_disk *disk;

    pthread_mutex_lock(&fake->lock);
    disk = find(fake, NULL, volume_id);
    snprintf(disk->file_id, sizeof(disk->file_id), "%s", file_id);
    snprintf(disk->disk.source, sizeof(disk->disk.source), "/volume-%s", file_id);
    pthread_mutex_unlock(&fake->lock);
}

void fake_hypervisor_set_limit(struct fake_hypervisor *fake, const char *volume_id,
                               enum io_limit limit, int64_t value) {
    struct fake_disk *disk;

    pthread_mutex_lock(&fake->lock);
    disk = find(fake, NULL, volume_id);
    disk->limits.of[limit] = value;
    disk->ours = false;
    pthread_mutex_unlock(&fake->lock);
}
