#include "csi/node/kubelet_path.h"

#include "tests/unit/csi/node/node_test.h"

static int open_path(const char *path) {
    autopath struct kubelet_path opened = PATH_NONE;

    memset(&err, 0, sizeof(err));
    return kubelet_path_open(base, path, &opened, &err);
}

START_TEST(a_path_is_plain_and_below_the_directory) {
    static const char *const bad[] = { "", "relative/path", "/etc/passwd", "/", "/tmp/../etc" };
    const char *const wrong[] = {
        base,
        path_of(""),
        path_of("a//b"),
        path_of("./a"),
        path_of("../"),
        path_of("a/../b"),
        path_of("a/."),
        path_of("a/.."),
        path_of("a/"),
        arena_format(arena, "%sx/a", base),
        arena_format(arena, "/%s/a", base),
    };
    char *longest = arena_alloc(arena, PATH_MAX + 10);

    for (size_t i = 0; i < LENGTH(bad); i++) {
        ck_assert_int_eq(open_path(bad[i]), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        ck_assert_msg(open_path(wrong[i]) == -1, "%s", wrong[i]);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
    snprintf(longest, PATH_MAX + 10, "%s/", base);
    memset(longest + strlen(longest), 'a', PATH_MAX + 9 - strlen(longest));
    ck_assert_int_eq(open_path(longest), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);

    ck_assert_int_eq(open_path(path_of("a")), 0);
    ck_assert_int_eq(open_path(path_of("a/b")), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
}
END_TEST

START_TEST(a_deep_path_is_fine) {
    autopath struct kubelet_path path = PATH_NONE;
    char deep[PATH_MAX];

    snprintf(deep, sizeof(deep), "%s", base);
    while (strlen(deep) < 1000) {
        strcat(deep, "/a-directory-of-some-length");
        ck_assert_int_eq(mkdir(deep, 0700), 0);
    }
    assert_ok(kubelet_path_open(base, deep, &path, &err));
}
END_TEST

START_TEST(no_link_leads_anywhere) {
    autopath struct kubelet_path path = PATH_NONE;
    struct kubelet_place place;

    ck_assert_int_eq(symlink("/etc", path_of("outside")), 0);
    ck_assert_int_eq(symlink("real", path_of("inside")), 0);
    ck_assert_int_eq(mkdir(path_of("real"), 0700), 0);
    ck_assert_int_eq(open_path(path_of("outside/passwd")), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(open_path(path_of("inside/a")), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);

    /* As the last name it is a link, and nothing that anything is mounted on or made of. */
    assert_ok(kubelet_path_open(base, path_of("outside"), &path, &err));
    assert_ok(kubelet_path_stat(&path, &place, &err));
    ck_assert(S_ISLNK(place.mode) && !place.is_mount);
    ck_assert_int_eq(kubelet_path_make(&path, true, &err), -1);
    ck_assert_int_eq(kubelet_path_make(&path, false, &err), -1);
    ck_assert_int_eq(kubelet_path_remove(&path, &err), -1);
    ck_assert_int_eq(access(path_of("outside"), F_OK), 0);
}
END_TEST

START_TEST(repeated_creates_make_one_path_and_data_is_never_removed) {
    autopath struct kubelet_path directory = PATH_NONE, file = PATH_NONE;
    struct kubelet_place place;

    assert_ok(kubelet_path_open(base, path_of("d"), &directory, &err));
    assert_ok(kubelet_path_open(base, path_of("f"), &file, &err));
    assert_ok(kubelet_path_remove(&directory, &err));
    for (int i = 0; i < 2; i++) {
        assert_ok(kubelet_path_make(&directory, true, &err));
        assert_ok(kubelet_path_make(&file, false, &err));
    }
    ck_assert_int_eq(kubelet_path_make(&directory, false, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_PRECONDITION);
    ck_assert_int_eq(kubelet_path_make(&file, true, &err), -1);

    ck_assert_int_eq(shell("echo data >%s; echo data >%s", path_of("f"), path_of("d/f")), 0);
    ck_assert_int_eq(kubelet_path_remove(&directory, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_PRECONDITION);
    ck_assert_int_eq(kubelet_path_remove(&file, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_PRECONDITION);
    ck_assert_int_eq(shell("rm %s && : >%s", path_of("d/f"), path_of("f")), 0);
    assert_ok(kubelet_path_remove(&directory, &err));
    assert_ok(kubelet_path_remove(&file, &err));
    assert_ok(kubelet_path_stat(&file, &place, &err));
    ck_assert(!place.exists);
}
END_TEST

START_TEST(a_mount_is_distinguished_from_its_mount_point) {
    autopath struct kubelet_path path = PATH_NONE;
    struct kubelet_place before, mounted;

    assert_ok(kubelet_path_open(base, path_of("d"), &path, &err));
    assert_ok(kubelet_path_make(&path, true, &err));
    assert_ok(kubelet_path_stat(&path, &before, &err));
    ck_assert(before.exists && !before.is_mount);
    ck_assert_int_eq(mount("none", path_of("d"), "tmpfs", 0, NULL), 0);
    assert_ok(kubelet_path_stat(&path, &mounted, &err));
    ck_assert(mounted.is_mount && mounted.device != before.device);
    ck_assert_int_eq(umount(path_of("d")), 0);
}
END_TEST

NODE_MAIN("kubelet_path", a_path_is_plain_and_below_the_directory, a_deep_path_is_fine,
          no_link_leads_anywhere, repeated_creates_make_one_path_and_data_is_never_removed,
          a_mount_is_distinguished_from_its_mount_point)
