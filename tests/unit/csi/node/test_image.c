#include "csi/node/image.h"

#include "csi/node/backing.h"
#include "tests/unit/csi/node/node_test.h"

#include <limits.h>

#define NFS(...)                                                             \
    (const struct text_pair[]) {                                             \
        { "driver_volume_type", "nfs" }, { "format", "raw" }, __VA_ARGS__, { \
            NULL, NULL                                                       \
        }                                                                    \
    }
#define LOCAL(path)                                                                        \
    (const struct text_pair[]) {                                                           \
        { "driver_volume_type", "local" }, { "format", "raw" }, { "device_path", path }, { \
            NULL, NULL                                                                     \
        }                                                                                  \
    }

static struct node_image image;

static struct node_places places;

static int opened(bool read_only) {
    autoclose int directory = -1;

    return node_image_open(&places, arena, &image, read_only, &directory, &err);
}

static int parse(const struct text_pair *context) {
    size_t count = 0;

    while (context[count].key)
        count++;
    memset(&err, 0, sizeof(err));
    return node_image_parse(arena, context, count, &image, &err);
}

static void assert_bad(const struct text_pair *context, enum error_kind kind) {
    ck_assert_int_eq(parse(context), -1);
    ck_assert_int_eq(err.kind, kind);
}

START_TEST(a_share_is_address_path_and_name) {
    assert_ok(parse(NFS({ "export", "srv:/vol" }, { "name", "volume-1" },
                        { "options", "-o vers=4.2,nconnect=4" }, { "access_mode", "ro" },
                        { "attachment_id", "x" }, { "unknown", "is fine" })));
    ck_assert_str_eq(image.share, "srv:/vol");
    ck_assert_str_eq(image.options, "vers=4.2,nconnect=4");
    ck_assert(image.read_only);
    assert_ok(parse(NFS({ "export", "[fe80::1%eth0]:/vol" }, { "name", "volume-1" })));
    ck_assert_str_eq(image.options, "");
    ck_assert(!image.read_only);
}
END_TEST

START_TEST(names_that_are_not_plain_are_refused) {
    static const char *const shares[] = { "",        "/etc",           "srv",          "-osrv:/a",
                                          "srv:vol", "srv:/a/../../b", "srv:/a\n",     "srv:/a b",
                                          ":/vol",   "srv:/a,b",       "http://x/y/.." };
    static const char *const names[] = { "",  ".",       "..",  "a/b",  "/etc/passwd",
                                         "-", ".hidden", "a b", "a\nb", "../x" };

    for (size_t i = 0; i < LENGTH(shares) - 1; i++)
        assert_bad(NFS({ "export", shares[i] }, { "name", "v" }), ERROR_BAD_REQUEST);
    for (size_t i = 0; i < LENGTH(names); i++)
        assert_bad(NFS({ "export", "s:/v" }, { "name", names[i] }), ERROR_BAD_REQUEST);
    assert_bad(NFS({ "export", "s:/v" }), ERROR_BAD_REQUEST);
    assert_bad(NFS({ "name", "v" }), ERROR_BAD_REQUEST);
}
END_TEST

START_TEST(options_that_break_locks_are_refused) {
    static const char *const bad[] = { "nolock", "local_lock=all", "-o vers=3,nolock",
                                       "bg",     "context=x",      "suid",
                                       "dev",    "vers=4,exec" };

    for (size_t i = 0; i < LENGTH(bad); i++)
        assert_bad(NFS({ "export", "s:/v" }, { "name", "v" }, { "options", bad[i] }),
                   ERROR_PRECONDITION);
    assert_bad(NFS({ "export", "s:/v" }, { "name", "v" }, { "options", "-o vers=4 -o x" }),
               ERROR_BAD_REQUEST);
    assert_bad(NFS({ "export", "s:/v" }, { "name", "v" }, { "options", "vers=`id`" }),
               ERROR_BAD_REQUEST);
}
END_TEST

/* Nova's names of a plain file. */
START_TEST(a_plain_file_is_known_by_both_of_its_types) {
    const struct text_pair gpfs[] = { { "driver_volume_type", "gpfs" },
                                      { "format", "raw" },
                                      { "device_path", "/srv/volumes/volume-1" },
                                      { NULL, NULL } };

    assert_ok(parse(LOCAL("/srv/volumes/volume-1")));
    assert_ok(parse(gpfs));
    assert_bad((const struct text_pair[]){ { "driver_volume_type", "gpfs" },
                                           { "format", "qcow2" },
                                           { "device_path", "/srv/volumes/volume-1" },
                                           { NULL, NULL } },
               ERROR_PRECONDITION);
}
END_TEST

START_TEST(an_unsupported_image_is_reported) {
    assert_bad(NFS({ "format", "qcow2" }, { "export", "s:/v" }, { "name", "v" }),
               ERROR_PRECONDITION);
    assert_bad(NFS({ "encrypted", "true" }, { "export", "s:/v" }, { "name", "v" }),
               ERROR_PRECONDITION);
    assert_bad(NFS({ "driver_volume_type", "rbd" }), ERROR_PRECONDITION);
    assert_bad((const struct text_pair[]){ { NULL, NULL } }, ERROR_BAD_REQUEST);
    assert_bad((const struct text_pair[]){ { "driver_volume_type", "nfs" }, { NULL, NULL } },
               ERROR_BAD_REQUEST);
}
END_TEST

static int open_image(const char *path, bool read_only) {
    const char *const directories[] = { "/nowhere", path_of("images"), NULL };
    places = (struct node_places){ .share_directory = path_of("shares"),
                                   .local_directories = directories };

    assert_ok(parse(LOCAL(path)));
    return opened(read_only);
}

static void assert_not_opened(const char *path, enum error_kind kind) {
    ck_assert_int_eq(open_image(path, false), -1);
    ck_assert_int_eq(err.kind, kind);
}

START_TEST(local_images_lie_in_the_directories_that_are_named) {
    autoclose int file = -1;

    ck_assert_int_eq(shell("mkdir %1$s && : >%1$s/volume-1 && ln -s /etc/passwd %1$s/link && "
                           "mkfifo %1$s/fifo",
                           path_of("images")),
                     0);
    close(image_make("outside", MIB));
    file = open_image(path_of("images/volume-1"), false);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(fcntl(file, F_GETFL) & O_ACCMODE, O_RDWR);
    assert_not_opened(path_of("outside"), ERROR_PRECONDITION);
    assert_not_opened("/etc/passwd", ERROR_PRECONDITION);
    assert_not_opened("/dev/vda", ERROR_PRECONDITION);
    assert_not_opened(path_of("images/../outside"), ERROR_PRECONDITION);
    assert_not_opened(path_of("images/none"), ERROR_NOT_FOUND);
    assert_not_opened(path_of("images/fifo"), ERROR_PRECONDITION);
    assert_not_opened(path_of("images/link"), ERROR_BACKEND);
}
END_TEST

/* By a link, and with a slash too many: the kernel calls it by its own name. */
static struct node_places shares_of_a_directory(void) {
    static const char *const none[] = { NULL };
    const char *program = share_program();

    ck_assert_int_eq(shell("mkdir %1$s && ln -s %1$s %2$s", path_of("shares"), path_of("link")), 0);
    close(image_make("export/volume-1", MIB));
    return (struct node_places){ .share_directory = path_of("link/"),
                                 .local_directories = none,
                                 .mount_program = program };
}

START_TEST(a_share_is_mounted_once_and_for_as_long_as_it_is_used) {
    places = shares_of_a_directory();
    int first, second;
    char path[PATH_MAX], link[64];

    assert_ok(
        parse(NFS({ "export", "srv:/vol" }, { "name", "volume-1" }, { "options", "vers=4" })));
    first = opened(false);
    ck_assert_msg(first >= 0, "%s", err.message);
    second = opened(true);
    ck_assert_int_ge(second, 0);
    ck_assert_int_eq(count_mounts(), 1);
    ck_assert_int_eq(shell("[ $(wc -l <%s) = 1 ]", path_of("calls")), 0);
    ck_assert_int_eq(
        shell("grep -q -- '-t nfs -o nosuid,nodev,noexec,vers=4 srv:/vol ' %s", path_of("calls")),
        0);

    snprintf(link, sizeof(link), "/proc/self/fd/%d", first);
    ck_assert_int_gt(readlink(link, memset(path, 0, sizeof(path)), sizeof(path) - 1), 0);
    close(second);
    node_image_release(&places, arena, path);
    ck_assert_int_eq(count_mounts(), 1);
    close(first);
    node_image_release(&places, arena, path);
    ck_assert_int_eq(count_mounts(), 0);
    node_image_release(&places, arena, path);
    node_image_release(&places, arena, "/etc/passwd");
    node_image_release(&places, arena, "");

    /* Where there is no image the share is mounted in vain. */
    assert_ok(parse(NFS({ "export", "srv:/vol" }, { "name", "volume-2" })));
    ck_assert_int_eq(opened(false), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(count_mounts(), 1);
    node_image_release_share(&places, arena, &image);
    ck_assert_int_eq(count_mounts(), 0);
    ck_assert_int_eq(rmdir(path_of("shares")), 0);
}
END_TEST

START_TEST(a_share_that_cannot_be_mounted_is_unavailable) {
    places = shares_of_a_directory();

    ck_assert_int_eq(shell("rm -r %s", path_of("export")), 0);
    assert_ok(parse(NFS({ "export", "srv:/vol" }, { "name", "volume-1" })));
    ck_assert_int_eq(opened(false), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "no such share"));
}
END_TEST

/* As the container that made the device saw it, which has gone with its mounts. */
static void attach_as_one_that_has_gone(const char *name, struct loop *ret) {
    const char *path = arena_format(arena, "%s/window/%s", base, name);
    autoclose int file = -1;

    ck_assert_int_eq(shell("mkdir -p %1$s/window && mount --bind %1$s/images %1$s/window", base),
                     0);
    file = open(path, O_RDWR | O_CLOEXEC);
    assert_ok(loop_attach(file, "scoria:00000000:volume-1", &(struct loop_how){ 0 }, ret, &err));
    close(file);
    file = -1;
    ck_assert_int_eq(shell("umount --lazy %s/window", base), 0);
}

static bool is_found(const struct loop *loop, const char *local, const char *shares) {
    const struct node_places at = { .local_directories = (const char *const[]){ local, NULL },
                                    .share_directory = shares };
    autoclose int file = node_backing_open(&at, loop, &err);

    return file >= 0;
}

START_TEST(an_image_attached_in_another_namespace_is_found_again) {
    autoloop struct loop loop = LOOP_NONE;

    ck_assert_int_eq(shell("mkdir -p %1$s/images/deep %1$s/others/deep", base), 0);
    close(image_make("images/deep/image", 8 * MIB));
    close(image_make("others/deep/image", 8 * MIB));
    attach_as_one_that_has_gone("deep/image", &loop);
    ck_assert(is_found(&loop, path_of("images"), NULL));
    ck_assert(is_found(&loop, path_of("images/deep"), NULL));
    ck_assert(is_found(&loop, path_of("others"), base)); /* as if that were a share */
    ck_assert(!is_found(&loop, path_of("others"), NULL));
    ck_assert(!is_found(&loop, path_of("nowhere"), path_of("nowhere")));
}
END_TEST

NODE_MAIN("node_image", an_image_attached_in_another_namespace_is_found_again,
          a_share_is_address_path_and_name, names_that_are_not_plain_are_refused,
          options_that_break_locks_are_refused, a_plain_file_is_known_by_both_of_its_types,
          an_unsupported_image_is_reported, local_images_lie_in_the_directories_that_are_named,
          a_share_is_mounted_once_and_for_as_long_as_it_is_used,
          a_share_that_cannot_be_mounted_is_unavailable)
