/*
 * A file system over a directory whose reads, writes or flushes fail or wait while a control file
 * requests it: fault_disk DIRECTORY CONTROL MOUNTPOINT [OPTION OF FUSE]...
 *
 * The file has a line `KIND FAULT`: each `read`, `write` or `fsync` of all files `fails` with an
 * I/O error, or `hangs` until the line is another.  With `write is-full` no write has space, with
 * `write is-over-quota` its quota allows none, with `write is-read-only` no change is possible at
 * all.  `write fails-low` and `write fails-high` are of bytes below HALF alone, or from there on.
 * Everything else is done in the directory.
 */
#define FUSE_USE_VERSION 31

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PAUSE_US 20000
#define HALF     (32 << 20)

static int directory; /* a descriptor: paths below it are as FUSE has them, but for their `/` */
static const char *control;

static const char *below(const char *path) {
    return path[1] ? path + 1 : ".";
}

static int result_of(ssize_t result) {
    return result < 0 ? -errno : (int)result;
}

static int has_fault(const char *kind, const char *fault) {
    char line[64] = "", wanted[64];
    FILE *file = fopen(control, "re");

    if (!file)
        return 0;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    snprintf(wanted, sizeof(wanted), "%s %s", kind, fault);
    return strcmp(line, wanted) == 0;
}

/* Zero: it is done. */
static int fault_of(const char *kind) {
    while (has_fault(kind, "hangs"))
        usleep(PAUSE_US);
    return has_fault(kind, "fails")           ? -EIO
           : has_fault(kind, "is-full")       ? -ENOSPC
           : has_fault(kind, "is-over-quota") ? -EDQUOT
           : has_fault(kind, "is-read-only")  ? -EROFS
                                              : 0;
}

/* Of a change of a directory or of a file's attributes. */
static bool is_read_only(void) {
    return has_fault("write", "is-read-only");
}

/* A removed file is gone, also while it is open. */
static void *do_init(struct fuse_conn_info *connection, struct fuse_config *settings) {
    (void)connection;
    settings->hard_remove = 1;
    return NULL;
}

static int do_getattr(const char *path, struct stat *facts, struct fuse_file_info *info) {
    return result_of(info ? fstat((int)info->fh, facts)
                          : fstatat(directory, below(path), facts, AT_SYMLINK_NOFOLLOW));
}

static int do_mkdir(const char *path, mode_t mode) {
    return is_read_only() ? -EROFS : result_of(mkdirat(directory, below(path), mode));
}

static int do_unlink(const char *path) {
    return is_read_only() ? -EROFS : result_of(unlinkat(directory, below(path), 0));
}

static int do_rmdir(const char *path) {
    return is_read_only() ? -EROFS : result_of(unlinkat(directory, below(path), AT_REMOVEDIR));
}

static int do_rename(const char *from, const char *to, unsigned flags) {
    return is_read_only()
               ? -EROFS
               : result_of(renameat2(directory, below(from), directory, below(to), flags));
}

static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *info) {
    if (is_read_only())
        return -EROFS;
    return result_of(info ? fchmod((int)info->fh, mode)
                          : fchmodat(directory, below(path), mode, 0));
}

static int do_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *info) {
    (void)info;
    return is_read_only()
               ? -EROFS
               : result_of(fchownat(directory, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}

static int do_utimens(const char *path, const struct timespec times[2],
                      struct fuse_file_info *info) {
    (void)info;
    return is_read_only()
               ? -EROFS
               : result_of(utimensat(directory, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int open_as(const char *path, mode_t mode, int flags, struct fuse_file_info *info) {
    int fd = -1;

    if ((flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY && is_read_only())
        return -EROFS;
    fd = openat(directory, below(path), (flags & ~O_DIRECT) | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    info->fh = (uint64_t)fd;
    info->direct_io = 1; /* nothing is answered from memory */
    return 0;
}

static int do_open(const char *path, struct fuse_file_info *info) {
    return open_as(path, 0, info->flags, info);
}

static int do_create(const char *path, mode_t mode, struct fuse_file_info *info) {
    return open_as(path, mode, info->flags | O_CREAT, info);
}

static int do_release(const char *path, struct fuse_file_info *info) {
    (void)path;
    return result_of(close((int)info->fh));
}

static int do_truncate(const char *path, off_t size, struct fuse_file_info *info) {
    struct fuse_file_info own = { 0 };
    int result = fault_of("write");

    if (result < 0)
        return result;
    if (info)
        return result_of(ftruncate((int)info->fh, size));
    result = open_as(path, 0, O_WRONLY, &own);
    if (result < 0)
        return result;
    result = result_of(ftruncate((int)own.fh, size));
    close((int)own.fh);
    return result;
}

static int do_read(const char *path, char *data, size_t size, off_t at,
                   struct fuse_file_info *info) {
    int fault = fault_of("read");

    (void)path;
    return fault < 0 ? fault : result_of(pread((int)info->fh, data, size, at));
}

static int do_write(const char *path, const char *data, size_t size, off_t at,
                    struct fuse_file_info *info) {
    int fault =
        has_fault("write", at < HALF ? "fails-low" : "fails-high") ? -EIO : fault_of("write");

    (void)path;
    return fault < 0 ? fault : result_of(pwrite((int)info->fh, data, size, at));
}

static int do_fallocate(const char *path, int mode, off_t at, off_t size,
                        struct fuse_file_info *info) {
    int fault = fault_of("write");

    (void)path;
    return fault < 0 ? fault : result_of(fallocate((int)info->fh, mode, at, size));
}

static int do_fsync(const char *path, int data_alone, struct fuse_file_info *info) {
    int fault = fault_of("fsync");

    (void)path;
    if (fault < 0)
        return fault;
    return result_of(data_alone ? fdatasync((int)info->fh) : fsync((int)info->fh));
}

static int do_fsyncdir(const char *path, int data_alone, struct fuse_file_info *info) {
    (void)path, (void)data_alone, (void)info;
    return fault_of("fsync");
}

static off_t do_lseek(const char *path, off_t at, int whence, struct fuse_file_info *info) {
    off_t found = lseek((int)info->fh, at, whence);

    (void)path;
    return found < 0 ? -errno : found;
}

static int do_statfs(const char *path, struct statvfs *facts) {
    int result = result_of(fstatvfs(directory, facts));

    (void)path;
    if (result == 0 && has_fault("write", "is-full"))
        facts->f_bfree = facts->f_bavail = 0;
    return result;
}

static int do_readdir(const char *path, void *list, fuse_fill_dir_t fill, off_t at,
                      struct fuse_file_info *info, enum fuse_readdir_flags flags) {
    int fd = openat(directory, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *open_directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    (void)at, (void)info, (void)flags;
    if (!open_directory)
        return -errno;
    while ((entry = readdir(open_directory)))
        fill(list, entry->d_name, NULL, 0, 0);
    closedir(open_directory);
    return 0;
}

static const struct fuse_operations operations = {
    .init = do_init,
    .getattr = do_getattr,
    .mkdir = do_mkdir,
    .unlink = do_unlink,
    .rmdir = do_rmdir,
    .rename = do_rename,
    .chmod = do_chmod,
    .chown = do_chown,
    .utimens = do_utimens,
    .open = do_open,
    .create = do_create,
    .release = do_release,
    .truncate = do_truncate,
    .read = do_read,
    .write = do_write,
    .fallocate = do_fallocate,
    .fsync = do_fsync,
    .fsyncdir = do_fsyncdir,
    .lseek = do_lseek,
    .statfs = do_statfs,
    .readdir = do_readdir,
};

int main(int count, char **words) {
    if (count < 4)
        return 2;
    directory = open(words[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    control = words[2];
    if (directory < 0)
        return 1;
    umask(0);
    words[2] = words[0];
    return fuse_main(count - 2, words + 2, &operations, NULL);
}
