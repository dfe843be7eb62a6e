#include "drivers/file/remotefs.h"

#include "tests/unit/drivers/driver_test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#define SHARE_A "srv:/a"

/* In place of the C library's: all shares have the same space, whatever else runs on the
 * machine. */
int fstatvfs(int fd, struct statvfs *ret) {
    (void)fd;
    *ret = (struct statvfs){ .f_blocks = 1 << 25, .f_bavail = 1 << 24, .f_frsize = 4096 };
    return 0;
}

static void prepare(struct bench *bench, const struct driver *driver, const char *shares,
                    const char *const *options) {
    const char *all[16];
    size_t count = 0;

    bench_new(bench);
    bench_add_mounts(bench, "nfs4");
    bench_write(bench, "shares", shares, 0600);
    all[count++] = arena_format(bench->arena, "nfs_shares_config=%s/shares", bench->path);
    all[count++] = "nfs_mount_attempts=1";
    for (size_t i = 0; options && options[i]; i++)
        all[count++] = options[i];
    all[count] = NULL;
    bench_configure_shares(bench, driver, all);
}

static void open_shares(struct bench *bench, const struct driver *driver, const char *shares,
                        const char *const *options) {
    prepare(bench, driver, shares, options);
    ck_assert_msg(bench_try_open(bench) == 0, "%s", bench->err.message);
}

static void stop(struct bench *bench) {
    bench->driver->close(bench->handle);
    bench->handle = NULL;
}

static int pools(struct bench *bench, struct driver_pool **ret) {
    int count = bench->driver->get_pools(bench->handle, bench->arena, ret, &bench->err);

    for (int i = 0; i < count; i++)
        json_decref((*ret)[i].capabilities);
    return count;
}

/* The mount point of a share, found by its source. */
static const char *point_of(struct bench *bench, const char *share) {
    char *table = bench_read(bench, "table");
    const char *line;

    while ((line = strsep(&table, "\n"))) {
        const char *point = strstr(line, bench->path);

        if (point && strstr(line, arena_format(bench->arena, " %s ", share)))
            return arena_text_n(bench->arena, point, strcspn(point, " "));
    }
    return NULL;
}

START_TEST(a_share_is_mounted_where_the_compute_side_expects_it) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    const char *point;
    json_t *info, *data;

    open_shares(&bench, &nfs_driver, "127.0.0.1:/nfs/sahara -o nconnect=4,hard\n", NULL);
    point = point_of(&bench, "127.0.0.1:/nfs/sahara");
    ck_assert_str_eq(point, bench_path(&bench, "mnt/6f4d82b8a9a4ced8d7cb378b4e652b23"));
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_str_eq(volume.provider_location, "127.0.0.1:/nfs/sahara");
    ck_assert_int_eq(access(arena_format(bench.arena, "%s/" FILE_NAME, point), F_OK), 0);

    ck_assert_int_eq(
        nfs_driver.connect(bench.handle, bench.arena, &volume, NULL, &info, &bench.err), 0);
    data = json_object_get(info, "data");
    ck_assert_str_eq(json_string_value(json_object_get(info, "driver_volume_type")), "nfs");
    ck_assert_str_eq(json_string_value(json_object_get(info, "mount_point_base")),
                     bench_path(&bench, "mnt"));
    ck_assert_str_eq(json_string_value(json_object_get(data, "export")), volume.provider_location);
    ck_assert_str_eq(json_string_value(json_object_get(data, "name")), FILE_NAME);
    ck_assert_str_eq(json_string_value(json_object_get(data, "format")), "raw");
    ck_assert_str_eq(json_string_value(json_object_get(data, "options")), "-o nconnect=4,hard");
    ck_assert_uint_eq(json_object_size(data), 4);
    json_decref(info);
}
END_TEST

START_TEST(a_share_without_options_sends_none) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    json_t *info;

    open_shares(&bench, &nfs_driver, SHARE_A "\n", NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_int_eq(
        nfs_driver.connect(bench.handle, bench.arena, &volume, NULL, &info, &bench.err), 0);
    ck_assert_ptr_null(json_object_get(json_object_get(info, "data"), "options"));
    json_decref(info);
}
END_TEST

START_TEST(only_own_mounts_are_unmounted) {
    autobench struct bench bench;
    const char *point;

    open_shares(&bench, &nfs_driver, SHARE_A "\n", NULL);
    point = point_of(&bench, SHARE_A);
    stop(&bench);
    ck_assert_ptr_null(point_of(&bench, SHARE_A));
    ck_assert_ptr_nonnull(
        strstr(bench_read(&bench, "calls"), arena_format(bench.arena, "umount %s\n", point)));

    /* Busy: it stays, and that is no failure. */
    ck_assert_int_eq(bench_try_open(&bench), 0);
    bench_write(&bench, "busy", "", 0600);
    stop(&bench);
    ck_assert_ptr_nonnull(point_of(&bench, SHARE_A));

    /* Found mounted: used as it is and left. */
    unlink(bench_path(&bench, "busy"));
    unlink(bench_path(&bench, "calls"));
    ck_assert_int_eq(bench_try_open(&bench), 0);
    stop(&bench);
    ck_assert_str_eq(bench_read(&bench, "calls"), "");
    ck_assert_ptr_nonnull(point_of(&bench, SHARE_A));
}
END_TEST

START_TEST(a_mount_stays_when_so_configured) {
    autobench struct bench bench;

    open_shares(&bench, &nfs_driver, SHARE_A "\n",
                (const char *const[]){ "unmount_at_stop=false", NULL });
    stop(&bench);
    ck_assert_ptr_nonnull(point_of(&bench, SHARE_A));
}
END_TEST

START_TEST(without_any_share_nothing_starts) {
    static const struct {
        const char *shares, *reason;
    } bad[] = {
        { "# none\n", "has no share" },
        { "srv:/a\nsrv:b\n", "shares:2: the path of" },
    };

    for (size_t i = 0; i < LENGTH(bad); i++) {
        autobench struct bench bench;

        prepare(&bench, &nfs_driver, bad[i].shares, NULL);
        ck_assert_int_eq(bench_try_open(&bench), -1);
        ck_assert_msg(strstr(bench.err.message, bad[i].reason) != NULL, "%s", bench.err.message);
        ck_assert_ptr_null(bench.handle);
    }
}
END_TEST

START_TEST(options_that_cannot_work_stop_the_start) {
    static const char *const bad[][2] = {
        { "nfs_mount_point_base=mnt", "is not an absolute path" },
        { "nfs_mount_point_base=/proc/none", "making the directory" },
        { "nfs_mount_options=--bind", "is no list of mount options" },
    };

    for (size_t i = 0; i < LENGTH(bad); i++) {
        autobench struct bench bench;

        prepare(&bench, &nfs_driver, SHARE_A "\n", (const char *const[]){ bad[i][0], NULL });
        ck_assert_int_eq(bench_try_open(&bench), -1);
        ck_assert_msg(strstr(bench.err.message, bad[i][1]) != NULL, "%s", bench.err.message);
    }
}
END_TEST

START_TEST(a_base_that_is_no_directory_stops_the_start) {
    static const char *const names[] = { "dangling", "bad\xff" };

    for (size_t i = 0; i < LENGTH(names); i++) {
        autobench struct bench bench;

        prepare(&bench, &nfs_driver, SHARE_A "\n", NULL);
        ck_assert_int_eq(symlink("nowhere", bench_path(&bench, "dangling")), 0);
        ck_assert_int_eq(config_set(bench.config, BACKEND, "nfs_mount_point_base",
                                    bench_path(&bench, names[i]), &bench.err),
                         0);
        ck_assert_int_eq(bench_try_open(&bench), -1);
    }
}
END_TEST

START_TEST(a_false_success_of_mount_is_detected) {
    autobench struct bench bench;

    struct driver_pool *found;

    prepare(&bench, &nfs_driver, SHARE_A "\n", NULL);
    bench_write(&bench, "mounts-nothing", "", 0600);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(pools(&bench, &found), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "although its program said so"));
    unlink(bench_path(&bench, "table"));
    ck_assert_int_eq(pools(&bench, &found), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "reading "));
    ck_assert(!bench_has(&bench, "mnt/caebfba677ff5270f13115d65b19ab20/" FILE_NAME));
}
END_TEST

START_TEST(a_server_that_is_away_at_the_start_comes_back) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *found;

    prepare(&bench, &nfs_driver, SHARE_A "\n", NULL);
    bench_write(&bench, "refused", SHARE_A, 0600);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(pools(&bench, &found), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "mount: refused"));
    ck_assert_int_eq(bench_create(&bench, &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    unlink(bench_path(&bench, "refused"));
    ck_assert_int_eq(pools(&bench, &found), 1);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
}
END_TEST

START_TEST(one_pool_is_the_sum_of_responding_shares) {
    autobench struct bench bench;
    struct driver_pool *one, *two;

    prepare(&bench, &nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    bench_write(&bench, "refused", "srv:/b", 0600);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(pools(&bench, &one), 1);
    unlink(bench_path(&bench, "refused"));
    ck_assert_int_eq(pools(&bench, &two), 1); /* mounts it by the way */
    ck_assert_str_eq(two->name, BACKEND);
    ck_assert_double_eq(two->total_gb, 2 * one->total_gb);
    ck_assert_ptr_nonnull(point_of(&bench, "srv:/b"));
}
END_TEST

START_TEST(a_pool_per_share_for_netapp) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *found;

    open_shares(&bench, &netapp_nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    ck_assert_int_eq(pools(&bench, &found), 2);
    ck_assert_str_eq(found[0].name, "srv:/a");
    ck_assert_str_eq(found[1].name, "srv:/b");
    volume.pool = "srv:/b";
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_str_eq(volume.provider_location, "srv:/b");
    volume = A_VOLUME;
    volume.pool = "srv:/c";
    ck_assert_int_eq(bench_create(&bench, &volume), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "srv:/c is not one of backend disk"));
}
END_TEST

START_TEST(a_repeated_create_finds_the_share_of_the_first) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    const char *point;

    open_shares(&bench, &nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    point = point_of(&bench, "srv:/b");
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_str_eq(volume.provider_location, "srv:/a"); /* the same space: the first */
    ck_assert_int_eq(rename(arena_format(bench.arena, "%s/" FILE_NAME, point_of(&bench, "srv:/a")),
                            arena_format(bench.arena, "%s/" FILE_NAME, point)),
                     0);
    volume = A_VOLUME;
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_str_eq(volume.provider_location, "srv:/b");
}
END_TEST

/* A worker has made the file, and died before it could record its share; then that went away. */
START_TEST(a_repeated_create_searches_every_share) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME, again = A_VOLUME;

    prepare(&bench, &nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_str_eq(volume.provider_location, "srv:/a");
    stop(&bench);
    bench_write(&bench, "refused", "srv:/a", 0600);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    again.attempt = 2;
    ck_assert_int_eq(bench_create(&bench, &again), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE); /* so it is called again */
    ck_assert_ptr_nonnull(strstr(bench.err.message, "srv:/a is not mounted"));

    stop(&bench);
    unlink(bench_path(&bench, "refused"));
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &again), 0);
    ck_assert_str_eq(again.provider_location, "srv:/a");
    ck_assert_int_ne(
        access(arena_format(bench.arena, "%s/" FILE_NAME, point_of(&bench, "srv:/b")), F_OK), 0);
}
END_TEST

/* ---- the right mount ---- */

static int knows(const struct driver_backend *backend, const char *location, const char *name_id) {
    const struct driver_volume *volume = backend->has_volume_arg;

    if (!volume->provider_location ||
        (location && strcmp(location, volume->provider_location) != 0))
        return 0;
    return !name_id || strcmp(name_id, volume->name_id) == 0;
}

START_TEST(another_file_system_at_the_mount_point_of_a_share_is_not_used) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *found;
    const char *point, *away;

    prepare(&bench, &nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    bench.backend.has_volume = knows;
    bench.backend.has_volume_arg = &volume;
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    volume.provider_location = "srv:/a";
    point = point_of(&bench, "srv:/a");
    stop(&bench);
    away = bench_path(&bench, "away");
    ck_assert_int_eq(rename(point, away), 0);

    ck_assert_int_eq(bench_try_open(&bench), 0); /* the other share is unchanged */
    ck_assert_int_eq(nfs_driver.delete_volume(bench.handle, bench.arena, &volume, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);

    ck_assert_int_eq(rmdir(point), 0);
    ck_assert_int_eq(rename(away, point), 0);
    ck_assert_int_eq(pools(&bench, &found), 1); /* tries it again */
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);
    ck_assert_int_eq(nfs_driver.delete_volume(bench.handle, bench.arena, &volume, &bench.err), 0);
}
END_TEST

static void ignore(void *arg, const char *name_id, int64_t bytes) {
    (void)name_id, (void)bytes;
    ++*(int *)arg;
}

static void put_file(struct bench *bench, const char *share, const char *name) {
    const char *path = arena_format(bench->arena, "%s/%s", point_of(bench, share), name);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, GIB), 0);
}

/* Of a volume whose create has failed there. */
static int delete_tried(struct bench *bench, struct driver_volume volume, const char *tried) {
    volume.provider_location = NULL;
    volume.tried = tried;
    return bench->driver->delete_volume(bench->handle, bench->arena, &volume, &bench->err);
}

START_TEST(a_delete_needs_its_own_share_only) {
    autobench struct bench bench;
    struct driver_volume made = A_VOLUME, failed = A_VOLUME;
    struct driver_created created = { 0 };

    open_shares(&bench, &nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    ck_assert_int_eq(bench_create(&bench, &made), 0);
    ck_assert_str_eq(made.provider_location, "srv:/a");
    stop(&bench);
    bench_write(&bench, "refused", "srv:/b", 0600);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(nfs_driver.delete_volume(bench.handle, bench.arena, &made, &bench.err), 0);
    ck_assert_int_eq(
        access(arena_format(bench.arena, "%s/" FILE_NAME, point_of(&bench, "srv:/a")), F_OK), -1);

    /* after a failed create: on the share that it has returned, or nowhere */
    put_file(&bench, "srv:/a", FILE_NAME);
    failed.size_gb = 2;
    ck_assert_int_eq(
        nfs_driver.create_volume(bench.handle, bench.arena, &failed, &created, &bench.err), -1);
    ck_assert_str_eq(created.tried, "srv:/a");
    ck_assert_int_eq(delete_tried(&bench, failed, ""), 0);
    ck_assert_int_eq(
        access(arena_format(bench.arena, "%s/" FILE_NAME, point_of(&bench, "srv:/a")), F_OK), 0);
    ck_assert_int_eq(delete_tried(&bench, failed, "srv:/b"), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(delete_tried(&bench, failed, "srv:/a"), 0);
    ck_assert_int_eq(
        access(arena_format(bench.arena, "%s/" FILE_NAME, point_of(&bench, "srv:/a")), F_OK), -1);
    /* no share of this backend any more: it may have another name */
    ck_assert_int_eq(delete_tried(&bench, failed, "srv:/gone"), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
}
END_TEST

START_TEST(a_delete_needs_the_share_of_its_pool_only) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    prepare(&bench, &netapp_nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    bench_write(&bench, "refused", "srv:/b", 0600);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    put_file(&bench, "srv:/a", FILE_NAME);
    volume.pool = "srv:/a";
    ck_assert_int_eq(delete_tried(&bench, volume, NULL), 0);
    ck_assert_int_eq(
        access(arena_format(bench.arena, "%s/" FILE_NAME, point_of(&bench, "srv:/a")), F_OK), -1);
    volume.pool = "srv:/b";
    ck_assert_int_eq(delete_tried(&bench, volume, NULL), -1);
}
END_TEST

static void see_draft(void *arg, const struct driver_draft *draft) {
    ck_assert_str_eq(draft->name_id, "x");
    ck_assert_ptr_nonnull(strstr(draft->where, "/mnt/caebfba677ff5270f13115d65b19ab20/.volume-x."));
    ++*(int *)arg;
}

START_TEST(files_of_a_lost_share_are_not_guessed) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME, unknown = A_VOLUME;
    struct error err;
    int seen = 0;

    prepare(&bench, &nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    bench_write(&bench, "refused", "srv:/b", 0600);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);

    unknown.name_id = "unknown";
    unknown.format = "raw";
    ck_assert_int_eq(bench_size(&bench, &unknown), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_NOT_FOUND);
    unknown.provider_location = "srv:/b";
    ck_assert_int_eq(bench_size(&bench, &unknown), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(bench_extend(&bench, &unknown, 2), DRIVER_FAILED);
    unknown.provider_location = NULL;
    ck_assert_int_eq(nfs_driver.delete_volume(bench.handle, bench.arena, &unknown, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    unknown.provider_location = "srv:/gone";
    ck_assert_int_eq(nfs_driver.delete_volume(bench.handle, bench.arena, &unknown, &err), -1);
    ck_assert_int_eq(nfs_driver.list_volumes(bench.handle, bench.arena, ignore, &seen, &err), -1);
    ck_assert_int_eq(seen, 1);
    bench_write(&bench, "mnt/caebfba677ff5270f13115d65b19ab20/.volume-x.new", "", 0600);
    ck_assert_int_eq(nfs_driver.list_drafts(bench.handle, bench.arena, see_draft, &seen, &err), -1);
    ck_assert_int_eq(seen, 2);
}
END_TEST

START_TEST(no_share_with_space_is_an_error) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    open_shares(&bench, &nfs_driver, "srv:/a\nsrv:/b\n",
                (const char *const[]){ "reserved_percentage=100", NULL });
    ck_assert_int_eq(bench_create(&bench, &volume), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "no space"));
    volume.name_id = "../x";
    ck_assert_int_eq(bench_create(&bench, &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
}
END_TEST

START_TEST(without_shared_locks_attached_volumes_are_deferred) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    prepare(&bench, &nfs_driver, SHARE_A "\n", NULL);
    bench_write(&bench, "options", "rw,vers=3,nolock,local_lock=all", 0600);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    volume.attached = true;
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_DEFERRED);
    volume.attached = false;
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_DONE);
}
END_TEST

/* An operator has mounted the share anew while the service runs: a copy stands for the mount. */
static void mount_anew(struct bench *bench, const char *point, const char *options) {
    const char *script = arena_format(bench->arena, "cp -a %s %s.new && rm -r %s && mv %s.new %s",
                                      point, point, point, point, point);

    ck_assert_int_eq(BENCH_RUN("sh", "-c", script), 0);
    bench_write(
        bench, "table",
        arena_format(bench->arena, "2 1 0:40 / %s rw - nfs4 " SHARE_A " %s\n", point, options),
        0644);
}

START_TEST(locks_are_those_of_the_present_mount) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *found;
    const char *point;

    open_shares(&bench, &nfs_driver, SHARE_A "\n", NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    volume.attached = true;
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_DONE);
    point = point_of(&bench, SHARE_A);
    mount_anew(&bench, point, "rw,nolock");
    ck_assert_int_eq(pools(&bench, &found), 1); /* opens it */
    ck_assert_int_eq(bench_extend(&bench, &volume, 3), DRIVER_DEFERRED);
    mount_anew(&bench, point, "rw");
    ck_assert_int_eq(pools(&bench, &found), 1);
    ck_assert_int_eq(bench_extend(&bench, &volume, 3), DRIVER_DONE);
}
END_TEST

START_TEST(files_are_accessible_to_others_only_when_so_configured) {
    static const struct {
        const char *option;
        mode_t mode;
    } choices[] = { { "nas_secure_file_permissions=auto", 0660 },
                    { "nas_secure_file_permissions=true", 0660 },
                    { "nas_secure_file_permissions=false", 0666 } };

    for (size_t i = 0; i < LENGTH(choices); i++) {
        autobench struct bench bench;
        struct driver_volume volume = A_VOLUME;
        struct stat status;

        open_shares(&bench, &nfs_driver, SHARE_A "\n",
                    (const char *const[]){ choices[i].option, NULL });
        ck_assert_int_eq(bench_create(&bench, &volume), 0);
        ck_assert_int_eq(
            stat(arena_format(bench.arena, "%s/" FILE_NAME, point_of(&bench, SHARE_A)), &status),
            0);
        ck_assert_uint_eq(status.st_mode & 0777, choices[i].mode);
    }
}
END_TEST

/* ---- with the kernel's mounts ---- */

/* A mount namespace of our own, so that nothing is left behind; false where that is forbidden. */
static bool enter_namespace(void) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static const char bind_script[] = "#!/bin/sh\n"
                                  "for word; do share=$point; point=$word; done\n"
                                  "exec mount --bind ${0%/*}/export \"$point\"\n";

static void prepare_binds(struct bench *bench) {
    bench_new(bench);
    bench_write(bench, "bind", bind_script, 0755);
    ck_assert_int_eq(mkdir(bench_path(bench, "export"), 0700), 0);
    bench_configure(bench, &nfs_driver,
                    (const char *const[]){
                        arena_format(bench->arena, "mount_program=%s/bind", bench->path),
                        "nas_host=srv", "nas_share_path=/export", "nfs_mount_attempts=1", NULL });
}

static void make_read_only(const char *point) {
    ck_assert_int_eq(mount(point, point, NULL, MS_BIND, NULL), 0);
    ck_assert_int_eq(mount(NULL, point, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
}

START_TEST(a_read_only_share_gets_no_new_volume) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME, other = A_VOLUME;
    const char *point_a, *point_b;

    other.id = other.name_id = "22222222-2222-4222-8222-222222222222";
    prepare(&bench, &nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    if (!enter_namespace())
        return;
    ck_assert_int_eq(bench_try_open(&bench), 0);
    point_a = point_of(&bench, "srv:/a");
    point_b = point_of(&bench, "srv:/b");
    stop(&bench);

    make_read_only(point_a); /* else the first of equal shares */
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_str_eq(volume.provider_location, "srv:/b");
    stop(&bench);

    make_read_only(point_b);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &other), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "is read-only"));
    stop(&bench);
    ck_assert_int_eq(umount2(point_a, MNT_DETACH), 0);
    ck_assert_int_eq(umount2(point_b, MNT_DETACH), 0);
}
END_TEST

START_TEST(a_real_mount_is_made_used_and_undone) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    prepare_binds(&bench);
    if (!enter_namespace())
        return;
    ck_assert_msg(bench_try_open(&bench) == 0, "%s", bench.err.message);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert(bench_has(&bench, "export/" FILE_NAME));
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_DONE);
    stop(&bench);
    ck_assert(bench_has(&bench, "export/" FILE_NAME));
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_size(&bench, &volume), 2 * GIB);
    stop(&bench);
}
END_TEST

START_TEST(a_share_that_is_unmounted_meanwhile_is_mounted_again) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME, other = A_VOLUME;
    struct driver_pool *found;
    const char *point;

    other.id = other.name_id = "22222222-2222-4222-8222-222222222222";
    prepare_binds(&bench);
    if (!enter_namespace())
        return;
    ck_assert_msg(bench_try_open(&bench) == 0, "%s", bench.err.message);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    point = bench_path(&bench, "mnt/ee672159b73158b8238f7582444276de");
    ck_assert_int_eq(umount2(point, MNT_DETACH), 0);

    ck_assert_int_eq(bench_create(&bench, &other), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);
    ck_assert_int_eq(pools(&bench, &found), 1); /* mounts it */
    ck_assert_int_eq(bench_create(&bench, &other), 0);
    ck_assert(bench_has(&bench, "export/volume-22222222-2222-4222-8222-222222222222"));
    stop(&bench);
}
END_TEST

START_TEST(two_backends_may_use_one_mount) {
    autobench struct bench bench;
    void *first;

    prepare_binds(&bench);
    if (!enter_namespace())
        return;
    ck_assert_int_eq(bench_try_open(&bench), 0);
    first = bench.handle;
    ck_assert_int_eq(bench_try_open(&bench), 0);
    stop(&bench); /* found it mounted: leaves it */
    bench.handle = first;
    {
        struct driver_volume volume = A_VOLUME;

        ck_assert_int_eq(bench_create(&bench, &volume), 0);
    }
}
END_TEST

/* Mounts as the other one does, but hangs at share A until the FIFO is opened. */
static void add_hanging_mount(const struct bench *bench) {
    bench_write(bench, "mount",
                arena_format(bench->arena,
                             "#!/bin/sh\ncase \"$*\" in *" SHARE_A
                             "*) : >${0%%/*}/asked; read x <${0%%/*}/fifo;; esac\n%s",
                             mount_script),
                0755);
    ck_assert_int_eq(mkfifo(bench_path(bench, "fifo"), 0600), 0);
}

struct opening {
    pthread_t thread;
    struct bench bench; /* its directory is another's */
};

static void *open_it(void *arg) {
    struct opening *opening = arg;

    bench_try_open(&opening->bench);
    return arg;
}

static void opening_begin(struct opening *opening, const struct bench *bench) {
    opening->bench = *bench;
    ck_assert_int_eq(pthread_create(&opening->thread, NULL, open_it, opening), 0);
}

static void opening_end(struct opening *opening) {
    ck_assert_int_eq(pthread_join(opening->thread, NULL), 0);
    ck_assert_msg(opening->bench.handle != NULL, "%s", opening->bench.err.message);
}

/* Backends open side by side: those of one share mount it once, and those of another do not wait
 * for them. */
START_TEST(one_process_at_a_time_mounts_at_a_mount_point) {
    struct opening first, second;
    autobench struct bench bench;
    autobench struct bench other;
    int fifo;

    prepare(&bench, &nfs_driver, SHARE_A "\n", NULL);
    add_hanging_mount(&bench);
    opening_begin(&first, &bench);
    while (access(bench_path(&bench, "asked"), F_OK) < 0)
        sched_yield();
    opening_begin(&second, &bench);

    open_shares(&other, &nfs_driver, "srv:/b\n", NULL);
    ck_assert_ptr_nonnull(point_of(&other, "srv:/b"));
    usleep(50000);
    ck_assert_ptr_null(point_of(&bench, SHARE_A));

    fifo = open(bench_path(&bench, "fifo"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(write(fifo, "\n", 1), 1);
    opening_end(&first);
    opening_end(&second);
    close(fifo);
    ck_assert_ptr_nonnull(point_of(&bench, SHARE_A));
    ck_assert_ptr_null(strstr(strstr(bench_read(&bench, "calls"), SHARE_A) + 1, SHARE_A));
    nfs_driver.close(first.bench.handle);
    nfs_driver.close(second.bench.handle);
}
END_TEST

/* ---- snapshots and clones ---- */

static struct driver_volume volume_in(struct bench *bench, const char *pool) {
    struct driver_volume volume = A_VOLUME;

    volume.pool = pool;
    ck_assert_msg(bench_create(bench, &volume) == 0, "%s", bench->err.message);
    return volume;
}

static bool lies_on(struct bench *bench, const char *share, const char *name) {
    return access(arena_format(bench->arena, "%s/%s", point_of(bench, share), name), F_OK) == 0;
}

START_TEST(a_snapshot_is_on_the_share_of_its_volume_and_a_clone_in_its_pool) {
    const struct driver_snapshot queried = { .id = "s", .name_id = "s", .size_gb = 1 };
    struct driver_snapshot snapshot = queried;
    autobench struct bench bench;
    struct driver_volume volume, copy = A_VOLUME;
    struct driver_created created;

    open_shares(&bench, &netapp_nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    volume = volume_in(&bench, "srv:/b");
    ck_assert_int_eq(bench.driver->create_snapshot(bench.handle, bench.arena, &volume, &queried,
                                                   NULL, &created, &bench.err),
                     DRIVER_DONE);
    ck_assert_str_eq(created.provider_location, "srv:/b");
    ck_assert_str_eq(created.format, "raw");
    ck_assert(lies_on(&bench, "srv:/b", "snapshot-s") && !lies_on(&bench, "srv:/a", "snapshot-s"));
    snapshot.provider_location = created.provider_location;
    snapshot.format = created.format;

    copy.id = copy.name_id = "c";
    copy.pool = "srv:/a";
    ck_assert_msg(bench.driver->clone_snapshot(bench.handle, bench.arena, &copy, &snapshot, NULL,
                                               &created, &bench.err) == 0,
                  "%s", bench.err.message);
    ck_assert_str_eq(created.provider_location, "srv:/a");
    ck_assert(lies_on(&bench, "srv:/a", "volume-c"));
    /* The answer to the create of the snapshot was lost. */
    ck_assert_int_eq(bench.driver->delete_snapshot(bench.handle, bench.arena, &volume, &queried,
                                                   NULL, &bench.err),
                     DRIVER_DONE);
    ck_assert(!lies_on(&bench, "srv:/b", "snapshot-s"));
}
END_TEST

START_TEST(a_clone_of_shares_that_are_one_pool_is_beside_its_source) {
    autobench struct bench bench;
    struct driver_volume volume, copy = A_VOLUME;
    struct driver_created created;

    open_shares(&bench, &nfs_driver, "srv:/a\nsrv:/b\n", NULL);
    volume = volume_in(&bench, BACKEND);
    copy.id = copy.name_id = "c";
    copy.pool = BACKEND;
    ck_assert_int_eq(bench.driver->clone_volume(bench.handle, bench.arena, &copy, &volume, NULL,
                                                &created, &bench.err),
                     0);
    ck_assert_str_eq(created.provider_location, volume.provider_location);
    ck_assert(lies_on(&bench, volume.provider_location, "volume-c"));
    volume.provider_location = "srv:/gone";
    ck_assert_int_eq(bench.driver->clone_volume(bench.handle, bench.arena, &copy, &volume, NULL,
                                                &created, &bench.err),
                     -1);
}
END_TEST

/* ---- files there ---- */

static int manage(struct bench *bench, const char *name, struct driver_created *ret) {
    const struct driver_volume volume = A_VOLUME;

    return bench->driver->manage_volume(bench->handle, bench->arena, &volume, name, ret,
                                        &bench->err);
}

/* A share may be exported from below another one: each file is one share's. */
START_TEST(a_file_is_searched_in_its_share_only) {
    struct driver_created created;
    autobench struct bench bench;

    open_shares(&bench, &nfs_driver, SHARE_A "\n" SHARE_A "/b\n", NULL);
    ck_assert_int_eq(mkdir(arena_format(bench.arena, "%s/b", point_of(&bench, SHARE_A)), 0700), 0);
    put_file(&bench, SHARE_A, "b/disk");
    put_file(&bench, SHARE_A "/b", "disk");
    ck_assert_int_eq(manage(&bench, SHARE_A "/../mnt", &created), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "There is no file"));
    ck_assert_msg(manage(&bench, SHARE_A "/b/disk", &created) == 0, "%s", bench.err.message);
    ck_assert_str_eq(created.provider_location, SHARE_A "/b");
}
END_TEST

CHECK_MAIN("remotefs", a_share_is_mounted_where_the_compute_side_expects_it,
           a_share_without_options_sends_none, only_own_mounts_are_unmounted,
           a_mount_stays_when_so_configured, without_any_share_nothing_starts,
           options_that_cannot_work_stop_the_start, a_false_success_of_mount_is_detected,
           a_base_that_is_no_directory_stops_the_start,
           a_server_that_is_away_at_the_start_comes_back, one_pool_is_the_sum_of_responding_shares,
           a_pool_per_share_for_netapp, a_repeated_create_finds_the_share_of_the_first,
           a_repeated_create_searches_every_share,
           another_file_system_at_the_mount_point_of_a_share_is_not_used,
           a_delete_needs_its_own_share_only, a_delete_needs_the_share_of_its_pool_only,
           files_of_a_lost_share_are_not_guessed, no_share_with_space_is_an_error,
           locks_are_those_of_the_present_mount, without_shared_locks_attached_volumes_are_deferred,
           files_are_accessible_to_others_only_when_so_configured,
           a_read_only_share_gets_no_new_volume, a_real_mount_is_made_used_and_undone,
           two_backends_may_use_one_mount, one_process_at_a_time_mounts_at_a_mount_point,
           a_snapshot_is_on_the_share_of_its_volume_and_a_clone_in_its_pool,
           a_clone_of_shares_that_are_one_pool_is_beside_its_source,
           a_file_is_searched_in_its_share_only,
           a_share_that_is_unmounted_meanwhile_is_mounted_again)
