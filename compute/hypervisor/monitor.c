#include "compute/hypervisor/monitor.h"

#include "common/cleanup.h"
#include "json/json.h"

#include <string.h>

int monitor_query(const struct guest *guest, const char *command, const json_t **ret,
                  struct error *err) {
    autofree char *answer = NULL;
    const json_t *root, *refusal;

    if (virt.virDomainQemuMonitorCommand(guest->domain, command, &answer, 0) < 0)
        return virt_fail(guest->connection, "using the guest's monitor", err);
    root = json_parse(guest->arena, answer, strlen(answer), err);
    if (!root)
        return error_context(err, "reading the response of the guest's monitor");
    refusal = json_object_get(root, "error");
    if (refusal) {
        error_set(err, ERROR_BACKEND, "QEMU refuses: %s", json_text_of(refusal, "desc"));
        return 1;
    }
    if (ret)
        *ret = json_object_get(root, "return");
    return 0;
}

const json_t *monitor_find_block(const struct guest *guest, const char *alias, struct error *err) {
    static const char folder[] = "/machine/peripheral/";
    size_t length = strlen(alias);
    const json_t *list;

    if (monitor_query(guest, "{\"execute\": \"query-block\"}", &list, err) != 0)
        return NULL;
    for (size_t i = 0; length > 0 && i < json_array_size(list); i++) {
        const json_t *block = json_array_get(list, i);
        const char *path = json_text_of(block, "qdev");

        /* "virtio-disk0" is /machine/peripheral/virtio-disk0/virtio-backend, "scsi0-0-0-0" itself */
        if (path && strncmp(path, folder, strlen(folder)) == 0)
            path += strlen(folder);
        if (path && strncmp(path, alias, length) == 0 &&
            (path[length] == '\0' || path[length] == '/'))
            return block;
    }
    error_set(err, ERROR_CONFLICT, "the disk has been detached from the instance");
    return NULL;
}

int monitor_flush_disk(const struct guest *guest, const char *alias, struct error *err) {
    const json_t *block = monitor_find_block(guest, alias, err), *text;
    const char *command;

    if (!block)
        return -1;
    command = arena_format(guest->arena,
                           "{\"execute\": \"human-monitor-command\", \"arguments\": "
                           "{\"command-line\": \"qemu-io -d %s flush\"}}",
                           json_text_of(block, "qdev"));
    if (monitor_query(guest, command, &text, err) != 0)
        return -1;
    return *json_string_value(text)
               ? error_set(err, ERROR_BACKEND, "QEMU cannot flush the disk: %s",
                           json_string_value(text))
               : 0;
}

int monitor_read_capacity(const json_t *block, int64_t *ret, struct error *err) {
    const json_t *image = json_object_get(json_object_get(block, "inserted"), "image");
    const json_t *size = json_object_get(image, "virtual-size");

    *ret = json_integer_value(size);
    return json_is_integer(size)
               ? 0
               : error_set(err, ERROR_BACKEND, "QEMU reports no capacity of the disk");
}
