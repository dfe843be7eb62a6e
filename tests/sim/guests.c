/*
 * Guests, their disks, and the agent's access to them: a hypervisor, and a tool for the images of
 * guests that are off.  A running guest holds the lock of its images and sees the size that they
 * had when it took them, until it is notified of another.  One that hangs executes pending requests
 * when it goes on.
 */
#include "compute/hypervisor/image.h"
#include "tests/lib/memory_guests.h"
#include "tests/sim/compute.h"

#include <string.h>

static const char *const instances[SIM_GUESTS] = { WORLD_INSTANCE, WORLD_INSTANCE2,
                                                   "33333333-3333-4333-8333-333333333333" };

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

bool guest_with_space(struct sim *sim, unsigned plugs, unsigned *ret) {
    for (unsigned i = 0; i < SIM_GUESTS; i++) {
        const struct guest *guest = guest_of(sim, i);
        unsigned space = 0;

        for (unsigned j = 0; j < SIM_VOLUMES; j++)
            space += guest->plugs[j].volume_id[0] == '\0';
        if (guest->state == GUEST_RUNNING && space >= plugs) {
            *ret = i;
            return true;
        }
    }
    return false;
}

bool guest_holds(struct sim *sim, const char *volume_id) {
    for (unsigned i = 0; i < SIM_GUESTS; i++) {
        struct guest *guest = guest_of(sim, i);

        if (guest->state != GUEST_OFF && plug_find(guest, volume_id))
            return true;
    }
    return false;
}

/* As QEMU opens it: no other process may hold it. */
static bool take_image(struct sim *sim, struct plug *plug, const char *volume_id) {
    if (guest_holds(sim, volume_id) || !memory_lock(sim->world->memory, volume_id, true))
        return false;
    plug->capacity = memory_bytes(sim->world->memory, volume_id);
    plug->requested = 0;
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
    plug->requested = plug->capacity = 0;
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

/* It was detached while the guest was off, and the guest does not know that. */
static void hold_as_stranger(struct sim *sim, const char *volume_id) {
    autoarena struct arena *arena = arena_new();

    if (world_count(sim->world,
                    arena_format(arena, "SELECT COUNT(*) FROM attachments WHERE volume_id = '%s'",
                                 volume_id)) == 0)
        model_disturb(sim, volume_id);
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
        for (unsigned i = 0; i < SIM_VOLUMES; i++)
            if (guest->plugs[i].volume_id[0])
                hold_as_stranger(sim, guest->plugs[i].volume_id);
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
        if (guest->plugs[i].volume_id[0] && guest->plugs[i].requested)
            grow(sim, &guest->plugs[i], guest->plugs[i].requested);
    for (unsigned i = 0; i < SIM_VOLUMES; i++)
        guest->plugs[i].requested = 0;
}

void guest_act(struct sim *sim) {
    unsigned index = below(sim, SIM_GUESTS);
    struct guest *guest = guest_of(sim, index);

    for (unsigned i = 0; i < SIM_GUESTS && guest->state == GUEST_RUNNING && chance(sim, 50); i++)
        guest = guest_of(sim, index = i); /* a guest that is off or hangs does not stay so for
                                           * long */
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

    /* A client that detaches before the guest releases the disk was assured that it is unused. */
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

enum guest_state guest_state_of(struct host *host, const char *volume_id) {
    unsigned index;
    const struct guest *guest = find_guest(host, NULL, volume_id, &index);

    return guest ? guest->state : GUEST_OFF;
}

bool guest_runs_all(struct host *host, const char (*volume_ids)[37], unsigned count) {
    for (unsigned i = 0; i < SIM_GUESTS; i++) {
        unsigned has = 0;

        for (unsigned j = 0; j < count; j++)
            has += plug_find(&host->guests[i], volume_ids[j]) != NULL;
        if (has == count)
            return host->guests[i].state == GUEST_RUNNING;
    }
    return false;
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
    ret->discards = true;
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
        plug->requested = bytes > plug->requested ? bytes : plug->requested;
        return silent(err);
    }
    grow(host->sim, plug, bytes);
    if (host->sim->temper.lies && chance(host->sim, 5))
        return silent(err);
    return pause_here(host->sim, "after a disk was grown") ? 0 : silent(err);
}

/* One that hangs is at it for as long as that. */
static int host_trim_disk(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk *disk, const struct disk_trim *trim,
                          struct error *err) {
    struct host *host = (struct host *)hypervisor;
    struct guest *guest;
    unsigned index;

    (void)arena, (void)trim;
    if (!pause_here(host->sim, "before a guest trims") || host->silent)
        return silent(err);
    guest = find_guest(host, disk->instance_uuid, disk->target, &index);
    if (!guest || guest->state == GUEST_OFF)
        return error_set(err, ERROR_CONFLICT, "the guest is off");
    if (guest->state == GUEST_HANGING || (!host->sim->calm && chance(host->sim, 50)))
        return 1;
    memory_trim(host->sim->world->memory, disk->target);
    host->sim->counts[COUNT_TRIMS]++;
    return pause_here(host->sim, "after a guest has trimmed") ? 0 : silent(err);
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

/* ---- birth ---- */

void guests_start(struct host *host) {
    host->hypervisor = (struct hypervisor){
        .has_instance = host_has_instance,
        .find_disk = host_find_disk,
        .grow_disk = host_grow_disk,
        .trim_disk = host_trim_disk,
        .free = host_free,
    };
    for (unsigned i = 0; i < SIM_GUESTS; i++)
        host->guests[i].state = GUEST_RUNNING;
}

void guests_go_on(struct host *host) {
    for (unsigned i = 0; i < SIM_GUESTS; i++)
        if (host->guests[i].state == GUEST_HANGING)
            guest_goes_on(host->sim, &host->guests[i]);
}
