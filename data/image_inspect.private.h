/*
 * One recognized format each: NULL with the size of its content in *ret_bytes, or the reason why it
 * is refused, to follow "the image".
 */
#pragma once

#include "data/image_bytes.h"

const char *image_check_vmdk(const struct image_bytes *image, uint64_t *ret_bytes);
const char *image_check_vhd(const struct image_bytes *image, uint64_t *ret_bytes);
const char *image_check_vhdx(const struct image_bytes *image, uint64_t *ret_bytes);
const char *image_check_vdi(const struct image_bytes *image, uint64_t *ret_bytes);
const char *image_check_ploop(const struct image_bytes *image, uint64_t *ret_bytes);
const char *image_check_luks(const struct image_bytes *image, uint64_t *ret_bytes);
const char *image_check_partitions(const struct image_bytes *image, uint64_t *ret_bytes);

bool image_has_partitions(const struct image_bytes *image);
bool image_is_ploop(const struct image_bytes *image);
bool image_is_vmdk(const struct image_bytes *image);

#define IMAGE_WRONG_HEADER "has an impossible header"
#define IMAGE_NEEDS_FILES  "needs other files"
