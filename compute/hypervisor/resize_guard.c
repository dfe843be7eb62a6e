#include "compute/hypervisor/resize_guard.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "compute/hypervisor/blocks.h"
#include "compute/hypervisor/domain_xml.h"
#include "compute/hypervisor/monitor.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

#define PREFIX    "scoria-"
#define NODE_SIZE 32 /* QEMU's limit, with the terminator */
#define ROUNDS    8
#define LATE_US   (60 * SECOND_US)

struct resize_guard {
    const struct guest *guest;
    const struct disk *disk;
    char node[NODE_SIZE];  /* the node below the guest's device */
    char name[NODE_SIZE];  /* of the guard node above it */
    char scope[NODE_SIZE]; /* prefix of the names of all guards of this disk */
    int64_t begun_us;
};

/* Names are inserted into commands unescaped. */
static bool is_plain(const char *name) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return name && name[0] && name[strspn(name, plain)] == '\0';
}

static int delete_node(const struct guest *guest, const char *name, struct error *err) {
    return monitor_query(
        guest,
        arena_format(guest->arena,
                     "{\"execute\": \"blockdev-del\", \"arguments\": {\"node-name\": "
                     "\"%s\"}}",
                     name),
        NULL, err);
}

/* The node below the guest's device: while its name stays the same, so does the disk.
 * `ret_capacity` may be NULL. */
static int read_node(const struct guest *guest, const char *device, char ret[NODE_SIZE],
                     int64_t *ret_capacity, struct error *err) {
    const json_t *block = monitor_find_block(guest, device, err);
    const char *name = json_text_at(block, "inserted.node-name");

    if (!block)
        return -1;
    /* While a block job runs, a node of QEMU's own, "#block…", is in that place. */
    if (!is_plain(name) || strlen(name) >= NODE_SIZE)
        return error_set(err, ERROR_CONFLICT, "the disk is being detached or a job runs on it");
    snprintf(ret, NODE_SIZE, "%s", name);
    return ret_capacity ? monitor_read_capacity(block, ret_capacity, err) : 0;
}

static bool begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* libvirt's nodes are named libvirt-<number>-format, -storage and so on, and no number is used
 * twice; 0: another name. */
static unsigned number_of(const char *name, const char *prefix) {
    unsigned number = 0;

    if (!begins(name, prefix) || sscanf(name + strlen(prefix), "%9u-", &number) != 1)
        return 0;
    return number;
}

/*
 * libvirt detaches a disk although a guard is still on top of it, and drops its record of the
 * nodes, which keep the image open and locked.  QEMU deletes only unused nodes.
 */
static void delete_orphans(const struct guest *guest, unsigned number) {
    static const char *const kinds[] = { "filter", "format", "storage" };

    for (size_t i = 0; number > 0 && i < LENGTH(kinds); i++)
        delete_node(guest, arena_format(guest->arena, "libvirt-%u-%s", number, kinds[i]), NULL);
}

static int list_nodes(const struct guest *guest, const json_t **ret, struct error *err) {
    int asked;

    *ret = NULL;
    asked = monitor_query(
        guest, "{\"execute\": \"query-blockstats\", \"arguments\": {\"query-nodes\": true}}", ret,
        err);
    if (asked == 0 && !json_is_array(*ret))
        return error_set(err, ERROR_BACKEND, "QEMU lists no block nodes");
    return asked == 0 ? 0 : -1;
}

static const char *node_name(const json_t *list, size_t i) {
    const char *name = json_text_of(json_array_get(list, i), "node-name");

    return name ? name : "";
}

/* Deletes the guards of other attempts; returns their number, -1 when one cannot be deleted. */
static int delete_others(const struct resize_guard *guard, const json_t *list, struct error *err) {
    int count = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = node_name(list, i);

        if (!begins(name, guard->scope) || strcmp(name, guard->name) == 0)
            continue;
        count++;
        if (!is_plain(name) || delete_node(guard->guest, name, err) != 0) {
            if (err->kind == ERROR_BACKEND)
                err->kind = ERROR_CONFLICT; /* it is in use by a resize, or already deleted */
            return error_context(err, "another attempt is in progress");
        }
    }
    return count;
}

static bool is_listed(const struct resize_guard *guard, const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(node_name(list, i), guard->name) == 0)
            return true;
    return false;
}

static int remain_alone(const struct resize_guard *guard, struct error *err) {
    for (int i = 0; i < ROUNDS; i++) {
        const json_t *list;
        int others;

        if (list_nodes(guard->guest, &list, err) < 0)
            return -1;
        others = delete_others(guard, list, err);
        if (others < 0)
            return -1;
        if (others == 0)
            return is_listed(guard, list)
                       ? 0
                       : error_set(err, ERROR_CONFLICT, "another attempt interfered");
    }
    return error_set(err, ERROR_CONFLICT, "other attempts are in progress");
}

/* Another volume may have taken the device's name since the disk was found: the domain names the
 * volume, and the node proves that it has not changed since the guard was added.  Another attempt
 * that grows the disk after this reads its capacity has first deleted this guard. */
static int check_disk(const struct resize_guard *guard, int64_t *ret_capacity, struct error *err) {
    const struct guest *guest = guard->guest;
    autofree char *xml = virt.virDomainGetXMLDesc(guest->domain, 0);
    struct disk now = { .state = DISK_NOT_HERE };
    char node[NODE_SIZE];
    int found = xml ? domain_xml_find_disk(xml, guard->disk->serial, &now, err)
                    : virt_fail_query(guest->connection, "reading the domain", err);

    if (found < 0 || read_node(guest, guard->disk->device, node, ret_capacity, err) < 0)
        return -1;
    if (found == 0 || strcmp(now.device, guard->disk->device) != 0 ||
        strcmp(node, guard->node) != 0)
        return error_set(err, ERROR_CONFLICT, "the disk was replaced");
    return 0;
}

static int resize(const struct resize_guard *guard, int64_t bytes, struct error *err) {
    const struct guest *guest = guard->guest;
    struct error ignored = { 0 };
    const json_t *list;
    int asked;

    /* The caller's wait has timed out. */
    if (clock_monotonic_us() - guard->begun_us > LATE_US)
        return error_set(err, ERROR_CONFLICT, "the guest took too long to respond");
    asked =
        monitor_query(guest,
                      arena_format(guest->arena,
                                   "{\"execute\": \"block_resize\", \"arguments\": {\"node-name\": "
                                   "\"%s\", \"size\": %jd}}",
                                   guard->name, (intmax_t)bytes),
                      NULL, err);
    if (asked == 1 && list_nodes(guest, &list, &ignored) == 0 && !is_listed(guard, list))
        err->kind = ERROR_CONFLICT;
    return asked == 0 ? 0 : error_context(err, "resizing the disk");
}

/* After a lost reply the guard's existence is unknown: its deletion is attempted as well. */
static void remove_guard(const struct resize_guard *guard) {
    char node[NODE_SIZE];
    struct error ignored;

    delete_node(guard->guest, guard->name, &ignored);
    if (read_node(guard->guest, guard->disk->device, node, NULL, &ignored) < 0 ||
        strcmp(node, guard->node) != 0)
        delete_orphans(guard->guest, number_of(guard->node, "libvirt-"));
}

int resize_guard_grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
                      struct error *err) {
    struct resize_guard guard = { .guest = guest, .disk = disk, .begun_us = clock_monotonic_us() };
    int added, result = -1;
    int64_t capacity;
    uint64_t random;

    if (read_node(guest, disk->device, guard.node, NULL, err) < 0)
        return -1;
    clock_system.random(clock_system.arg, &random, sizeof(random));
    snprintf(guard.scope, sizeof(guard.scope), PREFIX "%u-", number_of(guard.node, "libvirt-"));
    snprintf(guard.name, sizeof(guard.name), "%.18s%013jx", guard.scope, (uintmax_t)(random >> 12));
    added = monitor_query(
        guest,
        arena_format(guest->arena,
                     "{\"execute\": \"blockdev-add\", \"arguments\": {\"driver\": \"raw\", "
                     "\"node-name\": \"%s\", \"file\": \"%s\"}}",
                     guard.name, guard.node),
        NULL, err);
    if (added == 0 && remain_alone(&guard, err) == 0 && check_disk(&guard, &capacity, err) == 0)
        result = capacity >= bytes ? 0 : resize(&guard, bytes, err);
    if (added <= 0)
        remove_guard(&guard);
    return result;
}

bool resize_guard_may_remain(virDomainPtr domain) {
    char **messages = NULL;
    int count = virt.virDomainGetMessages(domain, &messages, VIR_DOMAIN_MESSAGE_TAINTING);

    for (int i = 0; i < count; i++)
        free(messages[i]);
    free(messages);
    return count != 0;
}

int resize_guard_remove_all(const struct guest *guest, struct error *err) {
    const json_t *list;

    if (list_nodes(guest, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = node_name(list, i);

        if (begins(name, PREFIX) && is_plain(name) && delete_node(guest, name, err) == 0)
            delete_orphans(guest, number_of(name, PREFIX));
    }
    return 0;
}
