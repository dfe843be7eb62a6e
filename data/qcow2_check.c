#include "data/qcow2_check.h"

#include "common/cleanup.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the header; all numbers are big-endian. */
enum {
    VERSION = 4,
    BACKING_OFFSET = 8,
    BACKING_SIZE = 16,
    CLUSTER_BITS = 20,
    DISK_SIZE = 24,
    CRYPT_METHOD = 32,
    L1_ENTRIES = 36,
    L1_OFFSET = 40,
    REFCOUNT_OFFSET = 48,
    REFCOUNT_CLUSTERS = 56,
    SNAPSHOTS = 60,
    SNAPSHOTS_OFFSET = 64,
    VERSION_2_END = 72,
    INCOMPATIBLE = 72,
    AUTOCLEAR = 88,
    REFCOUNT_ORDER = 96,
    HEADER_LENGTH = 100,
    COMPRESSION = 104, /* present where the header is longer than this */
    HEADER_SIZE = 112,
};

/* Bits of INCOMPATIBLE. */
enum {
    DIRTY = 1 << 0,
    CORRUPT = 1 << 1,
    EXTERNAL_DATA = 1 << 2,
    COMPRESSION_TYPE = 1 << 3,
    EXTENDED_L2 = 1 << 4,
    KNOWN_BITS = DIRTY | CORRUPT | EXTERNAL_DATA | COMPRESSION_TYPE | EXTENDED_L2,
};

#define RAW_EXTERNAL 2 /* bit of AUTOCLEAR */

#define CLUSTER_BITS_LEAST    9
#define CLUSTER_BITS_EXTENDED 14 /* the least with EXTENDED_L2 */
#define CLUSTER_BITS_MOST     21
#define REFCOUNT_ORDER_MOST   6
#define ZSTD                  1
#define L1_MOST               ((uint64_t)32 << 20) /* bytes */
#define REFCOUNT_MOST         ((uint64_t)8 << 20)
#define FORMAT_MOST           15
#define BITMAPS_BYTES         24
#define BITMAPS_MOST          65535
#define EXTENSIONS_MOST       64 /* QEMU writes a handful */

#define EXTENSION_BACKING_FORMAT 0xe2792acaU
#define EXTENSION_BITMAPS        0x23852875U
#define EXTENSION_CRYPTO         0x0537be77U
#define EXTENSION_DATA_FILE      0x44415441U

#define NO_QCOW2        "is no qcow2 image"
#define UNSUPPORTED     "has features that are not supported"
#define WRONG_EXTENSION "has an impossible header extension"
#define WRONG_TABLE     "has a table at an impossible place"

struct header {
    int fd;
    unsigned char bytes[HEADER_SIZE];
    uint64_t file_bytes, version, length, incompatible;
    unsigned cluster_bits;
    bool is_source; /* it is only read */
};

static uint64_t big_endian(const unsigned char *bytes, unsigned size) {
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t word(const struct header *header, unsigned at) {
    return big_endian(header->bytes + at, 4);
}

static uint64_t wide(const struct header *header, unsigned at) {
    return big_endian(header->bytes + at, 8);
}

static uint64_t cluster_of(const struct header *header) {
    return (uint64_t)1 << header->cluster_bits;
}

/* ---- the header ---- */

static const char *read_header(int fd, struct header *header) {
    static const unsigned char magic[] = { 'Q', 'F', 'I', 0xfb };
    struct stat status;
    ssize_t got = pread(fd, header->bytes, HEADER_SIZE, 0);

    if (got < VERSION_2_END || memcmp(header->bytes, magic, sizeof(magic)) != 0 ||
        fstat(fd, &status) < 0)
        return NO_QCOW2;
    header->fd = fd;
    header->file_bytes = (uint64_t)status.st_size;
    header->version = word(header, VERSION);
    if (header->version != 2 && header->version != 3)
        return "has a qcow2 version that is not supported";
    if (word(header, CLUSTER_BITS) < CLUSTER_BITS_LEAST ||
        word(header, CLUSTER_BITS) > CLUSTER_BITS_MOST)
        return "has an impossible cluster size";
    header->cluster_bits = (unsigned)word(header, CLUSTER_BITS);
    header->length = header->version == 3 ? word(header, HEADER_LENGTH) : VERSION_2_END;
    header->incompatible = header->version == 3 ? wide(header, INCOMPATIBLE) : 0;
    if (header->length > cluster_of(header) || header->length > header->file_bytes ||
        (header->version == 3 && header->length < COMPRESSION))
        return "has a header of an impossible length";
    return NULL;
}

static const char *check_features(const struct header *header) {
    unsigned compression = header->length > COMPRESSION ? header->bytes[COMPRESSION] : 0;
    bool stated = header->incompatible & COMPRESSION_TYPE;

    if (header->incompatible & ~(uint64_t)KNOWN_BITS)
        return UNSUPPORTED;
    if (header->is_source && header->incompatible & EXTENDED_L2)
        return UNSUPPORTED;
    if (!header->is_source && header->incompatible & CORRUPT)
        return "is marked corrupt";
    if (!header->is_source && header->incompatible & DIRTY)
        return "was not closed (qemu-img check -r all repairs it)";
    if (header->incompatible & EXTERNAL_DATA || wide(header, BACKING_OFFSET) ||
        (header->version == 3 && wide(header, AUTOCLEAR) & RAW_EXTERNAL))
        return "needs other files";
    if (word(header, CRYPT_METHOD))
        return "is encrypted";
    if (header->incompatible & EXTENDED_L2 && header->cluster_bits < CLUSTER_BITS_EXTENDED)
        return "has an impossible cluster size";
    if (header->version == 3 && word(header, REFCOUNT_ORDER) > REFCOUNT_ORDER_MOST)
        return "has an impossible reference count width";
    if (word(header, SNAPSHOTS))
        return "has internal snapshots";
    return stated == (compression != 0) && compression <= ZSTD ? NULL : UNSUPPORTED;
}

/* ---- extensions: type, length, content to a multiple of eight ---- */

/* Count, reserved, size and place of the directory; an image of version 2 cannot have one. */
static bool bitmaps_are_possible(const struct header *header, uint64_t at, uint64_t size) {
    unsigned char bytes[BITMAPS_BYTES];
    uint64_t count, directory, place;

    if (size != sizeof(bytes) || pread(header->fd, bytes, size, (off_t)at) != (ssize_t)size)
        return false;
    count = big_endian(bytes, 4);
    directory = big_endian(bytes + 8, 8);
    place = big_endian(bytes + 16, 8);
    return header->version == 3 && count > 0 && count <= BITMAPS_MOST &&
           big_endian(bytes + 4, 4) == 0 && place >= cluster_of(header) &&
           place % cluster_of(header) == 0 && place <= header->file_bytes &&
           directory <= header->file_bytes - place;
}

static const char *check_extension(const struct header *header, uint64_t type, uint64_t at,
                                   uint64_t size) {
    switch (type) {
    case EXTENSION_CRYPTO:
        return "is encrypted";
    case EXTENSION_DATA_FILE:
        return "needs other files";
    case EXTENSION_BACKING_FORMAT:
        return size > FORMAT_MOST ? WRONG_EXTENSION : NULL;
    case EXTENSION_BITMAPS:
        return bitmaps_are_possible(header, at, size) ? NULL : WRONG_EXTENSION;
    default:
        return NULL;
    }
}

static const char *check_extensions(const struct header *header) {
    uint64_t at = header->length, end = cluster_of(header);
    unsigned char head[8];

    for (int i = 0; i < EXTENSIONS_MOST; i++) {
        uint64_t type, size;
        const char *why;

        if (at + sizeof(head) > end || at + sizeof(head) > header->file_bytes)
            return NULL;
        if (pread(header->fd, head, sizeof(head), (off_t)at) != (ssize_t)sizeof(head))
            return "cannot be read";
        type = big_endian(head, 4);
        size = big_endian(head + 4, 4);
        if (type == 0)
            return NULL;
        at += sizeof(head);
        if (size > end - at || size > header->file_bytes - at)
            return WRONG_EXTENSION;
        why = check_extension(header, type, at, size);
        if (why)
            return why;
        at += (size + 7) / 8 * 8;
    }
    return "has too many header extensions";
}

/* ---- tables ---- */

struct table {
    uint64_t at, bytes, most;
};

static struct table l1_of(const struct header *header) {
    return (struct table){ wide(header, L1_OFFSET), word(header, L1_ENTRIES) * 8, L1_MOST };
}

static struct table refcounts_of(const struct header *header) {
    return (struct table){ wide(header, REFCOUNT_OFFSET),
                           word(header, REFCOUNT_CLUSTERS) << header->cluster_bits, REFCOUNT_MOST };
}

/* After the header, at the start of a cluster, whole. */
static bool is_possible(const struct header *header, const struct table *table) {
    return table->bytes <= table->most && table->at >= cluster_of(header) &&
           table->at % cluster_of(header) == 0 && table->at <= header->file_bytes &&
           table->bytes <= header->file_bytes - table->at;
}

static const char *check_tables(const struct header *header) {
    const struct table l1 = l1_of(header), refcounts = refcounts_of(header);
    uint64_t size = wide(header, DISK_SIZE), snapshots = wide(header, SNAPSHOTS_OFFSET);
    unsigned entry_bits = header->incompatible & EXTENDED_L2 ? 4 : 3;
    unsigned shift = 2 * header->cluster_bits - entry_bits; /* bytes of a first-level entry */
    uint64_t needed;

    if (size == 0)
        return "is empty";
    if (size > INT64_MAX || size % 512 != 0)
        return "has an impossible size";
    if (snapshots > INT64_MAX || snapshots % cluster_of(header) != 0 || refcounts.bytes == 0 ||
        !is_possible(header, &refcounts) || !is_possible(header, &l1) ||
        (l1.at < refcounts.at + refcounts.bytes && refcounts.at < l1.at + l1.bytes))
        return WRONG_TABLE;
    needed = (size >> shift) + ((size & (((uint64_t)1 << shift) - 1)) != 0);
    return l1.bytes / 8 < needed ? "has a first table too small for its size" : NULL;
}

/* Each entry is 0 or the offset of a cluster within the file; `flags` are bits beside it. */
static const char *check_entries(const struct header *header, struct table table, uint64_t flags) {
    uint64_t wrong = ~flags & ~((((uint64_t)1 << 56) - 1) & ~(cluster_of(header) - 1));
    unsigned char page[4096];

    for (uint64_t at = 0; at < table.bytes; at += sizeof(page)) {
        size_t size = table.bytes - at < sizeof(page) ? (size_t)(table.bytes - at) : sizeof(page);

        if (pread(header->fd, page, size, (off_t)(table.at + at)) != (ssize_t)size)
            return "cannot be read";
        for (size_t i = 0; i < size; i += 8) {
            uint64_t entry = big_endian(page + i, 8);

            if (entry & wrong || (entry & ~flags) >= header->file_bytes)
                return "has an entry of a table that leads nowhere";
        }
    }
    return NULL;
}

static const char *check_header(int fd, struct header *header) {
    static const char *(*const checks[])(const struct header *header) = {
        check_features,
        check_extensions,
        check_tables,
    };
    const char *why = read_header(fd, header);

    for (size_t i = 0; !why && i < LENGTH(checks); i++)
        why = checks[i](header);
    return why;
}

const char *qcow2_check(int fd, bool tables) {
    struct header header = { .fd = -1 };
    const char *why = check_header(fd, &header);
    const uint64_t copied = (uint64_t)1 << 63;

    if (why || !tables)
        return why;
    why = check_entries(&header, l1_of(&header), copied);
    return why ? why : check_entries(&header, refcounts_of(&header), 0);
}

const char *qcow2_check_source(int fd, uint64_t *ret_virtual_bytes) {
    struct header header = { .fd = -1, .is_source = true };
    const char *why = check_header(fd, &header);

    *ret_virtual_bytes = why ? 0 : wide(&header, DISK_SIZE);
    return why;
}
