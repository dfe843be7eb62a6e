#include "compute/domain_xml.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <string.h>

#define SIZE_MOST ((size_t)16 * 1024 * 1024)

static void cleanup_document(xmlDocPtr *document) {
    xmlFreeDoc(*document);
}
#define autodocument __attribute__((cleanup(cleanup_document)))

static void cleanup_text(xmlChar **text) {
    xmlFree(*text);
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

static bool has_serial(const xmlNode *disk, const char *serial) {
    xmlNode *node = find_child(disk, "serial");
    autotext xmlChar *text = node ? xmlNodeGetContent(node) : NULL;

    return text && strcmp((const char *)text, serial) == 0;
}

/* Copies an attribute; "" when it is absent.  A text that does not fit is not cut but refused. */
static int copy_attribute(const xmlNode *node, const char *name, char *ret, size_t room,
                          struct error *err) {
    autotext xmlChar *text = node ? xmlGetProp(node, (const xmlChar *)name) : NULL;
    int length = snprintf(ret, room, "%s", text ? (const char *)text : "");

    if (length < 0 || (size_t)length >= room)
        return error_set(err, ERROR_BACKEND, "%s of a disk is longer than %zu bytes", name,
                         room - 1);
    return 0;
}

static int copy_source(const xmlNode *disk, char *ret, size_t room, struct error *err) {
    const xmlNode *source = find_child(disk, "source");

    if (copy_attribute(source, "file", ret, room, err) < 0)
        return -1;
    return ret[0] ? 0 : copy_attribute(source, "dev", ret, room, err);
}

static int read_disk(const xmlNode *node, struct disk *ret, struct error *err) {
    if (copy_attribute(find_child(node, "target"), "dev", ret->target, sizeof(ret->target), err) <
            0 ||
        copy_attribute(find_child(node, "driver"), "type", ret->format, sizeof(ret->format), err) <
            0 ||
        copy_attribute(find_child(node, "alias"), "name", ret->device, sizeof(ret->device), err) <
            0 ||
        copy_source(node, ret->source, sizeof(ret->source), err) < 0)
        return -1;
    if (!ret->target[0])
        return error_set(err, ERROR_BACKEND, "a disk has no target");
    ret->read_only = find_child(node, "readonly") != NULL;
    return 1;
}

static int find_in_devices(const xmlNode *devices, const char *serial, struct disk *ret,
                           struct error *err) {
    const xmlNode *found = NULL;

    for (const xmlNode *node = devices ? devices->children : NULL; node; node = node->next) {
        if (!is_element(node, "disk") || !has_serial(node, serial))
            continue;
        if (found)
            return error_set(err, ERROR_BACKEND, "several disks of the domain have serial %s",
                             serial);
        found = node;
    }
    return found ? read_disk(found, ret, err) : 0;
}

int domain_xml_find_disk(const char *xml, const char *serial, struct disk *ret, struct error *err) {
    size_t size = strlen(xml);
    autodocument xmlDocPtr document = NULL;
    struct disk disk = *ret;
    const xmlNode *root;
    int found;

    if (size > SIZE_MOST)
        return error_set(err, ERROR_BACKEND, "a domain's XML has %zu bytes", size);
    document = xmlReadMemory(xml, (int)size, NULL, NULL,
                             XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    root = document ? xmlDocGetRootElement(document) : NULL;
    /* libvirt declares no entities: a text that does is not its own. */
    if (!root || document->intSubset || !is_element(root, "domain"))
        return error_set(err, ERROR_BACKEND, "the hypervisor described no domain");
    found = find_in_devices(find_child(root, "devices"), serial, &disk, err);
    if (found <= 0)
        return found;
    snprintf(disk.serial, sizeof(disk.serial), "%s", serial);
    *ret = disk;
    return found;
}
