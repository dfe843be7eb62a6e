#include "drivers/file/qcow2_use.h"

#include "common/assert.h"
#include "common/image_holes.h"
#include "drivers/file/image.h"

#include <string.h>
#include <unistd.h>

/* Bytes of the header; all numbers are big-endian. */
enum {
    VERSION = 4,
    BACKING_OFFSET = 8,
    CLUSTER_BITS = 20,
    SIZE = 24,
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

struct reader;
/* 1 known, 0 not, or not wanted any more, -1. */
typedef int visitor(struct reader *reader, uint64_t index, uint64_t entry, struct error *err);

/* A page of a table. */
struct page {
    bool filled;
    uint64_t offset;
    unsigned char bytes[TABLE_PAGE];
};

struct reader {
    int fd;
    uint64_t length;       /* of the file */
    uint64_t virtual_size; /* of the guest's disk */
    unsigned cluster_bits;
    bool version_3;
    uint64_t l1, l1_size; /* entries */
    visitor *visit_data;
    struct qcow2_use *use;
    const struct driver_fence *fence;
    int64_t checked_us;
    uint64_t tables;      /* of the second level so far */
    uint64_t table;       /* the present one's place in that of the first level */
    struct page pages[2]; /* of each level */
    struct reader *heir;  /* of a merge, and its kind */
    const struct qcow2_merge *merge;
};

enum kind { ABSENT, DATA, ZEROS, PACKED };

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
    return offset % ((uint64_t)1 << reader->cluster_bits) == 0;
}

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
                known = visit(reader, (at - offset + i) / ENTRY, entry, err);
        }
        at += size;
    }
    return known;
}

/* 1 known, 0 not. */
static int classify(const struct reader *reader, uint64_t entry, enum kind *ret) {
    const uint64_t known = PLACE | COPIED | (reader->version_3 ? READS_ZEROS : 0);
    uint64_t place = entry & PLACE;

    *ret = entry & COMPRESSED ? PACKED : entry & READS_ZEROS ? ZEROS : place ? DATA : ABSENT;
    return *ret == PACKED || (!(entry & ~known) && is_cluster(reader, place));
}

static int mark_data(struct reader *reader, uint64_t index, uint64_t entry, struct error *err) {
    enum kind kind;

    (void)index;
    (void)err;
    if (!classify(reader, entry, &kind))
        return 0;
    if (kind == PACKED) {
        /* Its place and its length in sectors share the entry; it may begin and end within
         * clusters. */
        const unsigned shift = 62 - (reader->cluster_bits - 8);
        uint64_t sectors = (entry & ~(COPIED | COMPRESSED)) >> shift;
        uint64_t place = entry & (((uint64_t)1 << shift) - 1);

        mark(reader, place, (sectors + 1) * 512 - place % 512);
    } else if (kind == DATA) {
        mark(reader, entry & PLACE, 1);
    }
    return 1;
}

/* Of the first level: a table of the second, which has a cluster of its own. */
static bool is_table(const struct reader *reader, uint64_t entry) {
    uint64_t place = entry & PLACE;

    return !(entry & ~(PLACE | COPIED)) && place && is_cluster(reader, place) &&
           place < reader->length;
}

static int visit_table(struct reader *reader, uint64_t index, uint64_t entry, struct error *err) {
    const uint64_t cluster = (uint64_t)1 << reader->cluster_bits;

    if (!is_table(reader, entry) || ++reader->tables > reader->length / cluster)
        return 0;
    reader->table = index;
    if (reader->use)
        mark(reader, entry & PLACE, cluster);
    return walk(reader, entry & PLACE, cluster / ENTRY, reader->visit_data, err);
}

static int visit_refcounts(struct reader *reader, uint64_t index, uint64_t entry,
                           struct error *err) {
    (void)index;
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

/* 1 known, 0 not. */
static int read_header(struct reader *reader, int fd, uint64_t length, unsigned char *header,
                       struct error *err) {
    ssize_t got = pread(fd, header, HEADER_PAGE, 0);
    uint64_t version = number(header + VERSION, 4);

    if (got < 0)
        return error_errno(err, ERROR_BACKEND, "reading the header of the image");
    if (!is_known_header(header, version))
        return 0;
    reader->fd = fd;
    reader->length = length;
    reader->version_3 = version == 3;
    reader->cluster_bits = (unsigned)number(header + CLUSTER_BITS, 4);
    reader->virtual_size = number(header + SIZE, 8);
    reader->l1 = number(header + L1_OFFSET, 8);
    reader->l1_size = number(header + L1_SIZE, 4);
    return is_known_table(reader, reader->l1, reader->l1_size, L1_MOST);
}

static int mark_tables(struct reader *reader, const unsigned char *header, struct error *err) {
    const unsigned bits = reader->cluster_bits;
    uint64_t refcounts = number(header + REFCOUNTS_OFFSET, 8);
    uint64_t refcounts_size = (number(header + REFCOUNTS_CLUSTERS, 4) << bits) / ENTRY;
    int known;

    if (!is_known_table(reader, refcounts, refcounts_size, REFCOUNTS_MOST))
        return 0;
    mark(reader, 0, 1);
    mark(reader, reader->l1, reader->l1_size * ENTRY);
    mark(reader, refcounts, refcounts_size * ENTRY);
    known = walk(reader, refcounts, refcounts_size, visit_refcounts, err);
    return known > 0 ? walk(reader, reader->l1, reader->l1_size, visit_table, err) : known;
}

int qcow2_use_read(int fd, uint64_t length, const struct driver_fence *fence, struct qcow2_use *use,
                   struct error *err) {
    struct reader reader = { .visit_data = mark_data, .use = use, .fence = fence };
    unsigned char header[HEADER_PAGE] = { 0 };
    int known = read_header(&reader, fd, length, header, err);
    uint64_t clusters;

    if (known <= 0)
        return known;
    use->cluster_bits = reader.cluster_bits;
    clusters = (length + ((uint64_t)1 << use->cluster_bits) - 1) >> use->cluster_bits;
    use->count = clusters > use->first ? clusters - use->first : 0;
    if (use->count > QCOW2_USE_MOST)
        use->count = QCOW2_USE_MOST;
    memset(use->bits, 0, (size_t)(use->count + 7) / 8);
    return mark_tables(&reader, header, err);
}

/* ---- a merge ---- */

/* An entry of a table, through the page of its level. */
static int read_entry(struct reader *reader, int level, uint64_t offset, uint64_t *ret,
                      struct error *err) {
    struct page *page = &reader->pages[level];
    uint64_t begin = offset / TABLE_PAGE * TABLE_PAGE;

    if (!page->filled || page->offset != begin) {
        ssize_t got = pread(reader->fd, page->bytes, TABLE_PAGE, (off_t)begin);

        page->filled = false;
        if (got < 0)
            return error_errno(err, ERROR_BACKEND, "reading the tables of the image");
        if ((uint64_t)got < offset - begin + ENTRY)
            return 0;
        memset(page->bytes + got, 0, TABLE_PAGE - (size_t)got);
        page->filled = true;
        page->offset = begin;
    }
    *ret = number(page->bytes + (offset - begin), ENTRY);
    return 1;
}

/* The entry of a byte of the guest's disk; 0: none. */
static int find_entry(struct reader *reader, uint64_t at, uint64_t *ret, struct error *err) {
    const unsigned table_bits = reader->cluster_bits - 3;
    uint64_t cluster = at >> reader->cluster_bits, table;
    uint64_t index = cluster & (((uint64_t)1 << table_bits) - 1);
    int known;

    *ret = 0;
    if (cluster >> table_bits >= reader->l1_size)
        return 1;
    known = read_entry(reader, 0, reader->l1 + (cluster >> table_bits) * ENTRY, &table, err);
    if (known <= 0 || table == 0)
        return known;
    return is_table(reader, table)
               ? read_entry(reader, 1, (table & PLACE) + index * ENTRY, ret, err)
               : 0;
}

/* 1: zeros, also behind the end. */
static int reads_zeros(int fd, uint64_t offset, uint64_t size, struct error *err) {
    unsigned char bytes[TABLE_PAGE];

    while (size > 0) {
        ssize_t got =
            pread(fd, bytes, size < sizeof(bytes) ? (size_t)size : sizeof(bytes), (off_t)offset);

        if (got <= 0)
            return got < 0 ? error_errno(err, ERROR_BACKEND, "reading the image") : 1;
        if (!image_is_zero(bytes, (size_t)got))
            return 0;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return 1;
}

/* One piece of a cluster of the heir. */
static int has_piece(struct reader *heir, uint64_t at, uint64_t size, bool zeros,
                     struct error *err) {
    const struct qcow2_merge *merge = heir->merge;
    uint64_t entry;
    enum kind kind;
    int known = find_entry(heir, at, &entry, err);

    if (known <= 0)
        return known;
    if (!classify(heir, entry, &kind))
        return 0;
    if (kind == ABSENT) /* nothing is below a raw file, so zeros are read there, too */
        return merge->dropped_raw ? reads_zeros(merge->dropped, at, size, err) : 0;
    if (!merge->committed)
        return 1;
    if (kind == DATA && zeros)
        return reads_zeros(heir->fd, (entry & PLACE) + at % ((uint64_t)1 << heir->cluster_bits),
                           size, err);
    return kind == (zeros ? ZEROS : DATA);
}

/* Of the guest's disk, that the dropped file has. */
static int has_range(struct reader *heir, uint64_t at, uint64_t end, bool zeros,
                     struct error *err) {
    const uint64_t cluster = (uint64_t)1 << heir->cluster_bits;
    int known = 1;

    while (at < end && known > 0) {
        uint64_t next = at / cluster * cluster + cluster;

        if (image_fence_check(heir->fence, &heir->checked_us, err) < 0)
            return -1;
        known = has_piece(heir, at, (next < end ? next : end) - at, zeros, err);
        at = next;
    }
    return known;
}

static int compare_data(struct reader *reader, uint64_t index, uint64_t entry, struct error *err) {
    uint64_t at = ((reader->table << (reader->cluster_bits - 3)) + index) << reader->cluster_bits;
    uint64_t end = at + ((uint64_t)1 << reader->cluster_bits);
    enum kind kind;

    if (!classify(reader, entry, &kind))
        return 0;
    return kind == ABSENT ? 1
                          : has_range(reader->heir, at,
                                      end < reader->virtual_size ? end : reader->virtual_size,
                                      kind == ZEROS, err);
}

static int compare_raw(struct reader *heir, uint64_t length, struct error *err) {
    struct image_extent data = { 0 };
    int known = 1;

    while (known > 0 && (uint64_t)data.end < length) {
        if (image_find_data(heir->merge->dropped, (off_t)length, data.end, &data, err) < 0)
            return -1;
        known = has_range(heir, (uint64_t)data.begin, (uint64_t)data.end, false, err);
    }
    return known;
}

/* The length of a file. */
static int get_length(int fd, uint64_t *ret, struct error *err) {
    off_t end = lseek(fd, 0, SEEK_END);

    *ret = (uint64_t)end;
    return end < 0 ? error_errno(err, ERROR_BACKEND, "reading the length of the image") : 0;
}

int qcow2_use_covers(const struct qcow2_merge *merge, struct error *err) {
    struct reader heir = { .fence = merge->fence, .merge = merge };
    struct reader dropped = { .visit_data = compare_data, .fence = merge->fence, .heir = &heir };
    unsigned char header[HEADER_PAGE] = { 0 }, again[HEADER_PAGE] = { 0 };
    uint64_t length, dropped_length;
    int known;

    assert(merge->dropped >= 0 && merge->heir >= 0 && !(merge->committed && merge->dropped_raw));
    if (merge->heir_raw) /* has no tables: all of a commit is written */
        return merge->committed;
    if (get_length(merge->heir, &length, err) < 0 ||
        get_length(merge->dropped, &dropped_length, err) < 0)
        return -1;
    known = read_header(&heir, merge->heir, length, header, err);
    if (known <= 0)
        return known;
    if (merge->dropped_raw) {
        known = compare_raw(&heir, dropped_length, err);
    } else {
        known = read_header(&dropped, merge->dropped, dropped_length, again, err);
        if (known > 0)
            known = walk(&dropped, dropped.l1, dropped.l1_size, visit_table, err);
    }
    if (known <= 0)
        return known;
    /* A writer that makes the disk larger moves the first table, and uses its place for others. */
    known = read_header(&dropped, merge->heir, length, again, err);
    return known > 0 ? dropped.l1 == heir.l1 && dropped.l1_size == heir.l1_size : known;
}
