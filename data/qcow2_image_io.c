#include "data/qcow2_image_io.h"

#include "common/assert.h"
#include "common/heap.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_BITS 16
#define CLUSTER      ((int64_t)1 << CLUSTER_BITS)
#define ENTRIES      (CLUSTER / 8) /* of a table */
#define COUNT_ORDER  4             /* reference counts of 16 bits */
#define COUNTS       (CLUSTER / 2) /* of a block */
#define COUNTED_ONCE (UINT64_C(1) << 63)
#define WORD         64

/* Bytes of the head, in the order of the specification; all numbers are big endian. */
struct head {
    uint32_t magic, version;
    uint64_t backing_offset;
    uint32_t backing_size, cluster_bits;
    uint64_t size;
    uint32_t crypt_method, l1_count;
    uint64_t l1_offset, refcount_offset;
    uint32_t refcount_clusters, snapshot_count;
    uint64_t snapshots_offset;
    uint64_t incompatible, compatible, autoclear;
    uint32_t refcount_order, size_of_head;
};
_Static_assert(sizeof(struct head) == 104, "the head has no padding");

/* Of the entries of the first-level table before one. */
struct before {
    int64_t tables, data; /* of the second level; clusters of the content */
};

struct qcow2_image {
    struct volume_io io;
    struct volume_io *next;
    uint64_t *used; /* a bit for each cluster of the content that is no zeros */
    int64_t l1_count;
    struct before *before; /* l1_count + 1 of them */
    /* The first cluster of each part; the head is the only one before the first. */
    int64_t refcount_table, refcount_blocks, l1_table, l2_tables, data, end;
    unsigned char cluster[CLUSTER];
};

static struct qcow2_image *image_of(struct volume_io *io) {
    return (struct qcow2_image *)io;
}

static int64_t count_of(int64_t all, int64_t each) {
    return all / each + (all % each != 0);
}

/* ---- the layout ---- */

static int mark_used(struct qcow2_image *image, struct error *err) {
    struct volume_io_range data = { 0 };

    while (data.end < image->next->size) {
        if (volume_io_find_data(image->next, data.end, &data, err) < 0)
            return -1;
        if (data.begin == data.end)
            break;
        for (int64_t i = data.begin / CLUSTER; i * CLUSTER < data.end; i++)
            image->used[i / WORD] |= UINT64_C(1) << (i % WORD);
    }
    return 0;
}

/* The reference counts count their own clusters, too. */
static void lay_out(struct qcow2_image *image) {
    int64_t tables = 0, blocks = 0, others, before;

    for (int64_t i = 0; i < image->l1_count; i++) {
        int64_t used = 0;

        for (int64_t j = i * ENTRIES / WORD; j < (i + 1) * ENTRIES / WORD; j++)
            used += __builtin_popcountll(image->used[j]);
        image->before[i + 1] =
            (struct before){ image->before[i].tables + (used > 0), image->before[i].data + used };
    }
    others = 1 + count_of(image->l1_count, ENTRIES) + image->before[image->l1_count].tables +
             image->before[image->l1_count].data;
    do {
        before = tables + blocks;
        blocks = count_of(others + before, COUNTS);
        tables = count_of(blocks, ENTRIES);
    } while (tables + blocks != before);
    image->refcount_table = 1;
    image->refcount_blocks = image->refcount_table + tables;
    image->l1_table = image->refcount_blocks + blocks;
    image->l2_tables = image->l1_table + count_of(image->l1_count, ENTRIES);
    image->data = image->l2_tables + image->before[image->l1_count].tables;
    image->end = image->data + image->before[image->l1_count].data;
    assert(image->end == others + tables + blocks);
}

/* ---- one cluster ---- */

static void put_entry(void *table, int64_t number, int64_t cluster, uint64_t flags) {
    uint64_t entry = htobe64((uint64_t)(cluster * CLUSTER) | flags);

    memcpy((char *)table + number * (int64_t)sizeof(entry), &entry, sizeof(entry));
}

static void put_head(const struct qcow2_image *image, void *ret) {
    const struct head head = {
        .magic = htobe32(0x514649fb), /* "QFI" and 0xfb */
        .version = htobe32(3),
        .cluster_bits = htobe32(CLUSTER_BITS),
        .size = htobe64((uint64_t)image->next->size),
        .l1_count = htobe32((uint32_t)image->l1_count),
        .l1_offset = htobe64((uint64_t)(image->l1_table * CLUSTER)),
        .refcount_offset = htobe64((uint64_t)(image->refcount_table * CLUSTER)),
        .refcount_clusters = htobe32((uint32_t)(image->refcount_blocks - image->refcount_table)),
        .refcount_order = htobe32(COUNT_ORDER),
        .size_of_head = htobe32(sizeof(head)),
    };

    memcpy(ret, &head, sizeof(head));
}

static void put_refcount_table(const struct qcow2_image *image, int64_t number, void *ret) {
    int64_t blocks = image->l1_table - image->refcount_blocks;

    for (int64_t i = 0; i < ENTRIES && number * ENTRIES + i < blocks; i++)
        put_entry(ret, i, image->refcount_blocks + number * ENTRIES + i, 0);
}

static void put_refcounts(const struct qcow2_image *image, int64_t number, void *ret) {
    const uint16_t one = htobe16(1);

    for (int64_t i = 0; i < COUNTS && number * COUNTS + i < image->end; i++)
        memcpy((char *)ret + i * (int64_t)sizeof(one), &one, sizeof(one));
}

static void put_l1(const struct qcow2_image *image, int64_t number, void *ret) {
    for (int64_t i = 0; i < ENTRIES && number * ENTRIES + i < image->l1_count; i++) {
        const struct before *before = &image->before[number * ENTRIES + i];

        if (before[1].tables > before->tables)
            put_entry(ret, i, image->l2_tables + before->tables, COUNTED_ONCE);
    }
}

/* The entry of the first level that has the table, or the cluster of the content, of a number. */
static int64_t find_l1(const struct qcow2_image *image, int64_t number, bool of_data) {
    int64_t low = 0, high = image->l1_count;

    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        const struct before *before = &image->before[middle];

        if ((of_data ? before->data : before->tables) <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void put_l2(const struct qcow2_image *image, int64_t number, void *ret) {
    int64_t l1_entry = find_l1(image, number, false);
    int64_t data = image->data + image->before[l1_entry].data;

    for (int64_t i = 0; i < ENTRIES; i++) {
        int64_t cluster = l1_entry * ENTRIES + i;

        if (image->used[cluster / WORD] >> (cluster % WORD) & 1)
            put_entry(ret, i, data++, COUNTED_ONCE);
    }
}

/* The cluster of the content that is stored as the one of this number. */
static int put_data(const struct qcow2_image *image, int64_t number, void *ret, struct error *err) {
    int64_t l1_entry = find_l1(image, number, true);
    int64_t rest = number - image->before[l1_entry].data;
    int64_t word = l1_entry * ENTRIES / WORD, offset, size;
    uint64_t bits;

    while (rest >= __builtin_popcountll(image->used[word]))
        rest -= __builtin_popcountll(image->used[word++]);
    for (bits = image->used[word]; rest > 0; rest--)
        bits &= bits - 1;
    assert(bits != 0);
    offset = (word * WORD + __builtin_ctzll(bits)) * CLUSTER;
    size = image->next->size - offset;
    assert(size > 0);
    return volume_io_read(image->next, ret, (size_t)(size < CLUSTER ? size : CLUSTER), offset, err);
}

static int put_cluster(const struct qcow2_image *image, int64_t number, void *ret,
                       struct error *err) {
    assert(number < image->end);
    memset(ret, 0, CLUSTER);
    if (number >= image->data)
        return put_data(image, number - image->data, ret, err);
    if (number >= image->l2_tables)
        put_l2(image, number - image->l2_tables, ret);
    else if (number >= image->l1_table)
        put_l1(image, number - image->l1_table, ret);
    else if (number >= image->refcount_blocks)
        put_refcounts(image, number - image->refcount_blocks, ret);
    else if (number >= image->refcount_table)
        put_refcount_table(image, number - image->refcount_table, ret);
    else
        put_head(image, ret);
    return 0;
}

/* ---- the functions ---- */

static int image_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                        struct error *err) {
    (void)err;
    *ret = (struct volume_io_extent){ .size = io->size - offset };
    return 0;
}

static int image_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                      struct error *err) {
    struct qcow2_image *image = image_of(io);
    unsigned char *place = buffer;

    while (size > 0) {
        int64_t skipped = offset % CLUSTER, left = CLUSTER - skipped;
        size_t part = (int64_t)size < left ? size : (size_t)left;
        bool whole = part == (size_t)CLUSTER;

        if (put_cluster(image, offset / CLUSTER, whole ? place : image->cluster, err) < 0)
            return -1;
        if (!whole)
            memcpy(place, image->cluster + skipped, part);
        place += part;
        offset += (int64_t)part;
        size -= part;
    }
    return 0;
}

static int image_flush(struct volume_io *io, struct error *err) {
    return volume_io_flush(image_of(io)->next, err);
}

static void image_close(struct volume_io *io) {
    volume_io_close(image_of(io)->next);
    free(image_of(io)->used);
    free(image_of(io)->before);
    free(io);
}

static const struct volume_io_functions image_functions = {
    .extent = image_extent,
    .read = image_read,
    .flush = image_flush,
    .close = image_close,
};

struct volume_io *qcow2_image_io_open(struct volume_io *next, struct error *err) {
    struct qcow2_image *image;

    if (next->size <= 0 || next->size % 512 != 0) { /* of a file that others may have cut */
        error_set(err, ERROR_BACKEND, "the content has %jd bytes, which are no whole sectors",
                  (intmax_t)next->size);
        volume_io_close(next);
        return NULL;
    }
    image = heap_new(sizeof(*image));
    image->io = (struct volume_io){ .functions = &image_functions };
    image->next = next;
    image->l1_count = count_of(count_of(next->size, CLUSTER), ENTRIES);
    image->used = heap_new((size_t)(image->l1_count * ENTRIES / WORD) * sizeof(uint64_t));
    image->before = heap_new((size_t)(image->l1_count + 1) * sizeof(struct before));
    if (mark_used(image, err) < 0) {
        volume_io_close(&image->io);
        return NULL;
    }
    lay_out(image);
    image->io.size = image->end * CLUSTER;
    return &image->io;
}
