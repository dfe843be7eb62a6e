/* libvirt.c against a real libvirtd with real QEMU guests. */
#include "common/cleanup.h"
#include "compute/agent/agent.h"
#include "compute/jobs/resize.h"
#include "tests/contract/guests.h"
#include "tests/lib/exchange.h"
#include "tests/lib/script_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

START_TEST(a_running_disk_is_found_and_grows) {
    static const char *const formats[] = { "raw", "qcow2" };
    struct scene *scene = scene_new(formats[_i]);
    struct disk disk;

    guest_start_plain(scene, formats[_i]);
    disk = scene_found(scene);
    ck_assert_int_eq(disk.state, DISK_RUNNING);
    ck_assert_str_eq(disk.instance_uuid, INSTANCE);
    ck_assert_str_eq(disk.target, "vda");
    ck_assert_str_eq(disk.source, scene->image);
    ck_assert_str_eq(disk.format, formats[_i]);
    ck_assert_int_eq(disk.capacity, 64 * MIB);
    ck_assert(!disk.job && !disk.read_only);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), 0);
    ck_assert_int_eq(scene_found(scene).capacity, 128 * MIB);
    scene_end(scene);
}
END_TEST

START_TEST(nothing_shrinks) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    guest_start_plain(scene, "raw");
    disk = scene_found(scene);
    ck_assert_int_eq(scene_grow(scene, &disk, 32 * MIB), 0);
    ck_assert_int_eq(scene_grow(scene, &disk, 64 * MIB), 0);
    ck_assert_int_eq(scene_found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

/* The guest's name of its device leads to QEMU's node, on every bus. */
START_TEST(disks_grow_on_every_bus) {
    static const char *const buses[][2] = {
        { "sda", "scsi" }, { "sdb", "usb" }, { "sdc", "sata" }, { "vda", "virtio" }
    };
    struct scene *scene = scene_new("raw");
    char *images[LENGTH(buses)], *volumes[LENGTH(buses)];
    const char *disks = "<controller type='scsi' index='0' model='virtio-scsi'/>";
    struct disk disk;

    for (size_t i = 0; i < LENGTH(buses); i++) {
        images[i] = arena_format(scene->arena, "%s.%zu", scene->image, i);
        volumes[i] = arena_format(scene->arena, "%08zu-5555-4555-8555-555555555555", i);
        shell("qemu-img create -q -f raw %s 64M", images[i]);
        disks = arena_format(scene->arena,
                             "%s<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
                             "<source file='%s'/><target dev='%s' bus='%s'/><serial>%s</serial>"
                             "</disk>",
                             disks, images[i], buses[i][0], buses[i][1], volumes[i]);
    }
    virDomainFree(guest_start(scene, disks));
    for (size_t i = 0; i < LENGTH(buses); i++) {
        ck_assert_int_eq(scene_find_volume(scene, INSTANCE, volumes[i], &disk), 0);
        ck_assert_int_eq(scene_grow(scene, &disk, (int64_t)(128 + i) * MIB), 0);
    }
    for (size_t i = 0; i < LENGTH(buses); i++) {
        ck_assert_int_eq(scene_find_volume(scene, INSTANCE, volumes[i], &disk), 0);
        ck_assert_int_eq(disk.capacity, (int64_t)(128 + i) * MIB);
        unlink(images[i]);
    }
    scene_end(scene);
}
END_TEST

/* Bytes that the file takes on its disk. */
static int64_t bytes_taken(const char *path) {
    struct stat status;

    ck_assert_int_eq(stat(path, &status), 0);
    return (int64_t)status.st_blocks * 512;
}

START_TEST(growth_is_sparse_even_behind_allocated_blocks) {
    struct scene *scene = scene_new("raw");
    int64_t before;
    struct disk disk;

    shell("qemu-img create -q -f raw -o preallocation=falloc %s 64M", scene->image);
    before = bytes_taken(scene->image);
    ck_assert_int_ge(before, 64 * MIB);
    guest_start_plain(scene, "raw");
    disk = scene_found(scene);
    ck_assert_int_eq(scene_grow(scene, &disk, 1024 * MIB), 0);
    ck_assert_int_eq(scene_found(scene).capacity, 1024 * MIB);
    ck_assert_int_lt(bytes_taken(scene->image), before + 2 * MIB);
    scene_end(scene);
}
END_TEST

/* {the overlay, the image below it} as qemu-img sees them, in MiB. */
static void assert_chain(struct scene *scene, int64_t above_mib, int64_t below_mib) {
    const char *const files[] = { scene->copy, scene->image };
    const int64_t sizes[] = { above_mib, below_mib };

    for (size_t i = 0; i < LENGTH(files); i++)
        shell("qemu-img info -U --output=json %s | grep -q '^    \"virtual-size\": %jd,'", files[i],
              (intmax_t)(sizes[i] * MIB));
}

START_TEST(an_overlay_grows_and_the_image_below_it_stays) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    shell("qemu-img create -q -f qcow2 -F raw -b %s %s", scene->image, scene->copy);
    assert_chain(scene, 64, 64);
    virDomainFree(guest_start(scene, disk_xml(scene, "qcow2", scene->copy, "vda", VOLUME, "")));
    disk = scene_found(scene);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), 0);
    ck_assert_int_eq(scene_found(scene).capacity, 128 * MIB);
    ck_assert_int_eq(scene_grow(scene, &disk, 32 * MIB), 0); /* below both */
    guest_remove(scene, INSTANCE);
    assert_chain(scene, 128, 64);
    scene_end(scene);
}
END_TEST

START_TEST(a_paused_guest_holds_its_disk) {
    struct scene *scene = scene_new("raw");
    struct disk disk;
    virDomainPtr domain =
        guest_start(scene, disk_xml(scene, "raw", scene->image, "vda", VOLUME, ""));

    ck_assert_int_eq(virDomainSuspend(domain), 0);
    virDomainFree(domain);
    disk = scene_found(scene);
    ck_assert_int_eq(disk.state, DISK_RUNNING);
    ck_assert(!disk.job);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), 0);
    ck_assert_int_eq(scene_found(scene).capacity, 128 * MIB);
    scene_end(scene);
}
END_TEST

START_TEST(a_guest_that_is_off_is_distinguished) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    guest_define_plain(scene);
    ck_assert_int_eq(scene_has(scene, INSTANCE), 1);
    disk = scene_found(scene);
    ck_assert_int_eq(disk.state, DISK_OFF);
    ck_assert_str_eq(disk.source, scene->image);
    ck_assert_str_eq(disk.format, "raw");
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    scene_end(scene);
}
END_TEST

START_TEST(a_guest_that_has_left_is_a_conflict) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    guest_start_plain(scene, "raw");
    disk = scene_found(scene);
    guest_remove(scene, INSTANCE);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    scene_end(scene);
}
END_TEST

START_TEST(disks_of_other_hosts_are_not_found) {
    struct scene *scene = scene_new("raw");
    struct disk disk = { .state = DISK_OFF };

    ck_assert_int_eq(scene_has(scene, INSTANCE), 0);
    ck_assert_int_eq(scene_find(scene, INSTANCE, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_NOT_HERE);
    ck_assert_int_eq(scene_find(scene, NULL, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_NOT_HERE);
    virDomainFree(guest_start(scene, disk_xml(scene, "raw", scene->image, "vda", OTHER, "")));
    ck_assert_int_eq(scene_has(scene, INSTANCE), 1);
    ck_assert_int_eq(scene_has(scene, UNKNOWN), 0);
    ck_assert_int_eq(scene_find(scene, INSTANCE, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_NOT_HERE);
    scene_end(scene);
}
END_TEST

START_TEST(a_disk_is_found_in_any_instance) {
    struct scene *scene = scene_new("raw");
    virDomainPtr domain = virDomainDefineXML(scene->control, guest_xml(scene, OTHER, ""));
    struct disk disk = { 0 };

    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    guest_start_plain(scene, "raw");
    ck_assert_int_eq(scene_find(scene, NULL, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_RUNNING);
    ck_assert_str_eq(disk.instance_uuid, INSTANCE);
    scene_end(scene);
}
END_TEST

START_TEST(a_serial_in_two_instances_is_refused_unless_one_is_named) {
    struct scene *scene = scene_new("raw");
    virDomainPtr domain = virDomainDefineXML(
        scene->control,
        guest_xml(scene, OTHER, disk_xml(scene, "raw", scene->copy, "vda", VOLUME, "")));
    struct disk disk = { .state = DISK_OFF, .target = "before" };

    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    guest_start_plain(scene, "raw");
    ck_assert_int_eq(scene_find(scene, NULL, &disk), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    ck_assert_str_eq(disk.target, "before");
    ck_assert_int_eq(scene_find(scene, INSTANCE, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_RUNNING);
    scene_end(scene);
}
END_TEST

START_TEST(a_serial_on_two_disks_is_refused) {
    struct scene *scene = scene_new("raw");
    struct disk disk;
    char *disks;

    shell("qemu-img create -q -f raw %s 64M", scene->copy);
    disks =
        arena_format(scene->arena, "%s%s", disk_xml(scene, "raw", scene->image, "vda", VOLUME, ""),
                     disk_xml(scene, "raw", scene->copy, "vdb", VOLUME, ""));
    virDomainFree(guest_start(scene, disks));
    ck_assert_int_eq(scene_find(scene, INSTANCE, &disk), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    scene_end(scene);
}
END_TEST

START_TEST(a_read_only_disk_is_seen_and_refused) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    virDomainFree(
        guest_start(scene, disk_xml(scene, "raw", scene->image, "vda", VOLUME, "<readonly/>")));
    disk = scene_found(scene);
    ck_assert(disk.read_only);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    ck_assert_int_eq(scene_found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

START_TEST(a_block_job_is_seen) {
    struct scene *scene = scene_new("raw");
    virDomainPtr domain =
        guest_start(scene, disk_xml(scene, "raw", scene->image, "vda", VOLUME, ""));
    char *copy = arena_format(scene->arena,
                              "<disk type='file'><driver type='raw'/><source file='%s'/></disk>",
                              scene->copy);
    struct disk disk;

    ck_assert_int_eq(
        virDomainBlockCopy(domain, "vda", copy, NULL, 0, VIR_DOMAIN_BLOCK_COPY_TRANSIENT_JOB), 0);
    disk = scene_found(scene);
    ck_assert(disk.job);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_ne(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(virDomainBlockJobAbort(domain, "vda", 0), 0);
    virDomainFree(domain);
    disk = scene_found(scene);
    ck_assert(!disk.job);
    ck_assert_int_eq(disk.capacity, 64 * MIB);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_size_beyond_qemu_is_refused_untouched) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    guest_start_plain(scene, "raw");
    disk = scene_found(scene);
    ck_assert_int_eq(scene_grow(scene, &disk, INT64_MAX), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    ck_assert_int_eq(scene_found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

/* ---- resize.c over it ---- */

static const struct remote_volume extending = {
    .id = VOLUME, .status = "extending", .size_gb = 1, .has_target = true, .target_gb = 2
};

static void resize_and_check(struct scene *scene) {
    struct resize resize = { .hypervisor = scene->hypervisor,
                             .host = "here",
                             .instance_uuid = INSTANCE,
                             .volume = &extending };

    ck_assert_int_eq(resize_to_target(&resize, scene->arena, &scene->err), RESIZE_DONE);
    ck_assert_int_eq(resize.disk.capacity, 2048 * MIB);
    ck_assert(resize_reached_target(&resize, scene->arena));
    ck_assert_int_eq(resize_to_target(&resize, scene->arena, &scene->err), RESIZE_DONE);
}

START_TEST(an_extend_reaches_a_running_guest) {
    struct scene *scene = scene_new("qcow2");

    guest_start_plain(scene, "qcow2");
    resize_and_check(scene);
    scene_end(scene);
}
END_TEST

START_TEST(an_extend_reaches_a_guest_that_is_off) {
    struct scene *scene = scene_new("raw");

    guest_define_plain(scene);
    resize_and_check(scene);
    scene_end(scene);
}
END_TEST

/* The whole agent over it, on the stacks of its own threads. */
START_TEST(an_event_reaches_a_guest_and_its_end_is_reported) {
    static const struct http_header headers[] = { { "OpenStack-API-Version", "compute 2.93" },
                                                  { 0 } };
    struct scene *scene = scene_new("raw");
    struct script_server *server = script_server_new();
    const char *url = arena_format(scene->arena, "%s/v3", script_server_url(server));
    struct agent_settings settings = { .host = "here",
                                       .volume_url = url,
                                       .own_url = "http://here/v2.1",
                                       .hypervisor = scene->hypervisor };
    struct test_exchange *test = test_exchange_new(
        "POST", "/v2.1/os-server-external-events", headers,
        "{\"events\": [{\"name\": \"volume-extended\", \"server_uuid\": \"" INSTANCE
        "\", \"tag\": \"" VOLUME "\"}]}");
    struct agent *agent;

    script_server_add(server,
                      &(struct script_rule){ .path = "/v3/volumes/" VOLUME,
                                             .status = 200,
                                             .body = "{\"volume\": {\"id\": \"" VOLUME
                                                     "\", \"status\": \"extending\", \"size\": 1,"
                                                     " \"metadata\": {\"extend_new_size\":"
                                                     " \"2\"}}}" });
    script_server_add(server, &(struct script_rule){ .status = 202 });
    guest_start_plain(scene, "raw");
    ck_assert_int_eq(agent_start(&settings, &agent, &scene->err), 0);
    agent_handle(agent, test_exchange_of(test));
    ck_assert_int_eq(test_exchange_await(test), 200);
    ck_assert(script_server_await(server, "POST", "/v3/volumes/" VOLUME "/action", 1));
    ck_assert_ptr_nonnull(
        strstr(script_server_request(server, "POST", "/v3/volumes/" VOLUME "/action", 0)->body,
               "\"error\": false"));
    ck_assert_int_eq(scene_found(scene).capacity, 2048 * MIB);
    agent_stop(agent);
    test_exchange_free(test);
    script_server_free(server);
    scene_end(scene);
}
END_TEST

/* Another guest holds the image that our domain, being off, only names. */
START_TEST(an_image_that_another_guest_holds_is_busy) {
    struct scene *scene = scene_new("raw");
    struct resize resize = { .hypervisor = scene->hypervisor,
                             .host = "here",
                             .instance_uuid = INSTANCE,
                             .volume = &extending };
    virDomainPtr domain = virDomainCreateXML(
        scene->control,
        guest_xml(scene, OTHER, disk_xml(scene, "raw", scene->image, "vda", OTHER, "")), 0);

    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    guest_define_plain(scene);
    ck_assert_int_eq(resize_to_target(&resize, scene->arena, &scene->err), RESIZE_BUSY);
    ck_assert_int_eq(resize.disk.capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

static struct disk_limits *limits_of(struct scene *scene) {
    struct disk_limits *list = NULL;

    ck_assert_msg(
        scene->hypervisor->list_limits(scene->hypervisor, scene->arena, &list, &scene->err) == 0,
        "%s", scene->err.message);
    return list;
}

static void limit(struct scene *scene, const struct disk *disk, const struct io_limits *limits) {
    ck_assert_msg(scene->hypervisor->limit_disk(scene->hypervisor, scene->arena, disk, limits,
                                                &scene->err) == 0,
                  "%s", scene->err.message);
}

static void assert_limits(struct scene *scene, const struct io_limits *limits, bool ours) {
    const struct disk_limits *has = limits_of(scene);

    ck_assert_ptr_nonnull(has);
    ck_assert_ptr_null(has->next);
    ck_assert_str_eq(has->disk.serial, VOLUME);
    ck_assert_str_eq(has->disk.instance_uuid, INSTANCE);
    for (int i = 0; i < IO_LIMITS; i++)
        ck_assert_msg(has->limits.of[i] == limits->of[i], "%s is %jd, not %jd", io_limit_names[i],
                      (intmax_t)has->limits.of[i], (intmax_t)limits->of[i]);
    ck_assert(has->ours == ours);
}

START_TEST(a_disk_is_held_to_limits_while_its_guest_runs) {
    static const struct io_limits none;
    static const struct io_limits some[] = {
        { { [IO_TOTAL_REQUESTS] = 500, [IO_TOTAL_BYTES] = 1000000 } },
        { { [IO_READ_REQUESTS] = 500,
            [IO_WRITE_REQUESTS] = 100,
            [IO_PEAKS + IO_READ_REQUESTS] = 700 } },
        { { [IO_TOTAL_BYTES] = IO_LIMIT_MOST } },
        { { [IO_WRITE_BYTES] = 1, [IO_READ_BYTES] = 7 } },
    };
    struct scene *scene = scene_new("raw");
    struct disk disk;

    ck_assert_ptr_null(limits_of(scene));
    guest_start_plain(scene, "raw");
    assert_limits(scene, &none, false);
    disk = limits_of(scene)->disk;
    for (size_t i = 0; i < LENGTH(some); i++) {
        limit(scene, &disk, &some[i]);
        assert_limits(scene, &some[i], true);
    }
    limit(scene, &disk, &none);
    assert_limits(scene, &none, false);
    limit(scene, &disk, &none);
    limit(scene, &disk, &some[0]);
    guest_remove(scene, INSTANCE);
    ck_assert_ptr_null(limits_of(scene));
    ck_assert_int_eq(
        scene->hypervisor->limit_disk(scene->hypervisor, scene->arena, &disk, &none, &scene->err),
        -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    guest_start_plain(scene, "raw");
    assert_limits(scene, &none, false);
    scene_end(scene);
}
END_TEST

START_TEST(limits_of_others_are_distinguished_and_own_ones_adopted) {
    static const struct io_limits theirs = { { [IO_READ_BYTES] = 5000 } };
    static const struct io_limits ours = { { [IO_TOTAL_BYTES] = 6000 } };
    static const struct io_limits none;
    virTypedParameter parameter = { .field = "read_bytes_sec", .type = VIR_TYPED_PARAM_ULLONG };
    struct scene *scene = scene_new("raw");
    virDomainPtr domain;
    struct disk disk;

    guest_start_plain(scene, "raw");
    disk = limits_of(scene)->disk;
    domain = virDomainLookupByUUIDString(scene->control, INSTANCE);
    parameter.value.ul = 5000;
    ck_assert_int_eq(virDomainSetBlockIoTune(domain, "vda", &parameter, 1, VIR_DOMAIN_AFFECT_LIVE),
                     0);
    assert_limits(scene, &theirs, false);
    limit(scene, &disk, &ours);
    assert_limits(scene, &ours, true);
    limit(scene, &disk, &none);
    assert_limits(scene, &none, false);
    virDomainFree(domain);
    scene_end(scene);
}
END_TEST

/* clang-format off */
GUESTS_MAIN("libvirt", "",
            { a_running_disk_is_found_and_grows, 2 },
            { nothing_shrinks, 1 },
            { disks_grow_on_every_bus, 1 },
            { growth_is_sparse_even_behind_allocated_blocks, 1 },
            { an_overlay_grows_and_the_image_below_it_stays, 1 },
            { a_paused_guest_holds_its_disk, 1 },
            { a_guest_that_is_off_is_distinguished, 1 },
            { a_guest_that_has_left_is_a_conflict, 1 },
            { disks_of_other_hosts_are_not_found, 1 },
            { a_disk_is_found_in_any_instance, 1 },
            { a_serial_in_two_instances_is_refused_unless_one_is_named, 1 },
            { a_serial_on_two_disks_is_refused, 1 },
            { a_read_only_disk_is_seen_and_refused, 1 },
            { a_block_job_is_seen, 1 },
            { a_size_beyond_qemu_is_refused_untouched, 1 },
            { a_disk_is_held_to_limits_while_its_guest_runs, 1 },
            { limits_of_others_are_distinguished_and_own_ones_adopted, 1 },
            { an_extend_reaches_a_running_guest, 1 },
            { an_extend_reaches_a_guest_that_is_off, 1 },
            { an_event_reaches_a_guest_and_its_end_is_reported, 1 },
            { an_image_that_another_guest_holds_is_busy, 1 })
/* clang-format on */
