#include "csi/node/filesystem.h"

#include "common/cleanup.h"
#include "common/process.h"

#include <blkid/blkid.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <unistd.h>

#define MAKE_MS   (INT64_C(10) * 60 * 1000)
#define CHECK_MS  (INT64_C(60) * 60 * 1000)
#define TRIM_STEP (UINT64_C(64) << 20)
#define BLANKED   (4 << 20) /* bytes */
#define SHOWN     300       /* bytes of the output of a program that fails */

/* Bits of e2fsck's exit status; the higher ones report failures. */
enum { CHECK_REPAIRED = 1, CHECK_RESTART = 2 };

#define SECTOR 512
#define START  2048 /* bytes: up to the end of an ext4's superblock */

/* The superblock of an XFS fills the first sector: offsets of its fields. */
enum { XFS_VERSION = 100, XFS_SECTOR = 102, XFS_IN_PROGRESS = 126, XFS_SUM = 224 };
#define XFS_SECTOR_MOST 4096
#define XFS_WITH_SUM    5 /* version */

/* The fields with the size of an ext4: offsets in the superblock, which starts at 1024. */
enum {
    EXT_BEGIN = 1024,
    EXT_BLOCKS = 4,
    EXT_BLOCK_BITS = 24,
    EXT_FEATURES = 96,
    EXT_BLOCKS_HIGH = 336
};
#define EXT_HAS_64_BITS 0x80U
#define EXT_SLACK \
    (UINT64_C(16) << 20) /* mke2fs may leave so much unused at the end, when it is too small for a
                          * block group */

static const char *const types[] = { "ext4", "xfs" };

const char *filesystem_known(const char *type) {
    for (size_t i = 0; i < LENGTH(types); i++)
        if (!*type || strcmp(type, types[i]) == 0)
            return types[i];
    return NULL;
}

/* ---- detection ---- */

static void cleanup_probe(blkid_probe *probe) {
    blkid_free_probe(*probe);
}

int filesystem_probe(const char *device, char ret_type[FILESYSTEM_TYPE_SIZE], struct error *err) {
    __attribute__((cleanup(cleanup_probe))) blkid_probe probe = blkid_new_probe();
    autoclose int fd = open(device, O_RDONLY | O_CLOEXEC);
    bool empty;
    int result;
    char start[START];

    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", device);
    if (!probe || blkid_probe_set_device(probe, fd, 0, 0) < 0 ||
        blkid_probe_enable_partitions(probe, 1) < 0)
        return error_set(err, ERROR_BACKEND, "%s cannot be probed.", device);
    result = blkid_do_safeprobe(probe);
    if (result == -2)
        return error_set(err, ERROR_PRECONDITION,
                         "The volume has signatures of more than one file system.");
    if (result < 0)
        return error_set(err, ERROR_BACKEND, "%s cannot be read.", device);
    if (result == 0) {
        /* A partition table and whole-disk signatures have "PTTYPE"; file systems and all others
         * "TYPE". */
        const char *type = "something";

        if (blkid_probe_lookup_value(probe, "TYPE", &type, NULL) < 0)
            blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL);
        snprintf(ret_type, FILESYSTEM_TYPE_SIZE, "%s", type);
        return 0;
    }
    /* Content at the start is data, even when libblkid does not know it: of a database, encrypted,
     * or an ext4 with a damaged superblock, whose first sector is zeros.  An unfinished mkfs.ext4
     * has not written its superblock. */
    if (pread(fd, start, sizeof(start), 0) != sizeof(start))
        return error_errno(err, ERROR_BACKEND, "reading the volume");
    empty = start[0] == 0 && memcmp(start, start + 1, sizeof(start) - 1) == 0;
    snprintf(ret_type, FILESYSTEM_TYPE_SIZE, "%s", empty ? "" : "data of an unknown kind");
    return 0;
}

const char *filesystem_choose(const char *device, struct error *err) {
    char found[FILESYSTEM_TYPE_SIZE];
    const char *known;

    if (filesystem_probe(device, found, err) < 0)
        return NULL;
    known = filesystem_known(found);
    return known ? known : filesystem_known("");
}

const char *filesystem_mounted(int directory) {
    struct statfs status;

    if (fstatfs(directory, &status) < 0)
        return NULL;
    return status.f_type == EXT4_SUPER_MAGIC  ? "ext4"
           : status.f_type == XFS_SUPER_MAGIC ? "xfs"
                                              : NULL;
}

bool filesystem_has_errors(unsigned loop_number) {
    char path[64], text[24] = "";
    autoclose int file = -1;

    snprintf(path, sizeof(path), "/sys/fs/ext4/loop%u/errors_count", loop_number);
    file = open(path, O_RDONLY | O_CLOEXEC);
    return file >= 0 && read(file, text, sizeof(text) - 1) > 0 && strtoull(text, NULL, 10) > 0;
}

/* ---- programs ---- */

static int run(struct arena *arena, const char *const *arguments, int64_t timeout_ms,
               struct process_result *ret, struct error *err) {
    /* e2fsck prints a line for each repair: it must not be killed for that. */
    const struct process_limits limits = { .timeout_ms = timeout_ms, .keeps_end = true };

    return process_run(arena, arguments, &limits, ret, err);
}

/* Visible to users, unlike errors of a backend. */
static int no_space(const char *program, struct error *err) {
    return error_set(err, ERROR_OVER_QUOTA,
                     "No space left on the storage of the volume's image: %s failed.", program);
}

static int program_failed(const char *program, const struct process_result *result,
                          enum error_kind kind, struct error *err) {
    const char *text = *result->errors ? result->errors : result->output;
    size_t length = strlen(text);

    if (strstr(text, "No space left"))
        return no_space(program, err);
    /* the reason is at the end of the output */
    return error_set(err, kind, "%s ended with status %d: %s", program, result->exit_status,
                     length > SHOWN ? text + length - SHOWN : text);
}

/* Of a loop device, /dev/loopN. */
static bool takes_discards(const char *device) {
    char path[64], text[24] = "0";
    autoclose int file = -1;

    snprintf(path, sizeof(path), "/sys/block/%.20s/queue/discard_max_bytes",
             strrchr(device, '/') + 1);
    file = open(path, O_RDONLY | O_CLOEXEC);
    return file < 0 || read(file, text, sizeof(text) - 1) <= 0 || strtoull(text, NULL, 10) > 0;
}

static int check(struct arena *arena, const char *device, bool all, struct error *err) {
    const char *const arguments[] = { "e2fsck", "-p", device, all ? "-f" : NULL, NULL };
    struct process_result result;

    if (run(arena, arguments, CHECK_MS, &result, err) < 0)
        return -1;
    if (result.exit_status & ~(CHECK_REPAIRED | CHECK_RESTART))
        return program_failed("e2fsck", &result, ERROR_BACKEND, err);
    return 0;
}

static int resize(struct arena *arena, const char *device, struct process_result *ret,
                  struct error *err) {
    const char *const arguments[] = { "resize2fs", device, NULL };

    return run(arena, arguments, CHECK_MS, ret, err);
}

static uint32_t number_at(const unsigned char *bytes, unsigned place) {
    uint32_t value;

    memcpy(&value, bytes + place, sizeof(value));
    return le32toh(value);
}

/* Would an ext4 there gain space for files from the whole device? */
static int is_smaller(const char *device, bool *ret, struct error *err) {
    autoclose int fd = open(device, O_RDONLY | O_CLOEXEC);
    unsigned char super[EXT_BLOCKS_HIGH + sizeof(uint32_t)];
    uint64_t blocks, all;
    unsigned bits;

    if (fd < 0 || ioctl(fd, BLKGETSIZE64, &all) < 0 ||
        pread(fd, super, sizeof(super), EXT_BEGIN) != sizeof(super))
        return error_errno(err, ERROR_BACKEND, "reading %s", device);
    blocks = number_at(super, EXT_BLOCKS);
    if (number_at(super, EXT_FEATURES) & EXT_HAS_64_BITS)
        blocks |= (uint64_t)number_at(super, EXT_BLOCKS_HIGH) << 32;
    bits = 10 + (number_at(super, EXT_BLOCK_BITS) & 7);
    *ret = blocks + (EXT_SLACK >> bits) <= all >> bits;
    return 0;
}

/* resize2fs requires a full check before, which takes long with many files. */
static int grow_unmounted(struct arena *arena, const char *device, struct error *err) {
    struct process_result result;
    bool smaller = false;

    if (is_smaller(device, &smaller, err) < 0)
        return -1;
    if (!smaller)
        return 0;
    if (check(arena, device, true, err) < 0 || resize(arena, device, &result, err) < 0)
        return -1;
    return result.exit_status == 0 ? 0 : program_failed("resize2fs", &result, ERROR_BACKEND, err);
}

/* Mounted anywhere, in any namespace: the kernel refuses exclusive access. */
static bool is_mounted(const char *device) {
    autoclose int fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);

    return fd < 0 && errno == EBUSY;
}

static unsigned big_endian_at(const unsigned char *bytes, unsigned place) {
    return (unsigned)bytes[place] << 8 | bytes[place + 1];
}

/* A mark with a wrong checksum, a CRC-32C, is not one of mkfs. */
static bool is_unfinished_xfs(const unsigned char start[XFS_SECTOR_MOST]) {
    unsigned size = big_endian_at(start, XFS_SECTOR);
    uint32_t sum = ~UINT32_C(0);

    if (memcmp(start, "XFSB", 4) != 0 || start[XFS_IN_PROGRESS] != 1 || size > XFS_SECTOR_MOST ||
        (big_endian_at(start, XFS_VERSION) & 0xf) != XFS_WITH_SUM)
        return false;
    for (unsigned i = 0; i < size; i++) {
        sum ^= i - XFS_SUM < sizeof(sum) ? 0 : start[i];
        for (unsigned bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    return ~sum == number_at(start, XFS_SUM);
}

/*
 * An interrupted mkfs is marked in the first sector, and such a file system cannot be mounted: it
 * contains no data.  With zeros at its start, the mark last, the device is blank again.
 */
static int clear_unfinished(const char *device, char found[FILESYSTEM_TYPE_SIZE],
                            struct error *err) {
    autoclose int fd = open(device, O_RDWR | O_EXCL | O_CLOEXEC);
    unsigned char start[XFS_SECTOR_MOST];

    if (fd < 0)
        return errno == EBUSY ? 0 : error_errno(err, ERROR_BACKEND, "opening %s", device);
    if (pread(fd, start, sizeof(start), 0) != sizeof(start))
        return error_errno(err, ERROR_BACKEND, "reading %s", device);
    if (!is_unfinished_xfs(start))
        return 0;
    memset(start, 0, sizeof(start));
    if (pwrite(fd, start, START - SECTOR, SECTOR) != START - SECTOR || fsync(fd) < 0 ||
        pwrite(fd, start, SECTOR, 0) != SECTOR || fsync(fd) < 0)
        return error_errno(err, ERROR_BACKEND, "clearing %s", device);
    *found = '\0';
    return 0;
}

/*
 * After a failed mkfs: the device is blank again, so that the next attempt repeats it.  The writes
 * to it report lack of space, which is an input/output error to mkfs.ext4.
 */
static int make_failed(const char *device, const char *program, const struct process_result *result,
                       struct error *err) {
    static const _Alignas(4096) char zeros[64 << 10];
    autoclose int fd = open(device, O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC);
    ssize_t written = fd < 0 ? -1 : 1;

    errno = 0;
    for (off_t at = 0; written > 0 && at < BLANKED; at += written)
        written = pwrite(fd, zeros, sizeof(zeros), at);
    return errno == ENOSPC || errno == EDQUOT ? no_space(program, err)
                                              : program_failed(program, result, ERROR_BACKEND, err);
}

int filesystem_prepare(struct arena *arena, const char *device, const char *type, bool read_only,
                       struct error *err) {
    char found[FILESYSTEM_TYPE_SIZE];

    if (filesystem_probe(device, found, err) < 0)
        return -1;
    if (!read_only && strcmp(found, "xfs") == 0 && clear_unfinished(device, found, err) < 0)
        return -1;
    if (*found && strcmp(found, type) != 0)
        return error_set(err, ERROR_PRECONDITION, "The volume holds %s, not %s.", found, type);
    if (!*found && read_only)
        return error_set(err, ERROR_PRECONDITION, "The volume is blank, and not writable here.");
    if (!*found) {
        /* Nothing is discarded: the device is blank. The tables that ext4 would zero later, with
         * discards, are zeroed now where all blocks have to stay allocated. */
        const char *extended = takes_discards(device)
                                   ? "nodiscard"
                                   : "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        const char *const ext4[] = { "mkfs.ext4", "-q", "-m", "0", "-E", extended, device, NULL };
        const char *const xfs[] = { "mkfs.xfs", "-q", "-K", device, NULL };
        const char *const *arguments = strcmp(type, "xfs") == 0 ? xfs : ext4;
        struct process_result result;

        if (run(arena, arguments, MAKE_MS, &result, err) < 0)
            return -1;
        return result.exit_status == 0 ? 0 : make_failed(device, arguments[0], &result, err);
    }
    if (read_only || strcmp(type, "ext4") != 0 || is_mounted(device))
        return 0;
    return check(arena, device, false, err) < 0 ? -1 : grow_unmounted(arena, device, err);
}

int filesystem_grow(struct arena *arena, const char *device, const char *type,
                    const char *mount_point, struct error *err) {
    const char *const arguments[] = { "xfs_growfs", "-d", mount_point, NULL };
    struct process_result result;

    if (strcmp(type, "xfs") != 0) {
        if (resize(arena, device, &result, err) < 0)
            return -1;
        if (result.exit_status == 0)
            return 0;
        if (strstr(result.errors, "ermission denied") || strstr(result.errors, "not support"))
            return error_set(
                err, ERROR_PRECONDITION,
                "This kernel cannot grow a mounted ext4; it grows when the volume is staged again.");
        return program_failed("resize2fs", &result, ERROR_BACKEND, err);
    }
    if (run(arena, arguments, MAKE_MS, &result, err) < 0)
        return -1;
    return result.exit_status == 0 ? 0 : program_failed("xfs_growfs", &result, ERROR_BACKEND, err);
}

/* ---- trim ---- */

static int trim_step(int directory, struct fstrim_range *range, struct error *err) {
    int result;

    do
        result = ioctl(directory, FITRIM, range);
    while (result < 0 && errno == EINTR);
    if (result == 0)
        return 0;
    if (errno == EINVAL && range->start > 0) /* beyond the end */
        return 1;
    return error_errno(
        err, errno == ENOTTY || errno == EOPNOTSUPP ? ERROR_BAD_METHOD : ERROR_BACKEND, "trimming");
}

/* Blocks of deleted files are free once the journal is written. */
int filesystem_flush_deletions(int directory, struct error *err) {
    struct eof_blocks {
        uint32_t version, flags, user, group, project, unused;
        uint64_t least_size, reserved[12];
    } all = { .version = 1, .flags = 1 /* synchronous */ };

    /* XFS frees deleted files in the background, and preallocates at the ends of files: both are
     * completed now. The struct is the kernel's (xfs_fs_eofblocks). */
    if (ioctl(directory, _IOR('X', 58, struct eof_blocks), &all) < 0)
        errno = 0; /* another file system, or a read-only one: ignored */
    return syncfs(directory) < 0 ? error_errno(err, ERROR_BACKEND, "flushing the file system") : 0;
}

int filesystem_trim(int directory, int64_t bytes, bool (*may_continue)(void *arg), void *arg,
                    struct error *err) {
    int result = 0;

    if (filesystem_flush_deletions(directory, err) < 0)
        return -1;
    for (uint64_t start = 0; result == 0 && start < (uint64_t)bytes; start += TRIM_STEP) {
        struct fstrim_range range = { .start = start, .len = TRIM_STEP };

        if (!may_continue(arg))
            return 0;
        result = trim_step(directory, &range, err);
    }
    if (result >= 0 && syncfs(directory) < 0)
        return error_errno(err, ERROR_BACKEND, "flushing the file system");
    return result < 0 ? -1 : 1;
}
