#include "csi/node/pod_limiter.h"

#include "client/volumes.h"
#include "common/log.h"
#include "common/loop.h"
#include "csi/node/throttle.h"
#include "tests/lib/script_server.h"
#include "tests/unit/csi/node/node_test.h"

#include <linux/major.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#define OTHER     "0d5ca6a1-6a0e-4a52-9a38-5a5f0c7ba002"
#define REQUESTED "/v3/os-volume-limits?host=here"

#define ANSWER(rows)        "{\"volume_limits\": [" rows "]}"
#define ROW(volume, limits) "{\"volume_id\": \"" volume "\", \"limits\": {" limits "}}"
#define OURS(limits)        ROW("%s", limits)

static struct script_server *server;
static struct pod_limiter *limiter;
static char group[96], v1_group[96];
/* Devices are the machine's: another run of this has a volume of its own. */
static char volume[37], label[64];

static const char *path_in(const char *directory, const char *file) {
    return arena_join(arena, directory, "/", file, NULL);
}

static void write_file(const char *path, const char *text) {
    autofile FILE *file = fopen(path, "we");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
}

/* "" when there is none. */
static const char *text_of(const char *path) {
    autofile FILE *file = fopen(path, "re");
    char text[4096] = "";

    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    return arena_text(arena, text);
}

/* A group as cgroup v2 has it, but its file has only the last written line. */
static void begin(void) {
    node_test_begin();
    log_open(-1, LOG_ERROR, LOG_TEXT);
    snprintf(volume, sizeof volume, "0d5ca6a1-6a0e-4a52-9a38-%012d", (int)getpid());
    snprintf(label, sizeof label, "scoria:00000000:%s", volume);
    snprintf(group, sizeof group, "%s/group", base);
    ck_assert_int_eq(mkdir(group, 0700), 0);
    write_file(path_in(group, "io.max"), "");
    server = script_server_new();
}

static void end(void) {
    pod_limiter_free(limiter);
    limiter = NULL;
    script_server_free(server);
    unlink(path_in(group, "io.max"));
    rmdir(group);
    node_test_end();
}

static void begin_holder(int64_t pause_ms) {
    struct pod_limiter_settings settings = { .host = "here", .group = group, .pause_ms = pause_ms };

    settings.api =
        volumes_client(arena_join(arena, script_server_url(server), "/v3", NULL), NULL, NULL);
    limiter = pod_limiter_new(&settings);
}

/* In `form` the volume is %s. */
static void respond(int status, const char *form) {
    const char *at = strstr(form, "%s");
    const char *body =
        at ? arena_format(arena, "%.*s%s%s", (int)(at - form), form, volume, at + 2) : form;

    script_server_clear(server);
    script_server_add(server,
                      &(struct script_rule){ .path = REQUESTED, .status = status, .body = body });
}

static bool is_limited(unsigned number, const char *limits) {
    return strcmp(text_of(path_in(group, "io.max")),
                  arena_format(arena, "7:%u %s\n", number, limits)) == 0;
}

static void await(unsigned number, const char *limits) {
    while (!is_limited(number, limits))
        usleep(1000);
}

/* A look may fail where others have devices come and go. */
static void wake_until(unsigned number, const char *limits) {
    while (!is_limited(number, limits)) {
        pod_limiter_wake(limiter);
        usleep(1000);
    }
}

static void await_looks(void) {
    ck_assert(script_server_await(server, "GET", REQUESTED,
                                  script_server_count(server, "GET", REQUESTED) + 3));
}

START_TEST(a_device_gets_the_limits_of_its_volume) {
    autoimage int file = image_make("image", 8 * MIB);
    struct loop loop;

    assert_ok(loop_attach(file, label, &(struct loop_how){ 0 }, &loop, &err));
    respond(200, ANSWER(ROW(OTHER, "\"read_iops_sec\": 1") "," OURS(
                     "\"total_iops_sec\": 100, \"read_iops_sec\": 40, \"write_bytes_sec\": 7")));
    begin_holder(1);
    await(loop.number, "rbps=max wbps=7 riops=40 wiops=100");
    respond(500, "{}");
    await_looks();
    await(loop.number, "rbps=max wbps=7 riops=40 wiops=100");
    respond(200, ANSWER(OURS("\"read_bytes_sec\": 9")));
    await(loop.number, "rbps=9 wbps=max riops=max wiops=max");
    respond(200, ANSWER(""));
    await(loop.number, "rbps=max wbps=max riops=max wiops=max");
    close(loop.fd);
}
END_TEST

/* A pod that has it as a block volume may write anything on it. */
START_TEST(a_changed_label_does_not_change_the_limits) {
    autoimage int file = image_make("image", 8 * MIB);
    struct loop_info64 info;
    struct loop loop;

    assert_ok(loop_attach(file, label, &(struct loop_how){ 0 }, &loop, &err));
    respond(200, ANSWER(OURS("\"read_bytes_sec\": 9")));
    begin_holder(1);
    await(loop.number, "rbps=9 wbps=max riops=max wiops=max");
    ck_assert_int_eq(ioctl(loop.fd, LOOP_GET_STATUS64, &info), 0);
    for (int i = 0; i < 2; i++) {
        strcpy((char *)info.lo_file_name, i ? "" : "scoria:00000000:" OTHER);
        ck_assert_int_eq(ioctl(loop.fd, LOOP_SET_STATUS64, &info), 0);
        await_looks();
        ck_assert(is_limited(loop.number, "rbps=9 wbps=max riops=max wiops=max"));
    }
    close(loop.fd);
}
END_TEST

/* By a holder that was killed; there is no such device. */
START_TEST(an_unused_device_has_no_limits) {
    write_file(path_in(group, "io.max"), "7:1048575 rbps=5 wbps=max riops=max wiops=max\n");
    begin_holder(1);
    await(1048575, "rbps=max wbps=max riops=max wiops=max");
}
END_TEST

START_TEST(a_staged_volume_is_limited_immediately) {
    autoimage int file = image_make("image", 8 * MIB);
    struct loop loop;

    respond(200, ANSWER(OURS("\"read_bytes_sec\": 9")));
    begin_holder(3600000);
    assert_ok(loop_attach(file, label, &(struct loop_how){ 0 }, &loop, &err));
    wake_until(loop.number, "rbps=9 wbps=max riops=max wiops=max");
    close(loop.fd);
    wait_for_devices(0);
    wake_until(loop.number, "rbps=max wbps=max riops=max wiops=max");
}
END_TEST

START_TEST(devices_of_others_are_left_alone) {
    autoimage int file = image_make("image", 8 * MIB), ours = image_make("ours", 8 * MIB);
    struct loop loop, second;
    const char *theirs;

    assert_ok(loop_attach(file, "somebody's", &(struct loop_how){ 0 }, &loop, &err));
    theirs = arena_format(arena, "7:%u rbps=5 wbps=max riops=max wiops=max\n", loop.number);
    write_file(path_in(group, "io.max"), theirs);
    respond(200, ANSWER(""));
    assert_ok(loop_attach(ours, label, &(struct loop_how){ 0 }, &second, &err));
    begin_holder(1);
    await_looks();
    ck_assert_str_eq(text_of(path_in(group, "io.max")), theirs);
    close(loop.fd);
    close(second.fd);
}
END_TEST

/* ---- the kernel's own, of v1 ---- */

static const char *limit_of(const char *place, const char *file, unsigned number) {
    const char *text = text_of(path_in(place, file));
    const char *line = strstr(text, arena_format(arena, "7:%u ", number));

    return line ? arena_format(arena, "%.*s", (int)strcspn(line, "\n"), line) : "";
}

START_TEST(groups_of_cgroup_v1_are_limited_with_all_below) {
    const struct throttle some = { { 1 << 20, 2 << 20, 300, 400 } }, none = { { 0 } };
    autoimage int file = image_make("image", 8 * MIB);
    const char *child;
    struct loop loop;
    unsigned *list;

    snprintf(v1_group, sizeof v1_group, "/sys/fs/cgroup/blkio/scoria-test-%d", (int)getpid());
    if (mkdir(v1_group, 0755) < 0)
        return; /* there is none, or it may not be written */
    child = path_in(v1_group, "pod");
    ck_assert_int_eq(mkdir(child, 0755), 0);
    if (access(path_in(child, "blkio.throttle.read_bps_device"), W_OK) == 0) {
        assert_ok(loop_attach(file, label, &(struct loop_how){ 0 }, &loop, &err));
        assert_ok(throttle_set(v1_group, makedev(LOOP_MAJOR, loop.number), &some, &err));
        for (int i = 0; i < 2; i++) {
            const char *place = i ? child : v1_group;

            ck_assert_str_eq(limit_of(place, "blkio.throttle.read_bps_device", loop.number),
                             arena_format(arena, "7:%u 1048576", loop.number));
            ck_assert_str_eq(limit_of(place, "blkio.throttle.write_iops_device", loop.number),
                             arena_format(arena, "7:%u 400", loop.number));
        }
        ck_assert_int_eq(throttle_list(v1_group, arena, &list, &err), 1);
        ck_assert_uint_eq(list[0], loop.number);
        assert_ok(throttle_set(v1_group, makedev(LOOP_MAJOR, loop.number), &none, &err));
        ck_assert_int_eq(throttle_list(v1_group, arena, &list, &err), 0);
        ck_assert_str_eq(limit_of(child, "blkio.throttle.read_bps_device", loop.number), "");
        close(loop.fd);
    }
    rmdir(child);
    rmdir(v1_group);
}
END_TEST

START_TEST(a_missing_cgroup_is_reported) {
    const struct throttle none = { { 0 } };
    unsigned *list;

    ck_assert_int_eq(throttle_set(base, makedev(LOOP_MAJOR, 0), &none, &err), -1);
    ck_assert_int_eq(throttle_list(base, arena, &list, &err), -1);
}
END_TEST

CHECK_MAIN_WITH("holder", geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0, begin,
                end, a_device_gets_the_limits_of_its_volume,
                a_changed_label_does_not_change_the_limits, an_unused_device_has_no_limits,
                a_staged_volume_is_limited_immediately, devices_of_others_are_left_alone,
                groups_of_cgroup_v1_are_limited_with_all_below, a_missing_cgroup_is_reported)
