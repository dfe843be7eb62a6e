#include "compute/hypervisor/domain_xml.h"

#include "common/clock.h"
#include "compute/hypervisor/iotune.h"
#include "compute/hypervisor/virt_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MOST  ((size_t)16 * 1024 * 1024)
#define CHAIN_MOST 256

#define FILE_PREFIX "volume-" /* of a volume's files, which its id follows */

#define NOVA \
    "http://openstack.org/xmlns/libvirt/nova/" /* of elements in the metadata of a domain */

static void cleanup_document(xmlDocPtr *document) {
    if (*document)
        virt.xmlFreeDoc(*document);
}
#define autodocument __attribute__((cleanup(cleanup_document)))

static void cleanup_text(xmlChar **text) {
    if (*text)
        (*virt.xmlFree)(*text);
}
#define autotext __attribute__((cleanup(cleanup_text)))

static bool is_element(const xmlNode *node, const char *name) {
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static xmlNode *find_child(const xmlNode *parent, const char *name) {
    xmlNode *child = parent ? parent->children : NULL;

    while (child && !is_element(child, name))
        child = child->next;
    return child;
}

/* Text of the child, which the caller frees; NULL: there is no such child. */
static xmlChar *child_text(const xmlNode *parent, const char *name) {
    const xmlNode *child = find_child(parent, name);

    return child ? virt.xmlNodeGetContent(child) : NULL;
}

static bool has_serial(const xmlNode *disk, const char *serial) {
    autotext xmlChar *text = child_text(disk, "serial");

    return text && strcmp((const char *)text, serial) == 0;
}

/* Copies an attribute; "" when it is absent.  A text that does not fit is refused, not
 * truncated. */
static int copy_attribute(const xmlNode *node, const char *name, char *ret, size_t size,
                          struct error *err) {
    autotext xmlChar *text = node ? virt.xmlGetProp(node, (const xmlChar *)name) : NULL;
    int length = snprintf(ret, size, "%s", text ? (const char *)text : "");

    if (length < 0 || (size_t)length >= size)
        return error_set(err, ERROR_BACKEND, "%s of a disk is longer than %zu bytes", name,
                         size - 1);
    return 0;
}

static int copy_source(const xmlNode *disk, char *ret, size_t size, struct error *err) {
    const xmlNode *source = find_child(disk, "source");

    if (copy_attribute(source, "file", ret, size, err) < 0)
        return -1;
    return ret[0] ? 0 : copy_attribute(source, "dev", ret, size, err);
}

static int read_disk(const xmlNode *node, struct disk *ret, struct error *err) {
    char discard[16], protocol[16];

    if (copy_attribute(find_child(node, "target"), "dev", ret->target, sizeof(ret->target), err) <
            0 ||
        copy_attribute(find_child(node, "driver"), "type", ret->format, sizeof(ret->format), err) <
            0 ||
        copy_attribute(find_child(node, "alias"), "name", ret->device, sizeof(ret->device), err) <
            0 ||
        copy_attribute(find_child(node, "driver"), "discard", discard, sizeof(discard), err) < 0 ||
        copy_attribute(find_child(node, "source"), "protocol", protocol, sizeof(protocol), err) <
            0 ||
        copy_source(node, ret->source, sizeof(ret->source), err) < 0)
        return -1;
    if (!ret->target[0])
        return error_set(err, ERROR_BACKEND, "a disk has no target");
    ret->read_only = find_child(node, "readonly") != NULL;
    ret->discards = strcmp(discard, "unmap") == 0;
    ret->network = strcmp(protocol, "nbd") == 0;
    return 1;
}

/* A volume's id. */
static bool has_id(const xmlNode *disk, char ret[UUID_SIZE]) {
    autotext xmlChar *text = child_text(disk, "serial");

    return text && uuid_parse((const char *)text, ret);
}

/* The id in the name of a volume's file, or of an overlay of its chain. */
static bool read_file_id(const char *path, char ret[UUID_SIZE]) {
    const char *name = strrchr(path, '/');
    char id[UUID_SIZE];
    size_t length;

    if (!name || strncmp(++name, FILE_PREFIX, strlen(FILE_PREFIX)) != 0)
        return false;
    name += strlen(FILE_PREFIX);
    length = strcspn(name, ".");
    if (length >= sizeof(id))
        return false;
    memcpy(id, name, length);
    id[length] = '\0';
    return uuid_parse(id, ret);
}

/* A volume's disk, with the file of this one or an overlay of its chain. */
static bool has_file_of(const xmlNode *disk, const char *volume_id) {
    char path[sizeof(((struct disk *)0)->source)];
    char former[UUID_SIZE], id[UUID_SIZE];
    struct error ignored;

    return has_id(disk, former) && copy_source(disk, path, sizeof(path), &ignored) == 0 &&
           read_file_id(path, id) && strcmp(id, volume_id) == 0;
}

/* 1 with the only disk of this kind; 0: there is none. */
static int find_only(const xmlNode *devices, const char *volume_id,
                     bool (*is_it)(const xmlNode *disk, const char *volume_id), const char *kind,
                     const xmlNode **ret, struct error *err) {
    const xmlNode *found = NULL;

    for (const xmlNode *node = devices ? devices->children : NULL; node; node = node->next) {
        if (!is_element(node, "disk") || !is_it(node, volume_id))
            continue;
        if (found)
            return error_set(err, ERROR_BACKEND, "several disks of the domain have %s %s", kind,
                             volume_id);
        found = node;
    }
    *ret = found;
    return found ? 1 : 0;
}

/* Nova swaps a disk's volume for another and leaves the serial number: the file decides.  Where it
 * bears another name, as that of a volume that was migrated, the serial number does. */
static int find_in_devices(const xmlNode *devices, const char *volume_id, const xmlNode **ret,
                           struct error *err) {
    int found = find_only(devices, volume_id, has_file_of, "a file of volume", ret, err);

    return found != 0 ? found : find_only(devices, volume_id, has_serial, "serial", ret, err);
}

/* Must be called before other functions of the library: it loads it. */
static int parse_domain(const char *xml, xmlDocPtr *ret, const xmlNode **ret_devices,
                        struct error *err) {
    size_t size = strlen(xml);
    const xmlNode *root;

    if (size > SIZE_MOST)
        return error_set(err, ERROR_BACKEND, "a domain's XML has %zu bytes", size);
    if (virt_library_load(err) < 0)
        return -1;
    *ret = virt.xmlReadMemory(xml, (int)size, NULL, NULL,
                              XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    root = *ret ? virt.xmlDocGetRootElement(*ret) : NULL;
    /* libvirt declares no entities: a text with entities is not of libvirt. */
    if (!root || (*ret)->intSubset || !is_element(root, "domain"))
        return error_set(err, ERROR_BACKEND, "the hypervisor described no domain");
    *ret_devices = find_child(root, "devices");
    return 0;
}

/* 1 with the disk's element in the document and its attributes; 0: no disk is the volume's. */
static int read_one(const char *xml, const char *volume_id, xmlDocPtr *ret_document,
                    const xmlNode **ret_node, struct disk *ret, struct error *err) {
    const xmlNode *devices;
    int found;

    if (parse_domain(xml, ret_document, &devices, err) < 0)
        return -1;
    found = find_in_devices(devices, volume_id, ret_node, err);
    return found > 0 && read_disk(*ret_node, ret, err) < 0 ? -1 : found;
}

int domain_xml_find_disk(const char *xml, const char *volume_id, struct disk *ret,
                         struct error *err) {
    autodocument xmlDocPtr document = NULL;
    struct disk disk = *ret;
    const xmlNode *node, *metadata;
    int found = read_one(xml, volume_id, &document, &node, &disk, err);

    if (found <= 0)
        return found;
    snprintf(disk.serial, sizeof(disk.serial), "%s", volume_id);
    metadata = find_child(virt.xmlDocGetRootElement(document), "metadata");
    disk.recorded = false;
    for (node = metadata ? metadata->children : NULL; node && !disk.recorded; node = node->next)
        disk.recorded = node->type == XML_ELEMENT_NODE && node->ns && node->ns->href &&
                        strncmp((const char *)node->ns->href, NOVA, strlen(NOVA)) == 0;
    *ret = disk;
    return 1;
}

int domain_xml_list_chain(const char *xml, const char *volume_id, struct arena *arena,
                          const char *const **ret, struct error *err) {
    const char **paths = arena_alloc(arena, (CHAIN_MOST + 1) * sizeof(*paths));
    char path[sizeof(((struct disk *)0)->source)];
    autodocument xmlDocPtr document = NULL;
    const xmlNode *devices, *node;
    size_t count = 0;
    int found;

    if (parse_domain(xml, &document, &devices, err) < 0)
        return -1;
    found = find_in_devices(devices, volume_id, &node, err);
    if (found <= 0)
        return found;
    for (; node; node = find_child(node, "backingStore")) {
        if (copy_attribute(find_child(node, "source"), "file", path, sizeof(path), err) < 0)
            return -1;
        if (!path[0])
            break;
        if (count == CHAIN_MOST)
            return error_set(err, ERROR_BACKEND, "a disk has more than %d images", CHAIN_MOST);
        paths[count++] = arena_text(arena, path);
    }
    *ret = paths;
    return count > 0 ? 1 : 0;
}

/* 1; 0: it has no NBD server at a Unix socket, or is not a volume. */
static int read_server(const xmlNode *disk, struct arena *arena, struct disk_server *ret,
                       struct error *err) {
    const xmlNode *source = find_child(disk, "source"), *host = find_child(source, "host");
    char protocol[16], transport[16], socket[4096], export[256], uuid[UUID_SIZE];

    if (copy_attribute(source, "protocol", protocol, sizeof(protocol), err) < 0 ||
        copy_attribute(source, "name", export, sizeof(export), err) < 0 ||
        copy_attribute(host, "transport", transport, sizeof(transport), err) < 0 ||
        copy_attribute(host, "socket", socket, sizeof(socket), err) < 0)
        return -1;
    if (!has_id(disk, uuid) || strcmp(protocol, "nbd") != 0 || strcmp(transport, "unix") != 0 ||
        !socket[0])
        return 0;
    *ret = (struct disk_server){ arena_text(arena, socket), arena_text(arena, export) };
    return 1;
}

int domain_xml_find_server(const char *xml, const char *target, struct arena *arena,
                           struct disk_server *ret, struct error *err) {
    autodocument xmlDocPtr document = NULL;
    const xmlNode *devices;
    char name[64];

    if (parse_domain(xml, &document, &devices, err) < 0)
        return -1;
    for (const xmlNode *node = devices ? devices->children : NULL; node; node = node->next) {
        if (!is_element(node, "disk"))
            continue;
        if (copy_attribute(find_child(node, "target"), "dev", name, sizeof(name), err) < 0)
            return -1;
        if (strcmp(name, target) == 0)
            return read_server(node, arena, ret, err);
    }
    return 0;
}

/* 1; 0: it is not a volume. */
static int read_limited(const xmlNode *node, struct disk_limits *ret, struct error *err) {
    const xmlNode *tune = find_child(node, "iotune");
    autotext xmlChar *text = child_text(tune, "group_name");
    const char *group = text ? (const char *)text : "";

    if (!is_element(node, "disk") || !has_id(node, ret->disk.serial))
        return 0;
    if (read_disk(node, &ret->disk, err) < 0)
        return -1;
    read_file_id(ret->disk.source, ret->file_id);
    for (int i = 0; i < IO_LIMITS; i++) {
        autotext xmlChar *limit = child_text(tune, io_limit_names[i]);

        ret->limits.of[i] = limit ? strtoll((const char *)limit, NULL, 10) : 0;
    }
    ret->ours = strncmp(group, IOTUNE_GROUP, strlen(IOTUNE_GROUP)) == 0 &&
                uuid_parse(group + strlen(IOTUNE_GROUP), ret->group);
    return 1;
}

int domain_xml_list_limits(const char *xml, struct arena *arena, struct disk_limits **list,
                           struct error *err) {
    autodocument xmlDocPtr document = NULL;
    const xmlNode *devices;

    if (parse_domain(xml, &document, &devices, err) < 0)
        return -1;
    for (const xmlNode *node = devices ? devices->children : NULL; node; node = node->next) {
        struct disk_limits one = { .next = *list };
        int found = read_limited(node, &one, err);

        if (found < 0)
            return -1;
        if (found > 0)
            *list = arena_copy(arena, &one, sizeof one);
    }
    return 0;
}

int domain_xml_without_chain(const char *xml, const char *volume_id, const char *source,
                             struct arena *arena, const char **ret, struct error *err) {
    autodocument xmlDocPtr document = NULL;
    const xmlNode *node;
    xmlNode *below;
    xmlBufferPtr buffer;
    struct disk disk = { 0 };
    int found = read_one(xml, volume_id, &document, &node, &disk, err), size;

    if (found <= 0)
        return found;
    below = (xmlNode *)find_child(node, "backingStore");
    if (strcmp(disk.source, source) != 0 || !find_child(below, "source"))
        return 0;
    virt.xmlUnlinkNode(below);
    virt.xmlFreeNode(below);
    buffer = virt.xmlBufferCreate();
    size = buffer ? virt.xmlNodeDump(buffer, node->doc, (xmlNode *)node, 0, 0) : -1;
    if (size >= 0)
        *ret = arena_text(arena, (const char *)virt.xmlBufferContent(buffer));
    virt.xmlBufferFree(buffer);
    return size < 0 ? error_set(err, ERROR_INTERNAL, "a disk's XML cannot be written") : 1;
}

static void add_overlay(xmlNode *disks, const struct disk_overlay *overlay) {
    xmlNode *disk = virt.xmlNewChild(disks, NULL, (const xmlChar *)"disk", NULL);
    xmlNode *driver = virt.xmlNewChild(disk, NULL, (const xmlChar *)"driver", NULL);
    xmlNode *source = virt.xmlNewChild(disk, NULL, (const xmlChar *)"source", NULL);

    virt.xmlNewProp(disk, (const xmlChar *)"name", (const xmlChar *)overlay->disk->source);
    virt.xmlNewProp(disk, (const xmlChar *)"snapshot", (const xmlChar *)"external");
    virt.xmlNewProp(driver, (const xmlChar *)"type", (const xmlChar *)"qcow2");
    virt.xmlNewProp(source, (const xmlChar *)"file", (const xmlChar *)overlay->path);
}

static bool is_one_of(const xmlNode *disk, const xmlNode *const *disks, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (disk == disks[i])
            return true;
    return false;
}

int domain_xml_snapshot(const char *xml, const struct disk_overlay *overlays, unsigned count,
                        struct arena *arena, const char **ret, struct error *err) {
    autodocument xmlDocPtr document = NULL, snapshot = NULL;
    const xmlNode *devices, **listed = arena_alloc(arena, count * sizeof(*listed));
    autotext xmlChar *text = NULL;
    xmlNode *root, *disks;
    int found = 1, size;

    if (parse_domain(xml, &document, &devices, err) < 0)
        return -1;
    snapshot = virt.xmlNewDoc((const xmlChar *)"1.0");
    root = virt.xmlNewNode(NULL, (const xmlChar *)"domainsnapshot");
    virt.xmlDocSetRootElement(snapshot, root);
    disks = virt.xmlNewChild(root, NULL, (const xmlChar *)"disks", NULL);
    for (unsigned i = 0; i < count && found > 0; i++) {
        found = find_in_devices(devices, overlays[i].disk->serial, &listed[i], err);
        add_overlay(disks, &overlays[i]);
    }
    if (found <= 0)
        return found;
    /* A disk that is not listed would be included in the snapshot. */
    for (const xmlNode *node = devices ? devices->children : NULL; node; node = node->next) {
        struct disk other;
        xmlNode *disk;

        if (!is_element(node, "disk") || is_one_of(node, listed, count))
            continue;
        if (read_disk(node, &other, err) < 0)
            return -1;
        disk = virt.xmlNewChild(disks, NULL, (const xmlChar *)"disk", NULL);
        virt.xmlNewProp(disk, (const xmlChar *)"name", (const xmlChar *)other.target);
        virt.xmlNewProp(disk, (const xmlChar *)"snapshot", (const xmlChar *)"no");
    }
    virt.xmlDocDumpMemory(snapshot, &text, &size);
    *ret = arena_text(arena, (const char *)text);
    return 1;
}
