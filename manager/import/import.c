#include "manager/import/import.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "manager/import/cinder.h"
#include "manager/import/import_backend.h"
#include "manager/runtime/job.h"
#include "model/attachment/attachment.h"
#include "operation/status.h"
#include "json/json.h"

#include <string.h>

struct ids {
    const char **texts;
    size_t count;
};

struct run {
    struct import *import;
    struct arena *arena;
    struct work base;
    struct cinder cinder;
    struct import_backends backends;
    struct ids types; /* that are there, or will be */
};

static void report(const struct run *run, const char *kind, const char *id, const char *name,
                   enum import_result result, const char *reason) {
    const struct import_item item = { kind, id, name, result, reason };

    run->import->report(run->import->arg, &item);
}

/* ---- one object, in one transaction ---- */

typedef int adopt_body(struct work *work, const void *object, bool dry_run, struct error *err);

struct adoption {
    adopt_body *body;
    const void *object;
    bool dry_run;
};

static int adopt(struct work *work, void *arg, struct error *err) {
    const struct adoption *adoption = arg;

    return adoption->body(work, adoption->object, adoption->dry_run, err);
}

/* 1 taken or there, 0 left, -1 the database failed. */
static int take_one(const struct run *run, adopt_body *body, const void *object, const char *kind,
                    const char *id, const char *name, struct error *err) {
    struct adoption adoption = { body, object, !run->import->apply };
    struct error why = { .kind = ERROR_NONE };
    int result = run->import->apply
                     ? work_transaction(run->import->db, &run->base, adopt, &adoption, &why)
                     : work_read(run->import->db, &run->base, adopt, &adoption, &why);
    /* The database refuses a duplicate or a missing value in the object's own rows. */
    bool by_object = why.kind == ERROR_CONFLICT || why.kind == ERROR_BAD_REQUEST ||
                     why.kind == ERROR_COLLISION || why.kind == ERROR_INTERNAL;

    if (result < 0 && !by_object) {
        error_pass(err, &why);
        return error_context(err, "%s %s", kind, id);
    }
    report(run, kind, id, name,
           result > 0    ? IMPORT_TAKEN
           : result == 0 ? IMPORT_PRESENT
                         : IMPORT_LEFT,
           result < 0 ? arena_text(run->arena, why.message) : NULL);
    return result >= 0;
}

#define ADOPT_BODY(name, type)                                                  \
    static int name##_body(struct work *work, const void *object, bool dry_run, \
                           struct error *err) {                                 \
        return name(work, (const type *)object, dry_run, err);                  \
    }
ADOPT_BODY(adopt_qos_specs, struct qos_specs)
ADOPT_BODY(adopt_type, struct adopted_type)
ADOPT_BODY(adopt_limit, struct adopted_limit)
ADOPT_BODY(adopt_volume, struct adopted_volume)

static int adopt_default_body(struct work *work, const void *object, bool dry_run,
                              struct error *err) {
    const struct default_type *type = object;

    return adopt_default_type(work, type->project_id, type->type_id, dry_run, err);
}

/* ---- QoS specs, types, limits ---- */

static bool has_type(const struct run *run, const char *id) {
    return id && words_have(run->types.texts, run->types.count, id);
}

/* As take_one() of an object that needs a name. */
static int take_named(const struct run *run, adopt_body *body, const void *object, const char *kind,
                      const char *id, const char *name, struct error *err) {
    if (name)
        return take_one(run, body, object, kind, id, name, err);
    report(run, kind, id, NULL, IMPORT_LEFT, "it has no name");
    return 0;
}

static void add(struct ids *ids, const char *id) {
    ids->texts[ids->count++] = id;
}

static int take_types(struct run *run, struct error *err) {
    const struct cinder *cinder = &run->cinder;
    struct ids qos = { 0 };

    qos.texts = arena_alloc(run->arena, (cinder->qos_count + 1) * sizeof *qos.texts);
    for (size_t i = 0; i < cinder->qos_count; i++) {
        const struct qos_specs *specs = &cinder->qos[i];
        int taken =
            take_named(run, adopt_qos_specs_body, specs, "QoS specs", specs->id, specs->name, err);

        if (taken < 0)
            return -1;
        if (taken)
            add(&qos, specs->id);
    }
    run->types.texts = arena_alloc(run->arena, (cinder->type_count + 1) * sizeof *run->types.texts);
    for (size_t i = 0; i < cinder->type_count; i++) {
        const struct volume_type *type = &cinder->types[i].type;
        int taken;

        cinder->types[i].without_qos =
            type->qos_specs_id && !words_have(qos.texts, qos.count, type->qos_specs_id);
        taken =
            take_named(run, adopt_type_body, &cinder->types[i], "type", type->id, type->name, err);

        if (taken < 0)
            return -1;
        if (taken)
            add(&run->types, type->id);
    }
    return 0;
}

/* One of this service, or of a type that is taken. */
static bool is_resource(const struct run *run, const char *name) {
    static const char *const fixed[] = { QUOTA_VOLUMES,          QUOTA_GIGABYTES,
                                         QUOTA_SNAPSHOTS,        QUOTA_BACKUPS,
                                         QUOTA_BACKUP_GIGABYTES, QUOTA_GROUPS,
                                         QUOTA_PER_VOLUME,       NULL };

    if (words_list_has(fixed, name))
        return true;
    for (size_t i = 0; i < run->cinder.type_count; i++)
        for (const char *const *one = volume_type_quotas.resources; *one; one++)
            if (has_type(run, run->cinder.types[i].type.id) &&
                strcmp(name,
                       quota_limit_of_type(run->arena, *one, run->cinder.types[i].type.name)) == 0)
                return true;
    return false;
}

static int take_limit(struct run *run, const struct adopted_limit *limit, struct error *err) {
    const char *kind = limit->project_id ? "quota" : "quota class";
    const char *owner = limit->project_id ? limit->project_id : limit->class_name;

    if (!owner || !limit->resource) {
        report(run, kind, owner ? owner : "", limit->resource, IMPORT_LEFT,
               "it has no owner or no resource");
        return 0;
    }
    if (limit->limit < -1) {
        report(run, kind, owner, limit->resource, IMPORT_LEFT, "it is less than -1, unlimited");
        return 0;
    }
    if (is_resource(run, limit->resource))
        return take_one(run, adopt_limit_body, limit, kind, owner, limit->resource, err);
    report(run, kind, owner, limit->resource, IMPORT_LEFT, "this service has no such resource");
    return 0;
}

static int take_limits(struct run *run, struct error *err) {
    const struct cinder *cinder = &run->cinder;

    for (size_t i = 0; i < cinder->default_count; i++) {
        const struct default_type *type = &cinder->defaults[i];

        if (!type->project_id || !has_type(run, type->type_id))
            report(run, "default type", type->project_id ? type->project_id : "", type->type_id,
                   IMPORT_LEFT, "its type is not taken");
        else if (take_one(run, adopt_default_body, type, "default type", type->project_id,
                          type->type_id, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < cinder->limit_count; i++)
        if (take_limit(run, &cinder->limits[i], err) < 0)
            return -1;
    return 0;
}

/* ---- a volume ---- */

static unsigned attachments_in(const struct volume *volume, const char *status) {
    unsigned count = 0;

    for (unsigned i = 0; i < volume->attachment_count; i++)
        count += strcmp(volume->attachments[i].attach_status, status) == 0;
    return count;
}

static const char *attachment_refusal(const struct cinder_volume *of) {
    const struct volume *volume = &of->adopted.volume;

    if (strcmp(of->status, "available") == 0 && volume->attachment_count > 0)
        return "it is available, but has attachments";
    if (strcmp(of->status, "in-use") == 0 && attachments_in(volume, "attached") == 0)
        return "it is in-use without an attachment";
    if (strcmp(of->status, "reserved") == 0 && attachments_in(volume, "reserved") == 0)
        return "it is reserved without an attachment";
    return NULL;
}

/* By its rows alone; NULL: none. */
static const char *row_refusal(const struct run *run, const struct cinder_volume *of) {
    static const char *const statuses[] = { "available", "in-use", "reserved" };
    static const char *const settled[] = { "", "none", "success", "error" };
    static const char *const unreplicated[] = { "", "disabled", "not-capable" };
    const struct volume *volume = &of->adopted.volume;

    if (!of->status || !words_have(statuses, LENGTH(statuses), of->status))
        return arena_format(run->arena, "it is %s: it must be available, in-use or reserved",
                            of->status ? of->status : "in no status");
    if (!volume->project_id || volume->size_gb <= 0)
        return "it has no project or no size";
    if (volume->encryption_key_id)
        return "it is encrypted";
    if (of->migration_status && !words_have(settled, LENGTH(settled), of->migration_status))
        return arena_format(run->arena, "it is being migrated (%s)", of->migration_status);
    if (of->group_id)
        return arena_format(run->arena, "it is in group %s: remove it from that first",
                            of->group_id);
    if (volume->replication_status &&
        !words_have(unreplicated, LENGTH(unreplicated), volume->replication_status))
        return arena_format(run->arena, "it is replicated (%s)", volume->replication_status);
    if (!has_type(run, volume->type_id))
        return "its type is not taken";
    if (!of->host || !volume->provider_location)
        return "it has no storage";
    return of->refusal ? of->refusal : attachment_refusal(of);
}

/* A server's next start follows the connection's data: they must name the file that it uses.  Their
 * format is that of its first connection, whatever snapshots came since. */
static const char *connection_refusal(const struct run *run, struct attachment *attachment,
                                      const struct driver_inspected *found) {
    const char *text = attachment->connection_info;
    json_t *info = text ? json_parse(run->arena, text, strlen(text), NULL) : NULL;
    json_t *data =
        json_is_object(json_object_get(info, "data")) ? json_object_get(info, "data") : info;
    const char *name = json_text_of(data, "name"), *format = json_text_of(data, "format");

    if (name && strcmp(name, found->file) != 0)
        return arena_format(run->arena, "attachment %s connects the file %s, not %s",
                            attachment->id, name, found->file);
    if (!format || strcmp(format, found->file_format) == 0)
        return NULL;
    if (strcmp(found->format, found->file_format) == 0)
        return arena_format(run->arena, "attachment %s connects a %s file, which is %s",
                            attachment->id, format, found->file_format);
    json_object_set_new(data, "format", json_string(found->file_format));
    attachment->connection_info = json_text(run->arena, info);
    return NULL;
}

/* Oldest first, as their files lie in the chain: Cinder's instants are in whole seconds. */
static void order_snapshots(struct snapshot *snapshots, unsigned count, unsigned *places) {
    for (unsigned end = 1; end < count; end++)
        for (unsigned i = end; i > 0 && places[i - 1] < places[i]; i--) {
            const struct snapshot moved = snapshots[i];
            const unsigned place = places[i];

            snapshots[i] = snapshots[i - 1], snapshots[i - 1] = moved;
            places[i] = places[i - 1], places[i - 1] = place;
        }
}

/* The storage decides about location, format and size of the object. */
static const char *place(const struct run *run, const struct import_backend *backend,
                         struct cinder_volume *of, const struct driver_inspected *found) {
    struct volume *volume = &of->adopted.volume;
    struct snapshot *snapshots = arena_copy(run->arena, of->adopted.snapshots,
                                            (of->adopted.snapshot_count + 1) * sizeof *snapshots);
    struct attachment *attachments;
    const char *pool = import_backend_pool(backend, volume->provider_location);
    int64_t gb = found->bytes / GIB + (found->bytes % GIB > 0);
    unsigned status;

    if (!pool)
        return arena_format(run->arena, "its share %s is not a pool of the backend %s",
                            volume->provider_location, backend->host);
    if (found->bytes < volume->size_gb * GIB)
        return arena_format(run->arena, "its file %s on %s has %jd bytes, less than %jd GiB",
                            found->file, volume->provider_location, (intmax_t)found->bytes,
                            (intmax_t)volume->size_gb);
    if (status_find(&volume_objects, of->status, &status) < 0)
        return "its status is unknown";
    volume->status = (enum volume_status)status;
    volume->host = arena_format(run->arena, "%s#%s", backend->host, pool);
    volume->largest_gb = gb > volume->size_gb ? gb : volume->size_gb;
    volume->provider_location = found->provider_location;
    volume->format = found->format;
    for (unsigned i = 0; i < of->adopted.snapshot_count; i++) {
        snapshots[i].provider_location = found->provider_location;
        snapshots[i].format = found->format;
    }
    order_snapshots(snapshots, of->adopted.snapshot_count,
                    arena_copy(run->arena, found->snapshot_places,
                               (of->adopted.snapshot_count + 1) * sizeof *found->snapshot_places));
    of->adopted.snapshots = snapshots;
    attachments = arena_copy(run->arena, volume->attachments,
                             (volume->attachment_count + 1) * sizeof *attachments);
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const char *why = connection_refusal(run, &attachments[i], found);

        if (why)
            return why;
    }
    volume->attachments = attachments;
    return NULL;
}

static const char *storage_refusal(struct run *run, struct cinder_volume *of) {
    struct import_backend *backend = import_backend_find(&run->backends, of->host);
    const struct driver_volume object = {
        .id = of->adopted.volume.id,
        .name_id = of->adopted.volume.name_id ? of->adopted.volume.name_id : of->adopted.volume.id,
        .provider_location = of->adopted.volume.provider_location,
        .format = of->format,
        .size_gb = of->adopted.volume.size_gb,
    };
    const char **snapshots =
        arena_alloc(run->arena, (of->adopted.snapshot_count + 1) * sizeof *snapshots);
    const struct driver_recorded recorded = { of->base_format, snapshots };
    struct driver_inspected found;
    struct error why;

    for (unsigned i = 0; i < of->adopted.snapshot_count; i++)
        snapshots[i] = of->adopted.snapshots[i].id;
    if (!backend)
        return arena_format(run->arena, "its backend %s is none of enabled_backends", of->host);
    if (!backend->backend->driver->inspect_volume)
        return arena_format(run->arena, "the driver %s takes over no volumes of another service",
                            backend->backend->driver->name);
    if (!import_backend_open(&run->backends, backend))
        return arena_format(run->arena, "its backend cannot be used: %s", backend->why.message);
    if (backend->backend->driver->inspect_volume(backend->handle, run->arena, &object, &recorded,
                                                 &found, &why) < 0)
        return arena_text(run->arena, why.message);
    return place(run, backend, of, &found);
}

static int take_volume(struct run *run, struct cinder_volume *of, struct error *err) {
    const struct adopted_volume *adopted = &of->adopted;
    const struct volume *volume = &adopted->volume;
    const char *why = row_refusal(run, of);
    int taken;

    if (!why)
        why = storage_refusal(run, of);
    if (why) {
        report(run, "volume", volume->id, volume->name, IMPORT_LEFT, why);
        return 0;
    }
    taken = take_one(run, adopt_volume_body, adopted, "volume", volume->id, volume->name, err);
    return taken < 0 ? -1 : 0;
}

int import_run(struct import *import, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct run run = { .import = import,
                       .arena = arena,
                       .base = work_own(import->settings, arena),
                       .backends = { .arena = arena,
                                     .db = import->db,
                                     .settings = import->settings,
                                     .node = import->node,
                                     .renamed = import->renamed } };
    int result;

    if (cinder_read(arena, import->url, import->settings->no_snapshot_gb_quota, &run.cinder, err) <
        0)
        return -1;
    if (import->apply && run.cinder.live)
        return error_set(
            err, ERROR_CONFLICT,
            "Cinder is running: %s reported within the last minute. Stop its services, "
            "and apply a minute later.",
            run.cinder.live);
    import->groups = run.cinder.groups;
    import->backups = run.cinder.backups;
    import->transfers = run.cinder.transfers;
    import_backends_list(&run.backends, import->backends);
    result = take_types(&run, err) < 0 || take_limits(&run, err) < 0 ? -1 : 0;
    for (size_t i = 0; result == 0 && i < run.cinder.volume_count; i++)
        result = take_volume(&run, &run.cinder.volumes[i], err);
    import_backends_close(&run.backends);
    return result;
}
