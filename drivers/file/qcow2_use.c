#include "drivers/file/qcow2_use.h"

#include "common/assert.h"
#include "drivers/file/image.h"

#include <string.h>
#include <unistd.h>

/* Bytes of the header; all numbers are big-endian. */
enum {
    VERSION = 4,
    BACKING_OFFSET = 8,
    CLUSTER_BITS = 20,
    CRYPT_METHOD = 32,
    L1_SIZE = 36,
    L1_OFFSET = 40,
    REFCOUNTS_OFFSET = 48,
    REFCOUNTS_CLUSTERS = 56,
    SNAPSHOTS = 60,
    VERSION_2_END = 72,
    INCOMPATIBLE = 72,
    COMPATIBLE = 80,
    AUTOCLEAR = 88,
    HEADER_LENGTH = 100,
    VERSION_3_END = 104,
    HEADER_PAGE = 4096,
};
#define KNOWN_INCOMPATIBLE ((uint64_t)1 << 0 | (uint64_t)1 << 3) /* dirty, compression type */
#define KNOWN_COMPATIBLE   ((uint64_t)1 << 0)                    /* lazy refcounts */

/* Bits of an entry of the tables. */
#define COPIED      ((uint64_t)1 << 63)
#define COMPRESSED  ((uint64_t)1 << 62)
#define READS_ZEROS ((uint64_t)1)
#define PLACE       UINT64_C(0x00fffffffffffe00)

#define L1_MOST        ((uint64_t)1 << 22) /* entries, as QEMU has it */
#define REFCOUNTS_MOST ((uint64_t)1 << 20)
enum { SMALLEST_CLUSTER = 12, LARGEST_CLUSTER = 21, ENTRY = 8, TABLE_PAGE = 4096 };

struct reader {
    int fd;
    uint64_t length; /* of the file */
    bool version_3;
    struct qcow2_use *use;
    const struct driver_fence *fence;
    int64_t checked_us;
    uint64_t tables; /* of the second level so far */
};

static uint64_t number(const unsigned char *bytes, unsigned size) {
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void mark(const struct reader *reader, uint64_t offset, uint64_t size) {
    const struct qcow2_use *use = reader->use;
    uint64_t cluster = offset >> use->cluster_bits;
    uint64_t last = (offset + size - 1) >> use->cluster_bits;

    assert(use->bits && use->count <= QCOW2_USE_MOST); /* or used clusters are punched */
    for (; size > 0 && cluster <= last; cluster++)
        if (cluster >= use->first && cluster - use->first < use->count)
            use->bits[(cluster - use->first) / 8] |=
                (unsigned char)(1 << (cluster - use->first) % 8);
}

static bool is_cluster(const struct reader *reader, uint64_t offset) {
    return offset % ((uint64_t)1 << reader->use->cluster_bits) == 0;
}

/* 1 known, 0 not, -1. */
typedef int visitor(struct reader *reader, uint64_t entry, struct error *err);

static int walk(struct reader *reader, uint64_t offset, uint64_t entries, visitor *visit,
                struct error *err) {
    unsigned char page[TABLE_PAGE];
    uint64_t at = offset, end = offset + entries * ENTRY;
    int known = 1;

    while (at < end && known > 0) {
        size_t size = end - at < sizeof(page) ? (size_t)(end - at) : sizeof(page);
        ssize_t got = pread(reader->fd, page, size, (off_t)at);

        if (got < 0)
            return error_errno(err, ERROR_BACKEND, "reading the tables of the image");
        if ((size_t)got < size)
            return 0;
        if (image_fence_check(reader->fence, &reader->checked_us, err) < 0)
            return -1;
        for (size_t i = 0; i < size && known > 0; i += ENTRY) {
            uint64_t entry = number(page + i, ENTRY);

            if (entry)
                known = visit(reader, entry, err);
        }
        at += size;
    }
    return known;
}

static int visit_data(struct reader *reader, uint64_t entry, struct error *err) {
    const uint64_t known = PLACE | COPIED | (reader->version_3 ? READS_ZEROS : 0);
    uint64_t place = entry & PLACE;

    (void)err;
    if (entry & COMPRESSED) {
        /* Its place and its length in sectors share the entry; it may begin and end within
         * clusters. */
        const unsigned shift = 62 - (reader->use->cluster_bits - 8);
        uint64_t sectors = (entry & ~(COPIED | COMPRESSED)) >> shift;

        place = entry & (((uint64_t)1 << shift) - 1);
        mark(reader, place, (sectors + 1) * 512 - place % 512);
        return 1;
    }
    if ((entry & ~known) || !is_cluster(reader, place))
        return 0;
    if (place && !(entry & READS_ZEROS))
        mark(reader, place, 1);
    return 1;
}

static int visit_table(struct reader *reader, uint64_t entry, struct error *err) {
    const uint64_t cluster = (uint64_t)1 << reader->use->cluster_bits;
    uint64_t place = entry & PLACE;

    /* Each has a cluster of its own. */
    if ((entry & ~(PLACE | COPIED)) || !place || !is_cluster(reader, place) ||
        place >= reader->length || ++reader->tables > reader->length / cluster)
        return 0;
    mark(reader, place, cluster);
    return walk(reader, place, cluster / ENTRY, visit_data, err);
}

static int visit_refcounts(struct reader *reader, uint64_t entry, struct error *err) {
    (void)err;
    if (!is_cluster(reader, entry))
        return 0;
    mark(reader, entry, 1);
    return 1;
}

/* Only the extensions with the backing format and with names of features have no clusters. */
static bool is_known_extensions(const unsigned char *header, uint64_t at, uint64_t end) {
    while (at + 8 <= end) {
        uint64_t type = number(header + at, 4), size = number(header + at + 4, 4);

        if (type == 0)
            return true;
        if ((type != 0xe2792aca && type != 0x6803f857) || size > end - at - 8)
            return false;
        at += 8 + (size + 7) / 8 * 8;
    }
    return at == end;
}

static bool is_known_header(const unsigned char *header, uint64_t version) {
    uint64_t bits = number(header + CLUSTER_BITS, 4), backing = number(header + BACKING_OFFSET, 8);
    uint64_t begin = version == 3 ? number(header + HEADER_LENGTH, 4) : VERSION_2_END;
    uint64_t end = backing && backing < HEADER_PAGE ? backing : HEADER_PAGE;

    if (memcmp(header, "QFI\xfb", 4) != 0 || (version != 2 && version != 3) ||
        bits < SMALLEST_CLUSTER || bits > LARGEST_CLUSTER || number(header + CRYPT_METHOD, 4) ||
        number(header + SNAPSHOTS, 4))
        return false;
    if (version == 3 && ((number(header + INCOMPATIBLE, 8) & ~KNOWN_INCOMPATIBLE) ||
                         (number(header + COMPATIBLE, 8) & ~KNOWN_COMPATIBLE) ||
                         number(header + AUTOCLEAR, 8) || begin < VERSION_3_END))
        return false;
    return begin <= end && is_known_extensions(header, begin, end);
}

/* A table that QEMU would refuse, too, or at an impossible offset. */
static bool is_known_table(const struct reader *reader, uint64_t offset, uint64_t entries,
                           uint64_t most) {
    return entries <= most && is_cluster(reader, offset) && offset <= reader->length &&
           entries * ENTRY <= reader->length - offset;
}

static int read_tables(struct reader *reader, const unsigned char *header, struct error *err) {
    const unsigned bits = reader->use->cluster_bits;
    uint64_t l1 = number(header + L1_OFFSET, 8), l1_size = number(header + L1_SIZE, 4);
    uint64_t refcounts = number(header + REFCOUNTS_OFFSET, 8);
    uint64_t refcounts_size = (number(header + REFCOUNTS_CLUSTERS, 4) << bits) / ENTRY;
    int known;

    if (!is_known_table(reader, l1, l1_size, L1_MOST) ||
        !is_known_table(reader, refcounts, refcounts_size, REFCOUNTS_MOST))
        return 0;
    mark(reader, 0, 1);
    mark(reader, l1, l1_size * ENTRY);
    mark(reader, refcounts, refcounts_size * ENTRY);
    known = walk(reader, refcounts, refcounts_size, visit_refcounts, err);
    return known > 0 ? walk(reader, l1, l1_size, visit_table, err) : known;
}

int qcow2_use_read(int fd, uint64_t length, const struct driver_fence *fence, struct qcow2_use *use,
                   struct error *err) {
    struct reader reader = { .fd = fd, .length = length, .use = use, .fence = fence };
    unsigned char header[HEADER_PAGE] = { 0 };
    ssize_t got = pread(fd, header, sizeof(header), 0);
    uint64_t version = number(header + VERSION, 4), clusters;

    if (got < 0)
        return error_errno(err, ERROR_BACKEND, "reading the header of the image");
    if (!is_known_header(header, version))
        return 0;
    reader.version_3 = version == 3;
    use->cluster_bits = (unsigned)number(header + CLUSTER_BITS, 4);
    clusters = (length + ((uint64_t)1 << use->cluster_bits) - 1) >> use->cluster_bits;
    use->count = clusters > use->first ? clusters - use->first : 0;
    if (use->count > QCOW2_USE_MOST)
        use->count = QCOW2_USE_MOST;
    memset(use->bits, 0, (size_t)(use->count + 7) / 8);
    return read_tables(&reader, header, err);
}
