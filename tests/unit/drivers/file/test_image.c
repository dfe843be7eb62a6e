#include "drivers/file/image.h"

#include "tests/unit/drivers/driver_test.h"

#include <sys/resource.h>

#define MIB ((int64_t)1 << 20)

static int make(struct bench *bench, const void *bytes, size_t size) {
    int fd = open(bench_path(bench, "image"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
    return fd;
}

/* A valid version 3 header of 1 GiB; tests spoil one thing. */
static void fill_header(unsigned char header[104]) {
    static const unsigned char good[] = { 'Q', 'F', 'I', 0xfb, 0, 0, 0, 3 };

    memset(header, 0, 104);
    memcpy(header, good, sizeof(good));
    header[23] = 16;   /* cluster bits */
    header[28] = 0x40; /* size 0x40000000 */
}

static int read_header(struct bench *bench, const unsigned char *header, size_t size,
                       struct image_facts *facts) {
    autoclose int fd = make(bench, header, size);

    return image_read_facts(fd, "qcow2", facts, &bench->err);
}

START_TEST(only_raw_and_qcow2_are_known) {
    ck_assert(image_format_known("raw"));
    ck_assert(image_format_known("qcow2"));
    ck_assert(!image_format_known("vmdk"));
    ck_assert(!image_format_known(NULL));
}
END_TEST

START_TEST(opens_nothing_but_regular_files) {
    autobench struct bench bench;
    autoclose int dir = -1;
    autoclose int fd = -1;

    bench_new(&bench);
    dir = open(bench.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bench_write(&bench, "file", "x", 0600);
    ck_assert_int_eq(symlink("file", bench_path(&bench, "link")), 0);
    ck_assert_int_eq(mkfifo(bench_path(&bench, "fifo"), 0600), 0);
    ck_assert_int_eq(mkdir(bench_path(&bench, "directory"), 0700), 0);

    ck_assert_int_eq(image_open(dir, "missing", O_RDONLY, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(image_open(dir, "link", O_RDONLY, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    ck_assert_int_eq(image_open(dir, "fifo", O_RDONLY, &bench.err), -1);
    ck_assert_str_eq(bench.err.message, "fifo is not a regular file.");
    ck_assert_int_eq(image_open(dir, "directory", O_RDONLY, &bench.err), -1);
    fd = image_open(dir, "file", O_RDONLY, &bench.err);
    ck_assert_int_ge(fd, 0);
}
END_TEST

START_TEST(raw_is_as_large_as_its_file_whatever_it_holds) {
    autobench struct bench bench;
    struct image_facts facts;
    unsigned char header[104];
    autoclose int fd = -1;

    bench_new(&bench);
    fill_header(header);
    fd = make(&bench, header, sizeof(header));
    ck_assert(image_looks_qcow2(fd));
    ck_assert(!image_looks_luks(fd));
    ck_assert_int_eq(image_read_facts(fd, "raw", &facts, &bench.err), 0);
    ck_assert_int_eq(facts.virtual_bytes, 104);
    ck_assert(!facts.encrypted && !facts.external_data && !facts.backing[0]);
}
END_TEST

START_TEST(qcow2_header_has_size_and_parts) {
    autobench struct bench bench;
    struct image_facts facts;
    unsigned char image[1024] = { 0 };

    bench_new(&bench);
    fill_header(image);
    ck_assert_int_eq(read_header(&bench, image, 104, &facts), 0);
    ck_assert_int_eq(facts.virtual_bytes, GIB);
    ck_assert(!facts.encrypted && !facts.external_data && !facts.backing[0]);

    image[35] = 2; /* LUKS */
    image[79] = 4; /* external data */
    image[14] = 2; /* backing name at 512 … */
    image[19] = 5; /* … of 5 bytes */
    memcpy(image + 512, "below", 5);
    ck_assert_int_eq(read_header(&bench, image, sizeof(image), &facts), 0);
    ck_assert(facts.encrypted && facts.external_data);
    ck_assert_str_eq(facts.backing, "below");

    fill_header(image);
    image[7] = 2; /* version 2 has no flags, whatever stands there */
    image[79] = 4;
    ck_assert_int_eq(read_header(&bench, image, 72, &facts), 0);
    ck_assert(!facts.external_data);
}
END_TEST

START_TEST(an_inconsistent_qcow2_header_is_refused) {
    static const struct {
        size_t place;
        unsigned char value;
        const char *message;
    } spoiled[] = {
        { 0, 'X', "The file is recorded as qcow2 but is not." },
        { 7, 4, "The qcow2 header has an unknown version." },
        { 7, 1, "The qcow2 header has an unknown version." },
        { 23, 8, "The qcow2 header has impossible sizes." },
        { 23, 22, "The qcow2 header has impossible sizes." },
        { 20, 1, "The qcow2 header has impossible sizes." },
        { 24, 0x80, "The qcow2 header has impossible sizes." },
        { 31, 1, "The qcow2 header has impossible sizes." },
        { 79, 2, "The qcow2 image is marked corrupt." },
        { 8, 1, "The qcow2 header places its backing name wrongly." },
    };
    autobench struct bench bench;
    struct image_facts facts = { .virtual_bytes = -5 };
    unsigned char header[104];

    bench_new(&bench);
    for (size_t i = 0; i < LENGTH(spoiled); i++) {
        fill_header(header);
        header[spoiled[i].place] = spoiled[i].value;
        ck_assert_int_eq(read_header(&bench, header, sizeof(header), &facts), -1);
        ck_assert_str_eq(bench.err.message, spoiled[i].message);
    }
    fill_header(header);
    ck_assert_int_eq(read_header(&bench, header, 71, &facts), -1);
    ck_assert_int_eq(read_header(&bench, header, 103, &facts), -1);
    ck_assert_int_eq(read_header(&bench, header, 0, &facts), -1);
    header[15] = 104;
    header[18] = 4; /* a name of 1024 bytes */
    ck_assert_int_eq(read_header(&bench, header, sizeof(header), &facts), -1);
    header[18] = 1; /* of 256, behind the end of the file */
    ck_assert_int_eq(read_header(&bench, header, sizeof(header), &facts), -1);
    ck_assert_str_eq(bench.err.message, "The qcow2 header ends before its backing name.");
    ck_assert_int_eq(facts.virtual_bytes, -5);
    ck_assert_int_eq(image_read_facts(-1, "qcow2", &facts, &bench.err), -1);
    ck_assert_int_eq(image_read_facts(-1, "raw", &facts, &bench.err), -1);
}
END_TEST

START_TEST(growing_takes_blocks_only_when_thick) {
    autobench struct bench bench;
    autoclose int fd = -1;
    struct stat status;

    bench_new(&bench);
    fd = make(&bench, "data", 4);
    ck_assert_int_eq(image_grow_raw(fd, 8 * MIB, true, NULL, &bench.err), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 8 * MIB);
    ck_assert_int_lt(status.st_blocks * 512, MIB);

    ck_assert_int_eq(image_grow_raw(fd, 12 * MIB, false, NULL, &bench.err), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 12 * MIB);
    ck_assert_int_ge(status.st_blocks * 512, 4 * MIB);

    ck_assert_int_eq(image_grow_raw(fd, MIB, true, NULL, &bench.err), 0);
    ck_assert_int_eq(image_grow_raw(fd, MIB, false, NULL, &bench.err), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 12 * MIB);
}
END_TEST

START_TEST(growth_that_fails_leaves_the_length) {
    const struct rlimit limit = { .rlim_cur = MIB, .rlim_max = RLIM_INFINITY };
    autobench struct bench bench;
    autoclose int fd = -1;
    struct stat status;

    bench_new(&bench);
    fd = make(&bench, "data", 4);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(image_grow_raw(fd, 2 * MIB, true, NULL, &bench.err), -1);
    ck_assert_int_eq(image_grow_raw(fd, 2 * MIB, false, NULL, &bench.err), -1);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 4);
    ck_assert_int_eq(image_grow_raw(-1, MIB, true, NULL, &bench.err), -1);
}
END_TEST

static void hold(int fd, int command, short type, int byte) {
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

    ck_assert_int_eq(fcntl(fd, command, &lock), 0);
}

static enum image_hold try_lock(struct bench *bench) {
    autoclose int fd = open(bench_path(bench, "image"), O_RDWR | O_CLOEXEC);

    return image_lock(fd, &bench->err);
}

START_TEST(a_guest_is_recognized_by_its_unshared_permissions) {
    static const int forbids[] = { 200, 201, 203 };
    autobench struct bench bench;
    autoclose int empty = -1;

    bench_new(&bench);
    empty = make(&bench, "", 0);
    ck_assert_int_eq(try_lock(&bench), IMAGE_LOCKED);
    for (size_t i = 0; i < LENGTH(forbids); i++) {
        autoclose int guest = open(bench_path(&bench, "image"), O_RDWR | O_CLOEXEC);

        hold(guest, F_OFD_SETLK, F_RDLCK, forbids[i]);
        ck_assert_int_eq(try_lock(&bench), IMAGE_HELD);
    }
    /* Uses it as multi-attach guests do, and forbids nothing that a resize needs. */
    hold(empty, F_OFD_SETLK, F_RDLCK, 100);
    hold(empty, F_OFD_SETLK, F_RDLCK, 101);
    hold(empty, F_OFD_SETLK, F_RDLCK, 202);
    ck_assert_int_eq(try_lock(&bench), IMAGE_LOCKED);
}
END_TEST

START_TEST(an_exclusive_lock_of_a_resize_refuses_others) {
    autobench struct bench bench;
    autoclose int alone = -1, other = -1;

    bench_new(&bench);
    alone = make(&bench, "", 0);
    other = open(bench_path(&bench, "image"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(image_lock_alone(alone, &bench.err), IMAGE_LOCKED);
    ck_assert_int_eq(try_lock(&bench), IMAGE_HELD);
    ck_assert_int_eq(image_lock_alone(other, &bench.err), IMAGE_HELD);
    close(take_fd(alone));
    close(take_fd(other));
    /* Another program is at it already. */
    other = open(bench_path(&bench, "image"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(image_lock(other, &bench.err), IMAGE_LOCKED);
    alone = open(bench_path(&bench, "image"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(image_lock_alone(alone, &bench.err), IMAGE_HELD);
    ck_assert_int_eq(image_lock_alone(-1, &bench.err), IMAGE_LOCK_FAILED);
}
END_TEST

START_TEST(our_own_lock_stops_a_guest) {
    autobench struct bench bench;
    autoclose int fd = -1;

    bench_new(&bench);
    fd = make(&bench, "", 0);
    ck_assert_int_eq(image_lock(fd, &bench.err), IMAGE_LOCKED);
    for (int byte = 100; byte <= 103; byte++) {
        autoclose int guest = open(bench_path(&bench, "image"), O_RDONLY | O_CLOEXEC);
        struct flock lock = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
        };

        ck_assert_int_eq(fcntl(guest, F_OFD_GETLK, &lock), 0);
        ck_assert_int_eq(lock.l_type, byte == 102 ? F_UNLCK : F_RDLCK);
    }
}
END_TEST

/* A child that holds a classic POSIX lock until it is killed. */
static pid_t start_holder(const char *path, short type, int byte) {
    int ready[2];
    char one;
    pid_t child;

    ck_assert_int_eq(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        int fd = open(path, O_RDWR | O_CLOEXEC);

        hold(fd, F_SETLK, type, byte);
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &one, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

START_TEST(another_programs_lock_is_no_guest) {
    static const struct {
        short type;
        int byte;
    } locks[] = { { F_RDLCK, 201 }, { F_WRLCK, 201 }, { F_WRLCK, 203 }, { F_WRLCK, 101 } };
    autobench struct bench bench;
    autoclose int fd = -1;

    bench_new(&bench);
    fd = make(&bench, "", 0);
    for (size_t i = 0; i < LENGTH(locks); i++) {
        pid_t holder = start_holder(bench_path(&bench, "image"), locks[i].type, locks[i].byte);

        ck_assert_int_eq(try_lock(&bench), IMAGE_LOCK_FAILED);
        ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
        kill(holder, SIGKILL);
        waitpid(holder, NULL, 0);
    }
    ck_assert_int_eq(try_lock(&bench), IMAGE_LOCKED);
    ck_assert_int_eq(image_lock(-1, &bench.err), IMAGE_LOCK_FAILED);
}
END_TEST

CHECK_MAIN("image", only_raw_and_qcow2_are_known, opens_nothing_but_regular_files,
           raw_is_as_large_as_its_file_whatever_it_holds, qcow2_header_has_size_and_parts,
           an_inconsistent_qcow2_header_is_refused, growing_takes_blocks_only_when_thick,
           growth_that_fails_leaves_the_length, a_guest_is_recognized_by_its_unshared_permissions,
           an_exclusive_lock_of_a_resize_refuses_others, our_own_lock_stops_a_guest,
           another_programs_lock_is_no_guest)
