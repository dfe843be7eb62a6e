/*
 * Any bytes as a domain's XML: found, not found or refused, and a disk is only written when found.
 */
#include "compute/hypervisor/domain_xml.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct disk disk = { .state = DISK_OFF, .target = "before" };
    const struct disk source = { .serial = "serial", .source = "/source" };
    const struct disk_overlay overlay = { &source, "/overlay" };
    struct arena *arena = arena_new();
    const char *const *paths;
    struct disk_limits *limited = NULL;
    const char *snapshot = NULL;
    struct error err = { 0 };
    char *xml = malloc(size + 1);
    int found;

    if (!xml)
        abort();
    memcpy(xml, data, size);
    xml[size] = '\0';
    found = domain_xml_find_disk(xml, "serial", &disk, &err);
    if (found != 1 && strcmp(disk.target, "before") != 0)
        abort();
    if (found == 1 && disk.target[0] == '\0')
        abort();
    if (found == -1 && err.kind != ERROR_BACKEND)
        abort();
    if (domain_xml_list_chain(xml, "serial", arena, &paths, NULL) == 1 && !paths[0])
        abort();
    if (domain_xml_snapshot(xml, &overlay, 1, arena, &snapshot, NULL) == 1 && !snapshot)
        abort();
    if (domain_xml_list_limits(xml, arena, &limited, NULL) == 0)
        for (; limited; limited = limited->next)
            if (!limited->disk.target[0] || strlen(limited->disk.serial) != 36)
                abort();
    arena_free(arena);
    free(xml);
    return 0;
}
