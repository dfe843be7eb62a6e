/*
 * MD5 (RFC 1321), where a public interface requires it: entity tags, names of mount points.  It
 * protects nothing.
 */
#pragma once

#include <stddef.h>

#define MD5_SIZE     16
#define MD5_HEX_SIZE 33 /* 32 lower-case digits and NUL */

void md5_bytes(const void *bytes, size_t size, unsigned char ret[MD5_SIZE]);
void md5_hex(const void *bytes, size_t size, char ret[MD5_HEX_SIZE]);
