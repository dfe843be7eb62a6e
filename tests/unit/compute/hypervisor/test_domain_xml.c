#include "tests/lib/check_main.h"
#include "tests/lib/small_stack.h"

#include "compute/hypervisor/domain_xml.h"

#include <stdlib.h>
#include <string.h>

#define SERIAL "0f6d3a1e-5a3f-4c59-9d0f-3d3c6a5e8b11"

#define DOMAIN(disks)                                                                    \
    "<domain type='kvm' id='1'><name>guest</name><devices><emulator>/q</emulator>" disks \
    "<interface type='user'/></devices></domain>"
#define DISK                                                             \
    "<disk type='file' device='disk'><driver name='qemu' type='qcow2'/>" \
    "<source file='/mnt/a&amp;b/volume-1' index='1'/><backingStore/>"    \
    "<target dev='vda' bus='virtio'/><serial>" SERIAL "</serial></disk>"
#define OTHER                                                                                     \
    "<disk type='file'><source file='/root.img'/><target dev='sda'/><serial>root</serial></disk>" \
    "<disk type='file'><target dev='sdb'/></disk>"

static struct disk untouched(void) {
    struct disk disk = { .state = DISK_OFF, .target = "before", .capacity = 7 };

    return disk;
}

START_TEST(a_disk_is_found_by_its_serial) {
    struct disk disk = untouched();
    struct error err = { 0 };

    ck_assert_int_eq(domain_xml_find_disk(DOMAIN(OTHER DISK), SERIAL, &disk, &err), 1);
    ck_assert_str_eq(disk.target, "vda");
    ck_assert_str_eq(disk.source, "/mnt/a&b/volume-1");
    ck_assert_str_eq(disk.format, "qcow2");
    ck_assert(!disk.read_only);
    ck_assert_int_eq(disk.state, DISK_OFF);
    ck_assert_int_eq(disk.capacity, 7);
}
END_TEST

#define FORMER "9c1de0c4-7d8b-4d2e-8a34-1f0f6f0f7a55"

/* A disk of this target and serial number. */
#define FILED(target, serial, path)                                         \
    "<disk type='file'><source file='" path "'/><target dev='" target "'/>" \
    "<serial>" serial "</serial></disk>"

/* Nova swaps the volume of a disk, whose serial number stays that of the former one. */
START_TEST(the_file_of_a_disk_decides_before_its_serial) {
    static const struct {
        const char *disks, *target; /* NULL: none is found */
    } rows[] = {
        { FILED("vdb", FORMER, "/m/volume-" SERIAL), "vdb" },
        { FILED("vdb", FORMER, "/m/volume-" SERIAL ".s1"), "vdb" },
        { FILED("vdb", SERIAL, "/m/volume-" FORMER) FILED("vdc", FORMER, "/m/volume-" SERIAL),
          "vdc" },
        { FILED("vdb", SERIAL, "/m/volume-" FORMER) FILED("vdc", SERIAL, "/m/volume-" SERIAL),
          "vdc" },
        { FILED("vdb", SERIAL, "/m/volume-" FORMER), "vdb" }, /* migrated */
        { FILED("vdb", FORMER, "/m/volume-" SERIAL "0"), NULL },
        { FILED("vdb", FORMER, "/volume-" SERIAL "/volume-" FORMER), NULL },
        { FILED("vdb", FORMER, "/m/snapshot-" SERIAL), NULL },
        { FILED("vdb", "another", "/m/volume-" SERIAL), NULL },
        { "<disk type='file'><source file='/m/volume-" SERIAL "'/><target dev='vdb'/></disk>",
          NULL },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct disk disk = untouched();
        struct error err = { 0 };
        char xml[2048];

        snprintf(xml, sizeof xml, DOMAIN("%s"), rows[i].disks);
        ck_assert_int_eq(domain_xml_find_disk(xml, SERIAL, &disk, &err), rows[i].target != NULL);
        ck_assert_str_eq(disk.target, rows[i].target ? rows[i].target : "before");
        if (rows[i].target)
            ck_assert_str_eq(disk.serial, SERIAL);
    }
}
END_TEST

START_TEST(two_disks_of_one_file_are_refused) {
    struct disk disk = untouched();
    struct error err = { 0 };

    ck_assert_int_eq(domain_xml_find_disk(DOMAIN(FILED("vdb", SERIAL, "/m/volume-" SERIAL)
                                                     FILED("vdc", FORMER, "/n/volume-" SERIAL)),
                                          SERIAL, &disk, &err),
                     -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(disk.target, "before");
}
END_TEST

START_TEST(a_swapped_disk_is_in_a_snapshot) {
    autoarena struct arena *arena = arena_new();
    const struct disk disk = { .serial = SERIAL, .source = "/m/volume-" SERIAL };
    const struct disk_overlay overlay = { &disk, "/m/new" };
    struct error err = { 0 };
    const char *snapshot = NULL;

    ck_assert_int_eq(domain_xml_snapshot(DOMAIN(FILED("vdb", SERIAL, "/m/volume-" FORMER)
                                                    FILED("vdc", FORMER, "/m/volume-" SERIAL)),
                                         &overlay, 1, arena, &snapshot, &err),
                     1);
    ck_assert_ptr_nonnull(strstr(snapshot, "<disk name=\"vdb\" snapshot=\"no\"/>"));
    ck_assert_ptr_null(strstr(snapshot, "\"vdc\""));
}
END_TEST

/* A disk whose limits have this group. */
#define LIMITED(path, group)                                         \
    "<disk type='file'><source file='" path "'/><target dev='vdb'/>" \
    "<iotune><total_iops_sec>9</total_iops_sec><group_name>" group   \
    "</group_name></iotune><serial>" SERIAL "</serial></disk>"

START_TEST(limits_name_their_volume_and_that_of_the_file) {
    static const struct {
        const char *disk, *file_id, *group; /* group "": not ours */
    } rows[] = {
        { LIMITED("/m/volume-" FORMER, "scoria-" SERIAL), FORMER, SERIAL },
        { LIMITED("/m/volume-" FORMER ".s1", "scoria-" FORMER), FORMER, FORMER },
        { LIMITED("/m/volume-" SERIAL, "drive-vdb"), SERIAL, "" },
        { LIMITED("/m/volume-1", "scoria-1"), "", "" },
        { LIMITED("/m/volume-" SERIAL "0", "scoria-" SERIAL "0"), "", "" },
        { FILED("vdb", SERIAL, "/m/other"), "", "" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoarena struct arena *arena = arena_new();
        struct disk_limits *list = NULL;
        struct error err = { 0 };
        char xml[2048];

        snprintf(xml, sizeof xml, DOMAIN("%s"), rows[i].disk);
        ck_assert_int_eq(domain_xml_list_limits(xml, arena, &list, &err), 0);
        ck_assert_ptr_nonnull(list);
        ck_assert_str_eq(list->disk.serial, SERIAL);
        ck_assert_str_eq(list->file_id, rows[i].file_id);
        ck_assert(list->ours == (*rows[i].group != '\0'));
        if (list->ours)
            ck_assert_str_eq(list->group, rows[i].group);
    }
}
END_TEST

START_TEST(a_domain_of_nova_is_known_by_its_metadata) {
    static const struct {
        const char *metadata;
        bool recorded;
    } rows[] = {
        { "<x:instance xmlns:x='http://openstack.org/xmlns/libvirt/nova/1.1'><x:name/></x:instance>",
          true },
        { "<a xmlns='urn:a'/><instance xmlns='http://openstack.org/xmlns/libvirt/nova/1.0'/>",
          true },
        { "<instance/>", false },
        { "<x:instance xmlns:x='http://openstack.org/'/>", false },
        { "", false },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct disk disk = untouched();
        struct error err = { 0 };
        char xml[2048];

        snprintf(xml, sizeof(xml),
                 "<domain><metadata>%s</metadata><devices>" DISK "</devices></domain>",
                 rows[i].metadata);
        ck_assert_int_eq(domain_xml_find_disk(xml, SERIAL, &disk, &err), 1);
        ck_assert_int_eq(disk.recorded, rows[i].recorded);
    }
}
END_TEST

START_TEST(a_device_is_a_source_too_and_read_only_is_seen) {
    struct disk disk = untouched();
    struct error err = { 0 };

    ck_assert_int_eq(
        domain_xml_find_disk(DOMAIN("<disk type='block'><source dev='/dev/sdx'/><target dev='vdb'/>"
                                    "<readonly/><serial>" SERIAL "</serial></disk>"),
                             SERIAL, &disk, &err),
        1);
    ck_assert_str_eq(disk.source, "/dev/sdx");
    ck_assert_str_eq(disk.format, "");
    ck_assert(disk.read_only);
}
END_TEST

START_TEST(discards_need_unmap) {
    static const struct {
        const char *xml;
        bool discards;
    } rows[] = {
#define DRIVER(more)                                                                               \
    DOMAIN("<disk type='file'><driver name='qemu'" more "/><source file='/a'/><target dev='vda'/>" \
           "<serial>" SERIAL "</serial></disk>")
        { DRIVER(""), false },
        { DRIVER(" discard='ignore'"), false },
        { DRIVER(" discard='unmap'"), true },
#undef DRIVER
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct disk disk = untouched();
        struct error err = { 0 };

        ck_assert_int_eq(domain_xml_find_disk(rows[i].xml, SERIAL, &disk, &err), 1);
        ck_assert(disk.discards == rows[i].discards);
    }
}
END_TEST

START_TEST(a_network_disk_has_no_path) {
    static const struct {
        const char *protocol;
        bool network;
    } rows[] = { { "rbd", false }, { "nbd", true } };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        autoarena struct arena *arena = arena_new();
        struct disk disk = untouched();
        struct error err = { 0 };
        const char *xml = arena_format(
            arena,
            DOMAIN("<disk type='network'><driver type='raw'/><source protocol='%s' "
                   "name='pool/v'/><target dev='vdb'/><serial>" SERIAL "</serial></disk>"),
            rows[i].protocol);

        ck_assert_int_eq(domain_xml_find_disk(xml, SERIAL, &disk, &err), 1);
        ck_assert_str_eq(disk.source, "");
        ck_assert_str_eq(disk.format, "raw");
        ck_assert_int_eq(disk.network, rows[i].network);
    }
}
END_TEST

#define SERVED(target, protocol, transport, serial)                        \
    "<disk type='network'><source protocol='" protocol                     \
    "' name='volume'><host transport='" transport "' socket='/run/" target \
    "/nbd'/></source><target dev='" target "'/>"                           \
    "<serial>" serial "</serial></disk>"

/* Only possible serials of ours are looked up. */
START_TEST(a_server_is_a_volumes_at_a_socket) {
    static const char xml[] =
        DOMAIN(OTHER DISK SERVED("vdb", "nbd", "unix", SERIAL) SERVED("vdc", "nbd", "unix", "root")
                   SERVED("vdd", "nbd", "tcp", SERIAL) SERVED("vde", "iscsi", "unix", SERIAL));
    static const char *const others[] = { "sda", "sdb", "vda", "vdc", "vdd", "vde", "vdx" };
    autoarena struct arena *arena = arena_new();
    struct disk_server server = { 0 };
    struct error err = { 0 };

    for (size_t i = 0; i < LENGTH(others); i++)
        ck_assert_int_eq(domain_xml_find_server(xml, others[i], arena, &server, &err), 0);
    ck_assert_ptr_null(server.socket);
    ck_assert_int_eq(domain_xml_find_server(xml, "vdb", arena, &server, &err), 1);
    ck_assert_str_eq(server.socket, "/run/vdb/nbd");
    ck_assert_str_eq(server.export, "volume");
    ck_assert_int_eq(domain_xml_find_server("<domain", "vdb", arena, &server, &err), -1);
}
END_TEST

START_TEST(an_absent_serial_finds_nothing_and_changes_nothing) {
    static const char *const texts[] = { DOMAIN(OTHER), DOMAIN(""), "<domain/>",
                                         "<domain><devices/></domain>" };

    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct disk disk = untouched();
        struct error err = { 0 };

        ck_assert_int_eq(domain_xml_find_disk(texts[i], SERIAL, &disk, &err), 0);
        ck_assert_str_eq(disk.target, "before");
    }
}
END_TEST

START_TEST(an_invalid_text_is_refused_and_changes_nothing) {
    static const char *const texts[] = {
        DOMAIN(DISK DISK),
        DOMAIN("<disk><serial>" SERIAL "</serial></disk>"), /* no target */
        "",
        "no xml",
        "<domain><devices>",
        "<network/>",
        "<!DOCTYPE domain [<!ENTITY e 'x'>]><domain/>",
    };

    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct disk disk = untouched();
        struct error err = { 0 };

        ck_assert_int_eq(domain_xml_find_disk(texts[i], SERIAL, &disk, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BACKEND);
        ck_assert_str_eq(disk.target, "before");
    }
}
END_TEST

START_TEST(a_text_that_does_not_fit_is_refused_not_cut) {
    static const char *const forms[] = {
        DOMAIN("<disk><target dev='%s'/><serial>" SERIAL "</serial></disk>"),
        DOMAIN("<disk><target dev='a'/><driver type='%s'/><serial>" SERIAL "</serial></disk>"),
        DOMAIN("<disk><target dev='a'/><source file='%s'/><serial>" SERIAL "</serial></disk>"),
        DOMAIN("<disk><target dev='a'/><source dev='%s'/><serial>" SERIAL "</serial></disk>"),
    };
    char name[5000];

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < LENGTH(forms); i++) {
        const char *place = strstr(forms[i], "%s");
        struct disk disk = untouched();
        struct error err = { 0 };
        autofree char *xml = NULL;

        ck_assert_int_gt(
            asprintf(&xml, "%.*s%s%s", (int)(place - forms[i]), forms[i], name, place + 2), 0);
        ck_assert_int_eq(domain_xml_find_disk(xml, SERIAL, &disk, &err), -1);
        ck_assert_str_eq(disk.target, "before");
    }
}
END_TEST

START_TEST(an_endless_text_is_refused) {
    size_t size = 17 * 1024 * 1024;
    autofree char *xml = malloc(size + 1);
    struct disk disk = untouched();
    struct error err = { 0 };

    ck_assert_ptr_nonnull(xml);
    memset(xml, ' ', size);
    xml[size] = '\0';
    ck_assert_int_eq(domain_xml_find_disk(xml, SERIAL, &disk, &err), -1);
}
END_TEST

#define LAYERED                                                                               \
    "<disk type='file' device='disk'><driver name='qemu' type='qcow2'/>"                      \
    "<source file='/a&amp;b/top'/><backingStore type='file'><format type='qcow2'/>"           \
    "<source file='/a&amp;b/middle'/><backingStore type='file'><source file='/a&amp;b/low'/>" \
    "<backingStore/></backingStore></backingStore>"                                           \
    "<target dev='vda'/><serial>" SERIAL "</serial></disk>"

START_TEST(a_chain_is_listed_from_the_top) {
    autoarena struct arena *arena = arena_new();
    const char *const *paths = NULL;
    struct error err = { 0 };

    ck_assert_int_eq(domain_xml_list_chain(DOMAIN(OTHER LAYERED), SERIAL, arena, &paths, &err), 1);
    ck_assert_str_eq(paths[0], "/a&b/top");
    ck_assert_str_eq(paths[1], "/a&b/middle");
    ck_assert_str_eq(paths[2], "/a&b/low");
    ck_assert_ptr_null(paths[3]);
    ck_assert_int_eq(domain_xml_list_chain(DOMAIN(DISK), SERIAL, arena, &paths, &err), 1);
    ck_assert_str_eq(paths[0], "/mnt/a&b/volume-1");
    ck_assert_ptr_null(paths[1]);
    ck_assert_int_eq(domain_xml_list_chain(DOMAIN(OTHER), SERIAL, arena, &paths, &err), 0);
    ck_assert_int_eq(domain_xml_list_chain(DOMAIN(DISK DISK), SERIAL, arena, &paths, &err), -1);
}
END_TEST

START_TEST(a_long_chain_is_listed_whole) {
    autoarena struct arena *arena = arena_new();
    const char *text = "", *ends = "";
    const char *const *paths = NULL;
    struct error err = { 0 };

    for (int i = 0; i < 200; i++) {
        text = arena_format(arena, "%s<source file='/%d'/><backingStore>", text, i);
        ends = arena_format(arena, "%s</backingStore>", ends);
    }
    text = arena_format(arena,
                        "<domain><devices><disk><target dev='vda'/><serial>" SERIAL
                        "</serial>%s%s</disk></devices></domain>",
                        text, ends);
    ck_assert_int_eq(domain_xml_list_chain(text, SERIAL, arena, &paths, &err), 1);
    for (int i = 0; i < 200; i++)
        ck_assert_ptr_nonnull(paths[i]);
    ck_assert_ptr_null(paths[200]);
}
END_TEST

START_TEST(a_snapshot_is_of_one_disk_and_excludes_all_others) {
    autoarena struct arena *arena = arena_new();
    const struct disk disk = { .serial = SERIAL, .source = "/a&b/top" };
    const struct disk_overlay overlay = { &disk, "/a&b/'new'<" };
    struct error err = { 0 };
    const char *snapshot = NULL;

    ck_assert_int_eq(
        domain_xml_snapshot(DOMAIN(OTHER LAYERED), &overlay, 1, arena, &snapshot, &err), 1);
    ck_assert_ptr_nonnull(strstr(snapshot, "<disk name=\"/a&amp;b/top\" snapshot=\"external\">"
                                           "<driver type=\"qcow2\"/>"
                                           "<source file=\"/a&amp;b/'new'&lt;\"/></disk>"));
    ck_assert_ptr_nonnull(strstr(snapshot, "<disk name=\"sda\" snapshot=\"no\"/>"));
    ck_assert_ptr_nonnull(strstr(snapshot, "<disk name=\"sdb\" snapshot=\"no\"/>"));
    ck_assert_ptr_null(strstr(snapshot, "\"vda\""));
    ck_assert_int_eq(domain_xml_snapshot(DOMAIN(OTHER), &overlay, 1, arena, &snapshot, &err), 0);
    ck_assert_int_eq(domain_xml_snapshot(DOMAIN(DISK DISK), &overlay, 1, arena, &snapshot, &err),
                     -1);
    ck_assert_int_eq(domain_xml_snapshot("no xml", &overlay, 1, arena, &snapshot, &err), -1);
}
END_TEST

START_TEST(a_snapshot_of_several_disks_is_one) {
    autoarena struct arena *arena = arena_new();
    const struct disk disks[] = { { .serial = SERIAL, .source = "/a" },
                                  { .serial = "root", .source = "/b" } };
    const struct disk_overlay overlays[] = { { &disks[0], "/a.new" }, { &disks[1], "/b.new" } };
    struct error err = { 0 };
    const char *snapshot = NULL;

    ck_assert_int_eq(domain_xml_snapshot(DOMAIN(OTHER DISK), overlays, 2, arena, &snapshot, &err),
                     1);
    ck_assert_ptr_nonnull(strstr(snapshot,
                                 "<disk name=\"/a\" snapshot=\"external\">"
                                 "<driver type=\"qcow2\"/><source file=\"/a.new\"/></disk>"
                                 "<disk name=\"/b\" snapshot=\"external\">"
                                 "<driver type=\"qcow2\"/><source file=\"/b.new\"/></disk>"
                                 "<disk name=\"sdb\" snapshot=\"no\"/></disks>"));
    ck_assert_int_eq(domain_xml_snapshot(DOMAIN(DISK), overlays, 2, arena, &snapshot, &err), 0);
}
END_TEST

/* Only of the disk that writes to the trusted image. */
START_TEST(a_disk_is_described_without_its_chain) {
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };
    const char *alone = NULL;

    ck_assert_int_eq(
        domain_xml_without_chain(DOMAIN(OTHER LAYERED), SERIAL, "/a&b/top", arena, &alone, &err),
        1);
    ck_assert_str_eq(alone, "<disk type=\"file\" device=\"disk\">"
                            "<driver name=\"qemu\" type=\"qcow2\"/>"
                            "<source file=\"/a&amp;b/top\"/>"
                            "<target dev=\"vda\"/><serial>" SERIAL "</serial></disk>");
    alone = NULL;
    ck_assert_int_eq(
        domain_xml_without_chain(DOMAIN(LAYERED), SERIAL, "/a&b/new", arena, &alone, &err), 0);
    ck_assert_int_eq(
        domain_xml_without_chain(DOMAIN(DISK), SERIAL, "/mnt/a&b/volume-1", arena, &alone, &err),
        0);
    ck_assert_int_eq(domain_xml_without_chain(DOMAIN(OTHER), SERIAL, "/a", arena, &alone, &err), 0);
    ck_assert_int_eq(domain_xml_without_chain(DOMAIN(DISK DISK), SERIAL, "/a", arena, &alone, &err),
                     -1);
    ck_assert_ptr_null(alone);
}
END_TEST

static void *read_domain(void *text) {
    struct disk disk;
    struct error err;

    domain_xml_find_disk(text, "s", &disk, &err);
    return NULL;
}

START_TEST(domain_xml_of_any_depth_is_read_or_refused) {
    autoarena struct arena *arena = arena_new();

    for (unsigned depth = 100; depth < 100000; depth *= 2)
        on_small_stack(read_domain, arena_format(arena, "<domain><devices>%s</devices></domain>",
                                                 nested(arena, depth, "<a>", "b", "</a>")));
}
END_TEST

CHECK_MAIN("domain_xml", a_domain_of_nova_is_known_by_its_metadata, a_chain_is_listed_from_the_top,
           a_long_chain_is_listed_whole, a_disk_is_described_without_its_chain,
           a_snapshot_of_several_disks_is_one, a_snapshot_is_of_one_disk_and_excludes_all_others,
           a_disk_is_found_by_its_serial, the_file_of_a_disk_decides_before_its_serial,
           two_disks_of_one_file_are_refused, a_swapped_disk_is_in_a_snapshot,
           limits_name_their_volume_and_that_of_the_file,
           a_device_is_a_source_too_and_read_only_is_seen, discards_need_unmap,
           a_network_disk_has_no_path, a_server_is_a_volumes_at_a_socket,
           an_absent_serial_finds_nothing_and_changes_nothing,
           an_invalid_text_is_refused_and_changes_nothing,
           a_text_that_does_not_fit_is_refused_not_cut, an_endless_text_is_refused,
           domain_xml_of_any_depth_is_read_or_refused)
