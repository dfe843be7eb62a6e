#include "compute/fence.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "compute/blocks.h"
#include "compute/domain_xml.h"
#include "compute/monitor.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

#define PREFIX    "scoria-"
#define NODE_SIZE 32 /* QEMU's own limit, with the end */
#define ROUNDS    8
#define LATE_US   (60 * SECOND_US)

struct fence {
    const struct guest *guest;
    const struct disk *disk;
    char node[NODE_SIZE];  /* that the guest's device stands on */
    char name[NODE_SIZE];  /* ours above it */
    char scope[NODE_SIZE]; /* how the names of all fences of this disk begin */
    int64_t begun_us;
};

/* Names go into commands as they are. */
static bool is_plain(const char *name) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return name && name[0] && name[strspn(name, plain)] == '\0';
}

static int delete_node(const struct guest *guest, const char *name, struct error *err) {
    return monitor_ask(
        guest,
        arena_format(guest->arena,
                     "{\"execute\": \"blockdev-del\", \"arguments\": {\"node-name\": "
                     "\"%s\"}}",
                     name),
        NULL, err);
}

/* The node that the guest's device stands on: as long as its name stays, so does the disk. */
static int read_node(const struct guest *guest, const char *device, char ret[NODE_SIZE],
                     struct error *err) {
    const json_t *list;
    const char *name;
    int asked = monitor_ask(guest, "{\"execute\": \"query-block\"}", &list, err);

    if (asked != 0)
        return -1;
    name = json_text_at(monitor_find_block(list, device), "inserted.node-name");
    /* While a job runs on the disk a node of QEMU's own, "#block…", stands there. */
    if (!is_plain(name) || strlen(name) >= NODE_SIZE)
        return error_set(err, ERROR_CONFLICT, "the disk is being taken away or a job runs on it");
    snprintf(ret, NODE_SIZE, "%s", name);
    return 0;
}

static bool begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* libvirt calls its nodes libvirt-<number>-format, -storage and so on and uses no number twice;
 * 0 when this is none of those. */
static unsigned number_of(const char *name, const char *prefix) {
    unsigned number = 0;

    if (!begins(name, prefix) || sscanf(name + strlen(prefix), "%9u-", &number) != 1)
        return 0;
    return number;
}

/*
 * libvirt takes a disk away although a fence still stands on it, and forgets its nodes, which keep
 * the image open and locked.  QEMU deletes only those that nobody uses.
 */
static void delete_orphans(const struct guest *guest, unsigned number) {
    static const char *const kinds[] = { "filter", "format", "storage" };

    for (size_t i = 0; number > 0 && i < LENGTH(kinds); i++)
        delete_node(guest, arena_format(guest->arena, "libvirt-%u-%s", number, kinds[i]), NULL);
}

static int list_nodes(const struct guest *guest, const json_t **ret, struct error *err) {
    int asked;

    *ret = NULL;
    if (blocks_job_ends(guest->domain))
        return error_set(err, ERROR_CONFLICT, "a job on one of the guest's disks ends just now");
    asked = monitor_ask(
        guest, "{\"execute\": \"query-named-block-nodes\", \"arguments\": {\"flat\": true}}", ret,
        err);
    if (asked == 0 && !json_is_array(*ret))
        return error_set(err, ERROR_BACKEND, "QEMU lists no block nodes");
    return asked == 0 ? 0 : -1;
}

static const char *node_name(const json_t *list, size_t i) {
    const char *name = json_text_of(json_array_get(list, i), "node-name");

    return name ? name : "";
}

/* Takes away other attempts' fences; how many there were, -1 when one cannot be taken away. */
static int delete_others(const struct fence *fence, const json_t *list, struct error *err) {
    int count = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = node_name(list, i);

        if (!begins(name, fence->scope) || strcmp(name, fence->name) == 0)
            continue;
        count++;
        if (!is_plain(name) || delete_node(fence->guest, name, err) != 0) {
            if (err->kind == ERROR_BACKEND)
                err->kind = ERROR_CONFLICT; /* it resizes just now, or is gone already */
            return error_context(err, "another attempt is at work");
        }
    }
    return count;
}

/* The capacity below our fence, or ERROR_CONFLICT when the fence is gone. */
static int read_capacity(const struct fence *fence, const json_t *list, int64_t *ret,
                         struct error *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *image = json_object_get(json_array_get(list, i), "image");
        const json_t *size = json_object_get(image, "virtual-size");

        if (strcmp(node_name(list, i), fence->name) != 0)
            continue;
        *ret = json_integer_value(size);
        return json_is_integer(size)
                   ? 0
                   : error_set(err, ERROR_BACKEND, "QEMU tells no capacity of the disk");
    }
    return error_set(err, ERROR_CONFLICT, "another attempt came in between");
}

/* The list in which ours is the only fence is also the look at the capacity. */
static int look(const struct fence *fence, int64_t *ret_capacity, struct error *err) {
    for (int i = 0; i < ROUNDS; i++) {
        const json_t *list;
        int others;

        if (list_nodes(fence->guest, &list, err) < 0)
            return -1;
        others = delete_others(fence, list, err);
        if (others < 0)
            return -1;
        if (others == 0)
            return read_capacity(fence, list, ret_capacity, err);
    }
    return error_set(err, ERROR_CONFLICT, "other attempts are at work");
}

/* Another volume may have taken the device's name since it was found: the domain says whose it
 * is, and the node says that it was so all the time since the fence was put there. */
static int check_disk(const struct fence *fence, struct error *err) {
    const struct guest *guest = fence->guest;
    autofree char *xml = virt.virDomainGetXMLDesc(guest->domain, 0);
    struct disk now = { .state = DISK_NOT_HERE };
    char node[NODE_SIZE];
    int found = xml ? domain_xml_find_disk(xml, fence->disk->serial, &now, err)
                    : virt_fail_looking(guest->connection, "reading the domain", err);

    if (found < 0 || read_node(guest, fence->disk->device, node, err) < 0)
        return -1;
    if (found == 0 || strcmp(now.device, fence->disk->device) != 0 ||
        strcmp(node, fence->node) != 0)
        return error_set(err, ERROR_CONFLICT, "the disk was exchanged");
    return 0;
}

static int resize(const struct fence *fence, int64_t bytes, struct error *err) {
    const struct guest *guest = fence->guest;
    struct error ignored = { 0 };
    const json_t *list;
    int64_t capacity;
    int asked;

    /* Whoever waited for it has given up. */
    if (clock_monotonic_us() - fence->begun_us > LATE_US)
        return error_set(err, ERROR_CONFLICT, "the guest took too long to answer");
    asked =
        monitor_ask(guest,
                    arena_format(guest->arena,
                                 "{\"execute\": \"block_resize\", \"arguments\": {\"node-name\": "
                                 "\"%s\", \"size\": %jd}}",
                                 fence->name, (intmax_t)bytes),
                    NULL, err);
    if (asked == 1 && list_nodes(guest, &list, &ignored) == 0 &&
        read_capacity(fence, list, &capacity, &ignored) < 0 && ignored.kind == ERROR_CONFLICT)
        err->kind = ERROR_CONFLICT;
    return asked == 0 ? 0 : error_context(err, "resizing the disk");
}

static int grow_behind(const struct fence *fence, int64_t bytes, struct error *err) {
    int64_t capacity;

    if (check_disk(fence, err) < 0 || look(fence, &capacity, err) < 0)
        return -1;
    return capacity >= bytes ? 0 : resize(fence, bytes, err);
}

static void name_fence(struct fence *fence) {
    uint64_t random;

    clock_system.random(clock_system.arg, &random, sizeof(random));
    snprintf(fence->scope, sizeof(fence->scope), PREFIX "%u-", number_of(fence->node, "libvirt-"));
    snprintf(fence->name, sizeof(fence->name), "%.18s%013jx", fence->scope,
             (uintmax_t)(random >> 12));
}

static int add_fence(const struct fence *fence, struct error *err) {
    const struct guest *guest = fence->guest;

    return monitor_ask(
        guest,
        arena_format(guest->arena,
                     "{\"execute\": \"blockdev-add\", \"arguments\": {\"driver\": \"raw\", "
                     "\"node-name\": \"%s\", \"file\": \"%s\"}}",
                     fence->name, fence->node),
        NULL, err);
}

/* After a lost answer nobody knows whether it stands: it is tried as well. */
static void remove_fence(const struct fence *fence) {
    char node[NODE_SIZE];
    struct error ignored;

    delete_node(fence->guest, fence->name, &ignored);
    if (read_node(fence->guest, fence->disk->device, node, &ignored) < 0 ||
        strcmp(node, fence->node) != 0)
        delete_orphans(fence->guest, number_of(fence->node, "libvirt-"));
}

int fence_grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
               struct error *err) {
    struct fence fence = { .guest = guest, .disk = disk, .begun_us = clock_monotonic_us() };
    int added, result = -1;

    if (read_node(guest, disk->device, fence.node, err) < 0)
        return -1;
    name_fence(&fence);
    added = add_fence(&fence, err);
    if (added == 0)
        result = grow_behind(&fence, bytes, err);
    if (added <= 0)
        remove_fence(&fence);
    return result;
}

bool fence_may_be_left(virDomainPtr domain) {
    char **messages = NULL;
    int count = virt.virDomainGetMessages(domain, &messages, VIR_DOMAIN_MESSAGE_TAINTING);

    for (int i = 0; i < count; i++)
        free(messages[i]);
    free(messages);
    return count != 0;
}

int fence_tidy(const struct guest *guest, struct error *err) {
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
