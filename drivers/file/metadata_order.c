#include "drivers/file/metadata_order.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The magic is that of ext2, ext3 and ext4, and each may be mounted without a journal.  The kernel
 * shows the journal's thread by the name of the device: "<none>" where there is none. */
enum ext4_journal { JOURNAL_UNKNOWN, JOURNAL_NONE, JOURNAL_RUNS };

static enum ext4_journal ext4_journal(int fd) {
    char device[64], target[PATH_MAX], path[PATH_MAX + 64], text[24] = "";
    const char *name;
    struct stat status;
    autoclose int file = -1;
    ssize_t size;

    if (fstat(fd, &status) < 0)
        return JOURNAL_UNKNOWN;
    snprintf(device, sizeof(device), "/sys/dev/block/%u:%u", major(status.st_dev),
             minor(status.st_dev));
    size = readlink(device, target, sizeof(target) - 1);
    if (size <= 0)
        return JOURNAL_UNKNOWN;
    target[size] = '\0';
    name = strrchr(target, '/');
    snprintf(path, sizeof(path), "/sys/fs/ext4/%s/journal_task", name ? name + 1 : target);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
        return JOURNAL_UNKNOWN;
    if (text[0] >= '0' && text[0] <= '9')
        return JOURNAL_RUNS;
    return strncmp(text, "<none>", strlen("<none>")) == 0 ? JOURNAL_NONE : JOURNAL_UNKNOWN;
}

/*
 * Let a file be created, get its length and its name, in this order, and the directory be flushed.
 *
 * ext4   Each change is part of the journal's running transaction of its moment.  Transactions are
 *        committed in their order and each as a whole, a fast commit with all changes before it,
 *        and a replay ends at the first that is not whole.  So on the disk the name implies the
 *        length.  The flush of a directory commits the transaction of the name and with it all
 *        earlier ones.  A transaction that cannot be written stops the journal, which fails the
 *        flushes that wait for it and later changes: the error of the length is that of the name.
 * XFS    The same: changes enter the log's checkpoints in their order, and a flush of a directory
 *        forces the log up to its last change.  A log that cannot be written shuts the file system
 *        down.
 *
 * None of this holds of bytes, which are written beside the journal, and whose errors are kept at
 * the file alone: content has a flush of its own.  Without a journal, blocks are written in any
 * order.  A directory's flush of btrfs need not contain the lengths of its files, and FUSE and
 * network file systems are as their servers are.  (NFS: a flush of a file without content is no
 * request.)
 *
 * And let it get its first name when it had none:
 *
 * XFS                The name and the number of names, which keeps the file, are one change, behind
 *                    that of the length.
 * ext4, no journal   A flush of the directory writes the name alone, and the repair removes the
 *                    name of a file with the number zero: a flush of the file in front of its name
 *                    proves nothing, one behind it does.  Length and number are in one sector.
 * ext4 with journal  Not here: kernels before 6.5 may flush a directory by a fast commit, and its
 *                    replay passes over the first name of a file that was in no commit before.
 */
struct metadata_order metadata_order_of(int fd) {
    enum ext4_journal journal = JOURNAL_UNKNOWN;
    struct statfs system;
    bool xfs;

    if (fstatfs(fd, &system) < 0)
        return (struct metadata_order){ .kept = false };
    xfs = system.f_type == XFS_SUPER_MAGIC;
    if (system.f_type == EXT4_SUPER_MAGIC)
        journal = ext4_journal(fd);
    return (struct metadata_order){ .kept = xfs || journal == JOURNAL_RUNS,
                                    .unnamed = xfs || journal == JOURNAL_NONE };
}
