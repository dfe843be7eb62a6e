#include "manager/jobs/image.h"

#include "common/base64.h"
#include "common/cleanup.h"
#include "common/gib.h"
#include "common/heap.h"
#include "data/chain_io.h"
#include "data/checksum_io.h"
#include "data/converted_image_io.h"
#include "data/copy.h"
#include "data/file_io.h"
#include "data/http_source_io.h"
#include "data/image_inspect.h"
#include "data/signature_io.h"
#include "data/temporary_file.h"
#include "model/volume/image.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DETAIL_SPACE     "007"
#define DETAIL_SIGNATURE "011"
#define DETAIL_FORMAT    "029"

#define QEMU_NBD            "qemu-nbd"
#define QEMU_NBD_TIMEOUT_MS ((int64_t)60000)

struct opening {
    struct job *job;
    struct volume_image image;
    const char *detail;
    const char **ret_detail, **ret_verified;
    struct signature *signature; /* until the bytes are opened; NULL: none is verified */
    unsigned turn;               /* of the image service's servers */
};

/* ---- the stored bytes ---- */

static int renew(void *arg, struct http_transfer_call *request, struct error *err) {
    const struct opening *opening = arg;

    return images_renew_transfer(opening->job->manager->settings.images, opening->job->arena,
                                 request, err);
}

/* The server of this turn. */
static struct volume_io *connect_to(struct opening *opening, struct error *err) {
    struct http_source_settings settings = { .size = opening->image.bytes,
                                             .renew = renew,
                                             .renew_arg = opening };

    if (images_prepare_transfer(opening->job->manager->settings.images, opening->job->arena,
                                opening->image.id, opening->turn, &settings.request, err) < 0)
        return NULL;
    settings.request.may = job_copy_may; /* once a second while nothing comes */
    settings.request.arg = opening->job;
    return http_source_io_open(&settings, err);
}

static struct volume_io *connect_to_any(struct opening *opening, struct error *err) {
    const struct timespec second = { .tv_sec = 1 };
    unsigned left = images_attempts(opening->job->manager->settings.images);
    struct volume_io *io = connect_to(opening, err);

    while (!io && err->kind == ERROR_UNAVAILABLE && --left > 0) {
        nanosleep(&second, NULL);
        opening->turn++;
        if (job_copy_may(opening->job, err) < 0) /* taken over or cancelled */
            return NULL;
        io = connect_to(opening, err);
    }
    return io;
}

static void signature_checked(void *arg, bool valid) {
    const struct opening *opening = arg;

    if (valid)
        *opening->ret_verified = VOLUME_IMAGE_VERIFIED;
    else
        *opening->ret_detail = DETAIL_SIGNATURE;
}

/* They can be read in order alone, and fail at their end if they are others. */
static struct volume_io *open_checked(struct opening *opening, struct error *err) {
    const struct volume_image *image = &opening->image;
    struct volume_io *io = connect_to_any(opening, err);

    if (io && image->hash)
        io = checksum_io_open_expecting(io, image->hash_algorithm, image->hash, err);
    if (io && opening->signature) {
        io = signature_io_open(io, opening->signature, signature_checked, opening);
        opening->signature = NULL;
    }
    return io;
}

/* ---- the signature ---- */

/* A claim that no bytes can fulfil fails before any is requested. */
static int prepare_signature(struct opening *opening, struct error *err) {
    const struct image_signature *stated = &opening->image.signature;
    const struct settings *settings = opening->job->manager->settings.settings;
    struct signature_claim claim = { stated->key_type, stated->hash_method, stated->text, NULL, 0 };

    if (!settings->verify_image_signatures)
        return 0;
    if (!image_signature_is_given(stated)) {
        *opening->ret_verified = VOLUME_IMAGE_UNSIGNED;
        return 0;
    }
    opening->detail = DETAIL_SIGNATURE;
    if (stated->certificate)
        claim.certificate = base64_bytes(opening->job->arena, stated->certificate,
                                         strlen(stated->certificate), &claim.certificate_size);
    if (!claim.certificate)
        return error_set(err, ERROR_BAD_REQUEST, "No certificate for the signature of image %s: %s",
                         opening->image.id,
                         stated->failure ? stated->failure : "the API has fetched none");
    opening->signature = signature_new(&claim, err);
    if (!opening->signature)
        return error_context(err, "signature of image %s", opening->image.id);
    opening->detail = NULL;
    return 0;
}

/* ---- inspection ---- */

static int inspect(struct opening *opening, int fd, struct image_finding *ret, struct error *err) {
    const struct image_bytes bytes = { fd, opening->image.bytes };

    opening->detail = DETAIL_FORMAT;
    if (image_inspect(&bytes, opening->image.disk_format, ret, err) < 0)
        return -1;
    opening->detail = DETAIL_SPACE;
    if (ret->virtual_bytes > opening->job->volume.size_gb * GIB)
        return error_set(err, ERROR_BAD_REQUEST, "Image %s has %jd bytes, more than volume %s.",
                         opening->image.id, (intmax_t)ret->virtual_bytes, opening->job->volume.id);
    opening->detail = NULL;
    return 0;
}

/* By its first bytes. */
static int inspect_plain(struct opening *opening, struct error *err) {
    int64_t size =
        opening->image.bytes < IMAGE_BYTES_HEAD ? opening->image.bytes : IMAGE_BYTES_HEAD;
    autofree unsigned char *head = heap_new((size_t)size);
    autoclose int fd = memfd_create("image", MFD_CLOEXEC);
    autovolumeio struct volume_io *io = connect_to_any(opening, err);
    struct image_finding finding;

    if (!io || volume_io_read(io, head, (size_t)size, 0, err) < 0)
        return -1;
    if (fd < 0 || write(fd, head, (size_t)size) != (ssize_t)size)
        return error_errno(err, ERROR_INTERNAL, "keeping the start of an image");
    return inspect(opening, fd, &finding, err);
}

/* ---- images of other formats ---- */

/* Several managers may find the same space: looked at again, only those go on that leave the spare
 * part. */
static int take_space(int fd, int64_t bytes) {
    int failure = temporary_file_promise(fd, bytes);

    if (!failure) {
        failure = posix_fallocate(fd, 0, bytes);
        temporary_file_release(bytes);
    }
    return failure ? failure : temporary_file_check_space(fd, 0);
}

/* A file without a name, with space for all of the image: of several at once only those begin that
 * have it. */
static int open_temporary(struct opening *opening, struct error *err) {
    const char *directory = opening->job->manager->settings.conversion_dir;
    autoclose int fd = temporary_file_open(directory, err);

    if (fd < 0)
        return -1;
    errno = take_space(fd, opening->image.bytes);
    if (errno) {
        if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
            opening->detail = DETAIL_SPACE;
        return error_errno(err, ERROR_BACKEND, "%jd bytes of an image in %s",
                           (intmax_t)opening->image.bytes, directory);
    }
    return take_fd(fd);
}

/* The first half of the progress. */
static int report(void *arg, int64_t done_bytes, int64_t all_bytes, struct error *err) {
    return job_copy_report(arg, done_bytes, 2 * all_bytes, err);
}

static int download(struct opening *opening, int fd, struct error *err) {
    static const struct copy_position beginning;
    autovolumeio struct volume_io *from = open_checked(opening, err), *to = NULL;
    struct copy copy = { .may = job_copy_may, .report = report, .arg = opening->job };

    if (!from)
        return -1;
    to = file_io_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), true, true, err);
    if (!to)
        return -1;
    copy.from = from;
    copy.to = to;
    return copy_run(&copy, &beginning, err);
}

static int open_converted(struct opening *opening, struct volume_io **ret, struct error *err) {
    struct chain_io_settings settings = { QEMU_NBD, QEMU_NBD_TIMEOUT_MS, 0 };
    autoclose int fd = open_temporary(opening, err);
    struct image_finding finding;
    struct chain_io_file file;

    if (fd < 0 || download(opening, fd, err) < 0 || inspect(opening, fd, &finding, err) < 0)
        return -1;
    settings.untrusted_cpu_seconds = converted_image_cpu_seconds(finding.virtual_bytes);
    file = (struct chain_io_file){ arena_format(opening->job->arena, "/proc/%jd/fd/%d",
                                                (intmax_t)getpid(), fd),
                                   finding.qemu_name };
    *ret = chain_io_open(&settings, &file, 1, false, err);
    if (!*ret)
        return -1;
    volume_io_hold(*ret, take_fd(fd));
    if ((*ret)->size == finding.virtual_bytes)
        return 0;
    volume_io_close(*ret);
    *ret = NULL;
    opening->detail = DETAIL_FORMAT;
    return error_set(err, ERROR_BAD_REQUEST, "The image has another size than its header states.");
}

/* ---- the whole ---- */

/* Others contain several files, or compressed ones. */
static bool is_bare(const struct volume_image *image) {
    static const char *const parts[] = { "ami", "ari", "aki" };

    for (size_t i = 0; i < LENGTH(parts); i++)
        if (strcmp(image->container_format, parts[i]) == 0)
            return strcmp(image->disk_format, parts[i]) == 0;
    return strcmp(image->container_format, "bare") == 0;
}

static int check_description(struct opening *opening, struct error *err) {
    const struct volume_image *image = &opening->image;

    if (!opening->job->manager->settings.images)
        return error_set(err, ERROR_BACKEND, "No image service is configured.");
    opening->detail = DETAIL_FORMAT;
    if (!is_bare(image) || !image_format_is_known(image->disk_format))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Image %s has the format %s in a container %s, which is not supported.",
                         image->id, image->disk_format, image->container_format);
    if (image->bytes == 0)
        return error_set(err, ERROR_BAD_REQUEST, "Image %s is empty.", image->id);
    opening->detail = NULL;
    return 0;
}

/* It may have been deactivated since the request; its service's own user could read it still. */
static int check_status(struct opening *opening, struct error *err) {
    const struct job *job = opening->job;
    const struct images_caller caller = { .request_id = job->operation.request_id };
    const json_t *image =
        images_get(job->manager->settings.images, job->arena, opening->image.id, &caller, err);

    if (!image)
        return -1;
    return json_text_is(image, "status", "active")
               ? 0
               : error_set(err, ERROR_BACKEND, "Image %s is not active any more.",
                           opening->image.id);
}

static int read_arguments(struct opening *opening, struct error *err) {
    if (volume_image_of(opening->job->arena, &opening->job->operation, &opening->image))
        return 0;
    return error_set(err, ERROR_INTERNAL, "Operation %s names no image.",
                     opening->job->operation.id);
}

static int open_image(struct opening *opening, struct volume_io **ret, struct error *err) {
    if (read_arguments(opening, err) < 0 || check_description(opening, err) < 0 ||
        /* neither the rate of the image service nor the size of the content is known */
        driver_fence_take_long(&opening->job->fence, INT64_MAX, 0, err) < 0 ||
        check_status(opening, err) < 0 || prepare_signature(opening, err) < 0)
        return -1;
    if (!image_format_is_plain(opening->image.disk_format))
        return open_converted(opening, ret, err);
    if (inspect_plain(opening, err) < 0)
        return -1;
    *ret = open_checked(opening, err);
    return *ret ? 0 : -1;
}

int job_image_check(struct job *job, struct error *err) {
    struct opening opening = { .job = job };

    return read_arguments(&opening, err) < 0 || check_description(&opening, err) < 0
               ? -1
               : check_status(&opening, err);
}

int job_image_open(struct job *job, struct volume_io **ret, const char **ret_detail,
                   const char **ret_verified, struct error *err) {
    struct opening *opening = arena_alloc(job->arena, sizeof(*opening));

    *opening = (struct opening){
        .job = job, .ret_detail = ret_detail, .ret_verified = ret_verified, .turn = images_turn()
    };
    *ret_verified = NULL;
    if (open_image(opening, ret, err) == 0)
        return 0;
    signature_free(opening->signature);
    if (opening->detail)
        *ret_detail = opening->detail;
    return -1;
}
