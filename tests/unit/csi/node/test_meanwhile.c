/*
 * What comes between the steps of a call of the node: another call for the volume, or another mount
 * at the place of the volume's.
 */
#define NODE_SCENE "d"
#include "tests/unit/csi/driver_test.h"
#include "tests/unit/csi/node/storage.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define ATTACHMENT "5f7c41de-3c55-4a6e-9d2c-1f3f6c0e7a01"

/* ---- another call ---- */

static int between_result; /* of the unstage */
static struct error between_error;

static void unstage_between(void *arg) {
    (void)arg;
    between_result = node_unstage(&node, arena, ID, path_of("kubelet/staging"), &between_error);
}

static Csi__V1__NodeStageVolumeRequest__PublishContextEntry *pair(const char *key,
                                                                  const char *value) {
    Csi__V1__NodeStageVolumeRequest__PublishContextEntry *entry =
        arena_alloc(arena, sizeof(*entry));

    csi__v1__node_stage_volume_request__publish_context_entry__init(entry);
    entry->key = arena_text(arena, key);
    entry->value = arena_text(arena, value);
    return entry;
}

/* The two messages have the same kinds of fields, by other numbers. */
static struct wire_answer *ask(struct scene *scene, bool publishes) {
    Csi__V1__VolumeCapability__AccessMode mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__INIT;
    Csi__V1__VolumeCapability__BlockVolume is_block =
        CSI__V1__VOLUME_CAPABILITY__BLOCK_VOLUME__INIT;
    Csi__V1__VolumeCapability capability = CSI__V1__VOLUME_CAPABILITY__INIT;
    Csi__V1__NodeStageVolumeRequest__PublishContextEntry *context[] = {
        pair("driver_volume_type", "local"), pair("format", "raw"),
        pair("device_path", path_of("images/" ID)), pair("attachment_id", ATTACHMENT)
    };
    Csi__V1__NodeStageVolumeRequest stages = CSI__V1__NODE_STAGE_VOLUME_REQUEST__INIT;
    Csi__V1__NodePublishVolumeRequest publish_request = CSI__V1__NODE_PUBLISH_VOLUME_REQUEST__INIT;

    mode.mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    capability.access_mode = &mode;
    capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
    capability.block = &is_block;
    stages.volume_id = publish_request.volume_id = (char[]){ ID };
    stages.staging_target_path = publish_request.staging_target_path =
        arena_text(arena, path_of("kubelet/staging"));
    publish_request.target_path = arena_text(arena, path_of("kubelet/pods/a"));
    stages.volume_capability = publish_request.volume_capability = &capability;
    stages.n_publish_context = publish_request.n_publish_context = LENGTH(context);
    stages.publish_context = context;
    publish_request.publish_context =
        (Csi__V1__NodePublishVolumeRequest__PublishContextEntry **)context;
    return publishes ? scene_request(scene, "/csi.v1.Node/NodePublishVolume", &publish_request)
                     : scene_request(scene, "/csi.v1.Node/NodeStageVolume", &stages);
}

/* While the driver asks whether the volume is still attached here. */
static void unstage_during(bool publishes) {
    const char *const arguments[] = {
        arena_format(arena, "--csi.kubelet_directory=%s", path_of("kubelet")),
        arena_format(arena, "--csi.local_directories=%s", path_of("images")),
        "--csi.node_id=node-1", NULL
    };
    struct scene *scene = scene_new(arguments);
    struct wire_answer *answer;

    script_server_add(
        scene->api,
        &(struct script_rule){ .method = "GET", .path = "/v3/", .status = 200, .body = VERSIONS });
    script_server_add(scene->api, &(struct script_rule){
                                      "GET", "/v3/attachments/" ATTACHMENT, 200,
                                      "{\"attachment\": {\"id\": \"" ATTACHMENT
                                      "\", \"status\": \"attached\", \"volume_id\": \"" ID "\"}}",
                                      .before = unstage_between });
    between_result = 1;
    answer = ask(scene, publishes);
    ck_assert_msg(strcmp(answer->status, "0") == 0, "%s: %s", answer->status, answer->message);
    ck_assert_int_eq(between_result, -1);
    ck_assert_msg(between_error.kind == ERROR_CONFLICT, "%s", between_error.message);
    free(answer);
    scene_end(scene);
}

/* The unstage that was answered OK would have let another node have the volume. */
START_TEST(a_volume_that_was_unstaged_is_not_staged_by_an_earlier_call) {
    autoimage int file = image(8 * MIB);

    unstage_during(false);
    assert_ok(unstage());
    ck_assert_int_eq(count_devices(), 0);
}
END_TEST

START_TEST(a_volume_is_not_unstaged_while_a_publish_replaces_its_device) {
    mount_storage();
    close(image(8 * MIB));
    assert_ok(stage(&block));
    ck_assert_int_eq(shell("sync"), 0);
    shut_down("images");
    replace_storage();
    unstage_during(true);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
    unmount_storage();
}
END_TEST

/* ---- another mount ---- */

static unsigned replace_after; /* so many queries of the place; 0: never */
static const char *replaced;   /* the place: an empty file system comes there */

int statx(int directory, const char *path, int flags, unsigned mask, struct statx *ret) {
    int result = (int)syscall(SYS_statx, directory, path, flags, mask, ret), code = errno;

    if (replace_after > 0 && strcmp(path, strrchr(replaced, '/') + 1) == 0 &&
        --replace_after == 0) {
        ck_assert_int_eq(umount2(path_of(replaced), MNT_DETACH), 0);
        ck_assert_int_eq(mount("none", path_of(replaced), "tmpfs", 0, "size=8m"), 0);
    }
    errno = code;
    return result;
}

static const struct node_capability several = { .type = "ext4", .mode = NODE_SINGLE_MULTI_WRITER };

static int stage_again(void) {
    return stage(&several);
}

static int publish_again(void) {
    return publish("kubelet/pods/a", &several, false);
}

/* Another pod has the volume's file system, or nothing. */
static int publish_second(void) {
    int result = publish("kubelet/pods/b", &several, false);
    struct stat status;

    if (result == 0) {
        ck_assert_int_eq(stat(path_of("kubelet/pods/b"), &status), 0);
        ck_assert_uint_eq(major(status.st_dev), 7);
        assert_ok(unpublish("kubelet/pods/b"));
    } else {
        ck_assert_int_ne(umount(path_of("kubelet/pods/b")), 0);
    }
    return result;
}

static int query_usage(void) {
    struct node_usage usage;
    int result = node_usage(&node, ID, path_of("kubelet/pods/a"), &usage, &err);

    ck_assert(result < 0 || usage.bytes.total > 8 * MIB);
    return result;
}

static int grow(void) {
    const struct node_growth growth = { .volume_id = ID, .path = path_of("kubelet/staging") };
    int64_t bytes;

    return node_grow(&node, arena, &growth, &bytes, &err);
}

static bool may_continue(void *arg) {
    (void)arg;
    return true;
}

/* The free blocks of no other file system are discarded, or filled. */
static int reclaim(void) {
    const struct node_reclaim all = { .volume_id = ID,
                                      .path = path_of("kubelet/staging"),
                                      .may_continue = may_continue };
    int64_t before, after;
    int result = node_reclaim(&node, &all, &before, &after, &err);

    ck_assert_msg(result == 0 || err.kind == ERROR_NOT_FOUND, "%s", err.message);
    return result;
}

static const struct step {
    const char *name, *place;
    int (*call)(void);
} steps[] = {
    { "stage", "kubelet/staging", stage_again },
    { "publish", "kubelet/staging", publish_second },
    { "publish again", "kubelet/pods/a", publish_again },
    { "usage", "kubelet/pods/a", query_usage },
    { "growth", "kubelet/staging", grow },
    { "reclaim", "kubelet/staging", reclaim },
};

/* Either the call has found the volume before, or it is refused: nothing is done to the other one,
 * which stays. */
START_TEST(another_mount_over_a_volume_is_not_taken_for_it) {
    autoimage int file = image(64 * MIB);

    for (size_t i = 0; i < LENGTH(steps); i++) {
        bool met = true;

        for (unsigned after = 1; met; after++) {
            int result;

            assert_ok(stage(&several));
            assert_ok(publish("kubelet/pods/a", &several, false));
            replaced = steps[i].place;
            replace_after = after;
            memset(&err, 0, sizeof(err));
            result = steps[i].call();
            met = replace_after == 0;
            replace_after = 0;
            ck_assert_msg(met || result == 0, "%s: %s", steps[i].name, err.message);
            if (met) {
                ck_assert_int_eq(umount(path_of(replaced)), 0);
            }
            assert_ok(unpublish("kubelet/pods/a"));
            assert_ok(unstage());
            wait_for_devices(0);
        }
    }
}
END_TEST

NODE_SCENE_MAIN("node_meanwhile", a_volume_that_was_unstaged_is_not_staged_by_an_earlier_call,
                a_volume_is_not_unstaged_while_a_publish_replaces_its_device,
                another_mount_over_a_volume_is_not_taken_for_it)
