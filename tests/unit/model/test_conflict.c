/*
 * Every open operation, in every phase, meets every action: the outcome is that of the table, and
 * whatever happens, everything comes to rest, nothing in use is destroyed, and all invariants hold.
 * Then the stories behind the table, one by one.
 */
#include "model/conflict.h"

#include "common/cleanup.h"
#include "tests/lib/exchange.h"
#include "tests/lib/extend.h"
#include "tests/lib/groups.h"
#include "tests/lib/images.h"
#include "tests/lib/memory_guests.h"

#define RESET(status) "{\"os-reset_status\": {\"status\": \"" status "\"}}"
#define CONNECTOR     "{\"host\": \"" WORLD_NODE "\", \"mountpoint\": \"/dev/vdc\"}"

/* ---- the actions ---- */

struct act {
    enum volume_action action;
    const char *method, *path, *body; /* V stands for the volume's id in a path, A for the
                                       * attachment's, S for a snapshot's, N for a group
                                       * snapshot's, in a body "V" and "S" */
};

#define ACT(number, body) \
    { number, "POST", "/volumes/V/action", body }

static const struct act requests[] = {
    ACT(ACTION_EXTEND, EXTEND(7)),
    ACT(ACTION_COMPLETE_EXTEND, COMPLETE_OK),
    ACT(ACTION_COMPLETE_EXTEND, COMPLETE_ERROR),
    { ACTION_DELETE, "DELETE", "/volumes/V", NULL },
    { ACTION_FORCE_DELETE, "DELETE", "/volumes/V?force=true", NULL },
    ACT(ACTION_FORCE_DELETE, "{\"os-force_delete\": null}"),
    ACT(ACTION_UNMANAGE, "{\"os-unmanage\": null}"),
    ACT(ACTION_RESET_STATUS, RESET("available")),
    ACT(ACTION_RESET_STATUS, RESET("error")),
    ACT(ACTION_RESET_STATUS, RESET("in-use")),
    ACT(ACTION_RESET_STATUS, RESET("error_extending")),
    ACT(ACTION_RESET_STATUS, RESET("error_deleting")),
    ACT(ACTION_RESET_STATUS, RESET("extending")),
    ACT(ACTION_RESET_STATUS, RESET("creating")),
    ACT(ACTION_RESET_STATUS, RESET("attaching")),
    ACT(ACTION_RESET_ATTACH_STATUS, "{\"os-reset_status\": {\"attach_status\": \"detached\"}}"),
    ACT(ACTION_RESET_ATTACH_STATUS, "{\"os-reset_status\": {\"attach_status\": \"attached\"}}"),
    ACT(ACTION_RESET_MIGRATION_STATUS, "{\"os-reset_status\": {\"migration_status\": \"none\"}}"),
    ACT(ACTION_RESERVE, "{\"os-reserve\": null}"),
    ACT(ACTION_UNRESERVE, "{\"os-unreserve\": null}"),
    ACT(ACTION_BEGIN_DETACHING, "{\"os-begin_detaching\": null}"),
    ACT(ACTION_ROLL_DETACHING, "{\"os-roll_detaching\": null}"),
    ACT(ACTION_ATTACH, "{\"os-attach\": {\"mountpoint\": \"/dev/vdc\", \"instance_uuid\": "
                       "\"" WORLD_INSTANCE2 "\"}}"),
    ACT(ACTION_DETACH, "{\"os-detach\": {}}"),
    ACT(ACTION_DETACH, "{\"os-force_detach\": {\"connector\": null}}"),
    ACT(ACTION_INITIALIZE_CONNECTION,
        "{\"os-initialize_connection\": {\"connector\": " CONNECTOR "}}"),
    ACT(ACTION_TERMINATE_CONNECTION,
        "{\"os-terminate_connection\": {\"connector\": " CONNECTOR "}}"),
    { ACTION_ATTACHMENT_CREATE, "POST", "/attachments",
      "{\"attachment\": {\"volume_uuid\": \"V\", \"instance_uuid\": \"" WORLD_INSTANCE2 "\"}}" },
    { ACTION_ATTACHMENT_CREATE, "POST", "/attachments",
      "{\"attachment\": {\"volume_uuid\": \"V\", \"instance_uuid\": \"" WORLD_INSTANCE2 "\", "
      "\"connector\": " CONNECTOR "}}" },
    { ACTION_ATTACHMENT_UPDATE, "PUT", "/attachments/A",
      "{\"attachment\": {\"connector\": " CONNECTOR "}}" },
    { ACTION_ATTACHMENT_COMPLETE, "POST", "/attachments/A/action", "{\"os-complete\": null}" },
    { ACTION_ATTACHMENT_DELETE, "DELETE", "/attachments/A", NULL },
    { ACTION_UPDATE, "PUT", "/volumes/V", "{\"volume\": {\"name\": \"n\"}}" },
    ACT(ACTION_UPDATE, "{\"os-set_bootable\": {\"bootable\": true}}"),
    { ACTION_METADATA, "POST", "/volumes/V/metadata", "{\"metadata\": {\"a\": \"b\"}}" },
    { ACTION_METADATA, "PUT", "/volumes/V/metadata", "{\"metadata\": {\"c\": \"d\"}}" },
    { ACTION_METADATA, "DELETE", "/volumes/V/metadata/a", NULL },
    ACT(ACTION_IMAGE_METADATA, "{\"os-set_image_metadata\": {\"metadata\": {\"a\": \"b\"}}}"),
    ACT(ACTION_IMAGE_METADATA, "{\"os-unset_image_metadata\": {\"key\": \"a\"}}"),
    ACT(ACTION_READONLY, "{\"os-update_readonly_flag\": {\"readonly\": true}}"),
    { ACTION_SNAPSHOT, "POST", "/snapshots", "{\"snapshot\": {\"volume_id\": \"V\"}}" },
    { ACTION_SNAPSHOT, "POST", "/group_snapshots",
      "{\"group_snapshot\": {\"group_id\": \"" GROUP_ID "\"}}" },
    { ACTION_FORCE_DELETE, "DELETE", "/volumes/V?force=true&cascade=true", NULL },
    { ACTION_DELETE, "DELETE", "/volumes/V?cascade=true", NULL },
    ACT(ACTION_REVERT, "{\"revert\": {\"snapshot_id\": \"S\"}}"),
    ACT(ACTION_RECLAIM, "{\"os-reclaim_space\": {}}"),
    ACT(ACTION_UPLOAD, IMAGES_UPLOAD),
    ACT(ACTION_REIMAGE, IMAGES_REIMAGE),
    ACT(ACTION_RETYPE, "{\"os-retype\": {\"new_type\": \"other\"}}"),
    { ACTION_CLONE, "POST", "/volumes", "{\"volume\": {\"source_volid\": \"V\"}}" },
    { ACTION_CLONE_SNAPSHOT, "POST", "/volumes", "{\"volume\": {\"snapshot_id\": \"S\"}}" },
    { ACTION_DROP_SNAPSHOT, "DELETE", "/snapshots/S", NULL },
    { ACTION_DROP_SNAPSHOT, "POST", "/snapshots/S/action", "{\"os-force_delete\": null}" },
    { ACTION_DROP_SNAPSHOT, "DELETE", "/group_snapshots/N", NULL },
    { ACTION_JOIN_GROUP, "PUT", "/groups/" GROUP_ID, "{\"group\": {\"add_volumes\": \"V\"}}" },
    { ACTION_LEAVE_GROUP, "PUT", "/groups/" GROUP_ID, "{\"group\": {\"remove_volumes\": \"V\"}}" },
    { ACTION_TRANSFER, "POST", "/volume-transfers", "{\"transfer\": {\"volume_id\": \"V\"}}" },
    { ACTION_DELETE, "POST", "/groups/" GROUP_ID "/action",
      "{\"delete\": {\"delete-volumes\": true}}" },
};

/* ---- one meeting ---- */

static struct meeting {
    struct world *world;
    const char *id, *attachment, *snapshot, *group_snapshot; /* "" without one */
    bool grouped;
    const struct act *request;
    const char *call;   /* of the driver, in the middle of which the request comes; NULL: none */
    bool resets_before; /* the open operation is cancelled by a reset right before the request */
    bool waits;         /* until that call has ended */
    int status;         /* the answer; 0: not requested yet */
} meeting;

static const char *filled(struct arena *arena, const char *text, const char *what,
                          const char *value) {
    const char *place = text ? strstr(text, what) : NULL;

    if (!place)
        return text;
    return arena_format(arena, "%.*s%s%s", (int)(place - text), text, value, place + strlen(what));
}

static void meet(void) {
    struct world *world = meeting.world;
    autoarena struct arena *arena = arena_new();
    const char *path = meeting.request->path;

    meeting.status = -1; /* once */
    if (meeting.resets_before)
        ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
    path = filled(arena, filled(arena, path, "/V", arena_format(arena, "/%s", meeting.id)), "/A",
                  arena_format(arena, "/%s", meeting.attachment));
    path = filled(arena, path, "/S", arena_format(arena, "/%s", meeting.snapshot));
    path = filled(arena, path, "/N", arena_format(arena, "/%s", meeting.group_snapshot));
    world->may_wait = meeting.waits;
    meeting.status = world_call(world, meeting.request->method, path,
                                filled(arena,
                                       filled(arena, meeting.request->body, "\"V\"",
                                              arena_format(arena, "\"%s\"", meeting.id)),
                                       "\"S\"", arena_format(arena, "\"%s\"", meeting.snapshot)));
    if (meeting.waits && meeting.status == 0)
        meeting.status = -1;
}

static struct fault_decision in_the_driver(void *arg, const char *call, const char *volume_id) {
    (void)arg, (void)volume_id;
    if (meeting.call && strcmp(call, meeting.call) == 0 && meeting.status == 0)
        meet();
    return (struct fault_decision){ .action = FAULT_PASS };
}

static void in_the_event(struct world *world, const struct world_event *event) {
    (void)world, (void)event;
    if (!meeting.call && meeting.status == 0)
        meet();
}

/* ---- open operations ---- */

static void new_volume(void) {
    struct world *world = meeting.world;

    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}"), 202);
    meeting.id = world_answer_id(world, "volume");
}

static void ready(bool attached) {
    meeting.id = world_volume(meeting.world, 2);
    if (attached)
        meeting.attachment = world_attach(meeting.world, meeting.id, WORLD_INSTANCE);
}

static void create(void) {
    new_volume();
}

static void open_delete(void) {
    autoarena struct arena *arena = arena_new();

    ready(false);
    ck_assert_int_eq(
        world_call(meeting.world, "DELETE", arena_format(arena, "/volumes/%s", meeting.id), NULL),
        202);
}

static void extend_free(void) {
    ready(false);
    ck_assert_int_eq(world_action(meeting.world, meeting.id, EXTEND(5)), 202);
}

static void extend_used(void) {
    ready(true);
    ck_assert_int_eq(world_action(meeting.world, meeting.id, EXTEND(5)), 202);
}

static void wait_for_report(void) {
    extend_used();
    world_settle(meeting.world);
}

static void report(void) {
    wait_for_report();
    guest_grows(meeting.world, meeting.id, 5);
    ck_assert_int_eq(world_action(meeting.world, meeting.id, COMPLETE_OK), 202);
}

static void beside(const char *kind, enum operation_phase phase) {
    autoarena struct arena *arena = arena_new();

    ready(true);
    world_sql(meeting.world,
              arena_format(arena,
                           "INSERT INTO operations (id, kind, target_id, volume_id, host, phase, "
                           "project_id, user_id, request_id, attempts, arguments, created_at, "
                           "updated_at, owner, lease_until) SELECT 'o', '%s', 't', id, "
                           "'" WORLD_NODE "@memory', '%s', project_id, 'u', 'r', 0, "
                           "'{\"instance_uuid\": \"" WORLD_INSTANCE "\", \"connector\": {}}', "
                           "1, 1, %s FROM volumes",
                           kind, operation_phase_text(phase),
                           phase == PHASE_RUNNING ? "'dead:1:1', 1" : "NULL, NULL"));
}

/* S is there, and another one is being made, or goes. */
static void snapshot_ready(void) {
    ready(false);
    meeting.snapshot = snapshot_of_volume(meeting.world, meeting.id);
}

static void snapshot_create(void) {
    snapshot_ready();
    new_snapshot(meeting.world, meeting.id);
}

static void snapshot_delete(void) {
    struct world *world = meeting.world;
    const char *other;

    ready(true);
    meeting.snapshot = new_snapshot(meeting.world, meeting.id);
    other = new_snapshot(meeting.world, meeting.id);
    world_settle(world);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/snapshots/%s", other), NULL), 202);
}

static void snapshot_manage(void) {
    struct world *world = meeting.world;

    ready(true);
    meeting.snapshot = snapshot_of_volume(world, meeting.id);
    memory_put(world->memory, "disk", 2 * GIB, 7);
    ck_assert_int_eq(
        world_call(world, "POST", "/os-snapshot-manage",
                   PATH("{\"snapshot\": {\"volume_id\": \"%s\", \"ref\": \"disk\"}}", meeting.id)),
        202);
}

static void snapshot_unmanage(void) {
    struct world *world = meeting.world;
    const char *other;

    ready(true);
    meeting.snapshot = snapshot_of_volume(world, meeting.id);
    other = snapshot_of_volume(world, meeting.id);
    ck_assert_int_eq(
        world_call(world, "POST", PATH("/snapshots/%s/action", other), "{\"os-unmanage\": {}}"),
        202);
}

/* The host of its guest is requested to make another one, or to release it. */
static void snapshot_requested(void) {
    ready(true);
    meeting.snapshot = snapshot_of_volume(meeting.world, meeting.id);
    memory_defer_snapshots(meeting.world->memory, true);
    meeting.world->settings.assisted_delete_deadline_s = 600;
    new_snapshot(meeting.world, meeting.id);
}

static void snapshot_awaited(void) {
    snapshot_requested();
    world_settle(meeting.world);
}

static void merge_requested(void) {
    snapshot_delete();
    memory_defer_snapshots(meeting.world->memory, true);
    meeting.world->settings.assisted_delete_deadline_s = 600;
}

static void merge_awaited(void) {
    merge_requested();
    world_settle(meeting.world);
}

/* The volume is in a group of its own. */
static void join_group(void) {
    group_of(meeting.world, &meeting.id, 1);
    meeting.grouped = true;
}

/* S and N are there, and another group snapshot is being made, or goes. */
static void group_snapshot_create(void) {
    snapshot_ready();
    join_group();
    meeting.group_snapshot = new_group_snapshot(meeting.world);
    world_settle(meeting.world);
    new_group_snapshot(meeting.world);
}

static void group_snapshot_delete(void) {
    struct world *world = meeting.world;
    const char *other;

    snapshot_ready();
    join_group();
    meeting.group_snapshot = new_group_snapshot(world);
    other = new_group_snapshot(world);
    world_settle(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", other), NULL), 202);
}

static void revert(void) {
    struct world *world = meeting.world;

    snapshot_ready();
    ck_assert_int_eq(world_action(world, meeting.id, "{\"revert\": {\"snapshot_id\": \"%s\"}}",
                                  meeting.snapshot),
                     202);
}

static void reclaim(void) {
    snapshot_ready();
    ck_assert_int_eq(world_action(meeting.world, meeting.id, "{\"os-reclaim_space\": null}"), 202);
}

static void upload(void) {
    snapshot_ready();
    ck_assert_int_eq(world_action(meeting.world, meeting.id, "%s", IMAGES_UPLOAD), 202);
}

static void reimage(void) {
    snapshot_ready();
    ck_assert_int_eq(world_action(meeting.world, meeting.id, "%s", IMAGES_REIMAGE), 202);
}

static void upload_used(void) {
    ready(true);
    ck_assert_int_eq(world_action(meeting.world, meeting.id, "%s", IMAGES_UPLOAD), 202);
}

/* The check of the request itself is not the one under test. */
static void manage(void) {
    struct world *world = meeting.world;
    struct fault_decision (*decide)(void *arg, const char *call, const char *volume_id) =
        world->decide;

    memory_put(world->memory, "disk", 2 * GIB, 0);
    world->decide = NULL;
    ck_assert_int_eq(world_call(world, "POST", "/os-volume-manage",
                                "{\"volume\": {\"host\": \"node@memory\", \"ref\": \"disk\"}}"),
                     202);
    meeting.id = world_answer_id(world, "volume");
    world->decide = decide;
}

static void unmanage(void) {
    ready(false);
    ck_assert_int_eq(world_action(meeting.world, meeting.id, "{\"os-unmanage\": null}"), 202);
}

static void clone_volume(void) {
    struct world *world = meeting.world;

    ready(false);
    ck_assert_int_eq(
        world_call(
            world, "POST", "/volumes",
            arena_format(world->arena, "{\"volume\": {\"source_volid\": \"%s\"}}", meeting.id)),
        202);
}

/* A host was given it by os-initialize_connection, and is not attached. */
static void connected(void) {
    struct world *world = meeting.world;

    snapshot_ready();
    ck_assert_int_eq(world_action(world, meeting.id,
                                  "{\"os-initialize_connection\": {\"connector\": " CONNECTOR "}}"),
                     200);
}

static void connect_queued(void) {
    beside("connect", PHASE_QUEUED);
}
static void connect_running(void) {
    beside("connect", PHASE_RUNNING);
}
static void connect_answered(void) {
    beside("connect", PHASE_ANSWERED);
}
static void notify_queued(void) {
    beside("notify", PHASE_QUEUED);
}
static void notify_running(void) {
    beside("notify", PHASE_RUNNING);
}
static void notify_reimaged_queued(void) {
    beside("notify_reimaged", PHASE_QUEUED);
}
static void notify_reimaged_running(void) {
    beside("notify_reimaged", PHASE_RUNNING);
}

static const struct setting {
    enum open_work work;
    const char *name;
    void (*open)(void);
    enum { BETWEEN, IN_DRIVER, IN_EVENT } when;
    const char *call;
    bool cancelled; /* by a reset */
} settings[] = {
    { WORK_MAKES, "create", create, BETWEEN, NULL, false },
    { WORK_MAKES, "create", create, IN_DRIVER, "create_volume", false },
    { WORK_DESTROYS, "delete", open_delete, BETWEEN, NULL, false },
    { WORK_DESTROYS, "delete", open_delete, IN_DRIVER, "delete_volume", false },
    { WORK_MAKES, "manage", manage, BETWEEN, NULL, false },
    { WORK_MAKES, "manage", manage, IN_DRIVER, "get_manageable", false },
    { WORK_MAKES, "manage", manage, IN_DRIVER, "manage_volume", false },
    { WORK_DESTROYS, "unmanage", unmanage, BETWEEN, NULL, false },
    { WORK_DESTROYS, "unmanage", unmanage, IN_DRIVER, "unmanage_volume", false },
    { WORK_GROWS, "extend", extend_free, BETWEEN, NULL, false },
    { WORK_GROWS, "extend of a used one", extend_used, BETWEEN, NULL, false },
    { WORK_GROWS, "extend", extend_free, IN_DRIVER, "extend_volume", false },
    { WORK_GROWS, "extend of a used one", extend_used, IN_DRIVER, "extend_volume", false },
    { WORK_AWAITS, "event", extend_used, IN_EVENT, NULL, false },
    { WORK_AWAITS, "pending", wait_for_report, BETWEEN, NULL, false },
    { WORK_GROWS, "reported", report, BETWEEN, NULL, false },
    { WORK_GROWS, "judged", report, IN_DRIVER, "get_size", false },
    { WORK_SNAPSHOTS, "snapshot", snapshot_create, BETWEEN, NULL, false },
    { WORK_SNAPSHOTS, "snapshot", snapshot_create, IN_DRIVER, "create_snapshot", false },
    { WORK_SNAPSHOTS, "snapshot goes", snapshot_delete, BETWEEN, NULL, false },
    { WORK_SNAPSHOTS, "snapshot goes", snapshot_delete, IN_DRIVER, "delete_snapshot", false },
    { WORK_SNAPSHOTS, "snapshot is taken over", snapshot_manage, BETWEEN, NULL, false },
    { WORK_SNAPSHOTS, "snapshot is taken over", snapshot_manage, IN_DRIVER, "manage_snapshot",
      false },
    { WORK_SNAPSHOTS, "snapshot is let go of", snapshot_unmanage, BETWEEN, NULL, false },
    { WORK_SNAPSHOTS, "snapshot is let go of", snapshot_unmanage, IN_DRIVER, "unmanage_snapshot",
      false },
    { WORK_SNAPSHOTS, "snapshot by a host", snapshot_requested, IN_DRIVER, "prepare_assist",
      false },
    { WORK_SNAPSHOTS, "snapshot by a host", snapshot_awaited, BETWEEN, NULL, false },
    { WORK_SNAPSHOTS, "merge by a host", merge_requested, IN_DRIVER, "prepare_assist", false },
    { WORK_SNAPSHOTS, "merge by a host", merge_awaited, BETWEEN, NULL, false },
    { WORK_SNAPSHOTS, "group snapshot", group_snapshot_create, BETWEEN, NULL, false },
    { WORK_SNAPSHOTS, "group snapshot", group_snapshot_create, IN_DRIVER, "create_snapshot",
      false },
    { WORK_SNAPSHOTS, "group snapshot goes", group_snapshot_delete, BETWEEN, NULL, false },
    { WORK_SNAPSHOTS, "group snapshot goes", group_snapshot_delete, IN_DRIVER, "delete_snapshot",
      false },
    { WORK_REVERTS, "revert", revert, BETWEEN, NULL, false },
    { WORK_REVERTS, "revert", revert, IN_DRIVER, "revert_volume", false },
    { WORK_RECLAIMS, "reclaim", reclaim, BETWEEN, NULL, false },
    { WORK_RECLAIMS, "reclaim", reclaim, IN_DRIVER, "reclaim_volume", false },
    { WORK_READS, "clone", clone_volume, BETWEEN, NULL, false },
    { WORK_READS, "clone", clone_volume, IN_DRIVER, "clone_volume", false },
    { WORK_REVERTS, "reimage", reimage, BETWEEN, NULL, false },
    { WORK_UPLOADS, "upload", upload, BETWEEN, NULL, false },
    { WORK_UPLOADS, "upload", upload, IN_DRIVER, "open_volume_data", false },
    { WORK_UPLOADS, "upload of a used one", upload_used, IN_DRIVER, "create_snapshot", false },
    { WORK_CONNECTED, "connected", connected, BETWEEN, NULL, false },
    { WORK_BESIDE, "connect queued", connect_queued, BETWEEN, NULL, false },
    { WORK_BESIDE, "connect running", connect_running, BETWEEN, NULL, false },
    { WORK_BESIDE, "connect answered", connect_answered, BETWEEN, NULL, false },
    { WORK_BESIDE, "notify queued", notify_queued, BETWEEN, NULL, false },
    { WORK_BESIDE, "notify running", notify_running, BETWEEN, NULL, false },
    { WORK_BESIDE, "notify_reimaged queued", notify_reimaged_queued, BETWEEN, NULL, false },
    { WORK_BESIDE, "notify_reimaged running", notify_reimaged_running, BETWEEN, NULL, false },
    { WORK_CANCELLED, "cancelled delete", open_delete, IN_DRIVER, "delete_volume", true },
    { WORK_CANCELLED, "cancelled unmanage", unmanage, IN_DRIVER, "unmanage_volume", true },
    { WORK_CANCELLED, "cancelled revert", revert, IN_DRIVER, "revert_volume", true },
    { WORK_YIELDS, "cancelled reclaim", reclaim, IN_DRIVER, "reclaim_volume", true },
    { WORK_YIELDS, "cancelled upload", upload, IN_DRIVER, "open_volume_data", true },
    { WORK_CANCELLED, "cancelled extend", extend_free, IN_DRIVER, "extend_volume", true },
    { WORK_CANCELLED, "cancelled extend of a used one", extend_used, IN_DRIVER, "extend_volume",
      true },
};

/* The backend's work for an attach waits for the worker of a reclaim. */
static bool waits_for_worker(const struct setting *setting, const struct act *request) {
    bool connects =
        request->action == ACTION_INITIALIZE_CONNECTION ||
        (request->action == ACTION_ATTACHMENT_CREATE && strstr(request->body, "connector"));

    return connects && setting->when == IN_DRIVER &&
           (setting->work == WORK_RECLAIMS || setting->work == WORK_YIELDS);
}

/* ---- how it ends ---- */

static bool brings_a_user(enum volume_action action) {
    return action == ACTION_RESERVE || action == ACTION_ATTACH ||
           action == ACTION_ATTACHMENT_CREATE || action == ACTION_ATTACHMENT_UPDATE ||
           action == ACTION_ATTACHMENT_COMPLETE;
}

static void rest(struct world *world) {
    world->decide = NULL;
    world->on_event = NULL;
    for (int i = 0; i < 6; i++) {
        world_settle(world);
        world_advance(world, i < 3 ? 31 : 700);
    }
    world_settle(world);
}

static void assert_at_rest(const struct setting *setting) {
    struct world *world = meeting.world;
    const char *about = meeting.request->body ? meeting.request->body : meeting.request->method;
    const char *status = world_status(world, meeting.id);

    ck_assert_msg(world_check(world) == 0, "%s, %s: a promise does not hold", setting->name, about);
    ck_assert_msg(world_count(world, "SELECT COUNT(*) FROM operations WHERE "
                                     "phase <> 'answered'") == 0,
                  "%s, %s: operations are left", setting->name, about);
    ck_assert_msg(world_count(world, "SELECT COUNT(*) FROM reservations") == 0,
                  "%s, %s: reservations are left", setting->name, about);
    ck_assert_msg(world_count(world, "SELECT COUNT(*) FROM volumes WHERE status_by_reset = 0 AND "
                                     "status IN ('creating', 'deleting', 'extending', "
                                     "'reverting', 'reclaiming', 'managing', 'unmanaging', "
                                     "'uploading', 'downloading')") == 0,
                  "%s, %s: stranded in %s", setting->name, about, status);
    ck_assert_msg(world_count(world, "SELECT COUNT(*) FROM snapshots WHERE "
                                     "status IN ('creating', 'deleting', 'restoring')") == 0,
                  "%s, %s: a snapshot is stranded", setting->name, about);
    ck_assert_msg(world_count(world, "SELECT COUNT(*) FROM group_snapshots WHERE "
                                     "status IN ('creating', 'deleting')") == 0,
                  "%s, %s: a group snapshot is stranded", setting->name, about);
    if (meeting.status < 300 && brings_a_user(meeting.request->action))
        ck_assert_msg(world_real_gb(world, meeting.id) >= 2, "%s, %s: destroyed under its user",
                      setting->name, about);
    if (meeting.status < 300 && meeting.request->action == ACTION_RESET_STATUS)
        ck_assert_msg(strstr(about, status) && world_real_gb(world, meeting.id) >= 2,
                      "%s, %s: %s with %jd GiB", setting->name, about, status,
                      (intmax_t)world_real_gb(world, meeting.id));
    if (meeting.status < 300 && meeting.request->action == ACTION_FORCE_DELETE)
        ck_assert_msg(strcmp(status, "gone") == 0 && world_real_gb(world, meeting.id) < 0,
                      "%s, %s: still there", setting->name, about);
}

static bool is_usable(const char *about) {
    return strstr(about, "available") || strstr(about, "in-use") || strstr(about, "attaching");
}

/* Invariants above every table. */
static void assert_answer(const struct setting *setting) {
    enum volume_action action = meeting.request->action;
    const char *about = meeting.request->body ? meeting.request->body : meeting.request->method;
    bool keeps_users_out = setting->work != WORK_BESIDE && setting->work != WORK_CONNECTED;
    bool brings_a_new_one =
        action == ACTION_RESERVE || action == ACTION_ATTACH || action == ACTION_ATTACHMENT_CREATE;
    bool goes_before =
        brings_a_new_one && (setting->work == WORK_RECLAIMS || setting->work == WORK_YIELDS);
    bool waits = (action == ACTION_EXTEND && setting->work == WORK_SNAPSHOTS) ||
                 (!brings_a_new_one && setting->work == WORK_READS);

    /* A delete of its group leaves a volume that is being deleted to that. */
    if (action == ACTION_DELETE && strstr(meeting.request->path, GROUP_ID) &&
        strcmp(setting->name, "delete") == 0) {
        ck_assert_msg(meeting.status == 202, "%s, %s: %d", setting->name, about, meeting.status);
        return;
    }
    if (goes_before)
        ck_assert_msg(meeting.status < 300, "%s, %s: %d", setting->name, about, meeting.status);
    if (keeps_users_out && !waits && !goes_before &&
        (brings_a_new_one || action == ACTION_EXTEND || action == ACTION_DELETE))
        ck_assert_msg(meeting.status == 400, "%s, %s: %d", setting->name, about, meeting.status);
    if (action == ACTION_RESET_STATUS && (*meeting.attachment || !strstr(about, "in-use")))
        ck_assert_msg(meeting.status ==
                          (setting->work == WORK_MAKES && is_usable(about) ? 400 : 202),
                      "%s, %s: %d", setting->name, about, meeting.status);
    if (action == ACTION_FORCE_DELETE && !*meeting.attachment && !*meeting.snapshot)
        ck_assert_msg(meeting.status == 202, "%s, %s: %d", setting->name, about, meeting.status);
    if (conflict_between(action, setting->work) == CONFLICT_REFUSED)
        ck_assert_msg(
            meeting.status == 400 ||
                ((action == ACTION_REVERT || action == ACTION_RECLAIM) && meeting.status == 409),
            "%s, %s: %d", setting->name, about, meeting.status);
}

static bool is_about_group(const struct act *request) {
    return strstr(request->path, GROUP_ID) || (request->body && strstr(request->body, GROUP_ID));
}

static void hold_meeting(const struct setting *setting, const struct act *request) {
    autoworld struct world *world = world_new(NULL);
    const char *about = request->body ? request->body : request->method;

    meeting = (struct meeting){
        .world = world,
        .attachment = "",
        .snapshot = "",
        .group_snapshot = "",
        .request = request,
    };
    world->settings.enable_force_upload = true;
    images_begin(world);
    meeting.resets_before = setting->cancelled;
    meeting.waits = waits_for_worker(setting, request);
    setting->open();
    if ((strstr(request->path, "/A") && !*meeting.attachment) ||
        ((strstr(request->path, "/S") || (request->body && strstr(request->body, "\"S\""))) &&
         !*meeting.snapshot) ||
        (strstr(request->path, "/N") && !*meeting.group_snapshot))
        return;
    if (request->action == ACTION_RETYPE)
        world_sql(world, "INSERT INTO volume_types (id, name, is_public, created_at) "
                         "VALUES ('other', 'other', 1, 1)");
    if (is_about_group(request) && !meeting.grouped)
        group_of(world, &meeting.id, request->action != ACTION_JOIN_GROUP);
    meeting.call = setting->call;
    if (setting->when == IN_DRIVER)
        world->decide = in_the_driver;
    else if (setting->when == IN_EVENT)
        world->on_event = in_the_event;
    else
        meet();
    world_settle(world);
    if (meeting.waits && meeting.status < 0) {
        api_operations_ended(world->api);
        meeting.status = test_exchange_await(world->abandoned);
    }
    ck_assert_msg(meeting.status > 0, "%s, %s: did not meet", setting->name, about);
    ck_assert_msg(meeting.status < 500, "%s, %s: %d", setting->name, about, meeting.status);
    assert_answer(setting);
    rest(world);
    assert_at_rest(setting);
}

START_TEST(every_open_operation_meets_every_action) {
    for (unsigned n = WALK_FIRST; n < LENGTH(settings) * LENGTH(requests); n += WALK_STEP)
        hold_meeting(&settings[n / LENGTH(requests)], &requests[n % LENGTH(requests)]);
}
END_TEST

/* No row and no column of the table was left out above. */
START_TEST(the_whole_table_is_walked) {
    bool actions[VOLUME_ACTIONS] = { false }, works[OPEN_WORK] = { false };

    for (unsigned i = 0; i < LENGTH(settings); i++)
        works[settings[i].work] = true;
    for (unsigned i = 0; i < LENGTH(requests); i++)
        actions[requests[i].action] = true;
    for (unsigned i = 0; i < OPEN_WORK; i++)
        ck_assert_msg(works[i], "work %u", i);
    for (unsigned i = 0; i < VOLUME_ACTIONS; i++)
        ck_assert_msg(actions[i], "action %u", i);
}
END_TEST

/* ---- stories ---- */

static void assert_whole(struct world *world, const char *id, const char *status) {
    ck_assert_str_eq(world_status(world, id), status);
    ck_assert_int_eq(world_real_gb(world, id), 2);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}

/* No worker has begun with it: it is over at once. */
START_TEST(a_queued_delete_that_was_reset_destroys_nothing) {
    autoworld struct world *world = meeting.world = world_new(NULL);

    open_delete();
    ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    world_attach(world, meeting.id, WORLD_INSTANCE);
    rest(world);
    assert_whole(world, meeting.id, "in-use");
}
END_TEST

/* Something in the middle of the driver's call, and how often it was called. */
static void (*interruption)(struct world *world);
static unsigned calls;

static struct fault_decision interrupted(void *arg, const char *call, const char *volume_id) {
    (void)volume_id;
    if (meeting.call && strcmp(call, meeting.call) == 0 && calls++ == 0)
        interruption(arg);
    return (struct fault_decision){ .action = FAULT_PASS };
}

static struct world *world_with(const char *call, void (*in_the_middle)(struct world *world)) {
    struct world *world = world_new(NULL);

    meeting = (struct meeting){ .world = world, .attachment = "", .call = call };
    interruption = in_the_middle;
    calls = 0;
    world->decide = interrupted;
    return world;
}

static int reserve(struct world *world) {
    return world_action(world, meeting.id, "{\"os-reserve\": null}");
}

static void reset_and_expect_unavailable(struct world *world) {
    ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
    ck_assert_str_eq(world_status(world, meeting.id), "available");
    ck_assert_int_eq(reserve(world), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "before its former delete has ended"));
    ck_assert_int_eq(world_check(world), 0);
}

/* Its worker detects it right before the effect, and until then the volume is not available. */
START_TEST(a_running_delete_that_was_reset_destroys_nothing) {
    autoworld struct world *world = world_with("delete_volume", reset_and_expect_unavailable);

    open_delete();
    world_settle(world);
    assert_whole(world, meeting.id, "available");
    world_attach(world, meeting.id, WORLD_INSTANCE);
    rest(world);
    assert_whole(world, meeting.id, "in-use");
}
END_TEST

/* Its worker slept, and another manager has looked after it: it wakes up under a guest. */
static void reset_and_given_to_a_guest(struct world *world) {
    ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
    world_sql(world, "DELETE FROM operations");
    world->now_us += 3600 * INT64_C(1000000);
    world_attach(world, meeting.id, WORLD_INSTANCE);
}

START_TEST(a_delete_that_wakes_up_late_destroys_nothing) {
    autoworld struct world *world = world_with("delete_volume", reset_and_given_to_a_guest);

    open_delete();
    world_settle(world);
    ck_assert_uint_eq(calls, 1);
    rest(world);
    assert_whole(world, meeting.id, "in-use");
}
END_TEST

static void guest_without_a_request(struct world *world) {
    world_sql(world, "INSERT INTO attachments (id, volume_id, project_id, attach_status, "
                     "created_at) SELECT 'a', id, project_id, 'reserved', 1 FROM volumes");
}

/* Whatever wrote that: a reserved or attached volume is not destroyed. */
START_TEST(a_delete_checks_attachments_at_its_begin_and_before_its_effect) {
    for (int before = 0; before <= 1; before++) {
        autoworld struct world *world = world_with("delete_volume", guest_without_a_request);

        open_delete();
        if (before) {
            world->decide = NULL;
            guest_without_a_request(world);
        }
        world_settle(world);
        rest(world);
        ck_assert_int_eq(world_real_gb(world, meeting.id), 2);
        ck_assert_str_eq(world_status(world, meeting.id), "error_deleting");
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

static void destroyed_and_reset(struct world *world) {
    ck_assert(memory_remove(world->memory, meeting.id));
    ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
    ck_assert_int_eq(reserve(world), 400);
}

/* The reset came behind the effect: no status makes that undone. */
START_TEST(a_delete_that_was_reset_too_late_leaves_an_error) {
    autoworld struct world *world = world_with("delete_volume", destroyed_and_reset);
    autoarena struct arena *arena = arena_new();

    open_delete();
    world_settle(world);
    ck_assert_str_eq(world_status(world, meeting.id), "error");
    ck_assert(world_has_message(world, meeting.id, "VOLUME_VOLUME_901_901"));
    ck_assert_int_eq(reserve(world), 400);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(arena, "/volumes/%s", meeting.id), NULL), 202);
    rest(world);
    ck_assert_str_eq(world_status(world, meeting.id), "gone");
    assert_quota(world, 0, 0);
}
END_TEST

/* The worker died after the effect: the reset volume is checked before it becomes available. */
START_TEST(a_reset_of_a_delete_without_a_worker_checks_the_object) {
    for (int destroyed = 0; destroyed <= 1; destroyed++) {
        autoworld struct world *world = meeting.world = world_new(NULL);

        open_delete();
        world_sql(world, "UPDATE operations SET phase = 'running', owner = 'dead:1:1', "
                         "lease_until = 1, attempts = 1");
        if (destroyed)
            memory_remove(world->memory, meeting.id);
        ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
        ck_assert_int_eq(reserve(world), 400);
        world_settle(world);
        ck_assert_str_eq(world_status(world, meeting.id), destroyed ? "error" : "available");
        ck_assert_int_eq(reserve(world), destroyed ? 400 : 202);
        rest(world);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* An unavailable backend cannot be checked yet: the volume does not become available before
 * that. */
START_TEST(a_reset_delete_waits_for_its_backend) {
    autoworld struct world *world = meeting.world = world_new(NULL);

    open_delete();
    world_sql(world, "UPDATE operations SET phase = 'running', attempts = 1");
    ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
    memory_fail_next(world->memory, "get_size", ERROR_UNAVAILABLE);
    world_settle(world);
    ck_assert_int_eq(reserve(world), 400);
    rest(world);
    ck_assert_int_eq(reserve(world), 202);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* The claim of a delete is not flushed, and its effect is: a loss of power leaves a queued delete
 * whose object is gone. */
START_TEST(a_reset_delete_of_an_earlier_boot_checks_the_object) {
    for (int gone = 0; gone <= 1; gone++) {
        autoworld struct world *world = meeting.world = world_new(NULL);

        open_delete();
        world_sql(world, "DELETE FROM clock");
        world_sql(world, "INSERT INTO clock (base, ahead_us, told_us) "
                         "SELECT 'boot', 0, created_at + 1 FROM operations");
        if (gone)
            ck_assert(memory_remove(world->memory, meeting.id));
        ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
        ck_assert_int_eq(reserve(world), 400);
        rest(world);
        ck_assert_str_eq(world_status(world, meeting.id), gone ? "error" : "available");
        ck_assert_int_eq(reserve(world), gone ? 400 : 202);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* An object that will never be readable is no reason to keep the volume for ever. */
static struct fault_decision no_size(void *arg, const char *call, const char *volume_id) {
    (void)volume_id;
    if (strcmp(call, "get_size") == 0)
        memory_fail_next(((struct world *)arg)->memory, "get_size", ERROR_BACKEND);
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(a_reset_delete_does_not_wait_for_an_unreadable_object) {
    autoworld struct world *world = meeting.world = world_new(NULL);

    open_delete();
    world_sql(world, "UPDATE operations SET phase = 'running', attempts = 1");
    ck_assert_int_eq(world_action(world, meeting.id, RESET("error")), 202);
    world->decide = no_size;
    world_settle(world);
    ck_assert_int_eq(world_action(world, meeting.id, "{\"os-force_delete\": null}"), 202);
    for (int i = 0; i < 100 && strcmp(world_status(world, meeting.id), "gone") != 0; i++) {
        world_advance(world, 31);
        world_settle(world);
    }
    ck_assert_str_eq(world_status(world, meeting.id), "gone");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    assert_quota(world, 0, 0);
}
END_TEST

/* Nor is one of a create that failed, whose format is unknown. */
START_TEST(a_reset_delete_does_not_check_an_object_that_was_never_created) {
    autoworld struct world *world = meeting.world = world_new(NULL);

    open_delete();
    world_sql(world, "UPDATE operations SET phase = 'running', attempts = 1");
    world_sql(world, "UPDATE volumes SET provider_location = NULL, format = NULL");
    ck_assert_int_eq(world_action(world, meeting.id, RESET("error")), 202);
    world->decide = no_size;
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_str_eq(world_status(world, meeting.id), "error");
}
END_TEST

/* A manager that dies with a cancelled operation in its hands: its next start finishes it. */
static void reset_and_the_manager_dies(struct world *world) {
    ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
    world_die_after(world, 0);
}

START_TEST(operations_cancelled_under_a_dead_manager_end_with_its_next_start) {
    static const char *const when[] = { "delete_volume", "extend_volume" };
    static void (*const open[])(void) = { open_delete, extend_free };

    for (unsigned i = 0; i < LENGTH(when); i++) {
        autoworld struct world *world = world_with(when[i], reset_and_the_manager_dies);

        open[i]();
        world_settle(world);
        ck_assert(world->dead);
        world->decide = NULL;
        world_restart(world);
        ck_assert_int_eq(reserve(world), 400);
        rest(world);
        ck_assert_int_eq(reserve(world), 202);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

static void reset_in_the_middle(struct world *world) {
    ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 400);
    ck_assert_str_eq(world_status(world, meeting.id), "creating");
    ck_assert_int_eq(world_action(world, meeting.id, RESET("error")), 202);
}

/* A volume that an operator sets to error while it is made can be set to available when it is made,
 * and not before. */
START_TEST(a_reset_create_ends_in_its_real_state) {
    for (int fails = 0; fails <= 1; fails++) {
        autoworld struct world *world = world_with("create_volume", reset_in_the_middle);

        if (fails)
            memory_fail_next(world->memory, "create_volume", ERROR_BACKEND);
        create();
        world_settle(world);
        ck_assert_str_eq(world_status(world, meeting.id), "error");
        ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), fails ? 400 : 202);
        ck_assert_str_eq(world_status(world, meeting.id), fails ? "error" : "available");
        ck_assert_int_eq(reserve(world), fails ? 400 : 202);
        rest(world);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* Behind a delete that was ended too late comes another one, which an operator ends before it
 * begins. */
static int64_t effects_until_death;

static void destroyed_reset_and_deleted(struct world *world) {
    ck_assert(memory_remove(world->memory, meeting.id));
    ck_assert_int_eq(world_action(world, meeting.id, RESET("available")), 202);
    ck_assert_int_eq(world_action(world, meeting.id, "{\"os-force_delete\": null}"), 202);
    world_die_after(world, effects_until_death);
}

START_TEST(a_volume_destroyed_by_a_former_delete_is_not_reset_to_a_usable_status) {
    unsigned refused = 0;
    bool dead = true;

    for (effects_until_death = 0; dead; effects_until_death++) {
        autoworld struct world *world = world_with("delete_volume", destroyed_reset_and_deleted);
        int status;

        open_delete();
        world_settle(world);
        dead = world->dead;
        world->decide = NULL;
        world_restart(world);
        status = world_action(world, meeting.id, RESET("available"));
        refused += status == 400;
        ck_assert(status == 202 || status == 400 || status == 404);
        for (int i = 0; i < 3; i++) {
            world_settle(world);
            world_advance(world, 61);
        }
        rest(world);
        ck_assert_int_eq(world_check(world), 0);
        ck_assert(strcmp(world_status(world, meeting.id), "available") != 0 ||
                  world_real_gb(world, meeting.id) > 0);
    }
    ck_assert_uint_gt(refused, 0);
}
END_TEST

CHECK_MAIN("conflict", every_open_operation_meets_every_action, the_whole_table_is_walked,
           a_queued_delete_that_was_reset_destroys_nothing,
           a_running_delete_that_was_reset_destroys_nothing,
           a_delete_that_wakes_up_late_destroys_nothing,
           a_delete_checks_attachments_at_its_begin_and_before_its_effect,
           a_delete_that_was_reset_too_late_leaves_an_error,
           a_reset_of_a_delete_without_a_worker_checks_the_object,
           a_reset_delete_waits_for_its_backend,
           a_reset_delete_of_an_earlier_boot_checks_the_object,
           a_reset_delete_does_not_wait_for_an_unreadable_object,
           a_reset_delete_does_not_check_an_object_that_was_never_created,
           operations_cancelled_under_a_dead_manager_end_with_its_next_start,
           a_reset_create_ends_in_its_real_state,
           a_volume_destroyed_by_a_former_delete_is_not_reset_to_a_usable_status)
