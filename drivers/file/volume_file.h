/*
 * One volume as a file of a directory: the calls of driver.h once the directory is known.
 *
 * An encrypted volume is never grown here: that needs its secret (D11).
 */
#pragma once

#include "drivers/file/image_source.h"

#include <jansson.h>

/* Is the file here? 1 yes, 0 no, -1 failed. */
int volume_file_exists(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, struct error *err);

/* *ret_format: of the new file; text that lives for ever. */
int volume_file_create(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char **ret_format,
                       struct error *err);
int volume_file_delete(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, struct error *err);
/* Renames a file, never replacing another one, and flushes.  A missing file is no failure: an
 * earlier worker has renamed or removed it. */
int volume_file_move(const struct directory *directory, const char *from, const char *to,
                     struct error *err);
/* The failure of that where the new name is another file's. */
int volume_file_refuse_name(const char *from, const char *to, struct error *err);
/* -1 while a guest has it open; a missing file is not open. */
int volume_file_check_unused(const struct directory *directory, const char *name,
                             struct error *err);
int volume_file_rename(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char *new_name_id,
                       struct error *err);
enum driver_outcome volume_file_extend(const struct directory *directory, struct arena *arena,
                                       const struct driver_volume *volume, int64_t new_gb,
                                       struct error *err);
int volume_file_get_size(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, int64_t *ret_bytes, struct error *err);
/* The file for a guest; refuses an image with a backing file that the service did not make. */
int volume_file_connect(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, struct volume_image *ret,
                        struct error *err);
/* Reports in the connection data that discards are not allowed, where the image is fully
 * allocated. */
void volume_file_report_discard(const struct directory *directory, const struct volume_image *image,
                                json_t *info);
/* As create, with the source's content at the head; the source's format is the new one's. */
int volume_file_clone(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, const struct image_source *source,
                      const struct driver_progress *progress, struct error *err);
int volume_file_revert(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const struct image_source *source,
                       const struct driver_progress *progress, struct error *err);

/* Of the active image, which may share blocks with others (volume_file_reclaim.c). */
int volume_file_get_usage(const struct directory *directory, struct arena *arena,
                          const struct driver_volume *volume, int64_t *ret_bytes,
                          struct error *err);
int volume_file_reclaim(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct driver_progress *progress,
                        struct error *err);

/* The calls of driver.h about existing objects (volume_file_manage.c); *ret_format lives for
 * ever. */
int volume_file_get_manageable(const struct directory *directory, struct arena *arena,
                               const struct driver_volume *volume, const char *source_name,
                               int64_t *ret_bytes, struct error *err);
int volume_file_manage(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char *source_name,
                       const char **ret_format, struct error *err);
int volume_file_unmanage(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, struct error *err);
int volume_file_list_manageable(const struct directory *directory, struct arena *arena,
                                void (*found)(void *arg, const struct driver_candidate *candidate),
                                void *arg, struct error *err);
/* inspect_volume() of driver.h, but the location of *ret. */
int volume_file_inspect(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct driver_recorded *recorded,
                        struct driver_inspected *ret, struct error *err);
/* Does a file with this plain name exist?  1 yes, 0 no, -1 failed. */
int volume_file_has(const struct directory *directory, const char *name, struct error *err);
/* The format of new volumes.  Text that lives for ever. */
const char *volume_file_format(const struct directory *directory);

/* Removes the file of that name, unless a guest has it open; `made`: its creation was completed. */
int volume_file_remove(const struct directory *directory, struct arena *arena, const char *name,
                       bool made, const struct driver_fence *fence, struct error *err);
/* Every file whose name begins so, with the rest of its name. */
int volume_file_list_named(const struct directory *directory, const char *begins,
                           void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                           struct error *err);
/* Every volume file; -1 for a size that only the record has. */
int volume_file_list(const struct directory *directory,
                     void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                     struct error *err);
