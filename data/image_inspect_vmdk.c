/*
 * VMDK in one file: a sparse header, and a descriptor of text that names no other file.
 *
 * A reader that finds a capacity of zero, or a header at the end of the file, follows those instead
 * of the checked ones; so the first is refused, and the second must repeat the first.
 */
#include "common/cleanup.h"
#include "common/heap.h"
#include "data/image_inspect.private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The header; all numbers are little-endian, and places are in sectors. */
enum {
    SECTOR = 512,
    VERSION = 4,
    CAPACITY = 12,
    DESCRIPTOR_OFFSET = 28,
    DESCRIPTOR_SIZE = 36,
    GRAINS_OFFSET = 56,
    FOOTER = 3 * SECTOR, /* marker, header, marker of the end */
    MARKER_TYPE = 12,
    MARKER_FOOTER = 3,
};

#define GRAINS_AT_END   UINT64_MAX
#define DESCRIPTOR_MOST (((uint64_t)1 << 20) - 1) /* bytes */
/* QEMU reads as many, up to a zero, whatever the header states. */
#define DESCRIPTOR_READ ((uint64_t)20 * SECTOR)
#define TEXT_HEAD       4096

#define WRONG_DESCRIPTOR "has a descriptor that is not understood"

bool image_is_vmdk(const struct image_bytes *image) {
    char text[TEXT_HEAD + 1];
    size_t size = image->size < TEXT_HEAD ? (size_t)image->size : TEXT_HEAD;

    if (image_bytes_are(image, "KDMV", 4, 0))
        return true;
    /* A descriptor in a file of its own describes nothing but other files. */
    if (!image_bytes_get(image, text, size, 0))
        return false;
    text[size] = '\0';
    return strlen(text) == size && strstr(text, "createType") != NULL;
}

/* ---- the descriptor ---- */

struct descriptor {
    unsigned extents;
    bool has_type;
};

static char *trim(char *line) {
    size_t size;

    while (isspace((unsigned char)*line))
        line++;
    size = strlen(line);
    while (size > 0 && isspace((unsigned char)line[size - 1]))
        line[--size] = '\0';
    return line;
}

static bool is_extent(const char *line) {
    static const char *const accesses[] = { "RW ", "RDONLY ", "NOACCESS " };

    for (size_t i = 0; i < LENGTH(accesses); i++)
        if (strncmp(line, accesses[i], strlen(accesses[i])) == 0)
            return true;
    return false;
}

/* Its value without quotes, where the line assigns one to a key of one word. */
static bool split(char *line, char **ret_value) {
    char *equals = strchr(line, '=');
    size_t size;

    if (!equals || equals == line)
        return false;
    *equals = '\0';
    size = strlen(trim(line));
    if (size == 0 || strcspn(trim(line), " \t") != size)
        return false;
    *ret_value = trim(equals + 1);
    size = strlen(*ret_value);
    if (size >= 2 && (*ret_value)[0] == '"' && (*ret_value)[size - 1] == '"') {
        (*ret_value)[size - 1] = '\0';
        (*ret_value)++;
    }
    return true;
}

static const char *check_pair(char *line, struct descriptor *descriptor) {
    char *key = line, *value;

    if (!split(line, &value))
        return WRONG_DESCRIPTOR;
    key = trim(key);
    if (strcasecmp(key, "parentCID") == 0 && strcasecmp(value, "ffffffff") != 0)
        return IMAGE_NEEDS_FILES;
    if (strcasecmp(key, "createType") != 0)
        return NULL;
    if (descriptor->has_type ||
        (strcmp(value, "monolithicSparse") != 0 && strcmp(value, "streamOptimized") != 0))
        return "has a createType that is not supported";
    descriptor->has_type = true;
    return NULL;
}

/* Changes the text.  Readers find the parent anywhere in it, in a comment, too. */
static const char *check_descriptor(char *text) {
    struct descriptor descriptor = { 0 };
    char *rest = text, *line;
    const char *why;

    if (strcasestr(text, "parentFileNameHint"))
        return IMAGE_NEEDS_FILES;
    while ((line = strsep(&rest, "\n")) != NULL) {
        line = trim(line);
        if (line[0] == '\0' || line[0] == '#' || strncmp(line, "ddb", 3) == 0)
            continue;
        if (is_extent(line)) {
            descriptor.extents++;
            why = strchr(line, '/') ? IMAGE_NEEDS_FILES : NULL;
        } else {
            why = check_pair(line, &descriptor);
        }
        if (why)
            return why;
    }
    if (!descriptor.has_type)
        return WRONG_DESCRIPTOR;
    return descriptor.extents == 1 ? NULL : IMAGE_NEEDS_FILES;
}

static const char *read_descriptor(const struct image_bytes *image, const unsigned char *header) {
    uint64_t size = image_bytes_little(header + DESCRIPTOR_SIZE, 8);
    autofree char *text = NULL;

    if (image_bytes_little(header + DESCRIPTOR_OFFSET, 8) != 1 || size == 0 ||
        size > DESCRIPTOR_MOST / SECTOR)
        return IMAGE_WRONG_HEADER;
    size *= SECTOR;
    text = heap_new(size + 1);
    if (!image_bytes_get(image, text, size, SECTOR))
        return IMAGE_WRONG_HEADER;
    text[size] = '\0'; /* zeros follow it; what follows those is not read by any tool */
    if (strlen(text) == size && size < DESCRIPTOR_READ)
        return WRONG_DESCRIPTOR;
    return check_descriptor(text);
}

/* ---- headers ---- */

static bool is_marker(const unsigned char *sector, uint64_t sectors, uint64_t type) {
    return image_bytes_little(sector, 8) == sectors && image_bytes_little(sector + 8, 4) == 0 &&
           image_bytes_little(sector + MARKER_TYPE, 4) == type;
}

/* The header in it, except for the place of the grains. */
static const char *check_footer(const struct image_bytes *image, const unsigned char *header) {
    unsigned char footer[FOOTER];
    const unsigned char *repeated = footer + SECTOR;

    if (image->size < FOOTER || image->size % SECTOR != 0 || /* readers round the size up */
        !image_bytes_get(image, footer, sizeof(footer), (uint64_t)image->size - FOOTER) ||
        !is_marker(footer, 1, MARKER_FOOTER) || !is_marker(footer + 2 * SECTOR, 0, 0) ||
        memcmp(repeated, header, GRAINS_OFFSET) != 0 ||
        image_bytes_little(repeated + GRAINS_OFFSET, 8) == GRAINS_AT_END)
        return "has an impossible footer";
    return NULL;
}

const char *image_check_vmdk(const struct image_bytes *image, uint64_t *ret_bytes) {
    unsigned char header[SECTOR];
    uint64_t version, sectors;
    const char *why;

    if (!image_bytes_are(image, "KDMV", 4, 0))
        return IMAGE_NEEDS_FILES;
    if (!image_bytes_get(image, header, sizeof(header), 0))
        return IMAGE_WRONG_HEADER;
    version = image_bytes_little(header + VERSION, 4);
    sectors = image_bytes_little(header + CAPACITY, 8);
    if (version < 1 || version > 3 || sectors == 0 || sectors > INT64_MAX / SECTOR)
        return IMAGE_WRONG_HEADER;
    why = read_descriptor(image, header);
    if (!why && image_bytes_little(header + GRAINS_OFFSET, 8) == GRAINS_AT_END)
        why = check_footer(image, header);
    *ret_bytes = sectors * SECTOR;
    return why;
}
