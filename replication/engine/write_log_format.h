/*
 * The file of a write log (replication/engine/write_log.h), and the code that appends an entry,
 * used by the object that is preloaded into the storage daemon
 * (replication/engine/daemon_preload_writes.c), which contains nothing else of this program.
 *
 * A header of one page, then a ring of entries. An entry is about one block of 4096 bytes, or about
 * a run of blocks whose content is zero or unknown. A daemon that is killed between two stores
 * leaves an entry whose check does not match: its write was not yet submitted.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define WRITE_LOG_MAGIC   UINT64_C(0x3167676f6c657277)
#define WRITE_LOG_VERSION 1
#define WRITE_LOG_ENTRIES 16384
#define WRITE_LOG_BLOCK   4096
#define WRITE_LOG_SECTOR  512
#define WRITE_LOG_SECTORS (WRITE_LOG_BLOCK / WRITE_LOG_SECTOR)
#define WRITE_LOG_HEADER  4096
#define WRITE_LOG_AT_ONCE 64 /* entries */
#define WRITE_LOG_SIZE    (WRITE_LOG_HEADER + WRITE_LOG_ENTRIES * sizeof(struct write_log_entry))
/* The directory of the logs, in the daemon's environment. */
#define WRITE_LOG_VARIABLE "SCORIA_WRITE_LOGS"
#define WRITE_LOG_BOOT     40
/* Follows the name of a log that is being made. */
#define WRITE_LOG_NEW ".new"

struct write_log_header {
    uint64_t magic;
    uint32_t version, entries;
    char boot[WRITE_LOG_BOOT]; /* id of the host's boot in which it was made */
    _Atomic uint64_t made;     /* entries so far; the next one has this number */
    _Atomic uint32_t active;   /* the daemon appends */
    uint32_t unused;
    /* Entries from that number on count, as writes of this generation; number 0: none does. */
    _Atomic uint64_t floor;
    _Atomic int64_t generation;
    char nonce[24];
};

struct write_log_entry {
    uint64_t where;  /* block << 16 | mask << 8 | known */
    uint32_t number; /* of the entry, its lower bits */
    uint32_t check;  /* CRC-32C of the other members */
    uint32_t sums[WRITE_LOG_SECTORS];
};

/* In `where`: a written sector has its bit in `mask`, and in `known` if its sum stands in the
 * entry. No bit in `mask`: a run of as many blocks as sums[0] and sums[1] give, all of whose
 * sectors are zero, or unknown if `known` is 0. */
static inline uint64_t write_log_where(uint64_t block, unsigned mask, unsigned known) {
    return block << 16 | (uint64_t)(mask & 0xff) << 8 | (known & 0xff);
}

/* ---- CRC-32C ---- */

#define WRITE_LOG_POLYNOMIAL 0x82f63b78u

static uint32_t write_log_table[8][256];
static bool write_log_fast;

static inline void write_log_prepare(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;

        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? WRITE_LOG_POLYNOMIAL : 0);
        write_log_table[0][i] = value;
    }
    for (uint32_t i = 0; i < 256; i++) {
        for (int j = 1; j < 8; j++) {
            uint32_t before = write_log_table[j - 1][i];

            write_log_table[j][i] = before >> 8 ^ write_log_table[0][before & 0xff];
        }
    }
#ifdef __x86_64__
    write_log_fast = __builtin_cpu_supports("sse4.2");
#endif
}

/* Eight bytes at once. */
static inline uint32_t write_log_sum_slow(const unsigned char *data, size_t size) {
    uint32_t sum = UINT32_MAX;

    for (; size >= 8; data += 8, size -= 8) {
        sum ^= (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
               (uint32_t)data[3] << 24;
        sum = write_log_table[7][sum & 0xff] ^ write_log_table[6][sum >> 8 & 0xff] ^
              write_log_table[5][sum >> 16 & 0xff] ^ write_log_table[4][sum >> 24] ^
              write_log_table[3][data[4]] ^ write_log_table[2][data[5]] ^
              write_log_table[1][data[6]] ^ write_log_table[0][data[7]];
    }
    for (; size > 0; data++, size--)
        sum = sum >> 8 ^ write_log_table[0][(sum ^ *data) & 0xff];
    return ~sum;
}

#ifdef __x86_64__
static inline uint64_t write_log_word(const unsigned char *data) {
    uint64_t word;

    memcpy(&word, data, sizeof(word));
    return word;
}

__attribute__((target("sse4.2"))) static inline uint32_t
write_log_sum_fast(const unsigned char *data, size_t size) {
    uint64_t sum = UINT32_MAX;

    for (; size >= 8; data += 8, size -= 8)
        sum = __builtin_ia32_crc32di(sum, write_log_word(data));
    for (; size > 0; data++, size--)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *data);
    return ~(uint32_t)sum;
}

/* Of four adjacent sectors: the instruction takes three cycles, and one can start in each of them.
 */
__attribute__((target("sse4.2"))) static inline void write_log_sum_four(const unsigned char *data,
                                                                        uint32_t *ret) {
    uint64_t a = UINT32_MAX, b = a, c = a, d = a;

    for (size_t i = 0; i < WRITE_LOG_SECTOR; i += 8) {
        a = __builtin_ia32_crc32di(a, write_log_word(data + i));
        b = __builtin_ia32_crc32di(b, write_log_word(data + i + WRITE_LOG_SECTOR));
        c = __builtin_ia32_crc32di(c, write_log_word(data + i + 2 * WRITE_LOG_SECTOR));
        d = __builtin_ia32_crc32di(d, write_log_word(data + i + 3 * WRITE_LOG_SECTOR));
    }
    ret[0] = ~(uint32_t)a;
    ret[1] = ~(uint32_t)b;
    ret[2] = ~(uint32_t)c;
    ret[3] = ~(uint32_t)d;
}
#endif

static inline uint32_t write_log_sum(const void *data, size_t size) {
#ifdef __x86_64__
    if (write_log_fast)
        return write_log_sum_fast(data, size);
#endif
    return write_log_sum_slow(data, size);
}

static inline uint32_t write_log_check(const struct write_log_entry *entry) {
    uint32_t words[3 + WRITE_LOG_SECTORS] = { (uint32_t)entry->where,
                                              (uint32_t)(entry->where >> 32), entry->number };

    memcpy(words + 3, entry->sums, sizeof(entry->sums));
    return write_log_sum(words, sizeof(words));
}

/* ---- appending ---- */

static inline struct write_log_entry *write_log_entries(struct write_log_header *log) {
    return (struct write_log_entry *)(void *)((char *)log + WRITE_LOG_HEADER);
}

/* Each appending thread has slots of its own, which have entries of other numbers until then. */
static inline void write_log_put(struct write_log_header *log, struct write_log_entry *entries,
                                 unsigned count) {
    uint64_t number = atomic_fetch_add(&log->made, count);

    for (unsigned i = 0; i < count; i++, number++) {
        struct write_log_entry *entry = &entries[i];

        entry->number = (uint32_t)number;
        entry->check = write_log_check(entry);
        memcpy(&write_log_entries(log)[number % WRITE_LOG_ENTRIES], entry, sizeof(*entry));
    }
    atomic_signal_fence(memory_order_seq_cst);
}

/* The remaining data of a request, and their place in the volume. */
struct write_log_data {
    const struct iovec *next;
    size_t count, done; /* of the first */
    uint64_t offset, end;
};

static inline size_t write_log_piece(struct write_log_data *data, const unsigned char **ret) {
    while (data->count > 0 && data->done == data->next->iov_len) {
        data->next++;
        data->count--;
        data->done = 0;
    }
    if (data->count == 0)
        return 0;
    *ret = (const unsigned char *)data->next->iov_base + data->done;
    return data->next->iov_len - data->done;
}

/* Skips them, or copies them, if `to` is not NULL. */
static inline void write_log_take(struct write_log_data *data, size_t size, unsigned char *to) {
    while (size > 0) {
        const unsigned char *piece = NULL;
        size_t length = write_log_piece(data, &piece);

        if (length == 0)
            return;
        length = length < size ? length : size;
        if (to) {
            memcpy(to, piece, length);
            to += length;
        }
        data->done += length;
        size -= length;
    }
}

/* Sums whole sectors at the beginning of the data. Returns how many, 1 or 4. */
static inline unsigned write_log_sectors(struct write_log_data *data, unsigned most,
                                         uint32_t *ret) {
    unsigned char copy[WRITE_LOG_SECTOR];
    const unsigned char *piece = NULL;
    size_t length = write_log_piece(data, &piece);

#ifdef __x86_64__
    if (write_log_fast && most >= 4 && length >= (size_t)4 * WRITE_LOG_SECTOR) {
        write_log_sum_four(piece, ret);
        data->done += (size_t)4 * WRITE_LOG_SECTOR;
        return 4;
    }
#endif
    (void)most;
    if (length >= WRITE_LOG_SECTOR) {
        *ret = write_log_sum(piece, WRITE_LOG_SECTOR);
        data->done += WRITE_LOG_SECTOR;
    } else {
        write_log_take(data, WRITE_LOG_SECTOR, copy);
        *ret = write_log_sum(copy, WRITE_LOG_SECTOR);
    }
    return 1;
}

/* Of one block, from its byte `from` to `to`. */
static inline void write_log_describe_block(struct write_log_data *data, unsigned from, unsigned to,
                                            struct write_log_entry *ret) {
    uint64_t block = data->offset / WRITE_LOG_BLOCK;
    unsigned mask = 0, known = 0;

    *ret = (struct write_log_entry){ 0 };
    data->offset += to - from;
    while (from < to) {
        unsigned sector = from / WRITE_LOG_SECTOR, end = (sector + 1) * WRITE_LOG_SECTOR;

        if (from % WRITE_LOG_SECTOR == 0 && end <= to) {
            unsigned count =
                write_log_sectors(data, (to - from) / WRITE_LOG_SECTOR, ret->sums + sector);

            known |= ((1u << count) - 1) << sector;
            mask |= ((1u << count) - 1) << sector;
            from += count * WRITE_LOG_SECTOR;
        } else {
            end = end < to ? end : to;
            write_log_take(data, end - from, NULL);
            mask |= 1u << sector;
            from = end;
        }
    }
    ret->where = write_log_where(block, mask, known);
}

static inline struct write_log_data write_log_data_of(uint64_t offset, const struct iovec *iov,
                                                      size_t count) {
    struct write_log_data data = { iov, count, 0, offset, offset };

    for (size_t i = 0; i < count; i++)
        data.end += iov[i].iov_len;
    return data;
}

/* Entries of the next blocks, at most `most`. Returns their number, 0 at the end. */
static inline unsigned write_log_describe(struct write_log_data *data, struct write_log_entry *ret,
                                          unsigned most) {
    unsigned count = 0;

    for (; data->offset < data->end && count < most; count++) {
        uint64_t from = data->offset % WRITE_LOG_BLOCK, left = data->end - data->offset;
        uint64_t to = left < WRITE_LOG_BLOCK - from ? from + left : WRITE_LOG_BLOCK;

        write_log_describe_block(data, (unsigned)from, (unsigned)to, &ret[count]);
    }
    return count;
}

static inline void write_log_append(struct write_log_header *log, uint64_t offset,
                                    const struct iovec *iov, size_t count) {
    struct write_log_data data = write_log_data_of(offset, iov, count);
    struct write_log_entry entries[WRITE_LOG_AT_ONCE];
    unsigned described;

    while ((described = write_log_describe(&data, entries, WRITE_LOG_AT_ONCE)) > 0)
        write_log_put(log, entries, described);
}

static inline void write_log_run(struct write_log_header *log, uint64_t block, uint64_t count,
                                 bool zero) {
    struct write_log_entry entry = { .where = write_log_where(block, 0, zero ? 0xff : 0),
                                     .sums = { (uint32_t)count, (uint32_t)(count >> 32) } };

    write_log_put(log, &entry, 1);
}

/* A part of one block. */
static inline void write_log_edge(struct write_log_header *log, uint64_t offset, uint64_t size,
                                  bool zero) {
    static unsigned char zeros[WRITE_LOG_BLOCK];
    struct write_log_entry entry = { 0 };
    const struct iovec iov = { zeros, size };
    unsigned first = (unsigned)(offset % WRITE_LOG_BLOCK / WRITE_LOG_SECTOR);
    unsigned end =
        (unsigned)((offset % WRITE_LOG_BLOCK + size + WRITE_LOG_SECTOR - 1) / WRITE_LOG_SECTOR);

    if (zero) {
        write_log_append(log, offset, &iov, 1);
        return;
    }
    entry.where =
        write_log_where(offset / WRITE_LOG_BLOCK, ((1u << end) - 1) & ~((1u << first) - 1), 0);
    write_log_put(log, &entry, 1);
}

/* The range becomes zero, or its content is unknown. */
static inline void write_log_append_run(struct write_log_header *log, uint64_t offset,
                                        uint64_t size, bool zero) {
    uint64_t end = offset + size, first = (offset + WRITE_LOG_BLOCK - 1) / WRITE_LOG_BLOCK;
    uint64_t last = end / WRITE_LOG_BLOCK; /* after the last whole one */

    if (size == 0)
        return;
    if (first > last) {
        write_log_edge(log, offset, size, zero);
        return;
    }
    if (offset % WRITE_LOG_BLOCK)
        write_log_edge(log, offset, first * WRITE_LOG_BLOCK - offset, zero);
    if (first < last)
        write_log_run(log, first, last - first, zero);
    if (end % WRITE_LOG_BLOCK)
        write_log_edge(log, last * WRITE_LOG_BLOCK, end % WRITE_LOG_BLOCK, zero);
}

/* ---- the file ---- */

static inline bool write_log_boot(char ret[WRITE_LOG_BOOT]) {
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, ret, WRITE_LOG_BOOT - 1);

    memset(ret + (got < 0 ? 0 : got), 0, WRITE_LOG_BOOT - (size_t)(got < 0 ? 0 : got));
    if (fd >= 0)
        close(fd);
    return got > 0;
}

static inline bool write_log_is_valid(const struct write_log_header *log) {
    char boot[WRITE_LOG_BOOT];

    return log->magic == WRITE_LOG_MAGIC && log->version == WRITE_LOG_VERSION &&
           log->entries == WRITE_LOG_ENTRIES && write_log_boot(boot) &&
           memcmp(boot, log->boot, sizeof(boot)) == 0;
}

/* The whole file; NULL: it is missing, or not valid. */
static inline struct write_log_header *write_log_map(const char *path) {
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    void *log = MAP_FAILED;
    struct stat facts;

    if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
        facts.st_size == (off_t)WRITE_LOG_SIZE)
        log = mmap(NULL, WRITE_LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (log != MAP_FAILED && !write_log_is_valid(log)) {
        munmap(log, WRITE_LOG_SIZE);
        log = MAP_FAILED;
    }
    return log == MAP_FAILED ? NULL : log;
}

/* Memory of the entries is not reserved yet: that is done before the log becomes active. */
static inline int write_log_initialize(int fd) {
    struct write_log_header header = { .magic = WRITE_LOG_MAGIC,
                                       .version = WRITE_LOG_VERSION,
                                       .entries = WRITE_LOG_ENTRIES };

    if (!write_log_boot(header.boot) || ftruncate(fd, (off_t)WRITE_LOG_SIZE) < 0 ||
        posix_fallocate(fd, 0, WRITE_LOG_HEADER) != 0)
        return -1;
    return write(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) ? 0 : -1;
}

/* A reader sees it complete or not at all.  The caller has the lock of the directory. */
static inline void write_log_make(const char *path) {
    char made[512];
    int fd;

    if (snprintf(made, sizeof(made), "%s" WRITE_LOG_NEW, path) >= (int)sizeof(made))
        return;
    fd = open(made, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write_log_initialize(fd) == 0)
        (void)!link(made, path);
    close(fd);
    unlink(made);
}

/* Threads and processes make logs one at a time: a second one would truncate the log that the first
 * has mapped, or unlink it as not valid.  Returns a descriptor that holds the lock until it is
 * closed, or -1: a paused process keeps it from a daemon no longer than 200 ms. */
static inline int write_log_lock(const char *directory) {
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (int tries = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
        if (tries == 200 || (errno != EWOULDBLOCK && errno != EINTR)) {
            close(fd);
            return -1;
        }
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return fd;
}

/* Made if it is missing, or replaces an invalid one. */
static inline struct write_log_header *write_log_open(const char *directory, const char *path) {
    struct write_log_header *log = write_log_map(path);
    int lock = log ? -1 : write_log_lock(directory);

    if (lock < 0)
        return log;
    log = write_log_map(path);
    if (!log && (unlink(path) == 0 || errno == ENOENT)) {
        write_log_make(path);
        log = write_log_map(path);
    }
    close(lock);
    return log;
}

/* The same of a replica. The directory is removed with the last log in it, perhaps just now. */
static inline struct write_log_header *write_log_open_in(const char *directory,
                                                         const char *replica) {
    struct write_log_header *log = NULL;
    char path[512];

    if (snprintf(path, sizeof(path), "%s/%s", directory, replica) >= (int)sizeof(path))
        return NULL;
    for (int tries = 0; tries < 3 && !log; tries++) {
        if (mkdir(directory, 0700) < 0 && errno != EEXIST)
            return NULL;
        log = write_log_open(directory, path);
    }
    return log;
}
